"""Accuracies are compared as error rates and shown in percent, higher being better."""

import math
import re

import numpy as np
import pytest
from report_samples import (
    CLASS_METHODS,
    add_rankings,
    base_accuracy,
    base_error,
    better_accuracy,
    better_error,
    html_table,
    latex_table,
    parse,
    table_cells,
    worse_accuracy,
    write_accuracies,
    write_choices,
    write_class_results,
    write_coordinates,
    write_published,
    write_scores,
    write_table,
    write_timings,
)
from scipy import stats
from test_report_page import inputs_in, page_of, text_of

from workflow_lib.core.errors import UserError
from workflow_lib.page import assembly
from workflow_lib.protocol.evaluation import run_scores
from workflow_lib.report.coordinate_tables import coordinate_table
from workflow_lib.report.figures import confusion, coordinates, learning_curve, weak_weight
from workflow_lib.report.published_tables import published_layouts
from workflow_lib.report.quantities import QUANTITIES, chance_error, error_of_unit, shown_cells
from workflow_lib.report.render import html_markup
from workflow_lib.report.results import read_choices, read_coordinates, read_scores, read_timings
from workflow_lib.report.style import save_figure
from workflow_lib.table.verdict import count_sentences, verdict

PUBLISHED = (
    "13,1,m-SVM,9.61,3.98,accuracy_percent,m-svm,selected,1,0",
    "13,1,wOFER+700,39.19,0.20,accuracy_percent,wofer-gmm,selected,1,700",
)
ROWS = [
    ("class-krr", "selected", 0, base_accuracy),
    ("m-svm", "selected", 0, worse_accuracy),
    ("ofer-gmm", "selected", 0, better_accuracy),
    ("wofer-gmm", "selected", 700, base_accuracy),
]
STUDY = [
    ROWS[0],
    ("wofer-gmm", "selected", 700, base_accuracy),
    ("wofer-gmm", "selected", 700, better_accuracy, "weak_weight=0.01"),
    ("wofer-gmm", "selected", 700, worse_accuracy, "weak_weight=10"),
]


def read(tmp_path, rows=ROWS, **options):
    return read_scores(write_accuracies(tmp_path / "scores.csv", rows, **options))


def no_choices(tmp_path):
    return read_choices(write_choices(tmp_path / "choices.csv", []))


def cells_of(scores, kind="error", **options):
    options = {"metric": "accuracy"} | options
    return table_cells(kind, scores, methods=CLASS_METHODS, **options)


def html_of(cells, kind="error", **options):
    options = {"metric": "accuracy"} | options
    return html_table(cells, kind, title="Toy", methods=CLASS_METHODS, **options)


def percent_of(accuracy, size):
    values = [100 * accuracy(size, split) for split in range(5)]
    return f"{np.mean(values):.1f} ± {np.std(values, ddof=1):.1f}"


def cell_of(cells, method, size):
    (cell,) = [c for c in cells if (c.method, c.training_size) == (method, size)]
    return cell


@pytest.mark.parametrize("value", ["1.5", "-0.1"])
def test_an_accuracy_is_a_share(tmp_path, value):
    path = write_accuracies(tmp_path / "scores.csv", ROWS[:1])
    path.write_text(path.read_text().replace(str(base_accuracy(1, 0)), value, 1))
    with pytest.raises(UserError, match="line 2, column value: .*from 0 to 1"):
        read_scores(path)


def test_a_fit_needs_the_error_that_is_shown(tmp_path):
    path = write_scores(tmp_path / "scores.csv", [("m-krr", "selected", 0, base_error)])
    path.write_text(path.read_text().replace("arrmse", "other", 1))
    match = "method m-krr, training size 20, split 0 has no row with the quantity arrmse"
    with pytest.raises(UserError, match=match):
        verdict(read_scores(path), methods=CLASS_METHODS)


def test_what_scores_do_not_hold_is_reported(tmp_path):
    match = "experiment toy: arrmse .* outputs are not rows of numbers"
    with pytest.raises(UserError, match=match):
        verdict(read(tmp_path), methods=CLASS_METHODS)
    numbers = write_scores(tmp_path / "n.csv", [("m-krr", "selected", 0, base_error)])
    with pytest.raises(UserError, match="experiment toy: accuracy .* outputs are not classes"):
        cells_of(read_scores(numbers))


