"""Split conformal prediction: how far the outputs of new rows lie from their predictions.

A half-width is a quantile of the absolute residuals |y - f(x)| of rows that the model f did not
learn from. If these rows and a new one are exchangeable, the interval f(x) +- half-width holds the
output of the new row with at least the level asked for, whatever the model and the distribution
(Vovk, Gammerman and Shafer, "Algorithmic Learning in a Random World", 2005; Lei et al., Journal of
the American Statistical Association 113, 2018). The promise is one on average over rows, and for
each output on its own: with one half-width, rows that are harder than others are covered less often
than easy ones (`workflow_lib.experiments.row_intervals` has intervals that follow the row).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

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
    return half_widths(np.concatenate(residuals), level, row_weights(np.concatenate(rows)))


def row_weights(rows: np.ndarray) -> np.ndarray:
    """Return the weight (m,) of each residual with which every row counts once.

    `rows` (m,) are the numbers of the rows: a row that stands there r times weighs 1 / r each time.
    """
    _, row, times = np.unique(rows, return_inverse=True, return_counts=True)
    return 1.0 / times[row]


def held_by_other_rows(
    rows: Sequence[np.ndarray],
    held: Callable[[np.ndarray, np.ndarray], np.ndarray],
    seeds: Sequence[int],
) -> list[np.ndarray]:
    """Return for each split whether its test rows lie in intervals that other rows calibrate.

    A test set is tried by the rows that test in other splits and not in this one, as intervals for
    use are made: no row is held by an interval that it helped to make, although the models behind
    these residuals may have learned from it. Where those rows are too few, as where all splits test
    the same rows, the test set is halved at random, and each half tried by the other one. Intervals
    from m rows hold the share ceil((m + 1) level) / (m + 1) on average, so that with small halves a
    little more than the level is to be expected.

    Parameters
    ----------
    rows : sequence of int arrays (n_test,)
        Numbers of the test rows of each split.
    held : function of two int arrays
        Places among the rows of all splits, one below the other: of those that calibrate, and of
        those that are tried, (t,). Returns an array (t, d): 1 where a row is held, 0 where not, NaN
        where nothing could be tried.
    seeds : sequence of int
        For each split, of the halves.

    Returns
    -------
    list of arrays (n_test, d)
        As `held` returns them.
    """
    pooled = np.concatenate(rows)
    splits = np.split(np.arange(len(pooled)), np.cumsum([len(each) for each in rows])[:-1])
    found = []
    for own, seed in zip(splits, seeds, strict=True):
        others = np.flatnonzero(~np.isin(pooled, pooled[own]))
        of_split = held(others, own)
        is_untried = np.isnan(of_split).all(axis=0)
        if is_untried.any():
            permuted = np.random.default_rng(seed).permutation(len(own))
            halves = permuted[: len(own) // 2], permuted[len(own) // 2 :]
            for half, other in (halves, halves[::-1]):
                tried = held(own[half], own[other])
                of_split[np.ix_(other, is_untried)] = tried[:, is_untried]
        found.append(of_split)
    return found


def coverage_by_thirds(held: np.ndarray, by: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the share held of the rows with the lowest, the middle and the highest values.

    Parameters
    ----------
    held : array (m, d)
        As of `held_by_other_rows`, of all splits.
    by : array (m,) or (m, d)
        What the rows are ordered by, the same for all outputs or for each.
    rows : int array (m,)
        Numbers of the rows, of which each counts once.

    Returns
    -------
    array (d, 3)
        NaN where nothing was tried.
    """
    shares = np.full((held.shape[1], 3), np.nan)
    for output, column in enumerate(held.T):
        tried = np.flatnonzero(~np.isnan(column))
        if not len(tried):
            continue
        values = by[tried] if by.ndim == 1 else by[tried, output]
        tried = tried[np.argsort(values, kind="stable")]
        weights = row_weights(rows[tried])
        reached = np.cumsum(weights) - 0.5 * weights
        third = np.minimum((3.0 * reached / weights.sum()).astype(int), 2)
        of_third = np.bincount(third, weights, 3)
        in_it = np.bincount(third, weights * column[tried], 3)
        shares[output] = np.where(of_third > 0, in_it / np.maximum(of_third, 1e-300), np.nan)
    return shares


def _check_level(level: float) -> None:
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must be between 0 and 1; found {level}.")
