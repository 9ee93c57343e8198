"""The embeddings stage: training outputs as Fisher scores, for all component counts and folds."""

from __future__ import annotations

from pathlib import Path

from workflow_lib.artifacts import read_artifact, write_artifact
from workflow_lib.embeddings.forward import ForwardEmbedding
from workflow_lib.experiments.items import fold_group, size_group
from workflow_lib.experiments.missing_outputs import filled
from workflow_lib.generative.storage import model_from_tree, scaling_from_tree


def run(
    dataset: Path, split: Path, models: Path, output: Path, form: str, covariance_block: str
) -> None:
    """Embed the rows that each model was fitted to, and write the "embeddings" artifact."""
    outputs = read_artifact(dataset, "dataset")["outputs"]
    partition = read_artifact(split, "split")
    train = outputs[partition["train"]]
    tree: dict = {"form": form, "covariance_block": covariance_block}
    fitted = read_artifact(models, "models")
    for size in partition["sizes"]:
        folds = partition["folds"][size_group(size)]
        for components, by_fold in fitted[size_group(size)].items():
            group = tree.setdefault(size_group(size), {}).setdefault(components, {})
            for fold in [None, *range(folds.max() + 1)]:
                rows = filled(train[:size] if fold is None else train[:size][folds != fold])
                stored = by_fold[fold_group(fold)]
                embedding = ForwardEmbedding(model_from_tree(stored), form, covariance_block)
                scaled = scaling_from_tree(stored).apply(rows)
                group[fold_group(fold)] = embedding.transform(scaled)
    write_artifact(output, tree, "embeddings", inputs=[dataset, split, models])
