"""Fisher vectors of bags as a layer: the vectors, and their gradients in parameters and rows.

With the responsibilities q_k(x) of component k of a diagonal mixture, of weights
w = softmax(alpha), means mu and deviations sigma, and with the means S0 = q, S1 = q x and
S2 = q x^2 over a bag, the Fisher vector (Sanchez, Perronnin, Mensink & Verbeek 2013, eq. (16) to
(18)) has the blocks

- alpha: (S0 - w) / sqrt(w), C numbers,
- mu: (S1 - mu S0) / (sigma sqrt(w)), C d numbers,
- sigma: (S2 - 2 mu S1 + (mu^2 - sigma^2) S0) / (sigma^2 sqrt(2 w)), C d numbers.

The last two are those of `workflow_lib.inputs.fisher_vectors`, which describes many bags under
a mixture that stays. Here the mixture is trained: a gradient in the vectors becomes one in alpha,
mu and sigma, directly and through the responsibilities (Palasek & Patras 2017, section 4), and
where asked one in the rows, by which layers before this one are trained.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from workflow_lib.models.exponentials import exp_in_place
from workflow_lib.models.mixtures.mixture_gradient import (
    Coordinates,
    expected_gradient,
    expected_log_joint,
    softmax,
)

MIN_ROOT = 1e-6
"""Roots below have the derivative of this one: that of the root is infinite at 0."""


class Pass(NamedTuple):
    """What `forward` computed, for `backward`.

    `powers` (N, 2 d) are the rows of all bags, and their squares, `bounds` (n + 1,) where each bag
    begins and ends, and `sums` S0 (n, C), S1 and S2 (n, C, d) of each bag, by the `posterior`
    (N, C). `raw` (n, p) are the Fisher vectors, `rooted` (n, p) their signed roots (or the vectors
    again), and `lengths` (n, 1) those by which they are divided (or ones).
    """

    powers: np.ndarray
    bounds: np.ndarray
    posterior: np.ndarray
    sums: tuple[np.ndarray, np.ndarray, np.ndarray]
    raw: np.ndarray
    rooted: np.ndarray
    lengths: np.ndarray

    @property
    def vectors(self) -> np.ndarray:
        """The result (n, C + 2 C d) of the layer."""
        return self.rooted / self.lengths


def powers_of(rows: np.ndarray) -> np.ndarray:
    """Return rows (N, d) and their squares, (N, 2 d): all that a mixture sees of them."""
    n_rows, dimension = rows.shape
    powers = np.empty((n_rows, 2 * dimension))
    powers[:, :dimension] = rows
    np.square(rows, out=powers[:, dimension:])
    return powers


def posterior_of(powers: np.ndarray, coordinates: Coordinates) -> np.ndarray:
    """Return the responsibilities (N, C) of rows, from their powers."""
    alpha, means, deviations = coordinates
    precisions = deviations**-2.0
    joint = powers @ np.hstack([means * precisions, -0.5 * precisions]).T
    joint += alpha - np.log(deviations).sum(axis=1) - 0.5 * (means**2 * precisions).sum(axis=1)
    joint -= joint.max(axis=1, keepdims=True)
    exp_in_place(joint)
    joint /= joint.sum(axis=1, keepdims=True)
    return joint


def forward(
    bags: Sequence[np.ndarray], coordinates: Coordinates, root: bool = True, length: bool = True
) -> Pass:
    """Return the Fisher vectors of n bags (m_i, d), and what their gradients need.

    Bags are near zero, so that squares cancel no digits, and none is empty. With `root` signed
    square roots are taken, and with `length` vectors are then scaled to unit length ("improved":
    Perronnin, Sanchez & Mensink 2010).
    """
    powers = powers_of(np.concatenate(bags))
    bounds = np.cumsum([0, *map(len, bags)])
    posterior = posterior_of(powers, coordinates)
    sums = _means_of_bags(powers, posterior, bounds)
    raw = _scores(sums, coordinates)
    rooted = np.sign(raw) * np.sqrt(np.abs(raw)) if root else raw
    lengths = np.ones((len(bags), 1))
    if length:
        norms = np.linalg.norm(rooted, axis=1, keepdims=True)
        lengths = np.where(norms > 0, norms, 1.0)
    return Pass(powers, bounds, posterior, sums, raw, rooted, lengths)


def backward(
    passed: Pass,
    coordinates: Coordinates,
    gradients: np.ndarray,
    root: bool = True,
    length: bool = True,
    of_rows: bool = False,
) -> dict[str, np.ndarray]:
    """Return the gradient in alpha, the means and the deviations of a function of the vectors.

    `passed` is of `forward` with the same settings, and `gradients` (n, C + 2 C d) are those of the
    function in each vector. With `of_rows` that in the rows of all bags (N, d) too, ``rows``. For
    row x of a bag of m rows, with the gradients A, B and C of the function in S0, S1 and S2 of the
    bag and g_k = A_k + B_k x + C_k x^2, it is

        1/m sum_k q_k (B_k + 2 C_k x + (g_k - sum_l q_l g_l) (mu_k - x) / sigma_k^2).
    """
    if length:
        vectors = passed.vectors
        along = (gradients * vectors).sum(axis=1, keepdims=True)
        gradients = (gradients - along * vectors) / passed.lengths
    if root:
        gradients = gradients / (2.0 * np.maximum(np.abs(passed.rooted), MIN_ROOT))
    alpha, means, deviations = coordinates
    weights = softmax(alpha)
    n_components, dimension = means.shape
    by_alpha = gradients[:, :n_components]
    by_means, by_deviations = (
        gradients[:, n_components:]
        .reshape(len(gradients), 2, n_components, dimension)
        .swapaxes(0, 1)
    )
    counts, first, second = passed.sums
    scale = 1.0 / np.sqrt(weights)[:, None]
    of_means = by_means * (scale / deviations)
    of_deviations = by_deviations * (scale / (np.sqrt(2.0) * deviations**2))
    # The vectors depend on the parameters beside the sums over the bag,
    shares = (gradients * passed.raw)[:, n_components:].reshape(len(gradients), 2, *means.shape)
    products = (by_alpha * passed.raw[:, :n_components]).sum(axis=0) + shares.sum(axis=(0, 1, 3))
    in_weights = -by_alpha.sum(axis=0) / np.sqrt(weights) - 0.5 * products / weights
    in_alpha = weights * (in_weights - weights @ in_weights)
    in_means = (2.0 * of_deviations * (means * counts[..., None] - first)).sum(axis=0)
    in_means -= (of_means * counts[..., None]).sum(axis=0)
    squares = second - 2.0 * means * first + means**2 * counts[..., None]
    in_deviations = -(shares[:, 0].sum(axis=0) + 2.0 * (of_deviations * squares).sum(axis=0))
    in_deviations /= deviations
    # and through the responsibilities, of which the sums are means.
    in_counts = by_alpha / np.sqrt(weights) + (
        of_deviations * (means**2 - deviations**2) - of_means * means
    ).sum(axis=2)
    in_first = of_means - 2.0 * of_deviations * means
    in_sums = np.concatenate([in_first, of_deviations], axis=2)
    sizes = np.diff(passed.bounds)
    in_posterior = np.empty_like(passed.posterior)
    for bag, (start, stop) in enumerate(zip(passed.bounds[:-1], passed.bounds[1:])):
        out = in_posterior[start:stop]
        np.matmul(passed.powers[start:stop], in_sums[bag].T, out=out)
        out += in_counts[bag]
        out /= sizes[bag]
    weighted = in_posterior * passed.posterior
    weighted -= passed.posterior * weighted.sum(axis=1, keepdims=True)
    totals = np.split(weighted.T @ passed.powers, 2, axis=1)
    through = expected_gradient(weighted.sum(axis=0), *totals, coordinates)
    found = {
        "alpha": in_alpha + through["alpha"],
        "means": in_means + through["means"],
        "deviations": in_deviations + through["deviations"],
    }
    if of_rows:
        found["rows"] = _in_rows(passed, in_sums, weighted, coordinates)
    return found


def mean_sums(powers: np.ndarray, posterior: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the means (C,), (C, d) and (C, d) of q, q x and q x^2 over all rows."""
    return posterior.mean(axis=0), *np.split(posterior.T @ powers / len(powers), 2, axis=1)


