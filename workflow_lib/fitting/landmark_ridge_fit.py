"""Selection and refit in one fit where there are more rows than a Gram matrix allows.

The kernel is replaced by the inner products of features, which are few: those of landmarks (the
Nystrom approximation), random ones, or for the linear kernel the inputs themselves, which is exact.
Grid, folds and score are those of `KernelRidgeFit`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from workflow_lib.core.errors import UserError
from workflow_lib.core.seeds import derive_seed
from workflow_lib.fitting.fit_data import FitData
from workflow_lib.fitting.fitted_features import FittedFeatureRidge
from workflow_lib.fitting.fold_targets import FoldTargets, TargetColumns, decoded_at, squared_errors
from workflow_lib.fitting.input_kernels import Grid, InputKernel
from workflow_lib.fitting.kernel_ridge_fit import KernelRidgeFit, KernelRidgeGrid
from workflow_lib.fitting.prepared_inputs import PreparedRows, kernel_gamma
from workflow_lib.fitting.selection import Choice, best_point, grid_points, is_better
from workflow_lib.fitting.validation_curves import ValidationCurves
from workflow_lib.items.group_names import fold_group
from workflow_lib.measures.metrics import reference_errors, relative_error
from workflow_lib.solvers.feature_ridge import FeatureRidge, SeparateFeatureRidges
from workflow_lib.solvers.landmarks import LandmarkFeatures, LinearFeatures, choose_landmarks
from workflow_lib.solvers.random_features import RandomFeatures, orthogonal_directions

LANDMARK_METHOD = "k_means"


class LandmarkRidgeFit(KernelRidgeFit):
    """Selection and refit on features of landmarks.

    Landmarks of a fold whose preparation is learned come from its training rows alone; otherwise
    all training rows give the landmarks, as they all stand in the Gram matrix of `KernelRidgeFit`.

    Raises UserError with weak rows, and for inputs that are inner products or texts instead of rows
    of numbers.

    Parameters
    ----------
    data, grid
        As for `KernelRidgeFit`.
    n_landmarks : int
        Or number of random features.
    seed : int
        Of the draw of the landmarks, or of the directions of the random features.
    is_random : bool, default=False
        Whether the features of the rbf kernel are random ones
        (`workflow_lib.solvers.random_features`).
    """

    def __init__(
        self,
        data: FitData,
        grid: KernelRidgeGrid,
        n_landmarks: int,
        seed: int,
        is_random: bool = False,
    ) -> None:
        super().__init__(data, grid)
        weak_size = data.spec.weak_size
        if weak_size or not isinstance(self._inputs, PreparedRows) or self._inputs.is_gram:
            what = "weak rows" if weak_size else "inputs without rows of numbers"
            raise UserError(
                location=f"{data.size} training rows",
                found=f"{what} with more training rows than max_gram_rows",
                expected="labelled rows of numbers alone, of which landmarks can be chosen",
                remedy="take smaller training_sizes, or raise max_gram_rows",
            )
        self._n_landmarks, self._seed, self._is_random = n_landmarks, seed, is_random
        self._drawn: dict[int | None, np.ndarray] = {}
        self._solvers: dict[InputKernel, FeatureRidge | SeparateFeatureRidges] = {}
        what = f"{n_landmarks} random features"
        if not is_random:
            what = f"features of {n_landmarks} landmarks"
        if all(map(self._is_primal, self._kernel_grid.names)):
            what = "the inputs themselves"
        else:
            self.description = {"n_random_features" if is_random else "n_landmarks": n_landmarks}
        print(
            f"{data.size} training rows are more than max_gram_rows: {what} stand for the "
            "Gram matrix"
        )

    def _is_primal(self, kernel: str) -> bool:
        """Whether a kernel is linear and the columns are few enough to be the features."""
        return kernel == "linear" and self._inputs.n_columns <= self._n_landmarks

    def _select(self, alphas: Grid) -> dict[int | None, Choice]:
        grid = self._grid
        choices, solvers = select_each_streamed(
            self._targets.outputs,
            self._inputs.folds,
            self._solver_of,
            self._targets_by_count,
            alphas,
            grid.penalty,
            grid.projections,
            grid.metric,
            self._curves,
        )
        self._solvers |= solvers
        return choices

    def fitted(self, choice: Choice) -> FittedFeatureRidge:
        embedding, targets = self._targets.of_all_rows(choice.n_components)
        alphas = np.empty(targets.shape[1])
        for name, columns in embedding.blocks.items():
            is_leading = self._targets.is_leading(name)
            alphas[columns] = choice.alpha_leading if is_leading else choice.alpha_rest
        ridge = self._solvers.get(choice.kernel)
        if not isinstance(ridge, FeatureRidge):
            # Nothing is held out; one fold number for all rows would hold out all of them.
            ridge = self._ridge(None, choice.kernel, np.full(len(targets), -1))
        weights, intercept = ridge.refit(targets, alphas)
        arrays = {"weights": weights, "intercept": intercept}
        features = ridge.features
        if isinstance(features, LandmarkFeatures):
            arrays |= {"landmarks": features.landmarks}
        elif isinstance(features, RandomFeatures):
            arrays |= {"directions": features.directions}
        return FittedFeatureRidge(arrays, choice.kernel)

    def _solver_of(self, kernel) -> FeatureRidge | SeparateFeatureRidges:
        folds = self._inputs.folds
        if not self._inputs.learns:
            return self._ridge(None, kernel, folds)
        return SeparateFeatureRidges(
            [
                self._ridge(fold, kernel, np.where(folds == fold, 0, -1))
                for fold in range(folds.max() + 1)
            ]
        )

    def _ridge(self, fold, kernel, folds) -> FeatureRidge:
        rows = self._inputs.rows_as_prepared_by(fold)
        return FeatureRidge(self._features(fold, kernel), rows, folds, self._grid.center)

    def _features(
        self, fold: int | None, kernel: InputKernel
    ) -> LandmarkFeatures | LinearFeatures | RandomFeatures:
        """Return the features of one kernel, as a fold (None: the refit) makes them."""
        rows = self._inputs.rows_as_prepared_by(fold)
        n_columns = rows.shape[1]
        if self._is_primal(kernel.name):
            return LinearFeatures(n_columns)
        gamma = kernel_gamma(kernel.name, kernel.width, n_columns)
        if fold not in self._drawn:
            self._drawn[fold] = self._draw(fold, rows, kernel.name, gamma)
        if self._is_random:
            return RandomFeatures(self._drawn[fold], gamma)
        return LandmarkFeatures(self._drawn[fold], kernel.name, gamma)

    def _draw(self, fold, rows, kernel, gamma) -> np.ndarray:
        """Return the landmarks, or the directions of the random features, of a fold."""
        seed = derive_seed(self._seed, self._data.size, fold_group(fold))
        generator = np.random.default_rng(seed)
        if self._is_random:
            n_directions = max(self._n_landmarks // 2, 1)
            return orthogonal_directions(n_directions, rows.shape[1], generator)
        known = _Chosen(rows, np.flatnonzero(self._inputs.folds != fold))
        return choose_landmarks(known, self._n_landmarks, kernel, gamma, LANDMARK_METHOD, generator)


class _Chosen:
    """Some rows of others, looked up when they are asked for."""

    def __init__(self, rows, chosen: np.ndarray) -> None:
        self._rows, self._chosen = rows, chosen
        self.shape = len(chosen), rows.shape[1]

    def __len__(self) -> int:
        return len(self._chosen)

    def __getitem__(self, rows) -> np.ndarray:
        return self._rows[self._chosen[rows]]


def select_each_streamed(
    outputs: np.ndarray,
    folds: np.ndarray,
    solver_of: Callable[[InputKernel], FeatureRidge | SeparateFeatureRidges],
    targets: Mapping[int | None, Sequence[FoldTargets]],
    alphas_by_kernel: Mapping[InputKernel, Sequence[float]],
    penalty: str,
    projections: Sequence[bool],
    metric: str = "arrmse",
    curves: ValidationCurves | None = None,
) -> tuple[dict[int | None, Choice], dict]:
    """Return the best grid point of every component count, and the solvers of their kernels.

    There are no weak rows. Errors are sums over rows: those of the outputs themselves follow from
    the sums of their features, others are added up from the predictions of blocks of rows, which
    are forgotten. What the chosen grid points predict for the training rows is computed in a last
    pass.

    Parameters
    ----------
    solver_of : function of a kernel
        Returns its solver, which is kept while a grid point of the kernel is the best.
    outputs, folds, targets, alphas_by_kernel, penalty, projections, metric, curves
        As in `workflow_lib.fitting.selection.select_each`.
    """
    reference = reference_errors(outputs, folds)
    columns = TargetColumns(targets, has_weak_rows=False)
    regressed = _regressed(columns)
    best: dict[int | None, Choice] = {}
    kept: dict[InputKernel, tuple] = {}
    for kernel, alphas in alphas_by_kernel.items():
        solver = solver_of(kernel)
        solutions = solver.solve(regressed, alphas)
        kept[kernel] = solver, solutions
        errors = _errors(outputs, solver, solutions, columns, targets, penalty, projections)
        for (count, projected), of_points in errors.items():
            points = grid_points(alphas, [np.nan], penalty, targets[count][0].pi_block is not None)
            scores = relative_error(of_points, reference, metric)
            choice, _ = best_point(kernel, count, projected, points, scores)
            if curves is not None:
                curves.add(kernel, count, alphas, [np.nan], scores)
            if count not in best or is_better(choice, best[count]):
                best[count] = choice
        chosen = {choice.kernel for choice in best.values()}
        kept = {kernel: known for kernel, known in kept.items() if kernel in chosen}
    for kernel, (solver, solutions) in kept.items():
        chosen = {count: choice for count, choice in best.items() if choice.kernel == kernel}
        alphas = list(alphas_by_kernel[kernel])
        predicted = _heldout_outputs(outputs, solver, solutions, alphas, columns, targets, chosen)
        for count, choice in chosen.items():
            best[count] = replace(choice, heldout_outputs=predicted[count])
    return best, {kernel: solver for kernel, (solver, _) in kept.items()}


def _regressed(columns: TargetColumns):
    """Return functions of a slice of rows that give the targets of each fold, without a copy of
    all; or the targets alone where all folds have the same array."""
    blocks = columns.labelled_blocks()
    if all(len(of_fold) == 1 and of_fold[0] is blocks[0][0] for of_fold in blocks):
        return blocks[0][0]
    return [
        lambda rows, of_fold=of_fold: np.hstack([block[rows] for block in of_fold])
        for of_fold in blocks
    ]


def _errors(outputs, solver, solutions, columns, targets, penalty, projections):
    """Return the squared errors (grid points, d) by component count and projection."""
    errors = {(count, projected): 0.0 for count in targets for projected in projections}
    if all(block.mean_block is outputs for by_fold in targets.values() for block in by_fold):
        return dict.fromkeys(errors, sum(solutions.squared_errors))
    for fold, rows, predicted in solver.predictions(solutions):
        shared: dict = {}
        for count, projected in errors:
            errors[count, projected] += squared_errors(
                outputs[rows],
                targets[count][fold],
                columns.split(count, fold, predicted),
                projected,
                penalty,
                solver.center,
                shared,
            )
    return errors


def _heldout_outputs(outputs, solver, solutions, alphas, columns, targets, chosen):
    """Return the outputs (n, d) that each choice predicts for the training rows."""
    indices = sorted(
        {
            alphas.index(value)
            for choice in chosen.values()
            for value in (choice.alpha_leading, choice.alpha_rest)
            if value == value
        }
    )
    result = {count: np.empty(outputs.shape) for count in chosen}
    for fold, rows, predicted in solver.predictions(solutions.of_penalties(indices)):
        for count, choice in chosen.items():
            index = indices.index(alphas.index(choice.alpha_rest))
            if targets[count][fold].pi_block is not None:
                index += len(indices) * indices.index(alphas.index(choice.alpha_leading))
            result[count][rows] = decoded_at(
                targets[count][fold],
                columns.split(count, fold, predicted),
                index,
                choice.projected,
                "per_block",
            )
    return result
