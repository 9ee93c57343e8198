"""The stage of ridge regression on labelled and unlabelled inputs, end to end."""

from itertools import product

import numpy as np
import pytest
from small_data import regression_data
from small_folds import heldout, score_of
from small_pipeline import Stages, assert_same_tree

from workflow_lib.fitting.prepared_inputs import rbf_gamma
from workflow_lib.inputs.preparation import fit_preparation
from workflow_lib.solvers.gram import gram_matrix
from workflow_lib.solvers.laplacian import graph_laplacian

ALPHAS = [1e-4, 1e-2, np.inf]
WEIGHTS = [0.1, 3.0]
NEIGHBOURS = [2, 5]


def small_inputs(missing=0.0):
    """Return inputs and outputs, some of the outputs missing."""
    X, Y = regression_data(70, n_clusters=4, spread=2.0)
    Y[np.random.default_rng(3).random(Y.shape) < missing] = np.nan
    return X, Y


def run_stage(stages: Stages, weights=WEIGHTS, neighbours=NEIGHBOURS) -> Stages:
    return stages.ridge("laplacian_ridge", laplacian_weights=weights, neighbours=neighbours)


def stages_of(folder, X, Y, **options):
    settings = {"kind": None, "scale": "standard", "alphas": ALPHAS, "weak_sizes": [8, 15]}
    return Stages(folder, X, Y, **(settings | options))


def refit(X, Y, X_new, X_unlabelled, width, neighbours, weight, alpha):
    """Return predictions of one fit by its kernel, written down as in its formula."""
    mean = np.nanmean(Y, axis=0)
    if np.isinf(alpha):
        return np.tile(mean, (len(X_new), 1))
    Y = np.where(np.isnan(Y), mean, Y)
    preparation = fit_preparation(X, "standard")
    rows = preparation.apply(np.vstack([X, X_unlabelled]))
    gamma = rbf_gamma(width, X.shape[1])
    K = gram_matrix(rows, gamma=gamma)
    K_new = gram_matrix(preparation.apply(X_new), rows, gamma=gamma)
    penalised = weight * graph_laplacian(K, neighbours)
    middle = np.linalg.inv(np.eye(len(K)) + penalised @ K) @ penalised
    n_labelled = len(Y)
    gram = (K - K @ middle @ K)[:n_labelled, :n_labelled]
    gram_new = (K_new - K_new @ middle @ K)[:, :n_labelled]
    system = np.zeros((n_labelled + 1, n_labelled + 1))
    system[:-1, :-1] = gram + 2.0 * n_labelled * alpha * np.eye(n_labelled)
    system[:-1, -1] = system[-1, :-1] = 1.0
    solved = np.linalg.solve(system, np.vstack([Y, np.zeros(Y.shape[1])]))
    return gram_new @ solved[:-1] + solved[-1]


@pytest.mark.parametrize(
    ("metric", "missing", "weak_sizes"), [("arrmse", 0.0, [8, 15]), ("rrmse", 0.15, [])]
)
def test_choice_and_predictions_equal_those_of_a_plain_loop(tmp_path, metric, missing, weak_sizes):
    X, Y = small_inputs(missing)
    options = {"metric": metric, "weak_sizes": weak_sizes, "sizes": [20]}
    stages = run_stage(stages_of(tmp_path, X, Y, **options))
    split, regression = stages.tree("split"), stages.tree("regression")
    rows, folds = split["train"], split["folds"]["n-20"]
    assert {item["weak_size"] for item in regression.values()} == {0, *weak_sizes}
    for item in regression.values():
        X_unlabelled = X[split["weak"][: item["weak_size"]]]
        fits = refit, X[rows], Y[rows], folds, X_unlabelled
        grid = {
            point: score_of(Y[rows], heldout(*fits, *point), folds, metric)
            for point in product(stages.widths, NEIGHBOURS, WEIGHTS, ALPHAS)
        }
        best = min(grid, key=grid.get)
        chosen = ("width", "neighbours", "laplacian_weight", "alpha_rest")
        assert tuple(item[name] for name in chosen) == best
        assert item["score"] == pytest.approx(grid[best], rel=1e-9)
        np.testing.assert_allclose(item["heldout_outputs"], heldout(*fits, *best), atol=1e-8)
        expected = refit(X[rows], Y[rows], X[split["test"]], X_unlabelled, *best)
        np.testing.assert_allclose(item["test_targets"], expected, atol=1e-8)


