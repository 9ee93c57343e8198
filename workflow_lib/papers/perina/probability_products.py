"""Probability product kernels between models of sequences.

    k(p, q) = sum over all x = x_1..x_T of p(x)^rho q(x)^rho

for models p and q (an integral, for vectors x_k; Jebara, Kondor & Howard 2004, eq. 1). With
rho = 1 it is the expected likelihood of one model under the other, with rho = 1/2 Bhattacharyya's
affinity. The sum over all sequences of a length T is a recursion over the steps.

Hidden Markov models (their sect. 5.2): with Phi_ik = sum_v b_i(v)^rho b'_k(v)^rho,

    V_1(i, k) = pi_i pi'_k Phi_ik,    V_{t+1}(j, l) = Phi_jl sum_ik a_ij V_t(i, k) a'_kl,

and k = sum_ik V_T(i, k), for rho = 1: a power of a sum over paths is no sum over paths, so that
another rho needs models of one state. Markov chains have no hidden states, and any rho.

Parameters are those of many models, with a leading axis; results are logarithms.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from workflow_lib.papers.perina.hidden_markov.fitting import Parameters


class MarkovChains(NamedTuple):
    """Markov chains of V letters: each of them depends on the K letters before it."""

    initial: np.ndarray
    """(M, V^K) probabilities of the first K letters, the first letter varies slowest."""

    transitions: np.ndarray
    """(M, V^K, V) probabilities of a letter after each K letters."""


def hidden_markov_products(
    left: Parameters, right: Parameters, length: int, rho: float = 1.0, paired: bool = False
) -> np.ndarray:
    """Return log k (n, m) of n hidden Markov models with m others.

    Raises ValueError if `rho` is not one and a model has several states.

    Parameters
    ----------
    left, right : Parameters
        Of letters, or of vectors: the emissions are (M, S, V), or means and variances (M, S, d).
    length : int
        Steps T of the sequences that are summed over.
    rho : float, default=1.0
    paired : bool, default=False
        Return log k (n, 1) of each model with that at its place in `right` alone.
    """
    if rho != 1.0 and max(left.initial.shape[1], right.initial.shape[1]) > 1:
        raise ValueError(f"rho={rho} needs models of one state; with more of them rho must be 1.")
    # A single state has an initial and a transition probability of one, in any power.
    initial, transitions, *emission = (_rows(each) for each in _arrays(left))
    others = (_rows(each) if paired else _columns(each) for each in _arrays(right))
    initial_of_others, transitions_of_others, *emission_of_others = others
    overlaps_of = _letter_overlaps if len(emission) == 1 else _gaussian_overlaps
    overlaps = overlaps_of(emission, emission_of_others, rho)
    values, log_product = initial[:, None] * initial_of_others[None] * overlaps, 0.0
    for step in range(length):
        if step > 0:
            values = (values[:, :, None] * transitions_of_others[None]).sum(axis=1)
            values = (transitions[:, :, None] * values[:, None]).sum(axis=0) * overlaps
        total = values.sum(axis=(0, 1))
        log_product = log_product + np.log(total)
        values = values / total
    return log_product


def markov_products(
    left: MarkovChains, right: MarkovChains, length: int, rho: float = 1.0, paired: bool = False
) -> np.ndarray:
    """Return log k (n, m) of n Markov chains with m others, as `hidden_markov_products`.

    Raises ValueError if `length` is less than the order.
    """
    n_contexts, n_symbols = left.transitions.shape[1:]
    order = round(np.log(n_contexts) / np.log(n_symbols))
    if length < order:
        raise ValueError(f"length={length} is less than the order {order} of the chains.")
    initial, transitions = (_rows(each**rho) for each in left)
    others = (each**rho for each in right)
    initial_of_others, transitions_of_others = (
        _rows(each) if paired else _columns(each) for each in others
    )
    values, log_product = initial * initial_of_others, 0.0
    for step in range(order, length + 1):
        if step > order:
            # The first letter of a context is summed over; the next letter becomes its last one.
            by_letter = [
                (values * transitions[:, letter] * transitions_of_others[:, letter])
                .reshape(n_symbols, -1, *values.shape[1:])
                .sum(axis=0)
                for letter in range(n_symbols)
            ]
            values = np.stack(by_letter, axis=1).reshape(values.shape)
        total = values.sum(axis=0)
        log_product = log_product + np.log(total)
        values = values / total
    return log_product


def _arrays(parameters: Parameters) -> tuple[np.ndarray, ...]:
    return (parameters.initial, parameters.transitions, *parameters.emission)


def _rows(array: np.ndarray) -> np.ndarray:
    """Return an array (n, ...) of models as (..., n, 1)."""
    return np.moveaxis(array, 0, -1)[..., None]


def _columns(array: np.ndarray) -> np.ndarray:
    """Return an array (m, ...) of models as (..., 1, m)."""
    return np.moveaxis(array, 0, -1)[..., None, :]


def _letter_overlaps(left, right, rho: float) -> np.ndarray:
    """Return Phi (S, S', n, m) of tables b (S, V, ...)."""
    (table,), (other) = (each**rho for each in left), right[0] ** rho
    return (table[:, None] * other[None]).sum(axis=2)


def _gaussian_overlaps(left, right, rho: float) -> np.ndarray:
    """Return Phi (S, S', n, m) of means and variances (S, d, ...), in closed form.

    For each of the d numbers the integral of N(x; m, v)^rho N(x; m', v')^rho is
    (2 pi)^(1/2 - rho) rho^(-1/2) (v v')^((1 - rho) / 2) (v + v')^(-1/2)
    exp(-rho (m - m')^2 / (2 (v + v'))).
    """
    (mean, variance), (other_mean, other_variance) = left, right
    variance, other_variance = variance[:, None], other_variance[None]
    total = variance + other_variance
    logs = (0.5 - rho) * np.log(2.0 * np.pi) - 0.5 * np.log(rho * total)
    logs = logs + 0.5 * (1.0 - rho) * np.log(variance * other_variance)
    logs = logs - 0.5 * rho * (mean[:, None] - other_mean[None]) ** 2 / total
    return np.exp(logs.sum(axis=2))
