"""The embeddings stage: training outputs as Fisher scores, for all component counts and folds."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.fitting.missing_outputs import impute_mean
from workflow_lib.fitting.wrong_labels import training_output_rows
from workflow_lib.items.group_names import fold_group, size_group
from workflow_lib.models.forward import ForwardEmbedding
from workflow_lib.models.output_scaling import OutputScaling
from workflow_lib.models.storage import model_from_tree, scaling_from_tree

# Rows embedded at a time: the scores for every component and coordinate of a row need far more
# memory than its embedding.
BLOCK_ROWS = 10_000


def run(
    dataset: Path, split: Path, models: Path, output: Path, form: str, covariance_block: str
) -> None:
    """Embed the rows that each model was fitted to, and write the "embeddings" artifact."""
    outputs = read_artifact(dataset, "dataset")["outputs"]
    partition = read_artifact(split, "split")
    train = outputs[training_output_rows(partition)]
    tree: dict = {"form": form, "covariance_block": covariance_block}
    fitted = read_artifact(models, "models")
    for size in partition["sizes"]:
        folds = partition["folds"][size_group(size)]
        for components, by_fold in fitted[size_group(size)].items():
            group = tree.setdefault(size_group(size), {}).setdefault(components, {})
            for fold in [None, *range(folds.max() + 1)]:
                rows = impute_mean(train[:size] if fold is None else train[:size][folds != fold])
                stored = by_fold[fold_group(fold)]
                embedding = ForwardEmbedding(model_from_tree(stored), form, covariance_block)
                group[fold_group(fold)] = embedded(embedding, scaling_from_tree(stored), rows)
    write_artifact(output, tree, "embeddings", inputs=[dataset, split, models])


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
