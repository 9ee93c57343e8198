"""The structured support vector machine by cutting planes, as in the thesis.

The problem of `workflow_lib.papers.blaschko.structured_machine`, with one slack for all rows
(Blaschko 2014, eqs. 5.16 to 5.18): a plane is a class y_i for each row, and says that the slack is
at least

    delta - <w, psi>,    delta = sum_i L_iy_i,    psi = sum_i r_iy_i (phi_i,own - phi_iy_i).

With the coefficients P (n, K) of psi two planes have the product tr(P' G Q B), and the scores of
all rows are G A B for the weighted sum A of the planes (eqs. 5.26 to 5.30): the most violated plane
costs the same in every iteration, whatever the number of planes. The kernelised SVMstruct sums over
all rows of all planes instead (Figure 5.9). The weights u of the planes maximise

    u'delta - 1/2 u'Qu,    u >= 0,    sum u <= C .
"""

import numpy as np

from workflow_lib.core.convergence import warn_at_limit
from workflow_lib.papers.blaschko.structured_machine import TOLERANCE, StructuredMachine

MAX_PLANES = 1000
"""Planes after which the fit ends in any case."""

SHARE_OF_GAP = 0.1
"""Gap of the problem of the weights, as a share of that at which the planes end."""


def fit_by_planes(
    K: np.ndarray,
    labels: np.ndarray,
    losses: np.ndarray,
    similarity: np.ndarray,
    cost: float,
    rescaling: str = "margin",
    tolerance: float = TOLERANCE,
    most_planes: int = MAX_PLANES,
) -> tuple[StructuredMachine, np.ndarray]:
    """Return the machine of training rows, and what its planes cost.

    Parameters are those of `fit_structured_machine`; passes are planes. The costs (T,) are the
    coefficients that are not zero in the planes with a weight, before each iteration: a sum over
    them has so many terms for each row and class. A ConvergenceWarning tells that the gap is above
    the tolerance after `most_planes`.
    """
    known = np.bincount(labels, minlength=len(losses)) > 0
    indices, rows = np.flatnonzero(known), np.arange(len(labels))
    own, B = np.searchsorted(indices, labels), similarity[np.ix_(indices, indices)]
    L = np.asarray(losses, dtype=float)[np.ix_(indices, indices)][own]
    factors = np.ones_like(L) if rescaling == "margin" else L
    A = np.zeros_like(L)
    planes, choices, deltas, terms = np.empty((0, *L.shape)), [], np.empty(0), []
    Q, u, squared = np.empty((0, 0)), np.empty(0), 0.0
    gap = objective = np.inf
    while True:
        terms.append(int(np.count_nonzero(planes[u > 0])))
        scores = K @ A @ B
        violations = L - factors * (scores[rows, own][:, None] - scores)
        worst = violations.argmax(axis=1)
        slack = violations[rows, worst].sum()
        # The objective of the iterates need not fall.
        if 0.5 * squared + cost * slack < objective:
            objective, best = 0.5 * squared + cost * slack, (A, u)
        gap = objective - (u @ deltas - 0.5 * squared)
        if gap <= tolerance * objective or len(u) == most_planes:
            break
        plane = np.zeros_like(L)
        plane[rows, own] += factors[rows, worst]
        plane[rows, worst] -= factors[rows, worst]
        products = np.einsum("tnk,nk->t", planes, K @ plane @ B)
        Q = np.block([[Q, products[:, None]], [products, np.vdot(plane, K @ plane @ B)]])
        planes = np.concatenate([planes, plane[None]])
        choices.append(worst)
        deltas = np.append(deltas, L[rows, worst].sum())
        u = plane_weights(Q, deltas, cost, np.append(u, 0.0), SHARE_OF_GAP * tolerance * objective)
        A, squared = np.tensordot(u, planes, 1), float(u @ Q @ u)
    relative = float(max(gap, 0.0) / objective) if objective > 0 else 0.0
    if relative > tolerance:
        warn_at_limit(f"planes of cost {cost:.3g}", relative, tolerance, f"{len(u)} planes")
    n_planes, (A, u) = len(u), best
    of_classes = np.zeros_like(L)
    of_classes[rows, own] = 1.0 - u.sum() / cost
    for weight, worst in zip(u / cost, choices):
        of_classes[rows, worst] += weight
    of_all = {name: np.zeros((len(K), len(losses))) for name in ("dual", "weights", "coefficients")}
    for name, array in zip(of_all, (A, of_classes, A @ B), strict=True):
        of_all[name][:, indices] = array
    machine = StructuredMachine(
        **of_all, known=known, gap=relative, objective=float(objective), passes=n_planes
    )
    return machine, np.array(terms)


def plane_weights(
    Q: np.ndarray, deltas: np.ndarray, cost: float, start: np.ndarray, gap: float
) -> np.ndarray:
    """Return the weights u (t,) of planes, to a gap of the dual problem.

    Weight moves from the plane with the smallest derivative to that with the largest, with exact
    steps; what is missing to C is the weight of a plane of zeros. `Q` (t, t) are the products of
    the planes; `start` (t,) are weights that sum to at most C.
    """
    u = np.append(start, cost - start.sum())
    Q = np.pad(Q, (0, 1))
    slopes = np.append(deltas, 0.0) - Q @ u
    diagonal = np.diagonal(Q)
    for _ in range(1_000_000):
        best = slopes.argmax()
        if cost * slopes[best] - u @ slopes <= gap:
            break
        worst = np.where(u > 0.0, slopes, np.inf).argmin()
        curvature = diagonal[best] + diagonal[worst] - 2.0 * Q[best, worst]
        gain = slopes[best] - slopes[worst]
        step = min(u[worst], gain / curvature) if curvature > 0 else u[worst]
        u[worst] = 0.0 if step == u[worst] else u[worst] - step
        u[best] += step
        slopes -= step * (Q[best] - Q[worst])
    return u[:-1]
