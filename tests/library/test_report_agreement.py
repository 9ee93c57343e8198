"""Differences from published numbers: their size in spreads, their classes and where they stand."""

import math

import numpy as np
import pandas as pd
import pytest
from report_samples import (
    CLASS_METHODS,
    base_accuracy,
    base_error,
    better_error,
    html_table,
    latex_table,
    parse,
    scores_of,
    table_cells,
    write_accuracies,
    write_published,
    write_scores,
    write_table,
    write_timings,
)
from scipy.stats import kendalltau

from workflow_lib.report.agreement import (
    agreement_note,
    comparisons,
    count_within,
    format_spreads,
    largest_of,
    published_difference,
    same_order,
)
from workflow_lib.report.results import read_scores, read_timings

ROWS = [("m-krr", "selected", 0, base_error), ("ofer-gmm", "selected", 0, better_error)]
NAN = math.nan


def comparison(value, published, *, deviation=0.1, spread=NAN, column="20", quantity="arrmse"):
    return "a row", column, quantity, value, deviation, published, spread


@pytest.fixture
def published(tmp_path):
    return write_published(
        tmp_path / "table-1.csv",
        "1,a,20,0.75,0.02,RRMSE,ofer-gmm,selected,20",
        "1,a,50,0.5,,RRMSE,ofer-gmm,selected,50",
        "1,b,20,1.5,0.25,RRMSE,m-krr,selected,20",
    )


def cells_of(tmp_path, published, is_comparable=True):
    options = {"published_paths": [published], "is_comparable": is_comparable}
    return table_cells("error", scores_of(tmp_path, ROWS), **options)


def compared_cells(cells):
    return {
        (cell.method, cell.training_size): cell
        for cell in cells
        if not math.isnan(cell.published_difference)
    }


def test_a_difference_is_in_units_of_both_spreads():
    random = np.random.default_rng(0)
    ours, theirs = random.normal(1.0, 0.2, 50_000), random.normal(0.5, 0.1, 50_000)
    difference, in_spreads = published_difference(
        ours.mean(), ours.std(ddof=1), theirs.mean(), theirs.std(ddof=1)
    )
    # The deviation of the difference of two independent draws, measured.
    assert difference == pytest.approx((ours - theirs).mean())
    assert in_spreads == pytest.approx(difference / (ours - theirs).std(ddof=1), rel=0.02)


@pytest.mark.parametrize(("deviation", "spread"), [(0.2, NAN), (NAN, 0.2), (0.2, 0.0), (0.0, 0.2)])
def test_the_spread_that_is_known_serves_alone(deviation, spread):
    assert published_difference(1.0, deviation, 0.5, spread) == (0.5, pytest.approx(2.5))


@pytest.mark.parametrize(("deviation", "spread"), [(NAN, NAN), (0.0, NAN), (0.0, 0.0)])
def test_without_any_spread_a_difference_has_no_size(deviation, spread):
    difference, in_spreads = published_difference(1.0, deviation, 0.5, spread)
    assert difference == 0.5
    assert math.isnan(in_spreads)


def test_the_bounds_of_agreement_are_included():
    in_spreads = pd.Series([0.0, -1.0, 1.01, -2.0, 2.01, -40.0, NAN])
    assert (count_within(in_spreads, 1), count_within(in_spreads, 2)) == (2, 4)


def test_differences_are_counted_within_one_among_within_two():
    found = comparisons(comparison(1.0 + 0.1 * step, 1.0) for step in (0, -0.5, 1.5, -3, 2.5))
    assert len(found) == 5
    assert [count_within(found["in_spreads"], number) for number in (1, 2)] == [2, 3]
    assert largest_of(found).name == 3
    assert count_within(comparisons([])["in_spreads"], 2) == 0


def test_the_largest_is_that_in_spreads_and_by_size_without_any():
    near = comparison(1.2, 1.0, deviation=0.01)
    far = comparison(5.0, 1.0, deviation=10.0)
    unknown = comparison(9.0, 1.0, deviation=NAN)
    assert largest_of(comparisons([far, near, unknown])).name == 1
    assert largest_of(comparisons([unknown, comparison(1.1, 1.0, deviation=NAN)])).name == 0
    assert count_within(comparisons([unknown])["in_spreads"], 2) == 0


def test_pairs_in_the_same_order_are_those_of_a_rank_correlation():
    random = np.random.default_rng(1)
    ours, theirs = random.normal(size=8), random.normal(size=8)
    rows = [comparison(a, b) for a, b in zip(ours, theirs, strict=True)]
    same, pairs = same_order(comparisons(rows))
    assert pairs == 28
    assert (same - (pairs - same)) / pairs == pytest.approx(kendalltau(ours, theirs).statistic)


def test_only_numbers_of_one_column_and_quantity_are_put_in_order():
    rows = [
        comparison(1.0, 2.0),
        comparison(2.0, 1.0),
        comparison(3.0, 1.5, column="50"),
        comparison(4.0, 1.5, quantity="rrmse"),
    ]
    assert same_order(comparisons(rows)) == (0, 1)


def test_equal_numbers_are_in_no_order():
    # The paper prints no order: no pair. This run has none: a pair that is not the same.
    assert same_order(comparisons([comparison(1.0, 2.0), comparison(2.0, 2.0)])) == (0, 0)
    assert same_order(comparisons([comparison(1.0, 2.0), comparison(1.0 + 1e-15, 3.0)])) == (0, 1)


def test_differences_in_spreads_are_short():
    values = [1.26, -0.94, -17.2, 9.96, 0.04, -0.04, NAN]
    expected = ["+1.3", "\u22120.9", "\u221217", "+10", "0.0", "0.0", "\u2013"]
    assert list(map(format_spreads, values)) == expected


