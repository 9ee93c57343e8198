"""The mixture of the classes of a split, made from what is stored of it."""

from __future__ import annotations

import numpy as np

from workflow_lib.fitting.fit_data import SplitData
from workflow_lib.models.mixtures.mixture import GaussianMixtureModel
from workflow_lib.models.storage import model_from_tree, scaling_from_tree


def class_mixture(
    split: SplitData, size: int, count: int
) -> tuple[GaussianMixtureModel, np.ndarray]:
    """Return the mixture fitted to all training rows, and the class vectors (K, d) in its units."""
    stored = split.stored_model(size, count, None)
    return model_from_tree(stored), scaling_from_tree(stored).apply(split.vectors)
