"""Regions for all outputs at once: their coverage, shape and limits."""

import numpy as np
import pytest
from scipy.special import gammaln

from workflow_lib.uncertainty.joint_regions import (
    FORMS,
    MAX_ELLIPSOID_OUTPUTS,
    JointRegions,
    RegionsOfRows,
    second_moments,
)
from workflow_lib.uncertainty.output_ranges import OutputRanges
from workflow_lib.uncertainty.row_intervals import HeldOutRows, RowIntervals


def drawn(generator, n, d, correlation=0.0, follows=0.0):
    """Return rows with correlated errors whose size depends on the novelty."""
    C = np.full((d, d), correlation) + (1.0 - correlation) * np.eye(d)
    predicted, novelty = generator.standard_normal((n, d)), generator.gamma(2.0, size=n)
    errors = generator.standard_normal((n, d)) @ np.linalg.cholesky(C).T
    errors *= novelty[:, None] ** follows
    return HeldOutRows(predicted, predicted + errors, novelty, np.arange(n))


def fitted(tested, level=0.9, ranges=None):
    ranges = ranges or OutputRanges.of([{}] * tested.truth.shape[1])
    intervals, relative = RowIntervals.fit(tested, level, ranges, 0)
    return intervals, JointRegions.fit(intervals, relative, tested)


@pytest.mark.parametrize(
    "n, d, correlation, follows",
    [(40, 2, 0.8, 0.0), (40, 8, 0.0, 0.8), (60, 16, 0.9, 0.0), (150, 5, 0.5, 0.8)],
)
def test_regions_hold_all_outputs_with_the_level_where_intervals_do_not(n, d, correlation, follows):
    held, alone = [], []
    for seed in range(24):
        generator = np.random.default_rng([seed, n])
        intervals, regions = fitted(drawn(generator, n, d, correlation, follows))
        new = drawn(generator, 1000, d, correlation, follows)
        held.append(regions.held(new).mean(axis=0))
        alone.append(intervals.held(new).all(axis=1).mean())
    assert np.mean(alone) < 0.87
    # The standard error of these means is about .01.
    assert (np.abs(np.mean(held, axis=0) - 0.9) < 0.045).all()


def test_the_ellipsoid_is_smaller_where_errors_are_correlated_and_follows_the_row():
    generator = np.random.default_rng(0)
    tested = drawn(generator, 400, 4, 0.9, 1.0)
    intervals, regions = fitted(tested)
    sides = np.exp(regions.log_sides(tested.predicted, tested.novelty))
    assert (sides[:, 1] < 0.7 * sides[:, 0]).all()
    shapes = regions.shapes(tested.predicted, tested.novelty)
    ball = np.exp(0.5 * 4 * np.log(np.pi) - gammaln(3.0))
    volumes = ball * np.sqrt(np.linalg.det(shapes))
    np.testing.assert_allclose(volumes, sides[:, 1] ** 4)
    boxes = regions.box.half_widths(tested.predicted, tested.novelty)
    np.testing.assert_allclose((2.0 * boxes).prod(axis=1), sides[:, 0] ** 4)
    low, high = np.argsort(tested.novelty)[[20, -20]]
    assert shapes[high, 0, 0] > 4.0 * shapes[low, 0, 0]
    residuals = tested.truth - tested.predicted
    inside = np.einsum("mi,mi->m", residuals, np.linalg.solve(shapes, residuals[..., None])[..., 0])
    np.testing.assert_array_equal(regions.held(tested)[:, 1], inside <= 1.0)


