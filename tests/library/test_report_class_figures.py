"""The confusion matrix and the sheet of images show the predictions of the best method."""

import numpy as np
import pytest
from matplotlib.patches import Rectangle
from overlaps import overlaps
from report_samples import CLASS_METHODS, write_class_results

from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.report.class_predictions import best_predictions, class_memberships
from workflow_lib.report.figures import confusion as confusion_figure
from workflow_lib.report.figures import image_sheet
from workflow_lib.report.figures.confusion import component_bounds, confusion_shares
from workflow_lib.report.figures.image_sheet import (
    N_COLUMNS,
    N_LINES,
    RIGHT_MARK,
    WRONG_MARK,
    shown_indices,
)
from workflow_lib.report.style import ACCENT_COLOR, BASE_COLOR

LONG_NAMES = [f"a german shepherd with {number} very long names" for number in range(101)]


def best_of(paths):
    return best_predictions(paths["labels"], paths["splits"], paths["predictions"], CLASS_METHODS)


def confusion(paths, models="models", **options):
    arguments = paths["dataset"], paths["splits"], paths["predictions"], paths.get(models)
    options = {"named_methods": {}} | options
    return confusion_figure.draw(*arguments, title="Toy", methods=CLASS_METHODS, **options)


def texts_outside_cells(axis):
    return [text for text in axis.texts if text.get_gid() != confusion_figure.SHARE]


def sheet(paths, models="models"):
    arguments = paths["dataset"], paths["splits"], paths["predictions"], paths["regressions"]
    return image_sheet.draw(*arguments, paths.get(models), title="Toy", methods=CLASS_METHODS)


def shown_in(paths):
    """Return which test rows of the first split the sheet shows."""
    test = read_artifact(paths["splits"][0], "split")["test"]
    return shown_indices(best_of(paths).truth[0], test, N_LINES * N_COLUMNS)


def image_axes(figure):
    return [axis for axis in figure.axes if axis.images]


def bar_axes(figure):
    return [axis for axis in figure.axes if not axis.images]


def test_the_best_method_at_the_largest_size_is_drawn(tmp_path):
    best = best_of(write_class_results(tmp_path))
    assert (best.method, best.label) == ("wofer-gmm", "wOFER-GMM, 100 weak rows")
    assert (best.n_train, best.examples) == (12, 2)
    # 14 of 18 test rows are right in either split.
    assert best.accuracy == pytest.approx(14 / 18)
    assert best.deviation == pytest.approx(0.0)
    shares = {"class-krr": 0.9, "wofer-gmm": 0.5}
    assert best_of(write_class_results(tmp_path / "b", shares=shares)).method == "class-krr"


def test_of_equal_accuracies_the_first_row_of_the_table_is_drawn(tmp_path):
    shares = {"ofer-gmm": 0.5, "m-svm": 0.5, "wofer-gmm": 0.5}
    assert best_of(write_class_results(tmp_path, shares=shares)).method == "m-svm"


def test_studies_and_methods_without_every_split_are_left_out(tmp_path):
    paths = write_class_results(tmp_path)
    group = "n-12_w-100_C-selected"
    for path in paths["predictions"]["wofer-gmm"]:
        items = read_artifact(path, "predictions")
        study = items[group] | {"setting": "weak_noise=0.2"}
        write_artifact(path, {f"{group}_weak_noise=0.2": study}, "predictions")
    assert best_of(paths).method == "class-krr"
    items = read_artifact(paths["predictions"]["class-krr"][1], "predictions")
    without = {name: item for name, item in items.items() if name.startswith("n-6")}
    write_artifact(paths["predictions"]["class-krr"][1], without, "predictions")
    with pytest.raises(UserError, match="no method that has predicted classes with 12 training"):
        best_of(paths)


def test_confusion_shares_are_those_of_counting():
    random = np.random.default_rng(0)
    truth = [random.integers(0, 4, 30), random.integers(0, 4, 20)]
    predicted = [random.integers(0, 5, 30), random.integers(0, 5, 20)]
    shares = confusion_shares(truth, predicted, 5)
    pairs = [pair for t, p in zip(truth, predicted) for pair in zip(t.tolist(), p.tolist())]
    for true in range(4):
        of_class = [p for t, p in pairs if t == true]
        assert shares[true].tolist() == [of_class.count(p) / len(of_class) for p in range(5)]
    # Nothing of the last class was tested.
    assert np.isnan(shares[4]).all()


