"""The weak-supervision stage: an annotator names the component of each weak row.

The annotator is shown the components of the mixture that was fitted to all labelled training
rows, and assigns each weak row to one of them (section 5.3 of the OFER paper); the simulated
annotator takes the component with the highest responsibility of the row's true output.

The names of the components must mean the same in every fold of the selection, or the weak labels
would point at the wrong ones. So the mixtures of the folds are not fitted anew: their parameters
are estimated from the fold's own training rows, with the memberships that the annotated mixture
gives them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from workflow_lib.artifacts import read_artifact, write_artifact
from workflow_lib.experiments.items import fold_group, size_group
from workflow_lib.generative.mixture import GaussianMixtureModel
from workflow_lib.generative.storage import (
    model_from_tree,
    model_to_tree,
    scaling_from_tree,
)


def hard_memberships(responsibilities: np.ndarray) -> np.ndarray:
    """Return one-hot memberships (n, C): the component with the highest responsibility."""
    return np.eye(responsibilities.shape[1])[responsibilities.argmax(axis=1)]


def run(dataset: Path, split: Path, models: Path, output_models: Path, output_labels: Path) -> None:
    """Write the mixtures whose components keep their meaning in every fold, and the weak labels.

    The outputs are a "models" artifact like the one read, and a "weak_labels" artifact with the
    one-hot memberships (weak pool, C) for each training size and component count.
    """
    outputs = read_artifact(dataset, "dataset")["outputs"]
    partition = read_artifact(split, "split")
    train, weak = outputs[partition["train"]], outputs[partition["weak"]]
    fitted = read_artifact(models, "models")
    aligned: dict = {}
    labels: dict = {}
    for size in partition["sizes"]:
        group = size_group(size)
        folds = partition["folds"][group]
        for components, by_fold in fitted[group].items():
            annotated = model_from_tree(by_fold[fold_group(None)])
            units = scaling_from_tree(by_fold[fold_group(None)])
            responsibilities = annotated.responsibilities(units.apply(train[:size]))
            trees = {fold_group(None): by_fold[fold_group(None)]}
            for fold in range(folds.max() + 1):
                kept = folds != fold
                model = GaussianMixtureModel(
                    n_components=annotated.n_components_,
                    covariance_type=annotated.covariance_type,
                    variance_floor=annotated.variance_floor,
                )
                scaling = scaling_from_tree(by_fold[fold_group(fold)])
                rows = scaling.apply(train[:size][kept])
                model.fit_from_responsibilities(rows, responsibilities[kept])
                trees[fold_group(fold)] = model_to_tree(model, scaling)
            aligned.setdefault(group, {})[components] = trees
            memberships = hard_memberships(annotated.responsibilities(units.apply(weak)))
            labels.setdefault(group, {})[components] = {"memberships": memberships}
    sources = [dataset, split, models]
    write_artifact(output_models, aligned, "models", inputs=sources)
    write_artifact(output_labels, labels, "weak_labels", inputs=sources)
