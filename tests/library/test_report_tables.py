"""Table cells hold the right means, tests and marks; the written tables show them."""

import math

import numpy as np
import pytest
from report_samples import (
    base_error,
    better_error,
    html_of,
    html_table,
    latex_table,
    noisy_error,
    parse,
    scores_of,
    table_cells,
    worse_error,
    write_published,
    write_scores,
    write_table,
    write_timings,
)
from scipy import stats

from workflow_lib.report.results import read_scores, read_timings
from workflow_lib.report.tables import error_table, reference_variant, time_table
from workflow_lib.report.variants import Variant
from workflow_lib.tasks.found import measures_of

FOUR_ROWS = [
    ("m-krr", "selected", 0, base_error),
    ("m-rf", "selected", 0, worse_error),
    ("ofer-gmm", "selected", 0, better_error),
    ("wofer-gmm", "selected", 100, noisy_error),
]


def cell_of(cells, method, size=20, quantity="arrmse", components="selected"):
    (cell,) = [
        c
        for c in cells
        if (c.method, c.training_size, c.quantity, c.components)
        == (method, size, quantity, components)
    ]
    return cell


def test_means_and_deviations(tmp_path):
    cells = error_table(scores_of(tmp_path, FOUR_ROWS))
    errors = [base_error(50, split) for split in range(5)]
    cell = cell_of(cells, "m-krr", 50)
    assert cell.mean == pytest.approx(np.mean(errors))
    assert cell.deviation == pytest.approx(np.std(errors, ddof=1))
    assert (cell.n_splits, cell.n_test) == (5, 10)
    assert cell_of(cells, "m-krr", 50, "rrmse").mean == pytest.approx(2 * np.mean(errors))


def test_bold_is_significantly_better_than_every_other_row(tmp_path):
    cells = error_table(scores_of(tmp_path, FOUR_ROWS))
    assert [c.method for c in cells if c.bold] == ["ofer-gmm"] * 4
    best = cell_of(cells, "ofer-gmm")
    p_values = {
        row[0]: stats.ttest_rel(
            [better_error(20, s) for s in range(5)], [row[3](20, s) for s in range(5)]
        ).pvalue
        for row in FOUR_ROWS
        if row[0] != "ofer-gmm"
    }
    closest = max(p_values, key=p_values.get)
    assert best.opponent.split("/")[0] == closest
    assert best.p_student == pytest.approx(p_values[closest])
    assert cell_of(cells, "m-rf").opponent == "ofer-gmm/selected/0"
    assert cell_of(cells, "m-rf").p_student == pytest.approx(p_values["m-rf"])


def test_no_bold_when_the_lowest_has_an_equal(tmp_path):
    rows = [
        ("m-krr", "selected", 0, base_error),
        ("ofer-gmm", "selected", 0, base_error),
        ("m-rf", "selected", 0, worse_error),
    ]
    cells = error_table(scores_of(tmp_path, rows))
    assert not any(cell.bold for cell in cells)
    assert cell_of(cells, "m-krr").p_student == 1.0


def test_no_bold_when_the_runner_up_is_close(tmp_path):
    rows = [FOUR_ROWS[0], ("m-rf", "selected", 0, noisy_error)]
    assert not any(cell.bold for cell in error_table(scores_of(tmp_path, rows)))


def test_marks_follow_the_corrected_test_against_the_reference(tmp_path):
    cells = error_table(scores_of(tmp_path, FOUR_ROWS))
    assert cell_of(cells, "ofer-gmm").mark == "lower"
    assert cell_of(cells, "m-rf").mark == "higher"
    assert cell_of(cells, "wofer-gmm").mark == ""
    assert math.isnan(cell_of(cells, "m-krr").p_reference_corrected)
    differences = [better_error(20, s) - base_error(20, s) for s in range(5)]
    mean, variance = np.mean(differences), np.var(differences, ddof=1)
    statistic = mean / math.sqrt((1 / 5 + 10 / 20) * variance)
    cell = cell_of(cells, "ofer-gmm")
    assert cell.difference == pytest.approx(mean)
    assert cell.effect == pytest.approx(mean / math.sqrt(variance))
    assert cell.p_reference_corrected == pytest.approx(2 * stats.t.sf(abs(statistic), 4))
    assert cell.n_nonzero == 5


def test_the_corrected_test_uses_the_training_size_of_the_column(tmp_path):
    rows = [
        ("m-krr", "selected", 0, lambda size, split: base_error(20, split)),
        ("ofer-gmm", "selected", 0, lambda size, split: noisy_error(20, split) + 0.01 * split),
    ]
    cells = error_table(scores_of(tmp_path, rows))
    assert (
        cell_of(cells, "ofer-gmm", 50).p_reference_corrected
        < cell_of(cells, "ofer-gmm", 20).p_reference_corrected
    )


