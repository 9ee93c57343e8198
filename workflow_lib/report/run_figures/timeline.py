"""When each job of the workflow ran, on which core, and the seconds of the rules."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from workflow_lib.report.labels import count_of, format_share
from workflow_lib.report.style import OTHER_COLOR, applied_style, save_figure
from workflow_lib.report.timeline import (
    LONGEST_HANDOVER,
    Job,
    Run,
    collect_jobs,
    floor_seconds,
    idle_seconds,
    lane_gaps,
    mean_running,
    overhead_ratio,
    read_jobs,
    rule_summaries,
    seconds_below_cores,
    split_runs,
    unmeasured_jobs,
    write_jobs,
)

COLORS = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#D55E00",
    "#F0E442",
    "#000000",
)
"""Colors of the rules with the most seconds, which color-blind readers can distinguish (Okabe and
Ito, 2008). All further rules share a grey."""

JOBS_PER_STRIP = 90
"""Jobs of one core that are drawn side by side before the time continues in a strip below."""

MOST_STRIPS = 8
MOST_LANES = 48
"""Lanes of all strips together; with more cores there are fewer strips."""

BREAK_SHARE = 0.008
"""Space between two runs, as a share of all their time."""

MOST_RUNS = 6
"""Runs with a line of their own in the table, the longest; of more, the others share one."""

MOST_VECTORS = 4000
"""Jobs up to which the SVG has a shape for each; with more it has an image of the bars, so that
the page opens quickly."""

N_BINS = 240
"""Intervals of time over which the number of running jobs is averaged."""

WIDTH = 11.0
LEFT, RIGHT = 0.75, 0.3
LINE = 0.2
"""Inches: of the figure, its margins, and from one line of a table to the next."""

IDLE_COLOR = "#d0d0d0"

TALL, SHORT = 0.92, 0.7
"""Heights of the bars of a lane in turn, as shares of the lane."""

_UNITS = ((1.0, "seconds", 300.0), (60.0, "minutes", 18000.0), (3600.0, "hours", math.inf))
"""Seconds, name, and the seconds of the longest run up to which a unit is used."""


def run(output_csv: str | Path, output_svg: str | Path, output_png: str | Path) -> None:
    """Write the jobs whose benchmark files lie below the folder of `output_csv`, and draw them.

    The figure depends on nothing but the CSV. Raises UserError if there is no benchmark file.
    """
    write_jobs(output_csv, collect_jobs(Path(output_csv).parent))
    save_figure(draw_timeline(read_jobs(output_csv)), output_svg, output_png)


def draw_timeline(jobs: Sequence[Job]):
    """Return the figure: the jobs on their cores, how many ran at once, and the seconds of rules.

    Above, a bar is a job on a lane that represents a core, colored by its rule; neighbours on a
    lane have different heights, and grey is a core without a job. Long timelines continue in the
    strip below. Where no job ran for longer than `workflow_lib.report.timeline.LONGEST_PAUSE`, the
    time is cut and another run begins, whose time starts at zero. In the middle is the mean number
    of running jobs. Below are the sums by rule, the legend of the colors, and the numbers of each
    run.

    Parameters
    ----------
    jobs : sequence of Job
        In any order. Those without a duration are counted under the tables and not drawn.

    Returns
    -------
    matplotlib.figure.Figure
        To be written by `workflow_lib.report.style.save_figure`.
    """
    from matplotlib.figure import Figure

    runs = split_runs(jobs)
    colors = rule_colors(jobs)
    n_lanes = max((run.cores for run in runs), default=1)
    offsets, width = _offsets(runs)
    n_strips = _count_strips(runs, n_lanes)
    lane_height = min(0.17, max(0.08, 3.0 / n_lanes))
    strip_height = lane_height * n_lanes
    rule_lines, run_lines = _rule_lines(jobs, runs, colors), _run_lines(runs)
    notes = _notes(jobs, runs)
    n_lines = max(len(rule_lines), len(run_lines) + 1 + len(notes)) + 1
    table_height = LINE * (n_lines + 0.6)
    height = 0.75 + n_strips * (strip_height + 0.42) + 1.55 + table_height
    with applied_style():
        figure = Figure(figsize=(WIDTH, height))

        def add_axis(bottom: float, inches: float):
            """Return an axis of the full width, placed in inches from below."""
            share = 1 / height
            return figure.add_axes(
                (LEFT / WIDTH, bottom * share, 1 - (LEFT + RIGHT) / WIDTH, inches * share)
            )

        figure.suptitle(_title(runs), x=0.01, y=1 - 0.08 / height, ha="left", va="top", fontsize=11)
        top = height - 0.75
        for strip in range(n_strips):
            axis = add_axis(top - strip_height, strip_height)
            axis.set_xlim(width * strip / n_strips, width * (strip + 1) / n_strips)
            _draw_strip(axis, runs, offsets, colors, n_lanes)
            _mark_times(axis, runs, offsets, width / n_strips)
            _name_runs(axis, runs, offsets, width / n_strips)
            top -= strip_height + 0.42
        axis = add_axis(top - 1.0, 0.95)
        _draw_running(axis, runs, offsets, width)
        axis.set_xlim(0, width)
        _mark_times(axis, runs, offsets, width)
        axis.set_xlabel(f"{_unit(runs)[1]} since the start of the run")
        axis.set_ylabel("jobs\nrunning")
        table = figure.add_axes((0, 0, 1, table_height / height))
        table.set_axis_off()
        table.set_xlim(0, WIDTH)
        table.set_ylim(table_height, 0)
        _write_rules(table, rule_lines)
        _write_runs(table, run_lines)
        for number, note in enumerate(notes, start=len(run_lines) + 2):
            table.text(6.2, LINE * (number + 0.5), note, fontsize=7.5, va="center", color="#444444")
    return figure


def rule_colors(jobs: Sequence[Job]) -> dict[str, str]:
    """Return the color of every rule; the rules with the most seconds have their own colors."""
    rules = [summary.rule for summary in rule_summaries(jobs)]
    own = COLORS[: len(rules)]
    return dict(zip(rules, own, strict=False)) | dict.fromkeys(rules[len(own) :], OTHER_COLOR)


def _count_strips(runs: Sequence[Run], n_lanes: int) -> int:
    """Return the number of strips in which single jobs can be distinguished."""
    n_jobs = sum(len(run.bars) for run in runs)
    wanted = math.ceil(n_jobs / (n_lanes * JOBS_PER_STRIP))
    return max(1, min(wanted, MOST_STRIPS, MOST_LANES // n_lanes))


def _offsets(runs: Sequence[Run]) -> tuple[list[float], float]:
    """Return where each run begins on the axis on which the pauses are cut, and its length."""
    gap = BREAK_SHARE * sum(run.wall for run in runs)
    offsets, place = [], 0.0
    for run in runs:
        offsets.append(place)
        place += run.wall + gap
    return offsets, (place - gap) or 1.0


def _unit(runs: Sequence[Run]) -> tuple[float, str]:
    """Return the unit of the time axis, in seconds, and its name."""
    longest = max((run.wall for run in runs), default=0.0)
    return next((seconds, name) for seconds, name, most in _UNITS if longest <= most)


def _draw_strip(axis, runs, offsets, colors: Mapping[str, str], n_lanes: int) -> None:
    """Draw the bars that lie within the limits of the axis, and the gaps between them."""
    low, high = axis.get_xlim()
    is_rasterized = sum(len(run.bars) for run in runs) > MOST_VECTORS
    for lane in range(n_lanes):
        groups: dict[tuple[str, float], list[tuple[float, float]]] = {}
        idle = groups.setdefault((IDLE_COLOR, TALL), [])
        for run, offset in zip(runs, offsets, strict=True):
            if lane >= run.cores:
                continue
            latest = 0.0
            for position, bar in enumerate(run.lanes[lane]):
                size = TALL if position % 2 == 0 else SHORT
                start, end = bar.start - run.start, bar.end - run.start
                group = groups.setdefault((colors[bar.job.rule], size), [])
                group.append((offset + start, end - start))
                idle.append((offset + latest, start - latest))
                latest = end
            idle.append((offset + latest, run.wall - latest))
        for (color, size), spans in groups.items():
            shown = [
                (place, length)
                for place, length in spans
                if length > 0 and place + length >= low and place <= high
            ]
            if shown:
                axis.broken_barh(
                    shown,
                    (lane - size / 2, size),
                    facecolors=color,
                    linewidth=0,
                    rasterized=is_rasterized,
                )
    axis.set_ylim(n_lanes - 0.4, -0.6)
    axis.set_yticks(range(n_lanes) if n_lanes <= 8 else [0, n_lanes - 1])
    axis.set_yticklabels([f"core {int(lane) + 1}" for lane in axis.get_yticks()], fontsize=8)
    axis.tick_params(axis="y", length=0)
    axis.spines["left"].set_visible(False)
    axis.grid(False)


def _mark_times(axis, runs, offsets, shown: float) -> None:
    """Write times under the axis, which shows `shown` seconds; each run starts at zero."""
    seconds, _ = _unit(runs)
    step = _step(shown / 9, seconds)
    places, labels = [], []
    low, high = axis.get_xlim()
    for run, offset in zip(runs, offsets, strict=True):
        for number in range(int(run.wall // step) + 1):
            place = offset + number * step
            if not low <= place <= high:
                continue
            if places and place - places[-1] < 0.35 * step:
                # The start of a run is more important than the duration of the previous run.
                if number > 0 or labels[-1] == "0":
                    continue
                del places[-1], labels[-1]
            places.append(place)
            labels.append(f"{number * step / seconds:g}")
    axis.set_xticks(places, labels, fontsize=8)


def _step(wanted: float, unit: float) -> float:
    """Return the step of 1, 2 or 5 times a power of ten units that is next above `wanted`."""
    power = 10.0 ** math.floor(math.log10(wanted / unit)) if wanted > 0 else 1.0
    return unit * next(m * power for m in (1, 2, 5, 10) if m * power * unit >= wanted * (1 - 1e-9))


def _name_runs(axis, runs, offsets, shown: float) -> None:
    """Write above a strip which runs begin in it, and mark where the time is cut."""
    if len(runs) < 2:
        return
    low, high = axis.get_xlim()
    latest = -math.inf
    for number, (run, offset) in enumerate(zip(runs, offsets, strict=True), start=1):
        if not low <= offset < high:
            continue
        if offset > 0:
            axis.axvline(
                offset - BREAK_SHARE * sum(r.wall for r in runs) / 2,
                color="#444444",
                linewidth=1.0,
                linestyle=(0, (1, 2)),
            )
        if offset >= latest + 0.16 * shown:
            fits = offset + 0.16 * shown <= high
            axis.annotate(
                f"run {number}, {_moment(run.start)}" if fits else f"run {number}",
                (offset, 1),
                xycoords=("data", "axes fraction"),
                xytext=(0, 1),
                textcoords="offset points",
                fontsize=7.5,
                color="#444444",
                annotation_clip=False,
            )
            latest = offset


def _draw_running(axis, runs, offsets, width: float) -> None:
    """Draw the mean number of running jobs, and a dashed line at the cores of each run."""
    for run, offset in zip(runs, offsets, strict=True):
        if run.wall <= 0:
            continue
        n_bins = max(1, round(N_BINS * run.wall / width))
        edges = np.linspace(0.0, run.wall, n_bins + 1)
        means = mean_running(run, edges)
        axis.stairs(means, offset + edges, fill=True, color="#9db7cc", linewidth=0)
        axis.stairs(means, offset + edges, color="#33566f", linewidth=0.8)
        axis.plot(
            [offset, offset + run.wall], [run.cores] * 2, color="#444444", lw=1.0, linestyle="--"
        )
    most = max((run.cores for run in runs), default=1)
    axis.set_ylim(0, 1.08 * most)
    axis.set_yticks(sorted({0, most // 2, most}))


def _title(runs: Sequence[Run]) -> str:
    """Return what the figure shows and the ratio."""
    n_jobs = sum(len(run.bars) for run in runs)
    if not runs:
        return "No job with a readable measurement"
    which = "one run" if len(runs) == 1 else f"{len(runs)} runs, pauses cut"
    return (
        f"{count_of(n_jobs, 'job')} in {which}, from {_moment(runs[0].start)}\n"
        f"Overhead ratio (wall time × cores / seconds of the jobs): {overhead_ratio(runs):.3f}"
    )


def _moment(seconds: float) -> str:
    """Return a time since 1970 as a date and time of the day, independent of the time zone."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"


