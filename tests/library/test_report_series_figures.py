"""Figures of series and of their coordinates show the data they are given, none chosen by hand."""

import numpy as np
import pytest
from overlaps import overlaps
from report_samples import (
    METHODS,
    base_error,
    better_error,
    names_of_lines,
    noisy_error,
    worse_error,
    write_coordinates,
)

from workflow_lib.core.artifacts import write_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.report.chosen_rows import chosen_rows
from workflow_lib.report.figures import coordinates, series
from workflow_lib.report.figures.series import shown_methods

TESTS = [[0, 1, 2, 3, 4, 5, 6], [6, 5, 4, 3, 2, 1, 7], [0, 1, 2, 3, 4, 8, 5]]
"""Test rows of three splits: rows 1 to 5 are in all of them, 0 and 6 in two, 7 and 8 in one."""


def write_series(folder, n_channels=1, methods=("m-krr", "ofer-gmm"), length=3):
    """Write a dataset, three splits and predictions; return the arguments of the figure."""
    random = np.random.default_rng(0)
    outputs = random.normal(size=(9, length * n_channels))
    names = {"outputs": "[]", "series_length": length, "series_channels": n_channels}
    folder.mkdir(parents=True, exist_ok=True)
    tree = {"inputs": outputs, "outputs": outputs, "names": names}
    write_artifact(folder / "data.h5", tree, "dataset")
    splits, predictions = [], {method: [] for method in methods}
    for split, test in enumerate(TESTS):
        # The size 80 fits the first split alone.
        sizes = np.array([20, 50, 80][: 3 - (split > 0)])
        path = folder / f"split-{split}.h5"
        write_artifact(path, {"test": np.array(test), "sizes": sizes}, "split")
        splits.append(path)
        for index, method in enumerate(methods):
            # The error of a row grows with its number, and the first split is the worst one.
            shift = (1 + index) * (1 + np.array(test)) * (2 if split == 0 else 1)
            items = {
                f"n-{size}_w-0_C-selected": {"outputs": outputs[test] + shift[:, None] / size}
                for size in sizes
            }
            path = folder / f"{method}-{split}.h5"
            write_artifact(path, items, "predictions")
            predictions[method].append(path)
    return (folder / "data.h5", splits, predictions), outputs


def panel_lines(axis):
    """Return label -> (x, y) of the lines of a panel."""
    lines = {"true series": axis.lines[0].get_data()}
    for container in axis.containers:
        lines[container.get_label()] = container.lines[0].get_data()
    return lines


def test_rows_of_the_most_splits_come_from_the_lowest_to_the_highest_error():
    outputs = np.zeros((9, 2))
    predicted = [np.repeat(np.array(test, dtype=float), 2).reshape(-1, 2) for test in TESTS]
    assert chosen_rows(outputs, TESTS, predicted, n_rows=3) == [1, 3, 5]
    assert chosen_rows(outputs, TESTS, predicted, n_rows=5) == [1, 2, 3, 4, 5]
    # Five rows are in all splits; for the sixth those of two splits are taken in.
    assert chosen_rows(outputs, TESTS, predicted, n_rows=6) == [0, 1, 2, 4, 5, 6]
    assert chosen_rows(outputs, TESTS, predicted, n_rows=20) == list(range(9))
    reversed_errors = [10.0 - values for values in predicted]
    assert chosen_rows(outputs, TESTS, reversed_errors, n_rows=3) == [5, 3, 1]


def test_errors_are_averaged_over_splits_and_equal_ones_follow_the_rows():
    outputs = np.zeros((3, 1))
    tests = [np.array([2, 0, 1]), np.array([0, 1, 2])]
    first, second = np.array([[3.0], [1.0], [0.0]]), np.array([[1.0], [0.0], [3.0]])
    assert chosen_rows(outputs, tests, [first, second], n_rows=3) == [1, 0, 2]
    assert chosen_rows(outputs, tests, [np.ones((3, 1))] * 2, n_rows=2) == [0, 2]


def test_missing_outputs_count_for_no_error():
    outputs = np.array([[np.nan, 0.0], [0.0, 0.0], [np.nan, np.nan], [0.0, 0.0]])
    tests = [np.array([0, 1, 2, 3])]
    predicted = [np.array([[9.0, 2.0], [1.0, 1.0], [0.0, 0.0], [0.0, 3.0]])]
    assert chosen_rows(outputs, tests, predicted) == [1, 0, 3]


def test_the_reference_and_the_first_others_are_drawn():
    names = ["a", "b", "c", "d", "ref", "e"]
    assert shown_methods(names, "ref") == ["a", "b", "c", "ref"]
    assert shown_methods(names, "absent") == ["a", "b", "c", "d"]
    assert shown_methods(["ref", "a"], "ref") == ["ref", "a"]


