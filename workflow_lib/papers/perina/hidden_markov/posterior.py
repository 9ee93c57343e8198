"""Posterior distributions of the hidden states of many sequences, exact or by mean field.

Both have pairs that factorise, up to the weights w, into a part of each step:

    xi_t(i, j) = q(s_t = i, s_{t+1} = j) = w_ij l_t(i) r_{t+1}(j)

Exact: w = a, l = alpha, r = u of `workflow_lib.papers.perina.hidden_markov.recursion`. Mean field:
w = 1 and l = r = q, the distributions of the single steps. Sums over time of xi and of
xi log(xi / gamma) are therefore products of arrays with one axis of states: no array holds xi of
every step.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from workflow_lib.papers.perina.hidden_markov.fitting import Emissions, Parameters
from workflow_lib.papers.perina.hidden_markov.recursion import (
    filtered,
    log_scales,
    steps_back,
    sum_over_steps,
)
from workflow_lib.papers.perina.sequences import Layout

# Logarithm of a probability of zero in a mean field, which needs finite ones.
LOG_OF_ZERO = -690.0

# A sequence's mean field is found when a sweep lowers its free energy by less than this many nats
# a step.
TOLERANCE = 1e-6
MAX_SWEEPS = 200

# Sequences whose mean field is found stay in the arrays until so many of the others are left.
REARRANGED_BELOW = 0.5


class ChainPosterior(NamedTuple):
    """The posterior of N sequences of up to T steps; arrays are zero beyond the end of each."""

    gamma: np.ndarray
    """(S, T, N) q(s_t = i)."""

    left: np.ndarray
    """(S, T - 1, N) l_t."""

    right: np.ndarray
    """(S, T - 1, N) r_{t+1}; zero where a sequence has no step t + 1."""

    backward: np.ndarray | None
    """(S, T - 1, N) gamma_t / l_t, which is sum_j w_ij r_{t+1}(j); None: one."""

    weights: np.ndarray
    """(S, S) w."""

    log_evidence: np.ndarray
    """(N,) -F: log p(x) where the posterior is exact, else a lower bound of it."""

    def pair_sums(self) -> np.ndarray:
        """Return the sums (S, S, N) of xi over the steps."""
        return self.weights[:, :, None] * _products(self.left, self.right)

    def entropy_sums(self, pair_sums: np.ndarray) -> np.ndarray:
        """Return the sums (S, S, N) of xi log(xi / gamma) over the steps, given those of xi.

        log(xi_t(i, j) / gamma_t(i)) = log w_ij + log r_{t+1}(j) - log backward_t(i).
        """
        sums = _products(self.left, self.right * _log(self.right))
        if self.backward is not None:
            sums -= _products(self.left * _log(self.backward), self.right)
        sums *= self.weights[:, :, None]
        sums += _log(self.weights)[:, :, None] * pair_sums
        return sums

    def pairs(self) -> np.ndarray:
        """Return xi of every step, (S, S, T - 1, N)."""
        return self.weights[:, :, None, None] * (self.left[:, None] * self.right[None])

    def entropies(self) -> np.ndarray:
        """Return xi log(xi / gamma) of every step, (S, S, T - 1, N)."""
        logs = _log(self.weights)[:, :, None, None] + _log(self.right)[None]
        if self.backward is not None:
            logs = logs - _log(self.backward)[:, None]
        return logs * self.pairs()


def _products(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the sums (S, S, N) over steps of the products of all pairs of states."""
    return np.einsum("itn,jtn->ijn", left, right)


def _log(values: np.ndarray) -> np.ndarray:
    """Return logarithms, and zero for zero, for 0 log 0 is zero."""
    if values.all():
        return np.log(values)
    return np.log(values, out=np.zeros_like(values), where=values > 0)


def exact_posterior(
    parameters: Parameters, emissions: Emissions, observed, layout: Layout
) -> ChainPosterior:
    """Return the posterior of the sequences of one model by the forward-backward recursion.

    `observed` is what `emissions` observes in the layout, which is padded.
    """
    likelihoods = emissions.likelihoods(parameters.emission, observed)
    states, scales = filtered(parameters.initial, parameters.transitions, likelihoods, layout)
    n_steps, n = len(layout.active), layout.active[0]
    alpha = states[0].reshape(-1, n_steps, n)
    right = np.zeros_like(alpha[:, 1:])
    backward = np.ones_like(right)
    for step, following, beta in steps_back(parameters.transitions, likelihoods, layout, scales):
        if following is not None:
            right[:, step, : following.shape[2]] = following[0]
            backward[:, step, : beta.shape[2]] = beta[0]
    gamma = alpha.copy()
    gamma[:, :-1] *= backward
    log_evidence = sum_over_steps(log_scales(scales, likelihoods)[0], layout)
    return ChainPosterior(
        gamma, alpha[:, :-1], right, backward, parameters.transitions[0], log_evidence
    )


