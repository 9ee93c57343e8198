"""Tests and effect sizes that compare methods over train/test splits, and ranks over datasets.

Scores of two methods on the same splits are paired. The ordinary paired Student t-test is the
paper's rule for bold numbers (significance level 1e-3). It treats the splits as independent
samples, which they are not, since their training rows overlap; the corrected resampled t-test
(Nadeau & Bengio, Machine Learning 52, 2003, eq. 11) increases the variance for that overlap.

Several methods are compared over datasets, which are independent, by their ranks in each dataset:
the Friedman test of all of them, and Nemenyi's critical difference between any two (Demsar,
Journal of Machine Learning Research 7, 2006, section 3.2.2).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

EQUALITY_TOLERANCE = 1e-9
"""Scores that differ by less than this part of the larger score count as equal: algebraically equal
methods differ by rounding errors, which a t-test could find significant."""


@dataclass(frozen=True)
class PairedTest:
    """The comparison of two methods on the same splits."""

    n_splits: int
    """Number of paired scores J."""

    mean_difference: float
    """Mean of ``first - second``; negative where the first has the lower score."""

    n_nonzero: int
    """Number of splits on which the two scores differ."""

    effect: float
    """Mean difference in units of the spread (standard deviation, J - 1) of the differences: 0 when
    all are zero, infinite when they are equal and not zero, NaN for one split."""

    statistic: float
    """The t statistic, with J - 1 degrees of freedom."""

    p_value: float
    """Two-sided p value; NaN where there is no test: for one split, and where all differences are
    equal and not zero, whose spread of zero is no estimate of that of other splits."""

    note: str = ""
    """Why a value is special ("n = 1", "all differences are zero"); empty otherwise."""


@dataclass(frozen=True)
class EffectSizes:
    """The mean difference of two methods in two units, without the bias of few splits.

    Both are negative where the first has the lower scores, 0 when all differences are zero,
    infinite where there is a difference and no spread, and NaN for one split.
    """

    of_differences: float
    """In units of the spread of the differences, J(n - 1) m / s_d: how consistent the difference
    is."""

    of_scores: float
    """In units of the spread of the scores themselves, J(2 n - 2) m / sqrt((s_1^2 + s_2^2) / 2):
    how large it is relative to the deviations that a table shows."""


@dataclass(frozen=True)
class FriedmanTest:
    """The test that all methods have the same average rank over N datasets.

    Attributes
    ----------
    statistic, p_value : float
        Friedman's chi-squared with k - 1 degrees of freedom, corrected for ties. It is
        conservative.
    f_statistic, f_p_value : float
        The F of Iman and Davenport with k - 1 and (k - 1)(N - 1) degrees of freedom; infinite and
        0 where all datasets give the same ranks, which overstates the evidence of few datasets.
    note : str
        "all methods are tied" or "all datasets give the same ranks"; empty otherwise.
    """

    statistic: float
    p_value: float
    f_statistic: float
    f_p_value: float
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

    Raises ValueError if the two have different lengths, or none.
    """
    differences = _paired_differences(first, second)
    return _test_mean(differences, variance_factor=1.0 / len(differences))


def corrected_resampled_t_test(
    first: Sequence[float], second: Sequence[float], n_train: int, n_test: int
) -> PairedTest:
    """Return the corrected resampled t-test of ``first - second`` over J splits.

    t = m / sqrt((1 / J + n_test / n_train) s^2), with J - 1 degrees of freedom (Nadeau & Bengio
    2003). With small training sets and large test sets the factor is large and the test is
    conservative: few differences are significant.

    Raises ValueError if the two have different lengths, or none, or if a number of rows is not
    positive.

    Parameters
    ----------
    first, second : sequence of J floats
        Scores of the two methods, split by split.
    n_train, n_test : int
        Numbers of training and of test rows of each split.
    """
    if n_train <= 0 or n_test <= 0:
        raise ValueError(f"n_train and n_test must be positive, found {n_train} and {n_test}")
    differences = _paired_differences(first, second)
    return _test_mean(differences, variance_factor=1.0 / len(differences) + n_test / n_train)


def detectable_difference(
    deviation: float,
    n_splits: int,
    n_train: int,
    n_test: int,
    risk: float = 0.05,
    power: float = 0.8,
) -> float:
    """Return the mean difference that the corrected resampled t-test finds with a given power.

    (t_{1 - risk / 2} + t_{power}) sqrt(1 / J + n_test / n_train) s with quantiles of Student's t of
    J - 1 degrees of freedom, the usual approximation of the inverse of the power function (Cohen,
    Statistical Power Analysis for the Behavioral Sciences, 1988). Smaller true differences are
    likely to remain undetected.

    Raises ValueError if there are fewer than two splits.

    Parameters
    ----------
    deviation : float
        The standard deviation s of the differences over the splits.
    n_splits, n_train, n_test : int
        The number J of splits, and their training and test rows.
    risk, power : float
        The risk of the two-sided test, and the share of repetitions in which it is significant.
    """
    if n_splits < 2:
        raise ValueError(f"at least two splits are needed, found {n_splits}")
    # The quantiles alone: importing all of scipy.stats takes half a second.
    from scipy.special import stdtrit

    quantiles = stdtrit(n_splits - 1, np.array([1.0 - risk / 2.0, power]))
    return float(quantiles.sum() * math.sqrt(1.0 / n_splits + n_test / n_train) * deviation)