def test_cells_compare_error_rates(tmp_path):
    cells = cells_of(read(tmp_path))
    assert {cell.quantity for cell in cells} == {"accuracy"}
    best = cell_of(cells, "ofer-gmm", 5)
    rates = [1 - better_accuracy(5, split) for split in range(5)]
    assert best.mean == pytest.approx(np.mean(rates))
    assert best.bold
    assert best.mark == "lower"
    assert cell_of(cells, "m-svm", 5).mark == "higher"
    assert cell_of(cells, "wofer-gmm", 5).n_nonzero == 0


def test_the_corrected_test_counts_training_rows_not_examples(tmp_path):
    cells = cells_of(read(tmp_path))
    differences = [base_accuracy(5, s) - better_accuracy(5, s) for s in range(5)]
    spread = math.sqrt((1 / 5 + 100 / 50) * np.var(differences, ddof=1))
    expected = 2 * stats.t.sf(abs(np.mean(differences) / spread), 4)
    assert cell_of(cells, "ofer-gmm", 5).p_reference_corrected == pytest.approx(expected)
    (cell,) = [
        cell
        for cell in cells_of(read(tmp_path, STUDY), "weak_weight")
        if cell.value == pytest.approx(0.01)
    ]
    assert cell.p_reference_corrected == pytest.approx(expected)


def test_the_corrected_test_of_a_class_counts_training_rows(tmp_path):
    rows = [("class-krr", "selected", 0, base_error), ("ofer-gmm", "selected", 0, better_error)]
    path = write_coordinates(tmp_path / "c.csv", rows, sizes=(2, 5), n_classes=10)
    cells = coordinate_table(read_coordinates(path), reference="class-krr")
    differences = [better_error(5, s) - base_error(5, s) for s in range(5)]
    spread = math.sqrt((1 / 5 + 10 / 50) * np.var(differences, ddof=1))
    cell = next(cell for cell in cells if cell.method == "ofer-gmm")
    expected = 2 * stats.t.sf(abs(np.mean(differences) / spread), 4)
    assert cell.p_reference_corrected == pytest.approx(expected)


def test_tables_show_percent_and_say_so(tmp_path):
    html = html_of(cells_of(read(tmp_path)))
    assert "Accuracy on the test rows (%)" in html
    assert f"<td><strong>{percent_of(better_accuracy, 5)}</strong><sup>†</sup></td>" in html
    assert f"<td>{percent_of(worse_accuracy, 1)}<sup>‡</sup></td>" in html
    assert "n is the number of labelled examples per class; 100 test rows." in html
    assert "Bold: higher than every other number" in html
    assert "†: higher than one-hot KRR" in html
    assert "‡: lower than one-hot KRR" in html
    assert "RRMSE" not in html


def test_the_errors_of_a_table_do_not_count_for_classes(tmp_path):
    scores = read(tmp_path)
    assert cells_of(scores, errors=["arrmse", "norm_rrmse"]) == cells_of(scores)


def read_with_rankings(tmp_path, without=()):
    path = write_accuracies(tmp_path / "ranked.csv", ROWS)
    return read_scores(add_rankings(path, without))


def test_measures_of_rankings_are_blocks_of_a_table(tmp_path):
    scores = read_with_rankings(tmp_path)
    cells = cells_of(scores, errors=["median_rfp", "accuracy", "auc"])
    assert list(dict.fromkeys(cell.quantity for cell in cells)) == ["median_rfp", "accuracy", "auc"]
    rates = [cell for cell in cells if cell.quantity == "accuracy"]
    assert rates == cells_of(read(tmp_path))
    html = html_of(cells)
    aucs = [0.75 * better_accuracy(5, split) + 0.25 for split in range(5)]
    shown = f"{np.mean(aucs):.3f} ± {np.std(aucs, ddof=1):.3f}"
    assert f"<td><strong>{shown}</strong><sup>†</sup></td>" in html
    shown = f"{1 - np.mean(aucs):.3f} ± {np.std(aucs, ddof=1):.3f}"
    assert f"<td><strong>{shown}</strong><sup>†</sup></td>" in html
    assert "n is the number of labelled examples per class; 100 test rows." in html
    assert "Bold: better than every other number" in html
    assert "†: better than one-hot KRR" in html
    of_csv = {
        (cell.quantity, cell.method, cell.training_size): cell.mean
        for cell in shown_cells(cells, "accuracy")
    }
    assert of_csv["auc", "ofer-gmm", 5] == pytest.approx(np.mean(aucs))
    assert of_csv["median_rfp", "ofer-gmm", 5] == pytest.approx(1 - np.mean(aucs))


