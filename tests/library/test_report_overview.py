"""The figures that open the report, and the sentences above them."""

import math

import numpy as np
import pandas as pd
import pytest
from overlaps import overlaps
from report_samples import (
    METHODS,
    base_error,
    better_error,
    worse_error,
    write_accuracies,
    write_scores,
)
from scipy import stats

from workflow_lib.protocol.statistics import detectable_difference
from workflow_lib.report.labels import format_signed
from workflow_lib.report.overview import (
    best_of,
    beware,
    came_out,
    findings,
    overview,
    shared_methods,
)
from workflow_lib.report.results import read_scores
from workflow_lib.report.run_figures.overview import (
    MIDDLE,
    color_of,
    curve_points,
    curves_in_words,
    draw_best,
    draw_curves,
    draw_headline,
    headline_in_words,
    run,
)

EXPERIMENTS = {
    "first": {"title": "First data", "stand_in_for": "other data", "metric": "arrmse"},
    "second": {"title": "Second data", "stand_in_for": None, "metric": "arrmse"},
}


@pytest.fixture
def paths(tmp_path):
    """Two experiments: OFER is better in the first and equal in the second; one method in one."""
    shared = [("m-krr", "selected", 0, base_error), ("m-rf", "selected", 0, worse_error)]
    first = [*shared, ("ofer-gmm", "selected", 0, better_error)]
    second = [*shared, ("ofer-gmm", "2", 0, base_error), ("ofer-gmm", "4", 0, worse_error)]
    second += [("wofer-gmm", "selected", 100, better_error)]
    return {
        "first": write_scores(tmp_path / "first.csv", first),
        "second": write_scores(tmp_path / "second.csv", second),
    }


@pytest.fixture
def scores(paths):
    return {name: read_scores(path) for name, path in paths.items()}


@pytest.fixture
def found(scores):
    return overview(scores, EXPERIMENTS, METHODS)


def said(finding):
    return f"{finding.before}{finding.link}{finding.after}"


def row_of(found, experiment, method):
    (row,) = found[(found["experiment"] == experiment) & (found["method"] == method)].itertuples()
    return row


def test_differences_are_relative_to_the_reference_at_the_largest_size(found):
    row = row_of(found, "first", "ofer-gmm")
    base = np.mean([base_error(50, split) for split in range(5)])
    ours = np.mean([better_error(50, split) for split in range(5)])
    assert (row.training_size, row.outcome, row.is_stand_in) == (50, "better", True)
    assert row.difference_percent == pytest.approx(100 * (ours - base) / base)
    assert row_of(found, "first", "m-rf").outcome == "worse"
    assert row_of(found, "first", "m-krr").outcome == ""
    # Of fixed numbers of components the one with the lowest mean.
    equal = row_of(found, "second", "ofer-gmm")
    assert (equal.outcome, equal.difference_percent) == ("equal", 0.0)


def test_the_best_is_the_reference_where_others_equal_it(found):
    best = best_of(found[found["method"] != "wofer-gmm"])
    assert list(best["method"]) == ["ofer-gmm", "m-krr"]


def test_the_reference_is_the_best_where_it_equals_itself_without_weak_rows(found):
    equal = found.assign(outcome="equal")
    best = best_of(equal)
    assert list(best["experiment"]) == list(dict.fromkeys(found["experiment"]))
    assert (best["label"] == best["reference"]).all()


def test_a_ceiling_is_not_the_best(scores):
    methods = METHODS | {"ofer-gmm": METHODS["ofer-gmm"] | {"weak_outputs": "true"}}
    found = overview(scores, EXPERIMENTS, methods)
    assert list(best_of(found)["method"]) == ["m-krr", "wofer-gmm"]


def test_columns_are_methods_that_are_compared_in_two_experiments(found):
    assert shared_methods(found) == ["m-rf", "ofer-gmm"]
    alone = found[found["experiment"] == "first"]
    assert shared_methods(alone) == ["m-rf", "ofer-gmm"]


