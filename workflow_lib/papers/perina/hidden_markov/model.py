"""Hidden Markov models of sequences of letters or of vectors, fitted to many sequences at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from workflow_lib.core.array_arguments import as_items, check_ignored
from workflow_lib.core.parameters import ParameterMixin, check_parameters, checks, random_generator
from workflow_lib.papers.perina.hidden_markov import hmmlearn, recursion
from workflow_lib.papers.perina.hidden_markov.categorical import CategoricalEmissions
from workflow_lib.papers.perina.hidden_markov.fitting import (
    BLOCK_NUMBERS,
    Fit,
    Parameters,
    expectation_maximisation,
)
from workflow_lib.papers.perina.hidden_markov.gaussian import GaussianEmissions
from workflow_lib.papers.perina.hidden_markov.posterior import exact_posterior
from workflow_lib.papers.perina.sequences import Sequences, arrange, blocks_by_length

EMISSIONS = ("categorical", "gaussian")
ENGINES = {
    "auto": hmmlearn.faster_counts,
    "batched": recursion.expected_counts,
    "hmmlearn": hmmlearn.expected_counts,
}

# Objectives that differ by less, relative to their size, are equal but for rounding.
EQUAL = 1e-10

# Numbers of a step of models that are fitted together: with more, the arithmetic outweighs the
# calls, and nothing is gained (1.0 times at 500 sequences of length 60, 2 times at 100).
TOGETHER_NUMBERS = 2**15


class Posteriors(NamedTuple):
    """What is known of the hidden states of each sequence x of K steps."""

    gamma: list
    """Arrays (K, S): p(s_k = i | x)."""

    xi: list
    """Arrays (K - 1, S, S): p(s_k = i, s_{k+1} = j | x)."""


class HiddenMarkovModel(ParameterMixin):
    """A hidden Markov model with S states, fitted to sequences of any lengths by EM.

        p(x) = sum over s_1..s_K of pi_{s_1} prod_k a_{s_k s_{k+1}} prod_k p(x_k | s_k)

    with p(x_k = v | s_k = i) = b_iv for letters, and N(x_k; mu_i, diag(sigma_i^2)) for vectors.

    The objective is the log-likelihood plus prior (sum log pi + sum log a + sum log b): Dirichlet
    priors with parameter 1 + prior, so that `prior` is the pseudo-count that the M-step adds to
    every expected count (MAP). ``prior=0`` is maximum likelihood.

    The states have no order: relabelled ones are the same model.

    Parameters
    ----------
    n_states : int, default=4
        Number of states S.
    emission : {"categorical", "gaussian"}, default="categorical"
        Letters or vectors.
    n_symbols : int or None, default=None
        Number of letters V; None: one more than the largest letter of fit.
    prior : float, default=0.5
        Pseudo-count of every probability. Zero lets letters and transitions that were not seen in
        training become impossible.
    variance_floor : float, default=0.05
        Smallest variance of vectors, as a fraction of the mean variance over their numbers, as for
        `GaussianMixtureModel`.
    n_init : int, default=3
        Number of random starts; the highest objective is kept. Letters: probabilities drawn near
        the frequencies of the letters. Vectors: clusters of all steps by k-means.
    random_state : int, Generator, RandomState or None, default=0
    max_iter : int, default=200
        Most EM iterations of a start.
    tol : float, default=1e-6
        EM stops when an iteration raises the objective by less than this fraction of its absolute
        value.
    engine : {"auto", "batched", "hmmlearn"}, default="auto"
        How `fit` expects the states. ``batched``: all sequences at once. ``hmmlearn``: the
        compiled recursion of that package, one sequence after the other: faster for fewer than
        about 100 sequences of hundreds of steps. ``auto``: the faster of both, by the numbers of
        sequences, steps and states; results differ by rounding.

    Attributes
    ----------
    initial_ : array (S,)
        pi. All parameters may be assigned instead of fitted.
    transitions_ : array (S, S)
        a_ij, from state i to j: rows sum to one.
    emissions_ : array (S, V)
        b_iv; of letters only.
    means_, variances_ : array (S, d)
        mu and sigma^2; of vectors only.
    log_likelihoods_ : array
        The objective (nats) of the best start before and after every EM iteration. It never falls.
    log_prior_ : float
        The log prior of the fitted parameters: ``log_likelihoods_[-1] - log_prior_`` is the sum of
        ``score_samples`` of the training sequences.
    """

    allowed: ClassVar = checks(
        whole="n_states n_init max_iter",
        whole_or_none="n_symbols",
        not_negative="prior tol",
        positive="variance_floor",
        seed="random_state",
        emission=EMISSIONS,
        engine=tuple(ENGINES),
    )
    input_tags: ClassVar = {"two_d_array": False}
    score_terms = "hidden_markov"

    def __init__(
        self,
        n_states: int = 4,
        emission: str = "categorical",
        n_symbols: int | None = None,
        prior: float = 0.5,
        variance_floor: float = 0.05,
        n_init: int = 3,
        random_state=0,
        max_iter: int = 200,
        tol: float = 1e-6,
        engine: str = "auto",
    ) -> None:
        self.n_states = n_states
        self.emission = emission
        self.n_symbols = n_symbols
        self.prior = prior
        self.variance_floor = variance_floor
        self.n_init = n_init
        self.random_state = random_state
        self.max_iter = max_iter
        self.tol = tol
        self.engine = engine

    def fit(self, sequences, y=None) -> HiddenMarkovModel:
        """Fit to sequences by EM from `n_init` starts, all in one recursion; `y` is ignored.

        Sequences are items of a list: there are no lengths as in hmmlearn.

        Raises ValueError if there is no sequence, one is empty or not finite, a letter is out of
        range, numbers per step differ, all are a single column, or a parameter is out of range.

        Parameters
        ----------
        sequences : list of integer arrays (K_i,), or of arrays (K_i, d)
            Letters from 0, with -1 (or a mask) for an unknown one, which every state emits with
            probability one; or vectors.
        """
        check_ignored(y, len(as_items(sequences, "Sequences")), self)
        if isinstance(sequences, np.ndarray) and sequences.shape[1:] == (1,):
            raise ValueError(
                f"The column {sequences.shape} may be one sequence, or many of one step. Pass "
                "[x[:, 0]] for one, or list(x) for many."
            )
        fit_models([self], sequences)
        return self

    def score_samples(self, sequences) -> np.ndarray:
        """Return log p(x) of every sequence, in nats: an array (n,).

        It is -inf for a sequence that is impossible, which takes a probability of zero.

        Raises ValueError as `fit`.
        """
        parameters, emissions = self.parameters(), self.observation_model()
        batch = emissions.read(sequences)
        found = np.empty(len(batch.lengths))
        for subset in blocks_by_length(batch, BLOCK_NUMBERS, self.n_states_):
            layout = arrange(batch, [subset])
            likelihoods = emissions.likelihoods(
                parameters.emission, emissions.observe(batch, layout)
            )
            found[layout.order[0]] = recursion.log_likelihoods(
                parameters.initial, parameters.transitions, likelihoods, layout
            )[0]
        return found

    def posteriors(self, sequences) -> Posteriors:
        """Return the posterior probabilities of the states, and of pairs of neighbours.

        For sequences of K_i steps: ``gamma``, a list of arrays (K_i, S), whose rows sum to one, and
        ``xi``, a list of arrays (K_i - 1, S, S), each of which sums to one. Those of an impossible
        sequence are zero.

        Raises ValueError as `fit`.
        """
        parameters, emissions = self.parameters(), self.observation_model()
        batch = emissions.read(sequences)
        gamma, xi = ([None] * len(batch.lengths) for _ in range(2))
        for subset in blocks_by_length(batch, BLOCK_NUMBERS, self.n_states_**2):
            layout = arrange(batch, [subset], padded=True)
            found = exact_posterior(parameters, emissions, emissions.observe(batch, layout), layout)
            states, pairs = np.moveaxis(found.gamma, 0, 1), np.moveaxis(found.pairs(), 2, 0)
            for position, index in enumerate(layout.order[0].tolist()):
                length = batch.lengths[index]
                gamma[index] = states[:length, :, position].copy()
                xi[index] = pairs[: length - 1, :, :, position].copy()
        return Posteriors(gamma, xi)

    @property
    def n_states_(self) -> int:
        """Number of states of the parameters."""
        return len(self.initial_)

    def observation_model(self):
        """Return how the states emit (`fitting.Emissions`), from the parameters."""
        self._check_is_fitted()
        if self.emission == "categorical":
            return CategoricalEmissions(np.shape(self.emissions_)[1], self.prior)
        means = np.asarray(self.means_, dtype=np.float64)
        return GaussianEmissions(means.shape[1], self.variance_floor, means.mean(axis=0))

    def parameters(self) -> Parameters:
        """Return the parameters with a leading axis of one model."""
        names = self.observation_model().names
        arrays = [
            np.asarray(getattr(self, name), dtype=np.float64)[None]
            for name in ("initial_", "transitions_", *names)
        ]
        return Parameters(arrays[0], arrays[1], tuple(arrays[2:]))

    def _new_emissions(self):
        if self.emission == "categorical":
            return CategoricalEmissions(self.n_symbols, self.prior)
        return GaussianEmissions(None, self.variance_floor)


def fit_models(
    models: Sequence[HiddenMarkovModel], sequences, subsets: Sequence[np.ndarray] | None = None
) -> list[HiddenMarkovModel]:
    """Fit several models to sequences of their own, in as few recursions as possible; return them.

    The result is that of ``model.fit`` on the sequences of each subset, to rounding. The models of
    all folds, classes and starts of a small data set take a fraction of the time of as many fits,
    because what a small recursion costs is its calls, not its arithmetic. Models may differ in
    `n_states`, `n_init` and `random_state`; `subsets` are the indices of the training sequences of
    each, None: all.

    Raises ValueError as `HiddenMarkovModel.fit`, or if a subset is empty or the models differ in
    something else.
    """
    for model in models:
        check_parameters(model)
    shared = ("emission", "n_symbols", "prior", "variance_floor", "max_iter", "tol", "engine")
    first = models[0]
    for name in shared:
        if any(getattr(model, name) != getattr(first, name) for model in models):
            raise ValueError(f"Models that are fitted together must have one {name}.")
    emissions = first._new_emissions()
    batch = emissions.read(sequences)
    if subsets is None:
        subsets = [np.arange(len(batch.lengths))] * len(models)
    subsets = [np.asarray(subset) for subset in subsets]
    if len(subsets) != len(models):
        raise ValueError(f"{len(subsets)} subsets for {len(models)} models.")
    for index, subset in enumerate(subsets):
        if not len(subset):
            raise ValueError(f"The subset of model {index} is empty.")
    for together in _groups(models, subsets, batch):
        _fit_group(
            [models[index] for index in together],
            emissions,
            batch,
            [subsets[index] for index in together],
        )
    return list(models)


def _groups(models, subsets, batch: Sequences) -> list[list[int]]:
    """Return the indices of models that go into one recursion: of one number of states."""
    most = min(TOGETHER_NUMBERS, BLOCK_NUMBERS // int(batch.lengths.max()))
    groups: list[list[int]] = []
    sizes: list[int] = []
    for index in sorted(range(len(models)), key=lambda index: models[index].n_states):
        model = models[index]
        size = model.n_states * model.n_init * len(subsets[index])
        if groups and models[groups[-1][0]].n_states == model.n_states and sizes[-1] + size <= most:
            groups[-1].append(index)
            sizes[-1] += size
        else:
            groups.append([index])
            sizes.append(size)
    return groups


def _fit_group(models, emissions, batch: Sequences, subsets) -> None:
    """Fit models with equal numbers of states from all their starts in one recursion."""
    # A single state has one optimum; more starts would find it again.
    n_starts = [model.n_init if model.n_states > 1 else 1 for model in models]
    starts = [
        _starting_parameters(
            model.n_states, count, emissions, batch, subset, random_generator(model.random_state)
        )
        for model, count, subset in zip(models, n_starts, subsets)
    ]
    start = Parameters(
        np.concatenate([each.initial for each in starts]),
        np.concatenate([each.transitions for each in starts]),
        tuple(map(np.concatenate, zip(*(each.emission for each in starts)))),
    )
    first = models[0]
    of_starts = [subset for subset, count in zip(subsets, n_starts) for _ in range(count)]
    fits = expectation_maximisation(
        start,
        emissions,
        batch,
        of_starts,
        first.prior,
        first.max_iter,
        first.tol,
        ENGINES[first.engine],
    )
    for model, end, count in zip(models, np.cumsum(n_starts).tolist(), n_starts):
        best = _best(fits[end - count : end])
        names = ("initial_", "transitions_", *emissions.names)
        parameters = best.parameters
        for name, array in zip(
            names, (parameters.initial, parameters.transitions, *parameters.emission)
        ):
            setattr(model, name, array[0])
        model.log_likelihoods_ = np.array(best.objectives)
        model.log_prior_ = best.log_prior


def _best(fits: list[Fit]) -> Fit:
    """Return the fit with the highest objective."""
    best = fits[0]
    for fit in fits[1:]:
        # Of starts that reach the same optimum the first is kept: rounding decides nothing.
        if fit.objectives[-1] > best.objectives[-1] + EQUAL * abs(best.objectives[-1]):
            best = fit
    return best


def _starting_parameters(n_states, n_init, emissions, batch, subset, generator) -> Parameters:
    """Return equal initial probabilities, random transitions, and the emissions' own start."""
    transitions = generator.exponential(size=(n_init, n_states, n_states))
    return Parameters(
        np.full((n_init, n_states), 1.0 / n_states),
        transitions / transitions.sum(axis=2, keepdims=True),
        emissions.start(batch, subset, n_states, n_init, generator),
    )
