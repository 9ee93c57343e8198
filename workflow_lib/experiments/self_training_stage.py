"""The regression stage of self-training: one-hot kernel ridge regression that weak rows join."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from workflow_lib.experiments.class_components import ClassComponents
from workflow_lib.experiments.class_selection import (
    class_score_grid,
    least_error,
    one_hot,
    scaled_squared_error,
    squared_error,
)
from workflow_lib.experiments.items import SELECTED
from workflow_lib.experiments.output_items import OutputItems
from workflow_lib.experiments.prepared_inputs import Grams
from workflow_lib.experiments.self_training import allowed_classes, self_train


def run(
    dataset: Path,
    split: Path,
    features: Path,
    models: Path,
    weak_labels: Path,
    output: Path,
    timings: Path,
    kind: str,
    kernel: str,
    widths: Sequence[float],
    penalties: Sequence[float],
    components: str | Sequence[int],
    component_counts: Sequence[int],
    center: bool,
    fixed: Mapping[str, float],
) -> None:
    """Select and fit self-training for every training size, weak size and component count.

    The width and the penalty are those of one-hot kernel ridge regression without weak rows: with
    the least `squared_error` of the out-of-fold scores of the labelled rows, the first of
    those that are equal. The number of components is not selected: more of them tell more of the
    class, so the largest count is used. Rounds, weight and factor are fixed
    (`workflow_lib.experiments.self_training`).

    With one example per class a held-out class has no example left, and nothing can be selected:
    `fixed` is used instead, and the item has no score.

    The class vectors of all classes are known, labelled or not, and all rows of a class have the
    same one; so the mixture of all training rows serves every fold.

    Writes the "regression" artifact: for each item what was chosen, the dual coefficients
    (n + w, K) and intercepts, the class scores of the test rows (n_test, K), those of each training
    row from self-training without its fold, and as ``score`` their `scaled_squared_error`; and the
    seconds of each item, as JSON.

    Parameters
    ----------
    kind : {"hard", "soft"}
        Pseudo-classes of weak rows; see `pseudo_classes`.
    components : str or sequence of int
        SELECTED, or the fixed counts that are run one by one.
    component_counts : sequence of int
        Counts of which the largest is used where `components` is SELECTED.
    center : bool
        Fit an unpenalised intercept.
    fixed : mapping
        ``width``, ``penalty`` and ``n_components`` (where `components` is SELECTED) with one
        example per class. Where one is missing: the first width and penalty, the largest count.
    """
    stage = ClassComponents(dataset, split, features, models, weak_labels)
    widths = list(widths) if kernel == "rbf" else [None]
    items = OutputItems()
    for size in stage.sizes:
        is_fixed = stage.has_one_example(size)
        started = time.perf_counter()
        count = max(component_counts, default=None)
        competing_widths, competing_penalties = widths, list(penalties)
        if is_fixed:
            competing_widths = [None if kernel != "rbf" else fixed.get("width", widths[0])]
            competing_penalties = [fixed.get("penalty", penalties[0])]
            count = fixed.get("n_components", count)
        fit = _Fit(stage, size, kind, kernel, center)
        fit.select(competing_widths, competing_penalties)
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
                    width=fit.width,
                    penalty_mu=fit.penalty,
                    n_components=n_components,
                    dual_coefficients=dual,
                    intercept=intercept,
                )
    items.write(output, timings, [dataset, split, features, models, weak_labels])


class _Fit:
    """Selection, refit and scores of all items of one training size.

    Attributes
    ----------
    width : float or None
        Width of the kernel, and
    penalty : float
        penalty that were selected.
    """

    def __init__(self, stage: ClassComponents, size: int, kind, kernel, center) -> None:
        self._labels, self._inputs = stage.labels(size), stage.inputs(size)
        self._n_classes = len(stage.vectors)
        self._kind, self._kernel, self._center = kind, kernel, center
        self._indicators = one_hot(self._labels, len(stage.vectors))

    def select(self, widths: Sequence[float | None], penalties: Sequence[float]) -> None:
        """Choose the width and the penalty by the labelled rows alone."""
        points = [(width, penalty) for width in widths for penalty in penalties]
        chosen = 0
        if len(points) > 1:
            grid = class_score_grid(
                self._inputs,
                self._inputs.folds,
                self._labels,
                self._n_classes,
                self._kernel,
                widths,
                penalties,
                self._center,
            )
            chosen = least_error(
                [squared_error(scores, self._labels) for width in widths for scores in grid[width]]
            )
        self.width, self.penalty = points[chosen]

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
        K = self._inputs.training_gram(self._kernel, self.width, len(allowed))
        return self._trained(K, self._indicators, allowed)

    def test_gram(self, weak_size: int) -> np.ndarray:
        """Return the Gram matrix of the test rows against labelled and weak rows."""
        return self._inputs.test_gram(self._kernel, self.width, weak_size)

    def _trained(self, K, indicators, allowed):
        return self_train(
            K, indicators, allowed, self.penalty, kind=self._kind, center=self._center
        )

    def _fold_grams(self, weak_size: int) -> Iterator[Grams]:
        return self._inputs.fold_grams(self._kernel, self.width, weak_size)
