"""The regression stage of kernel ridge regression with a penalty per output component."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from workflow_lib.artifacts import read_artifact
from workflow_lib.experiments.heldout_errors import heldout_error
from workflow_lib.experiments.input_kernels import (
    Grid,
    InputKernel,
    KernelGrid,
    single_choice,
)
from workflow_lib.experiments.items import size_group
from workflow_lib.experiments.missing_outputs import filled
from workflow_lib.experiments.output_items import OutputItems
from workflow_lib.experiments.prepared_inputs import PreparedInputs, prepared_inputs
from workflow_lib.metrics import SMALLEST_GAIN
from workflow_lib.regression.principal_components import (
    fit_component_ridge,
    select_component_penalties,
)

REGRESSORS = ("principal_component_ridge",)
TASKS = ("regression", "series")
NEEDS = {"minutes": 2, "grams": 14, "cubic_minutes": 0.2}


def run(
    dataset: Path,
    split: Path,
    features: Path,
    output: Path,
    timings: Path,
    kernel: str,
    widths: Sequence[float],
    penalties: Sequence[float],
    center: bool,
    metric: str,
    kernels: Sequence[str] | None = None,
) -> None:
    """Select and fit the penalties of the output components for every training size.

    `kernel`, `kernels`, `widths` and `penalties` are as of
    `workflow_lib.experiments.input_kernels.KernelGrid.of_method`.

    Writes the "regression" artifact: for each item the kernel and its width, the penalty of
    each component, the dual coefficients and intercepts of the outputs, the predicted outputs of
    the test rows, and those of each training row without its fold; and the seconds of each item,
    as JSON. See `workflow_lib.regression.principal_components` for the method.
    """
    outputs = read_artifact(dataset, "dataset")["outputs"]
    partition = read_artifact(split, "split")
    split_features = read_artifact(features, "features")
    items = OutputItems()
    for size in map(int, partition["sizes"]):
        Y = outputs[partition["train"]][:size]
        inputs = prepared_inputs(split_features, partition["folds"][size_group(size)], size)
        started = time.perf_counter()
        grid = KernelGrid.of_method(kernel, kernels, widths, penalties, inputs.n_columns)
        single = single_choice(select, inputs=inputs, outputs=Y, center=center, metric=metric)
        found, extension = grid.search(single, extends=bool(kernels))
        choice = found[None]
        selected = time.perf_counter()
        K = inputs.training_gram(*choice.kernel)
        dual, intercept, fitted_penalties = fit_component_ridge(
            K, filled(Y), choice.penalties, center
        )
        fitted = time.perf_counter()
        predictions = inputs.test_gram(*choice.kernel) @ dual + intercept
        predicted = time.perf_counter()
        items.add(
            size,
            predictions,
            choice.heldout_outputs,
            (started, selected, fitted, predicted),
            score=choice.score,
            kernel=choice.kernel.name,
            width=choice.kernel.width,
            edges=grid.edges_of(choice, extension) or None,
            component_penalties=fitted_penalties,
            dual_coefficients=dual,
            intercept=intercept,
        )
    items.write(output, timings, [dataset, split, features], unbounded=["component_penalties"])


@dataclass(frozen=True)
class ComponentChoice:
    """A kernel, the penalties of the components under it, and their cross-validated error.

    Attributes
    ----------
    kernel : InputKernel
    penalties : array (r,)
        lambda_0 of each component.
    score : float
        Relative error of the held-out outputs, their squared errors summed over folds.
    heldout_outputs : array (n, d)
        Predictions of the training rows, each without its fold.
    """

    kernel: InputKernel
    penalties: np.ndarray
    score: float
    heldout_outputs: np.ndarray
    # No single penalty lies on an edge.
    penalty_pi = penalty_mu = np.nan


def select(
    inputs: PreparedInputs,
    outputs: np.ndarray,
    grid: Grid,
    center: bool,
    metric: str,
) -> ComponentChoice:
    """Return the kernel with the lowest error of `metric`, and its penalties.

    Under each kernel every component has the penalty with the least squared error, whatever the
    metric: only squared errors separate over components.
    """
    folds = inputs.folds
    outputs_by_fold = [filled(outputs, folds != fold) for fold in range(folds.max() + 1)]
    best = None
    for kernel, penalties in grid.items():
        solver = inputs.heldout_solver(*kernel, center)
        chosen, heldout = select_component_penalties(
            outputs_by_fold, solver, penalties, SMALLEST_GAIN
        )
        score = heldout_error(outputs, heldout, folds, metric)
        if best is None or score < best.score * (1.0 - SMALLEST_GAIN):
            best = ComponentChoice(kernel, chosen, score, heldout)
    return best
