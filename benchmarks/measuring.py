"""What all benchmarks share: own processes, interleaved repetitions, peak memory, one table.

A benchmark is a module of this package with a `TITLE`, a function `measurements(quick)`, which
lists what is measured, and the functions that it names, which return rows (`row`). `run` calls each
in a process of its own, bound to one processor, with one BLAS thread. Both sides of a ratio
are timed there in turn (`interleaved`), so that any other load of the machine affects both.
"""

from __future__ import annotations

import csv
import ctypes
import importlib
import importlib.util
import io
import itertools
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parents[1]

COLUMNS = (
    "benchmark",
    "n",
    "p",
    "method",
    "peer",
    "seconds",
    "seconds_min",
    "seconds_max",
    "peer_seconds",
    "ratio",
    "ratio_is",
    "goal",
    "met",
    "agreement",
    "memory_mb",
    "peer_memory_mb",
    "threads",
    "repetitions",
    "note",
)
"""Columns of every table; benchmarks/README.md says what they mean."""

THREADS = 1
THREAD_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")

REPETITIONS = 7
MIN_REPETITIONS = 3
SECONDS_PER_REPETITION = 0.05
MAX_SECONDS = 60.0

OWN_OVER_PEER = "own / peer"
PEER_OVER_OWN = "peer / own"


class Measurement(NamedTuple):
    """One call of a function of a benchmark, in a process of its own."""

    function: str
    arguments: dict[str, Any]

    def __str__(self) -> str:
        values = ", ".join(f"{name}={value}" for name, value in self.arguments.items())
        return f"{self.function}({values})"


class Goal(NamedTuple):
    """What a ratio must reach: ``<=`` for the cost in units of the peer, ``>=`` for the gain."""

    relation: str
    bound: float
    tolerance: float | None = None
    """Largest difference of the results; None where they need not agree."""

    def __str__(self) -> str:
        equal = "" if self.tolerance is None else f", equal to {self.tolerance:g}"
        return f"{self.relation} {self.bound:g}{equal}"

    def met(self, ratio: float, agreement: float | None) -> bool:
        """Return whether a ratio, and the agreement where it counts, reach the goal."""
        reached = ratio <= self.bound if self.relation == "<=" else ratio >= self.bound
        if self.tolerance is None:
            return reached
        return reached and agreement is not None and agreement <= self.tolerance


def at_most(bound: float, tolerance: float | None = None) -> Goal:
    """Return the goal that our time is at most `bound` times the peer's."""
    return Goal("<=", bound, tolerance)


def at_least(bound: float, tolerance: float | None = None) -> Goal:
    """Return the goal that the peer's time is at least `bound` times ours."""
    return Goal(">=", bound, tolerance)


@dataclass(frozen=True)
class Timing:
    """The measurements of one side."""

    seconds: tuple[float, ...]
    """Of every repetition, in order."""

    memory_mb: float | None = None
    """Highest resident memory in the first repetition above that before it; None where the system
    hides it."""

    results: tuple[Any, ...] = ()
    """What the call returned, the last of each repetition."""

    @property
    def result(self) -> Any:
        """What the last call returned."""
        return self.results[-1]

    @property
    def median(self) -> float:
        """The median of the repetitions."""
        return statistics.median(self.seconds)

    def scaled(self, factor: float) -> Timing:
        """Return the timing of `factor` times as much work, as if time were proportional to it."""
        return replace(self, seconds=tuple(factor * each for each in self.seconds))


def interleaved(
    calls: Mapping[str, Callable[[], Any]],
    once: Collection[str] = (),
    repetitions: int = REPETITIONS,
    longest: float = MAX_SECONDS,
    shortest: float = SECONDS_PER_REPETITION,
) -> dict[str, Timing]:
    """Time functions in turn: each once, then each again.

    Parameters
    ----------
    calls : mapping from name to function without arguments
        What is timed.
    once : collection of str, default=()
        Names of the calls that are timed in the first round only.
    repetitions : int, default=7
        Rounds.
    longest : float, default=60
        Seconds after which no further round is begun, but for the first three.
    shortest : float, default=0.05
        A call that takes fewer seconds is repeated for that long within each round, which then
        counts the mean.
    """
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    memory: dict[str, float | None] = {}
    results: dict[str, list] = {name: [] for name in calls}
    begin = time.perf_counter()
    for repetition in range(repetitions):
        if repetition >= MIN_REPETITIONS and time.perf_counter() - begin > longest:
            break
        for name, call in calls.items():
            if repetition and name in once:
                continue
            if repetition:
                elapsed, result = _mean_seconds(call, shortest)
            else:
                (elapsed, result), memory[name] = with_peak_memory(
                    lambda call=call: _mean_seconds(call, shortest)
                )
            seconds[name].append(elapsed)
            results[name].append(result)
    return {
        name: Timing(tuple(seconds[name]), memory[name], tuple(results[name])) for name in calls
    }


