"""Kernels on series equal the sum, or the least, over all alignments written out one by one."""

import sys

import numpy as np
import pytest

from workflow_lib.core.errors import UserError
from workflow_lib.solvers import alignment
from workflow_lib.solvers.alignment import (
    global_alignment_gram,
    lattice_between,
    lattice_sigma,
    squared_dtw_distances,
)


def small_series(n_series=6, length=4, channels=2, seed=0):
    pytest.importorskip("tslearn")
    return np.random.default_rng(seed).normal(size=(n_series, length, channels)).cumsum(axis=1)


def alignments_up_to(i, j):
    """Return all paths from (0, 0) to (i, j) that advance one of the two numbers, or both."""
    if i < 0 or j < 0:
        return []
    if i == j == 0:
        return [[(0, 0)]]
    before = [(i - 1, j), (i, j - 1), (i - 1, j - 1)]
    return [[*path, (i, j)] for step in before for path in alignments_up_to(*step)]


def of_all_pairs(series, value_of):
    """Return value_of(the squared step distances along each alignment) of all pairs of series."""
    paths = alignments_up_to(series.shape[1] - 1, series.shape[1] - 1)
    return np.array(
        [
            [
                value_of([np.array([((x[i] - y[j]) ** 2).sum() for i, j in p]) for p in paths])
                for y in series
            ]
            for x in series
        ]
    )


@pytest.mark.parametrize("channels", [1, 2])
def test_dtw_is_the_least_sum_over_all_alignments(channels):
    series = small_series(channels=channels)
    expected = of_all_pairs(series, lambda along: min(steps.sum() for steps in along))
    distances = squared_dtw_distances(series)
    np.testing.assert_allclose(distances, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(distances, distances.T)


@pytest.mark.parametrize("sigma", [0.5, 2.0])
@pytest.mark.parametrize("channels", [1, 2])
def test_global_alignment_is_the_normalised_sum_over_all_alignments(channels, sigma):
    series = small_series(channels=channels)

    def summed(along):
        local = [np.exp(-steps / (2 * sigma**2)) for steps in along]
        return sum((g / (2 - g)).prod() for g in local)

    sums = of_all_pairs(series, summed)
    norms = np.sqrt(np.diag(sums))
    gram = global_alignment_gram(series, sigma)
    np.testing.assert_allclose(gram, sums / np.outer(norms, norms), rtol=1e-12)


@pytest.mark.parametrize("sigma", [0.25, 1.0, 4.0])
def test_global_alignment_is_a_kernel_with_ones_as_diagonal(sigma):
    gram = global_alignment_gram(small_series(40, 6), sigma)
    np.testing.assert_array_equal(gram, gram.T)
    np.testing.assert_array_equal(np.diag(gram), 1.0)
    assert np.linalg.eigvalsh(gram).min() > -1e-12


def test_kernel_of_a_pair_does_not_depend_on_the_other_series():
    series = small_series(12, 5)
    rows = np.array([7, 2, 9, 4])
    pairs = np.ix_(rows, rows)
    np.testing.assert_array_equal(
        squared_dtw_distances(series[rows]), squared_dtw_distances(series)[pairs]
    )
    np.testing.assert_array_equal(
        global_alignment_gram(series[rows], 2.0), global_alignment_gram(series, 2.0)[pairs]
    )


def test_underflow_of_sigma_is_reported():
    with pytest.raises(UserError, match="sigma 1e-170 on series of 4 steps.*cannot hold"):
        global_alignment_gram(small_series(), 1e-170)


@pytest.mark.parametrize("diagonal", [0.0, np.nan, np.inf])
def test_diagonals_outside_the_range_of_numbers_are_reported(monkeypatch, diagonal):
    class Metrics:
        def cdist_gak(self, series, sigma):
            return np.diag([1.0, diagonal, 1.0])

    monkeypatch.setattr(alignment, "_tslearn_metrics", Metrics)
    with pytest.raises(UserError, match="choose larger values of grid.output_width"):
        global_alignment_gram(np.zeros((3, 500, 1)), 1e-3)


@pytest.mark.parametrize(
    "compare", [squared_dtw_distances, lambda series: global_alignment_gram(series, 1.0)]
)
def test_missing_package_is_reported_with_its_remedy(monkeypatch, compare):
    monkeypatch.setitem(sys.modules, "tslearn", None)
    with pytest.raises(UserError, match=r"tslearn cannot be imported.*\[series\]"):
        compare(np.zeros((2, 3, 1)))


def test_lattice_holds_the_powers_of_two():
    values = np.geomspace(1e-3, 1e3, 200)
    sigmas = np.array([lattice_sigma(value) for value in values])
    np.testing.assert_array_equal(np.log2(sigmas), np.round(np.log2(sigmas)))
    ratios = sigmas / values
    assert ratios.max() <= np.sqrt(2) + 1e-12
    assert ratios.min() >= 1 / np.sqrt(2) - 1e-12
    assert [lattice_sigma(sigma) for sigma in sigmas] == list(sigmas)


@pytest.mark.parametrize(("smallest", "largest"), [(0.3, 9.0), (1.0, 1.0), (0.9, 1.2)])
def test_lattice_between_two_values_serves_all_in_between_and_no_others(smallest, largest):
    lattice = lattice_between(smallest, largest)
    requested = {lattice_sigma(value) for value in np.geomspace(smallest, largest, 500)}
    assert set(lattice) == requested
    assert (np.diff(lattice) > 0).all()
