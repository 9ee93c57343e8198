"""A mixture of the outputs whose weights depend on the inputs, learned together with them.

The components N(mu_c, s I) share one variance, and the weights of a row are the softmax of a kernel
expansion, pi(x) = softmax(f(x)) with f(x) = sum_i k(x, x_i) a_i + b (a mixture of experts: Jacobs
et al. 1991). With l labelled rows, and weak rows of which only the likelihoods v_kc of a label
under each component are known, the penalised conditional log-likelihood, per labelled row, is

    J = 1/l [ sum_i log sum_c pi_c(x_i) N(y_i; mu_c, s I) + w sum_k log sum_c v_kc pi_c(x_k) ]
        - alpha / 2 tr(A' K A),        s >= floor.

An iteration sets the memberships r_ic proportional to pi_c(x_i) N(y_i; mu_c, s I) (of weak rows to
v_kc pi_c(x_k)), then the means and the variance to their maximum for these, and takes a step in A
and b. The Hessian of log sum exp is at most (I - 1 1' / C) / 2 (Bohning 1992), so that J rises at
least as much as a quadratic with its maximum at the kernel ridge regression, eq. (13) and (14) of
the OFER paper, of the working targets

    z = f + 2 (r - pi(x)).

Its matrix is the same in all iterations and is factorised once. J never falls: the iteration is
one of generalised expectation-maximisation, without a search for the length of a step.
"""

from typing import NamedTuple

import numpy as np

from workflow_lib.models.covariance import squared_distances
from workflow_lib.models.mixtures.mixture_batches import MIN_COUNT
from workflow_lib.solvers.ridge import RidgeSystem, labelled_ridge, weak_ridge

MAX_ITER = 30
"""Most iterations. J had then risen by 99 % of the rise after 300 iterations in the median of the
fits to three tables (a mixture, buildings, species), and by 71 % in the worst twentieth of the fits
to the buildings."""

TOLERANCE = 1e-4
"""Iterations end when J (nats per labelled row) rises by less."""


class Components(NamedTuple):
    """A mixture with one variance: weights (C,), means (C, d) and the variance s."""

    weights: np.ndarray
    means: np.ndarray
    variance: float


class JointMixture(NamedTuple):
    """A mixture whose weights depend on the inputs."""

    components: Components
    """The means, the variance, and the weights of the start."""

    memberships: np.ndarray
    """r (l, C) of the labelled rows."""

    weak_memberships: np.ndarray
    """Those of the weak rows (w, C)."""

    dual_coefficients: np.ndarray
    """A (l + w, C)."""

    intercept: np.ndarray
    """b (C,)."""

    objectives: list[float]
    """J at the start and after every iteration."""


def fit_joint_mixture(
    K: np.ndarray,
    Y: np.ndarray,
    start: Components,
    floor: float,
    alpha: float,
    weak_likelihoods: np.ndarray | None = None,
    weak_weight: float = 1.0,
    max_iter: int = MAX_ITER,
    tolerance: float = TOLERANCE,
) -> JointMixture:
    """Return the mixture after iterations from one whose weights are the same for all rows.

    Without an iteration r are the posterior probabilities of the components under that mixture.

    Raises ValueError if K plus its ridge is not positive definite; the message names the remedy.

    Parameters
    ----------
    K : array (l + w, l + w)
        Gram matrix of the labelled, then the weak rows.
    Y : array (l, d)
        Outputs of the labelled rows.
    start : Components
        Its weights are positive.
    floor : float
        Smallest variance.
    alpha : float
        Penalty of the weights, lambda_0 of the regressions of z; positive. With infinity they stay
        as they are, and there is no iteration.
    weak_likelihoods : array (w, C) or None, default=None
        v, up to a factor for each row: memberships divided by the weights under which they were
        found. Not all of a row are zero. None: there are no weak rows.
    weak_weight : float, default=1.0
        w, the weight of a weak row relative to a labelled one.
    max_iter, tolerance
        As `MAX_ITER` and `TOLERANCE`.
    """
    state = _State(K, Y, start, floor, alpha, weak_likelihoods, weak_weight)
    objectives = [state.objective()]
    if np.isfinite(alpha):
        system = RidgeSystem(K, state.ridge())
        for _ in range(max_iter):
            state.maximise(system)
            objectives.append(state.objective())
            if objectives[-1] - objectives[-2] < tolerance:
                break
    return state.result(objectives)


