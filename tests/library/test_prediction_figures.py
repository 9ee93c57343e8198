"""The figures of predictions hold the numbers of the calibration, and are described."""

import numpy as np
import pytest
from each_case import each_case
from overlaps import overlaps
from report_samples import write_calibration

from workflow_lib.core.artifacts import read_artifact
from workflow_lib.report.figure_data import figure_data
from workflow_lib.report.figure_words import in_words, words_of
from workflow_lib.report.run_figures import calibration, reliability
from workflow_lib.report.style import save_figure
from workflow_lib.uncertainty.conformal import row_weights

LONG = "concentration of cadmium in the upper $ twenty centimetres of soil <&>"


def calibration_of(folder, n_outputs):
    return read_artifact(write_calibration(folder, n_outputs=n_outputs)[0], "calibration")


def classes(n_splits=2, n_rows=60):
    random = np.random.default_rng(0)
    tree = {}
    for k in range(n_splits):
        certainty, true = random.uniform(0.4, 1, n_rows), random.integers(0, 3, n_rows)
        is_right = random.uniform(size=n_rows) < certainty
        tree[f"split-{k}"] = {
            "rows": np.arange(n_rows),
            "certainty": certainty,
            "true_classes": true,
            "predicted_classes": np.where(is_right, true, (true + 1) % 3),
        }
    return tree


@each_case("module", [calibration, reliability])
def test_a_figure_without_anything_to_draw_has_no_numbers(module):
    # The page leaves it out.
    for tree in ({}, {"split-0": {"truth": np.empty((3, 0)), "rows": np.arange(3)}}):
        assert figure_data(module.draw(tree, [], "Method")).empty


def test_the_coverage_is_that_of_rows_below_each_level(tmp_path):
    tree = calibration_of(tmp_path, 2)
    figure = calibration.draw(tree, ["a", "b"], "Method")
    rows, levels, truth = (
        np.concatenate([tree[f"split-{k}"][name] for k in range(3)])
        for name in ("rows", "levels_that_hold", "truth")
    )
    known = ~np.isnan(truth[:, 0])
    weights = row_weights(rows[known])
    expected = 100 * np.average(levels[known, 0] < 0.5, weights=weights)
    data = figure_data(figure)
    held = data[(data["panel"] == "a") & (data["series"] == "held by intervals from other rows")]
    assert held["y"].iloc[9] == pytest.approx(expected)
    assert f"intervals of 50 and 90 % hold {expected:.0f} and" in in_words(figure)


@each_case("n_outputs", [2, 13])
def test_no_name_or_number_is_crossed_and_of_many_outputs_the_worst_are_drawn(n_outputs, tmp_path):
    tree = calibration_of(tmp_path, n_outputs)
    tree["split-0"]["truth"][:, 0] = tree["split-0"]["predicted"][:, 0] = 3.0
    figure = calibration.draw(tree, [LONG] * n_outputs, LONG)
    assert overlaps(figure) == []
    assert len(figure.axes) == 2 * (min(n_outputs, 6))
    assert ("6 of 13 outputs" in figure.get_suptitle().replace("\n", " ")) == (n_outputs == 13)


def test_a_spread_that_grows_is_noted_and_one_that_does_not_is_not():
    random = np.random.default_rng(0)
    rows, predicted = np.arange(300) % 100, np.tile(np.linspace(0, 1, 100), 3)
    sizes = np.abs(random.normal(size=300))
    assert calibration.spread_trend(rows, predicted, sizes) == ""
    text = calibration.spread_trend(rows, predicted, sizes * (0.2 + predicted))
    assert text.startswith("spread grows: \u00d7 ")
    grown = sizes * (0.2 + predicted)
    low, high = grown[predicted < 0.336].mean(), grown[predicted > 0.664].mean()
    assert float(text.split()[-1]) == pytest.approx(high / low, rel=0.1)
    assert calibration.spread_trend(rows[:5], predicted[:5], sizes[:5]) == ""


def test_the_share_of_right_classes_is_shown_against_their_probability():
    tree = classes()
    figure = reliability.draw(tree, ["a", "b", "c"], LONG)
    assert overlaps(figure) == []
    line = figure_data(figure).query("kind == 'line' and series.str.contains('test rows')")
    right = [
        (split["true_classes"] == split["predicted_classes"]).mean() for split in tree.values()
    ]
    # Groups of equally many rows: their mean is that of all rows.
    assert len(line) == 6 and line["y"].mean() == pytest.approx(100 * np.mean(right), rel=0.02)
    assert line["x"].is_monotonic_increasing
    assert "% at" in in_words(figure)


def test_an_svg_holds_what_it_shows_in_words(tmp_path):
    figure = calibration.draw(calibration_of(tmp_path, 2), [f"{LONG}\x01", "b"], "Method")
    save_figure(figure, tmp_path / "one.svg")
    found = words_of(tmp_path / "one.svg")
    assert found == in_words(figure) and f"{LONG} : " in found
    del figure.description
    # The default has the title, every panel and the numbers.
    default = in_words(figure)
    assert (
        default.startswith("Method: calibration")
        and " b: held by intervals from other rows " in default
    )
