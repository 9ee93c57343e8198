"""Split conformal prediction: how far the outputs of new rows lie from their predictions.

A half-width is a quantile of the absolute residuals |y - f(x)| of rows that the model f did not
learn from. If these rows and a new one are exchangeable, the interval f(x) +- half-width holds the
output of the new row with at least the level asked for, whatever the model and the distribution
(Vovk, Gammerman and Shafer, "Algorithmic Learning in a Random World", 2005; Lei et al., Journal of
the American Statistical Association 113, 2018). The promise is one on average over rows, and for
each output on its own: rows that are harder than others are covered less often than easy ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

# Sums of weights such as 1/3 + 1/3 + 1/3, and products such as 10 * 0.7, differ from whole numbers
# by rounding.
ROUNDING = 1e-9


def rows_needed(level: float) -> int:
    """Return the fewest rows n with a finite half-width: ceil((n + 1) level) <= n.

    Raises
    ------
    ValueError
        If `level` is not between 0 and 1.
    """
    _check_level(level)
    return max(math.ceil(level / (1.0 - level) - ROUNDING), 1)


def half_widths(
    residuals: np.ndarray, level: float, weights: np.ndarray | None = None
) -> np.ndarray:
    """Return the half-width of the interval of each output, an array (d,).

    Of n rows it is the ceil((n + 1) level)-th smallest absolute residual, in the unit of the
    output. Where that is beyond the n-th the half-width is infinite: no finite one would keep the
    promise with fewer than `rows_needed` rows.

    Parameters
    ----------
    residuals : array (m, d)
        y - f(x) of rows that f did not learn from; NaN where the output is missing. These count
        for nothing.
    level : float
        Share of new outputs that the intervals are to hold, between 0 and 1.
    weights : array (m,) or None, default=None
        Part of a row that each residual stands for, so that n is the sum of the weights: then the
        half-width is the smallest absolute residual such that those up to it weigh
        ceil((n + 1) level). None: one each.

    Raises
    ------
    ValueError
        If `level` is not between 0 and 1.
    """
    _check_level(level)
    sizes = np.abs(residuals)
    weights = np.ones(len(sizes)) if weights is None else weights
    widths = np.full(sizes.shape[1], np.inf)
    for output, column in enumerate(sizes.T):
        known = ~np.isnan(column)
        order = np.argsort(column[known], kind="stable")
        reached = np.cumsum(weights[known][order])
        n_rows = reached[-1] if len(reached) else 0.0
        rank = math.ceil((n_rows + 1.0) * level - ROUNDING)
        if rank <= n_rows + ROUNDING:
            place = np.searchsorted(reached, rank - ROUNDING)
            widths[output] = column[known][order][place]
    return widths


def pooled_half_widths(
    residuals: Sequence[np.ndarray], rows: Sequence[np.ndarray], level: float
) -> np.ndarray:
    """Return half-widths (d,) from the residuals of several splits of the same rows.

    Every row counts once, as in a single split: a row that was tested r times is in the pool with
    all its r residuals, each of the weight 1 / r. So n is the number of different rows, and rows
    that chance tested often decide no more than others.

    What this is worth. The residuals of one split alone keep the promise exactly, for the model of
    that split. Those of several splits belong to several models, which learned from rows that test
    elsewhere: that is cross-conformal prediction (Vovk, Annals of Mathematics and Artificial
    Intelligence 74, 2015), for which a level of 1 - a is certain only as 1 - 2a in the worst case
    (Barber et al., Annals of Statistics 49, 2021), and which in practice keeps 1 - a where a few
    rows more or less hardly change the model. In return the half-widths rest on many more rows
    than one test set has. A model for use that learns from more rows than those of the splits
    has smaller residuals on average, so that its intervals are rather too wide. That the method
    was chosen on the same splits makes its residuals a little too small; with a few methods this
    is far less than the spread between splits. Where splits keep groups of rows together, or
    follow time, the promise is one for new groups of the same kind, or for a future like the past.

    Parameters
    ----------
    residuals : sequence of arrays (n_test, d)
        Of each split, as in `half_widths`.
    rows : sequence of int arrays (n_test,)
        Which row each residual belongs to.
    level : float
    """
    _, row, times = np.unique(np.concatenate(rows), return_inverse=True, return_counts=True)
    return half_widths(np.concatenate(residuals), level, 1.0 / times[row])


def crossed_coverage(residuals: np.ndarray, level: float, seed: int) -> np.ndarray:
    """Return the share of outputs of one test set that intervals hold, an array (d,).

    The rows are halved at random. Half-widths from the residuals of one half are tried on the
    other and the reverse, so that no row is held by an interval that it helped to make. A half
    with too few rows for a finite half-width tries nothing: an infinite interval would hold all.
    An output of which nothing could be tried is NaN. Half-widths from m rows hold the share
    ceil((m + 1) level) / (m + 1) on average, so that with small halves a little more than the
    level is to be expected.

    Parameters
    ----------
    residuals : array (n_test, d)
        As in `half_widths`.
    level : float
    seed : int
        Of the halves.
    """
    permuted = np.random.default_rng(seed).permutation(len(residuals))
    halves = permuted[: len(permuted) // 2], permuted[len(permuted) // 2 :]
    held, tried = np.zeros(residuals.shape[1]), np.zeros(residuals.shape[1])
    for own, other in (halves, halves[::-1]):
        widths = half_widths(residuals[own], level)
        known = ~np.isnan(residuals[other]) & np.isfinite(widths)
        held += (known & (np.abs(residuals[other]) <= widths)).sum(axis=0)
        tried += known.sum(axis=0)
    return np.where(tried > 0, held / np.maximum(tried, 1), np.nan)


def coverage_by_split(
    residuals: Sequence[np.ndarray],
    rows: Sequence[np.ndarray],
    level: float,
    seeds: Sequence[int],
) -> np.ndarray:
    """Return the share of outputs of every test set that intervals hold, an array (n_splits, d).

    A test set is tried by the half-widths that `pooled_half_widths` makes of the rows that test in
    other splits and not in this one, as the half-widths for use are made: no row is held by an
    interval that it helped to make, although the models behind these residuals may have learned
    from it. Where those rows are too few, as where all splits test the same rows, it is
    `crossed_coverage`, which with small test sets is a little high; NaN where they are too few for
    that as well.

    Parameters
    ----------
    residuals : sequence of arrays (n_test, d)
        Of each split, as in `half_widths`.
    rows : sequence of int arrays (n_test,)
        Which row each residual belongs to.
    level : float
    seeds : sequence of int
        For each split, of the halves.
    """
    shares = []
    for number, (values, tested) in enumerate(zip(residuals, rows, strict=True)):
        others = [~np.isin(other, tested) for other in rows]
        widths = pooled_half_widths(
            [other[kept] for other, kept in zip(residuals, others)],
            [other[kept] for other, kept in zip(rows, others)],
            level,
        )
        known = ~np.isnan(values)
        held = (known & (np.abs(values) <= widths)).sum(axis=0)
        n_known = known.sum(axis=0)
        is_tried = np.isfinite(widths) & (n_known > 0)
        halved = crossed_coverage(values, level, seeds[number])
        shares.append(np.where(is_tried, held / np.maximum(n_known, 1), halved))
    return np.array(shares)


def _check_level(level: float) -> None:
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must be between 0 and 1; found {level}.")
