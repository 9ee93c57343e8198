"""Score spaces of hidden Markov models.

The free energy of a sequence x of K steps under the posterior q, with gamma_k(i) = q(s_k = i) and
xi_k(i, j) = q(s_k = i, s_{k+1} = j), is the sum of five blocks of terms:

    initial_entropy      gamma_1(i) log gamma_1(i)                           S
    transition_entropy   sum_k xi_k(i, j) log(xi_k(i, j) / gamma_k(i))       S^2
    initial_energy       -gamma_1(i) log pi_i                                S
    transition_energy    -sum_k xi_k(i, j) log a_ij                          S^2
    emission_energy      -sum_k gamma_k(i) log b_i(x_k)                      S

F = -log p(x) for the exact posterior. Eq. (12) of the paper (Perina et al. 2009) prints xi log xi
in the second block; its terms miss -log p(x) by the entropies of the inner steps, which that counts
twice. Levels: `position` keeps the terms of every step k (sequences of equal length), `state` is
the table above, `symbol` splits the last block by letter (or by the numbers of a vector), `term`
sums each block. A column of the emission energy by letter is -log b_iv times an expected count: up
to its scale the Fisher score in b_iv.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from workflow_lib.inputs.score_spaces.base import ScoreTerms
from workflow_lib.papers.perina.hidden_markov.categorical import CategoricalEmissions
from workflow_lib.papers.perina.hidden_markov.gaussian import GaussianEmissions
from workflow_lib.papers.perina.hidden_markov.model import HiddenMarkovModel, fit_models
from workflow_lib.papers.perina.hidden_markov.posterior import (
    ChainPosterior,
    exact_posterior,
    mean_field_posterior,
)
from workflow_lib.papers.perina.hidden_markov_emissions import (
    LetterScores,
    VectorScores,
    probability_scores,
    times_log,
)
from workflow_lib.papers.perina.sequences import arrange, blocks_by_length

__all__ = ["Terms", "arguments_of", "fit_models", "from_arrays", "to_arrays"]

MODEL = "workflow_lib.papers.perina.hidden_markov.model.HiddenMarkovModel"
ITEMS = ("letters", "vectors")

EMISSION_SCORES = {"categorical": LetterScores, "gaussian": VectorScores}
EMISSION_NAMES = {"categorical": CategoricalEmissions.names, "gaussian": GaussianEmissions.names}
POSTERIOR_OF = {"exact": exact_posterior, "mean_field": mean_field_posterior}

# Numbers of an array with an axis of states, at most; sequences beyond follow in blocks.
BLOCK_NUMBERS = 2**18


class Part(NamedTuple):
    """The posterior of some of the sequences."""

    order: np.ndarray
    """(N,) index of each in what the user gave."""

    posterior: ChainPosterior
    observed: object


class Terms(ScoreTerms):
    """The terms of a fitted `HiddenMarkovModel`."""

    def __init__(self, model) -> None:
        super().__init__(model)
        self._parameters = model.parameters()
        self._emissions = model.observation_model()
        self._emission_scores = EMISSION_SCORES[model.emission](model)

    def lengths(self, X):
        """As `ScoreTerms.lengths`: steps."""
        return np.array([len(sequence) for sequence in X])

    def log_likelihoods(self, X, posterior):
        if posterior == "exact":
            return self.model.score_samples(X)
        return _collected(
            ({"": part.posterior.log_evidence}, part.order) for part in self._parts(X, posterior)
        )[""]

    def free_energy(self, X, level, posterior):
        if level == "position":
            return self._collected(X, posterior, self._free_energy_by_step, by_step=True)
        found = self._collected(X, posterior, self._free_energy)
        return _at_level(found, level, split="emission_energy")

    def expected_counts(self, X, level, posterior):
        """As `ScoreTerms.expected_counts`: gamma_1, xi, and those of the emissions.

        Levels above `symbol` hold the expected steps in each state (at `term`, K) instead of the
        counts of letters, or the sums of vectors.
        """
        if level == "position":
            return self._collected(X, posterior, _counts_by_step, by_step=True)
        found = self._collected(X, posterior, self._counts)
        if level != "symbol":
            found = {name: found[name] for name in ("initial", "transitions", "states")}
        elif "emissions" in found:
            del found["states"]
        return _at_level(found, level)

    def letter_pairs(self, X) -> np.ndarray:
        """Return the expected counts (N, S, S, V, V) of pairs of successive states and letters,

            sum_k xi_k(i, j) [x_k = v, x_{k+1} = w].

        Pairs with an unknown letter are not counted. The model must be one of letters.
        """
        return self._collected(X, "exact", self._letter_pairs)["pairs"]

    def fisher(self, X, parametrization, posterior):
        """As `ScoreTerms.fisher`: blocks `initial`, `transitions`, and those of the emissions.

        Probabilities as free numbers, or the logits of every distribution; means, and variances
        or (``softmax``) their logarithms.
        """

        def scores(part: Part) -> dict[str, np.ndarray]:
            initial, transitions, emission = self._statistics(part)
            model = self.model
            return {
                "initial": probability_scores(initial, model.initial_, parametrization),
                "transitions": probability_scores(transitions, model.transitions_, parametrization),
            } | self._emission_scores.scores(emission, parametrization)

        return self._collected(X, posterior, scores)

    def _statistics(self, part: Part) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return gamma_1 (N, S), the sums of xi (N, S, S), and the statistics of emissions."""
        posterior = part.posterior
        return (
            posterior.gamma[:, 0].T,
            np.moveaxis(posterior.pair_sums(), 2, 0),
            self._emission_scores.statistics(posterior.gamma, part.observed),
        )

    def _counts(self, part: Part) -> dict[str, np.ndarray]:
        initial, transitions, emission = self._statistics(part)
        states = part.posterior.gamma.sum(axis=1).T
        counts = {"initial": initial, "transitions": transitions, "states": states}
        return counts | self._emission_scores.counts(emission)

    def _letter_pairs(self, part: Part) -> dict[str, np.ndarray]:
        n_symbols = self._emission_scores.table.shape[1]
        n_states, n_steps, n = part.posterior.gamma.shape
        letters = part.observed.letters[0].reshape(n_steps, n)
        known = (letters[:-1] < n_symbols) & (letters[1:] < n_symbols)
        words = (np.arange(n) * n_symbols + letters[:-1]) * n_symbols + letters[1:]
        xi, n_words = part.posterior.pairs(), n * n_symbols**2
        found = np.empty((n, n_states, n_states, n_symbols, n_symbols))
        for i, j in np.ndindex(n_states, n_states):
            counts = np.bincount(words[known], weights=xi[i, j][known], minlength=n_words)
            found[:, i, j] = counts.reshape(n, n_symbols, n_symbols)
        return {"pairs": found}

    def _free_energy(self, part: Part) -> dict[str, np.ndarray]:
        initial, transitions, emission = self._statistics(part)
        entropies = part.posterior.entropy_sums(np.moveaxis(transitions, 0, 2))
        return {
            "initial_entropy": times_log(initial, initial),
            "transition_entropy": np.moveaxis(entropies, 2, 0),
            "initial_energy": -times_log(initial, self.model.initial_),
            "transition_energy": -times_log(transitions, self.model.transitions_),
            "emission_energy": self._emission_scores.energies(emission),
        }

    def _free_energy_by_step(self, part: Part) -> dict[str, np.ndarray]:
        posterior = part.posterior
        gamma = np.moveaxis(posterior.gamma, 2, 0).swapaxes(1, 2)
        pairs = np.moveaxis(posterior.pairs(), (2, 3), (1, 0))
        log_b = self._emissions.log_likelihoods(self._parameters.emission, part.observed)
        log_b = np.moveaxis(log_b[0].reshape(posterior.gamma.shape), 2, 0).swapaxes(1, 2)
        with np.errstate(invalid="ignore"):
            emission = np.where(gamma > 0, gamma * log_b, 0.0)
        return {
            "initial_entropy": times_log(gamma[:, 0], gamma[:, 0]),
            "transition_entropy": np.moveaxis(posterior.entropies(), (2, 3), (1, 0)),
            "initial_energy": -times_log(gamma[:, 0], self.model.initial_),
            "transition_energy": -times_log(pairs, self.model.transitions_),
            "emission_energy": -emission,
        }

    def _collected(self, X, posterior: str, blocks_of, by_step: bool = False):
        """Return the blocks of all sequences, in the order in which they were given."""
        parts = self._parts(X, posterior, by_step)
        return _collected((blocks_of(part), part.order) for part in parts)

    def _parts(self, X, posterior: str, by_step: bool = False) -> Iterator[Part]:
        batch = self._emissions.read(X)
        n_states = len(self._parameters.initial[0])
        shortest, longest = int(batch.lengths.min()), int(batch.lengths.max())
        if by_step and shortest < longest:
            raise ValueError(
                f"level='position' needs sequences of one length; there are lengths from "
                f"{shortest} to {longest}. Use level='state', which sums over steps and divides by "
                "the length."
            )
        per_step = n_states**2 if by_step else n_states
        for subset in blocks_by_length(batch, BLOCK_NUMBERS, per_step):
            layout = arrange(batch, [subset], padded=True)
            observed = self._emissions.observe(batch, layout)
            found = POSTERIOR_OF[posterior](self._parameters, self._emissions, observed, layout)
            if np.isneginf(found.log_evidence).any():
                index = int(layout.order[0][np.isneginf(found.log_evidence)].min())
                raise ValueError(
                    f"Sequence {index} is impossible under the model: it needs a probability that "
                    "is zero. Fit the model with a prior above zero."
                )
            yield Part(layout.order[0], found, observed)