def _mean_seconds(call, shortest: float) -> tuple[float, Any]:
    started, calls, result = time.perf_counter(), 0, None
    while calls == 0 or time.perf_counter() - started < shortest:
        result = call()
        calls += 1
    return (time.perf_counter() - started) / calls, result


def times(numerator: Timing, denominator: Timing) -> float:
    """Return how many times as long the first took: the median over the rounds of both."""
    if len(numerator.seconds) == len(denominator.seconds):
        return statistics.median(a / b for a, b in zip(numerator.seconds, denominator.seconds))
    return numerator.median / denominator.median


def row(
    n: int,
    p: int,
    method: str,
    timing: Timing | None = None,
    peer: str = "",
    peer_timing: Timing | None = None,
    goal: Goal | None = None,
    gain: bool = False,
    ratio: float | None = None,
    agreement: float | None = None,
    memory_mb: float | None = None,
    peer_memory_mb: float | None = None,
    note: str = "",
) -> dict[str, str]:
    """Return one row of the table, without the name of the benchmark.

    Parameters
    ----------
    n, p : int
        Rows and output columns (or what the benchmark says they are).
    method, peer : str
        What is measured, and what it is compared with.
    timing, peer_timing : Timing or None
    goal : Goal or None
    gain : bool, default=False
        Without a goal: whether the ratio is the peer's time over ours. With a goal, this follows
        from it.
    ratio : float or None
        Given where it is not the ratio of the two times.
    agreement : float or None
        Largest difference of the results where they must be equal.
    memory_mb, peer_memory_mb : float or None
        Given where they are not those of the timings.
    note : str
        What else a reader must know, such as what was extrapolated.
    """
    gain = goal.relation == ">=" if goal is not None else gain
    if ratio is None and timing is not None and peer_timing is not None:
        ratio = times(peer_timing, timing) if gain else times(timing, peer_timing)
    if memory_mb is None and timing is not None:
        memory_mb = timing.memory_mb
    if peer_memory_mb is None and peer_timing is not None:
        peer_memory_mb = peer_timing.memory_mb
    notes = [note] if note else []
    if timing and peer_timing and len(timing.seconds) != len(peer_timing.seconds):
        count = len(peer_timing.seconds)
        notes.append("peer timed once" if count == 1 else f"peer timed {count} times")
    return {
        "n": str(n),
        "p": str(p),
        "method": method,
        "peer": peer,
        "seconds": _number(timing and timing.median),
        "seconds_min": _number(timing and min(timing.seconds)),
        "seconds_max": _number(timing and max(timing.seconds)),
        "peer_seconds": _number(peer_timing and peer_timing.median),
        "ratio": _number(ratio),
        "ratio_is": "" if ratio is None else PEER_OVER_OWN if gain else OWN_OVER_PEER,
        "goal": "" if goal is None else str(goal),
        "met": _met(goal, ratio, agreement),
        "agreement": _number(agreement, 2),
        "memory_mb": _number(memory_mb),
        "peer_memory_mb": _number(peer_memory_mb),
        "threads": str(THREADS),
        "repetitions": str(len(timing.seconds)) if timing else "1",
        "note": "; ".join(notes),
    }


def _met(goal: Goal | None, ratio: float | None, agreement: float | None) -> str:
    if goal is None or ratio is None:
        return ""
    return "yes" if goal.met(ratio, agreement) else "no"


def _number(value: float | None, digits: int = 4) -> str:
    return "" if value is None else f"{value:.{digits}g}"


def compared(
    n: int,
    p: int,
    calls: Mapping[str, Callable[[], Any]],
    goal: Goal | None = None,
    *,
    agreement: Callable[[Any, Any], float] | None = None,
    work: Mapping[str, float] | None = None,
    once: Collection[str] = (),
    note: str | Callable[[Any, Any], str] = "",
    **more,
) -> list[dict[str, str]]:
    """Time a method and its peer in turn; return their row, in a list.

    Parameters
    ----------
    n, p, goal, more
        As for `row`.
    calls : mapping from name to function without arguments
        The method and its peer.
    agreement : function or None
        From the results of both to their largest difference, where they must be equal.
    work : mapping from name to float or None
        How many times as much work as is timed counts for a name, as if time were proportional.
    once : collection of str, default=()
        Names of the calls that are timed in the first round only.
    note : str or function
        A function is given both results.
    """
    own, peer = calls
    timings = interleaved(calls, once)
    results = timings[own].result, timings[peer].result
    for name, factor in (work or {}).items():
        timings[name] = timings[name].scaled(factor)
    difference = agreement(*results) if agreement else None
    words = note if isinstance(note, str) else note(*results)
    more |= {"agreement": difference, "note": words}
    return [row(n, p, own, timings[own], peer, timings[peer], goal, **more)]


def largest_difference(ours: Any, theirs: Any) -> float:
    """Return the largest difference between two arrays, or between two lists of arrays."""
    pairs = zip(ours, theirs, strict=True) if isinstance(ours, list) else [(ours, theirs)]
    return max(float(np.abs(own - other).max()) for own, other in pairs)


