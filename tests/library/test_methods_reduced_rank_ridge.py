"""The stage of ridge regression with outputs of reduced rank, end to end."""

from itertools import product

import numpy as np
import pytest
from small_data import regression_data
from small_folds import heldout, refit, score_of
from small_pipeline import Stages, assert_same_tree, without_curves

ALPHAS = [1e-4, 1e-2, 0.3, np.inf]
RANKS = [1, 2, 4]


def small_inputs(n_outputs=6, missing=0.0):
    """Return inputs and outputs of three strong directions, some of the outputs missing."""
    X, Y = regression_data(70, n_clusters=4, spread=2.0)
    generator = np.random.default_rng(3)
    Y = Y @ generator.normal(size=(3, n_outputs))
    Y += generator.normal(size=Y.shape)
    Y[generator.random(Y.shape) < missing] = np.nan
    return X, Y


def run_stage(stages: Stages, ranks=RANKS) -> Stages:
    return stages.ridge("reduced_rank_ridge", ranks=ranks)


def stages_of(folder, X, Y, **options):
    settings = {"kind": None, "scale": "standard", "alphas": ALPHAS} | options
    return Stages(folder, X, Y, **settings)


def reduced(X, Y, X_new, width, rank, alpha):
    """Return predictions of one fit: means for missing outputs, inputs standardised, components."""
    mean = np.nanmean(Y, axis=0)
    deviations = np.where(np.isnan(Y), 0.0, Y - mean)
    _, _, directions = np.linalg.svd(deviations)
    directions = directions[: min(rank, len(Y) - 1)]
    scores = refit(X, deviations @ directions.T, X_new, width, alpha, "standard")
    return mean + scores.reshape(len(X_new), -1) @ directions


@pytest.mark.parametrize("metric", ["arrmse", "rrmse"])
@pytest.mark.parametrize("missing", [0.0, 0.15])
def test_choice_and_predictions_equal_those_of_a_plain_loop(tmp_path, metric, missing):
    X, Y = small_inputs(missing=missing)
    stages = run_stage(stages_of(tmp_path, X, Y, metric=metric))
    split, regression = stages.tree("split"), stages.tree("regression")
    assert len(regression) == len(stages.sizes)
    for size in stages.sizes:
        rows, folds = split["train"][:size], split["folds"][f"n-{size}"]
        grid = {
            point: score_of(
                Y[rows], heldout(reduced, X[rows], Y[rows], folds, *point), folds, metric
            )
            for point in product(stages.widths, RANKS, ALPHAS)
        }
        best = min(grid, key=grid.get)
        item = regression[f"n-{size}_w-0_C-selected"]
        assert (item["width"], item["rank"], item["alpha_rest"]) == best
        assert item["score"] == pytest.approx(grid[best], rel=1e-9)
        expected = heldout(reduced, X[rows], Y[rows], folds, *best)
        np.testing.assert_allclose(item["heldout_outputs"], expected, atol=1e-8)
        expected = reduced(X[rows], Y[rows], X[split["test"]], *best)
        np.testing.assert_allclose(item["test_targets"], expected, atol=1e-8)


@pytest.mark.parametrize("scale", ["none", "standard"])
def test_all_components_are_kernel_ridge(tmp_path, scale):
    X, Y = small_inputs()
    ours = run_stage(stages_of(tmp_path / "reduced", X, Y, scale=scale), ranks=[100])
    ridge = stages_of(tmp_path / "ridge", X, Y, scale=scale).all().tree("regression")
    for name, item in ours.tree("regression").items():
        expected = ridge[name]
        assert item["rank"] == 6
        assert item["score"] == pytest.approx(expected["score"], rel=1e-10)
        assert (item["width"], item["alpha_rest"]) == (expected["width"], expected["alpha_rest"])
        np.testing.assert_allclose(item["test_targets"], expected["test_targets"], atol=1e-9)


def test_the_rank_is_the_smallest_of_equal_ones(tmp_path):
    X, Y = small_inputs()
    stages = run_stage(stages_of(tmp_path, X, Y), ranks=[6, 7, 50])
    again = run_stage(stages_of(tmp_path / "again", X, Y), ranks=[6])
    trees = [without_curves(each.tree("regression")) for each in (stages, again)]
    assert_same_tree(*trees)


def test_more_outputs_than_rows(tmp_path):
    X, Y = small_inputs(40)
    stages = run_stage(stages_of(tmp_path, X, Y), ranks=[25])
    for size, item in zip(stages.sizes, stages.tree("regression").values(), strict=True):
        assert item["rank"] == min(size - 1, 25)
        assert item["test_targets"].shape == (12, 40)


def test_an_infinite_penalty_predicts_the_training_mean(tmp_path):
    X, Y = small_inputs()
    stages = run_stage(stages_of(tmp_path, X, Y, alphas=[np.inf]))
    train = stages.tree("split")["train"]
    for size, item in zip(stages.sizes, stages.tree("regression").values(), strict=True):
        assert item["score"] == pytest.approx(1.0)
        # All grid points are the same, so the first is kept.
        assert (item["width"], item["rank"]) == (stages.widths[0], RANKS[0])
        mean = Y[train[:size]].mean(axis=0)
        np.testing.assert_allclose(item["test_targets"], np.tile(mean, (12, 1)), atol=1e-12)


def test_constant_outputs_have_no_component(tmp_path):
    X, Y = small_inputs()
    stages = run_stage(stages_of(tmp_path, X, np.full_like(Y, 0.1)))
    assert {item["rank"] for item in stages.tree("regression").values()} == {0}
