"""The structured machine by cutting planes has the optimum and the scores of that by blocks."""

import numpy as np
import pytest
from scipy.optimize import minimize

from workflow_lib.papers.blaschko.cutting_planes import fit_by_planes, plane_weights
from workflow_lib.papers.blaschko.structured_machine import centre, fit_structured_machine


def problem(n_rows=40, n_classes=4):
    random, labels = np.random.default_rng(0), np.arange(n_rows) % n_classes
    X = random.normal(size=(n_rows, 5)) + 1.2 * np.eye(n_classes, 5)[labels]
    gram = X @ X.T
    centre(gram)
    losses = np.abs(np.subtract.outer(np.arange(n_classes), np.arange(n_classes))).astype(float)
    similarity = np.eye(n_classes) + 0.5 * (losses == 1.0)
    # A class without a row does not compete.
    pad = ((0, 1), (0, 1))
    return gram, labels, np.pad(losses, pad), np.pad(similarity, pad)


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@pytest.mark.parametrize("cost", [0.03, 1.0])
def test_the_optimum_is_that_of_the_machine_by_blocks(rescaling, cost):
    arguments = (*problem(), cost, rescaling)
    found, terms = fit_by_planes(*arguments, tolerance=1e-4)
    expected = fit_structured_machine(*arguments, tolerance=1e-5)
    assert found.gap <= 1e-4 and found.objective == pytest.approx(expected.objective, rel=2e-4)
    gram = arguments[0]
    scores, others = found.scores(gram), expected.scores(gram)
    assert np.abs(scores - others).max() < 0.1 * np.abs(others).max()
    assert found.weights.min() > -1e-12
    np.testing.assert_allclose(found.weights.sum(axis=1), 1.0)
    np.testing.assert_allclose(found.dual @ arguments[3], found.coefficients)
    # No terms at first, and at most two for each row and plane.
    assert terms[0] == 0 and len(terms) == found.passes + 1
    assert (terms <= 2 * len(gram) * np.arange(len(terms))).all() and terms[-1] > terms[1]


def test_weights_of_planes_solve_their_quadratic_program():
    random = np.random.default_rng(1)
    planes = random.normal(size=(6, 4))
    Q, deltas = planes @ planes.T, random.random(6)
    for cost in (0.05, 5.0):
        u = plane_weights(Q, deltas, cost, np.zeros(6), 1e-10)
        best = minimize(
            lambda w: 0.5 * w @ Q @ w - deltas @ w,
            np.zeros(6),
            jac=lambda w: Q @ w - deltas,
            bounds=[(0, None)] * 6,
            constraints={"type": "ineq", "fun": lambda w, cost=cost: cost - w.sum()},
            options={"ftol": 1e-14, "maxiter": 1000},
        )
        assert 0.5 * u @ Q @ u - deltas @ u == pytest.approx(best.fun, abs=1e-7)
        assert u.min() >= 0 and u.sum() <= cost + 1e-12
