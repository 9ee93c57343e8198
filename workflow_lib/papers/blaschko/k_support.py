"""Linear regression with a penalty on the k-support norm of its coefficients.

The k-support norm (Argyriou, Foygel and Srebro 2012) of p magnitudes u_i >= 0 is

    ||u||_k^2 = min { sum_i u_i^2 / theta_i : 0 < theta_i <= 1, sum_i theta_i <= k }.

Its unit ball is the convex hull of the vectors with at most k non-zero entries and a Euclidean
length of at most 1. For k = 1 it is the l1 norm, for k = p the Euclidean norm. The magnitudes of
coefficients W (q, d), of q inputs and d outputs, are one of `NORMS`:

``outputs``
    the absolute values of each column, so that every output chooses its inputs alone;
``rows``
    the lengths of the rows, so that all outputs share their inputs;
``spectral``
    the singular values: for k = 1 the trace norm, for k = min(q, d) the Frobenius norm.

Of n rows of centred inputs X and centred outputs Y, each divided by its standard deviation, what is
minimised is

    1/(2 n) ||Y - X W||^2 + alpha sum_g ||u_g||_k^2,

where ``outputs`` has one group g of magnitudes for each column, the others one for all. alpha is
lambda_0 of eq. (13) of the OFER paper: with the largest k this is ridge regression.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from workflow_lib.core.convergence import warn_at_limit
from workflow_lib.solvers.ridge import labelled_ridge

NORMS = ("outputs", "rows", "spectral")

TOLERANCE = 1e-4
"""Largest duality gap, as a share of the objective of W = 0."""

MAX_ITERATIONS = 10_000

ITERATIONS_BETWEEN_GAPS = 5
"""The gap costs about as much as an iteration."""

ROUNDING = 1e-14
"""Rise of the objective, as a share of twice that of W = 0, which may be rounding."""

MIN_PART = 20
"""Inputs with which the search for those with coefficients begins."""

SHARE_OF_PART = 0.5
"""Duality gap of the problem of a part of the inputs, as a share of that of the whole problem."""

MAX_GUESSES = 5
"""Pieces that are tried before the bends are sorted: few change between iterations."""

MIN_MAGNITUDE = 1e-150
"""Smaller magnitudes, the inverses of which could overflow, count as zero."""


def largest_k(norm: str, n_inputs: int, n_outputs: int) -> int:
    """Return the number of magnitudes of coefficients (q, d), with which the penalty is ridge."""
    return min(n_inputs, n_outputs) if norm == "spectral" else n_inputs


def squared_norm(W: np.ndarray, k: int, norm: str = "outputs") -> np.ndarray:
    """Return ||u_g||_k^2 for every group g of magnitudes of W (q, d): (d,) or, for one, (1,)."""
    u = _magnitudes(W, norm)[0]
    theta = np.minimum(_level(u, k, 0.0) * u, 1.0)
    return np.divide(u**2, theta, out=np.zeros_like(u), where=theta > 0).sum(axis=0)


def proximal_map(
    V: np.ndarray, k: int, weight: float, norm: str = "outputs"
) -> tuple[np.ndarray, np.ndarray]:
    """Return the W that minimises 1/2 ||W - V||^2 + weight/2 sum_g ||u_g||_k^2, and ||u_g||_k^2.

    For fixed theta each magnitude v_i of V becomes v_i theta_i / (theta_i + weight). The best theta
    are clip(a v_i - weight, 0, 1) with the a of each group for which they sum to k.

    Parameters
    ----------
    V : array (q, d)
    k : int
        From 1; above the number of magnitudes it is that number.
    weight : float
        Positive.
    norm : {"outputs", "rows", "spectral"}, default="outputs"
    """
    return _proximal(V, k, weight, norm, None)[:2]


def _proximal(
    V: np.ndarray, k: int, weight: float, norm: str, level: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return what `proximal_map` does, the levels a (n_groups,), of which `level` is a guess, and
    theta."""
    v, scaled = _magnitudes(V, norm)
    level = _level(v, k, weight, level)
    theta = np.minimum(np.maximum(level * v - weight, 0.0), 1.0)
    raised = theta + weight
    factors = theta / raised
    return scaled(factors), (v * v * factors / raised).sum(axis=0), level, theta


