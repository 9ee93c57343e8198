"""Fits of this paper that stop before they are exact."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from workflow_lib.core.convergence import GAP_AT_LIMIT, gap_at_limit
from workflow_lib.papers.blaschko import linear_structured_svm
from workflow_lib.papers.blaschko.linear_structured_svm import LinearStructuredSVM
from workflow_lib.papers.blaschko.preference_constraints import PreferenceGraph
from workflow_lib.papers.blaschko.ranking_machine import RankingMachine
from workflow_lib.papers.blaschko.structured_machine import fit_structured_machine


def test_fits_that_stop_at_their_limit_warn_and_keep_their_gap(monkeypatch):
    random = np.random.default_rng(0)
    rows, labels = random.normal(size=(30, 3)), random.integers(3, size=30)
    losses, gram = 1.0 - np.eye(3), rows @ rows.T
    graph = PreferenceGraph(random.normal(size=30))
    monkeypatch.setattr(linear_structured_svm, "MAX_ROUNDS", 1)
    outputs = np.eye(30)[:, :3]

    def oracle(example, weights):
        best = (1.0 - outputs @ outputs[example] + outputs @ weights).argmax()
        return outputs[best], float(1.0 - outputs[best] @ outputs[example])

    fits = (
        lambda: fit_structured_machine(gram, labels, losses, np.eye(3), 100.0, most_passes=1).gap,
        lambda: LinearStructuredSVM(outputs, oracle).fit(100.0)[1],
        lambda: RankingMachine(graph, gram.__matmul__).solve(10.0, most_planes=1).relative_gap,
    )
    for fit in fits:
        with pytest.warns(ConvergenceWarning, match="the duality gap is"):
            gap = fit()
        assert gap_at_limit(gap, 1e-2) == {GAP_AT_LIMIT: gap}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit_structured_machine(gram, labels, losses, np.eye(3), 1.0)
        RankingMachine(graph, gram.__matmul__).solve(1.0)
    assert gap_at_limit(1e-3, 1e-2) == {}
