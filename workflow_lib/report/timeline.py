"""When the jobs of the workflow ran: read from their benchmark files, packed on cores, summed up.

A benchmark file contains the seconds of its job, and is written when the job has ended. Its time of
modification is therefore the end of the job, and that minus the seconds is the start.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np

from workflow_lib.errors import UserError
from workflow_lib.report.labels import count_of, format_share, join_words
from workflow_lib.whole_files import write_text

LONGEST_PAUSE = 120.0
"""Seconds without any job up to which two jobs belong to one run. Within a run, Snakemake starts
the next job in a fraction of a second; a person who starts the next run takes longer."""

RESOLUTION = 0.01
"""Seconds to which Snakemake rounds the duration of a job. Two jobs that overlap by no more than
this followed each other on one core."""

LONGEST_HANDOVER = 1.0
"""Seconds between two jobs on one core up to which they are counted as the time in which Snakemake
notes the end of the first and starts the second. In longer gaps, mostly, the core waited for the
results of other jobs."""

FEWEST_JOBS = 5
"""Jobs that a rule must have for the shortest to be taken for the least cost of each."""

MOST_NAMES = 5
"""Jobs without a readable measurement are named up to this number, and only counted above."""


@dataclass(frozen=True)
class Job:
    """One job that ended.

    Attributes
    ----------
    rule, name : str
        The folder of its benchmark file and the name in it, which is made of its wildcards;
        the name is empty for the only job of a rule.
    start, end : float or None, float
        Seconds since 1970-01-01 UTC.
    seconds : float or None
        Its duration. It and the start are None where the file was cut off.
    cpu_seconds, max_rss_mb : float or None
        CPU seconds of the job, all its processes together, and its largest memory in MiB. Snakemake
        samples both every 0.5 s, and after about 15 s every 30 s; what was used after the last
        sample is missing. None where the job ended before the first.
    """

    rule: str
    name: str
    start: float | None
    end: float
    seconds: float | None
    cpu_seconds: float | None
    max_rss_mb: float | None

    @property
    def title(self) -> str:
        """The name of the job as in the folder of benchmark files."""
        return f"{self.rule}/{self.name}" if self.name else self.rule


class Bar(NamedTuple):
    """A job on a lane, which represents a core; from `start` to `end` it takes all of the lane.

    `start` is later than that of the job by at most `RESOLUTION`.
    """

    job: Job
    lane: int
    start: float
    end: float


@dataclass(frozen=True)
class Run:
    """The jobs between two pauses, on lanes.

    Attributes
    ----------
    bars : tuple of Bar
        In the order of their starts.
    cores : int
        The largest number of jobs at once. A job of several threads counts once.
    """

    bars: tuple[Bar, ...]
    cores: int

    @cached_property
    def lanes(self) -> list[list[Bar]]:
        """The bars of each lane, in the order of their starts."""
        lanes: list[list[Bar]] = [[] for _ in range(self.cores)]
        for bar in self.bars:
            lanes[bar.lane].append(bar)
        return lanes

    @cached_property
    def start(self) -> float:
        """When the first job began, in seconds since 1970-01-01 UTC."""
        return min(bar.start for bar in self.bars)

    @cached_property
    def end(self) -> float:
        """When the last job ended."""
        return max(bar.end for bar in self.bars)

    @property
    def wall(self) -> float:
        """Seconds from the start to the end."""
        return self.end - self.start

    @property
    def busy(self) -> float:
        """Sum of the seconds of all jobs."""
        return math.fsum(bar.job.seconds for bar in self.bars)

    @property
    def ratio(self) -> float:
        """The overhead ratio; see `overhead_ratio`."""
        return overhead_ratio([self])


class Idle(NamedTuple):
    """Core seconds of a run in which no job ran, by cause.

    ``beginning`` and ``ending`` lie before the first and after the last moment at which as many
    jobs ran as there are cores. Between them, ``handover`` sums the gaps of a lane up to
    `LONGEST_HANDOVER`, ``waiting`` the longer ones.
    """

    beginning: float
    handover: float
    waiting: float
    ending: float


class RuleSummary(NamedTuple):
    """What the measured jobs of a rule took together and separately."""

    rule: str
    n_jobs: int
    seconds: float
    cpu_seconds: float
    median_seconds: float
    shortest_seconds: float
    max_rss_mb: float


def collect_jobs(folder: str | Path) -> list[Job]:
    """Return a job for every benchmark file below a folder, in the order of their starts.

    A benchmark with repetitions is one job, which took the sum of their seconds. Of a file that
    was cut off only the end is known.

    Parameters
    ----------
    folder : path
        Contains files ``rule.tsv`` and ``rule/name.tsv``. Files that were copied without their
        times of modification give the times of the copy.

    Raises
    ------
    UserError
        If there is no benchmark file.
    """
    folder = Path(folder)
    jobs = []
    for path in sorted(folder.rglob("*.tsv")):
        rule, _, name = path.relative_to(folder).with_suffix("").as_posix().partition("/")
        end = round(path.stat().st_mtime, 3)
        rows = _benchmark_rows(path)
        durations = [_measured(row, "s") for row in rows]
        is_whole = bool(durations) and None not in durations
        seconds = math.fsum(durations) if is_whole else None
        cpu_seconds = [_measured(row, "cpu_time") for row in rows]
        memories = [_measured(row, "max_rss") for row in rows]
        jobs.append(
            Job(
                rule=rule,
                name=name,
                start=round(end - seconds, 3) if is_whole else None,
                end=end,
                seconds=round(seconds, 3) if is_whole else None,
                cpu_seconds=_combined(math.fsum, cpu_seconds) if is_whole else None,
                max_rss_mb=_combined(max, memories) if is_whole else None,
            )
        )
    if not jobs:
        raise UserError(
            place=str(folder),
            found="there is no benchmark file of a job",
            expected="one .tsv file per job",
            remedy="run the workflow, which writes them",
        )
    return sorted(jobs, key=_order)


def write_jobs(path: str | Path, jobs: Iterable[Job]) -> None:
    """Write jobs as CSV, whole or not at all; what is None is an empty cell."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = [field.name for field in fields(Job)]
    writer.writerow(names)
    for job in jobs:
        values = [getattr(job, name) for name in names]
        writer.writerow(["" if value is None else value for value in values])
    write_text(path, text.getvalue())


