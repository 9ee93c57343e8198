"""Outputs that replace those of weak rows: the alternative to weak labels in the embedding.

A weak row of which only the component is known can join plain kernel ridge regression with an
output made from that label. It compares with eq. (14) fairly, because it knows the same.
"""

from __future__ import annotations

import numpy as np

from workflow_lib.fitting.missing_outputs import impute_mean_from
from workflow_lib.models.mixtures.mixture import GaussianMixtureModel
from workflow_lib.models.output_scaling import OutputScaling

# Neighbours whose outputs are averaged for a pseudo-output.
N_NEIGHBOURS = 5


def weak_outputs_of(
    kind: str,
    training_outputs: np.ndarray,
    true_outputs: np.ndarray | None,
    model: GaussianMixtureModel | None = None,
    scaling: OutputScaling | None = None,
    memberships: np.ndarray | None = None,
    gram: np.ndarray | None = None,
) -> np.ndarray:
    """Return outputs (w, d) for the weak rows.

    Parameters
    ----------
    kind : {"component_mean", "neighbours", "true"}
        ``component_mean``: the mean of the row's component (by soft labels, of all components).
        ``neighbours``: the mean output of the nearest training rows of the same component, at most
        N_NEIGHBOURS; pseudo-outputs that use the input as well. ``true``: the outputs themselves,
        the ceiling of what weak labels could give.
    training_outputs : array (l, d)
        Without missing values.
    true_outputs : array (w, d) or None
        For ``true`` only.
    model, scaling :
        The mixture fitted to the training rows, and the units of the outputs in it.
    memberships : array (w, C)
        The weak labels.
    gram : array (l + w, l + w)
        Gram matrix of the inputs, for ``neighbours``.
    """
    if kind == "true":
        return impute_mean_from(true_outputs, training_outputs)
    means = scaling.inverse_transform(memberships @ model.means_)
    if kind == "component_mean":
        return means
    n_training = len(training_outputs)
    squared = np.diagonal(gram)
    distances = (
        squared[n_training:, None] + squared[:n_training] - 2 * gram[n_training:, :n_training]
    )
    known = model.responsibilities(scaling.apply(training_outputs)).argmax(axis=1)
    labels = memberships.argmax(axis=1)
    distances = np.where(labels[:, None] == known, distances, np.inf)
    count = min(N_NEIGHBOURS, n_training)
    nearest = np.argsort(distances, axis=1, kind="stable")[:, :count]
    counted = np.isfinite(np.take_along_axis(distances, nearest, axis=1))
    sums = np.einsum("wk,wkd->wd", counted.astype(float), training_outputs[nearest])
    totals = counted.sum(axis=1, keepdims=True)
    # A component that holds no training row has its mean alone.
    return np.where(totals > 0, sums / np.maximum(totals, 1), means)