def test_runs_of_components_are_found():
    assert component_bounds(np.array([0, 0, 2, 3, 3])) == [(0, 0, 2), (2, 2, 3), (3, 3, 5)]
    assert component_bounds(np.array([1])) == [(1, 0, 1)]


def test_the_matrix_is_ordered_by_component(tmp_path):
    paths = write_class_results(tmp_path)
    axis = confusion(paths).axes[0]
    names = [text.get_text() for text in axis.get_yticklabels()]
    assert [text.get_text() for text in axis.get_xticklabels()] == names
    order = [int(name.removeprefix("class ")) for name in names]
    best = best_of(paths)
    expected = 100 * confusion_shares(best.truth, best.predicted, 6)[np.ix_(order, order)]
    np.testing.assert_allclose(np.asarray(axis.images[0].get_array()), expected)
    # Wrong predictions name a class of the same component: all entries are in blocks of two.
    blocks = np.kron(np.eye(3), np.ones((2, 2))) > 0
    assert np.all(expected[~blocks] == 0)
    frames = [patch for patch in axis.patches if isinstance(patch, Rectangle)]
    corners = [(frame.get_x(), frame.get_width()) for frame in frames]
    assert corners == [(-0.5, 2), (1.5, 2), (3.5, 2)]
    outside = [text.get_text() for text in texts_outside_cells(axis)]
    assert outside == ["1", "2", "3", "component"]


def test_without_a_mixture_classes_are_in_their_own_order(tmp_path):
    axis = confusion(write_class_results(tmp_path), models="absent").axes[0]
    names = [text.get_text() for text in axis.get_yticklabels()]
    assert names == [f"class {number}" for number in range(6)]
    assert not axis.patches
    assert not texts_outside_cells(axis)
    # The share of the most frequent prediction of each class is in its cell.
    cells = {tuple(map(int, text.get_position())): text.get_text() for text in axis.texts}
    shares = np.asarray(axis.images[0].get_array())
    assert len(cells) == shares.size
    assert cells[0, 0] == f"{shares[0, 0]:.0f}"


def test_each_named_method_has_a_matrix(tmp_path):
    paths = write_class_results(tmp_path)
    figure = confusion(paths, named_methods=dict.fromkeys(["wofer-gmm", "class-krr"]))
    first, second = image_axes(figure)
    assert first.get_title("left").startswith("wOFER-GMM, 100 weak rows\naccuracy 77.8")
    alone = {"class-krr": paths["predictions"]["class-krr"]}
    best = best_predictions(paths["labels"], paths["splits"], alone, CLASS_METHODS)
    order = [int(t.get_text().removeprefix("class ")) for t in first.get_yticklabels()]
    expected = 100 * confusion_shares(best.truth, best.predicted, 6)[np.ix_(order, order)]
    np.testing.assert_allclose(np.asarray(second.images[0].get_array()), expected)
    assert figure.get_suptitle() == "Toy\n2 examples per class, 2 splits pooled"


def test_the_title_says_what_was_run(tmp_path):
    paths = write_class_results(tmp_path)
    assert confusion(paths).get_suptitle() == (
        "Toy\nwOFER-GMM, 100 weak rows: accuracy 77.8 ± 0.0 %\n"
        "2 examples per class, 2 splits pooled"
    )
    one = write_class_results(tmp_path / "one", n_splits=1)
    assert confusion(one).get_suptitle().endswith("accuracy 77.8 %\n2 examples per class, 1 split")


@pytest.mark.parametrize(("n_classes", "n_components"), [(3, 2), (51, 10), (101, 12)])
def test_no_text_of_the_matrix_overlaps(tmp_path, n_classes, n_components):
    names = LONG_NAMES[:n_classes]
    paths = write_class_results(
        tmp_path, n_classes=n_classes, n_components=n_components, names=names
    )
    figure = confusion(paths)
    for text in figure.axes[0].texts[:]:
        if text.get_gid() == confusion_figure.SHARE:
            # It stands in a colored cell.
            text.remove()
    assert overlaps(figure) == []


