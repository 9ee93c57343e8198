"""The regression stage of self-training: one-hot kernel ridge regression that weak rows join."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from workflow_lib.artifacts import read_artifact
from workflow_lib.experiments.class_selection import (
    class_score_grid,
    least_error,
    one_hot,
    scaled_squared_error,
    squared_error,
)
from workflow_lib.experiments.items import SELECTED, components_group, fold_group, size_group
from workflow_lib.experiments.output_items import OutputItems
from workflow_lib.experiments.prepared_inputs import Grams, PreparedInputs, prepared_inputs
from workflow_lib.experiments.self_training import allowed_classes, self_train
from workflow_lib.experiments.weak_memberships import memberships
from workflow_lib.generative.storage import model_from_tree, scaling_from_tree


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

    Writes the "regression" artifact: for each item what was chosen, the class scores of the test
    rows (n_test, K), those of each training row from self-training without its fold, and as
    ``score`` their `scaled_squared_error`; and the seconds of each item, as JSON.

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
    stage = _SelfTrainingStage(dataset, split, features, models, weak_labels)
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
                allowed = stage.allowed(size, n_components, weak_size)
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
                )
    items.write(output, timings, [dataset, split, features, models, weak_labels])


class _SelfTrainingStage:
    """What one job of the stage has read."""

    def __init__(self, dataset, split, features, models, weak_labels) -> None:
        classes = read_artifact(dataset, "dataset")["classes"]
        self._vectors = classes["vectors"]
        self._partition = read_artifact(split, "split")
        self._labels = classes["labels"][self._partition["train"]]
        self._features = read_artifact(features, "features")
        self._models = read_artifact(models, "models")
        self._weak_labels = read_artifact(weak_labels, "weak_labels")
        self.n_classes = len(self._vectors)
        self.sizes = [int(size) for size in self._partition["sizes"]]
        self.weak_sizes = [int(size) for size in self._partition["weak_sizes"]]

    def has_one_example(self, size: int) -> bool:
        """Return whether a training size has one labelled row of each class."""
        return int(self._partition["examples"][self.sizes.index(size)]) == 1

    def labels(self, size: int) -> np.ndarray:
        """Return the classes (n,) of the first `size` training rows."""
        return self._labels[:size]

    def inputs(self, size: int) -> PreparedInputs:
        """Return the inputs of one training size."""
        return prepared_inputs(self._features, self._partition["folds"][size_group(size)], size)

    def allowed(self, size: int, count: int, weak_size: int) -> np.ndarray:
        """Return which classes (w, K) the weak labels leave to the first `weak_size` weak rows."""
        stored = self._models[size_group(size)][components_group(count)][fold_group(None)]
        vectors = scaling_from_tree(stored).apply(self._vectors)
        told = memberships(self._weak_labels, size, count, noise=0.0)[:weak_size]
        return allowed_classes(told, model_from_tree(stored).responsibilities(vectors))


class _Fit:
    """Selection, refit and scores of all items of one training size.

    Attributes
    ----------
    width : float or None
        Width of the kernel, and
    penalty : float
        penalty that were selected.
    """

    def __init__(self, stage: _SelfTrainingStage, size: int, kind, kernel, center) -> None:
        self._labels, self._inputs = stage.labels(size), stage.inputs(size)
        self._n_classes = stage.n_classes
        self._kind, self._kernel, self._center = kind, kernel, center
        self._indicators = one_hot(self._labels, stage.n_classes)

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
