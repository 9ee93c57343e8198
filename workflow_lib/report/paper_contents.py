"""What the tables and figures of the paper show, and the commands that run them."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from workflow_lib.errors import UserError
from workflow_lib.report.reproduced_tables import (
    DRAWING,
    OWN_DATA,
    RECIPE,
    STAND_IN,
    data_kind,
    tables_named,
)

_ON = {
    OWN_DATA: "On the paper's own data",
    RECIPE: "By its recipe",
    STAND_IN: "On a stand-in",
    DRAWING: "A drawing without data",
}
"""Kind of data -> the beginning of the command that runs an item on it."""

COLUMNS = ("kind", "number", "title", "data", "quantity", "drawn_as")
"""The columns of the file of contents."""


@dataclass(frozen=True)
class PaperItem:
    """A table or figure of the paper.

    ``kind`` is ``table`` or ``figure``; ``title``, ``data`` and ``quantity`` say what it shows.
    ``drawn_as`` is our kind of figure that reproduces it, empty without any; the quantity
    ``drawing`` is that of a scheme without data.
    """

    kind: str
    number: int
    title: str
    data: str
    quantity: str
    drawn_as: str

    @property
    def name(self) -> str:
        """What the paper calls it, as ``Table 5``."""
        return f"{self.kind.capitalize()} {self.number}"


def read_contents(path: str | Path) -> list[PaperItem]:
    """Return the tables and figures of the paper, from ``config/paper_tables/contents.csv``.

    Raises
    ------
    UserError
        If the file is missing, or a line of it describes neither a table nor a figure.
    """
    try:
        with open(path, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        return [
            PaperItem(
                {"table": "table", "figure": "figure"}[row["kind"]],
                int(row["number"]),
                *(row[key].strip() for key in COLUMNS[2:]),
            )
            for row in rows
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, csv.Error) as error:
        raise UserError(
            str(path),
            f"it cannot be read ({type(error).__name__}: {error})",
            f"a CSV file with the columns {', '.join(COLUMNS)}, whose kind is table or figure",
            "take the file of the repository",
        ) from error


def figures_drawn(contents: Sequence[PaperItem]) -> dict[str, int]:
    """Return kind of our figure -> number of the figure of the paper that it reproduces."""
    return {item.drawn_as: item.number for item in contents if item.drawn_as}


def commands(
    item: PaperItem, runs: Mapping[str, Sequence[Mapping]], kinds: Sequence[str]
) -> tuple[list[dict], bool]:
    """Return the commands that run an item on these kinds of data, and if any is the paper's.

    A command says on which data (``on``) its ``line`` runs it, and which ``files`` configure
    datasets whose files the user brings.
    Of several configuration files that of the fewest experiments is named. An experiment that as a
    whole stands in for the item counts only where no table of that kind reproduces it.
    """
    found: dict[str, tuple] = {}
    for path, experiments in runs.items():
        for experiment in experiments:
            rank = _reproduces(item, experiment)
            if rank:
                candidate = (rank, len(experiments), path)
                kind = DRAWING if item.quantity == "drawing" else data_kind(experiment)
                found[kind] = min(found.get(kind, candidate), candidate)
    shown = []
    for kind in (*kinds, DRAWING):
        if kind in found:
            path = found[kind][-1]
            files = [
                f"config/datasets/{experiment['dataset']}.yaml"
                for experiment in runs[path]
                if experiment["is_user_supplied"]
                and data_kind(experiment) == kind
                and _reproduces(item, experiment)
            ]
            line = "snakemake --cores 2"
            if path != "config/config.yaml":
                line += f" --configfile {path}"
            shown.append({"on": _ON[kind], "line": line, "files": list(dict.fromkeys(files))})
    return shown, bool({OWN_DATA, RECIPE, DRAWING} & set(found))


def _reproduces(item: PaperItem, experiment: Mapping) -> int:
    """Return 1 if a table or figure of an experiment reproduces an item, 2 if all of it does."""
    if item.kind == "figure":
        return int(bool(item.drawn_as) and item.drawn_as in experiment["figure_kinds"])
    if item.number in experiment["paper_tables"]:
        return 1
    return 2 if item.number in tables_named(experiment["stand_in_for"]) else 0
