"""Regions that hold all outputs of a new row at once: boxes and ellipsoids by conformal prediction.

Intervals that each hold one output in 90 % of the rows hold all outputs of a row less often. Two
regions around the prediction f(x) hold the whole vector y with the level, by split conformal
prediction with one score for each row, where r = y - f(x) and s_j(x) are the spreads of
`workflow_lib.uncertainty.row_intervals`:

    box:        max_j |r_j| / (s_j(x) h_j),
    ellipsoid:  sqrt(r' S(x)^-1 r),  S(x) = diag(s(x)) C diag(s(x)).

h_j is the factor of the interval of output j, so that all intervals of a box are those of single
outputs, extended by the same factor. C is the matrix of second moments of r_j / s_j(x), with its
correlations shrunk towards 0 by the amount with the least expected squared error (Schaefer and
Strimmer, Statistical Applications in Genetics and Molecular Biology 4, 2005, target D). The region
of a new row contains the vectors whose score is at most the conformal quantile of the scores.

Scores are cross-fitted: s, h and C come from the rows of other folds. With scores from the same
rows, regions of six to sixteen outputs calibrated on 40 rows held 51 to 89 % of simulated rows
instead of 90 %; cross-fitted they held 88 to 94 %. Boxes whose h_j hold each output in the share
of rows at which the box holds the level, the same for all outputs, were compared as well: with 40
rows their sides are 7 to 27 % longer, since such shares lie beyond what so few rows can measure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.special import gammaln

from workflow_lib.uncertainty.conformal import ROUNDING, half_widths, row_weights
from workflow_lib.uncertainty.row_intervals import HeldOutRows, RelativeResiduals, RowIntervals

MAX_ELLIPSOID_OUTPUTS = 300
"""Outputs, above which there is a box alone: a matrix of every new row would fill the memory."""

MIN_UNIT = 1e-3
"""Least unit of a score, in units of the mean absolute residual of the output."""

MAX_KEPT = 0.999
"""Most of a correlation that is kept: matrices of more outputs than rows have an inverse, too."""

FORMS = ("box", "ellipsoid")


@dataclass(frozen=True)
class JointRegions:
    """Fitted regions for all outputs of a row.

    Outputs without an interval are free: their sides are infinite.
    """

    box: RowIntervals
    """The intervals whose product is the box; all are infinite where there is no box."""

    shape: np.ndarray
    """Array (p, p): C times the squared conformal quantile, for the p outputs whose factor is
    finite and above 0; empty where there is no ellipsoid."""

    @classmethod
    def fit(
        cls, intervals: RowIntervals, relative: RelativeResiduals, tested: HeldOutRows
    ) -> JointRegions:
        """Return regions with the level of the intervals, calibrated on their test rows.

        `intervals` and `relative` are those of `RowIntervals.fit`, and `tested` the rows to which
        they were fitted, of which those with all outputs are used.
        """
        level = intervals.level
        bounded = np.isfinite(intervals.factors)
        complete = np.flatnonzero(~np.isnan(relative.values[:, bounded]).any(axis=1))
        weights, fold = row_weights(tested.rows[complete]), relative.fold[complete]
        values = relative.values[complete]
        means = weights @ np.abs(np.where(bounded, values, 0.0)) / max(weights.sum(), 1.0)
        # An output whose residuals are all 0 has a side of length 0.
        varied = np.flatnonzero(bounded & (means > 0))
        values = values[:, varied] / means[varied]
        has_ellipsoid = 0 < len(varied) <= MAX_ELLIPSOID_OUTPUTS
        scores = np.full((len(complete), 2), np.inf)
        for number in np.unique(fold):
            own, others = fold == number, fold != number
            if not others.any():
                continue
            units = _units(values[others], weights[others], level)
            scores[own, 0] = (np.abs(values[own]) / units).max(axis=1, initial=0.0)
            if has_ellipsoid:
                C = second_moments(values[others], weights[others])
                scores[own, 1] = _lengths(values[own], C)
        quantiles = half_widths(scores, level, weights)
        factors = np.where(bounded & np.isfinite(quantiles[0]), 0.0, np.inf)
        shape = np.empty((0, 0))
        if np.isfinite(quantiles[0]):
            factors[varied] = quantiles[0] * means[varied] * _units(values, weights, level)
        if np.isfinite(quantiles[1]):
            C = second_moments(values, weights)
            shape = quantiles[1] ** 2 * C * np.outer(means[varied], means[varied])
        return cls(replace(intervals, factors=factors), shape)

    @classmethod
    def from_tree(cls, tree: Mapping, intervals: RowIntervals) -> JointRegions:
        """Return the regions that `tree` stores, of outputs with these intervals."""
        return cls(replace(intervals, factors=tree["factors"]), tree["shape"])

    def tree(self) -> dict:
        """Return plain arrays."""
        return {"factors": self.box.factors, "shape": self.shape}

    @property
    def has_box(self) -> bool:
        """Whether there were rows enough for a box."""
        return bool(np.isfinite(self.box.factors).any())

    @property
    def has_ellipsoid(self) -> bool:
        """Whether there were rows enough for an ellipsoid, and not too many outputs."""
        return self.shape.size > 0

    def shapes(self, predicted: np.ndarray, novelty: np.ndarray) -> np.ndarray:
        """Return the matrices (m, d, d) of the ellipsoids (y - f)' M^-1 (y - f) <= 1 of rows.

        Rows and columns of outputs that are free are infinite, and 0 of those with a side of 0.
        """
        spreads, d = self.box.spreads(predicted, novelty), len(self.box.factors)
        matrix = np.where(np.isfinite(self.box.factors), 0.0, np.inf) * np.ones((d, 1))
        matrix = np.maximum(matrix, matrix.T)
        if self.has_ellipsoid:
            matrix[np.ix_(self._varied, self._varied)] = self.shape
        else:
            matrix[:] = np.inf
        return matrix * spreads[:, :, None] * spreads[:, None, :]

    def held(self, tested: HeldOutRows) -> np.ndarray:
        """Return 1 where the box, and the ellipsoid, hold all outputs, 0 where not: (m, 2).

        NaN where an output with an interval is missing, or there is no region. The outputs have to
        lie in their ranges, as they do.
        """
        bounded = np.isfinite(self.box.factors)
        is_held = np.full((len(tested.truth), 2), np.nan)
        of_box = self.box.held(tested)[:, bounded]
        known = ~np.isnan(of_box).any(axis=1)
        if self.has_box:
            is_held[known, 0] = of_box[known].all(axis=1)
        if self.has_ellipsoid:
            rows = tested.part(known)
            residuals = (rows.truth - rows.predicted) / self.box.spreads(
                rows.predicted, rows.novelty
            )
            is_exact = (residuals[:, self.box.factors == 0] == 0).all(axis=1)
            lengths = _lengths(residuals[:, self._varied], self.shape)
            is_held[known, 1] = (lengths <= 1.0) & is_exact
        return is_held

    def log_sides(self, predicted: np.ndarray, novelty: np.ndarray) -> np.ndarray:
        """Return the logarithms (m, 2) of the sides of cubes with the volumes of the regions.

        Of p outputs these are the volumes to the power of 1/p, without the clipping at ranges; NaN
        where there is no region.
        """
        varied, p = self._varied, len(self._varied)
        sides = np.full((len(predicted), 2), np.nan)
        if not p:
            return sides
        spreads = np.log(self.box.spreads(predicted, novelty)[:, varied]).mean(axis=1)
        sides[:, 0] = spreads + np.log(2.0 * self.box.factors[varied]).mean()
        if self.has_ellipsoid:
            ball = 0.5 * np.log(np.pi) - gammaln(p / 2.0 + 1.0) / p
            diagonal = np.diag(cholesky(self.shape, lower=True))
            sides[:, 1] = spreads + ball + np.log(diagonal).mean()
        return sides

    @property
    def _varied(self) -> np.ndarray:
        factors = self.box.factors
        return np.flatnonzero(np.isfinite(factors) & (factors > 0))


@dataclass(frozen=True)
class RegionsOfRows:
    """The regions for all outputs of m predicted rows.

    Attributes
    ----------
    lower, upper : arrays (m, d)
        Ends of the sides of the boxes, clipped to the ranges of the outputs; -inf and inf for
        outputs that are free, and for all where there were too few rows.
    """

    lower: np.ndarray
    upper: np.ndarray
    _regions: JointRegions
    _predicted: np.ndarray
    _novelty: np.ndarray

    @classmethod
    def of(cls, regions: JointRegions, predicted: np.ndarray, novelty: np.ndarray) -> RegionsOfRows:
        """Return the regions around predictions (m, d) of rows with a novelty (m,)."""
        ends = regions.box.ends(predicted, novelty)
        return cls(*ends, regions, predicted, novelty)

    @property
    def shapes(self) -> np.ndarray:
        """The matrices M (m, d, d) of the ellipsoids (y - f)' M^-1 (y - f) <= 1 of the rows.

        Rows and columns of outputs that are free are infinite, and 0 of those with a side of 0.
        """
        return self._regions.shapes(self._predicted, self._novelty)

    @property
    def log_sides(self) -> np.ndarray:
        """As `JointRegions.log_sides` of the rows."""
        return self._regions.log_sides(self._predicted, self._novelty)

    def contain(self, outputs: np.ndarray, form: str = "box") -> np.ndarray:
        """Return for each row 1 where its region holds its `outputs` (m, d), 0 where not: (m,).

        The `form` is ``box`` or ``ellipsoid``. NaN where an output is NaN, or there is no region.

        Raises ValueError if `form` is neither, or the outputs have another shape.
        """
        if form not in FORMS:
            raise ValueError(f"form must be one of {', '.join(FORMS)}; found {form!r}.")
        outputs = np.asarray(outputs, dtype=float)
        if outputs.shape != self._predicted.shape:
            raise ValueError(
                f"outputs must have the shape {self._predicted.shape}, one row for each "
                f"prediction; found {outputs.shape}."
            )
        rows = HeldOutRows(self._predicted, outputs, self._novelty, np.arange(len(outputs)))
        return self._regions.held(rows)[:, FORMS.index(form)]


def second_moments(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the second moments (p, p) of rows (m, p) about 0, with shrunk correlations.

    Correlations are multiplied by 1 minus the ratio of the sum of their estimated variances to the
    sum of their squares, at least 0 (Schaefer and Strimmer, 2005, for weighted rows). Standard
    deviations are at least `MIN_UNIT`.
    """
    n = weights.sum()
    deviations = np.maximum(np.sqrt(weights @ values**2 / n), MIN_UNIT)
    z = values / deviations
    correlations = (z.T * weights) @ z / n
    squares = correlations**2
    variances = ((z.T**2 * weights) @ z**2 / n - squares) / n
    for matrix in (squares, variances):
        np.fill_diagonal(matrix, 0.0)
    kept = 1.0 - variances.sum() / squares.sum() if squares.any() else 0.0
    correlations *= np.clip(kept, 0.0, MAX_KEPT)
    np.fill_diagonal(correlations, 1.0)
    return correlations * np.outer(deviations, deviations)


def _units(values: np.ndarray, weights: np.ndarray, level: float) -> np.ndarray:
    """Return the quantiles (p,) of the absolute values at the level, at least `MIN_UNIT`."""
    units = np.full(values.shape[1], MIN_UNIT)
    for output, sizes in enumerate(np.abs(values).T):
        order = np.argsort(sizes, kind="stable")
        reached = np.cumsum(weights[order])
        index = np.searchsorted(reached, level * reached[-1] * (1.0 - ROUNDING))
        units[output] = max(sizes[order[index]], MIN_UNIT)
    return units


def _lengths(values: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Return sqrt(v' M^-1 v) of rows v (m, p)."""
    root = cholesky(matrix, lower=True)
    return np.linalg.norm(solve_triangular(root, values.T, lower=True), axis=0)
