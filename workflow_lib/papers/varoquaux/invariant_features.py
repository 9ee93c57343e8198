"""Features of series and images that a shift changes little: Fourier and wavelet moduli."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from workflow_lib.core.optional_packages import not_installed


class _OfGrid(TransformerMixin, BaseEstimator):
    """Rows that are series, or images of the shape of the parameter ``shape``."""

    safe_to_load = True

    needs_all_columns = True
    """Also inputs that are constant: the position of a number in a row matters."""

    shape: Sequence[int] | None

    def fit(self, X, y=None):
        """Check rows `X` (n, q), from which nothing is learned; `y` is ignored.

        Raises ValueError if `shape` has not q places.
        """
        self._n_features_out = self.transform(np.asarray(X)[:1]).shape[1]
        return self

    def _grids(self, X) -> np.ndarray:
        X = np.asarray(X, dtype=np.float64)
        shape = tuple(self.shape or X.shape[1:])
        if np.prod(shape) != X.shape[1]:
            raise ValueError(f"shape={list(shape)}: the rows have {X.shape[1]} numbers.")
        return X.reshape(len(X), *shape)


class FourierModulus(_OfGrid):
    """The moduli of the discrete Fourier transform of series or images.

    A circular shift multiplies F(x)_f = sum_t exp(-2 pi i f t / T) x_t by a phase, so that |F(x)|
    is the same. Frequencies are those of ``numpy.fft.rfftn``, divided by the root of T; those that
    stand for a conjugate, too, are multiplied by the root of 2, so that lengths are kept. No
    package is needed.

    Parameters
    ----------
    shape : sequence of int or None, default=None
        Of an image, as [8, 8]; None for a series.
    beside : bool, default=False
        Whether the numbers themselves stand beside their moduli.

    Examples
    --------
    >>> FourierModulus().fit_transform([[0.0, 2.0, 0.0, 0.0]]).tolist()
    [[1.0, 1.4142135623730951, 1.0]]
    """

    def __init__(self, shape: Sequence[int] | None = None, beside: bool = False) -> None:
        self.shape, self.beside = shape, beside

    def transform(self, X) -> np.ndarray:
        """Return the moduli of rows `X` (n, q)."""
        grids = self._grids(X)
        found = np.abs(np.fft.rfftn(grids, axes=range(1, grids.ndim), norm="ortho"))
        last = grids.shape[-1]
        twice = np.arange(found.shape[-1])
        found[..., (twice > 0) & (2 * twice != last)] *= np.sqrt(2.0)
        parts = [found.reshape(len(grids), -1)]
        return np.hstack([grids.reshape(len(grids), -1), *parts] if self.beside else parts)


class WaveletScattering(_OfGrid):
    """Moduli of wavelet coefficients, repeated and averaged (Mallat 2016), by PyWavelets.

    With the redundant wavelets psi of scales 1 to `scales` and, of images, three orientations,

        S_0 = A x,   S_1 = A |psi * x|,   S_2 = A |psi' * |psi * x||  for psi' of a larger scale,

    where A is the mean over windows of `window` places a side. So a shift by less than a window
    changes the features little, and small deformations move energy between near scales only. The
    wavelets are orthogonal and their scales those of the stationary transform ``pywt.swtn``,
    normalised: the squares of all coefficients of an order sum to those of what they are of.
    Windows at the end of rows may be smaller; series and images are continued by reflection to a
    multiple of 2 to the power of `scales`.

    This needs ``python -m pip install '.[wavelets]'``; kymatio 0.3, which has complex wavelets,
    cannot be imported with SciPy from 1.17 on.

    Parameters
    ----------
    shape : sequence of int or None, default=None
        Of an image, as [8, 8]; None for a series.
    scales : int, default=2
    order : {1, 2}, default=2
    window : int or None, default=None
        2 to the power of `scales` when None; 0 for the mean over all places.
    wavelet : str, default="db2"
        An orthogonal wavelet of PyWavelets.
    """

    def __init__(
        self,
        shape: Sequence[int] | None = None,
        scales: int = 2,
        order: int = 2,
        window: int | None = None,
        wavelet: str = "db2",
    ) -> None:
        self.shape, self.scales, self.order = shape, scales, order
        self.window, self.wavelet = window, wavelet

    def transform(self, X) -> np.ndarray:
        """Return the features of rows `X` (n, q).

        Raises UserError if PyWavelets is not installed.
        """
        grids = self._grids(X)
        unit = 2**self.scales
        widths = [(0, 0), *((0, -size % unit) for size in grids.shape[1:])]
        grids = np.pad(grids, widths, mode="symmetric")
        found, layer = [grids], [(0, grids)]
        for _ in range(self.order):
            layer = [
                (scale, np.abs(detail))
                for last, signal in layer
                for scale, detail in self._details(signal)
                if scale > last
            ]
            found += [modulus for _, modulus in layer]
        return np.hstack([self._means(each) for each in found])

    def _details(self, signal: np.ndarray) -> list[tuple[int, np.ndarray]]:
        """Return the scale and the coefficients of each wavelet."""
        try:
            import pywt
        except ImportError as error:
            raise not_installed("PyWavelets", type(self).__name__, error) from error
        axes = range(1, signal.ndim)
        levels = pywt.swtn(signal, self.wavelet, self.scales, axes=axes, norm=True)
        low = "a" * len(axes)
        return [
            (self.scales - place, level[name])
            for place, level in enumerate(levels)
            for name in sorted(level)
            if name != low
        ]

    def _means(self, signal: np.ndarray) -> np.ndarray:
        """Return the means over windows (n, w)."""
        window = 2**self.scales if self.window is None else self.window
        sizes = signal.shape[1:]
        begins = [range(0, size, window or size) for size in sizes]
        axes = tuple(range(1, signal.ndim))
        means = [
            signal[(slice(None), *(slice(at, at + (window or max(sizes))) for at in place))].mean(
                axis=axes
            )
            for place in product(*begins)
        ]
        return np.column_stack(means)