def _rule_lines(
    jobs: Sequence[Job], runs: Sequence[Run], colors: Mapping[str, str]
) -> list[tuple[str, ...]]:
    """Return color, rule, jobs, seconds, CPU seconds, median and minimum of each line."""
    summaries = rule_summaries(jobs)
    own = [summary for summary in summaries if colors[summary.rule] != OTHER_COLOR]
    rest = {summary.rule for summary in summaries} - {summary.rule for summary in own}
    if len(rest) == 1:
        own, rest = summaries, set()
    lines = [(colors[run.rule], run.rule, *_numbers(run)) for run in own]
    for members, name in ((rest, f"{len(rest)} other rules"), (None, "all")):
        together = [_renamed(job) for job in jobs if members is None or job.rule in members]
        for summary in rule_summaries(together):
            lines.append(("" if members is None else OTHER_COLOR, name, *_numbers(summary)))
    if runs:
        idle = math.fsum(math.fsum(idle_seconds(run)) for run in runs)
        lines.append((IDLE_COLOR, "no job on a core", "", _seconds(idle), "", "", ""))
    return lines


def _renamed(job: Job) -> Job:
    """Return the job as one of a rule that contains all."""
    return Job("all", job.name, job.start, job.end, job.seconds, job.cpu_seconds, job.max_rss_mb)


