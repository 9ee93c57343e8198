"""The scaled forward-backward recursion of hidden Markov models, for all sequences at once.

With initial probabilities pi, transitions A = (a_ij) and b_i(x) = p(x | state i), one step forward
and one backward are

    f_t(j)     = b_j(x_t) sum_i alpha_{t-1}(i) a_ij,    f_1(j) = pi_j b_j(x_1)
    c_t        = sum_j f_t(j) = p(x_t | x_1..x_{t-1}),  alpha_t = f_t / c_t = p(s_t | x_1..x_t)
    u_{t+1}(j) = b_j(x_{t+1}) beta_{t+1}(j) / c_{t+1},  beta_t = A u_{t+1},    beta_K = 1

from which log p(x) = sum_t log c_t, gamma_t = alpha_t beta_t = p(s_t | x), and
xi_t(i, j) = alpha_t(i) a_ij u_{t+1}(j) = p(s_t = i, s_{t+1} = j | x) (Rabiner 1989, section V.A,
but for the scaling, which here makes alpha a probability). Nothing underflows, because every step
is normalised, and b may be taken in any unit a step, whose logarithm is added to log p(x).

Arrays are (M, S, Q): models, states, and positions as in `workflow_lib.papers.perina.sequences`.
The last axis is the long one, because numpy works along it.
"""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np

from workflow_lib.papers.perina.sequences import Layout

# Below this p(x_t | x_1..x_{t-1}) is zero: the sequence is impossible under the model.
IMPOSSIBLE = 1e-300


class Likelihoods(Protocol):
    """The likelihoods b_i(x) of every position, in units of their own a position."""

    def at(self, location: slice) -> np.ndarray:
        """Return b (M, S, n) of these positions."""

    @property
    def log_units(self) -> np.ndarray | None:
        """Logarithms (M, Q) of the units; None where all are one."""


class Expectations(NamedTuple):
    """Expected counts of M models, each summed over its sequences."""

    initial: np.ndarray
    """(M, S) sum of gamma_1."""

    transitions: np.ndarray
    """(M, S, S) sum of xi over steps and sequences."""

    states: np.ndarray
    """(M, S, Q) gamma of every position; of no meaning at positions without a value."""

    log_likelihoods: np.ndarray
    """(M,) log p of all sequences of a model."""


def filtered(
    initial: np.ndarray, transitions: np.ndarray, likelihoods: Likelihoods, layout: Layout
) -> tuple[np.ndarray, np.ndarray]:
    """Return alpha_t (M, S, Q), zero at positions without a sequence, and c_t (M, Q) in units of
    the likelihoods. Rows of `transitions` (M, S, S) are the states that are left.
    """
    shape = (*initial.shape, layout.size)
    states, scales = np.zeros(shape), np.ones((len(initial), layout.size))
    transposed = np.ascontiguousarray(transitions.swapaxes(1, 2))
    for step, n in enumerate(layout.active):
        index = layout.at(step)
        now = states[:, :, index]
        if step == 0:
            now[...] = initial[:, :, None]
        else:
            np.matmul(transposed, states[:, :, layout.at(step - 1, n)], out=now)
        now *= likelihoods.at(index)
        scale = now.sum(axis=1)
        np.maximum(scale, IMPOSSIBLE, out=scale)
        scales[:, index] = scale
        now /= scale[:, None]
    return states, scales


def steps_back(
    transitions: np.ndarray, likelihoods: Likelihoods, layout: Layout, scales: np.ndarray
) -> Iterator[tuple[int, np.ndarray | None, np.ndarray]]:
    """Yield each step t of the way back, the last first.

    With it come u_{t+1} (M, S, n) of the n sequences with a step t + 1, None at the last step of
    all, and beta_t (M, S, m) of the m sequences with a step t. These hold until the next step.
    """
    n_models, n_states = transitions.shape[:2]
    backward = np.ones((n_models, n_states, layout.active[-1]))
    for step in range(len(layout.active) - 1, -1, -1):
        following = None
        if step + 1 < len(layout.active):
            index = layout.at(step + 1)
            following = likelihoods.at(index) * backward
            following /= scales[:, None, index]
            n, n_next = layout.active[step], layout.active[step + 1]
            if n == n_next:
                backward = np.matmul(transitions, following)
            else:
                backward = np.ones((n_models, n_states, n))
                np.matmul(transitions, following, out=backward[:, :, :n_next])
        yield step, following, backward


def log_scales(scales: np.ndarray, likelihoods: Likelihoods) -> np.ndarray:
    """Return log p(x_t | x_1..x_{t-1}) (M, Q) of every position."""
    logs = np.log(scales)
    logs[scales <= IMPOSSIBLE] = -np.inf
    if likelihoods.log_units is not None:
        logs += likelihoods.log_units
    return logs


def log_likelihoods(
    initial: np.ndarray, transitions: np.ndarray, likelihoods: Likelihoods, layout: Layout
) -> np.ndarray:
    """Return log p (M, n) of every sequence, in the order of the layout."""
    _, scales = filtered(initial, transitions, likelihoods, layout)
    return sum_over_steps(log_scales(scales, likelihoods), layout)


def sum_over_steps(values: np.ndarray, layout: Layout) -> np.ndarray:
    """Return the sums (..., n) of values (..., Q) over the steps of every sequence."""
    sums = values[..., layout.at(0)].copy()
    for step, n in enumerate(layout.active[1:], start=1):
        sums[..., :n] += values[..., layout.at(step)]
    return sums


def expected_counts(
    initial: np.ndarray, transitions: np.ndarray, likelihoods: Likelihoods, layout: Layout
) -> Expectations:
    """Return the expected counts of all models: the E-step.

    Sequences of a model that are continued without a value count nothing.
    """
    states, scales = filtered(initial, transitions, likelihoods, layout)
    outer = np.zeros_like(transitions)
    for step, following, backward in steps_back(transitions, likelihoods, layout, scales):
        index = layout.at(step)
        now = states[:, :, index]
        if following is not None:
            n = following.shape[2]
            _leave_out(following, layout.own[step + 1])
            outer += np.matmul(now[:, :, :n], following.swapaxes(1, 2))
        now *= backward
    first = states[:, :, layout.at(0)]
    _leave_out(first, layout.own[0])
    return Expectations(
        first.sum(axis=2), outer * transitions, states, log_scales(scales, likelihoods).sum(axis=1)
    )


def _leave_out(values: np.ndarray, own: np.ndarray) -> None:
    """Set the columns of values (M, S, n) beyond those of each model to zero."""
    n, fewest = values.shape[2], int(own.min())
    if fewest < n:
        values[:, :, fewest:] *= (np.arange(fewest, n) < own[:, None])[:, None]
