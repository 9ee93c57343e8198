"""Structured support vector machine for classes (Tsochantaridis et al., JMLR 2005).

Its joint kernel is k(x, x') B[y, y'], with a kernel k on the inputs and a matrix B of similarities
between the K classes (Blaschko 2014, section 5.2.4). With dual coefficients A (n, K) the scores of
all classes are G A B, G being the Gram matrix of k, and the squared norm of the machine is
tr(A' G A B): the joint kernel of n K pairs is never formed. (The thesis prints eqs. 5.28 and 5.29
with A of the transposed shape in one place and not in the other.)

With the scores f_i of row i, its class y_i and the losses L_iy of predicting y for it, the machine
minimises

    1/2 tr(A' G A B) + C sum_i max_y h_iy,
    h_iy = L_iy - r_iy (f_iy_i - f_iy),

with r_iy = 1 (margin rescaling) or r_iy = L_iy (slack rescaling, eqs. 5.16 to 5.18). The dual has
weights u_i >= 0 of the classes that sum to C for every row, A with the rows
sum_y u_iy r_iy (e_y_i - e_y), and the objective sum_iy u_iy L_iy - 1/2 tr(A' G A B). Its gap to
the primal objective is

    sum_i (C max_y h_iy - sum_y u_iy h_iy),

not less than the distance of either objective to the optimum.

It is maximised block by block, a row at a time (Lacoste-Julien, Jaggi, Schmidt and Pletscher, ICML
2013), the rows of a pass in the order of their parts of the gap; within a row, weight moves from
the worst class that has any to the best one with an exact line search (pairwise Frank-Wolfe steps;
Osokin et al., ICML 2016). After a pass all weights move on in its direction, if this is an
improvement, by twice the last stride that was. The rows of A sum to zero, so that a constant added
to the rows and columns of B changes nothing but all scores of a row: B and its centred version
H B H are one machine, at the same cost C.
"""

from typing import NamedTuple

import numpy as np

from workflow_lib.core.convergence import warn_at_limit
from workflow_lib.core.parameters import check_choice
from workflow_lib.models.class_decoding import on_simplex

RESCALINGS = ("margin", "slack")

TOLERANCE = 1e-3
"""Gap, relative to the primal objective, at which the passes end."""

MAX_PASSES = 1000
"""Passes over the rows after which the fit ends in any case."""

MAX_STEPS = 20
"""Steps within a row in one pass."""

LOCAL_SHARE = 0.1
"""Share of its first violation between classes at which the steps within a row end."""


class StructuredMachine(NamedTuple):
    """A fitted machine, which needs the Gram matrix of the training rows alone."""

    dual: np.ndarray
    """A (n, K)."""

    weights: np.ndarray
    """u (n, K), in units of C: they sum to 1 for every row."""

    coefficients: np.ndarray
    """A B (n, K), by which a row of the Gram matrix is multiplied; 0 for unknown classes."""

    known: np.ndarray
    """Which classes (K,) have a training row."""

    gap: float
    """Duality gap divided by the primal objective; 0 with a single class."""

    objective: float
    """Primal objective."""

    passes: int
    """Passes over the rows."""

    def scores(self, K_others: np.ndarray) -> np.ndarray:
        """Return the scores (m, K) of rows, from their Gram matrix (m, n)."""
        return class_scores(K_others, self.coefficients, self.known)


def centre(K: np.ndarray) -> np.ndarray:
    """Centre a Gram matrix (n, n) of training rows in place: H K H, with H = I - 1/n.

    The machine then has the mean of the training rows at zero, which stands for an intercept, and
    needs a tenth of the passes: without it, one direction of the dual is as large as all others.

    Returns an array (n,): the means of the columns before, for `uncentred`.
    """
    means = K.mean(axis=0)
    K -= means
    K -= K.mean(axis=1, keepdims=True)
    return means


