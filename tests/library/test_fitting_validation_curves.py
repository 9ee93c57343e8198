"""Validation curves are the lowest errors of the grid, and change nothing that is selected."""

import math

import numpy as np
import pytest
from matplotlib.collections import PathCollection
from small_data import regression_data
from small_pipeline import Stages

from workflow_lib.core.artifacts import write_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.fitting.input_kernels import InputKernel, KernelGrid
from workflow_lib.fitting.selection import Choice
from workflow_lib.fitting.validation_curves import (
    CHOSEN,
    ENTRY,
    ERROR_RATES,
    NO_KERNEL,
    USED_INPUTS,
    GridErrors,
    KernelErrors,
    ValidationCurves,
    chosen_error_rate,
    joined_curves,
)
from workflow_lib.report.figures.validation_curve import draw

NARROW, WIDE = InputKernel("rbf", 0.1), InputKernel("rbf", 1.0)


def curves_of(scores_of_columns):
    """Return the curves of columns of a grid of two penalties per block, and one choice."""
    grid = KernelGrid(["rbf"], [0.1, 1.0], [1e-3, 1.0], is_relative=True)
    curves = ValidationCurves(grid.unit)
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
    curves = ValidationCurves(grid.unit)
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
        "number of components",
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


def test_curves_of_a_grid_of_any_method():
    errors = GridErrors()
    axes = {"max_depth": [2, 4, None], "loss": ["a", "b"], "share": [0.0, 1.0]}
    errors.add(NO_KERNEL, axes, [9, 8, 7, np.nan, 6, 5, 4, 3, 1, 1, 1, 1])
    tree = errors.tree([(NO_KERNEL, {"max_depth": 4, "loss": "b", "share": 1.0, "seed": 3})])
    # Names and None have no place on an axis, and take part in the minimum of the others.
    assert set(tree[NO_KERNEL]) == {"max_depth", "share"}
    np.testing.assert_array_equal(tree[NO_KERNEL]["max_depth"], [[2, 7], [4, 3]])
    np.testing.assert_array_equal(tree[NO_KERNEL]["share"], [[0, 1], [1, 1]])
    assert tree[CHOSEN][NO_KERNEL] == {"max_depth": [4.0], "share": [1.0]}


def test_penalties_are_values_of_one_grid_whatever_the_width():
    grid = KernelGrid(["rbf"], [0.1, 1.0], [1e-3, 1.0], is_relative=True)
    errors = KernelErrors(grid.unit)
    for kernel, found in ((NARROW, [0.5, 0.4]), (WIDE, [0.3, 0.6])):
        errors.add_penalties(kernel, {}, grid.all()[kernel], found)
    tree = errors.entry_of(WIDE, 1e-3, {})[ENTRY]
    np.testing.assert_array_equal(tree["rbf"]["alpha_rest"], [[1e-3, 0.3], [1.0, 0.4]])
    assert tree[CHOSEN]["rbf"] == {"alpha_rest": [1e-3], "width": [1.0]}


def test_curves_of_a_feature_learner_join_those_of_its_method():
    learner = GridErrors()
    learner.add(NO_KERNEL, {"n_components": [2, 5]}, [0.4, 0.3])
    inner = GridErrors()
    inner.add("rbf", {"width": [0.1, 1.0]}, [0.3, 0.5])
    joined = joined_curves(inner.tree([("rbf", {"width": 0.1})]), learner, {"n_components": 5})
    assert set(joined["rbf"]) == {"width", "n_components"}
    assert joined[CHOSEN]["rbf"] == {"width": [0.1], "n_components": [5.0]}
    assert set(joined_curves({}, learner, {"n_components": 5})) == {NO_KERNEL, CHOSEN}


def test_error_rates_are_those_of_the_lowest_error_and_are_joined():
    inner, learner = GridErrors(), GridErrors()
    axes = {"cost": [0.1, 1.0], "width": [1.0, 2.0]}
    inner.add("linear", axes, [5.0, 4.0, 3.0, 6.0], error_rates=[0.1, 0.2, 0.3, 0.4])
    learner.add(NO_KERNEL, {"n_states": [2, 4]}, [3.0, 7.0], error_rates=[0.3, 0.6])
    tree = inner.tree([("linear", {"cost": 1.0, "width": 1.0})])
    assert chosen_error_rate(tree) == 0.3 and chosen_error_rate({}) is None
    joined = joined_curves(tree, learner, {"n_states": 2})[ERROR_RATES]["linear"]
    np.testing.assert_array_equal(joined["cost"], [[0.1, 0.2], [1.0, 0.3]])
    np.testing.assert_array_equal(joined["width"], [[1.0, 0.3], [2.0, 0.2]])
    np.testing.assert_array_equal(joined["n_states"], [[2.0, 0.3], [4.0, 0.6]])
    assert USED_INPUTS not in tree