def test_splits_without_a_ranking_are_left_out(tmp_path):
    cells = cells_of(read_with_rankings(tmp_path, without=[1, 3]), errors=["accuracy", "auc"])
    assert {(cell.quantity, cell.n_splits) for cell in cells} == {("accuracy", 5), ("auc", 3)}
    assert "over 3 to 5 splits" in html_of(cells)
    without = read_with_rankings(tmp_path, without=range(5))
    assert cells_of(without, errors=["accuracy", "auc"]) == cells_of(without)
    assert "There are no results." in html_of(cells_of(without, errors=["auc"]))


def test_published_accuracies_are_shown_as_printed(tmp_path):
    path = write_published(tmp_path / "table-13.csv", *PUBLISHED)
    cells = cells_of(read(tmp_path), published_paths=[path])
    assert cell_of(cells, "m-svm", 1).published_value == 9.61
    html = html_of(cells)
    assert '<td class="published">9.61 ± 3.98</td>' in html
    assert error_of_unit("accuracy_percent") == "accuracy"
    assert error_of_unit("RRMSE") == "arrmse"


def test_weak_tables_have_rows_of_examples_and_the_published_baseline(tmp_path):
    path = write_published(tmp_path / "table-13.csv", *PUBLISHED)
    scores = read(tmp_path)
    cells = cells_of(scores, "weak", published_paths=[path])
    assert {cell.method for cell in cells} == {"class-krr", "m-svm", "ofer-gmm", "wofer-gmm"}
    without = cells_of(scores, "weak")
    assert {cell.method for cell in without} == {"class-krr", "ofer-gmm", "wofer-gmm"}
    html = html_of(cells, "weak")
    assert "Examples per class</th>" in html
    assert "wOFER-GMM, 700 weak rows" in html
    assert '<td class="published">39.19 ± 0.20</td>' in html
    assert percent_of(worse_accuracy, 5) in html
    assert set(parse(html).cells_per_row) - {1, 3} == {1 + 4 + 2, 4 + 2}


def test_studies_are_shown_in_percent(tmp_path):
    html = html_of(cells_of(read(tmp_path, STUDY), "weak_weight"), "weak_weight")
    assert "<caption>Toy; 5 examples per class and 700 weak rows</caption>" in html
    assert f"<td>{percent_of(better_accuracy, 5)}<sup>†</sup></td>" in html
    assert f"<td>{percent_of(worse_accuracy, 5)}<sup>‡</sup></td>" in html
    assert "one-hot KRR, no weak rows" in html
    assert "†: higher than one-hot KRR" in html


def test_a_published_study_of_accuracies_is_shown_below(tmp_path):
    line = "15,wOFER Caltech101,0.01,52.83,0.01,accuracy_percent,wofer-gmm,selected,,2500"
    path = write_published(tmp_path / "table-15.csv", line)
    (layout,) = published_layouts([path], CLASS_METHODS, None)
    html = html_markup(layout)
    assert "<td>52.83 ± 0.01</td>" in html
    assert "Accuracies are in percent." in html


def test_the_csv_holds_what_is_shown(tmp_path):
    path = write_accuracies(tmp_path / "scores.csv", ROWS)
    options = {"methods": CLASS_METHODS, "metric": "accuracy"}
    written, latex = write_table(path, "error", tmp_path, **options)
    rows = {(row["method"], row["training_size"]): row for row in written}
    row = rows["ofer-gmm", "5"]
    accuracies = [better_accuracy(5, split) for split in range(5)]
    differences = np.array(accuracies) - [base_accuracy(5, split) for split in range(5)]
    assert row["quantity"] == "accuracy_percent"
    assert float(row["mean"]) == pytest.approx(100 * np.mean(accuracies))
    assert float(row["deviation"]) == pytest.approx(100 * np.std(accuracies, ddof=1))
    assert float(row["difference"]) == pytest.approx(100 * np.mean(differences))
    assert float(row["effect"]) == pytest.approx(np.mean(differences) / np.std(differences, ddof=1))
    assert (row["mark"], row["bold"]) == ("higher", "1")
    assert (rows["m-svm", "5"]["mark"], rows["m-svm", "5"]["bold"]) == ("lower", "0")
    assert rows["wofer-gmm", "5"]["difference"] == "0.0"
    assert r"Accuracy on the test rows (\%)" in latex