def test_panels_show_truth_means_and_deviations(tmp_path):
    arguments, outputs = write_series(tmp_path)
    figure = series.draw(*arguments, title="Toy", methods=METHODS)
    assert len(figure.axes) == 6
    titles = [axis.get_title("left") for axis in figure.axes]
    assert titles[0] == "lowest error: row 0, 2 splits"
    assert titles[1] == "quantile 0.2: row 1, 3 splits"
    assert titles[5] == "highest error: row 6, 2 splits"
    lines = panel_lines(figure.axes[1])
    np.testing.assert_array_equal(lines["true series"], [[1, 2, 3], outputs[1]])
    for index, label in enumerate(["m-KRR", "OFER-GMM"], start=1):
        shifts = index * 2 * np.array([2, 1, 1]) / 50
        steps, means = lines[label]
        np.testing.assert_allclose(means, outputs[1] + shifts.mean())
        # Points stay nearer to their step than to the next one.
        assert np.abs(steps - [1, 2, 3]).max() < 0.25
        container = figure.axes[1].containers[index - 1]
        bottom, top = container.lines[2][0].get_segments()[0][:, 1]
        assert (top - bottom) / 2 == pytest.approx(np.std(shifts, ddof=1))
    title = figure.get_suptitle()
    assert title == (
        "Toy\n50 training rows; test rows by rising error of m-KRR\n"
        "Predictions: mean ± standard deviation over the splits of each row"
    )


def test_panels_span_the_same_height(tmp_path):
    arguments, _ = write_series(tmp_path)
    figure = series.draw(*arguments, title="Toy", methods=METHODS)
    heights = [np.ptp(axis.get_ylim()) for axis in figure.axes]
    np.testing.assert_allclose(heights, heights[0])
    for axis in figure.axes:
        bottom, top = axis.get_ylim()
        for _, values in panel_lines(axis).values():
            assert bottom < min(values) <= max(values) < top


def test_the_first_of_several_channels_is_drawn_and_said(tmp_path):
    arguments, outputs = write_series(tmp_path, n_channels=2)
    figure = series.draw(*arguments, title="Toy", methods=METHODS)
    assert "first of 2 channels" in figure.get_suptitle().replace("\n", " ")
    _, truth = panel_lines(figure.axes[0])["true series"]
    np.testing.assert_array_equal(truth, outputs[0, [0, 2, 4]])


def test_a_single_split_has_no_bars(tmp_path):
    (dataset, splits, predictions), _ = write_series(tmp_path)
    first = {method: paths[:1] for method, paths in predictions.items()}
    figure = series.draw(dataset, splits[:1], first, title="Toy", methods=METHODS)
    assert "80 training rows" in figure.get_suptitle()
    assert "deviation" not in figure.get_suptitle()
    segments = figure.axes[0].containers[0].lines[2][0].get_segments()
    assert all(np.ptp(segment[:, 1]) == 0 for segment in segments)
    assert figure.axes[0].get_title("left") == "lowest error: row 0, 1 split"


def test_methods_differ_without_colors(tmp_path):
    names = ("m-krr", "m-rf", "ofer-gmm", "wofer-gmm")
    arguments, _ = write_series(tmp_path, methods=names)
    figure = series.draw(*arguments, title="Toy", methods=METHODS)
    lines = [container.lines[0] for container in figure.axes[0].containers]
    assert len({str(line._dash_pattern) for line in lines}) == 4
    assert len({line.get_marker() for line in lines}) == 4


def test_a_method_without_predictions_is_reported(tmp_path):
    arguments, _ = write_series(tmp_path)
    write_artifact(
        tmp_path / "m-krr-1.h5", {"n-50_w-0_C-2": {"outputs": np.ones(1)}}, "predictions"
    )
    with pytest.raises(UserError, match=r"m-krr-1\.h5: no predictions of m-krr with 50 training"):
        series.draw(*arguments, title="Toy", methods=METHODS)


def test_data_that_are_no_series_are_refused(tmp_path):
    (_, *arguments), outputs = write_series(tmp_path)
    tree = {"inputs": outputs, "outputs": outputs, "names": {"outputs": "[]"}}
    write_artifact(tmp_path / "table.h5", tree, "dataset")
    with pytest.raises(UserError, match=r"table\.h5: its rows have 3 outputs"):
        series.draw(tmp_path / "table.h5", *arguments, title="Toy", methods=METHODS)


def draw_errors(tmp_path, rows, n_channels=1, title="Toy", **options):
    names = {"outputs": "[]", "series_channels": n_channels}
    write_artifact(tmp_path / "data.h5", {"names": names}, "dataset")
    errors = write_coordinates(tmp_path / "coordinates.csv", rows, **options)
    settings = {"title": title, "shown_methods": METHODS, "metric": "arrmse"}
    return coordinates.draw(errors, tmp_path / "data.h5", **settings)


