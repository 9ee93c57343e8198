"""Selection and refit in one fit where there are more rows than a Gram matrix allows.

The kernel is replaced by the inner products of features, which are few: those of landmarks (the
Nystrom approximation), or for the linear kernel the inputs themselves, which is exact. Grid, folds
and score are those of `KernelRidgeFit`.
"""

from __future__ import annotations

import numpy as np

from workflow_lib.errors import UserError
from workflow_lib.fitting.fit_data import FitData
from workflow_lib.fitting.fitted_features import FittedFeatureRidge
from workflow_lib.fitting.input_kernels import Grid, InputKernel
from workflow_lib.fitting.items import fold_group
from workflow_lib.fitting.kernel_ridge_fit import KernelRidgeFit, KernelRidgeGrid, Lazily
from workflow_lib.fitting.prepared_inputs import PreparedRows, kernel_gamma
from workflow_lib.fitting.selection import Choice
from workflow_lib.fitting.streamed_selection import select_each_streamed
from workflow_lib.regression.feature_ridge import (
    FeatureBlocks,
    FeatureRidge,
    SeparateFeatureRidges,
)
from workflow_lib.regression.landmarks import LandmarkFeatures, LinearFeatures, choose_landmarks
from workflow_lib.seeds import derive_seed

LANDMARK_METHOD = "k_means"


class LandmarkRidgeFit(KernelRidgeFit):
    """Selection and refit on features of landmarks.

    Landmarks of a fold whose preparation is learned come from its training rows alone; otherwise
    all training rows give the landmarks, as they all stand in the Gram matrix of `KernelRidgeFit`.

    Parameters
    ----------
    data, grid
        As for `KernelRidgeFit`.
    n_landmarks : int
    seed : int
        Of the draw of the landmarks.

    Raises
    ------
    UserError
        With weak rows, and for inputs that are inner products or texts instead of rows of numbers.
    """

    def __init__(self, data: FitData, grid: KernelRidgeGrid, n_landmarks: int, seed: int) -> None:
        super().__init__(data, grid)
        weak_size = data.spec.weak_size
        if weak_size or not isinstance(self._inputs, PreparedRows) or self._inputs.is_gram:
            what = "weak rows" if weak_size else "inputs without rows of numbers"
            raise UserError(
                place=f"{data.size} training rows",
                found=f"{what} with more training rows than max_gram_rows",
                expected="labelled rows of numbers alone, of which landmarks can be chosen",
                remedy="take smaller training_sizes, or raise max_gram_rows",
            )
        self._n_landmarks, self._seed = n_landmarks, seed
        self._landmarks: dict[int | None, np.ndarray] = {}
        self._is_always_primal = all(map(self._is_primal, self._kernel_grid.names))
        what = (
            "the inputs themselves"
            if self._is_always_primal
            else f"features of {n_landmarks} landmarks"
        )
        print(
            f"{data.size} training rows are more than max_gram_rows: {what} stand for the "
            "Gram matrix"
        )

    @property
    def description(self) -> dict[str, int]:
        """As `KernelRidgeFit.description`: the number of landmarks, where there are any."""
        return {} if self._is_always_primal else {"n_landmarks": self._n_landmarks}

    def _is_primal(self, kernel: str) -> bool:
        """Whether a kernel is linear and the columns are few enough to be the features."""
        return kernel == "linear" and self._inputs.n_columns <= self._n_landmarks

    def _select(self, alphas: Grid) -> dict[int | None, Choice]:
        """As `KernelRidgeFit._select`."""
        grid = self._grid
        return select_each_streamed(
            self._targets.outputs,
            self._inputs.folds,
            Lazily({kernel: self._solver_of(kernel) for kernel in alphas}),
            self._targets_by_count,
            alphas,
            grid.penalty,
            grid.projections,
            grid.metric,
            self._curves,
        )

    def fitted(self, choice: Choice) -> FittedFeatureRidge:
        """As `KernelRidgeFit.fitted`."""
        features = self._features(None, choice.kernel)
        blocks = FeatureBlocks(features, self._inputs.rows_as_prepared_by(None))
        embedding, targets = self._targets.of_all_rows(choice.n_components)
        alphas = np.empty(targets.shape[1])
        for name, columns in embedding.blocks.items():
            is_leading = self._targets.is_leading(name)
            alphas[columns] = choice.alpha_leading if is_leading else choice.alpha_rest
        # Nothing is held out; one fold number for all rows would hold out all of them.
        ridge = FeatureRidge(blocks, np.full(len(targets), -1), self._grid.center)
        weights, intercept = ridge.refit(targets, alphas)
        arrays = {"weights": weights, "intercept": intercept}
        if isinstance(features, LandmarkFeatures):
            arrays |= {"landmarks": features.landmarks, "projection": features.projection}
        return FittedFeatureRidge(arrays, choice.kernel)

    def _solver_of(self, kernel):
        return lambda: self._solver(kernel)

    def _solver(self, kernel) -> FeatureRidge | SeparateFeatureRidges:
        inputs, center = self._inputs, self._grid.center
        if not inputs.learns:
            return FeatureRidge(self._blocks(None, kernel), inputs.folds, center)
        by_fold = [self._blocks(fold, kernel) for fold in range(inputs.folds.max() + 1)]
        return SeparateFeatureRidges(by_fold, inputs.folds, center)

    def _blocks(self, fold, kernel) -> FeatureBlocks:
        features = self._features(fold, kernel)
        return FeatureBlocks(features, self._inputs.rows_as_prepared_by(fold))

    def _features(self, fold: int | None, kernel: InputKernel) -> LandmarkFeatures | LinearFeatures:
        """Return the features of one kernel, as a fold (None: the refit) makes them."""
        rows = self._inputs.rows_as_prepared_by(fold)
        n_columns = rows.shape[1]
        if self._is_primal(kernel.name):
            return LinearFeatures(n_columns)
        gamma = kernel_gamma(kernel.name, kernel.width, n_columns)
        if fold not in self._landmarks:
            known = np.flatnonzero(self._inputs.folds != fold)
            self._landmarks[fold] = choose_landmarks(
                _Chosen(rows, known),
                self._n_landmarks,
                kernel.name,
                gamma,
                LANDMARK_METHOD,
                np.random.default_rng(derive_seed(self._seed, self._data.size, fold_group(fold))),
            )
        return LandmarkFeatures(self._landmarks[fold], kernel.name, gamma)


class _Chosen:
    """Some rows of others, looked up when they are asked for."""

    def __init__(self, rows, chosen: np.ndarray) -> None:
        self._rows, self._chosen = rows, chosen
        self.shape = len(chosen), rows.shape[1]

    def __len__(self) -> int:
        return len(self._chosen)

    def __getitem__(self, rows) -> np.ndarray:
        return self._rows[self._chosen[rows]]
