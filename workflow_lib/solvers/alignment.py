"""Kernels and distances of time series over all alignments of their steps, or the best one.

An alignment pi of two series x and y of T steps is a path from (1, 1) to (T, T) that advances one
of the two, or both, by one step at a time. Both functions call tslearn, an optional dependency,
which compiles its loops when they are first used (some seconds per process).
"""

import numpy as np

from workflow_lib.core.errors import UserError
from workflow_lib.core.optional_packages import not_installed


def squared_dtw_distances(series: np.ndarray) -> np.ndarray:
    """Return the squared dynamic time warping distances (N, N) of series (N, T, p).

    DTW(x, y)^2 = min over alignments pi of sum_{(i, j) in pi} ||x_i - y_j||^2 (Sakoe & Chiba
    1978). Exact: FastDTW (Salvador & Chan 2004), which the OFER paper used, approximates it for
    long series and is slower on short ones.

    A kernel exp(-DTW^2 / scale^2) made of them is not positive semi-definite, because the
    distance violates the triangle inequality; see
    `workflow_lib.solvers.output_kernels.clip_spectrum`.

    Raises UserError if tslearn is not installed.
    """
    distances = _tslearn_metrics().cdist_dtw(np.asarray(series, dtype=np.float64)) ** 2
    return (distances + distances.T) / 2


def global_alignment_gram(series: np.ndarray, sigma: float) -> np.ndarray:
    """Return the global alignment kernel (N, N) between series (N, T, p), with ones as diagonal.

    k(x, y) = K(x, y) / sqrt(K(x, x) K(y, y)), where K sums over all alignments instead of taking
    the best (Cuturi, Vert, Birkenes & Matsui 2007),

        K(x, y) = sum over pi of prod_{(i, j) in pi} g / (2 - g),
        g = exp(-||x_i - y_j||^2 / (2 sigma^2)).

    The local kernel g / (2 - g) instead of g makes K positive semi-definite (Cuturi 2011).

    Raises UserError if tslearn is not installed, or if the kernel of a series with itself leaves
    the range of floating-point numbers: sigma is too small, or the series are too long.

    Parameters
    ----------
    series : array (N, T, p)
    sigma : float
        Width of the local kernel, in units of the series.
    """
    series = np.asarray(series, dtype=np.float64)
    # The diagonal shows what leaves the range of numbers, so warnings are not needed.
    with np.errstate(all="ignore"):
        gram = _tslearn_metrics().cdist_gak(series, sigma=sigma)
    if not (np.isfinite(gram).all() and (np.diagonal(gram) > 0).all()):
        raise UserError(
            location=f"global alignment kernel with sigma {sigma:.3g} on series of "
            f"{series.shape[1]} steps",
            found="kernel values that floating-point numbers cannot hold",
            expected="a sigma not too small for the length of the series",
            remedy="choose larger values of grid.output_width, or shorter series",
        )
    gram = (gram + gram.T) / 2
    np.fill_diagonal(gram, 1.0)
    return gram


def lattice_sigma(sigma: float) -> float:
    """Return the power of 2 nearest to a positive `sigma` on the log scale.

    This lattice does not depend on the data, so kernels that are computed once can be used for
    widths that are learned later, from other rows.
    """
    return float(2.0 ** np.round(np.log2(sigma)))


def lattice_between(smallest: float, largest: float) -> np.ndarray:
    """Return, in increasing order, the lattice values (m,) of all sigmas between two given ones."""
    exponents = np.round(np.log2([smallest, largest]))
    return 2.0 ** np.arange(exponents[0], exponents[1] + 1)


def _tslearn_metrics():
    """Return the module of tslearn's kernels and distances."""
    try:
        from tslearn import metrics
    except ImportError as error:
        raise not_installed("tslearn", "output kernels dtw and gak", error) from error
    return metrics
