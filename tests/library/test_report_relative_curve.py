"""The figure of errors relative to one method: differences on the same split, and both tests."""

import numpy as np
import pandas as pd
import pytest
from report_samples import METHODS, base_error, noisy_error, write_scores

from workflow_lib.core.errors import UserError
from workflow_lib.protocol.statistics import corrected_resampled_t_test, paired_t_test
from workflow_lib.report.figures.relative_curve import draw, relative_errors
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


def test_differences_and_tests_are_those_of_the_errors_on_the_same_split(tmp_path):
    path = write_scores(tmp_path / "scores.csv", ROWS)
    scores = read_scores(path)
    found = relative_errors(scores, "arrmse", SHOWN, path)
    assert list(dict.fromkeys(found["method"])) == ["wofer-gmm", "ofer-gmm"]
    row = found.iloc[0]
    kept = scores[(scores["quantity"] == "arrmse") & (scores["training_size"] == row.training_size)]
    errors = {
        key: rows.sort_values("split")["value"].to_numpy()
        for key, rows in kept.groupby(["method", "weak_size"])
    }
    ours, theirs = errors["wofer-gmm", 300], errors["m-krr", 0]
    assert row["mean"] == pytest.approx(100 * np.mean(ours / theirs - 1))
    assert row["deviation"] == pytest.approx(100 * np.std(ours / theirs, ddof=1))
    assert row["p_student"] == pytest.approx(paired_t_test(ours, theirs).p_value)
    n_train, n_test = kept["n_train"].iloc[0], kept["n_test"].max()
    expected = corrected_resampled_t_test(ours, theirs, n_train, n_test).p_value
    assert row["p_corrected"] == pytest.approx(expected)


def test_markers_are_filled_where_the_corrected_test_finds_a_difference(tmp_path):
    path = write_scores(tmp_path / "scores.csv", ROWS)
    (axis,) = draw(path, title="Toy", shown_methods=SHOWN, metric="arrmse").axes
    rows = relative_errors(read_scores(path), "arrmse", SHOWN, path)
    is_open = ~(rows["p_corrected"] < 0.05)
    drawn = [line for line in axis.lines if line.get_markerfacecolor() == "white"]
    heights = np.concatenate([line.get_ydata() for line in drawn])
    np.testing.assert_allclose(np.sort(heights), np.sort(rows.loc[is_open, "mean"]))
    assert 0 < is_open.sum() < len(rows)
    assert "% above m-KRR" in axis.get_ylabel()


def test_without_a_method_to_compare_with_the_user_is_told_what_to_add(tmp_path):
    path = tmp_path / "scores.csv"
    scores = pd.read_csv(write_scores(path, ROWS))
    scores[scores["method"] != "m-krr"].to_csv(path, index=False)
    with pytest.raises(UserError, match="m-krr"):
        draw(path, title="Toy", shown_methods=SHOWN, metric="arrmse")
