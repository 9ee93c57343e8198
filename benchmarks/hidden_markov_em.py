"""EM of hidden Markov models: ours and hmmlearn's.

Both sides make the same iterations of maximum likelihood from the same start, on sequences drawn
from a model of that kind; their log-likelihoods must be equal. hmmlearn takes one sequence after
the other, with ``implementation="scaling"``, which is about seven times as fast as its default.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.measuring import Measurement, at_least, compared, where_installed

if TYPE_CHECKING:
    from workflow_lib.papers.perina.hidden_markov.model import HiddenMarkovModel

TITLE = "EM for hidden Markov models"

# Number of sequences, shortest and longest length, and how many times as long hmmlearn may take.
SIZES = [(500, 8, 8, 15), (2000, 60, 60, 4), (1000, 5, 300, 2)]
SIZES += [(n, length, length, 1) for length in (8, 60, 300) for n in (10, 100)]
STATES = 4
LETTERS = 4
NUMBERS = 2
ITERATIONS = 5
EQUAL = 1e-8


def measurements(quick: bool) -> list[Measurement]:
    """Return what is measured: every size with letters and with vectors."""
    names = ("n", "shortest", "longest", "gain")
    wanted = [
        Measurement("iterations", {"emission": emission} | dict(zip(names, size)))
        for size in (SIZES[:1] if quick else SIZES)
        for emission in ("categorical", "gaussian")
    ]
    return where_installed("hmmlearn", wanted)


def random_model(emission: str, n_states: int = STATES, seed: int = 0) -> HiddenMarkovModel:
    """Return a model with random parameters."""
    from workflow_lib.papers.perina.hidden_markov.model import HiddenMarkovModel

    random = np.random.default_rng(seed)
    model = HiddenMarkovModel(n_states, emission, n_init=1, prior=0.0)
    model.initial_ = random.dirichlet(np.ones(n_states))
    model.transitions_ = random.dirichlet(np.ones(n_states), size=n_states)
    if emission == "categorical":
        model.emissions_ = random.dirichlet(np.ones(LETTERS), size=n_states)
    else:
        model.means_ = 2.0 * random.standard_normal((n_states, NUMBERS))
        model.variances_ = random.uniform(0.5, 1.5, (n_states, NUMBERS))
    return model


def drawn(model: HiddenMarkovModel, n: int, shortest: int, longest: int, seed: int = 1) -> list:
    """Return `n` sequences drawn from a model, of lengths drawn evenly."""
    random = np.random.default_rng(seed)
    states = np.empty((n, longest), dtype=int)
    states[:, 0] = random.choice(len(model.initial_), size=n, p=model.initial_)
    for step in range(1, longest):
        reached = model.transitions_.cumsum(axis=1)[states[:, step - 1]]
        states[:, step] = (random.random((n, 1)) > reached[:, :-1]).sum(axis=1)
    if model.emission == "categorical":
        reached = model.emissions_.cumsum(axis=1)[states]
        values = (random.random((n, longest, 1)) > reached[:, :, :-1]).sum(axis=2)
    else:
        noise = random.standard_normal((n, longest, NUMBERS))
        values = model.means_[states] + np.sqrt(model.variances_)[states] * noise
    lengths = random.integers(shortest, longest + 1, size=n)
    return [row[:length] for row, length in zip(values, lengths)]


def own_likelihoods(model: HiddenMarkovModel, sequences: list, iterations: int) -> list[float]:
    """Return the log-likelihood before every iteration of EM from a model, by ours."""
    from workflow_lib.papers.perina.hidden_markov.fitting import expectation_maximisation
    from workflow_lib.papers.perina.hidden_markov.hmmlearn import faster_counts

    emissions = model.observation_model()
    emissions.variance_floor = 1e-12
    batch = emissions.read(sequences)
    (fit,) = expectation_maximisation(
        model.parameters(),
        emissions,
        batch,
        [np.arange(len(sequences))],
        prior=0.0,
        # The last expectation says what the last iteration reached; the peer makes none.
        max_iter=iterations - 1,
        tol=-1.0,
        counts_of=faster_counts,
    )
    return fit.objectives


def peer_likelihoods(model: HiddenMarkovModel, sequences: list, iterations: int) -> list[float]:
    """Return the same by hmmlearn."""
    from hmmlearn.hmm import CategoricalHMM, GaussianHMM

    logging.getLogger("hmmlearn").setLevel(logging.CRITICAL)
    settings = {
        "implementation": "scaling",
        "n_iter": iterations,
        "tol": -np.inf,
        "init_params": "",
    }
    n_states = len(model.initial_)
    if model.emission == "categorical":
        peer = CategoricalHMM(n_states, n_features=LETTERS, **settings)
        peer.emissionprob_ = model.emissions_
    else:
        peer = GaussianHMM(n_states, min_covar=0.0, covars_prior=0.0, covars_weight=0.0, **settings)
        peer.n_features = NUMBERS
        peer.means_, peer.covars_ = model.means_, model.variances_
    peer.startprob_, peer.transmat_ = model.initial_, model.transitions_
    lengths = [len(sequence) for sequence in sequences]
    peer.fit(np.concatenate(sequences).reshape(sum(lengths), -1), lengths)
    return list(peer.monitor_.history)


def largest_difference(ours: list[float], theirs: list[float]) -> float:
    """Return the largest relative difference of two courses of the log-likelihood.

    hmmlearn keeps the last two values only.
    """
    theirs = np.array(theirs)
    return float(np.abs(np.array(ours[-len(theirs) :]) / theirs - 1.0).max())


def iterations(
    emission: str, n: int, shortest: int, longest: int, gain: int
) -> list[dict[str, str]]:
    """Time a few EM iterations of `n` sequences, ours and hmmlearn's."""
    sequences = drawn(random_model(emission), n, shortest, longest)
    start = random_model(emission, seed=2)
    for side in (own_likelihoods, peer_likelihoods):
        side(start, sequences[:3], ITERATIONS)
    what = in_words(emission, shortest, longest)
    own, peer = f"EM iteration, {what}", f"EM iteration by hmmlearn, {what}"
    return compared(
        n,
        STATES,
        {
            own: lambda: own_likelihoods(start, sequences, ITERATIONS),
            peer: lambda: peer_likelihoods(start, sequences, ITERATIONS),
        },
        at_least(gain, EQUAL),
        agreement=largest_difference,
        work={own: 1.0 / ITERATIONS, peer: 1.0 / ITERATIONS},
        note="n is sequences, p is states; putting the sequences in order is included",
    )


def in_words(emission: str, shortest: int, longest: int) -> str:
    """Return what the sequences are."""
    lengths = str(longest) if shortest == longest else f"{shortest} to {longest}"
    what = "letters" if emission == "categorical" else f"vectors of {NUMBERS}"
    return f"{what}, length {lengths}"
