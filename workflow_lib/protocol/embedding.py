"""The embeddings stage: training outputs as Fisher scores, for all component counts and folds."""

from __future__ import annotations

from pathlib import Path

from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.fitting.output_embeddings import embedded_outputs
from workflow_lib.fitting.wrong_labels import training_output_rows


def run(
    dataset: Path, split: Path, models: Path, output: Path, form: str, covariance_block: str
) -> None:
    """Embed the rows that each model was fitted to, and write the "embeddings" artifact."""
    outputs = read_artifact(dataset, "dataset")["outputs"]
    partition = read_artifact(split, "split")
    train = outputs[training_output_rows(partition)]
    fitted = read_artifact(models, "models")
    tree = embedded_outputs(train, partition, fitted, form, covariance_block)
    write_artifact(output, tree, "embeddings", inputs=[dataset, split, models])