def _magnitudes(V: np.ndarray, norm: str) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
    """Return the magnitudes (p, n_groups), and a function that multiplies them by factors."""
    if norm == "outputs":
        return np.abs(V), lambda factors: V * factors
    if norm == "rows":
        lengths = np.sqrt(np.einsum("ij,ij->i", V, V))[:, None]
        return lengths, lambda factors: V * factors
    left, values, right = np.linalg.svd(V, full_matrices=False)
    return values[:, None], lambda factors: (left * (values * factors[:, 0])) @ right


def _level(u: np.ndarray, k: int, weight: float, guess: np.ndarray | None = None) -> np.ndarray:
    """Return the a (g,) of each column with which theta = clip(a u - weight, 0, 1) sum to k.

    `u` (p, g) are magnitudes. Where no more than k of them are positive, a is so large that their
    theta are 1. The sum is piecewise linear in a. With a `guess` of a, the piece on which a lies is
    solved until it is the one that it was solved for. Otherwise the sum bends at weight / u_i and
    (1 + weight) / u_i: its values at the sorted bends, by cumulative sums, give the piece on which
    it is k.
    """
    positive = u > MIN_MAGNITUDE
    if guess is not None and k < len(u):
        for _ in range(MAX_GUESSES):
            level = _solved(u, k, weight, guess)
            if (level == guess).all():
                return level
            guess = level
    inverse = np.divide(1.0, u, out=np.zeros_like(u), where=positive)
    bends = np.concatenate([weight * inverse, (1.0 + weight) * inverse])
    # All theta are 1 somewhat beyond the last bend.
    beyond = 2.0 * bends[len(u) :].max(axis=0) + MIN_MAGNITUDE
    if k >= len(u):
        return beyond
    order = np.argsort(bends, axis=0)
    bends = np.take_along_axis(bends, order, axis=0)
    slopes = np.take_along_axis(np.concatenate([u, -u]), order, axis=0).cumsum(axis=0)
    sums = (slopes[:-1] * np.diff(bends, axis=0)).cumsum(axis=0)
    # The first piece: beyond magnitudes of rounding only, sums may fall again.
    reached = sums >= k
    piece = np.where(reached.any(axis=0), reached.argmax(axis=0), len(sums) - 1)
    columns = np.arange(u.shape[1])
    low, high = bends[piece, columns], bends[piece + 1, columns]
    level = _solved(u, k, weight, 0.5 * (low + high))
    # Bends of equal magnitudes differ by rounding only, and a piece between them has no inside.
    slope, rest = slopes[piece, columns], k - np.where(piece > 0, sums[piece - 1, columns], 0.0)
    along = low + np.divide(rest, slope, out=np.zeros_like(low), where=slope > 0)
    is_inside = (low <= level) & (level <= high)
    level = np.where(is_inside, level, np.clip(along, low, high))
    return np.where(positive.sum(axis=0) <= k, beyond, level)


def _solved(u: np.ndarray, k: int, weight: float, level: np.ndarray) -> np.ndarray:
    """Return the a with which theta sum to k if those that are 0 or 1 at `level` stay so. Where all
    are 0 or 1, any a will do if their sum is k, and none otherwise (NaN)."""
    raised = level * u - weight
    is_full = raised >= 1.0
    is_partial = (raised > 0.0) ^ is_full
    slope, n_full = (u * is_partial).sum(axis=0), is_full.sum(axis=0)
    wanted = k - n_full + weight * is_partial.sum(axis=0)
    without = np.where(n_full == k, level, np.nan)
    return np.divide(wanted, slope, out=without, where=slope > 0)