def test_images_are_at_even_steps_through_the_classes():
    labels = np.array([1, 0, 1, 0, 2, 2])
    rows = np.array([5, 4, 3, 2, 1, 0])
    assert shown_indices(labels, rows, 10) == [3, 1, 2, 0, 5, 4]
    assert shown_indices(labels, rows, 3) == [1, 0, 4]
    # Of as many rows in each of 24 classes, each class is shown once.
    labels = np.random.default_rng(0).permutation(np.repeat(np.arange(24), 5))
    indices = shown_indices(labels, np.arange(120), 24)
    assert labels[indices].tolist() == list(range(24))


def test_images_have_their_true_and_predicted_classes(tmp_path):
    paths = write_class_results(tmp_path)
    figure = sheet(paths)
    data = read_artifact(paths["dataset"], "dataset")
    test = read_artifact(paths["splits"][0], "split")["test"]
    best, indices, axes = best_of(paths), shown_in(paths), image_axes(figure)
    assert len(axes) == len(indices) == 18
    texts = iter(figure.texts[1:])
    n_wrong = 0
    for axis, index in zip(axes, indices, strict=True):
        np.testing.assert_array_equal(
            axis.images[0].get_array(), data["images"]["thumbnails"][test[index]]
        )
        true, predicted = best.truth[0][index], best.predicted[0][index]
        label = next(texts)
        frame = axis.spines["left"].get_linewidth()
        if true == predicted:
            assert label.get_text() == f"{RIGHT_MARK} class {true}"
            assert label.get_color() == BASE_COLOR
            assert frame < 1
        else:
            n_wrong += 1
            assert label.get_text() == f"{WRONG_MARK} class {predicted}"
            assert label.get_color() == ACCENT_COLOR
            assert next(texts).get_text() == f"\ntrue: class {true}"
            assert frame > 1
    assert n_wrong == 4
    assert next(texts, None) is None


def test_bars_are_the_predicted_memberships(tmp_path):
    paths = write_class_results(tmp_path)
    figure = sheet(paths)
    memberships = read_artifact(paths["regressions"]["wofer-gmm"], "regression")
    memberships = memberships["n-12_w-100_C-selected"]["test_memberships"]
    for axis, index in zip(bar_axes(figure), shown_in(paths), strict=True):
        heights = [patch.get_height() for patch in axis.patches]
        assert heights == memberships[index].tolist()
        assert axis.get_xticklabels()[0].get_text() == str(memberships[index].argmax() + 1)
    assert figure.texts[0].get_text() == (
        "Toy\nwOFER-GMM, 100 weak rows, 2 examples per class, first split: 77.8 % of 18\n"
        "test images right\nBars: predicted memberships in the components 1 to 3, from 0 to 1"
    )


def test_bars_of_other_methods_are_those_of_the_predicted_class(tmp_path):
    paths = write_class_results(tmp_path, shares={"class-krr": 0.5})
    figure = sheet(paths)
    memberships, _ = class_memberships(paths["models"], paths["vectors"])
    best = best_of(paths)
    for axis, index in zip(bar_axes(figure), shown_in(paths), strict=True):
        heights = [patch.get_height() for patch in axis.patches]
        np.testing.assert_allclose(heights, memberships[best.predicted[0][index]])
    assert "Bars: memberships of the predicted class in" in figure.texts[0].get_text()
    without = sheet(paths, models="absent")
    assert bar_axes(without) == []
    assert "Bars" not in without.texts[0].get_text()


def test_memberships_outside_of_shares_are_drawn_at_their_ends(tmp_path):
    paths = write_class_results(tmp_path)
    memberships = np.tile([-0.2, 1.3, 0.4], (18, 1))
    items = {"n-12_w-100_C-selected": {"test_memberships": memberships}}
    write_artifact(paths["regressions"]["wofer-gmm"], items, "regression")
    heights = [patch.get_height() for patch in bar_axes(sheet(paths))[0].patches]
    assert heights == [0.0, 1.0, 0.4]


def test_data_without_images_are_reported(tmp_path):
    with pytest.raises(UserError, match=r"data\.h5: it has no images"):
        sheet(write_class_results(tmp_path, with_images=False))


@pytest.mark.parametrize("n_classes", [3, 30])
def test_no_text_of_the_sheet_overlaps(tmp_path, n_classes):
    names = ["german shepherd dogs", *LONG_NAMES][:n_classes]
    paths = write_class_results(tmp_path, n_classes=n_classes, n_components=2, names=names)
    # The second line of a wrong prediction begins with an empty one.
    assert [each for each in overlaps(sheet(paths)) if "overlaps '\\ntrue: " not in each] == []