def test_regions_of_predicted_rows_contain_what_they_hold():
    tested = drawn(np.random.default_rng(1), 80, 3, 0.5, 0.5)
    tested.truth[:2, 1] = np.nan
    _, regions = fitted(tested, ranges=OutputRanges.of([{"least": -1.0}, {}, {}]))
    found = RegionsOfRows.of(regions, tested.predicted, tested.novelty)
    outputs = tested.truth.copy()
    outputs[:, 0] = np.maximum(outputs[:, 0], -1.0)
    in_box = ((found.lower <= outputs) & (outputs <= found.upper)).all(axis=1)
    contained = found.contain(outputs)
    assert np.isnan(contained[:2]).all() and np.isnan(found.contain(outputs, "ellipsoid")[:2]).all()
    np.testing.assert_array_equal(contained[2:], in_box[2:])
    assert found.lower[:, 0].min() == -1.0
    outside = outputs + 100.0
    assert all((found.contain(outside, form)[2:] == 0).all() for form in FORMS)
    for form, shape in (("sphere", outputs), ("box", outputs[:3])):
        with pytest.raises(ValueError, match="form must be one of|outputs must have the shape"):
            found.contain(shape, form)


def test_outputs_that_are_unknown_or_exact_and_too_few_rows():
    generator = np.random.default_rng(2)
    tested = drawn(generator, 60, 4)
    # The second output has too few rows for an interval, and the third is predicted exactly.
    tested.truth[5:, 1] = np.nan
    tested.truth[:, 2] = tested.predicted[:, 2]
    _, regions = fitted(tested)
    ends = regions.box.ends(tested.predicted, tested.novelty)
    assert (ends[0][:, 1] == -np.inf).all() and (ends[1][:, 1] == np.inf).all()
    assert (ends[0][:, 2] == tested.predicted[:, 2]).all()
    shapes = regions.shapes(tested.predicted, tested.novelty)
    assert np.isinf(shapes[:, 1]).all() and (shapes[:, 2, [0, 2, 3]] == 0).all()
    new = drawn(generator, 200, 4)
    assert (regions.held(new) == 0).all()
    new.truth[:, 2] = new.predicted[:, 2]
    assert (regions.held(new).mean(axis=0) > 0.75).all()
    _, none = fitted(tested.part(np.arange(8)))
    assert not none.has_box and not none.has_ellipsoid and np.isnan(none.held(new)).all()
    assert np.isinf(none.box.ends(new.predicted, new.novelty)[1]).all()
    assert np.isinf(none.shapes(new.predicted, new.novelty)).all() and none.shape.size == 0
    # Of a low level one row is enough for an interval, but not for a region.
    _, of_one_row = fitted(tested.part(np.array([0])), level=0.5)
    assert not of_one_row.has_box and not of_one_row.has_ellipsoid


def test_many_outputs_have_a_box_alone():
    tested = drawn(np.random.default_rng(6), 40, MAX_ELLIPSOID_OUTPUTS + 1)
    _, regions = fitted(tested)
    assert regions.has_box and not regions.has_ellipsoid and regions.tree()["shape"].size == 0
    assert np.isnan(regions.held(tested)[:, 1]).all()


def test_a_row_that_several_splits_tested_counts_once():
    tested = drawn(np.random.default_rng(3), 50, 3, 0.6)
    again = tested.part(np.concatenate([np.arange(50), np.arange(50)]))
    _, once = fitted(tested)
    _, twice = fitted(again)
    np.testing.assert_allclose(once.box.factors, twice.box.factors, rtol=0.3)
    np.testing.assert_allclose(once.shape, twice.shape, rtol=0.5)


def test_correlations_are_shrunk_by_their_estimated_variance():
    generator = np.random.default_rng(4)
    values = generator.standard_normal((30, 5)) @ generator.standard_normal((5, 5))
    found = second_moments(values, np.ones(30))
    C = values.T @ values / 30
    deviations = np.sqrt(np.diag(C))
    np.testing.assert_allclose(np.diag(found), np.diag(C))
    products = [np.outer(row, row) / np.outer(deviations, deviations) for row in values]
    off = ~np.eye(5, dtype=bool)
    variance = np.var(products, axis=0)[off].sum() / 30
    squares = (np.mean(products, axis=0)[off] ** 2).sum()
    np.testing.assert_allclose(found[off], (1.0 - variance / squares) * C[off])
    # Ten rows of forty outputs have a singular matrix of second moments.
    np.linalg.cholesky(second_moments(generator.standard_normal((10, 40)), np.ones(10)))
    np.testing.assert_allclose(
        second_moments(np.repeat(values, 2, axis=0), np.full(60, 0.5)), found
    )
