"""The stage of the training mean."""

import numpy as np
import pytest
from fit_methods import run_method
from small_data import regression_data
from small_pipeline import Stages


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("metric", ["arrmse", "rrmse"])
def test_predictions_are_means(tmp_path, metric, missing):
    X, Y = regression_data(70)
    Y[np.random.default_rng(4).random(Y.shape) < missing] = np.nan
    stages = Stages(tmp_path, X, Y).prepare()
    run_method("training_mean", stages.path, metric=metric)
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
