"""Joint kernel support as a binary machine of the pairs and their mirrored copies.

Section 3.1.4 of Blaschko (2014) replaces the one-class machine by a support vector machine of the
pairs phi_i with the label 1 and of their copies -phi_i with the label -1, for which there are fast
solvers. By symmetry its hyperplane passes through the origin, so that it minimises

    lambda / 2 ||w||^2 + 1/n sum_i max(0, 1 - <w, phi_i>).                                       (P)

With dual coefficients a_i in [0, 1], w = sum_i a_i phi_i / (lambda n), and the weights
alpha_i = a_i / sum_j a_j are those of the one-class machine with

    nu = 1/n sum_i a_i,        lambda = nu rho,

where rho is the offset of the one-class machine, the score of pairs whose weight is between its
bounds. The thesis says that this relation is not explicit; it is, once either machine is fitted.
From lambda = max_i <phi_i, sum_j phi_j / n> on, every pair has a_i = 1: that is nu = 1, the density
of Parzen. Penalties are shares of it, so that they mean the same for all kernels.
"""

from typing import NamedTuple

import numpy as np

from workflow_lib.core.convergence import warn_at_limit
from workflow_lib.papers.blaschko.joint_support import TOLERANCE

MAX_PASSES = 1024
"""Passes over the rows after which the gap is taken as it is, with a warning."""

BATCH = 64
"""Rows of a step: products of matrices instead of vectors, and still many steps in a pass."""


def fit_mirrored_support(J: np.ndarray, penalty: float) -> tuple[np.ndarray, float]:
    """Return the weights alpha (n,) of the pairs, of sum 1, and nu, for a penalty lambda above 0.

    By the dual of libsvm for the 2 n pairs and copies, each at half the cost 1 / (lambda n). `J`
    (n, n) is the Gram matrix of the pairs.

    Examples
    --------
    >>> J = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> alpha, nu = fit_mirrored_support(J, 0.2)
    >>> alpha.round(3), round(nu, 3)
    (array([0.256, 0.256, 0.487]), 0.41)
    """
    from sklearn.svm import SVC

    n = len(J)
    machine = SVC(C=0.5 / (penalty * n), kernel="precomputed", tol=TOLERANCE)
    machine.fit(np.block([[J, -J], [-J, J]]), np.repeat([1, -1], n))
    signed = np.zeros(2 * n)
    signed[machine.support_] = machine.dual_coef_[0]
    coefficients = penalty * n * (signed[:n] - signed[n:])
    return coefficients / coefficients.sum(), float(coefficients.mean())


class StochasticSupport(NamedTuple):
    """A binary machine of products of features, fitted by stochastic subgradients."""

    weights: np.ndarray
    """W (p, q): the score of a pair is z' W e, with the features of its input and its output."""

    objective: float
    """The value of (P)."""

    gap: float
    """Duality gap, at least the distance of the objective from the least one."""

    n_passes: int
    """Passes over the rows."""


def largest_penalty(inputs: np.ndarray, outputs: np.ndarray) -> float:
    """Return the penalty from which on all pairs have the same weight.

    `inputs` (n, p) and `outputs` (n, q) are features of those of the pairs.
    """
    mean = inputs.T @ outputs / len(inputs)
    return float(((inputs @ mean) * outputs).sum(axis=1).max())


def fit_stochastic_support(
    inputs: np.ndarray,
    outputs: np.ndarray,
    penalty: float,
    generator: np.random.Generator,
    tolerance: float = 0.01,
    max_passes: int = MAX_PASSES,
) -> StochasticSupport:
    """Return the binary machine of the pairs, by stochastic subgradients (section 3.1.5).

    The joint features are the products of those of the input and the output, z e', which are never
    formed: a step costs the rows of its batch times p q. Step t is 1 / (lambda t) (Shalev-Shwartz,
    Singer & Srebro 2007), and the iterates are averaged with weights t (Lacoste-Julien, Schmidt &
    Bach 2012). After whole passes the last iterate is a dual solution too, whose a_i is the share
    of the passes in which row i violated its margin, so that

        1/n sum_i a_i - lambda / 2 ||w||^2

    bounds the least value of (P) from below. The search stops at a duality gap of `tolerance`, as a
    share of the objective, which is looked at after 1, 2, 4, 8, ... passes; a ConvergenceWarning
    tells that it was not reached.

    `inputs` (n, p) and `outputs` (n, q) are features of those of the pairs, `penalty` is lambda,
    above 0, and the `generator` gives the order of the rows in each pass.
    """
    n, n_seen, n_violated, total = len(inputs), 0, 0, 0.0
    last = np.zeros((inputs.shape[1], outputs.shape[1]))
    mean = last.copy()
    for n_passes in range(1, max_passes + 1):
        for rows in np.split(generator.permutation(n), range(BATCH, n, BATCH)):
            z, e = inputs[rows], outputs[rows]
            violated = ((z @ last) * e).sum(axis=1) < 1.0
            # A shorter batch is a shorter step, so that all rows count the same.
            last *= n_seen / (n_seen + len(rows))
            n_seen += len(rows)
            n_violated += int(violated.sum())
            last += z[violated].T @ e[violated] / (penalty * n_seen)
            total += n_seen * len(rows)
            mean += n_seen * len(rows) / total * (last - mean)
        if n_passes & (n_passes - 1) and n_passes != max_passes:
            continue
        hinges = np.maximum(1.0 - ((inputs @ mean) * outputs).sum(axis=1), 0.0)
        objective = 0.5 * penalty * float((mean**2).sum()) + float(hinges.mean())
        share = n_violated / n_seen
        gap = objective - (share - 0.5 * penalty * float((last**2).sum()))
        if gap <= tolerance * objective:
            break
    else:
        limit = f"{max_passes} passes"
        warn_at_limit(
            f"support of {n} pairs with the penalty {penalty:.3g}",
            gap / objective,
            tolerance,
            limit,
        )
    return StochasticSupport(mean, objective, gap, n_passes)
