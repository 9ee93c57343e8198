"""The figure of the protocol shows the numbers of the run, and which data each step uses."""

import pytest
from report_samples import base_error, scores_of, write_accuracies

from workflow_lib.report.results import read_scores
from workflow_lib.report.run_figures import protocol
from workflow_lib.report.run_figures.protocol import (
    TEST,
    WEAK,
    Numbers,
    draw_protocol,
    numbers_of,
    protocol_in_words,
)
from workflow_lib.report.style import applied_style

TOY = Numbers(False, 5, (20, 50), (100, 300))
CLASSES = Numbers(True, 10, (1, 5), ())


def texts_of(figure):
    return [text.get_text() for text in figure.axes[0].texts if text.get_text()]


def text_of(figure):
    return "\n".join(texts_of(figure))


def test_numbers_come_from_the_scores(tmp_path):
    rows = [("m-krr", "selected", 0, base_error), ("wofer-gmm", "selected", 100, base_error)]
    scores = scores_of(tmp_path, rows, sizes=(20, 50, 80), n_splits=3)
    found = numbers_of(scores, {"metric": "arrmse"})
    assert found == Numbers(False, 3, (20, 50, 80), (100,))
    rows = [("class-krr", "selected", 0, lambda n, s: 0.5)]
    scores = read_scores(write_accuracies(tmp_path / "c.csv", rows, n_splits=2))
    found = numbers_of(scores, {"metric": "accuracy", "has_ceiling": True})
    assert found == Numbers(True, 2, (1, 5), (), True)


def test_the_head_states_splits_and_folds():
    assert "2 experiments, 5 to 10 splits each, 7 folds" in text_of(
        draw_protocol([TOY, CLASSES], 7)
    )
    assert "1 experiment, 5 splits, 7 folds" in text_of(draw_protocol([TOY], 7))
    assert "1  Select: 7 folds" in texts_of(draw_protocol([TOY], 7))
    assert "5  Compare over 5 splits" in texts_of(draw_protocol([TOY], 7))
    assert protocol_in_words([TOY], 7).startswith("1 experiment, 5 splits. The rows")
    assert "selected by 7 folds" in protocol_in_words([TOY], 7)


def test_test_rows_give_inputs_to_the_prediction_and_outputs_to_the_score_alone():
    figure = draw_protocol([TOY], 5)
    heights = {text.get_text(): text.get_position()[1] for text in figure.axes[0].texts}
    assert heights["inputs of test rows"] == heights["3  Predict"]
    assert heights["outputs of test rows"] == heights["4  Score"]
    chips = [box for box in boxes_of(figure, TEST) if box.get_y() > heights["1  Select: 5 folds"]]
    assert len(chips) == 2


def test_weak_rows_are_used_only_where_there_are_any():
    with_weak, without = draw_protocol([TOY], 5), draw_protocol([CLASSES], 5)
    assert len(boxes_of(with_weak, WEAK)) == len(boxes_of(without, WEAK)) + 2
    assert "none here" in texts_of(without)
    assert "outputs not used" in texts_of(with_weak)
    ceiling = Numbers(False, 5, (20,), (100,), has_ceiling=True)
    assert "(but by a ceiling)" in texts_of(draw_protocol([ceiling], 5))


def test_scores_and_selection_are_those_of_the_outputs_of_the_run():
    numbers, classes = text_of(draw_protocol([TOY], 5)), text_of(draw_protocol([CLASSES], 5))
    assert "Accuracy" not in numbers and "Relative error" in numbers
    assert "Accuracy" in classes and "Relative error" not in classes
    assert "squared error" in classes and "squared error" not in numbers
    assert "(1 per class: fixed)" in classes.replace("\n", " ")


def test_the_tests_are_reported_with_their_risks_and_one_split_has_none():
    text = text_of(draw_protocol([TOY], 5))
    assert "at the risk 0.001, the paper's rule" in text
    assert "corrected resampled t-test at the risk 0.05" in text
    alone = Numbers(False, 1, (20,), ())
    text = text_of(draw_protocol([alone], 5))
    assert "With one split nothing can be tested." in text
    assert "t-test" not in text


def boxes_of(figure, color):
    from matplotlib.colors import to_hex

    patches = figure.axes[0].patches
    return [patch for patch in patches if to_hex(patch.get_facecolor()) == color.lower()]


@pytest.mark.parametrize(("n_folds", "shown"), [(2, 2), (5, 5), (6, 6), (20, 6)])
def test_each_drawn_fold_holds_out_one_part(n_folds, shown):
    figure = draw_protocol([Numbers(False, 1, (20,), ())], n_folds)
    assert len(boxes_of(figure, "#ffffff")) == shown
    assert len(boxes_of(figure, protocol.TRAINING[1])) == shown * (shown - 1)
    assert (f"{shown} of {n_folds} shown" in texts_of(figure)) == (shown < n_folds)


def test_training_sizes_are_drawn_one_inside_the_next():
    figure = draw_protocol([TOY], 5)
    inner, outer = (
        boxes_of(figure, color)[0] for color in (protocol.TRAINING[-1], protocol.TRAINING[-2])
    )
    assert inner.get_x() == outer.get_x()
    assert inner.get_width() == pytest.approx(outer.get_width() / 2)
    assert {"size 1", "to 2"} <= set(texts_of(figure))


@pytest.mark.parametrize("n_folds", [3, 20])
@pytest.mark.parametrize("is_accuracy", [False, True])
def test_no_text_overlaps_another_or_leaves_the_page(is_accuracy, n_folds):
    sizes = (1, 2, 3, 4, 5, 7, 10, 11, 14, 100, 200, 500, 1000)
    numbers = [Numbers(is_accuracy, 10, sizes, (700, 1500), True), TOY]
    figure = draw_protocol(numbers, n_folds)
    with applied_style():
        figure.draw_without_rendering()
        boxes = [t.get_window_extent() for t in figure.axes[0].texts if t.get_text()]
        frames = [patch.get_window_extent() for patch in boxes_of(figure, "#fafafa")]
    assert len(frames) == 5
    page = figure.bbox.padded(1.0)
    for index, box in enumerate(boxes):
        assert page.contains(*box.p0) and page.contains(*box.p1)
        assert not any(box.overlaps(other) for other in boxes[:index])
        for frame in frames:
            is_inside = box.x0 > frame.x0 and box.x1 < frame.x1 and box.y0 > frame.y0
            assert is_inside or not box.overlaps(frame)
