"""Preparation of inputs: what it fills, scales, drops and clips, fitted to training rows only."""

import numpy as np
import pytest
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import StandardScaler

from workflow_lib.inputs.column_origins import ColumnOrigins
from workflow_lib.inputs.preparation import (
    MAX_STANDARD_VALUE,
    InputPreparation,
    fit_preparation,
    preparation_learns,
)


def inputs(n_rows=30, missing=0.0, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n_rows, 4)) * [1.0, 10.0, 0.1, 1e3] + [0.0, 5.0, -3.0, 1e4]
    X[generator.random(X.shape) < missing] = np.nan
    return X


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_standard_equals_imputer_and_scaler_of_scikit_learn(missing):
    X, Z = inputs(missing=missing), inputs(missing=missing, seed=1)
    preparation = fit_preparation(X, "standard")
    imputer = SimpleImputer().fit(X)
    scaler = StandardScaler().fit(imputer.transform(X))
    for rows in (X, Z):
        np.testing.assert_allclose(
            preparation.apply(rows), scaler.transform(imputer.transform(rows)), atol=1e-10
        )


def test_none_only_fills():
    X = inputs(missing=0.2)
    prepared = fit_preparation(X, "none").apply(X)
    np.testing.assert_array_equal(prepared, SimpleImputer().fit_transform(X))
    complete = inputs()
    np.testing.assert_array_equal(fit_preparation(complete, "none").apply(complete), complete)


def test_constant_columns_are_dropped():
    X = np.column_stack([inputs(), np.full(30, 0.1), np.full(30, -1e9)])
    prepared = fit_preparation(X, "standard").apply(inputs(5, seed=1)[:, [0, 1, 2, 3, 0, 0]])
    assert prepared.shape == (5, 4)
    assert fit_preparation(X, "none").apply(X).shape == (30, 6)


@pytest.mark.parametrize("unit", [1e-15, 1e-6, 1e9])
def test_units_do_not_matter(unit):
    X = inputs()
    X -= X.mean(axis=0)
    np.testing.assert_allclose(
        fit_preparation(unit * X, "standard").apply(unit * X),
        fit_preparation(X, "standard").apply(X),
        rtol=1e-9,
    )


def test_columns_without_any_value_or_variation_leave_something_to_use():
    empty = np.full((6, 2), np.nan)
    prepared = fit_preparation(empty, "none").apply(empty)
    np.testing.assert_array_equal(prepared, np.zeros((6, 2)))
    constant = np.full((6, 2), 3.0)
    prepared = fit_preparation(constant, "standard").apply(np.array([[3.0, 4.0]]))
    np.testing.assert_allclose(prepared, [[0.0, 1.0]])


def test_extreme_values_are_clipped_only_where_most_rows_have_one_value():
    X = inputs()
    X[:, 0] = 0.0
    X[0, 0] = 1e-3
    far = X[:1] + 1e9
    prepared = fit_preparation(X, "standard").apply(far)
    assert prepared[0, 0] == MAX_STANDARD_VALUE and prepared[0, 1:].min() > MAX_STANDARD_VALUE
    np.testing.assert_array_equal(fit_preparation(X, "none").apply(far), far)
    # Half of the rows are not most of them.
    halves = np.repeat([0.0, 1.0], 4)[:, None]
    assert not fit_preparation(halves, "standard").is_cut.any()
    assert fit_preparation(halves[:7], "standard").is_cut.all()


def test_the_preparation_of_an_earlier_version_cuts_all_columns_or_none():
    preparation = fit_preparation(inputs(), "standard")
    tree = preparation.tree()
    del tree["is_cut"]
    for standardised in (True, False):
        again = InputPreparation.from_tree(tree | {"standardised": standardised})
        assert again.is_cut.tolist() == [standardised] * len(preparation.fill)


def test_one_row_can_be_prepared():
    prepared = fit_preparation(inputs(1), "standard").apply(inputs(3))
    assert np.isfinite(prepared).all()


def test_which_preparations_are_fitted():
    assert preparation_learns(inputs(), "standard")
    assert preparation_learns(inputs(missing=0.2), "none")
    assert not preparation_learns(inputs(), "none")
    with pytest.raises(ValueError, match="scale must be one of .*found 'robust'"):
        fit_preparation(inputs(), "robust")


def test_columns_are_weighted_after_clipping():
    X = np.array([[0.0, 1.0, 5.0, 0.0], [0.0, 3.0, 5.0, 1.0], [4.0, np.nan, 5.0, 1.0]])
    origins = ColumnOrigins.of([(1, 0), (3, 1)])
    plain, weighted = fit_preparation(X, "standard"), fit_preparation(X, "standard", origins)
    far = np.array([[1000.0, 2.0, 5.0, 1.0]])
    # The third column does not vary, so that the second property has two.
    weights = np.array([1.0, 0.5**0.5, 0.5**0.5]) * 1.5**0.5
    for rows in (X, far):
        np.testing.assert_allclose(weighted.apply(rows), plain.apply(rows) * weights)
    assert weighted.apply(far)[0, 0] == pytest.approx(weights[0] * MAX_STANDARD_VALUE)
    again = InputPreparation.from_tree(weighted.tree())
    np.testing.assert_array_equal(again.apply(X), weighted.apply(X))
    assert "weights" not in plain.tree()
