"""The figures of predictions, residuals and novelty show what the calibration holds."""

import numpy as np
import pytest
from overlaps import overlaps
from report_samples import METHODS, write_calibration
from sklearn.metrics import r2_score

from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.report.figures import predicted_true, residuals_novelty
from workflow_lib.report.figures.predicted_true import shown_outputs
from workflow_lib.report.figures.residuals_novelty import relative_residuals, running_median
from workflow_lib.report.style import ACCENT_COLOR, BASE_COLOR
from workflow_lib.uncertainty.row_intervals import RowIntervals


def points(axis):
    """Return label -> the points (m, 2) of the scatters of a panel."""
    return {
        collection.get_label(): np.asarray(collection.get_offsets())
        for collection in axis.collections
        if len(collection.get_offsets()) and collection.get_label()[0] != "9"
    }


def pooled(path, name):
    tree = read_artifact(path, "calibration")
    return np.concatenate([tree[f"split-{split}"][name] for split in range(3)])


def test_every_known_output_of_every_split_is_a_point(tmp_path):
    paths = write_calibration(tmp_path)
    figure = predicted_true.draw(*paths, title="Toy", methods=METHODS)
    truth, predicted = pooled(paths[0], "truth"), pooled(paths[0], "predicted")
    assert len(figure.axes) == 2
    for output, axis in enumerate(figure.axes):
        drawn = points(axis)
        known = ~np.isnan(truth[:, output])
        pairs = np.column_stack([truth[known, output], predicted[known, output]])
        is_inside = np.abs(pairs[:, 0] - pairs[:, 1]) <= 1.5
        np.testing.assert_array_equal(drawn["test row in its interval"], pairs[is_inside])
        np.testing.assert_array_equal(drawn["test row outside of it"], pairs[~is_inside])
        (line,) = axis.lines
        np.testing.assert_array_equal(*line.get_data())
        assert axis.get_xlim() == axis.get_ylim()
    assert figure.get_suptitle() == "Toy\nOFER-GMM, 40 training rows; 45 test rows of 3 splits"


def test_the_band_is_as_wide_as_the_interval(tmp_path):
    paths = write_calibration(tmp_path)
    axis = predicted_true.draw(*paths, title="Toy", methods=METHODS).axes[0]
    (band,) = [c for c in axis.collections if c.get_label() == "90 % interval"]
    corners = band.get_paths()[0].vertices
    assert set(np.round(corners[:, 0] - corners[:, 1], 9)) == {-1.5, 1.5}


def test_the_band_follows_the_prediction_and_the_marks_the_row(tmp_path):
    path, data = write_calibration(tmp_path, n_outputs=1)
    tree = read_artifact(path, "calibration")
    # The width doubles from the least to the largest prediction that the calibration knows.
    tree["intervals"] |= {
        "coefficients": np.array([[0.0, 1.0, 0.0, 0.0]]),
        "knots": np.array([[-2.0, 2.0], [0.0, 1.0]]),
        "scores": np.array([[0.0, np.log(2.0)], [0.0, 0.0]]),
    }
    tree["split-0"]["upper"][3] = tree["split-0"]["truth"][3] - 1.0
    tree["split-0"]["lower"][3] = tree["split-0"]["truth"][3] - 2.0
    write_artifact(path, tree, "calibration", allow_nan=("truth",))
    (axis,) = predicted_true.draw(path, data, title="Toy", methods=METHODS).axes
    (band,) = [c for c in axis.collections if c.get_label() == "90 % interval"]
    corners = band.get_paths()[0].vertices
    widths = np.abs(corners[:, 0] - corners[:, 1])
    np.testing.assert_allclose(widths[corners[:, 1] < -2.0], 1.5)
    np.testing.assert_allclose(widths[corners[:, 1] > 2.0], 3.0)
    split = tree["split-0"]
    outside = points(axis)["test row outside of it"]
    assert [split["truth"][3, 0], split["predicted"][3, 0]] in outside.tolist()


