"""The figure of means has the length of every bar, its standard error and the line of chance."""

import numpy as np
import pytest
from report_samples import CLASS_METHODS, base_accuracy, better_accuracy, write_accuracies

from workflow_lib.papers.blaschko.figures.mean_bars import draw


def test_bars_are_means_at_the_largest_size_with_their_standard_errors(tmp_path):
    accuracies = {"class-krr": base_accuracy, "m-svm": better_accuracy, "ofer-gmm": base_accuracy}
    rows = [(method, "selected", 0, accuracy) for method, accuracy in accuracies.items()]
    scores = write_accuracies(tmp_path / "scores.csv", rows, sizes=(1, 5), n_splits=5)
    shown = {name: CLASS_METHODS[name] for name in ("class-krr", "m-svm")}
    figure = draw(scores, title="Toy", shown_methods=shown, metric="accuracy")
    (axis,) = figure.axes
    assert [text.get_text() for text in axis.get_yticklabels()] == ["one-hot KRR", "m-SVM"]
    for place, method in enumerate(shown):
        values = np.array([100 * accuracies[method](5, split) for split in range(5)])
        assert axis.patches[place].get_width() == pytest.approx(values.mean())
        (segment,) = axis.collections[place].get_segments()
        half = values.std(ddof=1) / np.sqrt(5)
        np.testing.assert_allclose(segment[:, 0], values.mean() + np.array([-half, half]))
    (chance,) = [line for line in axis.lines if line.get_linestyle() == "--"]
    assert chance.get_xdata()[0] == pytest.approx(10.0)