def test_curves_go_through_the_errors_of_the_largest_size(tmp_path):
    figure = draw_errors(tmp_path, [("m-krr", "selected", 0, base_error)])
    (container,) = figure.axes[0].containers
    mean = np.mean([base_error(50, split) for split in range(5)])
    np.testing.assert_array_equal(container.lines[0].get_xdata(orig=False), [0, 1, 2])
    means = container.lines[0].get_ydata(orig=False)
    np.testing.assert_allclose(means, [mean, mean + 0.1, mean + 0.2])
    bottom, top = container.lines[2][0].get_segments()[0][:, 1]
    deviation = np.std([base_error(50, split) for split in range(5)], ddof=1)
    assert (top - bottom) / 2 == pytest.approx(deviation)
    labels = [text.get_text() for text in figure.axes[0].get_xticklabels()]
    assert labels == ["week 1", "week 2", "week 3"]
    assert figure.get_suptitle() == (
        "Toy\n50 training rows, 5 splits, 10 test rows, mean ± standard deviation"
    )


def test_the_training_mean_is_a_line_where_it_is_near(tmp_path):
    (axis,) = draw_errors(tmp_path, [("m-krr", "selected", 0, base_error)]).axes
    (line,) = [line for line in axis.lines if line.get_label() == "training mean"]
    assert list(line.get_ydata()) == [1.0, 1.0]
    assert set(names_of_lines(axis)) == {"m-KRR", "training mean"}
    (axis,) = draw_errors(tmp_path, [("m-krr", "selected", 0, lambda n, s: 0.1)], names=["a"]).axes
    assert axis.get_ylim()[1] < 0.5
    assert names_of_lines(axis) == ["m-KRR"]


def test_equal_methods_are_drawn_side_by_side(tmp_path):
    rows = [(method, "selected", 0, base_error) for method in ("m-krr", "m-rf", "ofer-gmm")]
    figure = draw_errors(tmp_path, rows)
    positions = [
        container.lines[0].get_xdata(orig=False) for container in figure.axes[0].containers
    ]
    assert np.all(np.diff(positions, axis=0) > 0)
    assert np.abs(np.array(positions) - [0, 1, 2]).max() < 0.5


def test_channels_of_series_are_drawn_side_by_side(tmp_path):
    names = ["a_1", "b_1", "a_2", "b_2"]
    figure = draw_errors(
        tmp_path, [("m-krr", "selected", 0, base_error)], names=names, n_channels=2
    )
    labels = [text.get_text() for text in figure.axes[0].get_xticklabels()]
    assert labels == ["a 1", "a 2", "b 1", "b 2"]
    values = figure.axes[0].containers[0].lines[0].get_ydata(orig=False)
    mean = np.mean([base_error(50, split) for split in range(5)])
    np.testing.assert_allclose(values, mean + np.array([0, 0.2, np.nan, 0.1, 0.3]))


def test_many_coordinates_are_counted(tmp_path):
    names = [f"a_long_name_of_pixel_{number}" for number in range(40)]
    axis = draw_errors(tmp_path, [("m-krr", "selected", 0, base_error)], names=names).axes[0]
    assert [text.get_text() for text in axis.get_xticklabels()][:3] == ["1", "5", "9"]
    assert axis.get_xlabel().endswith("from a long name of pixel 0 to a long name of pixel 39")


def test_rows_of_one_method_have_different_lines(tmp_path):
    rows = [("wofer-gmm", "selected", weak, base_error) for weak in (0, 100, 300)]
    figure = draw_errors(tmp_path, rows)
    styles = [container.lines[0].get_linestyle() for container in figure.axes[0].containers]
    assert styles == ["-", "--", ":"]


def test_a_method_that_fails_makes_the_axis_logarithmic(tmp_path):
    rows = [("m-krr", "selected", 0, base_error)]
    figure = draw_errors(tmp_path, rows)
    assert figure.axes[0].get_yscale() == "linear"
    rows.append(("m-rf", "selected", 0, lambda n, s: 50 * base_error(n, s)))
    figure = draw_errors(tmp_path, rows)
    assert figure.axes[0].get_yscale() == "log"


@pytest.mark.parametrize("kind", ["series", "coordinates"])
def test_no_text_overlaps(tmp_path, kind):
    if kind == "series":
        names = ("m-krr", "m-rf", "ofer-gmm", "wofer-gmm")
        arguments, _ = write_series(tmp_path, methods=names, length=24)
        figure = series.draw(*arguments, title="A dataset with a long title", methods=METHODS)
    else:
        functions = [base_error, better_error, worse_error, noisy_error]
        rows = [(name, "selected", 0, f) for name, f in zip(METHODS, functions, strict=True)]
        names = [f"log_volatility_after_{year}_report" for year in range(2001, 2006)]
        figure = draw_errors(tmp_path, rows, names=names, title="A dataset with a long title")
    assert overlaps(figure) == []
