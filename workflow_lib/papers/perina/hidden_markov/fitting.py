"""EM of hidden Markov models, many models and starts in one recursion.

The pseudo-counts of the prior are added to the expected counts in the M-step, which maximises

    sum log p(x) + prior (sum_i log pi_i + sum_ij log a_ij + sum_iv log b_iv),

the log posterior under Dirichlet priors with the parameter 1 + prior, less its constant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from workflow_lib.papers.perina.hidden_markov.categorical import dirichlet_log_prior, normalised
from workflow_lib.papers.perina.hidden_markov.recursion import Likelihoods, expected_counts
from workflow_lib.papers.perina.sequences import Layout, Sequences, arrange

# Numbers of one array of a recursion, at most: sequences beyond follow in blocks.
BLOCK_NUMBERS = 2**22

# Models that have converged stay in the recursion until so many of the others are left: to leave
# them out, all values are put in order anew.
REARRANGED_BELOW = 0.8


class Emissions(Protocol):
    """How states emit what is observed. Parameters are tuples of arrays with a leading axis M."""

    names: tuple[str, ...]
    """The model's attributes that hold the parameters."""

    def read(self, sequences) -> Sequences:
        """Return what a user gave as a batch."""

    def observe(self, sequences: Sequences, layout: Layout):
        """Return the observations by position."""

    def likelihoods(self, parameters, observed) -> Likelihoods:
        """Return the likelihoods of every position."""

    def log_likelihoods(self, parameters, observed) -> np.ndarray:
        """Return log b (M, S, Q); zero at positions without a value."""

    def start(self, sequences: Sequences, subset, n_states: int, n_init: int, generator) -> tuple:
        """Return random parameters of `n_init` starts."""

    def statistics(self, states: np.ndarray, observed) -> np.ndarray:
        """Return the expected statistics (M, S, m), from gamma (M, S, Q)."""

    def maximise(self, statistics: np.ndarray, previous, floors: np.ndarray) -> tuple:
        """Return the parameters of the M-step; `floors` (M,) are those of `floor`."""

    def floor(self, sequences: Sequences, subset) -> float:
        """Return what limits the parameters of a model of these sequences."""

    def log_prior(self, parameters) -> np.ndarray:
        """Return the log prior (M,), less its constant."""


class Parameters(NamedTuple):
    """The parameters of M models."""

    initial: np.ndarray
    """(M, S)"""

    transitions: np.ndarray
    """(M, S, S)"""

    emission: tuple
    """Arrays (M, S, ...), as the kind of emissions says."""

    def of(self, models) -> Parameters:
        """Return the parameters of some models."""
        return Parameters(
            self.initial[models],
            self.transitions[models],
            tuple(array[models] for array in self.emission),
        )


class Fit(NamedTuple):
    """The end of EM from one start."""

    parameters: Parameters
    """Of this start alone (M = 1)."""

    objectives: list[float]
    """Log-likelihood plus log prior in nats: of the start, and after every iteration."""

    log_prior: float


def expectation_maximisation(
    start: Parameters,
    emissions: Emissions,
    sequences: Sequences,
    subsets: Sequence[np.ndarray],
    prior: float,
    max_iter: int,
    tol: float,
    counts_of: Callable = expected_counts,
) -> list[Fit]:
    """Return the end of EM of every model, all in one recursion.

    `start` are the parameters of M models, `subsets` the training sequences of each. A model ends
    when an iteration raises its objective by less than `tol` times the objective's absolute value.
    `counts_of` is how the states are expected, a function like `recursion.expected_counts`.
    """
    running = list(range(len(subsets)))
    ends: list = [None] * len(subsets)
    histories: list[list[float]] = [[] for _ in subsets]
    floors = np.array([emissions.floor(sequences, subset) for subset in subsets])
    parameters, blocks = start, arranged(emissions, sequences, subsets, start.initial.shape[1])
    for iteration in range(max_iter + 1):
        counts = expectation(parameters, emissions, blocks, counts_of)
        log_priors = log_prior(parameters, emissions, prior)
        objectives = counts.log_likelihoods + log_priors
        left = []
        for index, (model, objective) in enumerate(zip(running, objectives.tolist())):
            if ends[model] is not None:
                continue
            history = histories[model]
            history.append(objective)
            if iteration == max_iter or (
                iteration > 0 and history[-1] - history[-2] < tol * abs(objective)
            ):
                ends[model] = Fit(parameters.of([index]), history, float(log_priors[index]))
            else:
                left.append(index)
        if not left:
            break
        parameters = maximisation(counts, parameters, emissions, prior, floors[running])
        if len(left) < REARRANGED_BELOW * len(running):
            running = [running[index] for index in left]
            parameters = parameters.of(left)
            own = [subsets[model] for model in running]
            blocks = arranged(emissions, sequences, own, parameters.initial.shape[1])
    return ends


class Counts(NamedTuple):
    """The expected counts of an E-step."""

    initial: np.ndarray
    transitions: np.ndarray
    emission: np.ndarray
    log_likelihoods: np.ndarray


def arranged(
    emissions: Emissions, sequences: Sequences, subsets: Sequence[np.ndarray], n_states: int
) -> list[tuple[Layout, object]]:
    """Return the sequences of all models in blocks, the longest first, and their observations."""
    by_length = [
        subset[np.argsort(-sequences.lengths[subset], kind="stable")] for subset in subsets
    ]
    width, begin, blocks = max(map(len, subsets)), 0, []
    while begin < width:
        longest = max(int(sequences.lengths[own[begin]]) for own in by_length if len(own) > begin)
        size = max(1, BLOCK_NUMBERS // (longest * len(subsets) * n_states))
        layout = arrange(sequences, [own[begin : begin + size] for own in by_length])
        blocks.append((layout, emissions.observe(sequences, layout)))
        begin += size
    return blocks


def expectation(
    parameters: Parameters, emissions: Emissions, blocks: Sequence[tuple], counts_of: Callable
) -> Counts:
    """Return the expected counts of every model: the E-step."""
    total = None
    for layout, observed in blocks:
        likelihoods = emissions.likelihoods(parameters.emission, observed)
        found = counts_of(parameters.initial, parameters.transitions, likelihoods, layout)
        counts = Counts(
            found.initial,
            found.transitions,
            emissions.statistics(found.states, observed),
            found.log_likelihoods,
        )
        total = counts if total is None else Counts(*(a + b for a, b in zip(total, counts)))
    return total


def maximisation(
    counts: Counts, previous: Parameters, emissions: Emissions, prior: float, floors: np.ndarray
) -> Parameters:
    """Return the parameters at the maximum of the expected log joint plus log prior: the M-step.

    Probabilities without any count keep those of `previous`.
    """
    return Parameters(
        normalised(counts.initial + prior, previous.initial),
        normalised(counts.transitions + prior, previous.transitions),
        emissions.maximise(counts.emission, previous.emission, floors),
    )


def log_prior(parameters: Parameters, emissions: Emissions, prior: float) -> np.ndarray:
    """Return the log prior (M,), less its constant."""
    return (
        dirichlet_log_prior(parameters.initial, prior)
        + dirichlet_log_prior(parameters.transitions, prior)
        + emissions.log_prior(parameters.emission)
    )
