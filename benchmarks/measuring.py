"""What all benchmarks share: own processes, interleaved repetitions, peak memory, one table.

`run` calls each measurement of a benchmark in a process of its own, bound to one processor, with
one BLAS thread. Both sides of a ratio are timed there in turn (`interleaved`), so that any other
load of the machine affects both.
"""

from __future__ import annotations

import ctypes
import importlib
import itertools
import json
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parents[1]

COLUMNS = (
    *("benchmark", "n", "p", "method", "peer", "seconds", "seconds_min", "seconds_max"),
    *("peer_seconds", "ratio", "ratio_is", "goal", "met", "agreement", "memory_mb"),
    *("peer_memory_mb", "threads", "repetitions", "note"),
)
"""Columns of every table; benchmarks/README.md says what they mean."""

THREADS = 1
THREAD_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")

REPETITIONS = 7
MIN_REPETITIONS = 3
SECONDS_PER_REPETITION = 0.05
"""A call that takes less is repeated for that long within each round, which counts the mean."""

MAX_SECONDS = 60.0
"""Seconds after which no further round is begun, but for the first three."""


class Measurement(NamedTuple):
    """One call of a function of a benchmark, in a process of its own."""

    function: str
    arguments: dict[str, Any]

    def __str__(self) -> str:
        values = ", ".join(f"{name}={value}" for name, value in self.arguments.items())
        return f"{self.function}({values})"


def each(function: str, **values: Iterable[Any]) -> list[Measurement]:
    """Return a measurement for every combination of values of its arguments."""
    points = itertools.product(*values.values())
    return [Measurement(function, dict(zip(values, point))) for point in points]


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


at_most, at_least = partial(Goal, "<="), partial(Goal, ">=")
"""Goals that our time is at most so many times the peer's, and the peer's at least that of ours."""


@dataclass(frozen=True)
class Timing:
    """The measurements of one side: the seconds of every repetition, in order; the memory of the
    first one (`with_peak_memory`); and what the last call returned."""

    seconds: tuple[float, ...]
    memory_mb: float | None = None
    result: Any = None

    def scaled(self, factor: float) -> Timing:
        """Return the timing of `factor` times as much work, as if time were proportional to it."""
        seconds = tuple(factor * each for each in self.seconds)
        return Timing(seconds, self.memory_mb, self.result)


def interleaved(
    calls: Mapping[str, Callable[[], Any]], once: Collection[str] = ()
) -> dict[str, Timing]:
    """Time functions without arguments in turn: each once, then each again.

    Those named in `once` are timed in the first round only.
    """
    found: dict[str, Timing] = {}
    begin = time.perf_counter()
    for repetition in range(REPETITIONS):
        if repetition >= MIN_REPETITIONS and time.perf_counter() - begin > MAX_SECONDS:
            break
        for name, call in calls.items():
            if not repetition:
                (seconds, result), memory = with_peak_memory(lambda call=call: _timed(call))
                found[name] = Timing((seconds,), memory, result)
            elif name not in once:
                seconds, result = _timed(call)
                earlier = found[name]
                found[name] = Timing((*earlier.seconds, seconds), earlier.memory_mb, result)
    return found


def _timed(call) -> tuple[float, Any]:
    started, calls, result = time.perf_counter(), 0, None
    while calls == 0 or time.perf_counter() - started < SECONDS_PER_REPETITION:
        result = call()
        calls += 1
    return (time.perf_counter() - started) / calls, result


def with_peak_memory(call: Callable[[], Any]) -> tuple[Any, float | None]:
    """Return what `call` returns, and how far it raised the resident memory, in megabytes.

    None where the system is not Linux. Memory that was freed before is first returned to the
    system, so that memory that the call uses again is counted.
    """
    try:
        ctypes.CDLL(None).malloc_trim(0)
        before = _resident("VmRSS")
        # Forget the peak, so that the memory of imports is not counted.
        Path("/proc/self/clear_refs").write_text("5")
    except (AttributeError, OSError):
        return call(), None
    result = call()
    return result, _resident("VmHWM") - before


def _resident(name: str) -> float:
    status = Path("/proc/self/status").read_text()
    return int(re.search(rf"^{name}:\s+(\d+)", status, re.MULTILINE)[1]) / 1024