def _numbers(summary) -> tuple[str, ...]:
    """Return the numbers of a rule as texts."""
    return (
        str(summary.n_jobs),
        _seconds(summary.seconds),
        _seconds(summary.cpu_seconds),
        f"{summary.median_seconds:.2f}",
        f"{summary.shortest_seconds:.2f}",
    )


def _seconds(value: float) -> str:
    """Return seconds without decimals, or with one below 100."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _run_lines(runs: Sequence[Run]) -> list[tuple[str, ...]]:
    """Return the numbers of the longest runs, of the other runs together, and of all."""
    longest = sorted(range(len(runs)), key=lambda i: (-runs[i].wall, i))[:MOST_RUNS]
    if len(runs) == MOST_RUNS + 1:
        longest = list(range(len(runs)))
    lines = [(str(i + 1), *_run_numbers([runs[i]])) for i in sorted(longest)]
    rest = [run for i, run in enumerate(runs) if i not in longest]
    if rest:
        lines.append((f"{len(rest)} others", *_run_numbers(rest)))
    if len(runs) > 1:
        lines.append(("all", *_run_numbers(runs)))
    return lines


def _run_numbers(runs: Sequence[Run]) -> tuple[str, ...]:
    """Return jobs, wall time, seconds of the jobs, cores, ratio, idle time and gap as texts."""
    cores = sorted({run.cores for run in runs})
    gaps = [gap for run in runs for gap in lane_gaps(run)]
    return (
        str(sum(len(run.bars) for run in runs)),
        _seconds(sum(run.wall for run in runs)),
        _seconds(sum(run.busy for run in runs)),
        str(cores[0]) if len(cores) == 1 else f"{cores[0]}–{cores[-1]}",
        f"{overhead_ratio(runs):.3f}",
        _seconds(sum(seconds_below_cores(run) for run in runs)),
        f"{np.median(gaps):.2f}" if gaps else "–",
    )


def _write_rules(axis, lines: Sequence[tuple[str, ...]]) -> None:
    """Write the table of the rules, with a swatch of the color of each."""
    heads = ("jobs", "seconds", "CPU s", "median s", "shortest s")
    places = (2.75, 3.5, 4.2, 4.95, 5.75)
    _write_line(axis, 0.5, 0.98, ("rule", *heads), places, weight="bold")
    for number, (color, *texts) in enumerate(lines, start=1):
        if color:
            axis.add_patch(_swatch(color, number))
        _write_line(axis, number + 0.5, 0.98, texts, places)


def _swatch(color: str, number: int):
    from matplotlib.patches import Rectangle

    return Rectangle((0.75, LINE * (number + 0.26)), 0.15, LINE * 0.52, color=color, linewidth=0)


def _write_runs(axis, lines: Sequence[tuple[str, ...]]) -> None:
    """Write the table of the runs."""
    heads = ("jobs", "wall s", "jobs' s", "cores", "ratio", "fewer s", "gap s")
    places = (7.25, 7.85, 8.5, 9.02, 9.55, 10.15, 10.7)
    _write_line(axis, 0.5, 6.2, ("run", *heads), places, weight="bold")
    for number, texts in enumerate(lines, start=1):
        _write_line(axis, number + 0.5, 6.2, texts, places)


def _write_line(axis, line: float, left: float, texts, places, **look) -> None:
    """Write one line of a table: the first text from `left`, the others up to their places."""
    axis.text(left, LINE * line, texts[0], fontsize=8, va="center", **look)
    for text, place in zip(texts[1:], places, strict=True):
        axis.text(place, LINE * line, text, fontsize=8, ha="right", va="center", **look)


def _notes(jobs: Sequence[Job], runs: Sequence[Run]) -> list[str]:
    """Return what the heads of the tables mean and how the time is spent, line by line."""
    notes = [
        "ratio: wall s × cores / jobs' s; of all runs, weighted by jobs' s / cores",
        "fewer s: seconds in which fewer jobs than cores ran",
        "gap s: median from the end of a job to the next on its core",
        "cores: the largest number of jobs at once",
        "CPU s: as last sampled, so too few, especially of short jobs",
    ]
    if runs:
        beginning, handover, waiting, ending = (
            _seconds(sum(part)) for part in zip(*(idle_seconds(run) for run in runs), strict=True)
        )
        notes += [
            f"idle core seconds: {handover} in gaps up to {LONGEST_HANDOVER:g} s, "
            f"{waiting} in longer ones,",
            f"    {beginning} before and {ending} after all cores were busy",
        ]
    least, total = floor_seconds(jobs), math.fsum(job.seconds or 0.0 for job in jobs)
    if least > 0:
        share = format_share(least / total)
        notes.append(f"if each job took the shortest of its rule: {share} of the seconds")
    n_unmeasured = len(unmeasured_jobs(jobs))
    if n_unmeasured:
        notes.append(f"not drawn: {count_of(n_unmeasured, 'job')} without a readable measurement")
    return notes
