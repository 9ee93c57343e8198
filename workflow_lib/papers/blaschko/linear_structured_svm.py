"""Structured support vector machine that is linear in joint features, by cutting planes.

With margin rescaling (Tsochantaridis et al. 2005; Blaschko 2014, Section 2.3.1) it minimises

    1/2 ||w||^2 + C/n sum_i max_y [Delta(y_i, y) - w'(phi(x_i, y_i) - phi(x_i, y))].

In every round the most violated output of each example is found at the current w, which gives the
value of the objective; the dual over all outputs found so far, one simplex for each example, is
then solved, which gives a lower bound of its minimum. The difference of both is the duality gap.
The outputs that were found are constraints whatever the cost, so a machine can be fitted for one
cost after the other.
"""

from collections.abc import Callable

import numpy as np

from workflow_lib.core.convergence import warn_at_limit

Oracle = Callable[[int, np.ndarray], tuple[np.ndarray, float]]
"""Function of the number of an example and w that returns phi(x, y) (p,) and Delta of the output y
with the largest Delta + w'phi(x, y)."""

TOLERANCE = 0.01
"""Duality gap, in units of the mean loss, at which a fit ends."""

MAX_ROUNDS = 100
"""Rounds after which the gap is taken as it is, with a warning."""

# Share of the tolerance to which the dual over the known outputs is solved.
INNER_SHARE = 0.1

MAX_STEPS = 20_000
"""Steps in the dual of one round."""


class LinearStructuredSVM:
    """Structured support vector machines of the same examples, for one cost after the other.

    `truth` (n, p) holds phi(x_i, y_i). A fit ends at a gap of `tolerance`, in units of the mean
    loss; losses are at most about 1.
    """

    def __init__(self, truth: np.ndarray, oracle: Oracle, tolerance: float = TOLERANCE) -> None:
        self._truth, self._oracle, self._tolerance = np.asarray(truth), oracle, tolerance
        n, p = self._truth.shape
        # The true output itself is a constraint that is never violated.
        self._differences, self._losses = np.zeros((n, p)), np.zeros(n)
        self._examples, self._shares = np.arange(n), np.ones(n)

    def fit(self, cost: float) -> tuple[np.ndarray, float]:
        """Return w (p,) for a cost C above 0, from the shares of the outputs of the last, and its
        duality gap divided by C, so that it is in units of the mean loss.

        A ConvergenceWarning tells that the gap was not reached.
        """
        n = len(self._truth)
        scale = cost / n
        for _ in range(MAX_ROUNDS):
            weights = scale * (self._shares @ self._differences)
            found = [self._oracle(example, weights) for example in range(n)]
            differences = self._truth - np.array([features for features, _ in found])
            losses = np.array([loss for _, loss in found])
            violations = np.maximum(losses - differences @ weights, 0.0)
            lower = scale * (self._shares @ self._losses) - 0.5 * weights @ weights
            gap = (0.5 * weights @ weights + scale * violations.sum() - lower) / cost
            if gap <= self._tolerance:
                break
            self._differences = np.concatenate([self._differences, differences])
            self._losses = np.concatenate([self._losses, losses])
            self._examples = np.concatenate([self._examples, np.arange(n)])
            self._shares = np.concatenate([self._shares, np.zeros(n)])
            self._solve(scale, n)
        else:
            limit = f"{MAX_ROUNDS} rounds"
            warn_at_limit(f"box machine of cost {cost:.3g}", gap, self._tolerance, limit)
        return weights, float(gap)

    def _solve(self, scale: float, n: int) -> None:
        """Maximise the dual over the shares of the known outputs of each example. Each step moves
        share from the output of an example that is worth least to the one that is worth most, as
        far as the dual rises; the example is the one that gains most."""
        gram = self._differences @ self._differences.T
        values = self._losses - scale * (gram @ self._shares)
        members = [np.flatnonzero(self._examples == example) for example in range(n)]
        width = max(map(len, members))
        table = np.array([np.resize(each, width) for each in members])
        for _ in range(MAX_STEPS):
            of_examples = values[table]
            used = np.where(self._shares[table] > 0, of_examples, np.inf)
            excess = of_examples.max(axis=1) - used.min(axis=1)
            if excess.sum() <= INNER_SHARE * self._tolerance * n:
                return
            example = excess.argmax()
            best = table[example, of_examples[example].argmax()]
            worst = table[example, used[example].argmin()]
            curvature = scale * (gram[best, best] + gram[worst, worst] - 2 * gram[best, worst])
            step = self._shares[worst]
            if curvature > 0:
                step = min(step, (values[best] - values[worst]) / curvature)
            self._shares[best] += step
            self._shares[worst] = 0.0 if step == self._shares[worst] else self._shares[worst] - step
            values -= scale * step * (gram[:, best] - gram[:, worst])