def test_one_split_has_no_tests_and_no_marks(tmp_path):
    cells = error_table(scores_of(tmp_path, FOUR_ROWS, n_splits=1))
    for cell in cells:
        assert math.isnan(cell.deviation)
        assert math.isnan(cell.p_student)
        assert math.isnan(cell.p_reference_corrected)
        assert not cell.bold
        assert cell.mark == ""
    html = html_table(cells, "error")
    assert "One split, so neither a deviation nor a test." in html and "±" not in html


def test_a_single_row_is_never_bold(tmp_path):
    cells = error_table(scores_of(tmp_path, FOUR_ROWS[:1]))
    assert not any(cell.bold for cell in cells)


def test_only_common_splits_are_compared(tmp_path):
    path = write_scores(tmp_path / "scores.csv", FOUR_ROWS[:2], sizes=(20,))
    lines = path.read_text().splitlines()
    path.write_text("\n".join(lines[: -len(measures_of("numbers"))]) + "\n")
    cell = cell_of(error_table(read_scores(path)), "m-rf")
    expected = stats.ttest_rel(
        [worse_error(20, s) for s in range(4)], [base_error(20, s) for s in range(4)]
    )
    assert cell.n_splits == 4
    assert cell.p_reference_student == pytest.approx(expected.pvalue)


def test_the_reference_row_matches_the_components_where_it_can():
    selected = Variant("m-krr", "selected", 0)
    fixed = Variant("ref", "4", 0)
    assert reference_variant([selected], Variant("ofer", "4", 0), "m-krr") == selected
    ofer = Variant("ofer", "4", 300)
    assert reference_variant([fixed, Variant("ref", "selected", 0)], ofer, "ref") == fixed
    assert reference_variant([selected], selected, "absent") is None


def test_times_add_prediction_and_pre_image(tmp_path):
    timings = read_timings(write_timings(tmp_path / "timings.csv", ["m-krr"]))
    cells = time_table(timings)
    assert cell_of(cells, "m-krr", quantity="training").mean == pytest.approx(1.0)
    assert cell_of(cells, "m-krr", quantity="selection").mean == pytest.approx(20.0)
    assert cell_of(cells, "m-krr", quantity="test").mean == pytest.approx(0.006)
    assert cell_of(cells, "m-krr", quantity="test").deviation == pytest.approx(0.003)


def test_published_numbers_are_shown_next_to_ours(tmp_path):
    path = write_published(
        tmp_path / "table-1.csv",
        "1,a,20,1.15,0.02,RRMSE,ofer-gmm,selected,20",
        "1,a,Training time,3e-4,1e-4,s,ofer-gmm,selected,20",
        "1,a,Test time,57.1,14.7,s,ofer-gmm,selected,20",
    )
    scores = scores_of(tmp_path, FOUR_ROWS)
    cells = table_cells("error", scores, published_paths=[path])
    cell = cell_of(cells, "ofer-gmm")
    assert (cell.published_value, cell.published_spread) == (1.15, 0.02)
    assert cell.published_table == "1"
    assert math.isnan(cell_of(cells, "ofer-gmm", quantity="rrmse").published_value)
    assert math.isnan(cell_of(cells, "m-krr").published_value)
    timings = read_timings(write_timings(tmp_path / "timings.csv", ["ofer-gmm"]))
    cells = table_cells("time", timings, published_paths=[path])
    assert cell_of(cells, "ofer-gmm", quantity="training").published_value == 3e-4
    assert cell_of(cells, "ofer-gmm", quantity="test").published_value == 57.1
    html = html_table(cells, "time")
    assert "57.1 ± 14.7 s" in html
    assert "Published (table 1)" in html


def test_the_errors_of_a_table_are_chosen(tmp_path):
    scores = scores_of(tmp_path, FOUR_ROWS)
    quantities = dict.fromkeys(cell.quantity for cell in error_table(scores))
    assert list(quantities) == ["arrmse", "rrmse"]
    errors = ["root_sum_rrmse", "arrmse"]
    cells = table_cells("error", scores, errors=errors)
    assert list(dict.fromkeys(cell.quantity for cell in cells)) == errors
    mean = cell_of(cells, "m-krr", quantity="root_sum_rrmse").mean
    assert mean == pytest.approx(3 * cell_of(cells, "m-krr").mean)
    html = html_table(cells, "error")
    heading = "Root of the sum over output coordinates of squared relative errors"
    assert html.index(heading) < html.index("aRRMSE (mean over output coordinates)")
    assert "pooled" not in html


