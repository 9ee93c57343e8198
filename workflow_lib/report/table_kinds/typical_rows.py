"""The components of a mixture of the outputs: their weights, their means and their typical rows."""

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from workflow_lib.core.artifacts import read_artifact
from workflow_lib.fitting.missing_outputs import impute_mean
from workflow_lib.models.storage import model_from_tree, scaling_from_tree
from workflow_lib.report.class_predictions import stored_mixture
from workflow_lib.report.labels import MINUS, MISSING, count_of
from workflow_lib.report.results import read_json
from workflow_lib.report.table_markup import Block, Layout
from workflow_lib.report.table_text import TableOptions

SHOWS = (
    "for tables of your own, the mean and the most typical rows of each component of the mixture"
)
READS = {
    "dataset": "results/datasets/{dataset}.h5",
    "split": "results/{experiment}/split-final/split.h5",
    "models": "results/{experiment}/split-final/{mixture}/models.h5",
    "data_profile": "results/{experiment}/data-profile.json",
}
REQUIRES = {"reader": {"table"}, "task": {"regression", "series"}}
BECAUSE = (
    "a table of kind typical_rows shows the answer on a table of your own (reader table) with "
    "numeric outputs"
)
NEEDS_METHOD = {"model": {"gaussian_mixture"}}
METHOD_IN_WORDS = "a method with a mixture of Gaussians, such as ofer-gmm"
COLUMNS = ("component", "share", "n_rows", "kind", "name", "value")

N_TYPICAL = 3
"""Typical rows that are named of each component."""

MAX_OUTPUTS = 8
"""Outputs whose means are shown; the CSV file holds all."""

RESPONSIBILITY_DECIMALS = 3
"""Rows whose memberships are equal to this many decimals are ordered by distance to the mean."""


def cells(
    dataset: str | Path,
    split: str | Path,
    models: str | Path,
    data_profile: str | Path | None,
    options: TableOptions,
) -> pd.DataFrame:
    """Return the lines of each component: its means, then its most typical rows.

    The mixture is that of the largest training size, fitted to all its training rows. Of these, the
    rows whose outputs are all known are considered or, if there are none, those with any known
    output, the missing ones at their means. A row belongs to its most probable component. Typical
    are the rows with the highest membership and, of equal ones (`RESPONSIBILITY_DECIMALS`), those
    nearest to the mean, in the scaled units of the mixture. A name of several rows is given once.

    Rows are called as `row_names` says. `split` is the "split" artifact of the mixture, and
    `models` a "models" artifact with mixtures of the outputs. The JSON `data_profile` says into how
    many groups the outputs fall (``mixture``, ``n_components``): the mixture with the nearest
    number of components is described, and the smallest without it.

    Columns: ``component`` (its number from 1), ``share`` (its weight), ``n_rows`` (the rows that
    belong to it), ``kind`` (``mean`` or ``typical_row``), ``name`` (of the output, or of the row)
    and ``value`` (the mean in the units of the output, or the membership of the row); in addition
    ``difference`` (how much the means of an output differ between components: their variance,
    weighted by the components, relative to that of the output over the rows) and ``n_groups`` (the
    groups of the data profile, 1 for none, 0 where it has no mixture).

    Raises UserError if there is no such mixture.
    """
    data, partition = read_artifact(dataset, "dataset"), read_artifact(split, "split")
    mixture = read_json(data_profile).get("mixture") if data_profile else None
    n_groups = int(mixture["n_components"]) if mixture else 0
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
    spread = model.weights_ @ (means - model.weights_ @ means) ** 2
    variance = rows.var(axis=0)
    differences = np.where(variance > 0, spread / np.where(variance > 0, variance, 1.0), 0.0)
    outputs, lines = json.loads(data["names"]["outputs"]), []
    for index, weight in enumerate(model.weights_):
        members = np.flatnonzero(most_probable == index)
        distances = ((scaled[members] - model.means_[index]) ** 2).sum(axis=1)
        certain = memberships[members, index].round(RESPONSIBILITY_DECIMALS)
        typical: dict[str, float] = {}
        for position in np.lexsort((distances, -certain)):
            if len(typical) < N_TYPICAL:
                member = members[position]
                typical.setdefault(names[numbers[member]], float(memberships[member, index]))
        key = index + 1, float(weight), len(members)
        lines += [(*key, "mean", *of) for of in zip(outputs, means[index], differences)]
        lines += [(*key, "typical_row", *of, np.nan) for of in typical.items()]
    return pd.DataFrame(lines, columns=[*COLUMNS, "difference"]).assign(n_groups=n_groups)


def row_names(data: Mapping) -> list[str]:
    """Return the names of the rows of a "dataset" artifact.

    That is the name of a row, or else the line of its file, or else its number from 1.
    """
    n_rows = len(data["outputs"])
    stored = data.get("rows", {})
    if "line" in stored:
        locations = [f"line {line}" for line in stored["line"]]
    else:
        locations = [f"row {number}" for number in range(1, n_rows + 1)]
    names = json.loads(stored["name"].tobytes()) if "name" in stored else [""] * n_rows
    return [str(name) or location for name, location in zip(names, locations, strict=True)]


def layout(found: pd.DataFrame, options: TableOptions) -> Layout:
    """Return the layout with a row for each component: weight, rows, means and typical rows."""
    of_first = found[(found["component"] == 1) & (found["kind"] == "mean")]
    outputs, n_groups = of_first["name"].tolist(), found["n_groups"].iloc[0]
    shown = np.sort(np.argsort(-of_first["difference"].to_numpy(), kind="stable")[:MAX_OUTPUTS])
    rows = []
    for component, lines in found.groupby("component"):
        is_mean, first = lines["kind"] == "mean", lines.iloc[0]
        texts = [f"{100 * first['share']:.1f}", str(first["n_rows"])]
        means = lines.loc[is_mean, "value"].to_numpy()[shown]
        texts += [f"{mean:.3g}".replace("-", MINUS) for mean in means]
        rows.append((str(component), [*texts, ", ".join(lines.loc[~is_mean, "name"]) or MISSING]))
    notes = [
        "Columns of outputs are the means of each component.",
        "A row belongs to its most probable component; typical are the rows with the highest "
        "membership, and of equal ones those nearest to the mean.",
    ]
    if n_groups == 1 and len(rows) > 1:
        notes.append(
            "In the data profile one Gaussian describes the outputs best: these are parts of one "
            "distribution rather than groups."
        )
    elif n_groups not in (0, len(rows)):
        notes.append(
            f"In the data profile the outputs fall into {count_of(n_groups, 'group')}; of "
            "the mixtures that were fitted, the nearest is shown."
        )
    if len(shown) < len(outputs):
        notes.append(
            f"Of {count_of(len(outputs), 'output')} the {len(shown)} are shown whose means "
            "differ most between components, relative to the variance of the output."
        )
    heads = [outputs[output].replace("_", " ") for output in shown]
    heads = ["Weight (%)", "Rows", *heads, "Typical rows"]
    return Layout(options.title, "Component", heads, [Block("", rows)], notes, is_prose=True)
