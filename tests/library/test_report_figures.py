"""Figures show the data they are given and have the same bytes every time."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from overlaps import overlaps
from report_samples import (
    METHODS,
    base_error,
    better_error,
    names_of_lines,
    noisy_error,
    write_scores,
)

from workflow_lib.core.artifacts import write_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.report.figures import completion, geometry, learning_curve
from workflow_lib.report.figures.geometry import embed_gaussian_sample
from workflow_lib.report.style import applied_style, plain_name, save_figure


def draw(tmp_path, rows, **options):
    scores = write_scores(tmp_path / "scores.csv", rows, **options)
    return learning_curve.draw(scores, title="Toy", shown_methods=METHODS, metric="arrmse")


def legend_of(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def lines_of(axis):
    """Return the curves of an axis, without the line of the training mean."""
    return [container.lines[0] for container in axis.containers]


def test_curves_go_through_the_means_with_bars_of_one_deviation(tmp_path):
    figure = draw(tmp_path, [("m-krr", "selected", 0, base_error)])
    (line,) = lines_of(figure.axes[0])
    means = [np.mean([base_error(size, s) for s in range(5)]) for size in (20, 50)]
    np.testing.assert_allclose(line.get_ydata(orig=False), means)
    np.testing.assert_allclose(line.get_xdata(orig=False), [20, 50])
    assert line.get_color() == "#E69F00"
    assert figure.get_suptitle() == "Toy\n5 splits, 10 test rows, mean ± standard deviation"
    (bars,) = figure.axes[0].containers[0].lines[2]
    bottom, top = bars.get_segments()[0][:, 1]
    errors = [base_error(20, s) for s in range(5)]
    assert (top - bottom) / 2 == pytest.approx(np.std(errors, ddof=1))


def test_equal_methods_do_not_hide_each_other(tmp_path):
    rows = [("m-krr", "selected", 0, base_error), ("ofer-gmm", "selected", 0, base_error)]
    first, second = lines_of(draw(tmp_path, rows).axes[0])
    assert np.all(first.get_xdata(orig=False) < second.get_xdata(orig=False))
    # Points of one training size stay nearer to it than to the next.
    assert np.all(np.abs(np.log(second.get_xdata(orig=False) / [20, 50])) < 0.2)


def test_weak_rows_are_dashed_in_the_color_of_the_method(tmp_path):
    rows = [
        ("wofer-gmm", "selected", 0, base_error),
        ("wofer-gmm", "selected", 100, base_error),
        ("wofer-gmm", "selected", 300, better_error),
    ]
    (axis,) = draw(tmp_path, rows).axes
    lines = lines_of(axis)
    assert [line.get_linestyle() for line in lines] == ["-", "--", ":"]
    assert {line.get_color() for line in lines} == {"#CC79A7"}
    assert names_of_lines(axis) == [
        "wOFER-GMM, 300 weak rows",
        "wOFER-GMM = wOFER-GMM, 100 weak rows",
        "training mean",
    ]


def test_fixed_components_have_a_panel_each(tmp_path):
    rows = [("m-krr", "selected", 0, base_error)]
    rows += [("ofer-gmm", components, 0, base_error) for components in ("2", "4", "10", "20")]
    figure = draw(tmp_path, rows)
    titles = [axis.get_title("left").splitlines() for axis in figure.axes]
    assert titles == [[f"C = {number}", "m-KRR = OFER-GMM"] for number in (2, 4, 10, 20)]
    assert all(len(lines_of(axis)) == 2 for axis in figure.axes)
    assert legend_of(figure) == ["m-KRR", "OFER-GMM", "training mean"]


def test_studies_of_weak_labels_are_left_out(tmp_path):
    rows = [("m-krr", "selected", 0, base_error), ("wofer-gmm", "selected", 100, base_error)]
    study = ("wofer-gmm", "selected", 100, lambda n, s: 0.001, "weak_noise=0.2")
    figure = draw(tmp_path, [*rows, study])
    assert len(lines_of(figure.axes[0])) == 2
    assert figure.axes[0].get_yscale() == "linear"


def test_a_method_that_fails_makes_the_axis_logarithmic(tmp_path):
    rows = [("m-krr", "selected", 0, base_error)]
    assert draw(tmp_path, rows).axes[0].get_yscale() == "linear"
    rows.append(("ofer-gmm", "selected", 0, lambda n, s: 50 * base_error(n, s)))
    assert draw(tmp_path, rows).axes[0].get_yscale() == "log"


def test_the_training_mean_is_not_drawn_far_above_the_curves(tmp_path):
    low = [("m-krr", "selected", 0, lambda n, s: 0.1 * base_error(n, s))]
    assert draw(tmp_path, low).axes[0].get_ylim()[1] < 0.5


def with_others(error, n_others):
    """Return rows of the reference, of a method with an error, and of others that are worse."""
    rows = [("m-krr", "selected", 0, base_error), ("ofer-gmm", "selected", 0, error)]
    for number in range(n_others):
        rows.append((f"z-{number}", "selected", 0, shifted(0.1 + 0.02 * number)))
    return rows


def shifted(difference):
    return lambda size, split: base_error(size, split) + difference


def test_the_axis_follows_the_bulk_and_a_longer_bar_ends_at_its_edge(tmp_path):
    def wild(size, split):
        return base_error(size, split) + 10.0 * (split % 2 - 0.4)

    calm, usual = (draw(tmp_path, with_others(e, 4)).axes[0] for e in (better_error, noisy_error))
    figure = draw(tmp_path, with_others(wild, 4))
    (axis,) = figure.axes
    assert np.ptp(axis.get_ylim()) < 2 * np.ptp(calm.get_ylim())
    edges = {marker: [] for marker in "^v"}
    for line in axis.lines:
        if not line.get_clip_on() and line.get_marker() in edges and line.get_color() == "#0072B2":
            edges[line.get_marker()] += list(line.get_ydata())
    assert edges == {"v": [axis.get_ylim()[0]] * 2, "^": [axis.get_ylim()[1]] * 2}
    note = "▲ ▼ the bar goes beyond the axis"
    assert figure.get_suptitle().endswith(note)
    assert not usual.figure.get_suptitle().endswith(note)


def test_eight_lines_have_a_color_the_reference_and_the_best(tmp_path):
    figure = draw(tmp_path, with_others(better_error, 9))
    (axis,) = figure.axes
    assert len(lines_of(axis)) == 8
    assert names_of_lines(axis)[:2] == ["OFER-GMM", "m-KRR"]
    assert legend_of(figure) == ["z-6", "z-7", "z-8"]
    assert figure.legends[0].get_title().get_text() == "others, without bars"
    worst = draw(tmp_path, with_others(shifted(0.9), 9)).axes[0]
    assert "OFER-GMM" not in names_of_lines(worst)


def test_equal_lines_are_named_together(tmp_path):
    (axis,) = draw(tmp_path, with_others(lambda n, s: base_error(n, s) + 1e-4, 1)).axes
    assert names_of_lines(axis) == ["m-KRR = OFER-GMM", "training mean", "z-0"]


@pytest.mark.parametrize("n_others", [1, 20])
def test_no_text_overlaps_or_leaves_the_page(tmp_path, n_others):
    rows = [*with_others(noisy_error, n_others), ("wofer-gmm", "selected", 300, better_error)]
    assert overlaps(draw(tmp_path, rows)) == []


def test_names_with_two_dollars_are_no_formulas(tmp_path):
    name = "a_b $^%$"
    with applied_style():
        with pytest.raises(ValueError):
            figure = Figure()
            figure.text(0.1, 0.5, name)
            save_figure(figure, tmp_path / "formula.svg")
        figure = Figure()
        figure.text(0.1, 0.5, plain_name(name))
        save_figure(figure, tmp_path / "plain.svg")
    assert "a b $^%$" in (tmp_path / "plain.svg").read_text()


def test_the_style_does_not_change_the_settings_of_the_user():
    import matplotlib

    with matplotlib.rc_context({"font.size": 33.0}):
        with applied_style():
            assert matplotlib.rcParams["font.size"] == 10
        assert matplotlib.rcParams["font.size"] == 33.0


def test_a_failed_save_leaves_the_old_figure(tmp_path):
    path = tmp_path / "figure.svg"
    path.write_text("old")

    class Failing:
        def savefig(self, *_, **__):
            raise RuntimeError("no room")

    with pytest.raises(RuntimeError):
        save_figure(Failing(), path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("dimension", [1, 2])
def test_the_embedding_of_a_gaussian_is_a_paraboloid(dimension):
    sample, embedding, is_central = embed_gaussian_sample(dimension, 5.0, seed=3)
    assert embedding.shape == (500, dimension + 1)
    variance = np.mean((sample - sample.mean(axis=0)) ** 2)
    means, trace = embedding[:, :dimension], embedding[:, dimension]
    np.testing.assert_allclose(means, (sample - sample.mean(axis=0)) / variance, rtol=1e-6)
    np.testing.assert_allclose(
        trace, np.sum(means**2, axis=1) - dimension / variance, rtol=1e-6, atol=1e-9
    )
    assert np.max(trace[is_central]) < np.min(trace[~is_central])
    # Of a Gaussian, 68 % lie within one standard deviation on a line and 39 % in the plane.
    assert np.mean(is_central) == pytest.approx({1: 0.683, 2: 0.393}[dimension], abs=0.06)


def test_the_geometry_figure_has_three_panels():
    figure = geometry.draw(seed=3)
    assert len(figure.axes) == 3
    bars = sum(patch.get_height() for patch in figure.axes[0].patches)
    assert bars == 500
    assert sum(len(points.get_offsets()) for points in figure.axes[1].collections) == 500


@pytest.fixture
def images(tmp_path):
    """A dataset of 2 x 3 images whose lower line is the output, a split and predictions."""
    random = np.random.default_rng(0)
    inputs, outputs = random.random((8, 3)), random.random((8, 3))
    names = {"inputs": "[]", "outputs": "[]", "image_rows": 2, "image_columns": 3}
    write_artifact(
        tmp_path / "data.h5", {"inputs": inputs, "outputs": outputs, "names": names}, "dataset"
    )
    test = np.array([6, 1, 4, 0])
    write_artifact(tmp_path / "split.h5", {"test": test}, "split")
    predicted = {
        "m-krr": {"n-50_w-0_C-selected": {"outputs": outputs[test] + 2.0}},
        "wofer-gmm": {"n-50_w-300_C-selected": {"outputs": outputs[test] + 3.0}},
        "m-rf": {"n-20_w-0_C-selected": {"outputs": outputs[test] + 4.0}},
    }
    for method, items in predicted.items():
        write_artifact(tmp_path / f"{method}.h5", items, "predictions")
    paths = {method: tmp_path / f"{method}.h5" for method in predicted}
    return tmp_path / "data.h5", tmp_path / "split.h5", paths, inputs[test], outputs[test]


GIVEN = {"title": "Toy", "methods": METHODS, "training_size": 50, "weak_size": 0}


def pixels_of(figure):
    return [np.ma.filled(axis.images[0].get_array(), np.nan) for axis in figure.axes]


def test_completion_shows_truth_input_and_predictions(images):
    dataset, split, paths, inputs, outputs = images
    figure = completion.draw(dataset, split, paths, **GIVEN | {"weak_size": 300}, n_images=3)
    pixels = pixels_of(figure)
    assert len(pixels) == 4 * 3
    np.testing.assert_array_equal(pixels[1], [inputs[1], outputs[1]])
    np.testing.assert_array_equal(pixels[4], [inputs[1], [np.nan] * 3])
    np.testing.assert_array_equal(pixels[7], [inputs[1], outputs[1] + 2.0])
    np.testing.assert_array_equal(pixels[10], [inputs[1], outputs[1] + 3.0])
    texts = [text.get_text() for text in figure.texts]
    assert texts[0] == "Toy\n50 training rows, the first 3 test rows"
    assert texts[1:] == ["true image", "input", "m-KRR", "wOFER-GMM\n300 weak rows"]


def test_completion_needs_predictions_at_the_size(images):
    dataset, split, paths, *_ = images
    with pytest.raises(UserError, match="no predictions with 77 training rows"):
        completion.draw(dataset, split, paths, **GIVEN | {"training_size": 77})


def test_completion_needs_images(images, tmp_path):
    _, split, paths, inputs, outputs = images
    tree = {"inputs": inputs, "outputs": outputs, "names": {"inputs": "[]", "outputs": "[]"}}
    write_artifact(tmp_path / "table.h5", tree, "dataset")
    with pytest.raises(UserError, match="table.h5: its rows have 6 inputs and outputs"):
        completion.draw(tmp_path / "table.h5", split, paths, **GIVEN)


def test_positions_are_rounded_because_the_layout_depends_on_addresses(tmp_path):
    figure = draw(tmp_path, [("m-krr", "selected", 0, base_error)], sizes=(20,), n_splits=1)
    outer = Figure(layout="constrained")
    left, right = outer.subfigures(1, 2, width_ratios=[1, 3])
    (above, below), other = left.subplots(2), right.subplots()
    left.suptitle("Left")
    below.set_ylabel("value")
    other.set_aspect("equal")
    for each in (figure, outer):
        save_figure(each, tmp_path / "one.svg", tmp_path / "one.png")
        assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")
        positions = [axis.get_position(original=True).extents for axis in each.axes]
        positions += [part.bbox_relative.extents for part in each.subfigs]
        assert np.array_equal(positions, np.round(positions, 9))
        assert all(axis.get_in_layout() for axis in each.axes)
    assert above.get_position(original=True).y0 > below.get_position(original=True).y1