def arguments_of(items: Mapping[str, Any]) -> dict[str, Any]:
    """Return the emission of the items, and the number of letters."""
    if items["kind"] == "letters":
        return {"emission": "categorical", "n_symbols": int(items["n_symbols"])}
    return {"emission": "gaussian"}


def to_arrays(model: HiddenMarkovModel) -> dict[str, np.ndarray]:
    """Return the parameters of a fitted model by the names of its attributes."""
    names = ("initial_", "transitions_", *model.observation_model().names)
    return {name: np.asarray(getattr(model, name)) for name in names}


def from_arrays(arrays: Mapping[str, Any]) -> HiddenMarkovModel:
    """Return the model of `to_arrays`."""
    emission = "categorical" if "emissions_" in arrays else "gaussian"
    model = HiddenMarkovModel(len(arrays["initial_"]), emission)
    if emission == "categorical":
        model.n_symbols = int(np.shape(arrays["emissions_"])[1])
    for name in ("initial_", "transitions_", *EMISSION_NAMES[emission]):
        setattr(model, name, arrays[name])
    return model


def _counts_by_step(part: Part) -> dict[str, np.ndarray]:
    gamma = np.moveaxis(part.posterior.gamma, 2, 0).swapaxes(1, 2)
    return {
        "initial": gamma[:, 0],
        "transitions": np.moveaxis(part.posterior.pairs(), (2, 3), (1, 0)),
        "states": gamma,
    }


def _collected(parts) -> dict[str, np.ndarray]:
    """Return blocks of parts of the sequences as those of all, in their order."""
    blocks, orders = zip(*parts)
    back = np.argsort(np.concatenate(orders))
    return {name: np.concatenate([each[name] for each in blocks])[back] for name in blocks[0]}


def _at_level(blocks: dict[str, np.ndarray], level: str, split: str = "") -> dict[str, np.ndarray]:
    """Return blocks of the finest level at another; `split` is the block that states do not."""
    if level == "term":
        return {name: block.reshape(len(block), -1).sum(axis=1) for name, block in blocks.items()}
    if level == "state" and split:
        return blocks | {split: blocks[split].sum(axis=2)}
    return blocks