def hedges_correction(degrees_of_freedom: int) -> float:
    """Return the factor J(f) that makes a standardised mean difference unbiased.

    J(f) = Gamma(f / 2) / (sqrt(f / 2) Gamma((f - 1) / 2)), about 1 - 3 / (4 f - 1), for a standard
    deviation of f degrees of freedom (Hedges, Journal of Educational Statistics 6, 1981). It is
    0.80 for the differences of five splits and 0.56 for those of three. It is 0 for f = 1, where
    the uncorrected difference has no finite expectation.

    Raises ValueError if the degrees of freedom are not positive.
    """
    if degrees_of_freedom < 1:
        raise ValueError(f"degrees of freedom must be positive, found {degrees_of_freedom}")
    if degrees_of_freedom == 1:
        return 0.0
    half = degrees_of_freedom / 2.0
    return math.exp(math.lgamma(half) - math.lgamma(half - 0.5)) / math.sqrt(half)


def effect_sizes(first: Sequence[float], second: Sequence[float]) -> EffectSizes:
    """Return the mean of ``first - second`` in units of two spreads, with Hedges' correction.

    The first is `PairedTest.effect` times J(n - 1). The second is the g of Hedges in the form for
    paired scores that Lakens (Frontiers in Psychology 4, 2013, eq. 10) calls g_av. Splits share
    rows, so that both apply to other splits of the same data, not to other data.

    With two splits the first is NaN, since no factor removes its bias.

    Raises ValueError if the two have different lengths, or none.
    """
    differences = _paired_differences(first, second)
    n_splits, mean = len(differences), float(differences.mean())
    if n_splits == 1:
        return EffectSizes(math.nan, math.nan)
    if not differences.any():
        return EffectSizes(0.0, 0.0)
    variances = [mean_and_deviation(scores)[1] ** 2 for scores in (first, second)]
    of_scores = _in_units(mean, math.sqrt(sum(variances) / 2), 2 * n_splits - 2)
    if n_splits == 2:
        return EffectSizes(math.nan, of_scores)
    return EffectSizes(_in_units(mean, float(differences.std(ddof=1)), n_splits - 1), of_scores)


def _in_units(mean: float, deviation: float, degrees_of_freedom: int) -> float:
    """Return a mean in units of a deviation with this many degrees of freedom, corrected."""
    if deviation <= EQUALITY_TOLERANCE * abs(mean):
        return math.copysign(math.inf, mean)
    return hedges_correction(degrees_of_freedom) * mean / deviation


def ranks_by_dataset(errors: np.ndarray) -> np.ndarray:
    """Return the ranks (N, k) of k methods in each of N datasets; the lowest error has rank 1.

    Tied methods share the mean of their ranks. Errors are tied where they differ by rounding alone
    (`EQUALITY_TOLERANCE`), so that algebraically equal methods have the same rank.

    Raises ValueError if it is not a table of finite numbers with at least one dataset and two
    methods.

    Parameters
    ----------
    errors : array of shape (N, k)
        Of every method on every dataset; only their order within a dataset counts.
    """
    errors = np.asarray(errors, dtype=float)
    if errors.ndim != 2 or len(errors) == 0 or errors.shape[1] < 2:
        raise ValueError(
            f"ranks need an array of at least 1 dataset and 2 methods, found shape {errors.shape}"
        )
    if not np.isfinite(errors).all():
        raise ValueError("ranks need a finite error of every method on every dataset")
    ranks = np.empty_like(errors)
    for row, of_dataset in zip(errors, ranks, strict=True):
        order = np.argsort(row, kind="stable")
        lower, higher = row[order[:-1]], row[order[1:]]
        scale = np.maximum(np.abs(lower), np.abs(higher))
        begins = np.flatnonzero(higher - lower > EQUALITY_TOLERANCE * scale) + 1
        for tied in np.split(np.arange(len(row)), begins):
            of_dataset[order[tied]] = tied.mean() + 1
    return ranks


def average_ranks(errors: np.ndarray) -> np.ndarray:
    """Return the mean over datasets (k,) of the ranks of k methods (`ranks_by_dataset`)."""
    return ranks_by_dataset(errors).mean(axis=0)


