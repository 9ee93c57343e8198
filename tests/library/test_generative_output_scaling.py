"""The scaling of the outputs of a model."""

import numpy as np
import pytest

from workflow_lib.models.output_scaling import fit_output_scaling


def outputs():
    return np.random.default_rng(0).normal(size=(40, 3)) * [1.0, 100.0, 0.01] + [5.0, -3.0, 0.0]


@pytest.mark.parametrize("scale", ["none", "center", "standard"])
def test_scaling_is_undone_exactly(scale):
    Y = outputs()
    scaling = fit_output_scaling(Y[:20], scale)
    np.testing.assert_allclose(
        scaling.inverse_transform(scaling.apply(Y)), Y, rtol=1e-13, atol=1e-13
    )


def test_none_changes_nothing():
    np.testing.assert_array_equal(fit_output_scaling(outputs(), "none").apply(outputs()), outputs())


def test_standard_gives_mean_zero_and_variance_one():
    scaled = fit_output_scaling(outputs(), "standard").apply(outputs())
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(scaled.std(axis=0), 1)


def test_center_keeps_the_units():
    scaled = fit_output_scaling(outputs(), "center").apply(outputs())
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(scaled.std(axis=0), outputs().std(axis=0))


@pytest.mark.parametrize("value", [0.0, 0.1, 1e-17])
def test_a_constant_coordinate_keeps_its_unit(value):
    Y = np.column_stack([np.full(7, value), np.arange(7.0)])
    scaled = fit_output_scaling(Y, "standard").apply(Y)
    np.testing.assert_allclose(scaled[:, 0], 0, atol=1e-15)


def test_an_unknown_scale_is_refused():
    with pytest.raises(ValueError, match="scale must be one of"):
        fit_output_scaling(outputs(), "robust")
