"""The weak-supervision stage: an annotator names the component of each weak row.

The annotator is shown the components of the mixture that was fitted to all labelled training
rows, and assigns each weak row to one of them (section 5.3 of the OFER paper); the simulated
annotator takes the component with the highest responsibility of the row's true output, or tells
the responsibilities themselves (soft labels). An annotator who errs names another component,
drawn at random, in a given share of the rows.

The annotator is asked once. The names of the components must mean the same in every fold of the
selection, or the weak labels would point at the wrong ones. So the mixtures of the folds are not
fitted anew: their parameters are estimated from the fold's own training rows, with the memberships
that the annotated mixture gives them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from workflow_lib.artifacts import read_artifact, write_artifact
from workflow_lib.experiments.items import fold_group, size_group
from workflow_lib.experiments.missing_outputs import filled, filled_from
from workflow_lib.generative.mixture import GaussianMixtureModel
from workflow_lib.generative.storage import (
    model_from_tree,
    model_to_tree,
    scaling_from_tree,
)
from workflow_lib.seeds import derive_seed


def run(
    dataset: Path,
    split: Path,
    models: Path,
    output_models: Path,
    output_labels: Path,
    label_kind: str,
    seed: int,
) -> None:
    """Write the mixtures whose components keep their meaning in every fold, and the weak labels.

    The outputs are a "models" artifact like the one read, and a "weak_labels" artifact that holds,
    for each training size and component count, the ``memberships`` (weak pool, C) that the
    annotator tells, and how one errs: a number ``draw`` in [0, 1) and another component ``mistake``
    for each row. With the noise nu, the rows whose draw is below nu are mistaken, so that rows
    mistaken at one noise are mistaken at a higher one too.

    `label_kind` is ``one-hot`` (the component alone) or ``soft`` (the responsibilities).
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
        known = filled(train[:size])
        hidden = filled_from(weak, train[:size])
        for components, by_fold in fitted[group].items():
            annotated = model_from_tree(by_fold[fold_group(None)])
            units = scaling_from_tree(by_fold[fold_group(None)])
            responsibilities = annotated.responsibilities(units.apply(known))
            trees = {fold_group(None): by_fold[fold_group(None)]}
            for fold in range(folds.max() + 1):
                kept = folds != fold
                model = GaussianMixtureModel(
                    n_components=annotated.n_components_,
                    covariance_type=annotated.covariance_type,
                    variance_floor=annotated.variance_floor,
                )
                scaling = scaling_from_tree(by_fold[fold_group(fold)])
                rows = scaling.apply(filled(train[:size][kept]))
                model.fit_from_responsibilities(rows, responsibilities[kept])
                trees[fold_group(fold)] = model_to_tree(model, scaling)
            aligned.setdefault(group, {})[components] = trees
            generator = np.random.default_rng(derive_seed(seed, int(size), components))
            labels.setdefault(group, {})[components] = _labels(
                annotated.responsibilities(units.apply(hidden)), label_kind, generator
            )
    sources = [dataset, split, models]
    write_artifact(output_models, aligned, "models", inputs=sources, seed=seed)
    write_artifact(output_labels, labels, "weak_labels", inputs=sources, seed=seed)


def _labels(responsibilities: np.ndarray, kind: str, generator: np.random.Generator) -> dict:
    n_rows, n_components = responsibilities.shape
    likeliest = responsibilities.argmax(axis=1)
    shift = generator.integers(1, max(n_components, 2), size=n_rows)
    return {
        "memberships": responsibilities if kind == "soft" else np.eye(n_components)[likeliest],
        "draw": generator.random(n_rows),
        "mistake": (likeliest + shift) % n_components,
    }
