"""EM of many series or sequences at once, beside pykalman and hmmlearn, which take one by one.

All fits make the same number of iterations from one start of their own. pykalman, which has no EM
for more than one series, is an engine of our model, and is timed on the first few series. hmmlearn
runs with ``implementation="scaling"``, which is about seven times as fast as its default.
"""

import logging

import numpy as np

from benchmarks.measuring import Measurement, at_least, compared
from workflow_lib import StateSpaceModel

# Series, steps, states and numbers per step.
SERIES = [(500, 5, 2, 1), (500, 10, 3, 2), (2000, 10, 3, 2), (1000, 10, 3, 5), (2000, 50, 4, 5)]
PYKALMAN_SERIES = 20
PYKALMAN_GAIN = 1000
# Number of sequences, shortest and longest length, and how many times as long hmmlearn may take.
SEQUENCES = [(500, 8, 8, 10), (2000, 60, 60, 4), (1000, 5, 300, 2)]
SEQUENCES += [(n, length, length, 1) for length in (8, 60, 300) for n in (10, 100)]
STATES, LETTERS, NUMBERS = 4, 4, 2
ITERATIONS = 20


def measurements(quick: bool) -> list[Measurement]:
    """Return what is measured: series of every size, and sequences of letters and of vectors."""
    names = {
        "series": ("n", "steps", "states", "numbers"),
        "sequences": ("n", "shortest", "longest", "gain", "emission"),
    }
    sizes = {
        "series": SERIES[1:3] if quick else SERIES,
        "sequences": [
            (*size, emission)
            for size in (SEQUENCES[:1] if quick else SEQUENCES)
            for emission in ("categorical", "gaussian")
        ],
    }
    return [Measurement(key, dict(zip(names[key], size))) for key in names for size in sizes[key]]


def series(n: int, steps: int, states: int, numbers: int) -> list[dict[str, str]]:
    """Time the fit of a state-space model to `n` series, ours and that by pykalman."""
    Z = np.random.default_rng(0).normal(size=(n, steps, numbers)).cumsum(axis=1)

    def fit(Z, engine):
        return StateSpaceModel(states, ITERATIONS, 1, tol=-np.inf, engine=engine).fit(Z)

    own = f"EM, state-space model, T={steps}, d={states}"
    peer = f"{own}, pykalman in a loop"
    return compared(
        n,
        numbers,
        {own: lambda: fit(Z, "batched"), peer: lambda: fit(Z[:PYKALMAN_SERIES], "pykalman")},
        at_least(PYKALMAN_GAIN),
        work={peer: n / PYKALMAN_SERIES},
        once=(peer,),
        note=f"n is series, p is numbers a step; {ITERATIONS} iterations; "
        f"peer timed on {PYKALMAN_SERIES} series",
    )


def sequences(
    n: int, shortest: int, longest: int, gain: int, emission: str
) -> list[dict[str, str]]:
    """Time the fit of a hidden Markov model to `n` sequences, ours and hmmlearn's."""
    from workflow_lib import HiddenMarkovModel

    random = np.random.default_rng(0)
    is_letters = emission == "categorical"
    lengths = random.integers(shortest, longest + 1, size=n)
    rows = (
        random.integers(LETTERS, size=lengths.sum())
        if is_letters
        else random.normal(size=(lengths.sum(), NUMBERS))
    )
    split = np.split(rows, lengths.cumsum()[:-1])
    model = HiddenMarkovModel(STATES, emission, prior=0.0, n_init=1, max_iter=ITERATIONS, tol=0.0)
    kind = f"letters, length {shortest}" if is_letters else f"vectors of 2, length {shortest}"
    kind += "" if shortest == longest else f" to {longest}"
    return compared(
        n,
        STATES,
        {
            f"EM, hidden Markov model, {kind}": lambda: model.fit(split),
            f"hmmlearn, {kind}": lambda: hmmlearn(rows, lengths.tolist(), is_letters),
        },
        at_least(gain),
        note=f"n is sequences, p is states; {ITERATIONS} iterations",
    )


def hmmlearn(rows: np.ndarray, lengths: list[int], is_letters: bool):
    """Return the model of hmmlearn."""
    from hmmlearn.hmm import CategoricalHMM, GaussianHMM

    logging.getLogger("hmmlearn").setLevel(logging.CRITICAL)
    settings = {"implementation": "scaling", "n_iter": ITERATIONS, "tol": -np.inf}
    if is_letters:
        model = CategoricalHMM(STATES, random_state=0, **settings)
    else:
        # Without the means, for which it would run k-means ten times.
        model = GaussianHMM(STATES, init_params="stc", random_state=0, **settings)
        model.means_ = rows[:STATES]
    return model.fit(rows.reshape(len(rows), -1), lengths)