def test_the_detectable_difference_has_about_its_power():
    # Independent splits without the correction: one test row for a million training rows.
    limit = detectable_difference(1.0, 10, 10**6, 1)
    draws = np.random.default_rng(0).normal(limit, 1.0, size=(20_000, 10))
    power = (stats.ttest_1samp(draws, 0.0, axis=1).pvalue < 0.05).mean()
    assert power == pytest.approx(0.8, abs=0.03)
    assert detectable_difference(2.0, 10, 50, 100) > 2 * limit
    with pytest.raises(ValueError, match="two splits"):
        detectable_difference(1.0, 1, 10, 10)


def test_a_row_states_the_difference_that_the_test_finds(found):
    row = row_of(found, "first", "ofer-gmm")
    differences = [better_error(50, s) - base_error(50, s) for s in range(5)]
    limit = detectable_difference(np.std(differences, ddof=1), 5, 50, 10)
    assert row.detectable_percent == pytest.approx(100 * limit / row.reference_error)
    assert math.isnan(row_of(found, "second", "ofer-gmm").detectable_percent)


def test_the_sentences_say_what_came_out_and_what_to_beware_of(found):
    text = said(came_out(found))
    assert "is significantly better than the reference in 2 of 2 experiments" in text
    assert text.endswith("% lower.")
    assert said(beware(found, unbeaten=["second"])) == (
        "What to beware of: the numbers on 1 stand-in are not comparable with published ones, no "
        "method beats a guess at some training size in 1 of 2 experiments, and the tests of 5 "
        "comparisons are not corrected for their number."
    )
    texts = [said(sentence) for sentence in findings(found)]
    assert texts[0] == "OFER-GMM has the lowest error in 1 of 2 experiments."
    assert "m-RF" in texts[1] and texts[1].endswith("% higher.")
    assert texts[2] == "OFER is its reference up to rounding in 1 of 3 comparisons."


def test_nothing_significant_is_said_too(tmp_path):
    rows = [("m-krr", "selected", 0, base_error), ("m-rf", "selected", 0, base_error)]
    scores = {"first": read_scores(write_scores(tmp_path / "s.csv", rows))}
    found = overview(scores, {"first": EXPERIMENTS["first"]}, METHODS)
    for sentence, word in ((came_out(found), "better"), (findings(found)[1], "worse")):
        text = f"o method is significantly {word} than the reference in any of 1 comparison."
        assert said(sentence).endswith(text)


def test_colours_are_blue_below_and_orange_above_the_reference():
    red, _, blue = color_of(-30)
    assert blue > red
    red, _, blue = color_of(30)
    assert red > blue
    assert color_of(25) == color_of(60)
    assert color_of(0) == tuple(int(MIDDLE[i : i + 2], 16) / 255 for i in (1, 3, 5))


def texts_of(figure):
    return [text.get_text() for axis in figure.axes for text in axis.texts]


def test_the_headline_writes_each_difference(found):
    texts = texts_of(draw_headline(found))
    for row in found.itertuples():
        if row.outcome in ("better", "worse"):
            assert format_signed(row.difference_percent) in texts
    assert "=" in texts
    assert "first (stand-in)" in texts and "second" in texts
    # It ran on one experiment only, where it is the best of these.
    assert "wOFER-GMM" in texts and "best of the others" in texts
    words = headline_in_words(found)
    assert "2 experiments" in words and "2 significantly better" in words


def test_curves_are_those_of_the_best_and_of_the_reference(scores, found):
    points = curve_points(scores, EXPERIMENTS, found)
    assert set(points.loc[points["experiment"] == "first", "method"]) == {"m-krr", "ofer-gmm"}
    point = points[(points["experiment"] == "first") & (points["method"] == "ofer-gmm")].iloc[0]
    assert point["training_size"] == 20
    assert point["mean"] == pytest.approx(np.mean([better_error(20, s) for s in range(5)]))
    equal = points[(points["experiment"] == "second") & points["is_reference"]]
    assert set(equal["label"]) == {"m-KRR = OFER-GMM"}
    figure = draw_curves(points, EXPERIMENTS, METHODS)
    assert len(figure.axes) == 2
    assert "first: OFER-GMM" in curves_in_words(points)


