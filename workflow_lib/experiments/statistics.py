"""Means, deviations and the two paired tests that compare methods over train/test splits.

Scores of two methods on the same splits are paired. The ordinary paired Student t-test is the
paper's rule for bold numbers (risk 1e-3). It takes the splits for independent samples, which they
are not, since their training rows overlap; the corrected resampled t-test (Nadeau & Bengio,
Machine Learning 52, 2003, eq. 11) widens the variance for that overlap.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

EQUALITY_TOLERANCE = 1e-9
"""Scores that differ by less than this part of the larger one count as equal: methods that are the
same by algebra differ by rounding, and a t-test would read a pattern into the rounding."""


@dataclass(frozen=True)
class PairedTest:
    """The comparison of two methods on the same splits.

    Attributes
    ----------
    n_splits : int
        Number of paired scores J.
    mean_difference : float
        Mean of ``first - second``; negative where the first has the lower score.
    n_nonzero : int
        Number of splits on which the two scores differ.
    effect : float
        Mean difference in units of the spread (standard deviation, J - 1) of the differences:
        0 when all are zero, infinite when they are equal and not zero, NaN for one split.
    statistic : float
        The t statistic, with J - 1 degrees of freedom.
    p_value : float
        Two-sided p value; NaN where there is no test.
    note : str
        Why a value is special ("n = 1", "all differences are zero"); empty otherwise.
    """

    n_splits: int
    mean_difference: float
    n_nonzero: int
    effect: float
    statistic: float
    p_value: float
    note: str = ""


def mean_and_deviation(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and the standard deviation (divisor n - 1) of `values`.

    The deviation of a single value is NaN; of no value, both are NaN.
    """
    values = np.asarray(values, dtype=float)
    if values.size == 0:
        return math.nan, math.nan
    if values.size == 1:
        return float(values[0]), math.nan
    return float(values.mean()), float(values.std(ddof=1))


def paired_t_test(first: Sequence[float], second: Sequence[float]) -> PairedTest:
    """Return the paired Student t-test of ``first - second`` over J splits.

    With differences d_j, mean m and variance s^2 (divisor J - 1), t = m / sqrt(s^2 / J).
    This is the test of the paper's tables, where bold means a p value below 1e-3.

    Raises
    ------
    ValueError
        If the two have different lengths, or none.
    """
    differences = _paired_differences(first, second)
    return _test_mean(differences, variance_factor=1.0 / len(differences))


def corrected_resampled_t_test(
    first: Sequence[float], second: Sequence[float], n_train: int, n_test: int
) -> PairedTest:
    """Return the corrected resampled t-test of ``first - second`` over J splits.

    t = m / sqrt((1 / J + n_test / n_train) s^2), with J - 1 degrees of freedom (Nadeau & Bengio
    2003). With small training sets and large test sets the factor is large and the test is
    cautious: few comparisons come out as real.

    Parameters
    ----------
    first, second : sequence of J floats
        Scores of the two methods, split by split.
    n_train, n_test : int
        Numbers of training and of test rows of each split.

    Raises
    ------
    ValueError
        If the two have different lengths, or none, or if a number of rows is not positive.
    """
    if n_train <= 0 or n_test <= 0:
        raise ValueError(f"n_train and n_test must be positive, found {n_train} and {n_test}")
    differences = _paired_differences(first, second)
    return _test_mean(differences, variance_factor=1.0 / len(differences) + n_test / n_train)


def _paired_differences(first: Sequence[float], second: Sequence[float]) -> np.ndarray:
    """Return first - second, with differences below the tolerance set to zero."""
    first = np.asarray(first, dtype=float)
    second = np.asarray(second, dtype=float)
    if first.ndim != 1 or first.shape != second.shape or first.size == 0:
        raise ValueError(
            f"paired scores must be two sequences of one length, at least 1; "
            f"found shapes {first.shape} and {second.shape}"
        )
    differences = first - second
    scale = np.maximum(np.abs(first), np.abs(second))
    differences[np.abs(differences) <= EQUALITY_TOLERANCE * scale] = 0.0
    return differences


def _test_mean(differences: np.ndarray, variance_factor: float) -> PairedTest:
    """Return the two-sided t-test that the mean is zero, its variance being factor * s^2."""
    n_splits = len(differences)
    mean = float(differences.mean())
    n_nonzero = int(np.count_nonzero(differences))
    if n_splits == 1:
        return PairedTest(n_splits, mean, n_nonzero, math.nan, math.nan, math.nan, "n = 1")
    if n_nonzero == 0:
        return PairedTest(n_splits, 0.0, 0, 0.0, 0.0, 1.0, "all differences are zero")
    deviation = float(differences.std(ddof=1))
    if deviation <= EQUALITY_TOLERANCE * abs(mean):
        infinite = math.copysign(math.inf, mean)
        note = "all differences are equal and not zero"
        return PairedTest(n_splits, mean, n_nonzero, infinite, infinite, 0.0, note)

    # The distribution function alone: importing all of scipy.stats takes half a second.
    from scipy.special import stdtr

    statistic = mean / (deviation * math.sqrt(variance_factor))
    p_value = float(2.0 * stdtr(n_splits - 1, -abs(statistic)))
    return PairedTest(n_splits, mean, n_nonzero, mean / deviation, statistic, p_value)
