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

from collections.abc import Sequence
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

MIN_PART = 30
"""Inputs with which the search for those with coefficients begins."""

SHARE_OF_PART = 0.5
"""Duality gap of the problem of a part of the inputs, as a share of that of the whole problem."""

MAX_GUESSES = 5
"""Pieces that are tried before the bends are sorted: few change between iterations."""

MAX_STEPS = 6
"""Newton steps after which they have failed: most solutions need two or three."""

ITERATIONS_BETWEEN_STEPS = 50
"""Iterations of FISTA between further Newton steps, which cost as much as several of them."""

MAX_ASPECT = 4
"""Inputs for each row up to which there are Newton steps, which need X'X."""

MAX_VALUES = 12
"""Singular values up to which there are Newton steps: they solve systems of their square."""

MIN_THETA = 1e-10
"""Smaller theta, the inverses of which differ by rounding only, count as zero or as this."""

MIN_MAGNITUDE = 1e-150
"""Smaller magnitudes, the inverses of which could overflow, count as zero."""


def largest_k(norm: str, n_inputs: int, n_outputs: int) -> int:
    """Return the number of magnitudes of coefficients (q, d), with which the penalty is ridge."""
    return min(n_inputs, n_outputs) if norm == "spectral" else n_inputs


def proximal_map(
    V: np.ndarray, k: int, weight: float, norm: str, level: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the W that minimises 1/2 ||W - V||^2 + weight/2 sum_g ||u_g||_k^2, its ||u_g||_k^2
    and its levels a (n_groups,).

    For fixed theta each magnitude v_i of V becomes v_i theta_i / (theta_i + weight). The best theta
    are clip(a v_i - weight, 0, 1) with the a of each group for which they sum to k. `V` is (q, d),
    k from 1 and above the number of magnitudes that number, `weight` positive, and `level` a guess
    of a.
    """
    v, sides = _magnitudes(V, norm)
    level = _level(v, k, weight, level)
    theta = np.minimum(np.maximum(level * v - weight, 0.0), 1.0)
    raised = theta + weight
    factors = theta / raised
    W = V * factors if sides is None else (sides[0] * (v * factors)[:, 0]) @ sides[1]
    return W, (v * v * factors / raised).sum(axis=0), level


def _magnitudes(V: np.ndarray, norm: str) -> tuple[np.ndarray, tuple | None]:
    """Return the magnitudes (p, n_groups), and the left and right vectors of singular values."""
    if norm == "outputs":
        return np.abs(V), None
    if norm == "rows":
        return np.sqrt(np.einsum("ij,ij->i", V, V))[:, None], None
    left, values, right = np.linalg.svd(V, full_matrices=False)
    return values[:, None], (left, right)


def _level(u: np.ndarray, k: int, weight: float, guess: np.ndarray | None = None) -> np.ndarray:
    """Return the a (g,) of each column with which theta = clip(a u - weight, 0, 1) sum to k.

    `u` (p, g) are magnitudes. Where no more than k of them are positive, a is so large that their
    theta are 1. The sum is piecewise linear in a. With a `guess` of a, the piece on which a lies is
    solved until it is the one that it was solved for. Otherwise the sum bends at weight / u_i and
    (1 + weight) / u_i: its values at the sorted bends, by cumulative sums, give the piece on which
    it is k.
    """
    positive = u > MIN_MAGNITUDE
    if guess is not None and k < len(u) and not np.isnan(guess).any():
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
    if slope.all():
        return wanted / slope
    without = np.where(n_full == k, level, np.nan)
    return np.divide(wanted, slope, out=without, where=slope > 0)


class _Problem:
    """1/2 ||Y - X W||^2 of centred inputs X (n, p) and outputs Y (n, d), by groups of magnitudes.
    Its products are those of the smaller of X and X'X, which for singular values must be
    diagonal."""

    def __init__(self, X: np.ndarray, Y: np.ndarray, norm: str) -> None:
        self.X, self.Y, self.norm = X, Y, norm
        self._is_primal = X.shape[1] <= len(X)
        is_small = X.shape[1] <= MAX_ASPECT * len(X)
        self._gram = X.T @ X if is_small else X @ X.T
        self._products = X.T @ Y
        self._scale = float(np.trace(self._gram)) / X.shape[1]
        self._has_steps = is_small and (
            norm != "spectral" or min(self._products.shape) <= MAX_VALUES
        )
        self.squares = self._by_group(Y, Y)

    def at(self, W: np.ndarray, squared: np.ndarray, level: np.ndarray | None = None) -> _Point:
        """Return the point of coefficients (p, d), of which the squared norms are known."""
        fitted = self._gram @ W if self._is_primal else self.X.T @ (self.X @ W)
        gradient = fitted - self._products
        loss = 0.5 * (self.squares + self._by_group(W, gradient - self._products))
        level = np.full_like(loss, np.nan) if level is None else level
        return _Point(W, squared, gradient, loss, level)

    def ridge(self, weight: float) -> np.ndarray:
        """Return the coefficients (p, d) with the penalty weight/2 ||W||^2."""
        factor = cho_factor(self._gram + weight * np.eye(len(self._gram)), lower=True)
        if len(self._gram) == len(self._products):
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
    ) -> tuple[_Point, float, int]:
        """Return the minimum with the penalty weight/2 sum_g ||u_g||_k^2, its largest duality gap,
        and the iterations: Newton steps from `point`, then FISTA with the step 1 / ||X||^2 and now
        and then a Newton step. No objective rises by more than rounding: a group keeps the best
        point, and loses the momentum of FISTA where its objective would rise."""
        best, done = point, 0
        while self._has_steps and done <= min(most, MAX_STEPS):
            gaps = self.gap(best, k, weight)
            if (gaps <= tolerance).all() or done == most:
                return best, float(gaps.max()), done
            point = self._newton_step(point, k, weight)
            best, rises = self._lower(best, point, weight)
            done += 1
            if done > 1 and (rises | (gaps <= tolerance)).all():
                break
        step = 1.0 / float(np.linalg.eigvalsh(self._gram)[-1])
        before, point, momentum = best, best, np.ones_like(self.squares)
        for iteration in range(done, most):
            if iteration % ITERATIONS_BETWEEN_GAPS == 0:
                if self._has_steps and iteration % ITERATIONS_BETWEEN_STEPS == 0:
                    newton = self._newton_step(point, k, weight)
                    point, rises = self._lower(point, newton, weight)
                    momentum = np.where(rises, momentum, 1.0)
                gap = float(self.gap(point, k, weight).max())
                if gap <= tolerance:
                    return point, gap, iteration
            next_momentum = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
            beta = (momentum - 1.0) / next_momentum
            start = point.W + beta * (point.W - before.W)
            gradient = point.gradient + beta * (point.gradient - before.gradient)
            moved = start - step * gradient
            found = proximal_map(moved, k, step * weight, self.norm, point.level)
            lower, rises = self._lower(point, self.at(*found), weight)
            if (rises & (momentum == 1.0)).all():
                # Without momentum only rounding raises it.
                break
            before, point, momentum = point, lower, np.where(rises, 1.0, next_momentum)
        return point, float(self.gap(point, k, weight).max()), most

    def _newton_step(self, point: _Point, k: int, weight: float) -> _Point:
        """Return the point after a step of a semismooth Newton method.

        The proximal map of `point` less its gradient gives a piece of the norm: with m magnitudes
        of theta = 1, those between 0 and 1 give the bound

            sum_(theta = 1) u_i^2 + (sum_(0 < theta < 1) u_i)^2 / (k - m) >= ||u||_k^2,

        if no other theta is above 1; the norm itself at the minimum on its piece. The loss and
        this bound are minimised, in their quadratic approximation there. Zeros stay zero."""
        smoothing = weight / self._scale
        V = point.W - point.gradient / self._scale
        v, sides = _magnitudes(V, self.norm)
        level = _level(v, k, smoothing, point.level)
        theta = np.minimum(np.maximum(level * v - smoothing, 0.0), 1.0)
        is_full = theta >= 1.0
        rest = k - is_full.sum(axis=0)
        theta *= is_full | (rest > 0)
        rest = np.maximum(rest, 1)
        try:
            if self.norm == "outputs":
                W = self._outputs_step(np.sign(V), theta, weight, rest)
            elif self.norm == "rows":
                W = self._rows_step(V, v, theta[:, 0], weight, rest)
            else:
                pulls = np.maximum(v / (1.0 + smoothing), np.minimum(1.0 / level, v / smoothing))
                lengths = v * theta / (theta + smoothing)
                values = np.hstack([lengths, pulls, theta]).T
                W = self._spectral_step(sides, values, weight, rest)
        except np.linalg.LinAlgError:
            # Linearly dependent inputs without a penalty between them: no step.
            return point
        u = _magnitudes(W, self.norm)[0]
        others = u * ~is_full
        total = others.sum(axis=0)
        squared = (u * u * is_full).sum(axis=0) + total * total / rest
        # Infinity: this is no bound.
        return self.at(W, np.where(others.max(axis=0) * rest <= total, squared, np.inf), level)

    def _outputs_step(
        self, signs: np.ndarray, theta: np.ndarray, weight: float, rest: np.ndarray
    ) -> np.ndarray:
        """Return the coefficients (p, d) after a step for single outputs. The bound is quadratic:
        the step leads to the minimum. All systems have the size of the largest."""
        size = max(int((theta > 0.0).sum(axis=0).max()), 1)
        chosen = np.argsort(theta <= 0.0, axis=0, kind="stable")[:size].T
        outputs = np.arange(len(chosen))[:, None]
        theta, signs = theta[chosen, outputs], signs[chosen, outputs]
        is_used, is_full = theta > 0.0, theta >= 1.0
        signs = signs * (is_used ^ is_full)
        systems = self._gram[chosen[:, :, None], chosen[:, None, :]]
        systems += (weight / rest[:, None] * signs)[:, :, None] * signs[:, None, :]
        trace = self._scale * len(self._gram)
        diagonal = np.einsum("dii->di", systems)
        diagonal += np.where(is_used, weight * is_full + ROUNDING * trace, trace / ROUNDING**2)
        products = self._products[chosen, outputs] * is_used
        W = np.zeros_like(self._products)
        W[chosen, outputs] = np.linalg.solve(systems, products[:, :, None])[:, :, 0] * is_used
        return W

    def _rows_step(
        self, V: np.ndarray, v: np.ndarray, theta: np.ndarray, weight: float, rest: np.ndarray
    ) -> np.ndarray:
        """Return the coefficients (p, d) after a step for lengths of rows, whose direction is that
        of V. The second derivatives are those of weight/2 sum_i ||w_i||^2 / theta_i, corrected
        along the directions."""
        used = np.flatnonzero(theta > MIN_THETA)
        theta, directions = theta[used], V[used] / v[used]
        is_partial = (theta < 1.0) * 1.0
        second = self._gram[used[:, None], used] + np.diag(weight / theta)
        # Elements of the inverse are needed; the penalty keeps the factor from zero.
        root = np.linalg.solve(np.linalg.cholesky(second), np.eye(len(used)))
        inverse = root.T @ root
        correction = np.outer(is_partial, is_partial) / rest
        correction = weight * (correction - np.diag(is_partial / theta))
        W = np.zeros_like(self._products)
        W[used] = inverse @ self._products[used]
        along = (directions * W[used]).sum(axis=1)
        z = _corrected(correction, inverse * (directions @ directions.T), along)
        W[used] -= inverse @ (directions * z[:, None])
        return W

    def _spectral_step(
        self, sides: tuple, values: np.ndarray, weight: float, rest: np.ndarray
    ) -> np.ndarray:
        """Return the coefficients (p, d) after a step. `values` (3, r) are singular values,
        the derivatives of the penalty / weight, and theta. In the basis of the singular vectors
        `sides` the second derivatives are those of weight/2 sum_j w_j^2 / theta_j, corrected in the
        r x r elements between singular vectors."""
        (left, right), (lengths, pulls, theta) = sides, values
        is_partial = ((theta > 0.0) & (theta < 1.0)) * 1.0
        inverse_theta = 1.0 / np.maximum(theta, MIN_THETA)
        # Of the symmetric and the antisymmetric part of elements (i, j) and (j, i).
        apart = np.maximum(np.abs(np.subtract.outer(lengths, lengths)), MIN_MAGNITUDE)
        even = np.abs(np.subtract.outer(pulls, pulls)) / apart
        together = np.maximum(np.add.outer(lengths, lengths), MIN_MAGNITUDE)
        odd = np.add.outer(pulls, pulls) / together
        is_pair = (np.add.outer(theta, theta) > 0.0) & ~np.eye(len(theta), dtype=bool)
        correction = np.zeros((len(theta),) * 4)
        np.einsum("ijij->ij", correction)[is_pair] = (0.5 * (even + odd) - inverse_theta)[is_pair]
        np.einsum("ijji->ij", correction)[is_pair] = 0.5 * (even - odd)[is_pair]
        np.einsum("iiii->i", correction)[...] = -is_partial * inverse_theta
        np.einsum("iijj->ij", correction)[...] += np.outer(is_partial, is_partial) / rest
        inverse = 1.0 / (np.diagonal(self._gram)[:, None] + weight * inverse_theta)
        covariance = np.zeros_like(correction)
        np.einsum("ijkj->jik", covariance)[...] = (left.T * inverse.T[:, None, :]) @ left
        W = inverse * (self._products @ right.T)
        square = (len(theta) ** 2,) * 2
        z = _corrected(
            weight * correction.reshape(square), covariance.reshape(square), (left.T @ W).ravel()
        )
        return (W - inverse * (left @ z.reshape(len(theta), -1))) @ right

    def _lower(self, old: _Point, new: _Point, weight: float) -> tuple[_Point, np.ndarray]:
        """Return the point with the lower objective of each group, and where that is the old."""
        rise = new.loss - old.loss + 0.5 * weight * (new.squared - old.squared)
        rises = ~(rise <= ROUNDING * self.squares)
        if not rises.any():
            return new, rises
        return _Point(*(np.where(rises, *pair) for pair in zip(old, new, strict=True))), rises

    def _by_group(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Return the inner products (n_groups,) of two arrays with d columns."""
        if self.norm == "outputs":
            return np.einsum("ij,ij->j", A, B)
        return np.array([np.vdot(A, B)])


def _corrected(correction: np.ndarray, covariance: np.ndarray, along: np.ndarray) -> np.ndarray:
    """Return z = (C^-1 + N'A^-1 N)^-1 N'A^-1 b, with which (A + N C N')^-1 b = A^-1 b - A^-1 N z,
    of C, N'A^-1 N and N'A^-1 b; C may be singular."""
    return np.linalg.solve(np.eye(len(along)) + correction @ covariance, correction @ along)


class _Point(NamedTuple):
    """Coefficients W (p, d), and what is known of them."""

    W: np.ndarray
    squared: np.ndarray
    """||u_g||_k^2 (n_groups,)."""

    gradient: np.ndarray
    """X'(X W - Y) (p, d)."""

    loss: np.ndarray
    """1/2 ||Y - X W||^2 (n_groups,)."""

    level: np.ndarray
    """Levels a (n_groups,) of the proximal map that led here; NaN where there was none."""


class KSupportRegression:
    """The data of a regression, for which paths of penalties are then found.

    Inputs `X` (n, q), whose scale matters, and outputs `Y` (n, d) have no missing values; the
    `norm` is one of `NORMS`, and with `center` there is an unpenalised intercept. The attribute
    `largest_k` is the number of magnitudes, with which the penalty is ridge, and `largest_gap` the
    largest duality gap of the last `path`, as a share of the objective for W = 0.

    Raises ValueError if the norm is unknown.
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
        if norm == "spectral":
            # Singular values do not depend on the basis, and the solution lies in the rows of X.
            if n_inputs > n_rows:
                self._basis, triangle = np.linalg.qr(X.T)
                X = triangle.T
            vectors = np.linalg.eigh(X.T @ X)[1]
            self._basis = vectors if self._basis is None else self._basis @ vectors
            X = X @ vectors
        self._problem = _Problem(X, Y, norm)

    def path(
        self, k: int, alphas: Sequence[float], tolerance: float = TOLERANCE
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return coefficients (p, q, d) and intercepts (p, d) for p penalties.

        They are found from the largest penalty to the smallest, each from the solution before it.
        A `k` above `largest_k` is `largest_k`, with which the solution is exact; `alphas` are
        lambda_0, of which infinity gives W = 0. The iterations end where the duality gap of every
        group is at most the share `tolerance` of its objective for W = 0.

        Raises ValueError if k is below 1 or a penalty is not positive.
        """
        alphas = np.asarray(alphas, dtype=np.float64)
        if k < 1 or not (alphas > 0).all():
            raise ValueError(f"k and alpha must be positive; found {k!r} and {alphas.tolist()!r}.")
        problem = self._problem
        (n_rows, n_columns), n_outputs = problem.X.shape, problem.Y.shape[1]
        coefficients = np.zeros((len(alphas), len(self._x_mean), n_outputs))
        point = problem.at(np.zeros((n_columns, n_outputs)), np.zeros_like(problem.squares))
        self.largest_gap = 0.0
        for index in np.argsort(-alphas, kind="stable"):
            weight = labelled_ridge(n_rows, alphas[index])
            if np.isinf(weight) or not problem.X.any():
                continue
            if k >= self.largest_k:
                W = problem.ridge(weight)
            else:
                point, gap = _minimum(problem, k, weight, point, tolerance)
                W = point.W
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
    problem: _Problem, k: int, weight: float, point: _Point, tolerance: float
) -> tuple[_Point, float]:
    """Return the minimum and its largest duality gap, from a point. Most inputs have the
    coefficient zero. The problem of a part of the inputs is solved, and the part is made larger
    until the duality gap of the whole problem is small. Fewer columns have a smaller ||X||, and so
    need fewer iterations."""
    remaining, size, limit = MAX_ITERATIONS, max(2 * k, MIN_PART), SHARE_OF_PART * tolerance
    while True:
        is_used = point.W.any(axis=1)
        size = max(size, 2 * int(is_used.sum()))
        if problem.norm == "spectral" or size >= len(is_used):
            return problem.minimum(k, weight, point, limit, remaining)[:2]
        gap = float(problem.gap(point, k, weight).max())
        if gap <= tolerance or remaining <= 0:
            return point, gap
        pulls = _magnitudes(point.gradient, problem.norm)[0]
        # Relative to the k-th largest, around which the coefficients of a group begin.
        pulls /= np.maximum(np.partition(pulls, -k, axis=0)[-k], MIN_MAGNITUDE)
        pulls = np.where(is_used, np.inf, pulls.max(axis=1))
        columns = np.sort(np.argpartition(-pulls, size)[:size])
        part = _Problem(problem.X[:, columns], problem.Y, problem.norm)
        start = part.at(point.W[columns], point.squared, point.level)
        found, _, iterations = part.minimum(k, weight, start, limit, remaining)
        W = np.zeros_like(point.W)
        W[columns] = found.W
        point = problem.at(W, found.squared, found.level)
        remaining -= max(iterations, 1)
        size *= 2
