"""Split conformal prediction: how far the outputs of new rows lie from their predictions.

A half-width is a quantile of the absolute residuals |y - f(x)| of rows that the model f did not
learn from. If these rows and a new one are exchangeable, the interval f(x) +- half-width holds the
output of the new row with at least the requested probability, whatever the model and the
distribution (Vovk, Gammerman and Shafer, "Algorithmic Learning in a Random World", 2005; Lei et
al., Journal of the American Statistical Association 113, 2018). The guarantee is on average over
rows, and for each output separately: with one half-width, rows that are hard to predict are covered
less often than easy ones (`workflow_lib.uncertainty.row_intervals` has widths that vary by row).

Validity: the residuals of a single split give the guarantee exactly, for the model of that split.
Those of several splits, each with the weight of `row_weights`, belong to several models, trained on
rows that other splits test: this is cross-conformal prediction (Vovk, Annals of Mathematics and
Artificial Intelligence 74, 2015), for which a level of 1 - a is guaranteed only as 1 - 2a in the
worst case (Barber et al., Annals of Statistics 49, 2021), and which in practice reaches 1 - a where
a few rows more or less hardly change the model. In return the half-widths rest on many more rows
than one test set has. A final model that learns from more rows than the models of the splits has
smaller residuals on average, so that its intervals tend to be too wide. Because the method was
chosen on the same splits, its residuals are a little too small; with a few methods this effect is
far smaller than the spread between splits. Where splits keep groups of rows together, or follow
time, the guarantee is for new groups of the same kind, or for a future like the past.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

# Sums of weights such as 1/3 + 1/3 + 1/3, and products such as 10 * 0.7, differ from whole numbers
# by rounding.
ROUNDING = 1e-9


def rows_needed(level: float) -> int:
    """Return the fewest rows n with a finite half-width: ceil((n + 1) level) <= n.

    Raises ValueError if `level` is not between 0 and 1.
    """
    _check_level(level)
    return max(math.ceil(level / (1.0 - level) - ROUNDING), 1)


def half_widths(
    residuals: np.ndarray, level: float, weights: np.ndarray | None = None
) -> np.ndarray:
    """Return the half-width of the interval of each output, an array (d,).

    Of n rows it is the ceil((n + 1) level)-th smallest absolute residual, in the unit of the
    output. With fewer than `rows_needed` rows this rank exceeds n, no finite half-width has the
    guarantee, and the half-width is infinite.

    Raises ValueError if `level` is not between 0 and 1.

    Parameters
    ----------
    residuals : array (m, d)
        y - f(x) of rows that f did not learn from; NaN, which is ignored, where the output is
        missing.
    level : float
        Share of new outputs that the intervals should hold, between 0 and 1.
    weights : array (m,) or None, default=None
        Fraction of a row that each residual represents; n is their sum, and the half-width is the
        smallest absolute residual for which the weights of all residuals up to it reach
        ceil((n + 1) level). None: 1 each.
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
            index = np.searchsorted(reached, rank - ROUNDING)
            widths[output] = column[known][order][index]
    return widths


def levels_that_hold(residuals: np.ndarray, weights: np.ndarray, tested: np.ndarray) -> np.ndarray:
    """Return the level above which the interval of `half_widths` holds each tested output, (t, d).

    With the weight b of all residuals that are smaller than that of the tested row, of n rows, it
    is floor(b) / (n + 1): the interval of a level holds the output if and only if this is below
    the level. So the share of rows below each level is the coverage of intervals of all levels at
    once. NaN where the output of the tested row is missing, or there is no residual.

    `residuals` (m, d) and `weights` (m,) are as of `half_widths`, and `tested` (t, d) the residuals
    of rows that are to be tested, NaN where an output is missing.
    """
    levels = np.full(tested.shape, np.nan)
    for output, column in enumerate(np.abs(residuals).T):
        known, is_tested = ~np.isnan(column), ~np.isnan(tested[:, output])
        order = np.argsort(column[known], kind="stable")
        if len(order):
            reached = np.concatenate([[0.0], np.cumsum(weights[known][order])])
            sizes = np.abs(tested[is_tested, output])
            below = reached[np.searchsorted(column[known][order], sizes)]
            levels[is_tested, output] = np.floor(below + ROUNDING) / (reached[-1] + 1.0)
    return levels


