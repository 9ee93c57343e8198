"""The figure of the number of inputs that linear methods use."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Lasso, MultiTaskLasso
from small_data import regression_data

from workflow_lib.core.artifacts import write_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.fitting.validation_curves import ENTRY, NO_KERNEL, USED_INPUTS, GridErrors
from workflow_lib.papers.blaschko.figures.sparsity import draw
from workflow_lib.solvers.any_estimator import fit_outputs, n_used_inputs

SHOWN = {"lasso": {"label": "lasso", "color": "#0072B2", "marker": "o"}}


def test_numbers_are_those_of_the_lowest_error_of_each_value():
    errors = GridErrors()
    axes = {"alpha": [0.1, 1.0], "share": [0.2, 0.8]}
    errors.add(NO_KERNEL, axes, [5.0, 4.0, 3.0, 6.0], used_inputs=[50, 40, 30, 60])
    errors.add(NO_KERNEL, {"alpha": [1.0], "share": [0.5]}, 2.0, used_inputs=7.0)
    used = errors.entry(NO_KERNEL, {"alpha": 0.1})[ENTRY][USED_INPUTS][NO_KERNEL]
    np.testing.assert_array_equal(used["alpha"], [[0.1, 40.0], [1.0, 7.0]])
    np.testing.assert_array_equal(used["share"], [[0.2, 30.0], [0.5, 7.0], [0.8, 40.0]])


def test_used_inputs_of_estimators():
    X, Y = regression_data(40)
    X = np.hstack([X, np.random.default_rng(0).normal(size=(40, 5))])
    for estimator in (Lasso(0.3), MultiTaskLasso(0.3)):
        fitted = fit_outputs(estimator, X, Y)
        parts = getattr(fitted, "estimators_", [fitted])
        rows = np.vstack([part.coef_ for part in parts])
        assert n_used_inputs(fitted) == len(np.unique(np.nonzero(rows)[1])) < X.shape[1]
    assert n_used_inputs(fit_outputs(RandomForestRegressor(3), X, Y)) is None


def test_points_are_means_over_splits(tmp_path):
    paths = []
    for split, add in enumerate((0.0, 0.2)):
        errors = GridErrors()
        axes = {"alpha_rest": [0.1, 1.0, 9.0]}
        errors.add("linear", axes, np.array([5, 4, 6]) + add, used_inputs=[8, 2, 0])
        item = {"training_size": 20, "weak_size": 0, "components": "selected"}
        item |= errors.entry("linear", {"alpha_rest": 1.0})
        paths.append(tmp_path / f"{split}.h5")
        write_artifact(paths[-1], {"n-20": item}, "regression")
    figure = draw({"lasso": paths}, title="Toy", shown_methods=SHOWN)
    (line,) = [c.lines[0] for c in figure.axes[0].containers]
    # Without any input there is no place on the axis.
    np.testing.assert_allclose(np.column_stack(line.get_data()), [[2, 4.1], [8, 5.1]])
    with pytest.raises(UserError, match="no method holds numbers of inputs: lasso"):
        draw({"lasso": []}, title="Toy", shown_methods=SHOWN)
