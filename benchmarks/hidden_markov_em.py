"""EM of hidden Markov models: ours and hmmlearn's, many small models at once, and score spaces.

Both sides make the same iterations of maximum likelihood from the same start, on sequences drawn
from a model of that kind; their log-likelihoods must be equal. hmmlearn takes one sequence after
the other, with ``implementation="scaling"``, which is about seven times as fast as its default.

Score spaces are compared with EM iterations of the same sequences. The many models are those of a
small data set: of every fold and class, from three starts each.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import clone

from benchmarks.measuring import (
    Measurement,
    at_least,
    at_most,
    interleaved,
    is_installed,
    row,
)

if TYPE_CHECKING:
    from workflow_lib.papers.perina.hidden_markov.model import HiddenMarkovModel

TITLE = "EM for hidden Markov models"

PEER = "hmmlearn"

# Number of sequences, shortest and longest length, and how many times as long hmmlearn may take.
SIZES = [(500, 8, 8, 15), (2000, 60, 60, 4), (1000, 5, 300, 2)]
STATES = 4
LETTERS = 4
NUMBERS = 2
ITERATIONS = 5
EQUAL = 1e-8

FOLDS = 10
CLASSES = 2
STARTS = 3
# As the promoters of the UCI repository: sequences and their length.
SMALL = (106, 57)
TOGETHER_GAIN = 3
SCORE_COST = 4
MAX_ITERATIONS = 50


def measurements(quick: bool) -> list[Measurement]:
    """Return what is measured: every size with letters and with vectors, and models together."""
    found = []
    if is_installed(PEER):
        for n, shortest, longest, gain in SIZES[:1] if quick else SIZES:
            size = {"n": n, "shortest": shortest, "longest": longest, "gain": gain}
            found += [
                Measurement("iterations", {"emission": emission} | size)
                for emission in ("categorical", "gaussian")
            ]
    else:
        print(f"{PEER} is not installed: left out")
    for n, shortest, longest, _ in SIZES[:1] if quick else SIZES:
        size = {"n": n, "shortest": shortest, "longest": longest}
        found += [
            Measurement("scores", {"emission": emission} | size)
            for emission in ("categorical", "gaussian")
        ]
    return [*found, Measurement("together", {"n": SMALL[0], "length": SMALL[1]})]


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
    tiny = sequences[:3]
    sides = {"ours": own_likelihoods, "peer": peer_likelihoods}
    for side in sides.values():
        side(start, tiny, ITERATIONS)
    timings = interleaved(
        {name: lambda side=side: side(start, sequences, ITERATIONS) for name, side in sides.items()}
    )
    what = in_words(emission, shortest, longest)
    each = 1.0 / ITERATIONS
    return [
        row(
            n,
            STATES,
            f"EM iteration, {what}",
            timings["ours"].scaled(each),
            f"EM iteration by hmmlearn, {what}",
            timings["peer"].scaled(each),
            at_least(gain, EQUAL),
            agreement=largest_difference(timings["ours"].result, timings["peer"].result),
            note="n is sequences, p is states; putting the sequences in order is included",
        )
    ]


def in_words(emission: str, shortest: int, longest: int) -> str:
    """Return what the sequences are."""
    lengths = str(longest) if shortest == longest else f"{shortest} to {longest}"
    what = "letters" if emission == "categorical" else f"vectors of {NUMBERS}"
    return f"{what}, length {lengths}"


def scores(emission: str, n: int, shortest: int, longest: int) -> list[dict[str, str]]:
    """Time the score spaces of `n` sequences, and an EM iteration."""
    from workflow_lib.papers.perina.score_space import ScoreSpace

    sequences = drawn(random_model(emission), n, shortest, longest)
    model = random_model(emission, seed=2)
    spaces = {
        "free energy by state": ScoreSpace(model),
        "free energy by symbol": ScoreSpace(model, level="symbol"),
        "Fisher scores": ScoreSpace(model, "fisher"),
        "free energy by state, mean field": ScoreSpace(model, posterior="mean_field"),
    }
    calls = {name: lambda space=space: space.transform(sequences) for name, space in spaces.items()}
    for space in spaces.values():
        space.transform(sequences[:3])
    timings = interleaved(
        {"iteration": lambda: own_likelihoods(model, sequences, ITERATIONS)} | calls
    )
    what = in_words(emission, shortest, longest)
    return [
        row(
            n,
            STATES,
            f"{name}, {what}",
            timings[name],
            f"EM iteration, {what}",
            timings["iteration"].scaled(1.0 / ITERATIONS),
            None if "mean field" in name else at_most(SCORE_COST),
            note="n is sequences, p is states; putting the sequences in order is included",
        )
        for name in spaces
    ]


def small_problem(n: int, length: int) -> tuple[list, list[np.ndarray]]:
    """Return sequences of two classes, and the training rows of every fold and class."""
    sequences = []
    for label in range(CLASSES):
        model = random_model("categorical", seed=label)
        sequences += drawn(model, n // CLASSES, length, length, seed=label)
    labels = np.repeat(np.arange(CLASSES), n // CLASSES)
    folds = np.random.default_rng(0).permutation(np.arange(len(labels)) % FOLDS)
    subsets = [
        np.flatnonzero((folds != fold) & (labels == label))
        for fold in range(FOLDS)
        for label in range(CLASSES)
    ]
    return sequences, subsets


def new_models(count: int) -> list[HiddenMarkovModel]:
    """Return models to be fitted, with one seed each."""
    from workflow_lib.papers.perina.hidden_markov.model import HiddenMarkovModel

    return [
        HiddenMarkovModel(
            STATES,
            n_symbols=LETTERS,
            n_init=STARTS,
            random_state=seed,
            max_iter=MAX_ITERATIONS,
        )
        for seed in range(count)
    ]


def fit_one_by_one(models, sequences, subsets) -> list[HiddenMarkovModel]:
    """Fit every start of every model by a recursion of its own, and keep the best."""
    found = []
    for model, subset in zip(models, subsets):
        own = [sequences[index] for index in subset]
        generator = np.random.default_rng(model.random_state)
        starts = [clone(model).set_params(n_init=1, random_state=generator) for _ in range(STARTS)]
        for start in starts:
            start.fit(own)
        found.append(max(starts, key=lambda start: start.log_likelihoods_[-1]))
    return found


def together(n: int, length: int) -> list[dict[str, str]]:
    """Time the models of all folds and classes of a small data set."""
    from workflow_lib.papers.perina.hidden_markov.model import fit_models

    sequences, subsets = small_problem(n, length)
    count = len(subsets)
    calls = {
        "together": lambda: fit_models(new_models(count), sequences, subsets),
        "alone": lambda: [
            model.fit([sequences[index] for index in subset])
            for model, subset in zip(new_models(count), subsets)
        ],
        "starts_alone": lambda: fit_one_by_one(new_models(count), sequences, subsets),
    }
    for model in new_models(1):
        model.fit(sequences[:3])
    timings = interleaved(calls)
    ends = {
        name: np.array([model.log_likelihoods_[-1] for model in timings[name].result])
        for name in ("together", "alone")
    }
    what = f"{FOLDS} folds, {CLASSES} classes, {STARTS} starts, length {length}"
    note = "n is sequences, p is states"
    return [
        row(
            n,
            STATES,
            f"all models in one recursion: {what}",
            timings["together"],
            "a recursion for every start",
            timings["starts_alone"],
            at_least(TOGETHER_GAIN),
            note=f"{note}; the starts of the two sides are drawn in another order",
        ),
        row(
            n,
            STATES,
            f"all models in one recursion: {what}",
            timings["together"],
            "a recursion for every model, of all its starts",
            timings["alone"],
            gain=True,
            agreement=float(np.abs(ends["together"] / ends["alone"] - 1.0).max()),
            note=note,
        ),
    ]
