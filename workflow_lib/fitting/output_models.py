"""Generative models of the training outputs, and embeddings under them, of every fold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from workflow_lib.core.plugins import OUTPUT_MODELS
from workflow_lib.core.seeds import derive_seed
from workflow_lib.fitting.missing_outputs import impute_mean, outputs_by_fold
from workflow_lib.items.group_names import components_group, fold_group, size_group
from workflow_lib.models.kinds.base import ModelArguments
from workflow_lib.models.mixtures.mixture import (
    BATCH_SIZE,
    BATCHES_FROM,
    GaussianMixtureModel,
)
from workflow_lib.models.output_scaling import fit_output_scaling
from workflow_lib.models.storage import model_from_tree, model_to_tree, scaling_from_tree


class ModelSettings(NamedTuple):
    """The settings of the models of outputs of a split."""

    kind: str
    covariance_type: str
    variance_floor: float
    n_init: int
    component_counts: Sequence[int]
    output_scale: str
    """Scaling of the outputs before the fit (`fit_output_scaling`)."""

    n_channels: int = 1


def fitted_models(
    train: np.ndarray,
    partition: Mapping,
    settings: ModelSettings,
    seed: int,
    unpaired: np.ndarray | None = None,
) -> dict:
    """Return the tree of a "models" artifact: groups per training size, components and fold.

    Parameters
    ----------
    train : array (n, d)
        Outputs of the training pool, NaN where missing.
    partition : mapping
        Tree of a "split" artifact.
    settings : ModelSettings
    seed : int
    unpaired : array (m, d) or None, default=None
        Outputs of rows without inputs, from which the models of all folds learn too.
    """
    tree: dict = {}
    for size, folds in _folds_by_size(partition):
        by_components = tree.setdefault(size_group(size), {})
        for n_components in settings.component_counts:
            by_fold = by_components.setdefault(components_group(n_components), {})
            for fold, rows in outputs_by_fold(train[:size], folds):
                if unpaired is not None:
                    rows = np.concatenate([rows, unpaired])
                arguments = ModelArguments(
                    settings.covariance_type,
                    settings.variance_floor,
                    n_components,
                    settings.n_init,
                    random_state=derive_seed(seed, size, n_components, fold_group(fold)),
                    n_channels=settings.n_channels,
                    batch_size=BATCH_SIZE if size >= BATCHES_FROM else None,
                )
                model = OUTPUT_MODELS.load(settings.kind).new(arguments)
                scaling = fit_output_scaling(rows, settings.output_scale)
                by_fold[fold_group(fold)] = model_to_tree(model.fit(scaling.apply(rows)), scaling)
    return tree


def aligned_models(train: np.ndarray, partition: Mapping, fitted: Mapping) -> dict:
    """Return a tree of mixtures whose components have the same meaning in every fold.

    That of all rows is kept. Those of the folds are estimated from the training rows of the fold,
    with their memberships under the one of all rows.

    Parameters
    ----------
    train, partition
        As of `fitted_models`.
    fitted : mapping
        What this returned.
    """
    aligned: dict = {}
    for size, folds in _folds_by_size(partition):
        known = impute_mean(train[:size])
        for components, by_fold in fitted[size_group(size)].items():
            of_all = by_fold[fold_group(None)]
            annotated = model_from_tree(of_all)
            responsibilities = annotated.responsibilities(scaling_from_tree(of_all).apply(known))
            trees = {fold_group(None): of_all}
            for fold, rows in outputs_by_fold(train[:size], folds):
                if fold is None:
                    continue
                model = GaussianMixtureModel(
                    n_components=annotated.n_components_,
                    covariance_type=annotated.covariance_type,
                    variance_floor=annotated.variance_floor,
                )
                scaling = scaling_from_tree(by_fold[fold_group(fold)])
                model.fit_from_responsibilities(
                    scaling.apply(rows), responsibilities[folds != fold]
                )
                trees[fold_group(fold)] = model_to_tree(model, scaling)
            aligned.setdefault(size_group(size), {})[components] = trees
    return aligned


def _folds_by_size(partition: Mapping) -> Iterator[tuple[int, np.ndarray]]:
    for size in partition["sizes"]:
        yield int(size), partition["folds"][size_group(size)]
