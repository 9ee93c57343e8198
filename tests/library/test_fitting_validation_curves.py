"""Validation curves are the lowest errors of the grid, and change nothing that is selected."""

from __future__ import annotations

import math

import numpy as np
import pytest
from matplotlib.collections import PathCollection
from small_data import regression_data
from small_pipeline import Stages

from workflow_lib.artifacts import write_artifact
from workflow_lib.errors import UserError
from workflow_lib.fitting.input_kernels import InputKernel, KernelGrid
from workflow_lib.fitting.selection import Choice
from workflow_lib.fitting.validation_curves import CHOSEN, ENTRY, ValidationCurves
from workflow_lib.report.figures.validation_curve import draw

NARROW, WIDE = InputKernel("rbf", 0.1), InputKernel("rbf", 1.0)


def curves_of(scores_of_columns):
    """Return the curves of columns of a grid of two penalties per block, and one choice."""
    grid = KernelGrid(["rbf"], [0.1, 1.0], [1e-3, 1.0], is_relative=True)
    curves = ValidationCurves(grid.unit, lambda key: key)
    for (kernel, count), scores in scores_of_columns.items():
        curves.add(kernel, count, grid.all()[kernel], [math.nan], np.array(scores))
    chosen = Choice(NARROW, 3, 1e-4, 0.1, math.nan, False, 0.2, None)
    return curves.tree([chosen])


def test_a_curve_is_the_lowest_error_of_each_value():
    tree = curves_of(
        {
            (NARROW, 2): [0.9, 0.8, 0.7, np.nan],
            (NARROW, 3): [0.5, 0.2, 0.6, 0.4],
            (WIDE, 2): [0.3, 0.9, 0.9, 0.9],
        }
    )
    expected = {
        # Penalties of both widths are those of one grid, in units of the kernel.
        "alpha_leading": [[1e-3, 0.2], [1.0, 0.4]],
        "alpha_rest": [[1e-3, 0.3], [1.0, 0.2]],
        "width": [[0.1, 0.2], [1.0, 0.3]],
        "n_components": [[2, 0.3], [3, 0.2]],
    }
    assert set(tree) == {"rbf", CHOSEN} and set(tree["rbf"]) == set(expected)
    for name, curve in expected.items():
        np.testing.assert_array_equal(tree["rbf"][name], curve)
    chosen = {name: float(values[0]) for name, values in tree[CHOSEN]["rbf"].items()}
    assert chosen == {"alpha_leading": 1e-3, "alpha_rest": 1.0, "width": 0.1, "n_components": 3}


def test_a_grid_of_one_point_has_no_curve():
    grid = KernelGrid(["linear"], [], [1.0])
    curves = ValidationCurves(grid.unit, lambda key: key)
    kernel = InputKernel("linear")
    curves.add(kernel, None, [1.0], [math.nan], np.array([0.5]))
    assert curves.tree([Choice(kernel, None, math.nan, 1.0, math.nan, False, 0.5, None)]) == {}


@pytest.fixture(scope="module")
def stages(tmp_path_factory):
    X, Y = regression_data(60)
    return Stages(tmp_path_factory.mktemp("curves"), X, Y, combine="average").all()


def test_the_lowest_error_is_the_score_of_what_was_chosen(stages):
    item = stages.tree("regression")["n-30_w-0_C-selected"]
    scores = [member["score"] for member in item["members"].values()]
    tree = item[ENTRY]
    np.testing.assert_allclose(tree["rbf"]["n_components"][:, 1], scores, rtol=1e-9)
    assert tree["rbf"]["width"][:, 1].min() == pytest.approx(min(scores))
    # The infinite penalty is left out.
    assert tree["rbf"]["alpha_rest"][:, 0].tolist() == [1e-4, 1e-2]
    assert len(tree[CHOSEN]["rbf"]["width"]) == 2


def test_the_figure_has_a_panel_for_each_hyper_parameter(stages):
    path = stages.path("regression")
    shown = {"ofer-gmm": {"label": "OFER-GMM", "color": "#0072B2", "marker": "o"}}
    figure = draw({"ofer-gmm": [path, path]}, title="Toy", shown_methods=shown)
    labels = [axis.get_xlabel() for axis in figure.axes[:3]]
    assert labels == [
        "penalty (log scale)",
        "width of the kernel (log scale)",
        "number of components (log scale)",
    ]
    curve = stages.tree("regression")["n-30_w-0_C-selected"][ENTRY]["rbf"]["width"]
    (line,) = [c.lines[0] for c in figure.axes[1].containers]
    np.testing.assert_allclose(np.column_stack(line.get_data()), curve)
    points = [c for c in figure.axes[2].collections if isinstance(c, PathCollection)]
    rings = {float(point.get_offsets()[0, 0]) for point in points}
    assert rings == {1.0, 3.0}


def test_methods_without_curves_are_named(tmp_path):
    path = tmp_path / "regression.h5"
    write_artifact(path, {"n-5": {"training_size": 5, "components": "selected"}}, "regression")
    with pytest.raises(UserError, match="no method holds the errors of its grid: m-rf"):
        draw({"m-rf": [path]}, title="Toy", shown_methods={"m-rf": {}})
