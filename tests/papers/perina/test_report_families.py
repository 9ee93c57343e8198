"""The figure of the number of experiments with a median RFP of at most x."""

import numpy as np
import pytest
from report_samples import CLASS_METHODS, NOISE, add_rankings, write_accuracies

from workflow_lib.core.errors import UserError
from workflow_lib.papers.perina.figures.families import draw


def write_family(folder, number, accuracies, **options):
    """Write the scores of an experiment; its accuracies are lower with one example per class."""
    rows = [
        (
            method,
            "selected",
            0,
            lambda size, split, high=high: high * (0.5 + size / 10) + NOISE[split],
        )
        for method, high in accuracies.items()
    ]
    # A row without weak labels, which is not shown where there is one with them.
    rows += [
        ("wofer-gmm", "selected", weak, lambda size, split, weak=weak: weak / 100)
        for weak in (0, 50)
    ]
    return add_rankings(write_accuracies(folder / f"{number}.csv", rows), **options)


def test_each_method_has_a_step_at_every_experiment(tmp_path):
    families = [{"class-krr": 0.9, "m-svm": 0.5}, {"class-krr": 0.2, "m-svm": 0.7}]
    paths = [write_family(tmp_path, *family) for family in enumerate(families)]
    (axis,) = draw(paths, shown_methods=CLASS_METHODS).axes
    lines = {line.get_label(): line for line in axis.lines}
    noise = np.mean(NOISE[:5])
    for label, highs in (
        ("one-hot KRR", (0.9, 0.2)),
        ("m-SVM", (0.7, 0.5)),
        ("wOFER-GMM", (0.5, 0.5)),
    ):
        accuracies = np.array(highs) + noise * (label != "wOFER-GMM")
        x, y = lines[label].get_data()
        np.testing.assert_allclose(x, [0, *(0.75 * (1 - accuracies)), 1])
        np.testing.assert_array_equal(y, [0, 1, 2, 2])
    assert "OFER-GMM" not in lines
    assert axis.get_xlabel() == "median RFP on test rows"


def test_experiments_without_a_ranking_do_not_count(tmp_path):
    with_one = write_family(tmp_path, 0, {"m-svm": 0.5})
    without = write_family(tmp_path, 1, {"m-svm": 0.6}, without=range(5))
    figure = draw([with_one, without], shown_methods=CLASS_METHODS)
    assert max(figure.axes[0].lines[0].get_ydata()) == 1
    assert figure.get_suptitle().endswith("1 experiment")
    with pytest.raises(UserError, match="no median RFP in .*1.csv"):
        draw([without], shown_methods=CLASS_METHODS)