def test_published_numbers_are_shown_next_to_the_error_they_were_measured_in(tmp_path):
    path = write_published(
        tmp_path / "table-5.csv", "5,20,GSSM,2.4,,root_sum_rrmse,ofer-gmm,selected,20"
    )
    scores = scores_of(tmp_path, FOUR_ROWS)
    errors = ["arrmse", "root_sum_rrmse"]
    cells = table_cells("error", scores, published_paths=[path], errors=errors)
    assert cell_of(cells, "ofer-gmm", quantity="root_sum_rrmse").published_value == 2.4
    assert math.isnan(cell_of(cells, "ofer-gmm").published_value)
    html = html_table(cells, "error")
    assert '<td class="published">2.40</td>' in html
    assert "the paper calls them averages" in html
    # A table that does not show that error has no published column.
    assert "ublished" not in html_of("error", scores, published_paths=[path])


def test_published_numbers_relative_to_the_norm_say_whose_reading_that_is(tmp_path):
    path = write_published(
        tmp_path / "table-9.csv", "9,20,OFER,0.21,0.008,norm_rrmse,ofer-gmm,selected,20"
    )
    scores = scores_of(tmp_path, FOUR_ROWS)
    errors = ["arrmse", "norm_rrmse"]
    cells = table_cells("error", scores, published_paths=[path], errors=errors)
    cell = cell_of(cells, "ofer-gmm", quantity="norm_rrmse")
    assert (cell.published_value, cell.published_spread) == (0.21, 0.008)
    assert cell.mean == pytest.approx(cell_of(cells, "ofer-gmm").mean / 4)
    html = html_table(cells, "error")
    assert "Relative to the norm of the outputs" in html
    assert '<td class="published">0.21 ± 0.008</td>' in html
    assert "relative to the norm of the outputs is our reading" in html
    assert "averages" not in html


def test_weak_tables_show_the_error_of_published_numbers_too(tmp_path):
    rows = [FOUR_ROWS[0], FOUR_ROWS[3]]
    line = "8,Task 1,wOFER,0.36,,norm_rrmse,wofer-gmm,selected,20,100"
    path = write_published(tmp_path / "table-8.csv", line)
    cells = table_cells("weak", scores_of(tmp_path, rows), published_paths=[path])
    assert list(dict.fromkeys(cell.quantity for cell in cells)) == ["arrmse", "norm_rrmse"]
    html = html_table(cells, "weak")
    first, second = html.split("Relative to the norm of the outputs</th>")
    assert '<td class="published"></td>' in first
    assert '<td class="published">0.36</td>' in second
    assert set(parse(html).cells_per_row) - {1, 3} == {4}


def test_studies_of_weak_labels_are_left_out(tmp_path):
    study = ("wofer-gmm", "selected", 100, lambda n, s: 0.01 * base_error(n, s), "weak_weight=1")
    scores = scores_of(tmp_path, [*FOUR_ROWS, study])
    assert len(scores) == (2 * 4 * 5 + 5) * len(measures_of("numbers"))
    assert error_table(scores) == error_table(scores_of(tmp_path, FOUR_ROWS))
    timings = read_timings(write_timings(tmp_path / "t.csv", ["m-krr"], setting="weak_weight=1"))
    assert time_table(timings) == []


def test_the_largest_relative_difference_is_that_of_a_split(tmp_path):
    cells = error_table(scores_of(tmp_path, FOUR_ROWS))
    expected = max(
        abs(better_error(20, split) - base_error(20, split)) / base_error(20, split)
        for split in range(5)
    )
    cell = cell_of(cells, "ofer-gmm")
    assert cell.largest_relative_difference == pytest.approx(expected, rel=1e-12)
    assert math.isnan(cell_of(cells, "m-krr").largest_relative_difference)


def test_html_shows_numbers_bold_and_marks(tmp_path):
    cells = table_cells("error", scores_of(tmp_path, FOUR_ROWS))
    html = html_table(cells, "error", title="A & B")
    parser = parse(html)
    assert set(parser.cells_per_row) == {3}
    assert "<caption>A &amp; B</caption>" in html
    best = cell_of(cells, "ofer-gmm")
    text = f"{best.mean:.3f} ± {best.deviation:.3f}"
    assert f"<td><strong>{text}</strong><sup>†</sup></td>" in html
    assert "wOFER-GMM, 100 weak rows" in html
    assert html.count('scope="row"') == 8
    assert "‡: higher than m-KRR" in html
    assert "over 5 splits" in html


