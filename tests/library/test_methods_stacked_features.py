"""Predictions of other methods as inputs of an estimator."""

import numpy as np
import pytest
from fit_methods import run_method
from sklearn.linear_model import Ridge
from test_methods_stack import files_of, item_of, member, prepared

from workflow_lib.core.artifacts import read_artifact

ALPHAS = [0.01, 1.0]


def run_features(stages, members, columns="inputs"):
    names = ("regressions", "predictions", "member_timings")
    return run_method(
        "stacked_features",
        stages.path,
        **dict(zip(names, files_of(members.values()), strict=True)),
        members=list(members),
        columns=columns,
        estimator="sklearn.linear_model.Ridge",
        settings={},
        grid={"alpha": ALPHAS},
        metric="arrmse",
        seed=0,
        method_file="config/methods/tried.yaml",
    )


@pytest.mark.parametrize("columns", ["inputs", "none"])
def test_the_columns_are_predictions_without_the_fold_of_each_row(tmp_path, columns):
    stages = prepared(tmp_path, scale="none")
    stored = {"first": member(stages, "first", 0.5, 1), "second": member(stages, "second", 2.0, 2)}
    item = run_features(stages, stored, columns)[item_of(30)]
    split = stages.tree("split")
    train, folds = split["train"][:30], split["folds"]["n-30"]
    known, new = (
        [read_artifact(paths[kind], kind)[item_of(30)][entry] for paths in stored.values()]
        for kind, entry in (("regression", "heldout_outputs"), ("predictions", "outputs"))
    )
    if columns == "inputs":
        known, new = [stages.X[train], *known], [stages.X[split["test"]], *new]
    known, new, Y = np.hstack(known), np.hstack(new), stages.Y[train]
    alpha = item["estimator__alpha"]
    expected = np.empty_like(Y)
    for fold in range(folds.max() + 1):
        is_known = folds != fold
        expected[~is_known] = (
            Ridge(alpha).fit(known[is_known], Y[is_known]).predict(known[~is_known])
        )
    np.testing.assert_allclose(item["heldout_outputs"], expected, atol=1e-9)
    np.testing.assert_allclose(
        item["test_targets"], Ridge(alpha).fit(known, Y).predict(new), atol=1e-9
    )
    assert "training_targets" not in item
