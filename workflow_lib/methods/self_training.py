"""The regression stage of self-training: one-hot kernel ridge regression that weak rows join."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from workflow_lib.experiments.class_components import ClassComponents
from workflow_lib.experiments.class_selection import (
    one_hot,
    scaled_squared_error,
    select_class_scores,
)
from workflow_lib.experiments.input_kernels import KernelGrid
from workflow_lib.experiments.items import SELECTED
from workflow_lib.experiments.output_items import OutputItems
from workflow_lib.experiments.prepared_inputs import Grams, PreparedInputs
from workflow_lib.experiments.self_training import allowed_classes, self_train

REGRESSORS = ("self_training",)
TASKS = ("classes",)
NEEDS = {"minutes": 3, "grams": 14, "cubic_minutes": 0.4}


def run(
    dataset: Path,
    split: Path,
    features: Path,
    models: Path,
    weak_labels: Path,
    output: Path,
    timings: Path,
    pseudo_classes: str,
    kernel: str,
    widths: Sequence[float],
    penalties: Sequence[float],
    components: str | Sequence[int],
    component_counts: Sequence[int],
    center: bool,
    one_example: Mapping[str, float],
    kernels: Sequence[str] | None = None,
) -> None:
    """Select and fit self-training for every training size, weak size and component count.

    The kernel, its width and the penalty are those of one-hot kernel ridge regression without weak
    rows: with the least `squared_error` of the out-of-fold scores of the labelled rows, the first
    of those that are equal. The number of components is not selected: more of them tell more of the
    class, so the largest count is used. Rounds, weight and factor are fixed
    (`workflow_lib.experiments.self_training`).

    With one example per class a held-out class has no example left, and nothing can be selected:
    `one_example` is used instead, and the item has no score. Of several kernels the first that
    is not linear serves then.

    The class vectors of all classes are known, labelled or not, and all rows of a class have the
    same one; so the mixture of all training rows serves every fold.

    Writes the "regression" artifact: for each item what was chosen, the dual coefficients
    (n + w, K) and intercepts, the class scores of the test rows (n_test, K), those of each training
    row from self-training without its fold, and as ``score`` their `scaled_squared_error`; and the
    seconds of each item, as JSON.

    Parameters
    ----------
    pseudo_classes : {"hard", "soft"}
        Of weak rows; see `workflow_lib.experiments.self_training.pseudo_classes`.
    kernel, kernels, widths, penalties
        As of `workflow_lib.experiments.input_kernels.KernelGrid.of_method`. The grid of `kernels`
        is extended once where a chosen value lies on its edge.
    components : str or sequence of int
        SELECTED, or the fixed counts that are run one by one.
    component_counts : sequence of int
        Counts of which the largest is used where `components` is SELECTED.
    center : bool
        Fit an unpenalised intercept.
    one_example : mapping
        ``width``, ``penalty`` and ``n_components`` (where `components` is SELECTED) with one
        example per class. Where one is missing: the first width and penalty, the largest count.
    """
    stage = ClassComponents(dataset, split, features, models, weak_labels)
    items = OutputItems()
    for size in stage.sizes:
        is_fixed = stage.has_one_example(size)
        started = time.perf_counter()
        count = max(component_counts, default=None)
        inputs = stage.inputs(size)
        grid = KernelGrid.of_method(kernel, kernels, widths, penalties, inputs.n_columns)
        if is_fixed:
            grid, count = grid.single(one_example), one_example.get("n_components", count)
        fit = _Fit(stage, size, inputs, pseudo_classes, grid, center)
        indicator_seconds = time.perf_counter() - started
        for weak_size in stage.weak_sizes:
            for setting in [SELECTED] if components == SELECTED else components:
                n_components = count if setting == SELECTED else setting
                # All items of a size share these seconds, and each would need them alone.
                started = time.perf_counter() - indicator_seconds
                mixture, vectors = stage.mixture(size, n_components)
                allowed = allowed_classes(
                    stage.weak_memberships(size, n_components, weak_size),
                    mixture.responsibilities(vectors),
                )
                heldout = fit.heldout_scores(allowed)
                selected = time.perf_counter()
                dual, intercept = fit.refit(allowed)
                fitted = time.perf_counter()
                scores = fit.test_gram(weak_size) @ dual + intercept
                items.add(
                    size,
                    scores,
                    heldout,
                    (started, selected, fitted, time.perf_counter()),
                    weak_size,
                    setting,
                    score=None if is_fixed else fit.score(heldout),
                    kernel=fit.kernel.name,
                    width=fit.kernel.width,
                    penalty_mu=fit.penalty,
                    edges=fit.edges or None,
                    n_components=n_components,
                    dual_coefficients=dual,
                    intercept=intercept,
                )
    items.write(output, timings, [dataset, split, features, models, weak_labels])


class _Fit:
    """Selection, refit and scores of all items of one training size.

    Attributes
    ----------
    kernel : InputKernel
    penalty : float
        Selected by the labelled rows alone.
    edges : str
        Which of the two lie on an edge of the grid, in words; empty for none.
    """

    def __init__(
        self,
        stage: ClassComponents,
        size: int,
        inputs: PreparedInputs,
        kind: str,
        grid: KernelGrid,
        center: bool,
    ) -> None:
        self._labels, self._inputs = stage.labels(size), inputs
        self._kind, self._center = kind, center
        self._indicators = one_hot(self._labels, len(stage.vectors))
        choice = select_class_scores(inputs, self._labels, len(stage.vectors), grid, center)
        self.kernel, self.penalty, self.edges = choice.kernel, choice.penalty_mu, choice.edges

    def score(self, scores: np.ndarray) -> float:
        """Return the `scaled_squared_error` of class scores (n, K) of the training rows."""
        return scaled_squared_error(scores, self._labels)

    def heldout_scores(self, allowed: np.ndarray) -> np.ndarray:
        """Return the class scores (n, K) of each training row from a fit without its fold."""
        scores = np.empty_like(self._indicators)
        folds = self._inputs.folds
        for fold, (K, K_heldout) in enumerate(self._fold_grams(len(allowed))):
            dual, intercept = self._trained(K, self._indicators[folds != fold], allowed)
            scores[folds == fold] = K_heldout @ dual + intercept
        return scores

    def refit(self, allowed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return dual coefficients (n + w, K) and intercepts (K,) from all rows."""
        K = self._inputs.training_gram(*self.kernel, len(allowed))
        return self._trained(K, self._indicators, allowed)

    def test_gram(self, weak_size: int) -> np.ndarray:
        """Return the Gram matrix of the test rows against labelled and weak rows."""
        return self._inputs.test_gram(*self.kernel, weak_size)

    def _trained(self, K, indicators, allowed):
        return self_train(
            K, indicators, allowed, self.penalty, kind=self._kind, center=self._center
        )

    def _fold_grams(self, weak_size: int) -> Iterator[Grams]:
        return self._inputs.fold_grams(*self.kernel, weak_size)