def bound(sums: Sequence[np.ndarray], posterior: np.ndarray, coordinates: Coordinates) -> float:
    """Return F, the mean over rows of E log p(x, z) + H(q), for the sums of a posterior (N, C).

    It is the mean log-likelihood where the posterior is that of the same parameters.
    """
    logarithms = np.log(np.maximum(posterior, np.finfo(np.float64).tiny))
    entropy = -float((posterior * logarithms).sum()) / len(posterior)
    return expected_log_joint(*sums, coordinates) + entropy


def _in_rows(passed: Pass, in_sums, weighted, coordinates: Coordinates) -> np.ndarray:
    """Return the gradient in the rows (N, d): directly, and through their responsibilities."""
    _, means, deviations = coordinates
    precisions = deviations**-2.0
    rows = passed.powers[:, : means.shape[1]]
    found = weighted @ (means * precisions) - rows * (weighted @ precisions)
    for bag, (start, stop) in enumerate(zip(passed.bounds[:-1], passed.bounds[1:])):
        first, second = np.split(passed.posterior[start:stop] @ in_sums[bag], 2, axis=1)
        found[start:stop] += (first + 2.0 * rows[start:stop] * second) / (stop - start)
    return found


def _means_of_bags(powers, posterior, bounds):
    sizes = np.diff(bounds).astype(np.float64)
    counts = np.add.reduceat(posterior, bounds[:-1], axis=0) / sizes[:, None]
    totals = np.empty((len(sizes), posterior.shape[1], powers.shape[1]))
    for bag, (start, stop) in enumerate(zip(bounds[:-1], bounds[1:])):
        np.matmul(posterior[start:stop].T, powers[start:stop], out=totals[bag])
    totals /= sizes[:, None, None]
    return counts, *np.split(totals, 2, axis=2)


def _scores(sums, coordinates: Coordinates) -> np.ndarray:
    counts, first, second = sums
    alpha, means, deviations = coordinates
    weights = softmax(alpha)
    roots = np.sqrt(weights)
    n_bags, n_components = counts.shape
    out = np.empty((n_bags, n_components + 2 * means.size))
    out[:, :n_components] = (counts - weights) / roots
    scores = out[:, n_components:].reshape(n_bags, 2, *means.shape)
    counts = counts[..., None]
    scores[:, 0] = (first - means * counts) / (deviations * roots[:, None])
    squares = second - 2.0 * means * first + (means**2 - deviations**2) * counts
    scores[:, 1] = squares / (np.sqrt(2.0) * deviations**2 * roots[:, None])
    return out