def test_cells_of_errors_are_written_as_they_are(tmp_path):
    path = write_scores(tmp_path / "scores.csv", [("m-krr", "selected", 0, base_error)])
    cells = table_cells("error", read_scores(path), methods={})
    assert shown_cells(cells, "arrmse") == cells


def test_times_of_classes_are_by_examples(tmp_path):
    timings = read_timings(write_timings(tmp_path / "t.csv", ["class-krr"], sizes=(1, 5)))
    cells = cells_of(timings, "time")
    assert "n is the number of labelled examples per class" in html_of(cells, "time")
    latex = latex_table(cells, "time", methods=CLASS_METHODS, metric="accuracy")
    assert "examples per class" in latex
    assert "n is the training size" in html_of(cells, "time", metric="arrmse")


def test_classes_have_a_column_each_or_a_summary(tmp_path):
    def rate(size, split):
        return 0.1 * base_error(size, split)

    rows = [("class-krr", "selected", 0, rate)]
    path = write_coordinates(tmp_path / "c.csv", rows, names=["ant", "sea_horse"], n_classes=2)
    cells = cells_of(read_coordinates(path), "coordinates")
    html = html_of(cells, "coordinates")
    mean = 100 - 100 * np.mean([rate(50, split) for split in range(5)])
    assert f"<td>{mean:.1f} ±" in html
    assert f"<td>{mean - 10:.1f} ±" in html
    assert f"<td>{mean - 5:.1f} ±" in html
    assert "sea horse</th>" in html
    assert "Accuracy (%) by class" in html
    assert "50 examples per class, the largest size" in html
    many = [f"class {number}" for number in range(13)]
    path = write_coordinates(tmp_path / "m.csv", rows, names=many, n_classes=13)
    text = "".join(
        parse(html_of(cells_of(read_coordinates(path), "coordinates"), "coordinates")).text
    )
    heads = text[: text.index("Accuracy")]
    assert heads.index("Maximum") < heads.index("Median") < heads.index("Minimum")
    assert "too many classes for a column each" in text


def test_the_lowest_error_rate_is_the_highest_accuracy_in_the_csv(tmp_path):
    rows = [("class-krr", "selected", 0, lambda n, s: 0.1)]
    path = write_coordinates(tmp_path / "c.csv", rows, names=["a", "b"], n_classes=2)
    cells = shown_cells(cells_of(read_coordinates(path), "coordinates"), "accuracy")
    means = {(cell.quantity, cell.name): cell.mean for cell in cells}
    assert means == pytest.approx(
        {
            ("class_accuracy_percent", "a"): 90.0,
            ("class_accuracy_percent", "b"): 80.0,
            ("maximum_accuracy_percent", ""): 90.0,
            ("median_accuracy_percent", ""): 85.0,
            ("minimum_accuracy_percent", ""): 80.0,
            ("global_accuracy_percent", ""): 85.0,
        }
    )


def test_the_verdict_is_about_accuracy(tmp_path):
    result = verdict(read(tmp_path), methods=CLASS_METHODS, metric="accuracy")
    assert result.best == (
        f"Highest mean accuracy: OFER-GMM at n = 1 ({percent_of(better_accuracy, 1)} %) and "
        f"n = 5 ({percent_of(better_accuracy, 5)} %)."
    )
    assert result.judgements[0] == "OFER-GMM against one-hot KRR is better at n = 1 and 5."
    assert result.judgements[1].startswith("wOFER-GMM, 700 weak rows against one-hot KRR is equal")
    row = assembly.comparison_rows(result)[0]
    assert row[:3] == ["OFER-GMM", "1", "+20.0"]
    assert row[3].startswith("+") and row[4].startswith("+")


def test_experiments_of_classes_and_of_numbers_are_counted_separately(tmp_path):
    numbers = [("m-krr", "selected", 0, base_error), ("ofer-gmm", "selected", 0, better_error)]
    scores = read_scores(write_scores(tmp_path / "n.csv", numbers))
    verdicts = [
        verdict(read(tmp_path, ROWS[:3]), methods=CLASS_METHODS, metric="accuracy"),
        verdict(scores, methods=CLASS_METHODS),
    ]
    assert count_sentences(verdicts, CLASS_METHODS) == [
        "OFER-GMM against one-hot KRR is better in 2 of 2 comparisons (mean higher in 2, lower in "
        "0).",
        "OFER-GMM against m-krr is better in 2 of 2 comparisons (mean lower in 2, higher in 0).",
    ]


