"""EM for a state-space model on many series: our engines, pykalman, statsmodels and dynamax.

    python benchmarks/state_space_em.py [results/benchmarks/state_space_em.csv]

Writes a row for every size and engine: milliseconds per EM iteration over all series, whether the
log-likelihood rose over ten iterations, and the memory. benchmarks/README.md explains the columns.
Peers that are not installed are left out, with empty cells.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

# Series, steps, states and numbers per step.
SIZES = [(500, 5, 2, 1), (500, 10, 3, 2), (1000, 10, 3, 5), (2000, 10, 3, 2), (2000, 50, 4, 5)]
# The package of each engine of state_space_engines.py; None is this project.
PACKAGES = {
    "moments": None,
    "recursion": None,
    "recursion_missing": None,
    "pykalman": "pykalman",
    "statsmodels": "statsmodels",
    "dynamax": "dynamax",
}
REPETITIONS = 9
SECONDS_PER_REPETITION = 0.05
LONGEST_SECONDS = 10.0
ITERATIONS = 10
COLUMNS = [
    "series",
    "steps",
    "states",
    "numbers_per_step",
    "engine",
    "chosen",
    "timed_series",
    "ms_per_iteration",
    "over_chosen",
    "log_likelihood",
    "memory_before_mb",
    "memory_peak_mb",
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "table", nargs="?", type=Path, default=Path("results/benchmarks/state_space_em.csv")
    )
    parser.add_argument("--only", nargs=5, help=argparse.SUPPRESS, metavar="ENGINE SIZE")
    arguments = parser.parse_args()
    if arguments.only:
        engine, *size = arguments.only
        print(json.dumps(measure(engine, *map(int, size))))
        return
    installed = [name for name, package in PACKAGES.items() if is_installed(package)]
    for name, package in PACKAGES.items():
        if name not in installed:
            print(f"{package} is not installed: left out")
    print("  ".join(COLUMNS))
    rows = [row for size in SIZES for row in rows_of(size, installed)]
    arguments.table.parent.mkdir(parents=True, exist_ok=True)
    with arguments.table.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    print(f"written to {arguments.table}")


def is_installed(package: str | None) -> bool:
    return package is None or importlib.util.find_spec(package) is not None


def rows_of(size: tuple[int, int, int, int], installed: list[str]) -> list[dict]:
    """Return the rows of one size; the engines follow each other, each in its own process."""
    found = {name: in_own_process(name, size) for name in installed}
    chosen = found["moments"]["chosen"]
    rows = []
    for name in PACKAGES:
        row = dict(zip(COLUMNS, (*size, name)))
        if name in found:
            result = found[name]
            row |= {
                "chosen": "yes" if name == chosen else "",
                "timed_series": result["timed_series"],
                "ms_per_iteration": f"{1e3 * result['seconds']:.3g}",
                "over_chosen": f"{result['seconds'] / found[chosen]['seconds']:.3g}",
                "log_likelihood": result["log_likelihood"],
                "memory_before_mb": f"{result['memory_before']:.0f}",
                "memory_peak_mb": f"{result['memory_peak']:.0f}",
            }
        print("  ".join(f"{row.get(column, '')!s:>{len(column)}}" for column in COLUMNS))
        rows.append(row)
    return rows


def in_own_process(engine: str, size: tuple[int, int, int, int]) -> dict:
    """Return what `measure` finds in a fresh process with one thread."""
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    command = [sys.executable, __file__, "--only", engine, *map(str, size)]
    process = subprocess.run(
        command, env=os.environ | threads, stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(process.stdout.splitlines()[-1])


def measure(engine: str, n: int, T: int, d: int, p: int) -> dict:
    """Return time, memory and the course of the likelihood of one engine, in this process."""
    if hasattr(os, "sched_setaffinity"):
        # Not every library heeds the number of threads; one processor is one processor for all.
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    from state_space_engines import ENGINES

    from workflow_lib.generative.series import read_series
    from workflow_lib.generative.state_space import engine_costs

    parameters, Z = simulated(n, T, d, p)
    runner = ENGINES[engine](Z, parameters)
    before = memory()
    forget_peak()
    runner.iteration()  # compiles, where an engine compiles
    seconds = shortest_seconds(runner.iteration)
    peak = peak_memory()
    moments, recursion = engine_costs(read_series(Z), d)
    return {
        "seconds": seconds * n / runner.timed_series,
        "timed_series": runner.timed_series,
        "log_likelihood": course(runner.likelihoods(ITERATIONS)),
        "memory_before": before,
        "memory_peak": peak,
        "chosen": "moments" if moments <= recursion else "recursion",
    }


def simulated(n: int, T: int, d: int, p: int):
    """Return parameters and series (n, T, p) drawn from them."""
    import numpy as np

    from workflow_lib.generative.linear_gaussian import LinearGaussianParameters, spectral_radius
    from workflow_lib.generative.state_space import StateSpaceModel

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
    series = model.sample(n, T, random_state=1)[0]
    # EM starts away from the truth, so that there is something to gain.
    start = parameters._replace(
        transition=0.5 * parameters.transition, observation_covariance=1.5 * np.eye(p)
    )
    return start, series


def shortest_seconds(run) -> float:
    """Return the shortest time of a call; each time is averaged over enough calls."""
    shortest, begin = float("inf"), time.perf_counter()
    for _ in range(REPETITIONS):
        started, calls = time.perf_counter(), 0
        while calls == 0 or time.perf_counter() - started < SECONDS_PER_REPETITION:
            run()
            calls += 1
        shortest = min(shortest, (time.perf_counter() - started) / calls)
        if time.perf_counter() - begin > LONGEST_SECONDS:
            break
    return shortest


def course(likelihoods: list[float]) -> str:
    """Return in words whether EM's log-likelihood rose, with the iteration where it did not."""
    for iteration, (earlier, later) in enumerate(zip(likelihoods, likelihoods[1:]), start=2):
        if later != later:
            return f"not a number at iteration {iteration}"
        if later < earlier - 1e-9 * abs(earlier):
            return f"falls at iteration {iteration}"
    return "rises"


def memory() -> float:
    """Return the resident memory of this process, in megabytes (0 where the system hides it)."""
    return _status("VmRSS")


def peak_memory() -> float:
    """Return the highest resident memory since `forget_peak`, or else since the start."""
    # The kernel's maximum of a process is passed on to its children, that in its status is not.
    return _status("VmHWM") or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def forget_peak() -> None:
    """Start the peak anew, without what importing took."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        pass


def _status(name: str) -> float:
    path = Path("/proc/self/status")
    if not path.exists():
        return 0.0
    for line in path.read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) / 1024
    return 0.0


if __name__ == "__main__":
    main()
