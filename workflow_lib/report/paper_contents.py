"""What the tables and figures of published papers show, and the commands that run them."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from workflow_lib.core.errors import UserError
from workflow_lib.report.published_tables import PAPER
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

COLUMNS = ("paper", "kind", "number", "title", "data", "quantity", "drawn_as", "paper_table")
"""The columns of the file of contents; a further one, ``needs``, may be left out."""


@dataclass(frozen=True)
class PaperItem:
    """A table or figure of a paper.

    ``paper`` is the source with its year, as ``Djerrab et al. (2018)``. ``kind`` is ``table`` or
    ``figure``; ``number`` is that printed, as ``9`` or ``5.4``; ``title``, ``data`` and
    ``quantity`` say what it shows; the quantity ``drawing`` is
    that of a scheme without data. ``drawn_as`` is our kind of figure that reproduces it, empty
    without any. ``paper_table`` is the value of that key of a table that reproduces it, as
    ``palasek-3``; of a figure, the value that a table of the same experiment must have, empty for
    a figure that does not show results of the experiment. ``needs`` is what nobody can download,
    as ``data`` or ``weights``, empty if there is nothing of the kind.
    """

    paper: str
    kind: str
    number: str
    title: str
    data: str
    quantity: str
    drawn_as: str
    paper_table: str
    needs: str = ""

    @property
    def shows_results(self) -> bool:
        """Whether it shows results of an experiment, and not samples of its own or a drawing."""
        return bool(self.paper_table)

    def data_kind(self, dataset: Mapping) -> str:
        """Return what is shown of it with a dataset: `reproduced_tables.data_kind`, or a drawing.

        A figure that shows no results of the experiment draws its samples by the paper's recipe.
        """
        if self.shows_results:
            return data_kind(dataset)
        return DRAWING if self.quantity == "drawing" else RECIPE

    def is_drawn_in(self, figure_kinds: Sequence[str], paper_tables: Sequence[str]) -> bool:
        """Return whether an experiment with these figures and published tables shows a figure."""
        is_kind = bool(self.drawn_as) and self.drawn_as in figure_kinds
        return is_kind and (not self.shows_results or self.paper_table in paper_tables)

    @property
    def name(self) -> str:
        """What the paper calls it, as ``Table 5``."""
        return f"{self.kind.capitalize()} {self.number}"


def read_contents(path: str | Path) -> list[PaperItem]:
    """Return the tables and figures of papers, from a file ``paper_tables/contents.csv``.

    Raises UserError if the file is missing, or a line of it describes neither a table nor a figure.
    """
    try:
        with open(path, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        return [
            PaperItem(
                row["paper"].strip(),
                {"table": "table", "figure": "figure"}[row["kind"]],
                *(row[key].strip() for key in COLUMNS[2:]),
                needs=(row.get("needs") or "").strip(),
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


def commands(
    item: PaperItem, runs: Mapping[str, Sequence[Mapping]], kinds: Sequence[str]
) -> tuple[list[dict], bool]:
    """Return the commands that run an item on these kinds of data, and if any is the paper's.

    A command says on which data (``on``) its ``line`` runs it, how many ``minutes`` of a processor
    the jobs of its run take (empty where that is not known), and which ``files`` configure datasets
    whose files the user brings. Of several runs that of the fewest experiments is named. An
    experiment that as a whole stands in for the item counts only where no table of that kind
    reproduces it.
    """
    found: dict[str, tuple] = {}
    for study, experiments in runs.items():
        for experiment in experiments:
            rank = _reproduces(item, experiment)
            if rank:
                candidate = (rank, len(experiments), study)
                kind = item.data_kind(experiment)
                found[kind] = min(found.get(kind, candidate), candidate)
    shown = []
    for kind in (*kinds, DRAWING):
        if kind in found:
            study = found[kind][-1]
            files = [
                f"config/{experiment['dataset_file']}"
                for experiment in runs[study]
                if experiment["is_user_supplied"]
                and item.data_kind(experiment) == kind
                and _reproduces(item, experiment)
            ]
            line = "snakemake --cores 2" + (f" --config study={study}" if study else "")
            command = {"on": _ON[kind], "line": line, "files": list(dict.fromkeys(files))}
            shown.append(command | {"minutes": runs[study][0]["minutes"] or ""})
    return shown, bool({OWN_DATA, RECIPE, DRAWING} & set(found))


def _reproduces(item: PaperItem, experiment: Mapping) -> int:
    """Return 1 if a table or figure of an experiment reproduces an item, 2 if all of it does."""
    if item.kind == "figure":
        return int(item.is_drawn_in(experiment["figure_kinds"], experiment["paper_tables"]))
    if item.paper_table in experiment["paper_tables"]:
        return 1
    if item.paper == PAPER and not experiment["compares_ofer"]:
        return 0
    return 2 if item.number in tables_named(experiment["stand_in_for"], item.paper) else 0
