"""The figures of differences from the first method: on the same split, and with both tests."""

import numpy as np
import pytest
from report_samples import METHODS, base_error, noisy_error, write_scores

from workflow_lib.core.errors import UserError
from workflow_lib.protocol.statistics import corrected_resampled_t_test, paired_t_test
from workflow_lib.report.figures import ablation, relative_curve
from workflow_lib.report.results import read_scores


def lower_error(size, split):
    return (0.9 + 0.001 * split) * base_error(size, split)


ROWS = [
    ("m-krr", "selected", 0, base_error),
    ("ofer-gmm", "selected", 0, noisy_error),
    ("wofer-gmm", "selected", 100, base_error),
    ("wofer-gmm", "selected", 300, lower_error),
]
SHOWN = {name: METHODS[name] for name in ("m-krr", "wofer-gmm", "ofer-gmm")}
ERRORS = {"m-krr": base_error, "ofer-gmm": noisy_error, "wofer-gmm": lower_error}


@pytest.fixture
def scores(tmp_path):
    return write_scores(tmp_path / "scores.csv", ROWS)


def errors_of(method, size):
    return np.array([ERRORS[method](size, split) for split in range(5)])


def test_differences_intervals_and_tests_are_those_of_the_errors_on_the_same_split(scores):
    frame = read_scores(scores)
    rows = frame[frame["training_size"] == 50]
    changes = ablation.changes_of(rows, "arrmse", SHOWN, scores)
    assert [change.method for change in changes] == ["wofer-gmm", "ofer-gmm"]
    for change in changes:
        ours, theirs = errors_of(change.method, 50), errors_of("m-krr", 50)
        np.testing.assert_allclose(change.by_split, ours - theirs)
        test = corrected_resampled_t_test(ours, theirs, 50, 10)
        assert change.found.p_corrected == pytest.approx(test.p_value)
        assert change.found.p_student == pytest.approx(paired_t_test(ours, theirs).p_value)
        # Zero is outside of the interval where the test finds a difference.
        assert (abs(change.mean) > change.half_width) == (test.p_value < 0.05)


def test_a_row_is_a_method_and_its_point_the_mean_difference(scores):
    figure = ablation.draw(scores, title="Toy", shown_methods=SHOWN, metric="arrmse")
    (axis,) = figure.axes
    labels = [text.get_text() for text in axis.get_yticklabels()]
    assert labels == [METHODS[name]["label"] for name in ("wofer-gmm", "ofer-gmm")]
    first, second = (container.lines[0] for container in axis.containers)
    assert first.get_xdata()[0] < 0
    assert first.get_markerfacecolor() == METHODS["wofer-gmm"]["color"]
    assert second.get_markerfacecolor() == "white"


def test_relative_differences_and_tests_are_those_of_the_errors_on_the_same_split(scores):
    found = relative_curve.relative_errors(read_scores(scores), "arrmse", SHOWN, scores)
    assert list(dict.fromkeys(found["method"])) == ["wofer-gmm", "ofer-gmm"]
    for row in found.itertuples():
        ours, theirs = (errors_of(name, row.training_size) for name in (row.method, "m-krr"))
        assert row.mean == pytest.approx(100 * np.mean(ours / theirs - 1))
        assert row.deviation == pytest.approx(100 * np.std(ours / theirs, ddof=1))
        assert row.p_student == pytest.approx(paired_t_test(ours, theirs).p_value)
        expected = corrected_resampled_t_test(ours, theirs, row.training_size, 10).p_value
        assert row.p_corrected == pytest.approx(expected)


def test_markers_are_filled_where_the_corrected_test_finds_a_difference(scores):
    (axis,) = relative_curve.draw(scores, title="Toy", shown_methods=SHOWN, metric="arrmse").axes
    rows = relative_curve.relative_errors(read_scores(scores), "arrmse", SHOWN, scores)
    is_open = ~(rows["p_corrected"] < 0.05)
    drawn = [line for line in axis.lines if line.get_markerfacecolor() == "white"]
    heights = np.concatenate([line.get_ydata() for line in drawn])
    np.testing.assert_allclose(np.sort(heights), np.sort(rows.loc[is_open, "mean"]))
    assert 0 < is_open.sum() < len(rows)
    assert "% above m-KRR" in axis.get_ylabel()


@pytest.mark.parametrize("figure", [ablation, relative_curve])
@pytest.mark.parametrize("rows", [ROWS[:1], ROWS[1:]], ids=["no other", "no first"])
def test_nothing_to_compare(tmp_path, figure, rows):
    scores = write_scores(tmp_path / "few.csv", rows)
    with pytest.raises(UserError, match="no method that can be compared with m-krr"):
        figure.draw(scores, title="Toy", shown_methods=SHOWN, metric="arrmse")
