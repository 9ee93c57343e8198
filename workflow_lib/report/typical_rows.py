"""The components of a mixture of the outputs: their weights, their means and their typical rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from workflow_lib.artifacts import read_artifact
from workflow_lib.fitting.missing_outputs import impute_mean
from workflow_lib.generative.storage import model_from_tree, scaling_from_tree
from workflow_lib.report.class_predictions import stored_mixture
from workflow_lib.report.labels import MINUS, MISSING, count_of, table_title
from workflow_lib.report.results import read_json, write_frame
from workflow_lib.report.table_markup import Block, Layout, latex_markup
from workflow_lib.whole_files import write_text

N_TYPICAL = 3
"""Typical rows that are named of each component."""

MOST_OUTPUTS = 8
"""Outputs whose means are shown; the CSV file holds all."""

RESPONSIBILITY_DECIMALS = 3
"""Rows whose memberships are equal to this many decimals are ordered by distance to the mean."""


@dataclass(frozen=True)
class TypicalComponent:
    """One component of a mixture, by its number from 1.

    ``share`` is its weight, ``n_rows`` the number of rows that belong to it more probably than to
    any other, and ``means`` (d,) its mean in the units of the outputs. ``rows`` are the names of
    its most typical rows, `N_TYPICAL` at most, and ``memberships`` the probability of the component
    given their outputs.
    """

    component: int
    share: float
    n_rows: int
    means: np.ndarray
    rows: list[str]
    memberships: list[float]


@dataclass(frozen=True)
class TypicalRows:
    """The components of a mixture, and the names of the d outputs.

    ``differences`` (d,) say how much the means of each output differ between components: their
    variance, weighted by the components, relative to the variance of the output over the rows.
    ``n_groups`` are the groups that the data profile found in the outputs, 1 for none; None if it
    has no mixture.
    """

    components: list[TypicalComponent]
    outputs: list[str]
    differences: np.ndarray
    n_groups: int | None = None


def run(
    dataset: str | Path,
    split: str | Path,
    models: str | Path,
    output_csv: str | Path,
    output_latex: str | Path,
    caption: str,
    dataset_title: str,
    label: str,
    stand_in_for: str | None = None,
    data_profile: str | Path | None = None,
) -> None:
    """Describe the components of a mixture and write the table as tidy CSV and as LaTeX.

    The title is the caption with the data actually used and what they stand in for, and `label` is
    the LaTeX label; the other parameters are those of `typical_rows`.
    """
    found = typical_rows(dataset, split, models, data_profile)
    write_frame(output_csv, csv_rows(found))
    title = table_title(caption, dataset_title, stand_in_for)
    write_text(output_latex, latex_markup(typical_layout(found, title), label))


def typical_rows(
    dataset: str | Path,
    split: str | Path,
    models: str | Path,
    data_profile: str | Path | None = None,
) -> TypicalRows:
    """Return each component with its mean and its most typical rows.

    The mixture is that of the largest training size, fitted to all its training rows. Of these, the
    rows whose outputs are all known are considered or, if there are none, those with any known
    output, the missing ones at their means. A row belongs to its most probable component. Typical
    are the rows with the highest membership and, of equal ones (`RESPONSIBILITY_DECIMALS`), those
    nearest to the mean, in the scaled units of the mixture. A name of several rows is given once.

    Rows are called as `row_names` says. `split` is the "split" artifact of the mixture, and
    `models` a "models" artifact with mixtures of the outputs. The JSON `data_profile` says into how
    many groups the outputs fall (``mixture``, ``n_components``): the mixture with the nearest
    number of components is described, and the smallest without it.

    Raises UserError if there is no such mixture.
    """
    data, partition = read_artifact(dataset, "dataset"), read_artifact(split, "split")
    mixture = read_json(data_profile).get("mixture") if data_profile else None
    n_groups = int(mixture["n_components"]) if mixture else None
    stored = stored_mixture(models, n_components=n_groups or 1)
    model, scaling = model_from_tree(stored), scaling_from_tree(stored)
    numbers = np.sort(partition["train"][: max(partition["sizes"])])
    known = ~np.isnan(data["outputs"][numbers])
    is_complete = known.all(axis=1)
    numbers = numbers[is_complete if is_complete.any() else known.any(axis=1)]
    rows = impute_mean(data["outputs"][numbers])
    scaled = scaling.apply(rows)
    memberships = model.responsibilities(scaled)
    most_probable = memberships.argmax(axis=1)
    names = row_names(data)
    means = scaling.inverse_transform(model.means_)
    components = []
    for index, weight in enumerate(model.weights_):
        members = np.flatnonzero(most_probable == index)
        distances = ((scaled[members] - model.means_[index]) ** 2).sum(axis=1)
        certain = memberships[members, index].round(RESPONSIBILITY_DECIMALS)
        typical: dict[str, float] = {}
        for place in np.lexsort((distances, -certain)):
            if len(typical) < N_TYPICAL:
                member = members[place]
                typical.setdefault(names[numbers[member]], float(memberships[member, index]))
        components.append(
            TypicalComponent(
                index + 1,
                float(weight),
                len(members),
                means[index],
                list(typical),
                list(typical.values()),
            )
        )
    spread = model.weights_ @ (means - model.weights_ @ means) ** 2
    variance = rows.var(axis=0)
    differences = np.where(variance > 0, spread / np.where(variance > 0, variance, 1.0), 0.0)
    return TypicalRows(components, json.loads(data["names"]["outputs"]), differences, n_groups)


def row_names(data: Mapping) -> list[str]:
    """Return the names of the rows of a "dataset" artifact.

    That is the name of a row, or else the line of its file, or else its number from 1.
    """
    n_rows = len(data["outputs"])
    stored = data.get("rows", {})
    if "line" in stored:
        places = [f"line {line}" for line in stored["line"]]
    else:
        places = [f"row {number}" for number in range(1, n_rows + 1)]
    names = json.loads(stored["name"].tobytes()) if "name" in stored else [""] * n_rows
    return [str(name) or place for name, place in zip(names, places, strict=True)]


def csv_rows(found: TypicalRows) -> pd.DataFrame:
    """Return the lines of the CSV file: of each component the means, then the typical rows.

    Columns: ``component``, ``share``, ``n_rows``, ``kind`` (``mean`` or ``typical_row``), ``name``
    (of the output, or of the row) and ``value`` (the mean, or the membership of the row).
    """
    lines = []
    for component in found.components:
        key = component.component, component.share, component.n_rows
        lines += [(*key, "mean", *pair) for pair in zip(found.outputs, component.means)]
        typical = zip(component.rows, component.memberships)
        lines += [(*key, "typical_row", *pair) for pair in typical]
    columns = ["component", "share", "n_rows", "kind", "name", "value"]
    return pd.DataFrame(lines, columns=columns)


def typical_layout(found: TypicalRows, title: str) -> Layout:
    """Return the layout with a row for each component: weight, rows, means and typical rows."""
    shown = np.sort(np.argsort(-found.differences, kind="stable")[:MOST_OUTPUTS])
    rows = []
    for component in found.components:
        texts = [f"{100 * component.share:.1f}", str(component.n_rows)]
        texts += [f"{mean:.3g}".replace("-", MINUS) for mean in component.means[shown]]
        rows.append((str(component.component), [*texts, ", ".join(component.rows) or MISSING]))
    notes = [
        "Columns of outputs are the means of each component.",
        "A row belongs to its most probable component; typical are the rows with the highest "
        "membership, and of equal ones those nearest to the mean.",
    ]
    if found.n_groups == 1 and len(found.components) > 1:
        notes.append(
            "In the data profile one Gaussian describes the outputs best: these are parts of one "
            "distribution rather than groups."
        )
    elif found.n_groups not in (None, len(found.components)):
        notes.append(
            f"In the data profile the outputs fall into {count_of(found.n_groups, 'group')}; of "
            "the mixtures that were fitted, the nearest is shown."
        )
    if len(shown) < len(found.outputs):
        notes.append(
            f"Of {count_of(len(found.outputs), 'output')} the {len(shown)} are shown whose means "
            "differ most between components, relative to the variance of the output."
        )
    heads = [found.outputs[output].replace("_", " ") for output in shown]
    return Layout(
        title,
        "Component",
        ["Weight (%)", "Rows", *heads, "Typical rows"],
        [Block("", rows)],
        notes,
        is_prose=True,
    )
