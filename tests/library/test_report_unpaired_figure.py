"""The figure of outputs without inputs: differences from the reference on the same split."""

import pandas as pd
import pytest
from report_samples import METHODS, base_error, write_scores

from workflow_lib.core.errors import UserError
from workflow_lib.report.figures.unpaired import MARKERS, draw, relative_differences
from workflow_lib.report.results import read_scores


def lower_error(size, split):
    return (0.9 if size > 20 else 0.8) * base_error(size, split)


ROWS = [
    ("m-krr", "selected", 0, base_error),
    ("ofer-gmm", "selected", 0, lower_error),
    ("ofer-gmm", "selected", 0, base_error, "unpaired_size=0"),
    ("ofer-gmm", "selected", 0, lower_error, "unpaired_size=200"),
    # A stack has no line.
    ("ofer-stack", "selected", 0, lower_error),
    ("ofer-stack", "selected", 0, base_error, "unpaired_size=0"),
]


@pytest.fixture
def path(tmp_path):
    """Return the scores of two training sizes, both with the study."""
    frames = [
        pd.read_csv(write_scores(tmp_path / f"{size}.csv", ROWS, sizes=(size,)))
        for size in (20, 50)
    ]
    pd.concat(frames).to_csv(tmp_path / "scores.csv", index=False)
    return tmp_path / "scores.csv"


def test_differences_are_paired_by_split_and_in_per_cent(path):
    found = relative_differences(read_scores(path), "arrmse", "m-krr")
    assert set(found["method"]) == {"ofer-gmm"}
    by_row = found.groupby(["training_size", "count"])["difference"].agg(["min", "max"])
    expected = {(20, 0): 0.0, (20, 200): -20.0, (50, 0): 0.0, (50, 200): -10.0}
    for row, difference in expected.items():
        assert by_row.loc[row].tolist() == pytest.approx([difference] * 2, abs=1e-12)


def test_a_line_for_each_training_size(path):
    figure = draw(path, title="Toy", methods=METHODS, metric="arrmse")
    (axis,) = figure.axes
    drawn = [line for line in axis.lines if line.get_marker() in [*MARKERS]]
    ends = sorted(line.get_ydata()[-1] for line in drawn if len(line.get_xdata()) == 2)
    assert ends == pytest.approx([-20.0, -10.0])
    names = {text.get_text() for text in axis.texts}
    assert {"20 training rows", "50 training rows"} <= names
    assert "% above m-KRR" in axis.get_ylabel()


def test_without_such_a_method_the_user_is_told_what_to_add(tmp_path):
    path = write_scores(tmp_path / "scores.csv", ROWS[:2])
    with pytest.raises(UserError, match="ofer-unpaired"):
        draw(path, title="Toy", methods=METHODS, metric="arrmse")
