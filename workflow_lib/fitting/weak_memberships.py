"""The weak labels: memberships of weak rows, read from the "weak_labels" artifact.

Labels of a simulated annotator are the same in every fold; those of groups are computed for each
fold from its own rows (`workflow_lib.protocol.annotation`).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from workflow_lib.core.errors import UserError
from workflow_lib.items.group_names import components_group, fold_group, size_group


def memberships(
    weak_labels: Mapping,
    training_size: int,
    n_components: int,
    noise: float,
    fold: int | None = None,
) -> np.ndarray:
    """Return the memberships (weak pool, C) of the weak labels.

    Raises UserError for noise in labels of groups, which no annotator gives.

    Parameters
    ----------
    weak_labels : mapping
        Tree of a "weak_labels" artifact.
    training_size, n_components : int
    noise : float
        Share of the rows whose label is another component, with membership 1.
    fold : int or None, default=None
        The fold that learns from them; None for the refit to all training rows.
    """
    labels = weak_labels[size_group(training_size)][components_group(n_components)]
    if _is_of_groups(labels):
        if noise > 0:
            raise UserError(
                location="key studies.weak_noise of the experiment",
                found=f"a share {noise:g} of wrong labels, for weak labels that come from groups",
                expected="no study of the noise of labels where the dataset has groups",
                remedy="remove weak_noise from the studies of the experiment",
            )
        return labels[fold_group(fold)]["memberships"]
    correct = labels["memberships"]
    mistaken = labels["draw"] < noise
    return np.where(mistaken[:, None], np.eye(correct.shape[1])[labels["mistake"]], correct)


def has_weak_label(
    weak_labels: Mapping, training_size: int, n_components: int, fold: int | None = None
) -> np.ndarray | None:
    """Return which weak rows (weak pool,) have a label, or None where all of them have.

    Rows of groups without a labelled row have none; their `memberships` are the weights of the
    mixture. Parameters are those of `memberships`.
    """
    labels = weak_labels[size_group(training_size)][components_group(n_components)]
    return labels[fold_group(fold)]["is_labelled"] if _is_of_groups(labels) else None


def _is_of_groups(labels: Mapping) -> bool:
    return "memberships" not in labels