@pytest.mark.parametrize("weak_sizes", [[], [8, 15]])
def test_a_vanishing_weight_is_kernel_ridge(tmp_path, weak_sizes):
    X, Y = small_inputs()
    stages = stages_of(tmp_path / "laplacian", X, Y, weak_sizes=weak_sizes)
    ours = run_stage(stages, weights=[1e-10])
    ridge = stages_of(tmp_path / "ridge", X, Y, weak_sizes=[]).all().tree("regression")
    for item in ours.tree("regression").values():
        expected = ridge[f"n-{item['training_size']}_w-0_C-selected"]
        assert item["score"] == pytest.approx(expected["score"], rel=1e-7)
        assert (item["width"], item["alpha_rest"]) == (expected["width"], expected["alpha_rest"])
        np.testing.assert_allclose(item["test_targets"], expected["test_targets"], atol=1e-6)


def test_a_gram_matrix_gives_what_its_inputs_give(tmp_path):
    X, Y = small_inputs()
    width = 1.0
    rows = run_stage(stages_of(tmp_path / "rows", X, Y, scale="none", widths=[width]))
    K = gram_matrix(X, gamma=rbf_gamma(width, X.shape[1]))
    gram = run_stage(stages_of(tmp_path / "gram", K, Y, scale="none", kernel="precomputed"))
    for name, item in rows.tree("regression").items():
        other = gram.tree("regression")[name]
        np.testing.assert_allclose(item["test_targets"], other["test_targets"], atol=1e-8)
        np.testing.assert_allclose(item["heldout_outputs"], other["heldout_outputs"], atol=1e-8)


def test_an_infinite_penalty_predicts_the_training_mean(tmp_path):
    X, Y = small_inputs()
    stages = run_stage(stages_of(tmp_path, X, Y, alphas=[np.inf]))
    train = stages.tree("split")["train"]
    for item in stages.tree("regression").values():
        assert item["score"] == pytest.approx(1.0)
        # All grid points are the same, so the first is kept.
        first = (stages.widths[0], NEIGHBOURS[0], WEIGHTS[0])
        assert (item["width"], item["neighbours"], item["laplacian_weight"]) == first
        mean = Y[train[: item["training_size"]]].mean(axis=0)
        np.testing.assert_allclose(item["test_targets"], np.tile(mean, (12, 1)), atol=1e-12)


# The data that each item may use.


def pair(tmp_path, change):
    """Run the stage twice, the second time after `change(X, Y, split)` altered some rows."""
    X, Y = small_inputs(missing=0.1)
    first = run_stage(stages_of(tmp_path / "first", X.copy(), Y.copy()))
    change(X, Y, first.tree("split"))
    second = run_stage(stages_of(tmp_path / "second", X, Y))
    return first.tree("regression"), second.tree("regression")


def test_outputs_of_test_and_unlabelled_rows_change_nothing(tmp_path):
    def change(X, Y, split):
        Y[split["test"]] = 100.0
        Y[split["weak"]] = -100.0

    assert_same_tree(*pair(tmp_path, change))


def test_inputs_of_unlabelled_rows_change_the_items_that_have_them(tmp_path):
    def change(X, Y, split):
        X[split["weak"][8:]] *= -0.5

    first, second = pair(tmp_path, change)
    for name, item in first.items():
        if item["weak_size"] <= 8:
            assert_same_tree(item, second[name])
        else:
            assert np.abs(item["test_targets"] - second[name]["test_targets"]).max() > 1e-3