def mean_field_posterior(
    parameters: Parameters, emissions: Emissions, observed, layout: Layout
) -> ChainPosterior:
    """Return the posterior q(s) = prod_t q_t(s_t) of least free energy, by coordinate descent.

    F = sum_t sum_i q_t log q_t - sum_i q_1 log pi - sum_t sum_ij q_t(i) q_{t+1}(j) log a_ij
    - sum_t sum_i q_t log b is at least -log p(x). Given its neighbours its minimum in q_t is

        q_t(i) ~ b_i(x_t) exp(sum_j q_{t-1}(j) log a_ji + sum_j q_{t+1}(j) log a_ij),

    and the neighbours of an odd step are even: a sweep sets all steps 1, 3, .. at once, and then
    all steps 2, 4, ... Neither raises F. It starts from q_t(i) ~ b_i(x_t), and ends for each
    sequence by itself, so that its scores do not depend on the others.

    Parameters are those of `exact_posterior`.
    """
    q, courses = mean_field(parameters, emissions, observed, layout)
    weights = np.ones((len(q), len(q)))
    return ChainPosterior(q, q[:, :-1], q[:, 1:], None, weights, -courses[-1])


def mean_field(
    parameters: Parameters, emissions: Emissions, observed, layout: Layout
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return q (S, T, N), and F (N,) of all sequences after each sweep (`mean_field_posterior`).

    F of a sequence whose field is found is that of its last sweep.
    """
    n_steps, n = len(layout.active), layout.active[0]
    local = emissions.log_likelihoods(parameters.emission, observed)[0].reshape(-1, n_steps, n)
    local[np.isneginf(local)] = LOG_OF_ZERO
    local[:, 0] += _finite_log(parameters.initial[0])[:, None]
    present = np.arange(n) < layout.own
    field = _Field(local, present, _finite_log(parameters.transitions[0]))
    q, courses = np.zeros_like(local), [field.sweep()]
    running, ended = np.arange(n), np.zeros(n, dtype=bool)
    for sweep in range(1, MAX_SWEEPS):
        free_energies = courses[-1].copy()
        free_energies[running] = np.where(ended[running], free_energies[running], field.sweep())
        found = courses[-1] - free_energies < TOLERANCE * present.sum(axis=0)
        found = (found | (sweep == MAX_SWEEPS - 1)) & ~ended
        courses.append(free_energies)
        of_running = found[running]
        q[:, 0::2, found] = field.even[..., of_running]
        q[:, 1::2, found] = field.odd[..., of_running]
        ended |= found
        if ended.all():
            break
        kept = ~ended[running]
        if kept.sum() < REARRANGED_BELOW * len(running):
            running, field = running[kept], field.of(kept)
    return q, courses


class _Field:
    """The mean field of N sequences: q of the steps with even indices, and of the others."""

    def __init__(self, local: np.ndarray, present: np.ndarray, log_transitions: np.ndarray) -> None:
        self._local = [np.ascontiguousarray(local[:, parity::2]) for parity in (0, 1)]
        self._present = [present[parity::2] for parity in (0, 1)]
        self._log_transitions = log_transitions
        self.odd = np.zeros_like(self._local[1])
        # Of the even steps: sum_i q (log q - local), what F holds of them but for their pairs.
        self._even_energy = np.zeros(local.shape[2])
        self._update_even()

    def of(self, kept: np.ndarray) -> _Field:
        """Return the mean field of some of the sequences."""
        other = object.__new__(_Field)
        other._local = [np.ascontiguousarray(part[..., kept]) for part in self._local]
        other._present = [part[:, kept] for part in self._present]
        other._log_transitions = self._log_transitions
        other.even = np.ascontiguousarray(self.even[..., kept])
        other.odd = np.ascontiguousarray(self.odd[..., kept])
        other._even_energy = self._even_energy[kept]
        return other

    def sweep(self) -> np.ndarray:
        """Set q of the even steps and then of the others; return F (N,) of every sequence."""
        self._update_even()
        logits = self._local[1] + self._from_before(self.even[:, : self.odd.shape[1]])
        logits[:, : self.even.shape[1] - 1] += self._from_after(self.even[:, 1:])
        self.odd, log_norms = _normalised_exp(logits, self._present[1])
        # Every pair of steps holds one of the others, whose norms contain its energy.
        return self._even_energy - log_norms.sum(axis=0)

    def _update_even(self) -> None:
        logits = self._local[0].copy()
        logits[:, 1:] += self._from_before(self.odd[:, : logits.shape[1] - 1])
        logits[:, : self.odd.shape[1]] += self._from_after(self.odd)
        self.even, log_norms = _normalised_exp(logits, self._present[0])
        logits -= self._local[0]
        self._even_energy = np.einsum("itn,itn->n", self.even, logits) - log_norms.sum(axis=0)

    def _from_before(self, q: np.ndarray) -> np.ndarray:
        return _applied(self._log_transitions.T, q)

    def _from_after(self, q: np.ndarray) -> np.ndarray:
        return _applied(self._log_transitions, q)


def _applied(matrix: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the product of a matrix (S, S) with every step of values (S, T, N)."""
    return (matrix @ values.reshape(len(matrix), -1)).reshape(values.shape)


def _normalised_exp(logits: np.ndarray, present: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return exp(logits) over its sums over states, and their logarithms; zeros where absent."""
    highest = logits.max(axis=0) if logits.size else np.zeros(logits.shape[1:])
    relative = np.exp(logits - highest)
    total = relative.sum(axis=0)
    relative *= present / total
    return relative, (highest + np.log(total)) * present


def _finite_log(probabilities: np.ndarray) -> np.ndarray:
    return np.log(np.maximum(probabilities, np.exp(LOG_OF_ZERO)))
