"""Probability product kernels between models of sequences.

    k(p, q) = sum over all x = x_1..x_T of p(x)^rho q(x)^rho

for models p and q of letters (Jebara, Kondor & Howard 2004, eq. 1). With rho = 1 it is the
expected likelihood of one model under the other, with rho = 1/2 Bhattacharyya's affinity. The sum
over all sequences of a length T is a recursion over the steps.

Hidden Markov models (their sect. 5.2): with Phi_ik = sum_v b_i(v) b'_k(v),

    V_1(i, k) = pi_i pi'_k Phi_ik,    V_{t+1}(j, l) = Phi_jl sum_ik a_ij V_t(i, k) a'_kl,

and k = sum_ik V_T(i, k), for rho = 1 alone: a power of a sum over paths is no sum over paths.
Markov chains have no hidden states, and any rho.

Parameters are those of many models, with a leading axis; results are logarithms.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def hidden_markov_products(
    left: Sequence[np.ndarray], right: Sequence[np.ndarray], length: int, paired: bool = False
) -> np.ndarray:
    """Return log k (n, m) of n hidden Markov models with m others, with rho = 1.

    Of both, `left` and `right`, there are initial probabilities (M, S), transitions (M, S, S) and
    emissions (M, S, V); sequences of `length` T steps are summed over. Where they are `paired`, it
    is log k (n, 1) of each model with that at its place in `right` alone.
    """
    initial, transitions, emissions = (_rows(each) for each in left)
    initial_of_others, transitions_of_others, emissions_of_others = (
        _rows(each) if paired else _columns(each) for each in right
    )
    overlaps = (emissions[:, None] * emissions_of_others[None]).sum(axis=2)
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
    left: Sequence[np.ndarray],
    right: Sequence[np.ndarray],
    length: int,
    rho: float,
    paired: bool = False,
) -> np.ndarray:
    """Return log k (n, m) of n Markov chains with m others, as `hidden_markov_products`.

    The chains have the probabilities (M, V^K) of the first K letters, of which the first varies
    slowest, and those (M, V^K, V) of a letter after each K letters.

    Raises ValueError if `length` is less than the order K.
    """
    n_contexts, n_symbols = left[1].shape[1:]
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


def _rows(array: np.ndarray) -> np.ndarray:
    """Return an array (n, ...) of models as (..., n, 1)."""
    return np.moveaxis(array, 0, -1)[..., None]


def _columns(array: np.ndarray) -> np.ndarray:
    """Return an array (m, ...) of models as (..., 1, m)."""
    return np.moveaxis(array, 0, -1)[..., None, :]