def friedman_test(errors: np.ndarray) -> FriedmanTest:
    """Return the Friedman test of the hypothesis that k methods are equal on N datasets.

    With average ranks R_j, chi2 = 12 N / (k (k + 1)) sum_j (R_j - (k + 1) / 2)^2, divided by
    1 - sum (t^3 - t) / (N k (k^2 - 1)) over groups of t tied methods. Iman and Davenport's
    F = (N - 1) chi2 / (N (k - 1) - chi2) is less conservative (Demsar 2006, section 3.2.2).

    Raises ValueError as `ranks_by_dataset` does, or for a single dataset.

    Parameters
    ----------
    errors : array of shape (N, k)
        As in `ranks_by_dataset`; of at least two datasets.
    """
    ranks = ranks_by_dataset(errors)
    n_datasets, n_methods = ranks.shape
    if n_datasets < 2:
        raise ValueError("the Friedman test needs at least 2 datasets, found 1")
    sizes = [np.unique(row, return_counts=True)[1] for row in ranks]
    n_tied = sum(float((t**3 - t).sum()) for t in sizes)
    untied = 1.0 - n_tied / (n_datasets * n_methods * (n_methods**2 - 1))
    if untied <= EQUALITY_TOLERANCE:
        return FriedmanTest(0.0, 1.0, 0.0, 1.0, "all methods are tied")

    from scipy.special import chdtrc, fdtrc

    spread = float(((ranks.mean(axis=0) - (n_methods + 1) / 2) ** 2).sum())
    statistic = 12 * n_datasets * spread / (n_methods * (n_methods + 1)) / untied
    largest, freedom = n_datasets * (n_methods - 1), n_methods - 1
    p_value = float(chdtrc(freedom, statistic))
    if largest - statistic <= EQUALITY_TOLERANCE * largest:
        note = "all datasets give the same ranks"
        return FriedmanTest(statistic, p_value, math.inf, 0.0, note)
    f_statistic = (n_datasets - 1) * statistic / (largest - statistic)
    f_p_value = float(fdtrc(freedom, freedom * (n_datasets - 1), f_statistic))
    return FriedmanTest(statistic, p_value, f_statistic, f_p_value)


def nemenyi_critical_difference(n_methods: int, n_datasets: int, risk: float = 0.05) -> float:
    """Return the difference of average ranks from which Nemenyi's test distinguishes two methods.

    CD = q sqrt(k (k + 1) / (6 N)), where q is the upper quantile of the Studentized range of k
    groups with infinitely many degrees of freedom, divided by sqrt(2) (Demsar 2006, section
    3.2.2). The test allows for all pairs of methods at once. Average ranks differ by k - 1 at
    most, so that with few datasets no methods may be distinguishable.

    Parameters
    ----------
    n_methods, n_datasets : int
        k, at least 2, and N, at least 1.
    risk : float, default=0.05
        The probability that it distinguishes any two methods although all are equal.
    """
    if n_methods < 2 or n_datasets < 1:
        raise ValueError(
            f"a critical difference needs 2 methods and 1 dataset, found {n_methods} "
            f"and {n_datasets}"
        )

    from scipy.stats import studentized_range

    quantile = float(studentized_range.isf(risk, n_methods, np.inf)) / math.sqrt(2.0)
    return quantile * math.sqrt(n_methods * (n_methods + 1) / (6.0 * n_datasets))


def indistinguishable_groups(
    ranks: Sequence[float], critical_difference: float
) -> list[tuple[int, ...]]:
    """Return the largest groups of methods whose ranks differ by less than the critical difference.

    Groups are tuples of positions in `ranks`, best rank first, of at least two methods. A method
    can be in several groups, and no group lies within another. Methods whose ranks differ by
    exactly the critical difference are distinguished.
    """
    order = sorted(range(len(ranks)), key=lambda index: (ranks[index], index))
    groups, end = [], 0
    for begin, index in enumerate(order):
        last = end
        while end < len(order) and ranks[order[end]] - ranks[index] < critical_difference:
            end += 1
        if end > last and end - begin > 1:
            groups.append(tuple(order[begin:end]))
    return groups


def _paired_differences(first: Sequence[float], second: Sequence[float]) -> np.ndarray:
    """Return first - second, with differences below the tolerance set to zero."""
    first = np.asarray(first, dtype=float)
    second = np.asarray(second, dtype=float)
    if first.ndim != 1 or first.shape != second.shape or first.size == 0:
        raise ValueError(
            f"paired scores must be two sequences of equal length, at least 1; "
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
        return PairedTest(n_splits, mean, n_nonzero, infinite, math.nan, math.nan, note)

    # The distribution function alone: importing all of scipy.stats takes half a second.
    from scipy.special import stdtr

    statistic = mean / (deviation * math.sqrt(variance_factor))
    p_value = float(2.0 * stdtr(n_splits - 1, -abs(statistic)))
    return PairedTest(n_splits, mean, n_nonzero, mean / deviation, statistic, p_value)