def test_the_protocol_states_examples_and_chance(tmp_path):
    settings = {"training_sizes": [1, 5, 50], "components": "selected", "kernel": "rbf"}
    settings |= {"metric": "accuracy", "split": "per_class", "weak_sizes": [700]}
    text = assembly.protocol_sentences(settings, read(tmp_path), no_choices(tmp_path), 5)
    assert text.startswith(
        "1 and 5 labelled examples per class (10 and 50 training rows), each set inside the next; "
        "5 random splits with 100 test rows each. Every class has the same number"
    )
    assert "Sizes that do not fit the data: 50." in text
    assert "never by the number of right classes" in text
    assert "With one example per class nothing can be selected" in text
    assert text.endswith("A guess among the classes has an accuracy of 10.0 %; higher is better.")
    assert "training mean" not in text
    scores = read(tmp_path, sizes=(5,))
    text = assembly.protocol_sentences(settings, scores, no_choices(tmp_path), 5)
    assert "With one example per class" not in text


def test_learning_curves_show_percent_and_chance(tmp_path):
    path = write_accuracies(tmp_path / "scores.csv", ROWS, n_classes=40)
    shown = {"title": "Toy", "shown_methods": CLASS_METHODS, "metric": "accuracy"}
    figure = learning_curve.draw(path, **shown)
    (axis,) = figure.axes
    line = axis.containers[0].lines[0]
    means = [100 * np.mean([base_accuracy(size, s) for s in range(5)]) for size in (1, 5)]
    np.testing.assert_allclose(line.get_ydata(orig=False), means)
    (bars,) = axis.containers[0].lines[2]
    bottom, top = bars.get_segments()[0][:, 1]
    deviation = np.std([100 * base_accuracy(1, s) for s in range(5)], ddof=1)
    assert (top - bottom) / 2 == pytest.approx(deviation)
    assert figure.get_suptitle().endswith("; chance 2.5 %")
    assert axis.get_ylabel() == "Accuracy on test rows (%)"
    assert axis.get_xlabel() == "labelled examples per class (log scale)"
    assert axis.get_yscale() == "linear"


def test_chance_is_one_class_in_all(tmp_path):
    assert 1 - chance_error(read(tmp_path, n_classes=51)) == pytest.approx(1 / 51)


def test_studies_are_drawn_in_percent(tmp_path):
    path = write_accuracies(tmp_path / "scores.csv", STUDY)
    figure = weak_weight.draw(path, title="Toy", methods=CLASS_METHODS, metric="accuracy")
    (axis,) = figure.axes
    means = axis.containers[0].lines[0].get_ydata(orig=False)
    expected = [
        100 * np.mean([accuracy(5, s) for s in range(5)])
        for accuracy in (better_accuracy, worse_accuracy)
    ]
    np.testing.assert_allclose(means[:2], expected)
    (line,) = [line for line in axis.lines if line.get_label().startswith("one-hot KRR")]
    assert line.get_ydata()[0] == pytest.approx(
        100 * np.mean([base_accuracy(5, s) for s in range(5)])
    )
    assert figure.get_suptitle().startswith("Toy\n5 examples per class and 700 weak rows\n")
    assert axis.get_ylabel() == "Accuracy on test rows (%)"


def test_classes_are_drawn_in_percent(tmp_path):
    rows = [("class-krr", "selected", 0, lambda n, s: 0.2 + 0.01 * s)]
    path = write_coordinates(tmp_path / "c.csv", rows, names=["ant", "bat"], n_classes=2)
    dataset = write_class_results(tmp_path)["dataset"]
    shown = {"title": "Toy", "shown_methods": CLASS_METHODS, "metric": "accuracy"}
    figure = coordinates.draw(path, dataset, **shown)
    (axis,) = figure.axes
    np.testing.assert_allclose(axis.containers[0].lines[0].get_ydata(orig=False), [78.0, 68.0])
    assert (axis.get_xlabel(), axis.get_ylabel()) == ("class", "Accuracy on test rows (%)")
    assert "50 examples per class" in figure.get_suptitle()


def test_shown_values_can_be_converted_back_to_errors():
    measured = QUANTITIES["accuracy"]
    assert measured.shown(measured.error(0.7)) == pytest.approx(70.0)
    assert measured.write(0.3, 0.021, unit=True) == "70.0 ± 2.1 %"
    assert measured.write(0.3, math.nan) == "70.0"
    assert measured.write_difference(0.05) == "\u22125.0"
    assert measured.write_difference(0.0) == "0"
    assert math.copysign(1.0, measured.shown_difference(0.0)) == 1.0
    assert QUANTITIES["arrmse"].write(0.3, 0.021) == "0.300 ± 0.021"