def each(function: str, **values: Iterable[Any]) -> list[Measurement]:
    """Return a measurement for every combination of values of its arguments."""
    points = itertools.product(*values.values())
    return [Measurement(function, dict(zip(values, point))) for point in points]


def where_installed(package: str, wanted: list[Measurement]) -> list[Measurement]:
    """Return what needs a package; nothing, and a message, where it is not installed."""
    if is_installed(package):
        return wanted
    print(f"{package} is not installed: left out")
    return []


def is_installed(package: str | None) -> bool:
    """Return whether a peer can be imported; None stands for this project."""
    return package is None or importlib.util.find_spec(package) is not None


# --- processes -----------------------------------------------------------------------------------


def run(name: str, quick: bool, folder: Path) -> list[str]:
    """Measure one benchmark and write its table.

    Parameters
    ----------
    name : str
        Name of the module in this package. It may have a function `write(folder, found, quick)`
        instead of the common one, which is given the rows of all measurements so far, writes them,
        and returns what to print of the last one and what of it has failed.
    quick : bool
        Only the small sizes.
    folder : path
        Folder of the table, NAME.csv. It is rewritten after every measurement.

    Returns
    -------
    list of str
        The measurements that failed; their errors are printed on the error stream.
    """
    module = importlib.import_module(f"benchmarks.{name}")
    wanted, found, failed = module.measurements(quick), [], []
    for position, measurement in enumerate(wanted, start=1):
        location = f"{name} {position}/{len(wanted)} {measurement}"
        print(f"{location} ...", flush=True)
        started = time.perf_counter()
        rows = in_own_process(name, measurement)
        if rows is None:
            failed.append(f"{name} {measurement}")
            print(f"{location}: failed", flush=True)
            continue
        found.append([{"benchmark": name} | each for each in rows])
        words, faults = getattr(module, "write", _write)(folder, found, quick)
        failed += [f"{name} {measurement}: {fault}" for fault in faults]
        print(f"{location}: {words}, {time.perf_counter() - started:.0f} s", flush=True)
    return failed


def _write(folder: Path, found: Sequence[list[dict]], quick: bool) -> tuple[str, list[str]]:
    """Write all rows; return how many the last measurement gave, and the goals that it missed."""
    last = found[-1]
    write_table(folder / f"{last[0]['benchmark']}.csv", itertools.chain.from_iterable(found))
    missed = [f"{each['method']} {each['ratio']}" for each in last if each["met"] == "no"]
    outcome = f"missed: {', '.join(missed)}" if missed else "no goal missed"
    return f"{len(last)} rows; {outcome}", []


def in_own_process(name: str, measurement: Measurement) -> list[dict[str, str]] | None:
    """Return the rows of a measurement made in a fresh process, or None where it failed."""
    command = [
        sys.executable,
        "-c",
        "from benchmarks.measuring import answer; answer()",
        name,
        measurement.function,
        json.dumps(measurement.arguments),
    ]
    threads = dict.fromkeys(THREAD_VARIABLES, str(THREADS))
    process = subprocess.run(
        command, cwd=ROOT, env=os.environ | threads, stdout=subprocess.PIPE, text=True
    )
    return json.loads(process.stdout.splitlines()[-1]) if process.returncode == 0 else None


def answer() -> None:
    """Make the measurement that the command line names and print its rows as one line."""
    name, function, arguments = sys.argv[1:]
    if hasattr(os, "sched_setaffinity"):
        # Some libraries ignore the number of threads; all are limited by one processor.
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    module = importlib.import_module(f"benchmarks.{name}")
    print(json.dumps(getattr(module, function)(**json.loads(arguments))))


def write_table(
    path: Path, rows: Iterable[Mapping[str, Any]], columns: Sequence[str] = COLUMNS
) -> None:
    """Write some columns of rows."""
    from workflow_lib.core.whole_files import write_text

    content = io.StringIO()
    writer = csv.DictWriter(content, columns, "", extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(path, content.getvalue())


def read_table(path: Path) -> list[dict[str, str]]:
    """Return the rows of a table."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


# --- memory --------------------------------------------------------------------------------------


def with_peak_memory(call: Callable[[], Any]) -> tuple[Any, float | None]:
    """Return what `call` returns, and how far it raised the resident memory, in megabytes.

    None where the system does not report it. Memory that was freed before is first returned to the
    system, so that memory that the call uses again is counted.
    """
    _return_freed_memory()
    before = resident_memory()
    forget_peak()
    result = call()
    return result, peak_memory() - before if before else None


def _return_freed_memory() -> None:
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError):
        pass


def resident_memory() -> float:
    """Return the resident memory of this process, in megabytes (0 where the system hides it)."""
    return _status("VmRSS")


def peak_memory() -> float:
    """Return the highest resident memory since `forget_peak`, or else since the start."""
    # The kernel passes the maximum of a process to its children, but not that in its status.
    return _status("VmHWM") or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def forget_peak() -> None:
    """Reset the peak, so that the memory of imports is not counted."""
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
