"""Intervals whose width varies by row: normalised split conformal prediction.

For each output a spread s(x) is predicted from two values that do not need the output: the
prediction and the novelty of the inputs. The score of a row is |y - f(x)| / s(x), and the
half-width of a new row is the conformal quantile of the scores times its s(x) (Lei et al., Journal
of the American Statistical Association 113, 2018, section 5.2). As with one width for all rows, the
level is kept on average whatever the distribution: exactly if s is fitted to other rows, and nearly
with the cross-fitting below. Where s is proportional to the noise, rows that are hard to predict
are covered about as often as easy ones.

The spread is log-linear in four features: a constant, the normal score u of the prediction among
those of the test rows, |u|, and the normal score of the novelty. Normal scores are bounded, so that
widths are not extrapolated to distant rows. The coefficients minimise

    sum_i w_i (log s(x_i) + |r_i| / s(x_i)) + penalty / 2 (squares of all but the constant),

the likelihood of Laplace's distribution, which is convex in them. The scores are cross-fitted: the
spread of a row comes from a model fitted without the residuals of this row. The penalty minimises
the interval score (Gneiting and Raftery, Journal of the American Statistical Association 102,
2007): the width, plus 2 / (1 - level) for each unit by which an output lies outside. One width for
all rows is also compared, as an infinite penalty, and preferred in ties; with few rows it is always
used.

Intervals are symmetric about the prediction and then clipped (`output_ranges`). Unequal tails, of
(1 - level) / 2 each, were compared on 102 simulated and real tables of
``benchmarks/interval_coverage.py``: their interval score is 1 % lower on average, but they are 12 %
wider and hold 93 % instead of 92 %, since each tail rests on half as many rows and clipping no
longer shortens the lower tail.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from workflow_lib.uncertainty.conformal import half_widths, levels_that_hold, row_weights
from workflow_lib.uncertainty.output_ranges import OutputRanges

PENALTIES = (300.0, 100.0, 30.0, 10.0, 3.0, 1.0)
"""Candidate penalties; the weights sum to the number of rows, so that the first penalty requires
strong evidence and the last little."""

MIN_ROWS = 30
"""Distinct rows with a known output, below which all rows have one width."""

N_FOLDS = 5

MAX_FITTED = 2000
"""Residuals in the random sample that the spread is fitted to; all residuals have scores."""

QUANTILES = np.linspace(0.02, 0.98, 25)
"""Probabilities of the quantiles that are the knots of the normal scores."""

MAX_LOG_RATIO = 3.0
"""Spreads lie within a factor exp(3) of their mean."""

N_FEATURES = 4

# Numbers of one block of outputs (32 MB).
BLOCK_NUMBERS = 2**22

NOT_ALWAYS_FINITE = ("factors",)
"""Entries of the tree that may be infinite."""


@dataclass(frozen=True)
class HeldOutRows:
    """Concatenated test rows of several splits.

    ``predicted`` and ``truth`` are arrays (m, d), the latter NaN where an output is missing, and
    ``novelty`` (m,). ``rows`` (m,) are the numbers of the rows in the dataset: a row that several
    splits tested occurs several times, and counts once.
    """

    predicted: np.ndarray
    truth: np.ndarray
    novelty: np.ndarray
    rows: np.ndarray

    def part(self, chosen: np.ndarray) -> HeldOutRows:
        """Return some of the rows, by their positions or a mask."""
        return HeldOutRows(
            self.predicted[chosen], self.truth[chosen], self.novelty[chosen], self.rows[chosen]
        )


@dataclass(frozen=True)
class RelativeResiduals:
    """Residuals divided by spreads that were predicted without them."""

    values: np.ndarray
    """Array (m, d): (y - f(x)) / s(x), in the units of the outputs; NaN where an output is
    missing."""

    fold: np.ndarray
    """Int array (m,): the spread of a row is that of a model fitted to the rows of the other
    folds."""


@dataclass(frozen=True)
class RowIntervals:
    """Fitted intervals of d outputs.

    ``level`` is the share of new outputs that the intervals should hold. ``factors`` (d,) are the
    half-widths where the spread is 1: conformal quantiles of the scores, in the units of the
    outputs; infinite where there are too few rows. ``coefficients`` (d, 4) are those of the
    logarithm of the spread; zeros where all rows have one width, the factor. ``knots`` and
    ``scores`` (d + 1, k) are values and their normal scores, of the predictions of each output and
    of the novelty.
    """

    level: float
    factors: np.ndarray
    coefficients: np.ndarray
    knots: np.ndarray
    scores: np.ndarray
    ranges: OutputRanges

    @classmethod
    def constant(
        cls, widths: np.ndarray, level: float, ranges: OutputRanges | None = None
    ) -> RowIntervals:
        """Return intervals with one half-width (d,) for all rows, clipped only with `ranges`."""
        d = len(widths)
        ranges = OutputRanges.of([{}] * d) if ranges is None else ranges
        flat = np.zeros((d + 1, 1))
        return cls(level, widths, np.zeros((d, N_FEATURES)), flat, flat, ranges)

    @classmethod
    def fit(
        cls, tested: HeldOutRows, level: float, ranges: OutputRanges, seed: int
    ) -> tuple[RowIntervals, RelativeResiduals]:
        """Return intervals calibrated on test rows, and the residuals relative to their spreads.

        `seed` is that of the folds by which these are cross-fitted, and of the sample where there
        are more than `MAX_FITTED` residuals.
        """
        weights = row_weights(tested.rows)
        residuals = tested.truth - tested.predicted
        widths = half_widths(residuals, level, weights)
        generator = np.random.default_rng(seed)
        fitted_rows = np.arange(len(weights))
        if len(fitted_rows) > MAX_FITTED:
            fitted_rows = np.sort(generator.choice(len(weights), MAX_FITTED, replace=False))
        # All residuals of a row are in the same fold.
        numbers, row = np.unique(tested.rows, return_inverse=True)
        fold = (generator.permutation(len(numbers)) % N_FOLDS)[row]
        relative = RelativeResiduals(residuals.copy(), fold)
        if not len(weights):
            return cls.constant(widths, level, ranges), relative
        columns = [*tested.predicted.T, tested.novelty]
        knots, scores = zip(*(_normal_scores(column, weights) for column in columns))
        coefficients = np.zeros((len(widths), N_FEATURES))
        knots, scores = np.array(knots), np.array(scores)
        intervals = cls(level, widths.copy(), coefficients, knots, scores, ranges)
        _, first = np.unique(tested.rows, return_index=True)
        n_known = (~np.isnan(residuals[first])).sum(axis=0)
        fitted = np.flatnonzero((n_known >= MIN_ROWS) & np.isfinite(widths) & (widths > 0))
        step = max(BLOCK_NUMBERS // max(len(weights) * N_FEATURES, 1), 1)
        for begin in range(0, len(fitted), step):
            intervals._choose(
                fitted[begin : begin + step], tested, residuals, weights, fitted_rows, relative
            )
        return intervals, relative

    @classmethod
    def from_tree(cls, tree: Mapping) -> RowIntervals:
        """Return the intervals that `tree` stores."""
        names = ("factors", "coefficients", "knots", "scores")
        d = len(tree["factors"])
        ranges = OutputRanges.of_dataset({"outputs": np.empty((0, d)), "names": tree})
        return cls(float(tree["level"]), *(tree[name] for name in names), ranges)

    def tree(self) -> dict:
        """Return plain arrays, a number and a text."""
        names = ("level", "factors", "coefficients", "knots", "scores")
        return {name: getattr(self, name) for name in names} | {"ranges": self.ranges.text()}

    @property
    def follow_rows(self) -> np.ndarray:
        """Whether the width of each output (d,) differs from row to row."""
        return self.coefficients.any(axis=1)

    def half_widths(self, predicted: np.ndarray, novelty: np.ndarray) -> np.ndarray:
        """Return the unclipped half-widths (m, d) of rows with a novelty (m,)."""
        return self.factors * self.spreads(predicted, novelty)

    def spreads(self, predicted: np.ndarray, novelty: np.ndarray) -> np.ndarray:
        """Return the dimensionless spreads s(x) (m, d) of rows."""
        features = self._features(np.arange(len(self.factors)), predicted, novelty)
        return self._spreads(features, self.coefficients).T

    def ends(self, predicted: np.ndarray, novelty: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the lower and upper ends (m, d), clipped; infinite where there is no interval."""
        return self.ranges.ends(predicted, self.half_widths(predicted, novelty))

    def held(self, tested: HeldOutRows) -> np.ndarray:
        """Return 1 where an output lies in its interval, 0 where not, as an array (m, d).

        NaN where the output is missing or there is no interval, since an infinite interval would
        hold every output.
        """
        lower, upper = self.ends(tested.predicted, tested.novelty)
        is_held = (lower <= tested.truth) & (tested.truth <= upper)
        is_known = ~np.isnan(tested.truth) & np.isfinite(self.factors)
        return np.where(is_known, is_held, np.nan)

    def levels_that_hold(
        self, relative: RelativeResiduals, rows: HeldOutRows, tested: HeldOutRows
    ) -> np.ndarray:
        """Return the levels above which intervals with these spreads hold each output, (t, d).

        `relative` and `rows` are those of `fit`. The ends are not clipped,
        which no true output notices. NaN where the output is missing or there is no interval
        (`workflow_lib.uncertainty.conformal.levels_that_hold`).
        """
        residuals = tested.truth - tested.predicted
        scaled = residuals / self.spreads(tested.predicted, tested.novelty)
        levels = levels_that_hold(relative.values, row_weights(rows.rows), scaled)
        return np.where(np.isfinite(self.factors), levels, np.nan)

    def _features(
        self, outputs: np.ndarray, predicted: np.ndarray, novelty: np.ndarray
    ) -> np.ndarray:
        """Return the features (k, m, 4) of rows for k outputs."""
        X = np.ones((len(outputs), len(predicted), N_FEATURES))
        X[:, :, 3] = np.interp(novelty, self.knots[-1], self.scores[-1])
        for index, output in enumerate(outputs):
            u = np.interp(predicted[:, output], self.knots[output], self.scores[output])
            X[index, :, 1], X[index, :, 2] = u, np.abs(u)
        return X

    @staticmethod
    def _spreads(X: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
        """Return the dimensionless spreads (k, m)."""
        logarithms = np.einsum("kmp,kp->km", X, coefficients)
        return np.exp(np.clip(logarithms, -MAX_LOG_RATIO, MAX_LOG_RATIO))

    def _choose(
        self,
        outputs: np.ndarray,
        tested: HeldOutRows,
        residuals: np.ndarray,
        weights: np.ndarray,
        fitted_rows: np.ndarray,
        relative: RelativeResiduals,
    ) -> None:
        """Set the spread of the outputs whose interval score it improves over one width. Their
        residuals in `relative` are divided by it."""
        fold = relative.fold
        sizes = np.abs(residuals[:, outputs]).T
        known = ~np.isnan(sizes)
        W = known * weights
        sizes = np.where(known, sizes, 0.0)
        units = (W * sizes).sum(axis=1) / W.sum(axis=1)
        sizes = sizes / units[:, None]
        X = self._features(outputs, tested.predicted, tested.novelty)
        best = self._interval_scores(outputs, tested, self.factors[outputs], W)
        start = np.zeros((N_FOLDS + 1, len(outputs), N_FEATURES))
        for penalty in PENALTIES:
            spreads = np.empty_like(sizes)
            for number in range(N_FOLDS):
                others = fitted_rows[fold[fitted_rows] != number]
                start[number] = _coefficients(X, sizes, W, others, penalty, start[number])
                own = fold == number
                spreads[:, own] = self._spreads(X[:, own], start[number])
            start[-1] = _coefficients(X, sizes, W, fitted_rows, penalty, start[-1])
            scaled = np.where(known, sizes / spreads, np.nan).T
            factors = half_widths(scaled, self.level, weights) * units
            widths = (factors[:, None] * spreads).T
            scores = self._interval_scores(outputs, tested, widths, W)
            better = scores < best
            best = np.where(better, scores, best)
            self.factors[outputs[better]] = factors[better]
            self.coefficients[outputs[better]] = start[-1][better]
            changed = outputs[better]
            relative.values[:, changed] = residuals[:, changed] / spreads[better].T

    def _interval_scores(
        self, outputs: np.ndarray, tested: HeldOutRows, widths: np.ndarray, W: np.ndarray
    ) -> np.ndarray:
        """Return the mean interval score (k,) of outputs with half-widths (m, k) or (k,)."""
        ranges = OutputRanges(
            self.ranges.least[outputs], self.ranges.largest[outputs], self.ranges.whole[outputs]
        )
        lower, upper = ranges.ends(tested.predicted[:, outputs], widths)
        truth = np.where(W.T > 0, tested.truth[:, outputs], lower)
        outside = np.maximum(lower - truth, 0.0) + np.maximum(truth - upper, 0.0)
        scores = upper - lower + 2.0 / (1.0 - self.level) * outside
        return (W.T * scores).sum(axis=0) / W.sum(axis=1)


def _normal_scores(values: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return knots (k,) among values (m,), and their normal scores, averaged over equal knots."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    levels = (reached - 0.5 * weights[order]) / reached[-1]
    knots = np.interp(QUANTILES, levels, values[order])
    _, group, sizes = np.unique(knots, return_inverse=True, return_counts=True)
    return knots, (np.bincount(group, ndtri(QUANTILES)) / sizes)[group]


def _coefficients(
    X: np.ndarray,
    sizes: np.ndarray,
    W: np.ndarray,
    rows: np.ndarray,
    penalty: float,
    start: np.ndarray,
) -> np.ndarray:
    """Return the coefficients (k, p) that minimise the penalised likelihood, by Newton's method.

    Of features `X` (k, m, p), absolute residuals `sizes` (k, m) in units of their mean and weights
    `W` (k, m), 0 where unknown, those at the positions `rows` are used. It begins at `start` (k,
    p).
    """
    X, sizes, W = X[:, rows], sizes[:, rows], W[:, rows]
    # A tiny penalty of the constant keeps the equations solvable without any residual.
    ridge = np.array([1e-9, *[penalty] * (X.shape[2] - 1)])

    def objective(b: np.ndarray) -> np.ndarray:
        logarithms = np.einsum("kmp,kp->km", X, b)
        values = W * (logarithms + sizes * np.exp(-logarithms))
        return values.sum(axis=1) + 0.5 * (ridge * b**2).sum(axis=1)

    b, value = start, objective(start)
    for _ in range(50):
        q = W * sizes * np.exp(-np.einsum("kmp,kp->km", X, b))
        gradient = np.einsum("kmp,km->kp", X, W - q) + ridge * b
        hessian = np.einsum("kmp,km,kmr->kpr", X, q, X, optimize=True) + np.diag(ridge)
        step = -np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
        size = np.ones(len(b))
        tried = objective(b + step)
        while (is_worse := ~(tried <= value) & (size > 1e-6)).any():
            size[is_worse] /= 2.0
            tried = objective(b + size[:, None] * step)
        is_better = tried < value
        gain = np.where(is_better, value - tried, 0.0)
        b = np.where(is_better[:, None], b + size[:, None] * step, b)
        value = np.where(is_better, tried, value)
        if (gain <= 1e-10 * np.maximum(np.abs(value), 1.0)).all():
            break
    return b
