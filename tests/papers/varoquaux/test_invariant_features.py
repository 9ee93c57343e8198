"""Moduli of Fourier and wavelet coefficients: lengths, shifts, and brute force."""

import numpy as np
import pytest

from workflow_lib.papers.varoquaux.invariant_features import FourierModulus, WaveletScattering


@pytest.mark.parametrize("shape", [None, [8, 4], [4, 3]])
def test_moduli_do_not_change_with_circular_shifts_and_keep_lengths(shape):
    X = np.random.default_rng(0).normal(size=(5, np.prod(shape or [31])))
    model = FourierModulus(shape).fit(X)
    grids = X.reshape(5, *(shape or [31]))
    shifted = np.roll(
        grids, 2 * np.ones(grids.ndim - 1, dtype=int), axis=tuple(range(1, grids.ndim))
    )
    found = model.transform(X)
    np.testing.assert_allclose(model.transform(shifted.reshape(5, -1)), found, atol=1e-12)
    np.testing.assert_allclose(np.square(found).sum(axis=1), np.square(X).sum(axis=1))
    beside = FourierModulus(shape, beside=True).fit_transform(X)
    np.testing.assert_array_equal(beside, np.hstack([X, found]))


def test_moduli_of_a_series_are_those_of_the_sum():
    X = np.random.default_rng(1).normal(size=(2, 6))
    at = np.exp(-2j * np.pi * np.outer(np.arange(6), np.arange(4)) / 6)
    expected = np.abs(X @ at) / np.sqrt(6) * np.sqrt([1, 2, 2, 1])
    np.testing.assert_allclose(FourierModulus().fit_transform(X), expected)


def test_the_first_order_is_the_mean_modulus_of_haar_differences():
    pytest.importorskip("pywt")
    x = np.random.default_rng(0).normal(size=8)
    found = WaveletScattering(scales=1, order=1, window=0, wavelet="haar").fit_transform([x])
    differences = np.abs(x - np.roll(x, -1)) / 2
    np.testing.assert_allclose(found, [[x.mean(), differences.mean()]])
    # Two places a window; the modulus of the second order is of a larger scale.
    two = WaveletScattering(scales=2, order=2, window=2, wavelet="haar").fit_transform([x])
    assert two.shape == (1, 4 * (1 + 2 + 1))
    np.testing.assert_allclose(two[0, :4], x.reshape(4, 2).mean(axis=1))


@pytest.mark.parametrize("shape", [None, [16, 16]])
def test_means_over_all_places_do_not_change_with_circular_shifts(shape):
    pytest.importorskip("pywt")
    random = np.random.default_rng(0)
    grids = random.normal(size=(3, *(shape or [64])))
    shifted = np.roll(grids, 3, axis=1)
    model = WaveletScattering(shape, window=0).fit(grids.reshape(3, -1))
    found = model.transform(grids.reshape(3, -1))
    np.testing.assert_allclose(model.transform(shifted.reshape(3, -1)), found, atol=1e-12)
    n_wavelets = 1 if shape is None else 3
    assert found.shape[1] == 1 + 2 * n_wavelets + n_wavelets**2
    # Windows change with a shift, but less than the numbers do.
    model = WaveletScattering(shape, window=16).fit(grids.reshape(3, -1))
    small = np.roll(grids, 1, axis=1).reshape(3, -1)
    change = model.transform(small) - model.transform(grids.reshape(3, -1))
    of_rows = np.linalg.norm(small - grids.reshape(3, -1)) / np.linalg.norm(grids)
    assert np.linalg.norm(change) / np.linalg.norm(model.transform(small)) < 0.5 * of_rows


def test_coefficients_keep_the_squares_of_what_they_are_of():
    pywt = pytest.importorskip("pywt")
    X = np.random.default_rng(0).normal(size=(2, 8, 8))
    model = WaveletScattering([8, 8], scales=2)
    squares = sum(np.square(detail).sum(axis=(1, 2)) for _, detail in model._details(X))
    low = pywt.swtn(X, "db2", 2, axes=(1, 2), norm=True, trim_approx=True)[0]
    np.testing.assert_allclose(
        squares + np.square(low).sum(axis=(1, 2)), np.square(X).sum(axis=(1, 2))
    )


def test_another_shape_and_a_missing_package_are_refused(monkeypatch):
    from workflow_lib.core.errors import UserError

    with pytest.raises(ValueError, match="the rows have 7 numbers"):
        FourierModulus([2, 3]).fit(np.ones((2, 7)))
    monkeypatch.setitem(__import__("sys").modules, "pywt", None)
    with pytest.raises(UserError, match="PyWavelets"):
        WaveletScattering().fit(np.ones((2, 8)))
