"""The models stage: generative models of the training outputs, for all component counts and folds.

Every model is fitted to the outputs of its own training rows only: the rows of one training size,
without those that a fold holds out.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.fitting.output_models import ModelSettings, fitted_models
from workflow_lib.fitting.wrong_labels import training_output_rows


def run(
    dataset: Path,
    split: Path,
    output: Path,
    kind: str,
    covariance_type: str,
    variance_floor: float,
    n_init: int,
    component_counts: Sequence[int],
    output_scale: str,
    seed: int,
) -> None:
    """Fit the models and write the "models" artifact: groups per size, components and fold.

    `output_scale` is the scaling of the outputs before the fit (`fit_output_scaling`); like the
    models it is learned from the training rows of each fold.
    """
    data = read_artifact(dataset, "dataset")
    outputs, n_channels = data["outputs"], int(data["names"].get("series_channels", 1))
    partition = read_artifact(split, "split")
    train = outputs[training_output_rows(partition)]
    settings = ModelSettings(
        kind, covariance_type, variance_floor, n_init, component_counts, output_scale, n_channels
    )
    tree = fitted_models(train, partition, settings, seed)
    for size in partition["sizes"]:
        print(f"{size} training rows: {len(component_counts)} component counts fitted")
    write_artifact(output, tree, "models", seed=seed, inputs=[dataset, split])
