"""The weak-supervision stage: the weak labels, memberships of components, of each weak row.

Two sources are possible. A simulated annotator, for datasets that hide the true outputs of their
weak rows, knows the components of the mixture that was fitted to all labelled training rows,
and assigns each weak row to one of them (section 5.3 of the OFER paper): to the component with the
highest responsibility of the row's true output; or the labels are the responsibilities themselves
(soft labels). With label noise, the annotator names another component, drawn at random, in a given
share of the rows.

Each row is annotated once. Component numbers must have the same meaning in every fold of the
selection, or the weak labels would refer to the wrong components. So the mixtures of the folds are
not refitted: their parameters are estimated from the fold's own training rows, with their
memberships under the annotated mixture.

Groups, for weak rows without outputs: rows of one group have similar outputs, so the label of a
weak row is the mean of the responsibilities of the labelled training rows of its group. They are
computed for every fold, under its own mixture and from its own training rows, so that no
information about a held-out output enters the fold and no mixture is refitted. The label of a weak
row whose group has no such row is the weights of the mixture: its target q / pi is then 1, the mean
of the block.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.core.seeds import derive_seed
from workflow_lib.fitting.missing_outputs import impute_mean, impute_mean_from
from workflow_lib.fitting.output_models import aligned_models
from workflow_lib.fitting.wrong_labels import training_output_rows
from workflow_lib.items.group_names import fold_group, size_group
from workflow_lib.models.storage import model_from_tree, scaling_from_tree


def run(
    dataset: Path,
    split: Path,
    models: Path,
    output_models: Path,
    output_labels: Path,
    label_kind: str,
    seed: int,
) -> None:
    """Write the mixtures that define the memberships in every fold, and the weak labels.

    The outputs are a "models" artifact like the input, and a "weak_labels" artifact that holds for
    each training size and component count:

    - for the simulated annotator the ``memberships`` (weak pool, C), and its label noise: a number
      ``draw`` in [0, 1) and another component ``mistake`` for each row. At the noise level nu, the
      rows whose draw is below nu are labelled with their mistake, so that rows that are wrong at
      one level are also wrong at every higher level. The models are those whose components have the
      same meaning in every fold;
    - for groups, where the dataset has ``weak_groups``, a subtree for all rows and for each fold,
      with ``memberships`` (weak pool, C) and ``is_labelled`` (weak pool,), whether the group of a
      row has a labelled row there (`memberships_of_groups`). The models are unchanged.

    Raises UserError if weak rows have neither outputs, from which an annotation could be simulated,
    nor groups.

    Parameters
    ----------
    label_kind : {"one-hot", "soft"}
        Whether the labels of the simulated annotator are the likeliest component alone, or the
        responsibilities. Memberships of groups are means of responsibilities in either case.
    seed : int
        Seeds the label noise of the simulated annotator.
    """
    data = read_artifact(dataset, "dataset")
    outputs = data["outputs"]
    partition = read_artifact(split, "split")
    fitted = read_artifact(models, "models")
    if "weak_groups" in data:
        codes = data["weak_groups"]["codes"]
        trees, labels = fitted, _labels_of_groups(outputs, codes, partition, fitted)
    else:
        n_unknown = int(np.isnan(outputs[partition["weak"]]).all(axis=1).sum())
        if n_unknown:
            raise UserError(
                location=f"{dataset}, weak rows of the split",
                found=f"{n_unknown} weak rows have no known output, and no groups",
                expected="outputs from which weak labels are simulated, or groups of rows with "
                "similar outputs",
                remedy="name the column of these groups as same_group in the options of the "
                "reader, or leave the weakly supervised methods out",
            )
        trees, labels = _labels_of_annotator(outputs, partition, fitted, label_kind, seed)
    sources = [dataset, split, models]
    write_artifact(output_models, trees, "models", inputs=sources, seed=seed)
    write_artifact(output_labels, labels, "weak_labels", inputs=sources, seed=seed)


def memberships_of_groups(
    responsibilities: np.ndarray, groups: np.ndarray, weak_groups: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the memberships (w, C) of weak rows, and whether their groups are labelled (w,).

    The memberships of a weak row are the mean over the labelled rows of its group of their
    responsibilities; without such a row they are the weights of the mixture, which carry no
    information.

    Parameters
    ----------
    responsibilities : array (l, C)
        Of the labelled rows.
    groups, weak_groups : int array (l,) and (w,)
        Codes of the groups of the labelled and of the weak rows; -1 for none.
    weights : array (C,)
        pi, the weights of the mixture.
    """
    known, indices = np.unique(groups, return_inverse=True)
    sums = np.zeros((len(known), responsibilities.shape[1]))
    np.add.at(sums, indices, responsibilities)
    means = sums / np.bincount(indices)[:, None]
    is_labelled = np.isin(weak_groups, known) & (weak_groups >= 0)
    memberships = np.tile(weights, (len(weak_groups), 1))
    memberships[is_labelled] = means[np.searchsorted(known, weak_groups[is_labelled])]
    return memberships, is_labelled


def _labels_of_groups(outputs, codes, partition: Mapping, fitted: Mapping) -> dict:
    """Return the weak labels of groups, for every training size, component count and fold."""
    weak_groups = codes[partition["weak"]]
    labels: dict = {}
    for size in partition["sizes"]:
        group = size_group(size)
        folds = partition["folds"][group]
        rows, output_rows = partition["train"][:size], training_output_rows(partition)[:size]
        for components, by_fold in fitted[group].items():
            by_rows = labels.setdefault(group, {}).setdefault(components, {})
            for fold in [None, *range(folds.max() + 1)]:
                kept = slice(None) if fold is None else folds != fold
                stored = by_fold[fold_group(fold)]
                model, scaling = model_from_tree(stored), scaling_from_tree(stored)
                memberships, is_labelled = memberships_of_groups(
                    model.responsibilities(scaling.apply(impute_mean(outputs[output_rows[kept]]))),
                    codes[rows[kept]],
                    weak_groups,
                    model.weights_,
                )
                by_rows[fold_group(fold)] = {"memberships": memberships, "is_labelled": is_labelled}
    return labels


def _labels_of_annotator(
    outputs, partition: Mapping, fitted: Mapping, label_kind: str, seed: int
) -> tuple[dict, dict]:
    """Return the mixtures and the weak labels of a simulated annotator."""
    train, weak = outputs[training_output_rows(partition)], outputs[partition["weak"]]
    aligned = aligned_models(train, partition, fitted)
    labels: dict = {}
    for size in partition["sizes"]:
        group = size_group(size)
        hidden = impute_mean_from(weak, train[:size])
        for components, by_fold in aligned[group].items():
            stored = by_fold[fold_group(None)]
            annotated, units = model_from_tree(stored), scaling_from_tree(stored)
            generator = np.random.default_rng(derive_seed(seed, int(size), components))
            labels.setdefault(group, {})[components] = _labels(
                annotated.responsibilities(units.apply(hidden)), label_kind, generator
            )
    return aligned, labels


def _labels(responsibilities: np.ndarray, kind: str, generator: np.random.Generator) -> dict:
    n_rows, n_components = responsibilities.shape
    likeliest = responsibilities.argmax(axis=1)
    shift = generator.integers(1, max(n_components, 2), size=n_rows)
    return {
        "memberships": responsibilities if kind == "soft" else np.eye(n_components)[likeliest],
        "draw": generator.random(n_rows),
        "mistake": (likeliest + shift) % n_components,
    }
