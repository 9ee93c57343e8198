"""The components of a mixture of class vectors, named by the classes that belong to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from workflow_lib.report.class_predictions import class_memberships, read_classes
from workflow_lib.report.labels import MISSING, table_title
from workflow_lib.report.table_markup import Block, Entry, Layout, latex_markup
from workflow_lib.report.tables import write_cells
from workflow_lib.whole_files import write_text

CERTAIN = 0.995
"""Memberships from this value on are not written: they would be written as 1.00."""


@dataclass(frozen=True)
class ComponentName:
    """A class and the component that it belongs to.

    Attributes
    ----------
    component : int
        Number of the component, from 1.
    share : float
        Weight of the component in the mixture.
    class_name : str
        A class whose most probable component it is; empty for a component that no class has.
    membership : float
        The probability of the component given the class vector; 0 for a component without a class.
    """

    component: int
    share: float
    class_name: str
    membership: float


def run(
    dataset: str | Path,
    models: str | Path,
    output_csv: str | Path,
    output_latex: str | Path,
    caption: str,
    dataset_title: str,
    stand_in_for: str | None,
    label: str,
    n_components: int | None = None,
) -> None:
    """Name the components of a mixture and write the table as tidy CSV and as LaTeX.

    The title is the caption with the data actually used and what they stand in for, and `label` is
    the LaTeX label; the other parameters are those of `component_names`.
    """
    names = component_names(dataset, models, n_components)
    write_cells(output_csv, names)
    title = table_title(caption, dataset_title, stand_in_for)
    write_text(output_latex, latex_markup(names_layout(names, title), label))


def component_names(
    dataset: str | Path, models: str | Path, n_components: int | None = None
) -> list[ComponentName]:
    """Return each component with its classes, those with the highest membership first.

    A class belongs to its most probable component; classes of equal membership are in the order of
    the dataset. The mixture is that of the largest training size.

    Parameters
    ----------
    dataset : path
        A "dataset" artifact of classes.
    models : path
        A "models" artifact with mixtures of its class vectors.
    n_components : int or None, default=None
        The component count; the largest for None.

    Raises
    ------
    UserError
        If the outputs are not classes, or there is no such mixture.
    """
    classes = read_classes(dataset)
    memberships, weights = class_memberships(models, classes.vectors, None, n_components)
    most_probable = memberships.argmax(axis=1)
    names = []
    for component, weight in enumerate(weights):
        members = np.flatnonzero(most_probable == component)
        # Rounded, so that memberships that differ by rounding leave the classes in their order.
        of_members = memberships[members, component].round(12)
        pairs = [
            (classes.names[members[place]], float(of_members[place]))
            for place in np.argsort(-of_members, kind="stable")
        ]
        names += [
            ComponentName(component + 1, float(weight), name, membership)
            for name, membership in pairs or [("", 0.0)]
        ]
    return names


def names_layout(names: Sequence[ComponentName], title: str) -> Layout:
    """Return the layout with a row for each component: number, share and classes."""
    rows = []
    for component in dict.fromkeys(name.component for name in names):
        members = [name for name in names if name.component == component]
        classes = [_class_in_words(name) for name in members if name.class_name]
        entries = [
            Entry(f"{100 * members[0].share:.1f}"),
            Entry(str(len(classes))),
            Entry(", ".join(classes) or MISSING),
        ]
        rows.append((str(component), entries, []))
    notes = ["Each class is listed with its most probable component, by falling membership."]
    if any(name.class_name and name.membership < CERTAIN for name in names):
        notes.append("In brackets: its membership, where it is below 1.")
    return Layout(
        title,
        "Component",
        ["Weight (%)", "Number", "Classes"],
        [Block("", rows)],
        notes,
        is_prose=True,
    )


def _class_in_words(name: ComponentName) -> str:
    if name.membership >= CERTAIN:
        return name.class_name
    return f"{name.class_name} ({name.membership:.2f})"