def test_the_note_counts_and_says_what_a_spread_is():
    note = agreement_note(pd.Series([0.5, 1.5, -3.0, NAN]))
    assert note.startswith(
        "Of the 4 differences from the published numbers (this run minus published) 1 is within "
        "one spread, 2 within two. A spread is the root of"
    )


def test_cells_hold_the_difference_from_the_published_number(tmp_path, published):
    cells = compared_cells(cells_of(tmp_path, published))
    assert cells.keys() == {("ofer-gmm", 20), ("ofer-gmm", 50), ("m-krr", 20)}
    for (method, size), value, spread in (
        (("ofer-gmm", 20), 0.75, 0.02),
        (("ofer-gmm", 50), 0.5, 0.0),
        (("m-krr", 20), 1.5, 0.25),
    ):
        error = {"ofer-gmm": better_error, "m-krr": base_error}[method]
        errors = [error(size, split) for split in range(5)]
        cell = cells[method, size]
        assert cell.published_difference == pytest.approx(np.mean(errors) - value)
        expected = (np.mean(errors) - value) / np.sqrt(np.var(errors, ddof=1) + spread**2)
        assert cell.published_difference_in_spreads == pytest.approx(expected)


def test_other_data_have_no_difference(tmp_path, published):
    cells = cells_of(tmp_path, published, is_comparable=False)
    assert any(cell.published_value == 0.75 for cell in cells)
    assert compared_cells(cells) == {}
    html = html_table(cells, "error")
    assert "Published (table 1)" in html
    assert "spread" not in html


def test_accuracies_differ_in_percent(tmp_path):
    line = "11,1,OFER,40.0,3.0,accuracy_percent,ofer-gmm,selected,1"
    path = write_published(tmp_path / "table-11.csv", line)
    rows = [("class-krr", "selected", 0, base_accuracy), ("ofer-gmm", "selected", 0, base_accuracy)]
    scores = read_scores(write_accuracies(tmp_path / "scores.csv", rows))
    options = {"published_paths": [path], "metric": "accuracy", "is_comparable": True}
    cells = table_cells("error", scores, methods=CLASS_METHODS, **options)
    (cell,) = compared_cells(cells).values()
    percent = [100 * base_accuracy(1, split) for split in range(5)]
    assert cell.published_difference == pytest.approx(np.mean(percent) - 40)
    expected = (np.mean(percent) - 40) / np.hypot(np.std(percent, ddof=1), 3)
    assert cell.published_difference_in_spreads == pytest.approx(expected)


def test_seconds_have_no_difference(tmp_path):
    line = "2,a,Test time,57.1,14.7,s,ofer-gmm,selected,20"
    path = write_published(tmp_path / "table-2.csv", line)
    timings = read_timings(write_timings(tmp_path / "timings.csv", ["ofer-gmm"]))
    cells = table_cells("time", timings, published_paths=[path], is_comparable=True)
    assert any(cell.published_value == 57.1 for cell in cells)
    assert compared_cells(cells) == {}


def test_html_has_a_third_group_of_columns(tmp_path, published):
    cells = cells_of(tmp_path, published)
    html = html_table(cells, "error")
    parser = parse(html)
    assert '<th scope="colgroup" colspan="2" class="difference">Difference, in spreads</th>' in html
    # The head has a row of groups and a row of sizes; the names of the rows span both.
    assert set(parser.cells_per_row) == {7, 6}
    found = compared_cells(cells)
    expected = format_spreads(found["m-krr", 20].published_difference_in_spreads)
    assert f'<td class="difference">{expected}</td><td class="difference">\u2013</td>' in html
    # The pooled error has no published numbers.
    assert html.count('<td class="difference"></td>') == 4
    assert "Of the 3 differences from the published numbers" in html


def test_latex_leaves_the_third_group_out(tmp_path, published):
    cells = cells_of(tmp_path, published)
    latex = latex_table(cells, "error")
    assert r"\begin{tabular}{lrrrr}" in latex
    assert "Difference, in spreads" not in latex
    assert "Of the 3 differences from the published numbers" in latex


def test_weak_tables_have_differences_by_method(tmp_path):
    line = "8,Task 1,wOFER,0.36,,norm_rrmse,wofer-gmm,selected,20,100"
    path = write_published(tmp_path / "table-8.csv", line)
    scores = scores_of(tmp_path, [ROWS[0], ("wofer-gmm", "selected", 100, better_error)])
    cells = table_cells("weak", scores, published_paths=[path], is_comparable=True)
    ((key, cell),) = compared_cells(cells).items()
    assert key == ("wofer-gmm", 20)
    html = html_table(cells, "weak")
    first, second = html.split("Relative to the norm of the outputs</th>")
    assert '<td class="difference"></td>' in first
    text = format_spreads(cell.published_difference_in_spreads)
    assert f'<td class="difference">{text}</td>' in second


@pytest.mark.parametrize("stand_in_for", [None, "the real ones"])
def test_written_tables_have_differences_unless_the_data_are_a_stand_in(
    tmp_path, published, stand_in_for
):
    scores = write_scores(tmp_path / "scores.csv", ROWS)
    options = {"stand_in_for": stand_in_for, "published": [published]}
    rows, _ = write_table(scores, "error", tmp_path, **options)
    assert sum(row["published_value"] != "" for row in rows) == 3
    for name in ("published_difference", "published_difference_in_spreads"):
        assert sum(row[name] != "" for row in rows) == (0 if stand_in_for else 3)
