"""Errors relative to those of the training mean: units, missing outputs, and selection by them."""

import numpy as np
import pytest
from measure_samples import Rows, sample, with_gaps
from sklearn.metrics import r2_score

from workflow_lib.measures.error_ratios import MEASURES
from workflow_lib.measures.metrics import (
    METRICS,
    relative_error,
    squared_error_sums,
    training_mean_errors,
)

ERRORS = [measure.name for measure in MEASURES]
OF_TRAINING_MEAN = {"arrmse": 1.0, "rrmse": 1.0, "root_sum_rrmse": np.sqrt(3)}
IN_ANY_UNITS = ("arrmse", "root_sum_rrmse")
"""Metrics that do not depend on the units of each output; that of the others is common to all."""


@pytest.mark.parametrize("name", ERRORS)
def test_units_and_zeros_do_not_matter_where_it_is_said(score, name):
    rows = sample(name)
    scales = np.array([1e-3, 1.0, 1e4]) if name in IN_ANY_UNITS else 1e3
    shifts = np.array([5.0, -3.0, 100.0])
    scaled = Rows(*(scales * values for values in rows))
    assert score(name, scaled) == pytest.approx(score(name, rows), rel=1e-10)
    shifted = Rows(*(values + shifts for values in rows))
    is_same = score(name, shifted) == pytest.approx(score(name, rows), rel=1e-10)
    assert is_same == (name != "norm_rrmse")


@pytest.mark.parametrize("name", ERRORS)
def test_errors_of_twice_the_size_count_twice(score, name):
    rows = sample(name)
    further = rows._replace(predictions=2 * rows.predictions - rows.truth)
    assert score(name, further) == pytest.approx(2 * score(name, rows), rel=1e-12)


@pytest.mark.parametrize("name", ERRORS)
def test_the_training_mean_is_the_measure_of_relative_errors(score, name):
    for rows in (sample(name), with_gaps(sample(name))):
        mean = np.nanmean(rows.train, axis=0) if name in OF_TRAINING_MEAN else np.zeros(3)
        rows = rows._replace(predictions=np.tile(mean, (len(rows.truth), 1)))
        assert score(name, rows) == pytest.approx(OF_TRAINING_MEAN.get(name, 1.0), rel=1e-12)


@pytest.mark.parametrize("name", ERRORS)
def test_constant_outputs_have_no_relative_error(score, name):
    rows = sample(name)
    constant = Rows(*(np.column_stack([values, np.full(len(values), 0.1)]) for values in rows))
    if name in OF_TRAINING_MEAN:
        # Not even that of a wrong prediction, where every output counts on its own.
        constant.predictions[:, 3] += 1e3 * (name in IN_ANY_UNITS)
        assert score(name, constant) == pytest.approx(score(name, rows), rel=1e-12)
    nothing = Rows(*(np.zeros_like(values) for values in rows))
    assert np.isnan(score(name, nothing))


@pytest.mark.parametrize("name", METRICS)
def test_metrics_of_selection_are_those_of_the_scores(score, name):
    rows = sample(name)
    errors, reference = (
        squared_error_sums(rows.truth, rows.predictions),
        training_mean_errors(rows.truth, rows.train),
    )
    assert relative_error(errors, reference, name) == pytest.approx(score(name, rows), rel=1e-12)


def test_only_names_of_metrics_are_taken():
    with pytest.raises(KeyError):
        relative_error(np.ones(3), np.ones(3), "mse")


def test_relation_to_the_coefficient_of_determination(score):
    rows = sample("arrmse")
    rows = rows._replace(train=rows.truth)
    r2 = r2_score(rows.truth, rows.predictions, multioutput="raw_values")
    assert score("arrmse", rows) == pytest.approx(np.sqrt(1 - r2).mean(), rel=1e-12)
    r2 = r2_score(rows.truth, rows.predictions, multioutput="variance_weighted")
    assert score("rrmse", rows) == pytest.approx(np.sqrt(1 - r2), rel=1e-12)