class _State:
    """The parameters, and the memberships under them."""

    def __init__(self, K, Y, start, floor, alpha, weak_likelihoods, weak_weight) -> None:
        self._K, self._Y, self._floor, self._alpha = K, Y, floor, alpha
        self._weak_weight, self._n_labelled = weak_weight, len(Y)
        n_weak = len(K) - len(Y)
        weak = (
            np.ones((n_weak, len(start.weights))) if weak_likelihoods is None else weak_likelihoods
        )
        with np.errstate(divide="ignore"):
            self._log_weak = np.log(weak)
        self._means, self._variance = start.means, max(float(start.variance), floor)
        self._distances = squared_distances(Y, start.means)
        self._weights, log_weights = start.weights, np.log(start.weights)
        # The bound has this form for scores that sum to zero, which the steps preserve.
        self._intercept = log_weights - log_weights.mean()
        self._dual = np.zeros((len(K), len(log_weights)))
        self._scores = np.tile(self._intercept, (len(K), 1))
        self._expect()

    def ridge(self) -> np.ndarray:
        ridge = np.full(len(self._K), labelled_ridge(self._n_labelled, self._alpha))
        weight = self._weak_weight / (2.0 * self._n_labelled)
        ridge[self._n_labelled :] = weak_ridge(self._alpha, weight)
        return ridge

    def maximise(self, system: RidgeSystem) -> None:
        """Set all parameters, then the memberships under them."""
        memberships = self._memberships[: self._n_labelled]
        counts = memberships.sum(axis=0)
        # The mean of a component without rows does not change J, and stays where it is.
        present = counts > MIN_COUNT
        sums = memberships.T @ self._Y
        self._means = self._means.copy()
        self._means[present] = sums[present] / counts[present, None]
        self._distances = squared_distances(self._Y, self._means)
        scatter = (memberships * self._distances).sum()
        self._variance = max(float(scatter / self._Y.size), self._floor)
        working = self._scores + 2.0 * (self._memberships - np.exp(self._log_weights))
        self._dual, self._intercept = system.solve(working)
        self._scores = self._K @ self._dual + self._intercept
        self._expect()

    def _expect(self) -> None:
        self._log_weights = self._scores - _log_sum_exp(self._scores)
        log_scale = 0.5 * self._Y.shape[1] * np.log(2.0 * np.pi * self._variance)
        densities = -0.5 / self._variance * self._distances - log_scale
        log_joint = self._log_weights + np.vstack([densities, self._log_weak])
        self._evidence = _log_sum_exp(log_joint)
        self._memberships = np.exp(log_joint - self._evidence)

    def objective(self) -> float:
        n_labelled, evidence = self._n_labelled, self._evidence
        total = evidence[:n_labelled].sum() + self._weak_weight * evidence[n_labelled:].sum()
        if not self._dual.any():
            return float(total / n_labelled)
        norm = (self._dual * (self._scores - self._intercept)).sum()
        return float(total / n_labelled - 0.5 * self._alpha * norm)

    def result(self, objectives) -> JointMixture:
        memberships = self._memberships[: self._n_labelled]
        return JointMixture(
            Components(self._weights, self._means, self._variance),
            memberships,
            self._memberships[self._n_labelled :],
            self._dual,
            self._intercept,
            objectives,
        )


def _log_sum_exp(values: np.ndarray) -> np.ndarray:
    """Return log sum_c exp(values) of each row, an array (n, 1)."""
    highest = values.max(axis=1, keepdims=True)
    return highest + np.log(np.exp(values - highest).sum(axis=1, keepdims=True))