def test_long_names_do_not_reach_into_cells_and_lines(scores):
    methods = {
        name: keys | {"label": f"{'many words ' * 5}{name}"} for name, keys in METHODS.items()
    }
    found = overview(scores, EXPERIMENTS, methods)
    points = curve_points(scores, EXPERIMENTS, found)
    assert overlaps(draw_curves(points, EXPERIMENTS, methods)) == []
    assert overlaps(draw_best(found)) == []
    figure = draw_headline(found)
    boxes = [text.get_window_extent() for text in figure.axes[0].texts]
    assert all(0 <= box.x0 and box.x1 <= figure.bbox.x1 for box in boxes)
    assert all(0 <= box.y0 and box.y1 <= figure.bbox.y1 for box in boxes)
    # The difference of the first method is to the right of the names of the experiments.
    ends = {text.get_text(): box.x1 for text, box in zip(figure.axes[0].texts, boxes, strict=True)}
    left = min(patch.get_window_extent().x0 for patch in figure.axes[0].patches[:1])
    assert all(end < left for text, end in ends.items() if text.startswith("n = 50"))
    assert METHODS["m-rf"]["label"] != methods["m-rf"]["label"] and methods["m-rf"]["label"] in ends


def test_accuracies_are_compared_as_error_rates_and_drawn_in_per_cent(tmp_path):
    rows = [
        ("class-krr", "selected", 0, lambda size, split: 0.8 + 0.01 * split),
        ("ofer-gmm", "selected", 0, lambda size, split: 0.9 + 0.01 * split),
    ]
    scores = {"c": read_scores(write_accuracies(tmp_path / "s.csv", rows))}
    experiments = {"c": {"title": "Classes", "stand_in_for": None, "metric": "accuracy"}}
    found = overview(scores, experiments, METHODS)
    assert row_of(found, "c", "ofer-gmm").difference_percent == pytest.approx(-100 * 0.1 / 0.18)
    points = curve_points(scores, experiments, found)
    assert set(points.loc[~points["is_reference"], "mean"].round(9)) == {92.0}


def test_the_files_are_the_same_bytes_again(paths, tmp_path):
    contents = []
    for number in range(2):
        files = [
            {suffix: tmp_path / f"{name}-{number}.{suffix}" for suffix in ("svg", "png", "csv")}
            for name in ("best", "headline", "curves")
        ]
        run(paths, EXPERIMENTS, METHODS, *files)
        contents.append([path.read_bytes() for group in files for path in group.values()])
    assert contents[0] == contents[1]
    assert len(pd.read_csv(tmp_path / "headline-0.csv")) == 7


def test_a_reference_without_error_has_no_finite_differences(tmp_path):
    rows = [
        ("class-krr", "selected", 0, lambda size, split: 1.0),
        ("ofer-gmm", "selected", 0, lambda size, split: 0.9 + 0.01 * split),
        ("m-rf", "selected", 0, lambda size, split: 1.0),
    ]
    scores = {"c": read_scores(write_accuracies(tmp_path / "s.csv", rows))}
    experiments = {"c": {"title": "Classes", "stand_in_for": None, "metric": "accuracy"}}
    found = overview(scores, experiments, METHODS)
    assert row_of(found, "c", "ofer-gmm").difference_percent == math.inf
    assert row_of(found, "c", "m-rf").difference_percent == 0.0
    draw_headline(found).savefig(tmp_path / "headline.svg")
    draw_best(found).savefig(tmp_path / "best.svg")
    assert "the reference being 0" in " ".join(map(said, findings(found)))


def test_without_the_usual_reference_the_first_method_is_it(tmp_path):
    items = [("m-rf", "selected", 0, worse_error), ("ofer-gmm", "selected", 0, better_error)]
    path = write_scores(tmp_path / "first.csv", items)
    settings = {"first": EXPERIMENTS["first"] | {"methods": ["ofer-gmm", "m-rf"]}}
    scores = {"first": read_scores(path)}
    found = overview(scores, settings, METHODS)
    assert set(found["reference"]) == {METHODS["ofer-gmm"]["label"]}
    assert row_of(found, "first", "m-rf").difference_percent > 0
    points = curve_points(scores, settings, found)
    assert set(points.loc[points["is_reference"], "method"]) == {"ofer-gmm"}
