"""Both sides of every benchmark agree, and the tables and the page have the expected content.

Nothing here depends on measured times.
"""

import csv
import importlib
import re
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from each_case import each_case
from paper_folders import needs_paper

from benchmarks import (
    TITLES,
    box_search,
    em_of_series,
    measuring,
    page,
    random_features,
    run_cpu,
    selection,
)
from benchmarks import __main__ as command
from benchmarks.measuring import Measurement, Timing, at_least, at_most
from benchmarks.problems import N_FOLDS, Problem, smooth_problem

SMALL = 40


def small_problem() -> Problem:
    return smooth_problem(SMALL)


# --- what is compared is equal -------------------------------------------------------------------


def test_the_problem_is_the_same_for_the_same_seed_and_has_folds_of_equal_size():
    first, again, other = small_problem(), small_problem(), smooth_problem(SMALL, seed=1)
    np.testing.assert_array_equal(first.outputs, again.outputs)
    assert not np.allclose(first.outputs, other.outputs)
    assert np.bincount(first.folds).tolist() == [SMALL // N_FOLDS] * N_FOLDS


def test_every_score_of_kernel_ridge_is_that_of_grid_search():
    problem = small_problem()
    targets = selection.kernel_ridge_targets(problem)
    ours = selection.scores_by_point(problem, targets, center=False)
    theirs = selection.peer_kernel_ridge(problem)
    assert len(ours) == len(selection.WIDTHS) * len(selection.ALPHAS)
    assert selection.largest_difference(ours, theirs) < selection.EQUAL
    chosen = selection.kernel_ridge_selection(problem, center=False)
    assert chosen.score == pytest.approx(min(theirs.values()), rel=1e-9)
    assert theirs[None, chosen.kernel.width, chosen.alpha_rest] == pytest.approx(
        chosen.score, rel=1e-9
    )


def test_every_score_of_the_mixture_is_that_of_grid_search():
    problem = small_problem()
    sample = {"widths": selection.WIDTHS[1:3], "alphas": selection.ALPHAS[3:6:2]}
    targets = selection.mixture_targets(problem)
    ours = selection.scores_by_point(problem, targets, center=True, **sample)
    theirs = selection.peer_mixture(problem, **sample)
    assert len(theirs) == 4 * len(selection.COMPONENT_COUNTS)
    assert selection.largest_difference(ours, theirs) < selection.EQUAL


def test_the_mixture_selection_has_a_choice_for_every_component_count():
    problem = small_problem()
    shared = selection.mixture_selection(problem, "shared")
    per_block = selection.mixture_selection(problem, "per_block")
    assert list(shared) == list(selection.COMPONENT_COUNTS) == list(per_block)
    for count, choice in per_block.items():
        # The pairs of equal penalties are among the pairs.
        assert choice.score <= shared[count].score * (1 + 1e-9)


def test_errors_on_landmarks_and_random_features_fall_towards_the_exact_one():
    problem = smooth_problem(300)
    X, test_X = problem.inputs[:200], problem.inputs[200:]
    Y, test_Y = problem.outputs[:200], problem.outputs[200:]
    fit = random_features.selected(X, Y, X[:50], random_features.WIDTHS)
    assert random_features.error(fit, test_X, test_Y) < 0.9 * test_Y.var(axis=0).mean()
    exact, few, many = (
        random_features.error(random_features.fitted(features, X, Y), test_X, test_Y)
        for features in (
            random_features.of_landmarks(X, 200),
            *(random_features.random(count) for count in (10, 1000)),
        )
    )
    assert abs(many - exact) < abs(few - exact)


SEQUENCES = {"n": 20, "shortest": 2, "longest": 9, "gain": 1}
SMALL_MEASUREMENTS = [
    (None, "em_of_series", "series", {"n": 30, "steps": 4, "states": 2, "numbers": 1}),
    ("perina", "em_of_series", "sequences", SEQUENCES | {"emission": "categorical"}),
    ("perina", "em_of_series", "sequences", SEQUENCES | {"emission": "gaussian"}),
    ("blaschko", "box_search", "ten_boxes", {"n": 8}),
    ("blaschko", "linear_penalties", "paths", {"n": 30, "n_inputs": 12}),
    ("varoquaux", "matrix_factorisation", "non_negative", {"n": 500, "p": 40, "passes": 1}),
    (None, "random_features", "fits", {"n": 50, "n_landmarks": 10}),
    (None, "structured_machine", "constraint", {"n": 100, "n_planes": 3}),
    ("blaschko", "support_training", "peer", {"n": 40, "mirrored": True}),
]


@pytest.mark.parametrize(
    ("name", "function", "arguments"),
    [
        pytest.param(
            *measured, marks=needs_paper(paper) if paper else (), id="-".join(measured[:2])
        )
        for paper, *measured in SMALL_MEASUREMENTS
    ],
)
def test_a_small_measurement_returns_rows_whose_sides_agree(name, function, arguments, monkeypatch):
    monkeypatch.setattr(measuring, "SECONDS_PER_REPETITION", 0.0)
    monkeypatch.setattr(measuring, "REPETITIONS", 1)
    monkeypatch.setattr(em_of_series, "ITERATIONS", 3)
    monkeypatch.setattr(em_of_series, "PYKALMAN_SERIES", 3)
    for found in getattr(importlib.import_module(f"benchmarks.{name}"), function)(**arguments):
        assert ["benchmark", *found] == list(measuring.COLUMNS)
        assert float(found["ratio"]) > 0 and float(found["agreement"] or 0) < 0.02


# --- measuring -----------------------------------------------------------------------------------


def test_sides_are_timed_in_turn_and_an_expensive_one_once(monkeypatch):
    # Every call counts as long enough.
    monkeypatch.setattr(measuring, "SECONDS_PER_REPETITION", 0.0)
    monkeypatch.setattr(measuring, "REPETITIONS", 3)
    order = []

    def call(name):
        order.append(name)
        return len(order)

    calls = {name: lambda name=name: call(name) for name in ("ours", "peer", "slow")}
    found = measuring.interleaved(calls, once=("slow",))
    assert order == ["ours", "peer", "slow", "ours", "peer", "ours", "peer"]
    assert [len(found[name].seconds) for name in calls] == [3, 3, 1]
    assert found["peer"].result == 7 and found["slow"].result == 3


def test_ratios_of_rounds_are_paired():
    # The machine was ten times slower in the second round, which does not affect the ratio.
    ours, peer = Timing((1.0, 10.0, 1.1)), Timing((2.0, 20.0, 2.2))
    assert measuring.times(peer, ours) == pytest.approx(2.0)
    assert measuring.times(Timing((3.0,)), ours) == pytest.approx(3.0 / 1.1)
    assert Timing((1.0, 2.0)).scaled(5.0).seconds == (5.0, 10.0)


def test_a_goal_is_a_cost_or_a_gain_and_may_ask_for_agreement():
    assert at_most(3).met(2.9, None) and not at_most(3).met(3.1, None)
    assert at_least(10).met(11, None) and not at_least(10).met(9, None)
    equal = at_least(10, 1e-10)
    assert equal.met(11, 1e-12)
    assert not equal.met(11, 1e-9) and not equal.met(11, None)
    assert str(equal) == ">= 10, equal to 1e-10"


def test_a_row_has_the_common_columns_and_the_direction_of_its_ratio():
    ours, peer = Timing((1.0, 1.0, 2.0), 5.0), Timing((4.0,), 7.0)
    gain = measuring.row(10, 2, "m", ours, "theirs", peer, at_least(3, 1e-3), agreement=1e-6)
    assert ["benchmark", *gain] == list(measuring.COLUMNS)
    assert (gain["ratio"], gain["ratio_is"], gain["met"]) == ("4", "peer / own", "yes")
    assert (gain["seconds"], gain["seconds_max"], gain["peer_seconds"]) == ("1", "2", "4")
    assert (gain["memory_mb"], gain["peer_memory_mb"]) == ("5", "7")
    assert gain["note"] == "peer timed once"
    cost = measuring.row(10, 2, "m", ours, "theirs", peer, at_most(0.2))
    assert (cost["ratio"], cost["ratio_is"], cost["met"]) == ("0.25", "own / peer", "no")
    alone = measuring.row(10, 2, "m", ours)
    assert (alone["ratio"], alone["goal"], alone["met"]) == ("", "", "")
    given = measuring.row(10, 2, "m", peer="a matrix", goal=at_most(3), ratio=2.0, memory_mb=9.0)
    assert (given["seconds"], given["met"], given["memory_mb"]) == ("", "yes", "9")


def test_peak_memory_counts_memory_that_a_call_frees_again():
    size = 2**26
    result, megabytes = measuring.with_peak_memory(lambda: float(np.ones(size // 8).sum()))
    if megabytes is None:
        pytest.skip("the system does not tell the memory of a process")
    assert result == size // 8
    assert size / 2**20 * 0.9 < megabytes < size / 2**20 * 1.5


@each_case("quick", [True, False])
@each_case("name", TITLES)
def test_every_measurement_names_a_function_and_its_arguments(name, quick):
    module = importlib.import_module(f"benchmarks.{name}")
    wanted = module.measurements(quick)
    assert wanted or (name == "fisher_scores" and find_spec("skimage") is None)
    for measurement in wanted:
        parameters = getattr(module, measurement.function).__annotations__
        assert set(measurement.arguments) < set(parameters)
    assert len(wanted) <= len(module.measurements(False))


def test_a_run_measures_in_another_process_and_writes_table_and_page(tmp_path, monkeypatch, capsys):
    wanted = [Measurement("one_box", {"n": 8}), Measurement("no_such_function", {})]
    monkeypatch.setattr(box_search, "measurements", lambda quick: wanted)
    assert command.main(["box_search", "--quick", "--folder", str(tmp_path)]) == 1
    printed = capsys.readouterr()
    assert "failed: box_search no_such_function()" in printed.err
    with (tmp_path / "box_search.csv").open(encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert header == list(measuring.COLUMNS)
    found = dict(zip(header, rows[0], strict=True))
    assert (found["benchmark"], found["n"], found["threads"]) == ("box_search", "8", "1")
    assert float(found["agreement"]) == 0.0
    text = (tmp_path / page.PAGE_NAME).read_text(encoding="utf-8")
    assert "branch and bound" in text and "Python" in text


def test_an_unknown_name_lists_the_known_ones(capsys):
    with pytest.raises(SystemExit):
        command.main(["selectoin"])
    assert "selection" in capsys.readouterr().err


# --- the page ------------------------------------------------------------------------------------


def example_tables(folder: Path) -> None:
    rows = []
    for n, seconds, goal in ((100, 0.01, 3), (200, 0.08, 3), (400, 0.64, 1)):
        rows.append(
            {"benchmark": "box_search"}
            | measuring.row(
                n,
                5,
                "ours <&>",
                Timing((seconds,) * 3, n / 10),
                "theirs",
                Timing((2.0 * seconds,) * 3, n / 5),
                at_least(goal),
                note="made up",
            )
        )
    pd.DataFrame(rows).to_csv(folder / "box_search.csv", index=False)


def test_the_page_is_one_offline_file_with_goals_plots_and_fitted_exponents(tmp_path):
    example_tables(tmp_path)
    text = page.write_page(tmp_path).read_text(encoding="utf-8")
    assert "<b>1 of 3</b> goals met" in text
    assert "ours &lt;&amp;&gt;" in text and "ours <&>" not in text
    assert text.count("<svg") == 1
    assert not re.search(r'(?:src|href)="(?!#)', re.sub(r'xlink:href="#[^"]*"', "", text))
    assert "Not recorded" in text
    again = tmp_path / page.PAGE_NAME
    assert page.write_page(tmp_path) == again and again.read_text(encoding="utf-8") == text


def test_lines_of_the_page_are_methods_and_peers_over_n(tmp_path):
    example_tables(tmp_path)
    rows = pd.read_csv(tmp_path / "box_search.csv")
    lines = page.lines_of(rows, "seconds")
    assert lines["ours <&>"].to_dict() == {100: 0.01, 200: 0.08, 400: 0.64}
    assert lines["theirs"].to_dict() == {100: 0.02, 200: 0.16, 400: 1.28}
    assert page.fitted_exponent(lines["theirs"]) == pytest.approx(3.0)
    assert page.lines_of(rows, "memory_mb")["ours <&>"].tolist() == [10.0, 20.0, 40.0]
    # Memory that was measured alone takes precedence.
    alone = rows.assign(seconds=np.nan, memory_mb=9.0)
    for both in ([rows, alone], [alone, rows]):
        assert (page.lines_of(pd.concat(both), "memory_mb")["ours <&>"] == 9.0).all()


def test_the_cpu_of_a_run_is_that_of_its_parts():
    def noted(program, start, imports, total):
        return {"program": program, "start": start, "imports": imports, "all": total}

    seconds = run_cpu.by_part(
        [
            noted("bin/python/snakemake/__main__.py", 0.1, 2.0, 5.0),
            noted("scripts/job_processes.py", 0.25, 1.0, 1.5),
            noted(".snakemake/scripts/tmp1.regression.py", 0.0, 0.5, 4.5),
            noted(".snakemake/scripts/tmp2.figure.py", 0.25, 0.25, 1.0),
            noted(".snakemake/scripts/tmp3.scores.py", 0.0, 0.0, 0.5),
        ]
    )
    assert [seconds[part] for part in run_cpu.PARTS] == [5.0, 0.5, 2.0, 4.0, 0.5, 0.5, 0.0]