def test_the_titles_of_panels_hold_the_errors_of_the_outputs(tmp_path):
    paths = write_calibration(tmp_path, n_outputs=1, names=["dose_response"])
    (axis,) = predicted_true.draw(*paths, title="Toy", methods=METHODS).axes
    tree = read_artifact(paths[0], "calibration")
    errors = [tree[f"split-{split}"]["errors"][0] for split in range(3)]
    reference = [tree[f"split-{split}"]["reference"][0] for split in range(3)]
    relative = np.mean(np.sqrt(np.array(errors) / reference))
    pairs = [(tree[f"split-{k}"]["truth"], tree[f"split-{k}"]["predicted"]) for k in range(3)]
    scores = [r2_score(truth[1:], predicted[1:]) for truth, predicted in pairs]
    r_squared = np.mean(scores)
    expected = f"dose response\nrel. error {relative:.2f}, R\u00b2 {r_squared:.2f}"
    assert axis.get_title("left") == expected


def test_without_a_finite_interval_there_is_no_band_and_no_point_outside(tmp_path):
    paths = write_calibration(tmp_path, half_width=np.inf)
    figure = predicted_true.draw(*paths, title="Toy", methods=METHODS)
    assert list(points(figure.axes[0])) == ["test row"]
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["predicted = true", "test row"]


def test_of_many_outputs_those_from_the_lowest_to_the_highest_error_are_drawn(tmp_path):
    assert shown_outputs([3.0, 1.0, 2.0], 3) == [0, 1, 2]
    assert shown_outputs([3.0, 1.0, np.nan, 2.0, 4.0], 2) == [1, 4]
    assert shown_outputs([0.0, 9.0, 1.0, 8.0, 2.0, 7.0, 3.0], 4) == [0, 4, 5, 1]
    paths = write_calibration(tmp_path, n_outputs=30)
    figure = predicted_true.draw(*paths, title="Toy", methods=METHODS)
    assert len(figure.axes) == 12
    errors = [float(axis.get_title("left").split("error ")[1][:4]) for axis in figure.axes]
    assert errors == sorted(errors)
    assert "12 of 30 outputs, from the lowest to the highest error" in figure.get_suptitle()


def test_only_so_many_points_are_drawn(tmp_path, monkeypatch):
    paths = write_calibration(tmp_path, n_test=200)
    monkeypatch.setattr(predicted_true, "MAX_POINTS", 100)
    monkeypatch.setattr(residuals_novelty, "MAX_POINTS", 100)
    figure = predicted_true.draw(*paths, title="Toy", methods=METHODS)
    for axis in figure.axes:
        assert 25 < sum(map(len, points(axis).values())) <= 50
    (axis,) = residuals_novelty.draw(paths[0], title="Toy", methods=METHODS).axes
    assert 50 < sum(map(len, points(axis).values())) <= 100


def test_residuals_are_drawn_above_the_novelty_of_their_rows(tmp_path):
    path, _ = write_calibration(tmp_path)
    figure = residuals_novelty.draw(path, title="Toy", methods=METHODS)
    (axis,) = figure.axes
    residuals = pooled(path, "truth") - pooled(path, "predicted")
    expected = np.column_stack(
        [pooled(path, "novelty"), np.nanmean(np.abs(residuals), axis=1) / 1.5]
    )
    is_beyond = expected[:, 0] > 2.0
    drawn = points(axis)
    np.testing.assert_allclose(drawn["test row"], expected[~is_beyond])
    np.testing.assert_allclose(drawn["test row beyond the limit"], expected[is_beyond])
    (limit,) = [line for line in axis.lines if line.get_linestyle() == "--"]
    assert list(limit.get_xdata()) == [2.0, 2.0]
    assert figure.get_suptitle() == (
        "Toy\nOFER-GMM, 40 training rows; 45 test rows of 3 splits, 6.7 % beyond the limit"
    )
    assert axis.get_xscale() == "linear"
    path, _ = write_calibration(tmp_path / "far", far=50.0)
    (axis,) = residuals_novelty.draw(path, title="Toy", methods=METHODS).axes
    assert axis.get_xscale() == "symlog"


def with_an_outlier(path, name, value):
    """Write a value of a row of the first split of a calibration, and return the path."""
    tree = read_artifact(path, "calibration")
    tree["split-0"][name][1] = value
    allow_nan = ("truth", "half_widths", "factors", "lower", "upper")
    write_artifact(path, tree, "calibration", allow_nan=allow_nan)
    return path


