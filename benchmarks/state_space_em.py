"""Seconds per EM iteration of a state-space model on many series: our engines and pykalman.

    python benchmarks/state_space_em.py [results/benchmarks/state_space_em.csv]

One EM iteration is an E-step over all series, the M-step and the log prior. pykalman has no EM for
more than one series, so its column is what a user would write: its smoother (which filters first)
over the series in a loop, the statistics pooled, then our M-step. That is a lower bound, since its
likelihood is not computed. It is timed on the first few series only (column `peer_series`) and
extrapolated to all of them. Everything runs in one process with one BLAS thread; each number is
the median of several repetitions, taken in turns, so that a busy machine slows all alike.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import time
from pathlib import Path

import numpy as np
from pykalman import KalmanFilter
from threadpoolctl import threadpool_limits

from workflow_lib.generative.kalman_moments import moments_by_length
from workflow_lib.generative.kalman_recursion import SeriesRecursion
from workflow_lib.generative.linear_gaussian import LinearGaussianParameters, spectral_radius
from workflow_lib.generative.series import read_series
from workflow_lib.generative.state_space import StateSpaceModel, engine_costs
from workflow_lib.generative.state_space_maximisation import Restrictions, maximise

# Series, steps, states and numbers per step.
SIZES = [(500, 5, 2, 1), (500, 10, 3, 2), (1000, 10, 3, 5), (2000, 10, 3, 2), (2000, 50, 4, 5)]
REPETITIONS = 9
PEER_REPETITIONS = 3
PEER_SERIES = 20
SECONDS_PER_REPETITION = 0.05
RESTRICTIONS = Restrictions(
    isotropic=True, strength=1.0, variance=0.05, floor=1e-8, largest_radius=1.0
)
COLUMNS = [
    "series",
    "steps",
    "states",
    "numbers_per_step",
    "moments_ms",
    "recursion_ms",
    "recursion_missing_ms",
    "pykalman_ms",
    "peer_series",
    "pykalman_over_moments",
    "pykalman_over_recursion",
    "chosen",
]


def simulated(n: int, T: int, d: int, p: int) -> tuple[LinearGaussianParameters, np.ndarray]:
    """Return parameters and series (n, T, p) drawn from them."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(d, d))
    parameters = LinearGaussianParameters(
        0.9 * A / spectral_radius(A),
        rng.normal(size=(p, d)),
        0.3 * np.eye(d),
        0.4 * np.eye(p),
        np.ones(d),
        np.eye(d),
    )
    model = StateSpaceModel(d)
    model._set_parameters(parameters)
    return parameters, model.sample(n, T, random_state=1)[0]


def iteration(expectation, parameters):
    """Return the function that runs one EM iteration from the same parameters."""

    def run():
        updated = maximise(expectation(parameters), parameters, RESTRICTIONS)
        RESTRICTIONS.log_prior(updated)

    return run


def peer_iteration(Z: np.ndarray, parameters: LinearGaussianParameters):
    """Return the function that smooths every series by pykalman and pools the statistics."""
    A, C, Q, R, mean, covariance = parameters

    def run():
        peer = KalmanFilter(A, C, Q, R, np.zeros(len(A)), np.zeros(len(C)), mean, covariance)
        initial, states, across = 0.0, 0.0, 0.0
        for z in Z:
            means, covariances = peer.smooth(z)
            initial = initial + means[0]
            states = states + means.T @ means + covariances.sum(axis=0)
            across = across + z.T @ means
        return initial, states, across

    return run


def seconds(run) -> float:
    """Return the time of one call, averaged over enough calls to be measured well."""
    begin, calls = time.perf_counter(), 0
    while calls == 0 or time.perf_counter() - begin < SECONDS_PER_REPETITION:
        run()
        calls += 1
    return (time.perf_counter() - begin) / calls


def measure(n: int, T: int, d: int, p: int) -> dict:
    """Return one row of the table."""
    parameters, Z = simulated(n, T, d, p)
    holed = np.where(np.random.default_rng(2).random(Z.shape) < 0.1, np.nan, Z)
    series = read_series(Z)
    runs = {
        "moments": iteration(moments_by_length(series)[0].statistics, parameters),
        "recursion": iteration(SeriesRecursion(series).statistics, parameters),
        "recursion_missing": iteration(SeriesRecursion(read_series(holed)).statistics, parameters),
        "pykalman": peer_iteration(Z[:PEER_SERIES], parameters),
    }
    times: dict[str, list[float]] = {name: [] for name in runs}
    for repetition in range(REPETITIONS):
        for name, run in runs.items():
            if name != "pykalman" or repetition < PEER_REPETITIONS:
                times[name].append(seconds(run))
    median = {name: statistics.median(values) for name, values in times.items()}
    median["pykalman"] *= n / PEER_SERIES
    moments, recursion = engine_costs(series, d)
    return {
        "series": n,
        "steps": T,
        "states": d,
        "numbers_per_step": p,
        **{f"{name}_ms": f"{1e3 * value:.3g}" for name, value in median.items()},
        "peer_series": PEER_SERIES,
        "pykalman_over_moments": f"{median['pykalman'] / median['moments']:.0f}",
        "pykalman_over_recursion": f"{median['pykalman'] / median['recursion']:.0f}",
        "chosen": "moments" if moments <= recursion else "recursion",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "table", nargs="?", type=Path, default=Path("results/benchmarks/state_space_em.csv")
    )
    path = parser.parse_args().table
    with threadpool_limits(1):
        rows = [measure(*size) for size in SIZES]
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    for row in [dict(zip(COLUMNS, COLUMNS)), *rows]:
        print("  ".join(f"{row[name]!s:>{max(len(name), 9)}}" for name in COLUMNS))
    print(f"pykalman: extrapolated from {PEER_SERIES} series; recursion_missing: 10 % missing.")
    print(f"written to {path}")


if __name__ == "__main__":
    main()