def test_the_files_of_the_evaluation_are_read(tmp_path):
    paths = write_class_results(tmp_path)
    files = [tmp_path / f"{name}.csv" for name in ("scores", "choices", "coordinates")]
    inputs = paths["dataset"], paths["splits"], paths["predictions"]
    run_scores(*inputs, *files, "toy", "toy-data")
    scores = read_scores(files[0])
    accuracies = {
        (row.method, row.training_size, row.n_train, row.split): row.value
        for row in scores[scores["quantity"] == "accuracy"].itertuples()
    }
    # Of 18 test rows, 9 and 14 are right with two examples per class, and none with one.
    assert accuracies == {
        (method, size, 6 * size, split): (size - 1) * n_right / 18
        for method, n_right in (("class-krr", 9), ("wofer-gmm", 14))
        for size in (1, 2)
        for split in (0, 1)
    }
    cells = cells_of(scores)
    rates = [cell.mean for cell in cells_of(read_coordinates(files[2]), "coordinates")]
    # All classes have three test rows, so that the mean over them is the error rate.
    assert rates[-2:] == pytest.approx([cell.mean for cell in cells if cell.training_size == 2])


def test_a_report_of_classes_is_one_page(tmp_path):
    paths, inputs = write_class_results(tmp_path), inputs_in(tmp_path)
    arguments = paths["dataset"], paths["splits"], paths["predictions"], paths["models"]
    figure = confusion.draw(*arguments, title="Toy", methods=CLASS_METHODS, named_methods={})
    save_figure(figure, tmp_path / "c.svg")
    kinds = ("error", "weak", "coordinates", "weak_weight", "component_names", "time")
    rates = [(method, "selected", 0, base_error) for method in ("class-krr", "ofer-gmm")]
    results = {
        "scores": write_accuracies(tmp_path / "s.csv", [*ROWS[:3], *STUDY[1:]]),
        "coordinates": write_coordinates(tmp_path / "o.csv", rates, n_classes=10),
        "timings": write_timings(tmp_path / "t.csv", ["class-krr"]),
        "dataset": paths["dataset"],
        "models": paths["models"],
    }
    toy = inputs["experiments"]["toy"]
    toy |= {"scores": results["scores"], "choices": write_choices(tmp_path / "h.csv", rates)}
    toy |= {"table_results": dict.fromkeys(kinds, results), "figures": {"c": tmp_path / "c.svg"}}
    toy["settings"] |= {"training_sizes": [1, 5], "weak_sizes": [700], "metric": "accuracy"}
    toy["settings"]["split"] = "per_class"
    toy["settings"]["figures"] = [{"name": "c", "kind": "confusion", "caption": "Confusion."}]
    toy["settings"]["tables"] = [
        {"name": kind, "kind": kind, "caption": f"Table {kind}.", "paper_table": None}
        for kind in kinds
    ]
    inputs["datasets"]["toy-data"]["artifact"] = paths["dataset"]
    text = text_of(page_of(inputs | {"methods": CLASS_METHODS}, tmp_path))
    for kind in kinds:
        assert f"Table {kind}. Data: Toy" in text
    assert "class 0, class 3" in text
    assert "Highest mean accuracy: OFER-GMM at n = 1" in text
    assert "Difference in accuracy (percentage points)" in text
    assert re.search("Row minus reference of .*; positive is better", text)
    assert "OFER-GMM against one-hot KRR is better in 2 of 2 comparisons" in text
    assert "Classes6" in text
    assert "RRMSE" not in text


@pytest.mark.parametrize("kind", ["error", "weak_weight"])
@pytest.mark.parametrize(("decimals", "shown"), [(0, r"\d+"), (3, r"\d+\.\d{3}")])
def test_the_decimals_of_a_table_are_chosen(tmp_path, kind, decimals, shown):
    cells = cells_of(read(tmp_path, ROWS if kind == "error" else STUDY), kind)
    found = re.findall(r"<td[^>]*>([^<]*±[^<]*)<", html_of(cells, kind, decimals=decimals))
    assert found
    assert all(re.fullmatch(rf"{shown} ± {shown}", number.strip("\xa0 ")) for number in found), (
        found
    )
    assert html_of(cells, kind, decimals=1) == html_of(cells, kind)
