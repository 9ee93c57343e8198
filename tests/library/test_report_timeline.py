"""The timeline holds every job, packs them on cores, and its figure depends on the CSV alone."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from report_samples import assert_apart

from workflow_lib.errors import UserError
from workflow_lib.report.run_figures import timeline as timeline_figure
from workflow_lib.report.run_figures.timeline import COLORS, draw_timeline, rule_colors
from workflow_lib.report.style import OTHER_COLOR, applied_style
from workflow_lib.report.timeline import (
    LONGEST_HANDOVER,
    LONGEST_PAUSE,
    RESOLUTION,
    Job,
    collect_jobs,
    floor_seconds,
    idle_seconds,
    lane_gaps,
    mean_running,
    overhead_ratio,
    pack_lanes,
    read_jobs,
    rule_summaries,
    running_jobs,
    seconds_below_cores,
    split_runs,
    timeline_part,
    timeline_sentences,
    write_jobs,
)

REPOSITORY = Path(__file__).parents[2]
HEADER = "s\th:m:s\tmax_rss\tmax_vms\tmax_uss\tmax_pss\tio_in\tio_out\tmean_load\tcpu_time\n"
MORNING = 1_700_000_000.0


def job(start, seconds, rule="models", name=""):
    return Job(rule, name, start, start + seconds, seconds, 0.5 * seconds, 100.0)


def random_jobs(seed, n_jobs=60, span=40.0):
    """Return jobs on a grid of eighths of a second, so that sums are exact."""
    random = np.random.default_rng(seed)
    starts = random.integers(0, 8 * span, n_jobs) / 8
    seconds = random.integers(1, 40, n_jobs) / 8
    rules = random.choice(["models", "embeddings", "regression"], n_jobs)
    return [
        job(MORNING + start, length, rule, str(index))
        for index, (start, length, rule) in enumerate(zip(starts, seconds, rules, strict=True))
    ]


def write_benchmark(path, seconds, end, cpu="0.75", rss="81.20", text=None):
    path.parent.mkdir(parents=True, exist_ok=True)
    row = f"{seconds}\t0:00:01\t{rss}\t100.00\t1.00\t1.00\t0.00\t0.00\t90.00\t{cpu}\n"
    path.write_text(HEADER + row if text is None else text)
    os.utime(path, (end, end))


@pytest.fixture
def folder(tmp_path):
    """Benchmark files of four jobs, two of which Snakemake could not sample."""
    folder = tmp_path / "jobs"
    write_benchmark(folder / "models" / "toy-0-gmm.tsv", "2.50", MORNING + 10)
    write_benchmark(folder / "acquire" / "toy-a.csv.tsv", "0.12", MORNING + 7, cpu="NA", rss="NA")
    write_benchmark(folder / "split" / "toy" / "0.tsv", "0.30", MORNING + 7.5, cpu="-", rss="-")
    write_benchmark(folder / "manifest.tsv", "1.00", MORNING + 12)
    return folder


def test_every_file_is_a_job_that_ends_when_the_file_was_written(folder):
    jobs = collect_jobs(folder)
    assert [(job.rule, job.name) for job in jobs] == [
        ("acquire", "toy-a.csv"),
        ("split", "toy/0"),
        ("models", "toy-0-gmm"),
        ("manifest", ""),
    ]
    assert [job.title for job in jobs][2:] == ["models/toy-0-gmm", "manifest"]
    models = jobs[2]
    assert (models.start, models.end, models.seconds) == (MORNING + 7.5, MORNING + 10, 2.5)
    assert (models.cpu_seconds, models.max_rss_mb) == (0.75, 81.2)
    assert [job.cpu_seconds for job in jobs[:2]] == [None, None]
    assert [job.max_rss_mb for job in jobs[:2]] == [None, None]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "s\th:m",
        HEADER,
        HEADER + "\n",
        HEADER + "-\t0:00:01",
        HEADER + "nan\t0:00:01",
        HEADER + "-1.0\t0:00:01",
    ],
)
def test_a_file_that_was_cut_off_is_counted_and_named(folder, tmp_path, text):
    write_benchmark(folder / "mean" / "toy-3.tsv", "", MORNING + 9, text=text)
    jobs = collect_jobs(folder)
    assert len(jobs) == 5
    (cut,) = [job for job in jobs if job.rule == "mean"]
    assert (cut.start, cut.end, cut.seconds) == (None, MORNING + 9, None)
    assert sum(len(job.bars) for job in split_runs(jobs)) == 4
    assert sum(summary.n_jobs for summary in rule_summaries(jobs)) == 4
    assert timeline_sentences(jobs)[-1].endswith("no sum includes them: mean/toy-3.")
    texts = texts_of(draw_timeline(jobs))
    assert "not drawn: 1 job without a readable measurement" in texts


def test_a_file_that_is_no_text_is_counted(folder):
    write_benchmark(folder / "mean.tsv", "", MORNING, text="")
    (folder / "mean.tsv").write_bytes(b"\xff\xfe\x00")
    assert [job.rule for job in collect_jobs(folder) if job.seconds is None] == ["mean"]


def test_a_file_that_cannot_be_read_is_counted(folder):
    write_benchmark(folder / "mean.tsv", "", MORNING, text=HEADER + "1" * 200_000 + "\t1\n")
    write_benchmark(folder / "rank.tsv", "", MORNING, text="")
    (folder / "rank.tsv").unlink()
    (folder / "rank.tsv").symlink_to(folder)
    unread = {job.rule for job in collect_jobs(folder) if job.seconds is None}
    assert unread == {"mean", "rank"}


def test_a_row_that_ends_early_keeps_its_seconds(folder):
    write_benchmark(folder / "mean.tsv", "", MORNING + 9, text=HEADER + "1.50\t0:00:01\t80.")
    (short,) = [job for job in collect_jobs(folder) if job.rule == "mean"]
    assert (short.seconds, short.cpu_seconds, short.max_rss_mb) == (1.5, None, 80.0)


def test_repetitions_are_one_job(folder):
    line = "1.50\t0:00:01\t{}\t1\t1\t1\t0\t0\t9\t0.25\n"
    write_benchmark(
        folder / "mean.tsv", "", MORNING + 9, text=HEADER + line.format(70) + line.format(90)
    )
    (twice,) = [job for job in collect_jobs(folder) if job.rule == "mean"]
    assert twice == Job("mean", "", MORNING + 6, MORNING + 9, 3.0, 0.5, 90.0)


@pytest.mark.parametrize("exists", [True, False])
def test_a_folder_without_benchmark_files_is_refused(tmp_path, exists):
    if exists:
        (tmp_path / "jobs").mkdir()
    with pytest.raises(UserError, match="there is no benchmark file"):
        collect_jobs(tmp_path / "jobs")


def test_the_csv_gives_the_jobs_back(folder, tmp_path):
    write_benchmark(folder / "mean" / 'a, "b".tsv', "", MORNING + 9, text="")
    jobs = collect_jobs(folder)
    write_jobs(tmp_path / "jobs.csv", jobs)
    assert read_jobs(tmp_path / "jobs.csv") == jobs
    head, *rows = (tmp_path / "jobs.csv").read_text().splitlines()
    assert head == "rule,name,start,end,seconds,cpu_seconds,max_rss_mb"
    assert len(rows) == len(jobs)
    assert str(tmp_path) not in "".join(rows)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "it cannot be read"),
        ("rule,name\n", "there is no column start, end, seconds, cpu_seconds and max_rss_mb"),
        ("{head}", "it has a header and no rows"),
        ("{head}models,a,1,x,1,,\n", "line 2, column end: found 'x'"),
        ("{head}models,a,1,2,1,,inf\n", "line 2, column max_rss_mb: found 'inf'"),
        ("{head}models,a,1,,1,,\n", "line 2, column end: found nothing"),
        ("{head}models,a,1,2\n", "line 2, column seconds: found nothing"),
        ("{head},a,1,2,1,,\n", "line 2, column rule: found nothing"),
        ("{head}models,a,,2,1,,\n", "only one of start and seconds is there"),
    ],
)
def test_faults_of_the_csv_are_named(tmp_path, text, message):
    path = tmp_path / "jobs.csv"
    if text is not None:
        head = "rule,name,start,end,seconds,cpu_seconds,max_rss_mb\n"
        path.write_text(text.format(head=head))
    with pytest.raises(UserError, match=message):
        read_jobs(path)


@pytest.mark.parametrize("seed", range(5))
def test_lanes_hold_no_overlaps_and_are_as_few_as_possible(seed):
    jobs = random_jobs(seed)
    bars = pack_lanes(jobs)
    assert sorted(bar.job.name for bar in bars) == sorted(job.name for job in jobs)
    lanes = {}
    for bar in bars:
        lanes.setdefault(bar.lane, []).append(bar)
    for lane in lanes.values():
        assert all(before.end <= after.start for before, after in pairwise(lane))
    # A job that ends when another starts leaves its core to it.
    at_once = [sum(a.start <= b.start < a.end for a in jobs) for b in jobs]
    assert sorted(lanes) == list(range(max(at_once)))


def test_a_job_follows_the_one_that_ended_last():
    first, second = job(0, 4, name="first"), job(0, 6, name="second")
    bars = pack_lanes([job(7, 1, name="third"), second, first])
    lane_of = {bar.job.name: bar.lane for bar in bars}
    assert lane_of["third"] == lane_of["second"] != lane_of["first"]


def test_jobs_that_overlap_by_a_rounding_share_a_core():
    jobs = [job(0, 2), job(2 - 0.9 * RESOLUTION, 3)]
    bars = pack_lanes(jobs)
    assert [bar.lane for bar in bars] == [0, 0]
    assert bars[1].start == bars[0].end
    assert split_runs(jobs)[0].cores == 1
    assert split_runs([job(0, 2), job(2 - 1.1 * RESOLUTION, 3)])[0].cores == 2


def test_jobs_shorter_than_the_rounding_have_no_negative_bar():
    bars = pack_lanes([job(0, 2), job(1.995, 0.002)])
    assert all(bar.end >= bar.start for bar in bars)


def test_a_pause_begins_another_run():
    jobs = [job(0, 10), job(2, 1), job(10 + LONGEST_PAUSE, 5), job(20 + 2 * LONGEST_PAUSE, 5)]
    runs = split_runs(reversed(jobs))
    assert [len(run.bars) for run in runs] == [3, 1]
    assert [run.cores for run in runs] == [2, 1]
    assert [run.wall for run in runs] == [15 + LONGEST_PAUSE, 5]


def test_no_pause_lies_inside_a_long_job():
    # The short job ends long before the next one starts; the long one is still running.
    assert len(split_runs([job(0, 1), job(0, 1000), job(900, 1)])) == 1


def test_the_ratio_is_one_without_gaps():
    jobs = [job(lane / 100, 5 - lane / 100, name=str(lane)) for lane in range(3)]
    jobs[1:] = [job(0, 5, name="b"), job(0, 5, name="c")]
    assert overhead_ratio(split_runs(jobs)) == pytest.approx(1)


def test_the_ratio_of_runs_is_weighted_by_their_least_time():
    jobs = [job(0, 10), job(0, 4), job(1000, 6), job(1009, 3)]
    first, second = split_runs(jobs)
    assert first.ratio == pytest.approx(10 * 2 / 14)
    assert second.ratio == pytest.approx(12 / 9)
    together = (7 * first.ratio + 9 * second.ratio) / (7 + 9)
    assert overhead_ratio([first, second]) == pytest.approx(together)


def test_without_any_second_there_is_no_ratio():
    assert math.isnan(overhead_ratio(split_runs([job(0, 0)])))


@pytest.mark.parametrize("seed", range(5))
def test_running_jobs_are_those_counted_one_by_one(seed):
    jobs = random_jobs(seed)
    (run,) = split_runs(jobs)
    times, counts = running_jobs(run)
    assert times[0] == 0 and times[-1] == run.wall and counts[-1] == 0
    middles = run.start + (times[:-1] + times[1:]) / 2
    expected = [sum(job.start < moment < job.end for job in jobs) for moment in middles]
    np.testing.assert_array_equal(counts[:-1], expected)
    widths = zip(np.diff(times), expected, strict=True)
    below = sum(width for width, count in widths if count < run.cores)
    assert seconds_below_cores(run) == pytest.approx(below)


@pytest.mark.parametrize("seed", range(5))
def test_bars_and_idle_time_fill_the_cores(seed):
    (run,) = split_runs(random_jobs(seed))
    idle = idle_seconds(run)
    assert min(idle) >= 0
    assert sum(idle) + run.busy == pytest.approx(run.cores * run.wall)


def test_a_core_that_took_no_time_idles():
    (run,) = split_runs([job(0, 10), job(5, 0)])
    assert run.cores == 2
    assert sum(idle_seconds(run)) == pytest.approx(10)


def test_idle_time_is_reported_by_its_cause():
    jobs = [
        job(0, 10, name="a"),
        job(3, 7, name="b"),
        job(10.5, 4.5, name="c"),
        job(10 + 2 * LONGEST_HANDOVER, 5 - 2 * LONGEST_HANDOVER, name="d"),
        job(15, 6, name="e"),
    ]
    (run,) = split_runs(jobs)
    idle = idle_seconds(run)
    assert idle.beginning == pytest.approx(3)
    assert idle.handover == pytest.approx(0.5)
    assert idle.waiting == pytest.approx(2 * LONGEST_HANDOVER)
    assert idle.ending == pytest.approx(6)
    assert sorted(lane_gaps(run)) == pytest.approx([0, 0.5, 2 * LONGEST_HANDOVER])


@pytest.mark.parametrize("seed", range(3))
def test_mean_numbers_keep_the_core_seconds(seed):
    jobs = random_jobs(seed)
    (run,) = split_runs(jobs)
    edges = np.linspace(0, run.wall, 7)
    means = mean_running(run, edges)
    assert np.sum(means * np.diff(edges)) == pytest.approx(run.busy)
    moments = run.start + np.linspace(edges[2], edges[3], 20001)[:-1]
    counts = sum((job.start <= moments) & (moments < job.end) for job in jobs)
    assert means[2] == pytest.approx(np.mean(counts), abs=0.01)


def test_rules_are_summed_up_from_the_longest():
    jobs = [job(0, 1), job(1, 4), job(5, 1), job(9, 8, rule="forest"), job(20, 2, rule="read")]
    forest, models, read = rule_summaries(jobs)
    assert (forest.rule, models.rule, read.rule) == ("forest", "models", "read")
    assert models[1:] == (3, 6.0, 3.0, 1.0, 1.0, 100.0)


def test_the_floor_is_the_shortest_job_of_each_rule_with_enough_jobs():
    jobs = [job(10 * i, 2 + i, name=str(i)) for i in range(5)]
    few = [job(100 + 10 * i, 9, rule="forest", name=str(i)) for i in range(4)]
    assert floor_seconds(jobs + few) == 5 * 2


def test_sentences_state_the_ratio_and_the_floor():
    jobs = [job(10 * i, 9, name=str(i)) for i in range(5)]
    sentences = timeline_sentences(jobs)
    assert sentences[0] == (
        "The run took 49 s for 5 jobs of 45 s together, at most 1 at once: 1.089 times what the "
        "jobs alone would take on as many cores."
    )
    assert "takes 1.00 s (median)" in sentences[2]
    assert "45 s, 100 % of all" in sentences[3]


def test_the_part_of_the_report_says_how_to_read_the_figure(tmp_path):
    for starts, cut in (((0,), False), ((0, 1000), True)):
        path = tmp_path / "jobs.csv"
        write_jobs(path, [job(start, 10) for start in starts])
        part = timeline_part(path, "jobs.svg")
        assert part["svg"] == "jobs.svg"
        assert ("the time is cut" in part["caption"]) == cut
        assert part["alt"].startswith(
            f"Timeline of {'2 jobs in 2 runs' if cut else '1 job in 1 run'}"
        )
        assert part["findings"] == timeline_sentences(read_jobs(path))


def test_the_start_of_a_run_is_marked_even_close_to_the_end_of_another():
    figure = draw_timeline([job(0, 21), job(1000, 60)])
    labels = [text.get_text() for text in figure.axes[0].get_xticklabels()]
    assert labels == ["0", "10", "0", "10", "20", "30", "40", "50", "60"]


def texts_of(figure):
    return [text.get_text() for axis in figure.axes for text in axis.texts]


def drawn_spans(figure):
    """Return (color, start, end, lane) of every colored bar within the limits of its strip."""
    from matplotlib.colors import to_hex

    spans = set()
    for axis in figure.axes[:-2]:
        low, high = axis.get_xlim()
        for bars in axis.collections:
            color = to_hex(bars.get_facecolor()[0])
            for path in bars.get_paths():
                (left, bottom), (right, top) = path.get_extents().get_points()
                if color != timeline_figure.IDLE_COLOR and right > low and left < high:
                    lane = round((bottom + top) / 2)
                    spans.add((color, round(left, 6), round(right, 6), lane))
    return spans


@pytest.mark.parametrize("per_strip", [90, 7])
def test_every_job_has_one_bar_in_the_color_of_its_rule(monkeypatch, per_strip):
    monkeypatch.setattr(timeline_figure, "JOBS_PER_STRIP", per_strip)
    jobs = random_jobs(1)
    figure = draw_timeline(jobs)
    assert len(figure.axes) > 3 or per_strip == 90
    (run,) = split_runs(jobs)
    colors = rule_colors(jobs)
    assert set(colors.values()) == set(COLORS[:3])
    expected = {
        (
            colors[bar.job.rule].lower(),
            round(bar.start - run.start, 6),
            round(bar.end - run.start, 6),
            bar.lane,
        )
        for bar in run.bars
    }
    assert drawn_spans(figure) == expected
    assert len(expected) == len(jobs)


def test_pauses_are_cut_and_the_runs_named():
    jobs = [job(MORNING, 50), job(MORNING + 90_000, 50, name="next")]
    figure = draw_timeline(jobs)
    low, high = figure.axes[0].get_xlim()
    assert 100 <= high - low < 110
    names = [text for text in texts_of(figure) if text.startswith("run ")]
    assert names == ["run 1, 2023-11-14 22:13 UTC", "run 2, 2023-11-15 23:13 UTC"]
    labels = [text.get_text() for text in figure.axes[0].get_xticklabels()]
    assert labels.count("0") == 2
    assert figure.get_suptitle().endswith("1.000")


def test_the_tables_hold_all_seconds():
    rules = [f"rule_{number:02d}" for number in range(12)]
    jobs = [job(30 * i, 12 - i, rule=rule, name=rule) for i, rule in enumerate(rules)]
    colors = rule_colors(jobs)
    assert [colors[rule] for rule in rules] == [*COLORS, *[OTHER_COLOR] * 4]
    texts = texts_of(draw_timeline(jobs))
    others, everything = texts.index("4 other rules"), texts.index("all")
    assert texts[others + 1 : others + 3] == ["4", "10.0"]
    assert texts[everything + 1 : everything + 3] == ["12", "78.0"]
    assert "rule_07" in texts and "rule_08" not in texts


def test_many_runs_share_lines_of_the_table():
    jobs = [job(1000 * i, 10 + i, name=str(i)) for i in range(9)]
    texts = texts_of(draw_timeline(jobs))
    place = texts.index("3 others")
    assert texts[place + 1 : place + 4] == ["3", "33.0", "33.0"]


def test_no_text_leaves_the_page_or_lies_on_another():
    rules = ["image_features", "principal_components", "output_kernel", *"abcdefgh"]
    jobs = [job(130 * i, 100 + 1000 * i, rule=rules[i % 11], name=str(i)) for i in range(40)]
    jobs += [job(1e6 * i, 10, name=f"run {i}") for i in range(1, 9)]
    figure = draw_timeline([*jobs, Job("read", "cut", None, 5.0, None, None, None)])
    with applied_style():
        figure.draw_without_rendering()
        table = [t.get_window_extent() for t in figure.axes[-1].texts if t.get_text()]
        assert_apart(figure, table)
        names = [t.get_window_extent() for axis in figure.axes[:-1] for t in axis.texts]
        assert all(box.x1 <= figure.bbox.x1 for box in names)


@pytest.mark.parametrize(
    "jobs",
    [
        [job(0, 5)],
        [job(0, 0)],
        [Job("read", "a", None, 5.0, None, None, None)],
        [job(index / 4, 50, name=str(index)) for index in range(70)],
        [job(7200 * index, 7190, name=str(index)) for index in range(20)],
    ],
    ids=["one", "no time", "none measured", "70 cores", "hours"],
)
def test_unusual_timelines_can_be_drawn(jobs, tmp_path):
    write_jobs(tmp_path / "jobs.csv", jobs)
    figure = draw_timeline(read_jobs(tmp_path / "jobs.csv"))
    with applied_style():
        figure.draw_without_rendering()


def test_the_svg_of_many_jobs_holds_an_image_instead(monkeypatch, tmp_path):
    sizes = []
    for most in (1000, 10):
        monkeypatch.setattr(timeline_figure, "MOST_VECTORS", most)
        path = tmp_path / f"{most}.svg"
        timeline_figure.save_figure(draw_timeline(random_jobs(0)), path)
        sizes.append(path.read_text().count("<image "))
    assert sizes[0] == 0 < sizes[1]


SCRIPT = """
import sys
from pathlib import Path
from workflow_lib.report.run_figures import timeline
jobs = Path(sys.argv[1]) / "jobs"
timeline.run(jobs / "jobs.csv", jobs / "jobs.svg", jobs / "jobs.png")
"""


def test_the_same_files_give_the_same_bytes_in_every_folder_and_time_zone(tmp_path):
    contents = []
    for seed, zone in (("1", "UTC"), ("2", "Asia/Tokyo")):
        folder = tmp_path / f"folder {seed}"
        order = range(12) if seed == "1" else reversed(range(12))
        for number in order:
            path = folder / "jobs" / f"rule_{number % 3}" / f"{number}.tsv"
            write_benchmark(path, "1.50", MORNING + number)
        subprocess.run(
            [sys.executable, "-c", SCRIPT, str(folder)],
            cwd=REPOSITORY,
            env={**os.environ, "PYTHONHASHSEED": seed, "TZ": zone},
            check=True,
        )
        names = ("jobs.csv", "jobs.svg", "jobs.png")
        contents.append([(folder / "jobs" / name).read_bytes() for name in names])
    assert contents[0] == contents[1]
    everything = b"".join(contents[0])
    assert b"<dc:date>" not in everything
    assert str(tmp_path).encode() not in everything
