"""The models stage: generative models of the training outputs, for all component counts and folds.

Every model is fitted to the outputs of its own training rows only: the rows of one training size,
without those that a fold holds out.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.core.plugins import OUTPUT_MODELS
from workflow_lib.core.seeds import derive_seed
from workflow_lib.fitting.missing_outputs import impute_mean
from workflow_lib.fitting.wrong_labels import training_output_rows
from workflow_lib.items.group_names import components_group, fold_group, size_group
from workflow_lib.models.kinds.base import ModelArguments
from workflow_lib.models.mixtures.mixture import BATCH_SIZE, BATCHES_FROM
from workflow_lib.models.output_scaling import fit_output_scaling
from workflow_lib.models.storage import model_to_tree


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
    tree: dict = {}
    for size in partition["sizes"]:
        folds = partition["folds"][size_group(size)]
        by_components = tree.setdefault(size_group(size), {})
        for n_components in component_counts:
            by_fold = by_components.setdefault(components_group(n_components), {})
            for fold in [None, *range(folds.max() + 1)]:
                rows = impute_mean(train[:size] if fold is None else train[:size][folds != fold])
                arguments = ModelArguments(
                    covariance_type,
                    variance_floor,
                    n_components,
                    n_init,
                    random_state=derive_seed(seed, int(size), n_components, fold_group(fold)),
                    n_channels=n_channels,
                    batch_size=BATCH_SIZE if size >= BATCHES_FROM else None,
                )
                model = OUTPUT_MODELS.load(kind).new(arguments)
                scaling = fit_output_scaling(rows, output_scale)
                by_fold[fold_group(fold)] = model_to_tree(model.fit(scaling.apply(rows)), scaling)
        print(f"{size} training rows: {len(component_counts)} component counts fitted")
    write_artifact(output, tree, "models", seed=seed, inputs=[dataset, split])
