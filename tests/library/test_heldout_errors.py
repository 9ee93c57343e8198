"""Errors of held-out rows, averaged by their mean or by their median."""

import numpy as np
import pytest

from workflow_lib.measures.metrics import heldout_error

FOLDS = np.arange(12) % 3


def reference(outputs):
    """Return the mean squared error (d,) of each output by the means of the other folds."""
    errors = [
        (outputs[FOLDS == fold] - np.nanmean(outputs[FOLDS != fold], axis=0)) ** 2
        for fold in range(3)
    ]
    return np.nanmean(np.concatenate(errors), axis=0)


@pytest.mark.parametrize("metric", ["arrmse", "rrmse"])
@pytest.mark.parametrize("missing", [False, True])
def test_the_median_of_rows_errors_by_hand(metric, missing):
    generator = np.random.default_rng(1)
    outputs = generator.normal(size=(12, 3)) * [1.0, 2.0, 5.0]
    predictions = outputs + generator.normal(size=(12, 3))
    if missing:
        outputs[0], outputs[1, 2] = np.nan, np.nan
    by_row = []
    for row, (known, predicted) in enumerate(zip(outputs, predictions, strict=True)):
        seen, unit = ~np.isnan(known), reference(outputs)
        errors = (known - predicted)[seen] ** 2
        if seen.any() and metric == "arrmse":
            by_row.append((errors / unit[seen]).mean())
        elif seen.any():
            by_row.append(errors.sum() / unit[seen].sum())
        assert seen.any() or (missing and row == 0)
    expected = np.sqrt(np.median(by_row))
    found = heldout_error(outputs, predictions, FOLDS, metric, "median")
    assert found == pytest.approx(expected, rel=1e-12)
    assert found != heldout_error(outputs, predictions, FOLDS, metric)


def test_a_few_wild_rows_move_the_mean_alone():
    generator = np.random.default_rng(2)
    outputs = generator.normal(size=(12, 2))
    predictions = outputs + 0.1 * generator.normal(size=(12, 2))
    wild = predictions.copy()
    wild[3] += 100.0
    clean, moved = (
        [heldout_error(outputs, each, FOLDS, "rrmse", rows) for rows in ("mean", "median")]
        for each in (predictions, wild)
    )
    assert moved[0] > 100 * clean[0]
    assert moved[1] < 1.5 * clean[1]


def test_constant_outputs_have_no_median_error():
    constant = np.ones((12, 2))
    assert heldout_error(constant, constant + 1.0, FOLDS, "arrmse", "median") == np.inf
