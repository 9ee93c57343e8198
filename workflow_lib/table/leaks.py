"""Columns that determine an output too well: copies of it, or values measured together with it.

A model with such an input seems excellent but is of no use for new rows, where the column is not
yet known. This module does not decide that a column is a leak; it lists the columns to check.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

SUSPICIOUS = 0.999
"""Smallest correlation, or rank correlation, of a column that is reported."""

EQUAL = 0.9999
"""Correlation from which on a column counts as a copy of the output, in any unit."""

NEARLY_EQUAL = 0.995
"""Correlation of two outputs from which on they are reported; with two digits it is 1.00."""

MIN_COMMON_ROWS = 6
"""Rows in which both columns are known; with fewer a high correlation can be chance."""

MIN_ROWS_PER_LEVEL = 3
"""Mean number of rows per level from which on it is not chance that a level determines the
output."""

# Smallest rank correlations, over all rows of each column, that may be 1 over the common rows.
_SCREENED = 0.97
_SCREENED_EQUAL = 0.99
_COLUMNS_AT_ONCE = 256


class Leak(NamedTuple):
    """A column that determines an output.

    Its ``kind`` is ``equal``: it is the output itself in some unit; ``correlation``; ``rank
    correlation``; or ``levels``: rows with the same value of the column always have the same
    output. ``strength`` is the correlation, or for ``levels`` the share of explained variance.
    """

    column: str
    output: str
    kind: str
    strength: float


def correlations(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return Pearson's correlations (q, d) of the columns of (n, q) and (n, d) matrices.

    Each pair is compared in the rows where both are known (NaN marks a missing value). The
    correlation is 0 with fewer than `MIN_COMMON_ROWS` such rows, or if a column does not vary.
    """
    known_first, values_first = standardised(first)
    known_second, values_second = standardised(second)
    counts = known_first.T @ known_second
    sums_first = values_first.T @ known_second
    sums_second = known_first.T @ values_second
    with np.errstate(divide="ignore", invalid="ignore"):
        covariance = values_first.T @ values_second - sums_first * sums_second / counts
        variance_first = (values_first**2).T @ known_second - sums_first**2 / counts
        variance_second = known_first.T @ (values_second**2) - sums_second**2 / counts
        found = covariance / np.sqrt(variance_first * variance_second)
    usable = (
        (counts >= MIN_COMMON_ROWS)
        & (variance_first > 1e-12 * counts)
        & (variance_second > 1e-12 * counts)
    )
    return np.clip(np.where(usable, found, 0.0), -1.0, 1.0)


def average_ranks(values: np.ndarray) -> np.ndarray:
    """Return the ranks of values in each column (n, q), average ranks for ties, NaN if missing."""
    import pandas

    return pandas.DataFrame(values).rank().to_numpy()


def rank_correlation(first: np.ndarray, second: np.ndarray) -> float:
    """Return Spearman's correlation of two columns (n,) over the rows where both are known."""
    known = ~(np.isnan(first) | np.isnan(second))
    ranks = [average_ranks(values[known, None]) for values in (first, second)]
    return float(correlations(*ranks)[0, 0]) if known.any() else 0.0


def numeric_leaks(
    inputs: np.ndarray, outputs: np.ndarray, input_names: Sequence[str], output_names: Sequence[str]
) -> list[Leak]:
    """Return the columns of `inputs` (n, q) that determine a column of `outputs` (n, d).

    One entry per pair, with the first kind of ``equal``, ``correlation`` and ``rank correlation``
    that applies. A copy also has a high rank correlation, unlike two columns that share a single
    huge value by chance.
    """
    found = []
    output_ranks = average_ranks(outputs)
    for start in range(0, inputs.shape[1], _COLUMNS_AT_ONCE):
        block = inputs[:, start : start + _COLUMNS_AT_ONCE]
        linear = correlations(block, outputs)
        ranked = correlations(average_ranks(block), output_ranks)
        candidates = (np.abs(linear) > SUSPICIOUS) | (np.abs(ranked) > _SCREENED)
        for column, output in zip(*np.nonzero(candidates)):
            of_ranks = rank_correlation(block[:, column], outputs[:, output])
            strength = float(linear[column, output])
            names = input_names[start + column], output_names[output]
            if abs(strength) > EQUAL and abs(of_ranks) > _SCREENED_EQUAL:
                found.append(Leak(*names, "equal", strength))
            elif abs(strength) > SUSPICIOUS:
                found.append(Leak(*names, "correlation", strength))
            elif abs(of_ranks) > SUSPICIOUS:
                found.append(Leak(*names, "rank correlation", of_ranks))
    return found


def level_leaks(
    levels: Mapping[str, np.ndarray], outputs: np.ndarray, output_names: Sequence[str]
) -> list[Leak]:
    """Return the columns whose value determines an output: equal within each level.

    `levels` (n,) are columns of values that can be equal, such as texts or codes of classes, and
    `outputs` (n, d) are NaN where missing. Columns with fewer than `MIN_ROWS_PER_LEVEL` rows per
    level are skipped.
    """
    import pandas

    found = []
    for name, values in levels.items():
        codes, _ = pandas.factorize(values, sort=True)
        for output, column in zip(output_names, outputs.T):
            known = ~np.isnan(column)
            n_rows = int(known.sum())
            present, groups = np.unique(codes[known], return_inverse=True)
            many = len(present) * MIN_ROWS_PER_LEVEL <= n_rows
            if n_rows < MIN_COMMON_ROWS or len(present) < 2 or not many:
                continue
            # Divided by the largest, because squares of huge numbers can overflow.
            values = column[known] / (np.abs(column[known]).max() or 1.0)
            centred = values - values.mean()
            means = np.bincount(groups, weights=centred) / np.bincount(groups)
            total = float(centred @ centred)
            within = float(((centred - means[groups]) ** 2).sum())
            if total > 0 and within <= 1e-9 * total:
                found.append(Leak(name, output, "levels", 1.0 - within / total))
    return found


def standardised(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which values (n, q) are known, as 0 and 1, and the standardised values.

    Each column is standardised by itself without overflow; missing values are 0.
    """
    known = ~np.isnan(values)
    counts = np.maximum(known.sum(axis=0), 1)
    # Divided by the largest, because sums of huge numbers can overflow.
    largest = np.where(known, np.abs(values), 0.0).max(axis=0, initial=0.0)
    scaled = np.where(known, values, 0.0) / np.where(largest > 0, largest, 1.0)
    centred = np.where(known, scaled - scaled.sum(axis=0) / counts, 0.0)
    deviation = np.sqrt((centred**2).sum(axis=0) / counts)
    return known.astype(np.float64), centred / np.where(deviation > 1e-14, deviation, 1.0)