def test_points_far_from_all_others_are_drawn_at_the_edge(tmp_path):
    path, dataset = write_calibration(tmp_path)
    with_an_outlier(path, "predicted", 1e6)
    (axis,) = residuals_novelty.draw(path, title="Toy", methods=METHODS).axes
    ((_, location),) = points(axis)["test row above the axis"]
    assert location == axis.get_ylim()[1] < 10
    for axis in predicted_true.draw(path, dataset, title="Toy", methods=METHODS).axes:
        ((_, location),) = points(axis)["prediction beyond the axis"]
        assert location == axis.get_ylim()[1] < 20
        assert len(points(axis)) == 3


def test_the_running_median_is_of_segments_of_equally_many_rows():
    positions = np.random.default_rng(0).permutation(40).astype(float)
    at, medians = running_median(positions, 100 - positions)
    np.testing.assert_array_equal(at, [4.5, 14.5, 24.5, 34.5])
    np.testing.assert_array_equal(medians, 100 - at)
    assert len(running_median(np.arange(500.0), np.arange(500.0))[0]) == 12
    assert len(running_median(np.arange(9.0), np.arange(9.0))[0]) == 0


def test_residuals_are_in_units_of_the_half_widths_that_there_are():
    residuals = np.array([[1.0, 8.0, 5.0], [-3.0, np.nan, 5.0], [np.nan, np.nan, 5.0]])
    values, unit = relative_residuals(residuals, np.array([2.0, 4.0, np.inf]))
    np.testing.assert_array_equal(values, [1.25, 1.5, np.nan])
    assert unit == "mean half-width of the intervals"
    values, unit = relative_residuals(residuals[:, :1], np.array([np.inf]))
    np.testing.assert_allclose(values, np.abs(residuals[:, 0]) / np.sqrt(5.0))
    assert unit == "root mean squared residual"
    # Outputs that are predicted without any error have no unit.
    values, _ = relative_residuals(np.array([[0.0, 2.0], [0.0, -1.0]]), np.array([0.0, 2.0]))
    np.testing.assert_array_equal(values, [1.0, 0.5])
    np.testing.assert_array_equal(relative_residuals(np.zeros((2, 2)), np.zeros(2))[0], [0, 0])


def test_classes_and_unknown_outputs_have_no_such_figures(tmp_path):
    path, data = write_calibration(tmp_path, n_outputs=1)
    tree = read_artifact(path, "calibration")
    for split in range(3):
        tree[f"split-{split}"]["truth"][:] = np.nan
    write_artifact(path, tree, "calibration", allow_nan=("truth", "factors"))
    with pytest.raises(UserError, match=r"calibration\.h5: no test row has a known output"):
        residuals_novelty.draw(path, title="Toy", methods=METHODS)
    tree |= {"half_widths": np.empty(0)}
    tree["intervals"] = RowIntervals.constant(np.empty(0), 0.9).tree()
    write_artifact(path, tree, "calibration", allow_nan=("truth", "factors"))
    for draw in (
        lambda: residuals_novelty.draw(path, title="Toy", methods=METHODS),
        lambda: predicted_true.draw(path, data, title="Toy", methods=METHODS),
    ):
        with pytest.raises(UserError, match=r"calibration\.h5: its outputs are classes"):
            draw()


def test_groups_of_points_differ_without_colors(tmp_path):
    paths = write_calibration(tmp_path)
    figures = (
        predicted_true.draw(*paths, title="Toy", methods=METHODS),
        residuals_novelty.draw(paths[0], title="Toy", methods=METHODS),
    )
    for figure in figures:
        scatters = [c for c in figure.axes[0].collections if c.get_label().startswith("test row")]
        assert len(scatters) == 2
        shapes = [len(scatter.get_paths()[0].vertices) for scatter in scatters]
        assert shapes[0] != shapes[1]
    # Blue and vermilion of the palette of Okabe and Ito, which color-blind readers can distinguish.
    assert (BASE_COLOR, ACCENT_COLOR) == ("#0072B2", "#D55E00")


@pytest.mark.parametrize("n_outputs", [1, 3, 7, 20])
def test_no_text_overlaps(tmp_path, n_outputs):
    names = [f"a_rather_long_name_of_an_output_{number}" for number in range(n_outputs)]
    paths = write_calibration(tmp_path, n_outputs=n_outputs, names=names)
    figures = (
        predicted_true.draw(*paths, title="A dataset with a long title", methods=METHODS),
        residuals_novelty.draw(paths[0], title="A dataset with a long title", methods=METHODS),
    )
    assert [overlaps(figure) for figure in figures] == [[], []]
