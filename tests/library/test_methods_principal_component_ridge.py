"""The stage of ridge regression with a penalty per output component, end to end."""

import numpy as np
import pytest
from small_data import regression_data
from small_folds import heldout, refit, score_of
from small_pipeline import Stages

ALPHAS = [1e-4, 1e-2, 0.3, np.inf]


def small_inputs(n_outputs=3):
    X, Y = regression_data(70, n_clusters=4, spread=2.0, dimension=n_outputs)
    noise = np.random.default_rng(3).normal(size=Y.shape)
    return X, Y + noise * np.linspace(0, 3, n_outputs)


def run_stage(stages: Stages) -> Stages:
    return stages.ridge("principal_component_ridge")


def stages_of(folder, X, Y, **options):
    settings = {"kind": None, "scale": "standard", "alphas": ALPHAS} | options
    return Stages(folder, X, Y, **settings)


def component_predictions(X, Y, X_new, width, alphas):
    """Return predicted outputs (n, d) for one penalty per component, one fit a component."""
    Y = filled(Y, slice(None))
    mean = Y.mean(axis=0)
    _, _, directions = np.linalg.svd(Y - mean)
    predicted = np.tile(mean, (len(X_new), 1))
    for direction, alpha in zip(directions, alphas, strict=False):
        scores = refit(X, (Y - mean) @ direction, X_new, width, alpha, "standard")
        predicted += np.outer(scores, direction)
    return predicted


def filled(Y, kept):
    """Return the outputs, missing ones as the mean of the kept rows."""
    return np.where(np.isnan(Y), np.nanmean(Y[kept], axis=0), Y)


def brute_force(X, outputs, folds, width, metric):
    """Return penalties, score and held-out predictions of one width, by a plain loop."""
    score_errors = np.zeros((len(ALPHAS), outputs.shape[1]))
    for fold in range(folds.max() + 1):
        kept, rows = folds != fold, folds == fold
        Y = filled(outputs, kept)
        mean = Y[kept].mean(axis=0)
        _, _, directions = np.linalg.svd(Y[kept] - mean)
        for index, alpha in enumerate(ALPHAS):
            for rank, direction in enumerate(directions):
                scores = (Y - mean) @ direction
                predicted = refit(X[kept], scores[kept], X[rows], width, alpha, "standard")
                score_errors[index, rank] += ((predicted - scores[rows]) ** 2).sum()
    alphas = np.array(ALPHAS)[score_errors.argmin(axis=0)]
    predictions = heldout(component_predictions, X, outputs, folds, width, alphas)
    return alphas, score_of(outputs, predictions, folds, metric), predictions


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("metric", ["arrmse", "rrmse"])
def test_choice_and_predictions_equal_those_of_a_plain_loop(tmp_path, metric, missing):
    X, Y = small_inputs()
    Y[np.random.default_rng(6).random(Y.shape) < missing] = np.nan
    stages = run_stage(stages_of(tmp_path, X, Y, metric=metric))
    split, regression = stages.tree("split"), stages.tree("regression")
    assert len(regression) == len(stages.sizes)
    for size in stages.sizes:
        rows, folds = split["train"][:size], split["folds"][f"n-{size}"]
        found = {
            width: brute_force(X[rows], Y[rows], folds, width, metric) for width in stages.widths
        }
        width = min(found, key=lambda width: found[width][1])
        alphas, score, heldout = found[width]
        item = regression[f"n-{size}_w-0_C-selected"]
        assert item["width"] == width
        assert item["score"] == pytest.approx(score, rel=1e-9)
        np.testing.assert_array_equal(item["component_alphas"], alphas)
        np.testing.assert_allclose(item["heldout_outputs"], heldout, atol=1e-9)
        known = filled(Y[rows], np.ones(size, dtype=bool))
        expected = component_predictions(X[rows], known, X[split["test"]], width, alphas)
        np.testing.assert_allclose(item["test_targets"], expected, atol=1e-9)
    assert any(len(set(item["component_alphas"])) > 1 for item in regression.values())