def row_weights(rows: np.ndarray) -> np.ndarray:
    """Return the weight (m,) of each residual such that every row counts once.

    `rows` (m,) are the numbers of the rows: a row that occurs r times, as it was tested by r
    splits, has weight 1 / r each time. So rows that happened to be tested often have no more
    influence than others.
    """
    _, row, times = np.unique(rows, return_inverse=True, return_counts=True)
    return 1.0 / times[row]


def held_by_other_rows(
    rows: Sequence[np.ndarray],
    held: Callable[[np.ndarray, np.ndarray], np.ndarray],
    seeds: Sequence[int],
) -> list[np.ndarray]:
    """Return for each split whether its test rows lie in intervals calibrated on other rows.

    The intervals for a test set are calibrated, like those for use, on the rows that are tested in
    other splits and not in this one: no row calibrates its own interval, although the models of
    these residuals may have learned from it. Where those rows are too few, for example because all
    splits test the same rows, the test set is halved at random, and each half is evaluated with
    intervals from the other half. On average intervals from m rows hold the share
    ceil((m + 1) level) / (m + 1), so that small halves give a coverage slightly above the level.

    Returns a list of arrays (n_test, d): as `held` returns them.

    `rows` are the numbers (n_test,) of the test rows of each split, and `seeds` those of the halves
    of each. `held` takes positions in the concatenated rows of all splits: of those that calibrate,
    and of the t rows to evaluate. It returns an array (t, d): 1 where a row lies in its interval, 0
    where not, NaN where it has no interval or no output.
    """
    pooled = np.concatenate(rows)
    sizes = [len(split_rows) for split_rows in rows]
    splits = np.split(np.arange(len(pooled)), np.cumsum(sizes)[:-1])
    by_split = []
    for own, seed in zip(splits, seeds, strict=True):
        others = np.flatnonzero(~np.isin(pooled, pooled[own]))
        is_held = held(others, own)
        is_unknown = np.isnan(is_held).all(axis=0)
        if is_unknown.any():
            permuted = np.random.default_rng(seed).permutation(len(own))
            halves = permuted[: len(own) // 2], permuted[len(own) // 2 :]
            for half, other in (halves, halves[::-1]):
                of_half = held(own[half], own[other])
                is_held[np.ix_(other, is_unknown)] = of_half[:, is_unknown]
        by_split.append(is_held)
    return by_split


def coverage_by_thirds(held: np.ndarray, by: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the coverage of the rows with the lowest, the middle and the highest values.

    Returns an array (d, 3): NaN where nothing was evaluated.

    `held` (m, d) is as of `held_by_other_rows`, of all splits. The values `by` (m,) or (m, d), the
    same for all outputs or for each, order the rows, whose numbers are `rows` (m,): each counts
    once.
    """
    shares = np.full((held.shape[1], 3), np.nan)
    for output, column in enumerate(held.T):
        evaluated = np.flatnonzero(~np.isnan(column))
        if not len(evaluated):
            continue
        values = by[evaluated] if by.ndim == 1 else by[evaluated, output]
        evaluated = evaluated[np.argsort(values, kind="stable")]
        weights = row_weights(rows[evaluated])
        reached = np.cumsum(weights) - 0.5 * weights
        third = np.minimum((3.0 * reached / weights.sum()).astype(int), 2)
        total = np.bincount(third, weights, 3)
        covered = np.bincount(third, weights * column[evaluated], 3)
        shares[output] = np.where(total > 0, covered / np.maximum(total, 1e-300), np.nan)
    return shares


def _check_level(level: float) -> None:
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must be between 0 and 1; found {level}.")
