"""The figure of the costs of constraints has those of both ways to find them."""

import numpy as np
import pytest

from workflow_lib.core.artifacts import write_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.papers.blaschko.figures.constraint_costs import draw

SHOWN = {"blocks": {"label": "Blocks"}, "planes": {"label": "Planes"}}


def test_lines_are_multiplications_of_each_iteration(tmp_path):
    item = {"training_size": 9, "constraint_terms": np.array([0, 4, 10])}
    item["constraint_products"] = np.array([600, 5])
    small = item | {"training_size": 3, "constraint_terms": np.array([0, 1])}
    paths = [tmp_path / "blocks.h5", tmp_path / "planes.h5"]
    write_artifact(paths[0], {"n-9": {"training_size": 9}}, "regression")
    write_artifact(paths[1], {"n-9": item, "n-3": small}, "regression")
    files = {"blocks": [paths[0]], "planes": [paths[1]]}
    figure = draw(files, title="Toy", shown_methods=SHOWN)
    assert "Planes, 9 training rows, first split" in figure.get_suptitle()
    sums, products = figure.axes[0].lines
    np.testing.assert_array_equal(sums.get_xydata(), [[2, 20], [3, 50]])
    np.testing.assert_array_equal(products.get_xydata(), [[2, 600], [3, 600]])
    with pytest.raises(UserError, match="no method by cutting planes: blocks"):
        draw({"blocks": [paths[0]]}, title="Toy", shown_methods={"blocks": SHOWN["blocks"]})
