"""The figure of the share of wrong labels shows the means of each experiment at its share."""

import numpy as np
import pytest
from report_samples import METHODS, base_error, better_error, worse_error, write_scores

from workflow_lib.report.figures.base import draw


def scores_at(folder, name, errors):
    rows = [(method, "selected", 0, error) for method, error in errors.items()]
    return write_scores(folder / f"{name}.csv", rows)


def test_points_are_the_means_at_each_share(tmp_path):
    by_share = {
        0.0: {"m-krr": better_error, "ofer-gmm": base_error},
        0.3: {"m-krr": base_error, "ofer-gmm": base_error},
        0.7: {"m-krr": worse_error},
    }
    paths = [scores_at(tmp_path, f"s{share}", errors) for share, errors in by_share.items()]
    settings = {"title": "Toy", "shown_methods": METHODS, "metric": "arrmse"}
    settings["wrong_shares"] = list(by_share)
    figure = draw("wrong_labels", {"share_scores": paths}, settings)
    drawn = {}
    for axis in figure.axes:
        for container in axis.containers:
            line = container.lines[0]
            drawn[axis.get_title("left").split("\n")[0], container.get_label()] = line.get_xydata()
    sizes = (20, 50)
    assert len(drawn) == 2 * len(sizes)
    for (title, label), points in drawn.items():
        method = next(name for name in METHODS if METHODS[name]["label"] == label)
        (size,) = (size for size in sizes if str(size) in title)
        for (location, mean), (share, errors) in zip(points, by_share.items(), strict=True):
            assert location == pytest.approx(100 * share, abs=10)
            if method in errors:
                expected = np.mean([errors[method](size, split) for split in range(5)])
                assert mean == pytest.approx(expected)
            else:
                assert np.isnan(mean)
    ticks = [axis.get_xticks().tolist() for axis in figure.axes[: len(sizes)]]
    assert ticks == [[0.0, 30.0, 70.0]] * len(sizes)
