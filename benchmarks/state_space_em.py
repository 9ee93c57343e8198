"""EM for a state-space model on many short series: our engines, pykalman, statsmodels and dynamax.

One EM iteration takes the expectations over all series, the M-step and the log prior. All engines
start from the same parameters and the same series, which are drawn from a state-space model. Ours
is the engine that `StateSpaceModel(engine="batched")` takes for complete series; all others, our
own included, are its peers (`state_space_engines`). Loops over series are timed on the first few.
"""

import numpy as np

from benchmarks.measuring import Measurement, at_least, compared, is_installed
from workflow_lib.models.state_spaces.linear_gaussian import (
    LinearGaussianParameters,
    spectral_radius,
)
from workflow_lib.models.state_spaces.series import read_series
from workflow_lib.models.state_spaces.state_space import StateSpaceModel, engine_costs

TITLE = "EM for state-space models"

# Series, steps, states and numbers per step.
SIZES = [(500, 5, 2, 1), (500, 10, 3, 2), (2000, 10, 3, 2), (1000, 10, 3, 5), (2000, 50, 4, 5)]
METHODS = {
    "moments": "one moment matrix",
    "recursion": "recursion of all series at once",
    "pykalman": "pykalman in a loop",
    "statsmodels": "statsmodels in a loop",
    "dynamax": "dynamax batch EM",
}
OURS = ("moments", "recursion")
"""Engines of state_space_engines.py that are no packages."""
ITERATIONS = 10
PYKALMAN_GAIN = 1000


def measurements(quick: bool) -> list[Measurement]:
    """Return what is measured: every size against every peer that is installed."""
    installed = [name for name in METHODS if name in OURS or is_installed(name)]
    for name in METHODS.keys() - set(installed):
        print(f"{name} is not installed: left out")
    found = []
    for n, steps, states, numbers in SIZES[1:3] if quick else SIZES:
        size = {"n": n, "steps": steps, "states": states, "numbers": numbers}
        peers = [name for name in installed if name != chosen_engine(**size)]
        found += [Measurement("em_iteration", {"peer": name} | size) for name in peers]
    return found


def em_iteration(peer: str, n: int, steps: int, states: int, numbers: int) -> list[dict[str, str]]:
    """Time one EM iteration of `n` series, ours and that of one peer."""
    from benchmarks.state_space_engines import ENGINES

    own = chosen_engine(n, steps, states, numbers)
    size = f"T={steps}, d={states}"
    parameters, series = simulated(n, steps, states, numbers)
    runners = {name: ENGINES[name](series, parameters) for name in (own, peer)}
    notes = ["n is series, p is numbers a step"]
    if runners[peer].timed_series < n:
        notes.append(f"peer timed on {runners[peer].timed_series} series")
    for words, name in (("ours", own), ("the peer's", peer)):
        notes.append(f"log-likelihood of {words} {course(runners[name].likelihoods(ITERATIONS))}")
    names = {name: f"EM iteration by {METHODS[name]}, {size}" for name in runners}
    return compared(
        n,
        numbers,
        {names[name]: runner.iteration for name, runner in runners.items()},
        at_least(PYKALMAN_GAIN) if peer == "pykalman" else None,
        gain=True,
        # Loops are timed on the first few series.
        work={names[name]: n / runner.timed_series for name, runner in runners.items()},
        note="; ".join(notes),
    )


def chosen_engine(n: int, steps: int, states: int, numbers: int) -> str:
    """Return the engine that the model takes for `n` complete series of this size."""
    moments, recursion = engine_costs(read_series(np.zeros((n, steps, numbers))), states)
    return "moments" if moments <= recursion else "recursion"


def simulated(
    n: int, steps: int, states: int, numbers: int
) -> tuple[LinearGaussianParameters, np.ndarray]:
    """Return parameters to start from, and series (n, steps, numbers) drawn near them."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(states, states))
    parameters = LinearGaussianParameters(
        0.9 * A / spectral_radius(A),
        rng.normal(size=(numbers, states)),
        0.3 * np.eye(states),
        0.4 * np.eye(numbers),
        np.ones(states),
        np.eye(states),
    )
    model = StateSpaceModel(states)
    model._set_parameters(parameters)
    series = model.sample(n, steps, random_state=1)[0]
    # EM starts away from the truth, so that it can improve the likelihood.
    start = parameters._replace(
        transition=0.5 * parameters.transition, observation_covariance=1.5 * np.eye(numbers)
    )
    return start, series


def course(likelihoods: list[float]) -> str:
    """Return in words whether the log-likelihood rose, or the first iteration where it did not."""
    for iteration, (earlier, later) in enumerate(zip(likelihoods, likelihoods[1:]), start=2):
        if later != later:
            return f"is not a number at iteration {iteration}"
        if later < earlier - 1e-9 * abs(earlier):
            return f"falls at iteration {iteration}"
    return "rises"