class _Problem:
    """1/2 ||Y - X W||^2 of centred inputs X (n, p) and outputs Y (n, d), by groups of magnitudes.
    Its products are those of the smaller of X and X'X."""

    def __init__(self, X: np.ndarray, Y: np.ndarray, norm: str) -> None:
        self.X, self.Y, self.norm = X, Y, norm
        self._is_primal = X.shape[1] <= len(X)
        self._gram = X.T @ X if self._is_primal else X @ X.T
        self._products = X.T @ Y
        self._lipschitz = float(np.linalg.eigvalsh(self._gram)[-1])
        self.squares = self._by_group(Y, Y)

    def at(self, W: np.ndarray, squared: np.ndarray) -> _Point:
        """Return the point of coefficients (p, d), of which the squared norms are known."""
        fitted = self._gram @ W if self._is_primal else self.X.T @ (self.X @ W)
        gradient = fitted - self._products
        loss = 0.5 * (self.squares + self._by_group(W, gradient - self._products))
        return _Point(W, squared, gradient, loss)

    def ridge(self, weight: float) -> np.ndarray:
        """Return the coefficients (p, d) with the penalty weight/2 ||W||^2."""
        factor = cho_factor(self._gram + weight * np.eye(len(self._gram)), lower=True)
        if self._is_primal:
            return cho_solve(factor, self._products)
        return self.X.T @ cho_solve(factor, self.Y)

    def gap(self, point: _Point, k: int, weight: float) -> np.ndarray:
        """Return the duality gaps (n_groups,), as shares of the objective for W = 0. Every matrix S
        (n, d) bounds the minimum from below by <S, Y> - ||S||^2 / 2 - sum_g ||v_g||_*^2 / (2
        weight), where v are the magnitudes of X'S and the dual norm is the length of the k largest.
        S is the best multiple of the residuals."""
        magnitudes = _magnitudes(point.gradient, self.norm)[0]
        dual = (np.sort(magnitudes, axis=0)[-k:] ** 2).sum(axis=0)
        product = self.squares - self._by_group(point.W, self._products)
        length = 2.0 * point.loss + dual / weight
        bound = np.divide(0.5 * product**2, length, out=np.zeros_like(length), where=length > 0)
        gap = point.loss + 0.5 * weight * point.squared - bound
        return np.divide(2.0 * gap, self.squares, out=np.zeros_like(gap), where=self.squares > 0)

    def minimum(
        self, k: int, weight: float, point: _Point, tolerance: float, most: int
    ) -> tuple[_Point, int]:
        """Return the minimum with the penalty weight/2 sum_g ||u_g||_k^2, and the iterations. FISTA
        with the step 1 / ||X||^2, from `point`. Where the objective of a group would rise, the
        group stays where it is and loses its momentum, so that no objective rises by more than
        rounding."""
        step = 1.0 / self._lipschitz
        before, momentum, level, theta = point, np.ones_like(self.squares), None, None
        for iteration in range(most):
            if iteration % ITERATIONS_BETWEEN_GAPS == 0:
                if (self.gap(point, k, weight) <= tolerance).all():
                    return point, iteration
                if theta is not None and self.norm == "outputs" and self._is_primal:
                    solved = self._on_piece(point.W, theta, k, weight)
                    lower, rises = self._lower(point, solved, weight)
                    if not rises.all():
                        if (self.gap(lower, k, weight) <= tolerance).all():
                            return lower, iteration
                        before, point, momentum = lower, lower, np.ones_like(momentum)
            next_momentum = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
            beta = (momentum - 1.0) / next_momentum
            start = point.W + beta * (point.W - before.W)
            gradient = point.gradient + beta * (point.gradient - before.gradient)
            moved = start - step * gradient
            W, squared, level, theta = _proximal(moved, k, step * weight, self.norm, level)
            lower, rises = self._lower(point, self.at(W, squared), weight)
            if (rises & (momentum == 1.0)).all():
                # Without momentum only rounding raises it.
                return point, iteration
            before, point, momentum = point, lower, np.where(rises, 1.0, next_momentum)
        return point, most

    def _on_piece(self, W: np.ndarray, theta: np.ndarray, k: int, weight: float) -> _Point:
        """Return the minimum of the outputs on the pieces of the norm where the coefficients lie.
        With m magnitudes of theta = 1 and the signs s of the others, these theta give the bound
        sum_(theta = 1) w_i^2 + (s'w)^2 / (k - m) of ||u||_k^2, which is quadratic, if no other
        theta is above 1; the norm itself at the minimum on its piece. Zeros stay zero."""
        is_full = theta >= 1.0
        rest = k - is_full.sum(axis=0)
        signs = np.where(is_full | (rest <= 0), 0.0, np.sign(W))
        rest = np.maximum(rest, 1)
        used = (is_full | (signs != 0.0)).T
        systems = self._gram + signs.T[:, :, None] * (weight / rest * signs).T[:, None, :]
        systems *= used[:, :, None] & used[:, None, :]
        diagonal = np.einsum("dii->di", systems)
        diagonal += np.where(used, weight * is_full.T + ROUNDING * self._lipschitz, 1.0)
        W = np.linalg.solve(systems, (used * self._products.T)[:, :, None])[:, :, 0].T
        u = np.abs(W)
        others = np.where(is_full, 0.0, u)
        total = others.sum(axis=0)
        squared = np.where(is_full, u * u, 0.0).sum(axis=0) + total * total / rest
        # Infinity: this is no bound.
        return self.at(W, np.where(others.max(axis=0) * rest <= total, squared, np.inf))

    def _lower(self, old: _Point, new: _Point, weight: float) -> tuple[_Point, np.ndarray]:
        """Return the point with the lower objective of each group, and where that is the old."""
        rise = new.loss - old.loss + 0.5 * weight * (new.squared - old.squared)
        rises = rise > ROUNDING * self.squares
        if not rises.any():
            return new, rises
        return _Point(*(np.where(rises, *pair) for pair in zip(old, new, strict=True))), rises

    def _by_group(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Return the inner products (n_groups,) of two arrays with d columns."""
        if self.norm == "outputs":
            return np.einsum("ij,ij->j", A, B)
        return np.array([np.vdot(A, B)])


class _Point(NamedTuple):
    """Coefficients W (p, d), and what is known of them."""

    W: np.ndarray
    squared: np.ndarray
    """||u_g||_k^2 (n_groups,)."""

    gradient: np.ndarray
    """X'(X W - Y) (p, d)."""

    loss: np.ndarray
    """1/2 ||Y - X W||^2 (n_groups,)."""


class KSupportRegression:
    """The data of a regression, for which paths of penalties are then found.

    Raises ValueError if the norm is unknown.

    Parameters
    ----------
    X : array (n, q)
        Inputs, without missing values; their scale matters.
    Y : array (n, d)
        Outputs, without missing values.
    norm : {"outputs", "rows", "spectral"}
    center : bool, default=True
        Fit an unpenalised intercept.

    Attributes
    ----------
    largest_k : int
        The number of magnitudes, with which the penalty is ridge.
    largest_gap : float
        Largest duality gap of the last `path`, as a share of the objective for W = 0.
    """

    def __init__(self, X: np.ndarray, Y: np.ndarray, norm: str, center: bool = True) -> None:
        if norm not in NORMS:
            raise ValueError(f"norm must be one of {NORMS}; found {norm!r}.")
        n_rows, n_inputs = X.shape
        self.largest_k = largest_k(norm, n_inputs, Y.shape[1])
        X, self._x_mean, _ = _centred(X, center)
        Y, self._y_mean, deviation = _centred(Y, center)
        self._y_scale = np.where(deviation > 0, deviation, 1.0)
        Y = Y / self._y_scale
        self._basis = None
        if norm == "spectral" and n_inputs > n_rows:
            # Singular values do not depend on the basis, and the solution lies in the rows of X.
            self._basis, triangle = np.linalg.qr(X.T)
            X = triangle.T
        self._problem = _Problem(X, Y, norm)

    def path(
        self, k: int, alphas: Sequence[float], tolerance: float = TOLERANCE
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return coefficients (p, q, d) and intercepts (p, d) for p penalties.

        They are found from the largest penalty to the smallest, each from the solution before it.

        Raises ValueError if k is below 1 or a penalty is not positive.

        Parameters
        ----------
        k : int
            From 1; above `largest_k` it is `largest_k`.
        alphas : sequence of float
            lambda_0, positive; infinity gives W = 0.
        tolerance : float, default=1e-4
            The iterations end where the duality gap of every group is at most this share of its
            objective for W = 0. With the largest k the solution is exact.
        """
        alphas = np.asarray(alphas, dtype=np.float64)
        if k < 1 or not (alphas > 0).all():
            raise ValueError(f"k and alpha must be positive; found {k!r} and {alphas.tolist()!r}.")
        problem = self._problem
        (n_rows, n_columns), n_outputs = problem.X.shape, problem.Y.shape[1]
        coefficients = np.zeros((len(alphas), len(self._x_mean), n_outputs))
        W, squared = np.zeros((n_columns, n_outputs)), np.zeros_like(problem.squares)
        self.largest_gap = 0.0
        for index in np.argsort(-alphas, kind="stable"):
            weight = labelled_ridge(n_rows, alphas[index])
            if np.isinf(weight) or not problem.X.any():
                continue
            if k >= self.largest_k:
                W = problem.ridge(weight)
            else:
                W, squared, gap = _minimum(problem, k, weight, W, squared, tolerance)
                self.largest_gap = max(self.largest_gap, gap)
                if gap > tolerance:
                    what = f"k-support norm with k = {k} and alpha = {alphas[index]:.3g}"
                    warn_at_limit(what, gap, tolerance, f"{MAX_ITERATIONS} iterations")
            in_inputs = W if self._basis is None else self._basis @ W
            coefficients[index] = in_inputs * self._y_scale
        return coefficients, self._y_mean - self._x_mean @ coefficients


def _centred(A: np.ndarray, center: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return columns (n, m) less their means, the means or zeros (m,), and the root mean squares.
    Rounding leaves a constant column a few units in the last place, which become zeros."""
    mean = A.mean(axis=0) if center else np.zeros(A.shape[1])
    A = A - mean
    deviation = np.sqrt((A**2).mean(axis=0))
    varies = deviation > 1e-12 * np.abs(mean)
    return np.where(varies, A, 0.0), mean, np.where(varies, deviation, 0.0)


def _minimum(
    problem: _Problem, k: int, weight: float, W: np.ndarray, squared: np.ndarray, tolerance: float
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return coefficients (p, d), their squared norms, and the largest duality gap. Most inputs
    have the coefficient zero. The problem of a part of the inputs is solved, and the part is made
    larger until the duality gap of the whole problem is small. Fewer columns have a smaller ||X||,
    and so need fewer iterations."""
    remaining, size = MAX_ITERATIONS, max(2 * k, MIN_PART)
    while True:
        point = problem.at(W, squared)
        gap = float(problem.gap(point, k, weight).max())
        if gap <= tolerance or remaining <= 0:
            return W, squared, gap
        part, columns = problem, slice(None)
        is_used = W.any(axis=1)
        size = max(size, 2 * int(is_used.sum()))
        if problem.norm != "spectral" and size < len(W):
            pulls = _magnitudes(point.gradient, problem.norm)[0]
            # Relative to the k-th largest, around which the coefficients of a group begin.
            pulls /= np.maximum(np.partition(pulls, -k, axis=0)[-k], MIN_MAGNITUDE)
            pulls = np.where(is_used, np.inf, pulls.max(axis=1))
            columns = np.sort(np.argpartition(-pulls, size)[:size])
            part = _Problem(problem.X[:, columns], problem.Y, problem.norm)
        found, iterations = part.minimum(
            k, weight, part.at(W[columns], squared), SHARE_OF_PART * tolerance, remaining
        )
        W = np.zeros_like(W)
        W[columns], squared = found.W, found.squared
        remaining -= max(iterations, 1)
        size *= 2
        if part is problem:
            return W, squared, float(problem.gap(found, k, weight).max())
