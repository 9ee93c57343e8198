"""The figure of one change at a time: differences from the first method, and both tests."""

import numpy as np
import pytest
from report_samples import METHODS, base_error, noisy_error, write_scores

from workflow_lib.core.errors import UserError
from workflow_lib.protocol.statistics import corrected_resampled_t_test, paired_t_test
from workflow_lib.report.figures.ablation import changes_of, draw
from workflow_lib.report.results import read_scores


def lower_error(size, split):
    return (0.9 + 0.001 * split) * base_error(size, split)


ROWS = [
    ("m-krr", "selected", 0, base_error),
    ("ofer-gmm", "selected", 0, noisy_error),
    ("wofer-gmm", "selected", 300, lower_error),
]
SHOWN = {name: METHODS[name] for name in ("m-krr", "wofer-gmm", "ofer-gmm")}


@pytest.fixture
def scores(tmp_path):
    return write_scores(tmp_path / "scores.csv", ROWS)


def test_differences_intervals_and_tests_are_those_of_the_errors_on_the_same_split(scores):
    frame = read_scores(scores)
    rows = frame[frame["training_size"] == frame["training_size"].max()]
    changes = changes_of(rows, "arrmse", SHOWN, scores)
    assert [change.method for change in changes] == ["wofer-gmm", "ofer-gmm"]
    rows = rows[rows["quantity"] == "arrmse"]
    errors = {
        name: of.sort_values("split")["value"].to_numpy() for name, of in rows.groupby("method")
    }
    n_train, n_test = rows["n_train"].iloc[0], rows["n_test"].max()
    for change in changes:
        ours, theirs = errors[change.method], errors["m-krr"]
        np.testing.assert_allclose(change.by_split, ours - theirs)
        test = corrected_resampled_t_test(ours, theirs, n_train, n_test)
        assert change.found.p_corrected == pytest.approx(test.p_value)
        assert change.found.p_student == pytest.approx(paired_t_test(ours, theirs).p_value)
        # Zero is outside of the interval where the test finds a difference.
        assert (abs(change.mean) > change.half_width) == (test.p_value < 0.05)


def test_a_row_is_a_method_and_its_point_the_mean_difference(scores):
    figure = draw(scores, title="Toy", shown_methods=SHOWN, metric="arrmse")
    (axis,) = figure.axes
    labels = [text.get_text() for text in axis.get_yticklabels()]
    assert labels == [METHODS[name]["label"] for name in ("wofer-gmm", "ofer-gmm")]
    first, second = (container.lines[0] for container in axis.containers)
    assert first.get_xdata()[0] < 0
    assert first.get_markerfacecolor() == METHODS["wofer-gmm"]["color"]
    assert second.get_markerfacecolor() == "white"


def test_nothing_to_compare(scores):
    first = {"m-krr": METHODS["m-krr"]}
    with pytest.raises(UserError, match="no method that can be compared with m-krr"):
        draw(scores, title="Toy", shown_methods=first, metric="arrmse")
