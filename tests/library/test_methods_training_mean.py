"""The stage of the training mean."""

import numpy as np
import pytest
from fit_methods import predict_outputs, run_method
from small_data import regression_data
from small_pipeline import Stages


def run_stages(folder, Y, metric="arrmse"):
    """Run all stages of the method."""
    X, _ = regression_data(70)
    stages = Stages(folder, X, Y).prepare()
    run_method("training_mean", stages.path, metric=metric)
    predict_outputs(stages.path)
    return stages


def small_outputs(missing=0.0):
    _, Y = regression_data(70)
    Y[np.random.default_rng(4).random(Y.shape) < missing] = np.nan
    return Y


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("metric", ["arrmse", "rrmse"])
def test_predictions_are_means(tmp_path, metric, missing):
    Y = small_outputs(missing)
    stages = run_stages(tmp_path, Y, metric)
    split = stages.tree("split")
    for size in stages.sizes:
        known, folds = Y[split["train"][:size]], split["folds"][f"n-{size}"]
        item = stages.tree("regression")[f"n-{size}_w-0_C-selected"]
        expected = np.tile(np.nanmean(known, axis=0), (12, 1))
        np.testing.assert_allclose(item["test_targets"], expected, rtol=1e-12)
        for row, fold in enumerate(folds):
            expected = np.nanmean(known[folds != fold], axis=0)
            np.testing.assert_allclose(item["heldout_outputs"][row], expected, rtol=1e-12)
        assert item["score"] == pytest.approx(1.0, rel=1e-12)


def test_fields_of_the_artifact(tmp_path):
    stages = run_stages(tmp_path, small_outputs())
    scalars = {"training_size", "weak_size", "components", "score"}
    regression, predictions = stages.tree("regression"), stages.tree("predictions")
    for size in stages.sizes:
        item = regression[f"n-{size}_w-0_C-selected"]
        assert item.keys() == scalars | {"test_targets", "training_targets", "heldout_outputs"}
        assert (item["training_size"], item["weak_size"]) == (size, 0)
        predicted = predictions[f"n-{size}_w-0_C-selected"]
        assert predicted.keys() == scalars | {"outputs", "training_outputs", "heldout_outputs"}
        np.testing.assert_array_equal(predicted["outputs"], item["test_targets"])
