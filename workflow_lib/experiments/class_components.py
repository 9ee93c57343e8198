"""The components of a mixture of class vectors, and what weak labels tell of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from workflow_lib.artifacts import read_artifact
from workflow_lib.experiments.class_rows import ClassRows
from workflow_lib.experiments.items import components_group, fold_group, size_group
from workflow_lib.experiments.weak_memberships import memberships
from workflow_lib.generative.mixture import GaussianMixtureModel
from workflow_lib.generative.storage import model_from_tree, scaling_from_tree


class ClassComponents(ClassRows):
    """The rows of a split, with the mixtures of its class vectors and the labels of weak rows.

    `models` and `weak_labels` may be None, for methods without.
    """

    def __init__(
        self,
        dataset: Path,
        split: Path,
        features: Path,
        models: Path | None,
        weak_labels: Path | None,
    ) -> None:
        super().__init__(dataset, split, features)
        self._models = read_artifact(models, "models") if models else None
        self._weak_labels = read_artifact(weak_labels, "weak_labels") if weak_labels else None

    def mixture(self, size: int, count: int) -> tuple[GaussianMixtureModel, np.ndarray]:
        """Return the mixture fitted to all training rows, and the class vectors in its units."""
        stored = self._models[size_group(size)][components_group(count)][fold_group(None)]
        return model_from_tree(stored), scaling_from_tree(stored).apply(self.vectors)

    def weak_memberships(self, size: int, count: int, weak_size: int) -> np.ndarray:
        """Return the memberships (w, C) that the annotator tells of the weak rows."""
        return memberships(self._weak_labels, size, count, noise=0.0)[:weak_size]
