"""Selection and refit of one item of kernel ridge regression, on Gram matrices of all rows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from workflow_lib.experiments.heldout_errors import heldout_error
from workflow_lib.experiments.input_kernels import Grid, InputKernel, KernelGrid
from workflow_lib.experiments.items import size_group
from workflow_lib.experiments.kernel_ridge_items import Item
from workflow_lib.experiments.kernel_ridge_rows import KernelRidgeRows
from workflow_lib.experiments.kernel_ridge_targets import KernelRidgeTargets
from workflow_lib.experiments.prepared_inputs import prepared_inputs
from workflow_lib.experiments.selection import Choice, select_each
from workflow_lib.regression.ridge import fit_blocks


class KernelRidgeFit:
    """Selection and refit of one item.

    Parameters
    ----------
    rows : KernelRidgeRows
    item : Item
    grid : dict
        Lists ``kernels``, ``widths``, ``penalties``, ``weak_weights`` and ``projections``;
        ``is_relative``, as of `workflow_lib.experiments.input_kernels.KernelGrid`; ``extends``,
        whether a grid is extended once where a chosen value lies on its edge; ``penalty`` and
        ``metric``, as in `workflow_lib.experiments.selection.select_each`; and ``precision``, as in
        `workflow_lib.regression.heldout.SharedGram`.
    """

    def __init__(self, rows: KernelRidgeRows, item: Item, grid: dict) -> None:
        self._rows, self._item, self._grid = rows, item, grid
        folds = rows.partition["folds"][size_group(item.training_size)]
        self._inputs = prepared_inputs(rows.features, folds, item.training_size)
        widths, penalties, n_columns = grid["widths"], grid["penalties"], self._inputs.n_columns
        self._kernel_grid = KernelGrid(
            grid["kernels"], widths, penalties, n_columns, grid["is_relative"]
        )
        self._extension: Grid = {}
        kernels = self._kernel_grid.kernels()
        # Of a kernel with a width the nearest row has the largest value.
        of_neighbours = next((kernel for kernel in kernels if kernel.width), kernels[0])
        self._targets = KernelRidgeTargets(rows, item, self._inputs, of_neighbours)
        self._targets_by_count = self._targets.by_count()

    @property
    def description(self) -> dict[str, int]:
        """What the results say of the way in which they were computed; nothing here."""
        return {}

    def choices(self) -> dict[int | None, Choice]:
        """Return the best grid point of every component count.

        Where one lies on an edge of the grid, this is extended there once.
        """
        found, self._extension = self._kernel_grid.search(self._select, self._grid["extends"])
        return found

    def edges_of(self, choice: Choice) -> str:
        """Return which chosen values lie on an edge of the grid nevertheless, in words."""
        return self._kernel_grid.edges_of(choice, self._extension)

    def _select(self, alphas: Grid) -> dict[int | None, Choice]:
        """Return the best point of every component count of a grid of kernels and penalties."""
        grid = self._grid
        return select_each(
            self._targets.outputs,
            self._inputs.folds,
            Lazily({kernel: self._solver_of(kernel) for kernel in alphas}),
            Lazily({kernel: self._weak_solver_of(kernel) for kernel in alphas})
            if self._targets.weak_size
            else None,
            self._targets_by_count,
            alphas,
            self._weak_weights(),
            grid["penalty"],
            grid["projections"],
            grid["metric"],
        )

    def score(self, outputs: np.ndarray) -> float:
        """Return the relative error of outputs (n, d) predicted for the training rows."""
        return heldout_error(
            self._targets.outputs, outputs, self._inputs.folds, self._grid["metric"]
        )

    def solution(self, choice: Choice) -> dict[str, np.ndarray]:
        """Return what a choice learns from all rows: arrays that predict embeddings."""
        weak_size = self._targets.weak_size
        K = self._inputs.training_gram(*choice.kernel, weak_size)
        embedding, targets = self._targets.of_all_rows(choice.n_components)
        weak_targets = self._targets.of_weak_rows(choice.n_components, None, embedding)
        leading = [name for name in embedding.blocks if self._targets.is_leading(name)]
        penalties = dict.fromkeys(embedding.blocks, choice.penalty_mu)
        dual, intercept = fit_blocks(
            K,
            targets,
            embedding.blocks,
            penalties | dict.fromkeys(leading, choice.penalty_pi),
            self._rows.center,
            dict.fromkeys(leading, weak_targets) if weak_size else None,
            choice.weak_weight,
        )
        return {"dual_coefficients": dual, "intercept": intercept}

    def test_embedding(self, choice: Choice, solution: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the embeddings (n_test, m) that a solution predicts for the test rows."""
        K = self._inputs.test_gram(*choice.kernel, self._targets.weak_size)
        return K @ solution["dual_coefficients"] + solution["intercept"]

    def _weak_weights(self) -> list[float]:
        """Return the weights of a weak row relative to a labelled one."""
        fixed = self._item.weak_weight
        if fixed is None:
            return self._grid["weak_weights"]
        return [2.0 * self._item.training_size * fixed]

    def _solver_of(self, kernel: InputKernel):
        center, precision = self._rows.center, self._grid["precision"]
        return lambda: self._inputs.heldout_solver(*kernel, center, precision)

    def _weak_solver_of(self, kernel: InputKernel):
        given = self._rows
        return lambda: self._inputs.weak_heldout_solver(
            *kernel,
            given.center,
            self._targets.weak_size,
            given.weak_decompositions,
        )


class Lazily(Mapping):
    """A mapping whose values are built when asked for, so that one Gram matrix lives at a time."""

    def __init__(self, builders: dict) -> None:
        self._builders = builders

    def __getitem__(self, key):
        return self._builders[key]()

    def __iter__(self):
        return iter(self._builders)

    def __len__(self) -> int:
        return len(self._builders)
