"""The components of a mixture of class vectors, named by the classes that belong to them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from workflow_lib.report.class_predictions import class_memberships, read_classes
from workflow_lib.report.labels import MISSING, table_title
from workflow_lib.report.results import write_frame
from workflow_lib.report.table_markup import Block, Layout, latex_markup
from workflow_lib.whole_files import write_text

CERTAIN = 0.995
"""Memberships from this value on are not written: they would be written as 1.00."""


def run(
    dataset: str | Path,
    models: str | Path,
    output_csv: str | Path,
    output_latex: str | Path,
    caption: str,
    dataset_title: str,
    stand_in_for: str | None,
    label: str,
) -> None:
    """Name the components of a mixture and write the table as tidy CSV and as LaTeX.

    The title is the caption with the data actually used and what they stand in for, and `label` is
    the LaTeX label; `dataset` and `models` are those of `component_names`.
    """
    names = component_names(dataset, models)
    write_frame(output_csv, names)
    title = table_title(caption, dataset_title, stand_in_for)
    write_text(output_latex, latex_markup(names_layout(names, title), label))


def component_names(dataset: str | Path, models: str | Path) -> pd.DataFrame:
    """Return each component with its classes, those with the highest membership first.

    A class belongs to its most probable component; classes of equal membership are in the order of
    the dataset. The mixture is that of the largest training size and number of components.

    `dataset` is a "dataset" artifact of classes, and `models` a "models" artifact with mixtures of
    its class vectors. Columns: ``component`` (its number, from 1), ``share`` (its weight in the
    mixture), ``class_name`` and ``membership`` (the probability of the component given the class
    vector). A component without classes has one row, with an empty name and a membership of 0.

    Raises UserError if the outputs are not classes, or there is no such mixture.
    """
    classes = read_classes(dataset)
    memberships, weights = class_memberships(models, classes.vectors)
    names = pd.DataFrame(
        {
            "component": memberships.argmax(axis=1) + 1,
            "class_name": classes.names,
            # Rounded, so that memberships that differ by rounding leave the classes in their order.
            "membership": memberships.max(axis=1).round(12),
        }
    )
    shares = pd.DataFrame({"component": range(1, len(weights) + 1), "share": weights})
    found = shares.merge(names, how="left", on="component")
    found = found.fillna({"class_name": "", "membership": 0.0})
    order = {"by": ["component", "membership"], "ascending": [True, False]}
    return found.sort_values(**order, kind="stable", ignore_index=True)


def names_layout(names: pd.DataFrame, title: str) -> Layout:
    """Return the layout with a row for each component: number, share and classes."""
    rows = []
    is_doubtful = (names["class_name"] != "") & (names["membership"] < CERTAIN)
    in_brackets = names["class_name"] + names["membership"].map(" ({:.2f})".format)
    words = names["class_name"].where(~is_doubtful, in_brackets)
    for component, members in words.groupby(names["component"]):
        classes = [name for name in members if name]
        share = names.loc[members.index[0], "share"]
        texts = [f"{100 * share:.1f}", str(len(classes)), ", ".join(classes) or MISSING]
        rows.append((str(component), texts))
    notes = ["Each class is listed with its most probable component, by falling membership."]
    if is_doubtful.any():
        notes.append("In brackets: its membership, where it is below 1.")
    heads = ["Weight (%)", "Number", "Classes"]
    return Layout(title, "Component", heads, [Block("", rows)], notes, is_prose=True)