def uncentred(coefficients: np.ndarray, means: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return coefficients (n, K) and an intercept (K,) for rows of a Gram matrix as it is.

    They give the scores of the `coefficients` on rows that are centred as the training rows were.
    """
    centred = coefficients - coefficients.mean(axis=0)
    return centred, -(means @ centred)


def class_scores(
    K_others: np.ndarray,
    coefficients: np.ndarray,
    known: np.ndarray,
    intercept: np.ndarray | float = 0.0,
) -> np.ndarray:
    """Return the scores (m, K) of rows, from their Gram matrix (m, n).

    A class without a training row has the lowest score of each row: nothing is known about it.
    """
    scores = K_others @ coefficients + intercept
    return np.where(known, scores, scores[:, known].min(axis=1, keepdims=True))


def fit_structured_machine(
    K: np.ndarray,
    labels: np.ndarray,
    losses: np.ndarray,
    similarity: np.ndarray,
    cost: float,
    rescaling: str = "margin",
    tolerance: float = TOLERANCE,
    most_passes: int = MAX_PASSES,
    start: np.ndarray | None = None,
) -> StructuredMachine:
    """Return the machine of training rows.

    Raises ValueError if `rescaling` is unknown. A ConvergenceWarning tells that the gap is above
    the tolerance after `most_passes`.

    Parameters
    ----------
    K : array (n, n)
        Gram matrix of the training rows.
    labels : int array (n,)
        Their classes, numbers from 0 to c - 1.
    losses : array (c, c)
        Loss of predicting the class of a column for a row of the class of the line; not negative,
        and 0 for the right class.
    similarity : array (c, c)
        B, symmetric and positive semi-definite. Classes without a row do not compete.
    cost : float
        C, positive.
    rescaling : {"margin", "slack"}, default="margin"
    tolerance : float, default=1e-3
        Gap, relative to the primal objective, at which the passes end.
    most_passes : int, default=1000
    start : array (n, c) or None, default=None
        Weights of a machine of another cost, from which the passes start; None: all weight at the
        row's own class, A = 0.

    Examples
    --------
    >>> import numpy as np
    >>> X, labels = np.array([[-2.0], [-1.0], [1.0], [2.0]]), np.array([0, 0, 1, 1])
    >>> zero_one = 1.0 - np.eye(2)
    >>> machine = fit_structured_machine(X @ X.T, labels, zero_one, np.eye(2), 1.0)
    >>> machine.scores(X @ X.T).argmax(axis=1)
    array([0, 0, 1, 1])
    """
    check_choice("rescaling", rescaling, RESCALINGS)
    known = np.bincount(labels, minlength=len(losses)) > 0
    indices = np.flatnonzero(known)
    blocks = _Blocks(
        np.ascontiguousarray(K),
        np.searchsorted(indices, labels),
        np.asarray(losses, dtype=float)[np.ix_(indices, indices)],
        np.asarray(similarity, dtype=float)[np.ix_(indices, indices)],
        cost,
        rescaling,
        None if start is None else start[:, indices],
    )
    gap, objective, passes = blocks.solve(tolerance, most_passes)
    if gap > tolerance:
        warn_at_limit(f"structured machine of cost {cost:.3g}", gap, tolerance, f"{passes} passes")
    found = {"dual": blocks.dual, "weights": blocks.weights / cost}
    found["coefficients"] = blocks.dual @ blocks.similarity
    of_all = {name: np.zeros((len(K), len(losses))) for name in found}
    for name, array in found.items():
        of_all[name][:, indices] = array
    return StructuredMachine(**of_all, known=known, gap=gap, objective=objective, passes=passes)


class _Blocks:
    """The weights of all rows, and the responses G A, kept up to date with them."""

    def __init__(self, K, labels, losses, similarity, cost, rescaling, start) -> None:
        self._gram, self._labels, self._cost = K, labels, cost
        self._losses, self.similarity = losses, similarity
        # Row y holds the factors r of the differences to the class of a row of the class y.
        self._factors = np.ones_like(losses) if rescaling == "margin" else losses
        if start is None:
            weights = np.zeros((len(labels), len(losses)))
            weights[np.arange(len(labels)), labels] = cost
        else:
            weights = cost * start
        self._set(weights)

    def solve(self, tolerance: float, most_passes: int) -> tuple[float, float, int]:
        """Make passes until the relative gap is small; return it, the objective and the passes."""
        before, stride = None, 1.0
        for passes in range(most_passes + 1):
            parts, dual_objective = self._gaps()
            gap = parts.sum()
            objective = dual_objective + gap
            if gap <= tolerance * objective or passes == most_passes:
                return float(gap / objective) if objective > 0 else 0.0, float(objective), passes
            # Rows whose parts are smaller than these add up to less than the gap that ends.
            least = 0.5 * tolerance * objective / len(parts)
            if before is not None:
                further = self._move_on(before, stride, dual_objective)
                stride = max(0.25 * stride, 0.5) if further is None else 2.0 * stride
                parts = parts if further is None else further
            before = self.weights.copy()
            for row in np.argsort(-parts, kind="stable")[: int((parts > least).sum())].tolist():
                self._improve(row)

    def _move_on(
        self, before: np.ndarray, stride: float, dual_objective: float
    ) -> np.ndarray | None:
        """Move all weights on in the direction of the last pass, where this is an improvement. The
        weights `before` the pass; the result is the parts of the gap, and None without a move."""
        kept = self.weights, self.dual, self._responses
        moved = self.weights + stride * (self.weights - before)
        self._set(self._cost * on_simplex(moved / self._cost))
        parts, reached = self._gaps()
        if reached > dual_objective:
            return parts
        self.weights, self.dual, self._responses = kept
        return None

    def _set(self, weights: np.ndarray) -> None:
        self.weights = weights
        self.dual = -weights * self._factors[self._labels]
        self.dual[np.arange(len(weights)), self._labels] -= self.dual.sum(axis=1)
        # A row of the transposed responses changes with every weight.
        self._responses = self.dual.T @ self._gram

    def _gaps(self) -> tuple[np.ndarray, float]:
        """Return the parts (n,) of the gap, and the dual objective."""
        violations = self._responses.T @ self.similarity
        squared_norm = np.vdot(self.dual, violations)
        violations -= np.take_along_axis(violations, self._labels[:, None], axis=1)
        # One array of factors or losses of all rows at a time, for their memory.
        if self._factors is self._losses:
            violations *= self._factors[self._labels]
        violations += self._losses[self._labels]
        parts = self._cost * violations.max(axis=1)
        parts -= np.einsum("ij,ij->i", self.weights, violations)
        losses = np.einsum("ij,ij->", self.weights, self._losses[self._labels])
        # Without rounding no part is negative: the weights sum to the cost.
        return np.maximum(parts, 0.0), float(losses - 0.5 * squared_norm)

    def _improve(self, row: int) -> None:
        """Move weight between the classes of a row until its part of the gap is small."""
        own, size = self._labels[row], self._gram[row, row]
        factors, similarity = self._factors[own], self.similarity
        is_margin = self._factors is not self._losses
        weights, dual = self.weights[row], self.dual[row]
        before = dual.copy()
        violations = self._responses[:, row] @ similarity
        violations -= violations[own]
        if not is_margin:
            violations *= factors
        violations += self._losses[own]
        first_gain = 0.0
        for _ in range(MAX_STEPS):
            best = violations.argmax()
            worst = np.where(weights > 0.0, violations, np.inf).argmin()
            gain = violations[best] - violations[worst]
            if gain <= LOCAL_SHARE * first_gain:
                break
            first_gain = first_gain or gain
            # What a unit of weight that moves adds to the violations, but for a constant.
            if is_margin:
                change = similarity[worst] - similarity[best]
            else:
                change = factors[worst] * (similarity[worst] - similarity[own])
                change -= factors[best] * (similarity[best] - similarity[own])
                change -= change[own]
                change *= factors
            curvature = size * (change[worst] - change[best])
            step = weights[worst]
            if gain < step * curvature:
                step = gain / curvature
                weights[worst] -= step
            else:
                weights[worst] = 0.0
            weights[best] += step
            dual[best] -= step * factors[best]
            dual[worst] += step * factors[worst]
            dual[own] += step * (factors[best] - factors[worst])
            change *= step * size
            violations += change
        before -= dual
        for changed in before.nonzero()[0]:
            self._responses[changed] -= before[changed] * self._gram[row]
