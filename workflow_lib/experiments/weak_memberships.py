"""What the annotator tells of the weak rows, read from the "weak_labels" artifact."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from workflow_lib.experiments.items import components_group, size_group


def memberships(
    weak_labels: Mapping, training_size: int, n_components: int, noise: float
) -> np.ndarray:
    """Return the memberships (weak pool, C) that the annotator tells.

    Parameters
    ----------
    weak_labels : mapping
        Tree of a "weak_labels" artifact.
    training_size, n_components : int
    noise : float
        Share of the rows for which another component is told, as if it were certain.
    """
    labels = weak_labels[size_group(training_size)][components_group(n_components)]
    told = labels["memberships"]
    mistaken = labels["draw"] < noise
    return np.where(mistaken[:, None], np.eye(told.shape[1])[labels["mistake"]], told)