@pytest.mark.parametrize("scale", ["none", "standard"])
@pytest.mark.parametrize("n_outputs", [3, 40])
def test_one_penalty_is_kernel_ridge(tmp_path, scale, n_outputs):
    X, Y = small_inputs(n_outputs)
    for alpha in (1e-2, np.inf):
        options = {"alphas": [alpha], "scale": scale}
        ours = run_stage(stages_of(tmp_path / f"components-{alpha}", X, Y, **options))
        ridge = stages_of(tmp_path / f"ridge-{alpha}", X, Y, **options).all()
        expected = ridge.tree("predictions")
        for name, item in ours.tree("predictions").items():
            assert item["score"] == pytest.approx(expected[name]["score"], rel=1e-10)
            assert item["width"] == expected[name]["width"]
            # Of 40 outputs the refit has components that no fold has; they stay at the mean.
            if n_outputs == 3 or alpha == np.inf:
                np.testing.assert_allclose(item["outputs"], expected[name]["outputs"], atol=1e-10)


def test_one_output_is_kernel_ridge(tmp_path):
    X, Y = small_inputs(1)
    ours = run_stage(stages_of(tmp_path / "components", X, Y)).tree("predictions")
    ridge = stages_of(tmp_path / "ridge", X, Y).all().tree("predictions")
    for name, item in ours.items():
        assert item["score"] == pytest.approx(ridge[name]["score"], rel=1e-10)
        np.testing.assert_allclose(item["outputs"], ridge[name]["outputs"], atol=1e-10)


def test_pooled_error_is_at_most_that_of_the_best_shared_penalty(tmp_path):
    X, Y = small_inputs()
    ours = run_stage(stages_of(tmp_path / "components", X, Y, metric="rrmse"))
    ridge = stages_of(tmp_path / "ridge", X, Y, metric="rrmse").all().tree("regression")
    gains = [
        1.0 - item["score"] / ridge[name]["score"] for name, item in ours.tree("regression").items()
    ]
    assert min(gains) > -1e-9
    assert max(gains) > 1e-3


def test_more_outputs_than_rows(tmp_path):
    X, Y = small_inputs(40)
    stages = run_stage(stages_of(tmp_path, X, Y))
    regression = stages.tree("regression")
    for size, item in zip(stages.sizes, regression.values(), strict=True):
        alphas = item["component_alphas"]
        assert alphas.shape == (size - 1,)
        # The largest fold of four trains on three quarters of the rows.
        largest = size - size // 4
        assert np.isinf(alphas[largest - 1 :]).all()
        assert np.isfinite(alphas[0])
        assert item["test_targets"].shape == (12, 40)


def test_infinite_penalties_predict_the_training_mean(tmp_path):
    X, Y = small_inputs()
    for center in (True, False):
        stages = stages_of(tmp_path / str(center), X, Y, alphas=[np.inf], center=center)
        run_stage(stages)
        train = stages.tree("split")["train"]
        for size, item in zip(stages.sizes, stages.tree("regression").values(), strict=True):
            assert np.isinf(item["component_alphas"]).all()
            assert item["score"] == pytest.approx(1.0)
            mean = Y[train[:size]].mean(axis=0)
            np.testing.assert_allclose(item["test_targets"], np.tile(mean, (12, 1)), atol=1e-12)


def test_constant_outputs_have_no_component(tmp_path):
    X, Y = small_inputs()
    stages = run_stage(stages_of(tmp_path, X, np.full_like(Y, 0.1)))
    for item in stages.tree("regression").values():
        assert item["component_alphas"].shape == (0,)


def test_the_first_of_equal_widths_is_kept(tmp_path):
    # With one constant penalty, the mean, all widths are the same.
    X, Y = small_inputs()
    stages = stages_of(tmp_path, X, Y, alphas=[np.inf], widths=[3.0, 0.3, 1.0])
    for item in run_stage(stages).tree("regression").values():
        assert item["width"] == 3.0
