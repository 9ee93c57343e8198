"""Kernel canonical correlation analysis of inputs and outputs, and regression on the projections.

Eq. (4.9) and, with graph Laplacians, (4.12) of Blaschko (2014): of the functions f of the inputs
and the directions w of the outputs Z (l, d), both centred over the l rows of which both are known,
those that maximise

    f_l' Z w / sqrt( (|f_l|^2 + r |f|^2) (|Z w|^2 + l w' R w) ),        r = 2 l lambda_0,

each uncorrelated with the ones before it in the products of the denominator. |f|^2 is the squared
norm in the space of the kernel, or with a Laplacian that of the deformed kernel of
`workflow_lib.solvers.laplacian`, which is |f|^2 + gamma f_a' L f_a over all inputs, paired or
not. The kernel of the outputs is linear, so that their penalty is a matrix,

    R = epsilon (I + gamma_y Y_a' L_y Y_a / m)

with the m outputs Y_a, paired or not, in the units of Z, and their Laplacian L_y.

For a given w the best f is, up to its length, the ridge regression of Z w. So with the smoother P
of kernel ridge regression, which gives its fitted values P Z, there remains the problem of d
columns

    Z' P Z w = rho^2 (Z' Z + l R) w,

and one output has the function of (Laplacian) ridge regression as its only direction. In the
eigenbasis of the centred Gram matrix K = Q diag(s) Q', with T = Q' Z,

    Z' P Z = T' diag(s / (s + r)) T,        W = T / (s + r) the coefficients of the regressions.

The functions are scaled to |f_l|^2 + r |f|^2 = 1. On the first k of them, with the values F (l, k)
at the training rows, the outputs are regressed with t times the penalty of the directions:

    B = (F' F + t (I - F' F))^-1 F' Z.

t = 0 is ordinary least squares. With t = 1 and as many directions as outputs B undoes the change of
basis, and the prediction is (Laplacian) kernel ridge regression of the outputs; with t = 1 and
epsilon = infinity it is that of reduced rank (`fitted_ranks` of
`workflow_lib.papers.blaschko.coupled_outputs`).
"""

from collections.abc import Iterator, Sequence

import numpy as np

from workflow_lib.papers.blaschko.coupled_outputs import Filter
from workflow_lib.papers.blaschko.pairwise_graphs import laplacian_of

NO_VARIANCE = 1e-10
"""Share of the largest eigenvalue under which one is rounding, so that its direction is left out:
of indicators of classes, which sum to one, or of outputs without any relation to the inputs."""


def output_roughness(outputs: np.ndarray, n_neighbours: int) -> np.ndarray:
    """Return Y_a' L_y Y_a / m (d, d) of outputs (m, d), none missing."""
    laplacian = laplacian_of(outputs @ outputs.T, n_neighbours)
    return outputs.T @ laplacian @ outputs / len(outputs)


def output_basis(
    Z: np.ndarray, penalty: float, roughness: np.ndarray | None = None, weight: float = 0.0
) -> np.ndarray:
    """Return N (d, q) with N' (Z' Z + l R) N = I, where q is the rank of Z.

    `Z` (l, d) are the centred outputs of the training rows. `penalty` is epsilon, at least 0;
    infinity maximises the covariance instead of the correlation, and N' R N / epsilon = I.
    `weight` is gamma_y, where it is not 0 of `roughness`, `output_roughness`.
    """
    smooth = np.eye(Z.shape[1])
    if weight > 0:
        smooth += weight * roughness
    if np.isinf(penalty):
        return _inverse_root(smooth)
    # In the span of the outputs, outside of which nothing is correlated with the inputs.
    scatter = Z.T @ Z
    values, vectors = np.linalg.eigh(scatter)
    span = vectors[:, values > NO_VARIANCE * max(values[-1], np.finfo(float).tiny)]
    return span @ _inverse_root(span.T @ (scatter + len(Z) * penalty * smooth) @ span)


def canonical_directions(
    s: np.ndarray, T: np.ndarray, ridge: float, basis: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the correlations rho (q,), decreasing, and A (d, q) with the functions W A.

    The functions have unit length in the products of the denominator. Correlations that are zero
    but for rounding are left out. `s` (m,) are the eigenvalues of the centred Gram matrix, `T`
    (m, d) the outputs in its eigenbasis, `ridge` is 2 l lambda_0, finite, and `basis` (d, q) from
    `output_basis`.
    """
    shrunk = np.sqrt(s / (s + ridge))[:, None] * (T @ basis)
    squares, vectors = np.linalg.eigh(shrunk.T @ shrunk)
    kept = squares > NO_VARIANCE * max(squares.max(initial=0.0), np.finfo(float).tiny)
    correlations = np.sqrt(squares[kept])[::-1]
    return correlations, basis @ vectors[:, kept][:, ::-1] / correlations


def projected_outputs(
    bases: Sequence[np.ndarray], directions: Sequence[int], shares: Sequence[float]
) -> Filter:
    """Return the filter of regression on the projections, a candidate for each combination.

    `bases` are from `output_basis`, one for each penalty of the outputs, and the slowest to change;
    `directions` are values of k, of which one above the number of directions is all of them, and
    `shares` values of t, from 0 to 1, the fastest to change.
    """

    def couple(s: np.ndarray, T: np.ndarray, ridge: float) -> Iterator[np.ndarray]:
        n_candidates = len(bases) * len(directions) * len(shares)
        if np.isinf(ridge):
            yield from [np.zeros_like(T)] * n_candidates
            return
        shrunk, W = (s / (s + ridge))[:, None] * T, T / (s + ridge)[:, None]
        for basis in bases:
            _, A = canonical_directions(s, T, ridge, basis)
            fitted = shrunk @ A
            products, cross = fitted.T @ fitted, fitted.T @ T
            for k in directions:
                for share in shares:
                    system = (1.0 - share) * products[:k, :k]
                    system[np.diag_indices(len(system))] += share
                    solved, *_ = np.linalg.lstsq(system, cross[:k], rcond=NO_VARIANCE)
                    yield W @ (A[:, :k] @ solved)

    return couple


def spectral_gain(
    s: np.ndarray, T: np.ndarray, T_permuted: np.ndarray, ridge: float, bases: Sequence[np.ndarray]
) -> list[float]:
    """Return how far the correlations are from those of permuted rows, for each basis.

    The Euclidean norm of their differences in decreasing order: the criterion of Hardoon,
    Szedmak & Shawe-Taylor (2004) by which the thesis chooses penalties. `T_permuted` are the
    outputs `T` in another order of the rows; the other arguments are of `canonical_directions`.
    """
    gains = []
    for basis in bases:
        found = np.zeros((2, basis.shape[1]))
        for row, rotated in zip(found, (T, T_permuted), strict=True):
            correlations, _ = canonical_directions(s, rotated, ridge, basis)
            row[: len(correlations)] = correlations
        gains.append(float(np.linalg.norm(found[0] - found[1])))
    return gains


def _inverse_root(matrix: np.ndarray) -> np.ndarray:
    """Return N with N' M N = I of a positive definite matrix."""
    values, vectors = np.linalg.eigh(matrix)
    return vectors / np.sqrt(values)
