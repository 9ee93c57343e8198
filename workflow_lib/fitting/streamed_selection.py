"""Nested selection as in `workflow_lib.fitting.selection`, with rows that come in blocks.

The same grid, folds and score: errors are sums over rows, so the predictions of a block are counted
and forgotten. What the chosen grid points predict for the training rows is computed in a last pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from workflow_lib.fitting.fold_targets import FoldTargets, TargetColumns
from workflow_lib.fitting.grid_errors import decoded_at, squared_errors
from workflow_lib.fitting.input_kernels import InputKernel
from workflow_lib.fitting.selection import Choice, best_point, grid_points, is_better
from workflow_lib.fitting.validation_curves import ValidationCurves
from workflow_lib.measures.metrics import reference_errors, relative_error


def select_each_streamed(
    outputs: np.ndarray,
    folds: np.ndarray,
    solvers_by_kernel: Mapping[InputKernel, object],
    targets: Mapping[int | None, Sequence[FoldTargets]],
    alphas_by_kernel: Mapping[InputKernel, Sequence[float]],
    penalty: str,
    projections: Sequence[bool],
    metric: str = "arrmse",
    curves: ValidationCurves | None = None,
) -> dict[int | None, Choice]:
    """Return the best grid point of every component count; there are no weak rows.

    Parameters
    ----------
    solvers_by_kernel : mapping from InputKernel to FeatureRidge or SeparateFeatureRidges
    outputs, folds, targets, alphas_by_kernel, penalty, projections, metric, curves
        As in `workflow_lib.fitting.selection.select_each`.
    """
    reference = reference_errors(outputs, folds)
    best: dict[int | None, Choice] = {}
    for kernel, solver in solvers_by_kernel.items():
        alphas = alphas_by_kernel[kernel]
        errors = _errors(outputs, solver, targets, alphas, penalty, projections)
        for (count, projected), of_points in errors.items():
            points = grid_points(alphas, [np.nan], penalty, targets[count][0].pi_block is not None)
            scores = relative_error(of_points, reference, metric)
            choice, _ = best_point(kernel, count, projected, points, scores)
            if curves is not None:
                curves.add(kernel, count, alphas, [np.nan], scores)
            if count not in best or is_better(choice, best[count]):
                best[count] = choice
    for kernel in dict.fromkeys(choice.kernel for choice in best.values()):
        chosen = {count: choice for count, choice in best.items() if choice.kernel == kernel}
        predicted = _heldout_outputs(outputs, solvers_by_kernel[kernel], targets, chosen)
        for count, choice in chosen.items():
            best[count] = replace(choice, heldout_outputs=predicted[count])
    return best


def _errors(outputs, solver, targets, alphas, penalty, projections):
    """Return the squared errors (grid points, d) by component count and projection."""
    errors = {(count, projected): 0.0 for count in targets for projected in projections}
    for fold, rows, predicted in _predictions(solver, targets, alphas):
        shared: dict = {}
        for count, projected in errors:
            errors[count, projected] += squared_errors(
                outputs[rows],
                targets[count][fold],
                predicted[count],
                projected,
                penalty,
                solver.center,
                shared,
            )
    return errors


def _heldout_outputs(outputs, solver, targets, chosen):
    """Return the outputs (n, d) that each choice predicts for the training rows."""
    alphas = sorted(
        {
            value
            for choice in chosen.values()
            for value in (choice.alpha_leading, choice.alpha_rest)
            if value == value
        }
    )
    result = {count: np.empty(outputs.shape) for count in chosen}
    subset = {count: targets[count] for count in chosen}
    for fold, rows, predicted in _predictions(solver, subset, alphas):
        for count, choice in chosen.items():
            index = alphas.index(choice.alpha_rest)
            if targets[count][fold].pi_block is not None:
                index += len(alphas) * alphas.index(choice.alpha_leading)
            result[count][rows] = decoded_at(
                targets[count][fold], predicted[count], index, choice.projected, "per_block"
            )
    return result


def _predictions(solver, targets, alphas):
    """Yield (fold, rows, what is predicted of every component count) in blocks of rows."""
    columns = TargetColumns(targets, has_weak_rows=False)
    blocks = columns.labelled_blocks()
    by_fold = [_side_by_side(of_fold) for of_fold in blocks]
    if all(len(of_fold) == 1 and of_fold[0] is blocks[0][0] for of_fold in blocks):
        by_fold = [by_fold[0]] * len(by_fold)
    for fold, rows, predicted in solver.predictions(solver.prepare(by_fold), alphas):
        yield fold, rows, {count: columns.split(count, fold, predicted) for count in targets}


def _side_by_side(blocks):
    """Return a function of a slice of rows that gives their targets, without a copy of all."""
    return lambda rows: np.hstack([block[rows] for block in blocks])
