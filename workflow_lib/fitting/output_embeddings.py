"""Training outputs as Fisher scores, under the models of every fold."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from workflow_lib.fitting.missing_outputs import outputs_by_fold
from workflow_lib.items.group_names import fold_group, size_group
from workflow_lib.models.forward import ForwardEmbedding
from workflow_lib.models.output_scaling import OutputScaling
from workflow_lib.models.storage import model_from_tree, scaling_from_tree

# Rows embedded at a time: the scores for every component and coordinate of a row need far more
# memory than its embedding.
BLOCK_ROWS = 10_000


def embedded_outputs(
    train: np.ndarray, partition: Mapping, models: Mapping, form: str, covariance_block: str
) -> dict:
    """Return the tree of an "embeddings" artifact: groups per training size, components and fold.

    Parameters
    ----------
    train, partition
        As of `workflow_lib.fitting.output_models.fitted_models`.
    models : mapping
        What this returned.
    form, covariance_block : str
        Of `ForwardEmbedding`.
    """
    tree: dict = {"form": form, "covariance_block": covariance_block}
    for size in partition["sizes"]:
        folds = partition["folds"][size_group(size)]
        for components, by_fold in models[size_group(size)].items():
            group = tree.setdefault(size_group(size), {}).setdefault(components, {})
            for fold, rows in outputs_by_fold(train[:size], folds):
                stored = by_fold[fold_group(fold)]
                embedding = ForwardEmbedding(model_from_tree(stored), form, covariance_block)
                group[fold_group(fold)] = embedded(embedding, scaling_from_tree(stored), rows)
    return tree


def embedded(
    embedding: ForwardEmbedding, scaling: OutputScaling, outputs: np.ndarray
) -> np.ndarray:
    """Return the embeddings (n, m) of outputs (n, d), scaled to the units of the model.

    Besides the embeddings, only one block of rows is in memory.
    """
    H = np.empty((len(outputs), embedding.n_features))
    for start in range(0, len(outputs), BLOCK_ROWS):
        rows = slice(start, start + BLOCK_ROWS)
        H[rows] = embedding.transform(scaling.apply(outputs[rows]))
    return H
