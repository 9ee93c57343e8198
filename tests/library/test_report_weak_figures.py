"""Figures of the studies of weak labels show the data they are given."""

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
    write_scores,
)

from workflow_lib.core.errors import UserError
from workflow_lib.report.figures import base
from workflow_lib.report.weak_study_figure import BREAK

ROWS = [
    ("m-krr", "selected", 0, base_error),
    ("wofer-gmm", "selected", 300, noisy_error),
    ("wofer-gmm", "selected", 300, base_error, "weak_weight=0"),
    ("wofer-gmm", "selected", 300, better_error, "weak_weight=0.01"),
    ("wofer-gmm", "selected", 300, worse_error, "weak_weight=10"),
    ("wofer-gmm", "selected", 300, noisy_error, "weak_noise=0"),
    ("wofer-gmm", "selected", 300, worse_error, "weak_noise=0.2"),
    ("ofer-gmm", "selected", 300, worse_error, "weak_noise=0.2"),
    ("ofer-gmm", "selected", 300, better_error, "weak_noise=0.6"),
]


def draw(tmp_path, kind, rows=ROWS, **options):
    scores = write_scores(tmp_path / "scores.csv", rows, **options)
    settings = {"title": "Toy", "methods": METHODS, "metric": "arrmse"}
    return base.draw(kind, {"scores": scores}, settings)


def mean_of(error):
    return np.mean([error(50, split) for split in range(5)])


def line_of(container):
    line = container.lines[0]
    return np.array(line.get_xdata(orig=False)), np.array(line.get_ydata(orig=False))


def tick_positions(axis):
    texts = [text.get_text() for text in axis.get_xticklabels()]
    return dict(zip(texts, axis.get_xticks(), strict=True))


def test_weights_are_at_their_logarithms_and_zero_is_separate(tmp_path):
    axis = draw(tmp_path, "weak_weight").axes[0]
    positions = tick_positions(axis)
    assert list(positions) == ["0", "0.01", "10", "selected"]
    assert positions["10"] - positions["0.01"] == pytest.approx(3.0)
    assert positions["0.01"] - positions["0"] == pytest.approx(BREAK)
    assert positions["selected"] - positions["10"] == pytest.approx(BREAK)
    (container,) = axis.containers
    found, means = line_of(container)
    gap = np.nan
    expected = [base_error, None, better_error, worse_error, None, noisy_error, None]
    np.testing.assert_allclose(means, [mean_of(error) if error else gap for error in expected])
    at = [positions["0"], gap, positions["0.01"], positions["10"], gap, positions["selected"], gap]
    np.testing.assert_allclose(found, at)
    (bars,) = container.lines[2]
    bottom, top = bars.get_segments()[0][:, 1]
    errors = [base_error(50, split) for split in range(5)]
    assert (top - bottom) / 2 == pytest.approx(np.std(errors, ddof=1))


def test_shares_are_at_their_values_and_methods_side_by_side(tmp_path):
    axis = draw(tmp_path, "weak_noise").axes[0]
    assert tick_positions(axis) == pytest.approx({"0": 0.0, "0.2": 0.2, "0.6": 0.6})
    ofer, weak = (line_of(container) for container in axis.containers)
    np.testing.assert_allclose(ofer[1][:2], [mean_of(worse_error), mean_of(better_error)])
    np.testing.assert_allclose(weak[1][:2], [mean_of(noisy_error), mean_of(worse_error)])
    assert 0 < weak[0][1] - ofer[0][0] < 0.1
    assert np.abs(ofer[0][:2] - [0.2, 0.6]).max() < 0.05


@pytest.mark.parametrize("kind", ["weak_weight", "weak_noise"])
def test_a_dashed_line_is_the_reference_without_weak_rows(tmp_path, kind):
    figure = draw(tmp_path, kind)
    (line,) = [line for line in figure.axes[0].lines if line.get_label().startswith("m-KRR")]
    assert line.get_linestyle() == "--"
    assert list(line.get_ydata()) == [mean_of(base_error)] * 2
    names = ["wOFER-GMM"] if kind == "weak_weight" else ["OFER-GMM", "wOFER-GMM"]
    assert sorted(names_of_lines(figure.axes[0])) == sorted(["m-KRR, no weak rows", *names])


def test_the_title_says_what_was_run(tmp_path):
    assert draw(tmp_path, "weak_noise").get_suptitle() == (
        "Toy\n50 training rows and 300 weak rows\n5 splits, 10 test rows, mean ± standard deviation"
    )
    assert draw(tmp_path, "weak_noise", n_splits=1).get_suptitle().endswith("1 split, 10 test rows")


def test_without_zero_the_axis_begins_with_the_first_weight(tmp_path):
    rows = [row for row in ROWS if row[-1] != "weak_weight=0"]
    axis = draw(tmp_path, "weak_weight", rows).axes[0]
    assert list(tick_positions(axis)) == ["0.01", "10", "selected"]
    only_zero = [row for row in ROWS if row[-1] not in ("weak_weight=0.01", "weak_weight=10")]
    axis = draw(tmp_path, "weak_weight", only_zero).axes[0]
    assert list(tick_positions(axis)) == ["0", "selected"]


def test_component_counts_have_different_lines(tmp_path):
    rows = [ROWS[0]]
    for components in ("2", "4", "10"):
        rows.append(("wofer-gmm", components, 300, noisy_error))
        rows.append(("wofer-gmm", components, 300, noisy_error, "weak_weight=1"))
    figure = draw(tmp_path, "weak_weight", rows)
    containers = figure.axes[0].containers
    assert [c.lines[0].get_linestyle() for c in containers] == ["-", "--", ":"]
    assert [c.get_label() for c in containers] == [
        "wOFER-GMM, C = 2",
        "wOFER-GMM, C = 4",
        "wOFER-GMM, C = 10",
    ]


def test_an_experiment_without_the_study_is_reported(tmp_path):
    with pytest.raises(UserError, match="figure of kind weak_weight"):
        draw(tmp_path, "weak_weight", ROWS[:2])


@pytest.mark.parametrize("kind", ["weak_weight", "weak_noise"])
def test_no_text_overlaps(tmp_path, kind):
    values = {"weak_weight": (0, 0.001, 0.01, 0.1, 1, 10), "weak_noise": (0, 0.2, 0.4, 0.6, 0.8, 1)}
    settings = [f"{kind}={value:g}" for value in values[kind]]
    rows = [ROWS[0]]
    for method, error in zip(list(METHODS)[1:], (noisy_error, worse_error, better_error)):
        rows.append((method, "selected", 300, error))
        rows += [(method, "selected", 300, error, setting) for setting in settings]
    assert overlaps(draw(tmp_path, kind, rows)) == []
