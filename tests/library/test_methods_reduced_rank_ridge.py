"""The stage of ridge regression with outputs of reduced rank, end to end."""

import numpy as np
import pytest
from small_data import regression_data
from small_folds import score_of
from small_pipeline import Stages, assert_same_tree, without_curves

from workflow_lib import KernelRidgeRegressor
from workflow_lib.fitting.prepared_inputs import rbf_gamma
from workflow_lib.inputs.preparation import fit_preparation

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


def refit(X, Y, X_new, width, rank, alpha):
    """Return predictions of one fit: means for missing outputs, inputs standardised, components."""
    mean = np.nanmean(Y, axis=0)
    deviations = np.where(np.isnan(Y), 0.0, Y - mean)
    _, _, directions = np.linalg.svd(deviations)
    directions = directions[: min(rank, len(Y) - 1)]
    preparation = fit_preparation(X, "standard")
    model = KernelRidgeRegressor(gamma=rbf_gamma(width, X.shape[1]), alpha=alpha)
    model.fit(preparation.apply(X), deviations @ directions.T)
    scores = model.predict(preparation.apply(X_new)).reshape(len(X_new), -1)
    return mean + scores @ directions


def heldout_loop(X, Y, folds, width, rank, alpha):
    predicted = np.empty_like(Y)
    for fold in range(folds.max() + 1):
        kept, rows = folds != fold, folds == fold
        predicted[rows] = refit(X[kept], Y[kept], X[rows], width, rank, alpha)
    return predicted


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
            (width, rank, alpha): score_of(
                Y[rows], heldout_loop(X[rows], Y[rows], folds, width, rank, alpha), folds, metric
            )
            for width in stages.widths
            for rank in RANKS
            for alpha in ALPHAS
        }
        best = min(grid, key=grid.get)
        item = regression[f"n-{size}_w-0_C-selected"]
        assert (item["width"], item["rank"], item["alpha_rest"]) == best
        assert item["score"] == pytest.approx(grid[best], rel=1e-9)
        heldout = heldout_loop(X[rows], Y[rows], folds, *best)
        np.testing.assert_allclose(item["heldout_outputs"], heldout, atol=1e-8)
        expected = refit(X[rows], Y[rows], X[split["test"]], *best)
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


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_fields_of_the_artifact(tmp_path, kernel):
    X, Y = small_inputs()
    stages = run_stage(stages_of(tmp_path, X, Y, kernel=kernel, scale="none"))
    regression, predictions = stages.tree("regression"), stages.tree("predictions")
    for size in stages.sizes:
        item = regression[f"n-{size}_w-0_C-selected"]
        scalars = {"training_size", "weak_size", "components", "score", "rank", "alpha_rest"}
        if kernel == "rbf":
            scalars |= {"width"}
        arrays = {
            "dual_coefficients": (size, 6),
            "intercept": (6,),
            "heldout_outputs": (size, 6),
            "training_targets": (size, 6),
            "test_targets": (12, 6),
        }
        assert item.keys() == scalars | arrays.keys() | {"validation_curves"}
        assert {name: item[name].shape for name in arrays} == arrays
        assert (item["training_size"], item["weak_size"]) == (size, 0)
        predicted = predictions[f"n-{size}_w-0_C-selected"]
        assert predicted.keys() == scalars | {"outputs", "training_outputs", "heldout_outputs"}
        np.testing.assert_array_equal(predicted["outputs"], item["test_targets"])


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
