"""The figure of true over false positives: its curves, its labels, and what it refuses."""

import json

import numpy as np
import pytest
from report_samples import CLASS_METHODS, write_class_results
from sklearn.metrics import roc_auc_score

from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.papers.blaschko.figures.roc_curves import GRID, draw, roc


@pytest.mark.parametrize("digits", [1, 6])
def test_curves_are_those_of_all_thresholds(digits):
    random = np.random.default_rng(0)
    for n_rows in (10, 200):
        truth = random.random(n_rows) < 0.4
        scores = np.round(truth + random.normal(size=n_rows), digits)
        limits = [np.inf, *np.unique(scores)[::-1]]
        true, false = (
            np.array([(scores[rows] >= limit).mean() for limit in limits])
            for rows in (truth, ~truth)
        )
        # The largest share at each number of false positives, and lines between these.
        highest = [true[false == share].max() for share in np.unique(false)]
        lowest = [true[false == share].min() for share in np.unique(false)]
        for share, found in zip(GRID, roc(truth, scores), strict=True):
            right = np.searchsorted(np.unique(false), share, side="right") - 1
            expected = highest[right]
            if right + 1 < len(highest):
                start, end = np.unique(false)[[right, right + 1]]
                part = (share - start) / (end - start)
                expected += part * (lowest[right + 1] - highest[right])
            assert found == pytest.approx(expected)
        area = np.trapezoid(roc(truth, scores), GRID)
        assert area == pytest.approx(roc_auc_score(truth, scores), abs=0.02 if n_rows > 10 else 0.1)
    assert np.isnan(roc(np.ones(3, bool), scores[:3])).all()


def drawn(files, shown):
    predictions = {name: files["predictions"][name] for name in shown}
    return draw(
        files["dataset"],
        files["splits"],
        predictions,
        title="Toy",
        shown_methods={name: CLASS_METHODS[name] for name in shown},
    )


def test_a_panel_is_a_class_and_a_line_a_method(tmp_path):
    files = write_class_results(tmp_path)
    figure = drawn(files, ["class-krr", "wofer-gmm"])
    assert len(figure.axes) == 4
    labels = files["labels"]
    for label, axis in enumerate(figure.axes):
        for method, line in zip(("class-krr", "wofer-gmm"), axis.lines):
            curves = []
            for path, split in zip(files["predictions"][method], files["splits"], strict=True):
                items = read_artifact(path, "predictions").values()
                item = max(items, key=lambda item: item["training_size"])
                test = read_artifact(split, "split")["test"]
                curves.append(roc(labels[test] == label, item["class_scores"][:, label]))
            np.testing.assert_allclose(line.get_ydata(), np.mean(curves, axis=0))
    assert "12 training rows" in figure.get_suptitle()


def test_rows_may_have_several_labels(tmp_path):
    random = np.random.default_rng(1)
    outputs = (random.random((30, 2)) < 0.5).astype(float)
    tree = {"inputs": np.zeros((30, 1)), "outputs": outputs}
    tree["names"] = {"outputs": json.dumps(["sea", "sun"])}
    files = {"dataset": tmp_path / "data.h5", "splits": [tmp_path / "split.h5"]}
    write_artifact(files["dataset"], tree, "dataset")
    write_artifact(files["splits"][0], {"test": np.arange(10, 30)}, "split")
    predicted = outputs[10:] + random.normal(size=(20, 2))
    path = tmp_path / "predictions.h5"
    write_artifact(path, {"item": {"training_size": 10, "outputs": predicted}}, "predictions")
    files["predictions"] = {"class-krr": [path]}
    figure = drawn(files, ["class-krr"])
    assert [axis.get_title("left")[:3] for axis in figure.axes] == ["sea", "sun"]
    found = figure.axes[1].lines[0].get_ydata()
    np.testing.assert_allclose(found, roc(outputs[10:, 1] == 1.0, predicted[:, 1]))
    write_artifact(files["dataset"], tree | {"outputs": outputs + 0.5}, "dataset")
    with pytest.raises(UserError, match="numbers other than 0 and 1"):
        drawn(files, ["class-krr"])
