"""The components of a mixture of class vectors, named by the classes that belong to them."""

from pathlib import Path

import pandas as pd

from workflow_lib.report.class_predictions import class_memberships, read_classes
from workflow_lib.report.labels import MISSING
from workflow_lib.report.table_markup import Block, Layout
from workflow_lib.report.table_text import TableOptions

SHOWS = "for classes, the classes that each component of the mixture holds"
READS = {
    "dataset": "results/datasets/{dataset}.h5",
    "models": "results/{experiment}/split-0/{mixture}/models.h5",
}
REQUIRES = {"task": {"classes"}}
BECAUSE = "a table of kind component_names shows classes, and the task is {task}"
NEEDS_METHOD = {"model": {"gaussian_mixture"}}
METHOD_IN_WORDS = "a method with a mixture of Gaussians, such as ofer-gmm"
COLUMNS = ("component", "share", "class_name", "membership")

CERTAIN = 0.995
"""Memberships from this value on are not written: they would be written as 1.00."""


def cells(dataset: str | Path, models: str | Path, options: TableOptions) -> pd.DataFrame:
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


def layout(names: pd.DataFrame, options: TableOptions) -> Layout:
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
    return Layout(options.title, "Component", heads, [Block("", rows)], notes, is_prose=True)