def read_jobs(path: str | Path) -> list[Job]:
    """Return the jobs of a CSV written by `write_jobs`.

    Raises
    ------
    UserError
        If the file is missing, has no rows, lacks a column or has a value that should be a number
        and is not; the message gives the file and the line.
    """
    remedy = f"rm {path} and run the same snakemake command again"
    try:
        with open(path, encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            names = [field.name for field in fields(Job)]
            missing = [name for name in names if name not in (reader.fieldnames or [])]
            if missing:
                raise UserError(
                    f"{path}, line 1",
                    f"there is no column {join_words(missing)}",
                    f"the columns {', '.join(names)}",
                    remedy,
                )
            jobs = [_job(path, reader.line_num, row, remedy) for row in reader]
    except OSError as error:
        raise UserError(
            str(path), f"it cannot be read ({error.strerror})", "a CSV file", "run its rule first"
        ) from error
    if not jobs:
        raise UserError(str(path), "it has a header and no rows", "one row per job", remedy)
    return jobs


def split_runs(jobs: Iterable[Job], longest_pause: float = LONGEST_PAUSE) -> list[Run]:
    """Return the runs that the measured jobs belong to, in the order of time.

    A new run begins with a job that starts more than `longest_pause` seconds after all earlier
    ones have ended. Jobs without a start belong to none.
    """
    groups: list[list[Job]] = []
    latest = -math.inf
    for job in sorted((job for job in jobs if job.start is not None), key=_order):
        if job.start > latest + longest_pause:
            groups.append([])
        groups[-1].append(job)
        latest = max(latest, job.end)
    return [_packed(group) for group in groups]


def pack_lanes(jobs: Iterable[Job]) -> list[Bar]:
    """Return the jobs, by start, on as few lanes as they need so that none overlap on one.

    Each job goes to the lane that became free last, so that the gap before it is the shortest
    possible, or to a new one where none is free. As many lanes are needed as jobs ran at once,
    overlaps up to `RESOLUTION` aside.
    """
    lane_ends: list[float] = []
    bars = []
    for job in sorted(jobs, key=_order):
        free = [
            lane for lane, lane_end in enumerate(lane_ends) if lane_end <= job.start + RESOLUTION
        ]
        if free:
            lane = max(free, key=lambda lane: (lane_ends[lane], -lane))
            start = min(max(job.start, lane_ends[lane]), job.end)
        else:
            lane, start = len(lane_ends), job.start
            lane_ends.append(job.end)
        lane_ends[lane] = max(lane_ends[lane], job.end)
        bars.append(Bar(job, lane, start, job.end))
    return bars


def overhead_ratio(runs: Sequence[Run]) -> float:
    r"""Return how much longer runs took than their jobs alone, perfectly spread over the cores.

    .. math:: \sum_r w_r \Big/ \sum_r \frac{1}{c_r} \sum_{j \in r} s_j

    with the wall time :math:`w_r` and the cores :math:`c_r` of run :math:`r` and the seconds
    :math:`s_j` of job :math:`j`. That is the mean of the ratios of the runs, each weighted by the
    time that its jobs would take alone. At 1, nothing is lost between jobs; what a job spends on
    its own start counts as the job. NaN where all jobs took 0 s.
    """
    least = math.fsum(run.busy / run.cores for run in runs)
    return math.fsum(run.wall for run in runs) / least if least > 0 else math.nan


def running_jobs(run: Run) -> tuple[np.ndarray, np.ndarray]:
    """Return the times at which the number of running jobs changes, and the number from each on.

    Returns
    -------
    times : array of shape (n,)
        Ascending, in seconds since the start of the run; the first is 0, the last the wall time.
    counts : array of int of shape (n,)
        ``counts[i]`` jobs run from ``times[i]`` to ``times[i + 1]``; the last is 0.
    """
    starts = np.array([bar.start for bar in run.bars]) - run.start
    ends = np.array([bar.end for bar in run.bars]) - run.start
    times = np.unique(np.concatenate([starts, ends]))
    started = np.searchsorted(np.sort(starts), times, side="right")
    ended = np.searchsorted(np.sort(ends), times, side="right")
    return times, started - ended


def seconds_below_cores(run: Run) -> float:
    """Return for how many seconds fewer jobs ran than the run has cores."""
    times, counts = running_jobs(run)
    return float(np.sum(np.diff(times)[counts[:-1] < run.cores]))


def mean_running(run: Run, edges: Sequence[float]) -> np.ndarray:
    """Return the mean number of running jobs between neighbouring `edges`.

    `edges` ascend, in seconds since the start of the run. Core seconds are kept: the means, each
    times its width, sum up to the seconds of all bars when the edges span the run.
    """
    edges = np.asarray(edges, dtype=float)
    times, counts = running_jobs(run)
    done = np.concatenate([[0.0], np.cumsum(np.diff(times) * counts[:-1])])
    return np.diff(np.interp(edges, times, done)) / np.diff(edges)


def lane_gaps(run: Run) -> list[float]:
    """Return the seconds between each job and the next one on its lane, lane by lane."""
    return [
        after.start - before.end
        for lane in run.lanes
        for before, after in zip(lane, lane[1:], strict=False)
    ]


def idle_seconds(run: Run) -> Idle:
    """Return the core seconds in which no job ran, by cause.

    Together with the bars they make cores times wall time.
    """
    times, counts = running_jobs(run)
    full = np.flatnonzero(counts == run.cores)
    # A core that only ever took a job of 0 s is never busy, and no moment is the first.
    first = run.start + (times[full[0]] if len(full) else run.wall)
    last = run.start + (times[full[-1] + 1] if len(full) else run.wall)
    parts = {"beginning": [], "handover": [], "waiting": [], "ending": []}
    for lane in run.lanes:
        begins = [run.start, *(bar.end for bar in lane)]
        ends = [*(bar.start for bar in lane), run.end]
        for begin, end in zip(begins, ends, strict=True):
            parts["beginning"].append(max(0.0, min(end, first) - begin))
            parts["ending"].append(max(0.0, end - max(begin, last)))
            between = max(0.0, min(end, last) - max(begin, first))
            parts["handover" if between <= LONGEST_HANDOVER else "waiting"].append(between)
    return Idle(**{name: math.fsum(seconds) for name, seconds in parts.items()})


def rule_summaries(jobs: Iterable[Job]) -> list[RuleSummary]:
    """Return what the jobs of each rule took; the rule with the most seconds first.

    Jobs without a duration are left out, a missing CPU time or memory counts as zero.
    """
    by_rule: dict[str, list[Job]] = {}
    for job in jobs:
        if job.seconds is not None:
            by_rule.setdefault(job.rule, []).append(job)
    summaries = [
        RuleSummary(
            rule,
            len(members),
            math.fsum(job.seconds for job in members),
            math.fsum(job.cpu_seconds or 0.0 for job in members),
            median(job.seconds for job in members),
            min(job.seconds for job in members),
            max(job.max_rss_mb or 0.0 for job in members),
        )
        for rule, members in by_rule.items()
    ]
    return sorted(summaries, key=lambda summary: (-summary.seconds, summary.rule))


def floor_seconds(jobs: Iterable[Job]) -> float:
    """Return the seconds of all jobs if each took as long as the shortest of its rule.

    The start of the interpreter and the imports are in every job, so that these seconds bound from
    above what they cost. Only rules with at least `FEWEST_JOBS` jobs count.
    """
    return math.fsum(
        summary.n_jobs * summary.shortest_seconds
        for summary in rule_summaries(jobs)
        if summary.n_jobs >= FEWEST_JOBS
    )


def unmeasured_jobs(jobs: Iterable[Job]) -> list[Job]:
    """Return the jobs whose benchmark file was cut off."""
    return [job for job in jobs if job.seconds is None]


def timeline_sentences(jobs: Sequence[Job]) -> list[str]:
    """Return what the jobs cost, in sentences: the ratio, where cores idled, and the start-up."""
    runs, sentences = split_runs(jobs), []
    if runs:
        sentences = [_ratio_sentence(runs), _idle_sentence(runs), _floor_sentence(jobs)]
        gaps = [gap for run in runs for gap in lane_gaps(run)]
        if gaps:
            sentences.insert(
                2,
                f"From the end of a job to the start of the next on its core it takes "
                f"{median(gaps):.2f} s (median).",
            )
    unmeasured = unmeasured_jobs(jobs)
    if unmeasured:
        names = [job.title for job in unmeasured[:MOST_NAMES]]
        rest = len(unmeasured) - len(names)
        listed = join_words([*names, f"{rest} more"] if rest else names)
        sentences.append(
            f"Of {count_of(len(unmeasured), 'job')} the benchmark file was cut off, so that "
            f"only the end is known and no sum includes them: {listed}."
        )
    return sentences


def timeline_part(jobs: str | Path, svg: str | Path) -> dict:
    """Return the figure of the timeline as a part of the report.

    Parameters
    ----------
    jobs, svg : path
        The CSV of the jobs and the figure drawn from it.

    Returns
    -------
    dict
        ``svg`` (path), ``alt``, ``caption`` and ``findings`` (sentences).

    Raises
    ------
    UserError
        As `read_jobs` does.
    """
    records = read_jobs(jobs)
    n_runs = len(split_runs(records))
    return {
        "svg": svg,
        "alt": (
            f"Timeline of {count_of(len(records), 'job')} in {count_of(n_runs, 'run')} on their "
            f"cores, the number of running jobs over time, and the seconds of each rule"
        ),
        "caption": _caption(n_runs),
        "findings": timeline_sentences(records),
    }


def _caption(n_runs: int) -> str:
    """Return the caption, which explains how to read the figure."""
    sentences = [
        "A bar is a job, on a lane that represents a core; neighbours have different heights, and "
        "light grey is a core without a job.",
        "The end of a job is when its benchmark file was written, its start that minus its "
        "seconds; jobs that failed leave no such file, and those that draw this figure and write "
        "this report end too late to be included.",
        "Of a job that ran several times only the last is known.",
    ]
    if n_runs > 1:
        sentences.append(
            f"Where no job ran for more than {LONGEST_PAUSE:.0f} s the time is cut and another run "
            f"begins; the ratio of all runs weights each by the time that its jobs would take "
            f"alone."
        )
    return " ".join(sentences)


def _ratio_sentence(runs: Sequence[Run]) -> str:
    """Return how long the runs took and how much more than their jobs."""
    wall, busy = sum(run.wall for run in runs), sum(run.busy for run in runs)
    n_jobs = sum(len(run.bars) for run in runs)
    cores = [str(number) for number in sorted({run.cores for run in runs})]
    at_once = cores[0] if len(cores) == 1 else f"{cores[0]} to {cores[-1]}"
    which = "The run" if len(runs) == 1 else f"The {len(runs)} runs"
    return (
        f"{which} took {wall:.0f} s for {count_of(n_jobs, 'job')} of {busy:.0f} s together, at "
        f"most {at_once} at once: {overhead_ratio(runs):.3f} times what the jobs alone would take "
        f"on as many cores."
    )


def _idle_sentence(runs: Sequence[Run]) -> str:
    """Return for how long cores idled, and why."""
    parts = [sum(part) for part in zip(*(idle_seconds(run) for run in runs), strict=True)]
    beginning, handover, waiting, ending = parts
    below = sum(seconds_below_cores(run) for run in runs)
    return (
        f"For {below:.0f} s fewer jobs than cores ran. Of the {sum(parts):.0f} core seconds "
        f"without a job, {beginning:.0f} lie before all cores were busy for the first time, "
        f"{handover:.0f} between jobs that followed each other within {LONGEST_HANDOVER:g} s, "
        f"{waiting:.0f} in longer gaps and {ending:.0f} after all cores were busy for the last "
        f"time."
    )


def _floor_sentence(jobs: Sequence[Job]) -> str:
    """Return what starting the jobs costs at most."""
    least = floor_seconds(jobs)
    total = math.fsum(job.seconds or 0.0 for job in jobs)
    share = format_share(least / total) if total > 0 else "none"
    return (
        f"If every job took as long as the shortest of its rule (of those with at least "
        f"{FEWEST_JOBS} jobs), they would take {least:.0f} s, {share} of all: the start of the "
        f"interpreter and the imports cost no more."
    )


def _packed(jobs: Sequence[Job]) -> Run:
    bars = pack_lanes(jobs)
    return Run(tuple(bars), 1 + max(bar.lane for bar in bars))


def _order(job: Job) -> tuple:
    """Return the sorting key by start; a job without a start is sorted by its end."""
    return (job.end if job.start is None else job.start, job.end, job.rule, job.name)


def _benchmark_rows(path: Path) -> list[dict]:
    """Return the rows of a benchmark file; none where it is empty, no table or cannot be read."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file, delimiter="\t"))
    except (OSError, UnicodeDecodeError, csv.Error):
        return []


def _measured(row: dict, column: str) -> float | None:
    """Return a measurement, None for what Snakemake writes instead (``NA``, ``-``) or cut off."""
    try:
        value = float(row[column])
    except (KeyError, TypeError, ValueError):
        return None
    return value if math.isfinite(value) and value >= 0 else None


def _combined(function, values: Sequence[float | None]) -> float | None:
    """Return a function of the values that there are, None where there are none."""
    known = [value for value in values if value is not None]
    return round(function(known), 3) if known else None


def _job(path: str | Path, line: int, row: dict, remedy: str) -> Job:
    """Return the job of one row of the CSV."""
    values: dict[str, float | None] = {}
    for name in ("start", "end", "seconds", "cpu_seconds", "max_rss_mb"):
        text = row[name]
        try:
            values[name] = float(text) if text else None
        except ValueError:
            values[name] = math.nan
        is_wanting = name == "end" and values[name] is None
        if text is None or is_wanting or not math.isfinite(values[name] or 0.0):
            found = f"found '{text}'" if text else "found nothing"
            raise UserError(f"{path}, line {line}, column {name}", found, "a number", remedy)
    if not row["rule"]:
        raise UserError(f"{path}, line {line}, column rule", "found nothing", "a rule", remedy)
    if (values["start"] is None) != (values["seconds"] is None):
        raise UserError(
            f"{path}, line {line}", "only one of start and seconds is there", "both or none", remedy
        )
    return Job(row["rule"], row["name"], **values)