def times(numerator: Timing, denominator: Timing) -> float:
    """Return how many times as long the first took: the median over the rounds of both."""
    pair = numerator.seconds, denominator.seconds
    if len(pair[0]) == len(pair[1]):
        return statistics.median(a / b for a, b in zip(*pair))
    return statistics.median(pair[0]) / statistics.median(pair[1])


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

    `n` and `p` are rows and output columns, or what the note says. With a goal, `gain` follows from
    it; without, it says whether the ratio is the peer's time over ours. `ratio` and the memory are
    given where they are not those of the timings, and `agreement`, the largest difference of the
    results, where they must be equal. `note` is what else a reader must know, such as what was
    extrapolated.
    """
    own, theirs = (each.seconds if each else () for each in (timing, peer_timing))
    gain = goal.relation == ">=" if goal is not None else gain
    if ratio is None and own and theirs:
        ratio = times(peer_timing, timing) if gain else times(timing, peer_timing)
    if memory_mb is None and timing:
        memory_mb = timing.memory_mb
    if peer_memory_mb is None and peer_timing:
        peer_memory_mb = peer_timing.memory_mb
    notes = [note] if note else []
    if own and theirs and len(own) != len(theirs):
        count = len(theirs)
        notes.append("peer timed once" if count == 1 else f"peer timed {count} times")
    is_judged = goal is not None and ratio is not None
    numbers = {
        "seconds": statistics.median(own) if own else None,
        "seconds_min": min(own, default=None),
        "seconds_max": max(own, default=None),
        "peer_seconds": statistics.median(theirs) if theirs else None,
        "ratio": ratio,
        "agreement": agreement,
        "memory_mb": memory_mb,
        "peer_memory_mb": peer_memory_mb,
    }
    found = {
        name: "" if value is None else f"{value:.{2 if name == 'agreement' else 4}g}"
        for name, value in numbers.items()
    } | {
        "n": str(n),
        "p": str(p),
        "method": method,
        "peer": peer,
        "ratio_is": "" if ratio is None else "peer / own" if gain else "own / peer",
        "goal": "" if goal is None else str(goal),
        "met": ("yes" if goal.met(ratio, agreement) else "no") if is_judged else "",
        "threads": str(THREADS),
        "repetitions": str(len(own) or 1),
        "note": "; ".join(notes),
    }
    return {name: found[name] for name in COLUMNS[1:]}


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
    """Time a method and its peer, `calls`, in turn; return their row, in a list.

    `agreement` takes the results of both to their largest difference, where they must be equal, and
    `note`, where it is a function, to the note. `work` is how many times as much work as is timed
    counts for a name, as if time were proportional. All else is as for `interleaved` and `row`.
    """
    timings = interleaved(calls, once)
    results = [timing.result for timing in timings.values()]
    own, peer = (timing.scaled((work or {}).get(name, 1)) for name, timing in timings.items())
    method, peer_name = calls
    more["agreement"] = agreement(*results) if agreement else None
    more["note"] = note if isinstance(note, str) else note(*results)
    return [row(n, p, method, own, peer_name, peer, goal, **more)]


def largest_difference(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Return the largest difference between two arrays."""
    return float(np.abs(ours - theirs).max())


# --- processes -----------------------------------------------------------------------------------


def run(name: str, quick: bool, folder: Path) -> list[str]:
    """Measure one benchmark of `TITLES` and write its table; return the measurements that failed.

    The table `folder`/NAME.csv is rewritten after every measurement; errors of a measurement are
    printed on the error stream. A benchmark may have a function `write(folder, found, quick)`
    instead of the common one, which is given the rows of all measurements so far, writes them, and
    returns what to print of the last one and what of it has failed.
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
    import pandas

    from workflow_lib.core.whole_files import write_text

    last = found[-1]
    table = pandas.DataFrame([row for each in found for row in each], columns=COLUMNS)
    path = folder / f"{found[0][0]['benchmark']}.csv"
    write_text(path, table.to_csv(index=False, lineterminator="\n"))
    missed = [f"{each['method']} {each['ratio']}" for each in last if each["met"] == "no"]
    outcome = f"missed: {', '.join(missed)}" if missed else "no goal missed"
    return f"{len(last)} rows; {outcome}", []


def in_own_process(name: str, measurement: Measurement) -> list[dict[str, str]] | None:
    """Return the rows of a measurement made in a fresh process, or None where it failed."""
    words = [name, measurement.function, json.dumps(measurement.arguments)]
    threads = dict.fromkeys(THREAD_VARIABLES, str(THREADS))
    process = subprocess.run(
        [sys.executable, "-c", "from benchmarks.measuring import answer; answer()", *words],
        cwd=ROOT,
        env=os.environ | threads,
        stdout=subprocess.PIPE,
        text=True,
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