def test_marks_that_do_not_occur_are_not_explained(tmp_path):
    rows = [FOUR_ROWS[0], FOUR_ROWS[3]]
    html = html_of("error", scores_of(tmp_path, rows))
    assert "†" not in html
    assert "No number is bold" in html
    assert "No row differs from m-KRR" in html


def test_every_latex_row_has_every_column(tmp_path):
    path = write_published(tmp_path / "table-1.csv", "1,a,20,1.5,0.004,RRMSE,ofer-gmm,selected,20")
    cells = table_cells("error", scores_of(tmp_path, FOUR_ROWS), published_paths=[path])
    latex = latex_table(cells, "error", title="50% & more_")
    assert r"\caption{50\% \& more\_." in latex
    rows = [line for line in latex.splitlines() if line.startswith(("m-", "OFER", "wOFER", "Meth"))]
    assert len(rows) == 9
    assert {row.count("&") for row in rows} == {3}
    assert r"1.50 $\pm$ 0.004" in latex
    assert r"\begin{tabular}{lrrr}" in latex
    assert latex.count(r"\textbf{") == 4


def test_weak_tables_have_a_column_for_each_weak_size(tmp_path):
    rows = [*FOUR_ROWS[:3], ("wofer-gmm", "selected", 100, base_error)]
    rows += [("wofer-gmm", "selected", 300, better_error)]
    cells = table_cells("weak", scores_of(tmp_path, rows))
    assert {cell.method for cell in cells} == {"m-krr", "ofer-gmm", "wofer-gmm"}
    assert {cell.quantity for cell in cells} == {"arrmse"}
    html = html_table(cells, "weak")
    heads = html[html.index("<thead>") : html.index("</thead>")]
    assert heads.count("<th ") == 5
    assert "wOFER-GMM, 300 weak rows" in heads
    assert 'scope="row">n = 20<' in html


def test_weak_tables_repeat_the_reference_for_each_number_of_components(tmp_path):
    rows = [FOUR_ROWS[0]]
    rows += [("wofer-gmm", components, 100, better_error) for components in ("2", "4")]
    cells = table_cells("weak", scores_of(tmp_path, rows))
    html = html_table(cells, "weak")
    assert "C = 2</th>" in html
    assert "C = 4</th>" in html
    reference = cell_of(cells, "m-krr")
    assert html.count(f"{reference.mean:.3f} ± {reference.deviation:.3f}") == 2
    assert "<td>–</td>" not in html


def test_unknown_kinds_are_refused(tmp_path):
    with pytest.raises(ValueError, match="no kind of table named 'errors'"):
        table_cells("errors", scores_of(tmp_path, FOUR_ROWS))


def test_written_tables_are_tidy(tmp_path):
    scores = write_scores(tmp_path / "scores.csv", FOUR_ROWS)
    rows, latex = write_table(scores, "error", tmp_path, stand_in_for="the real one")
    assert len(rows) == 2 * 2 * 4
    first = rows[0]
    assert (first["quantity"], first["method"], first["training_size"]) == ("arrmse", "m-krr", "20")
    assert float(first["mean"]) == np.mean([base_error(20, s) for s in range(5)])
    assert first["p_reference_corrected"] == ""
    assert "Errors. Data: Toy, standing in for the real one." in latex
    rows, latex = write_table(scores, "error", tmp_path, errors=["root_sum_rrmse"])
    assert {row["quantity"] for row in rows} == {"root_sum_rrmse"}
    assert r"\emph{Root of the sum over" in latex


def test_a_score_is_better_where_it_is_higher_and_is_written_as_it_is(tmp_path):
    scores = write_scores(tmp_path / "scores.csv", FOUR_ROWS)
    arguments = (scores, "error", tmp_path)
    written, text = write_table(*arguments, errors=["correlation"], metric="correlation")
    rows = {(row["method"], row["training_size"]): row for row in written}
    row = rows["m-rf", "20"]
    assert row["quantity"] == "correlation"
    assert float(row["mean"]) == pytest.approx(np.mean([worse_error(20, s) for s in range(5)]))
    assert row["bold"] == "1" and rows["ofer-gmm", "20"]["bold"] == "0"
    assert "higher than m-KRR" in text and "higher than every other" in text
    errors = ["correlation", "arrmse"]
    _, text = write_table(*arguments, errors=errors, metric="correlation")
    assert "better than m-KRR" in text


def test_a_time_table_is_written_from_timings(tmp_path):
    timings = write_timings(tmp_path / "timings.csv", ["m-krr", "ofer-gmm"])
    assert r"6.00 $\pm$ 3.00 ms" in write_table(timings, "time", tmp_path)[1]
