"""The figure of the recall of the right class by the number of returned classes."""

import numpy as np
import pytest
from report_samples import CLASS_METHODS, write_class_results

from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.measures.recalls import recalls
from workflow_lib.papers.blaschko.figures import recall_by_candidates


def draw(paths):
    files = paths["dataset"], paths["splits"], paths["predictions"]
    return recall_by_candidates.draw(
        *files, title="Toy", shown_methods=CLASS_METHODS, metric="accuracy"
    )


def test_the_recalls_are_means_over_splits_at_two_sizes(tmp_path):
    paths = write_class_results(tmp_path, n_classes=14, n_components=7)
    figure = draw(paths)
    assert [axis.get_title("left").split("\n")[0] for axis in figure.axes] == [
        "1 example per class",
        "2 examples per class",
    ]
    expected = []
    for split, path in zip(paths["splits"], paths["predictions"]["class-krr"], strict=True):
        truth = paths["labels"][read_artifact(split, "split")["test"]]
        item = read_artifact(path, "predictions")["n-28_w-0_C-selected"]
        expected.append(100.0 * recalls(truth, item["class_scores"])[:10])
    lines = [line.get_ydata() for line in figure.axes[1].lines if len(line.get_ydata()) == 10]
    assert any(np.allclose(line, np.mean(expected, axis=0)) for line in lines)
    np.testing.assert_array_equal(figure.axes[1].get_xticks(), np.arange(1, 11))


def test_classes_without_scores_are_refused(tmp_path):
    paths = write_class_results(tmp_path)
    for path in sum(paths["predictions"].values(), []):
        items = read_artifact(path, "predictions")
        for item in items.values():
            del item["class_scores"]
        write_artifact(path, items, "predictions")
    with pytest.raises(UserError, match="no method with scores of classes"):
        draw(paths)
