"""The tables and figures of a run that reproduce those of papers, and their numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from workflow_lib.report.agreement import comparisons
from workflow_lib.report.labels import variant_label
from workflow_lib.report.ofer_comparison import compares_ofer
from workflow_lib.report.published_tables import PAPER, source_and_name
from workflow_lib.report.quantities import QUANTITIES, error_of_unit
from workflow_lib.report.results import Published, read_published_apart
from workflow_lib.report.table_notes import is_published
from workflow_lib.report.tables import TIMES, Cell
from workflow_lib.report.variants import Variant

if TYPE_CHECKING:
    from workflow_lib.report.paper_contents import PaperItem

OWN_DATA = "the paper's own data"
RECIPE = "drawn by the paper's recipe"
STAND_IN = "a stand-in"
"""What the data of a reproduction are; the classes of `data_kind`."""

DRAWING = "a drawing without data"
"""What a figure without data shows."""

_TABLES_IN_TEXT = re.compile(
    r"\btables? ([\d.]*\d(?:(?:, | and | to )[\d.]*\d)*)(?: (?:of|in) ([^,;:()]+\(\d{4}\)))?"
)


@dataclass(frozen=True)
class Reproduction:
    """One table or figure of a run that reproduces one of a paper.

    ``item`` is that of the paper, and ``experiment`` and ``name`` are where it is in the run;
    without a name the experiment as a whole stands in for the data of the paper's table, and has no
    table of the same form. ``data`` is the title of the dataset, empty for a figure that shows none
    of it, and ``data_kind`` what `data_kind` says, or `DRAWING`. ``comparisons`` are its numbers
    with the published ones, seconds among them (`workflow_lib.report.agreement.comparisons`); none
    on a stand-in.
    """

    item: PaperItem
    experiment: str
    name: str
    data: str
    data_kind: str
    comparisons: pd.DataFrame = field(default_factory=lambda: comparisons([]))

    @property
    def anchor(self) -> str:
        """The anchor of the table or figure in the page."""
        if not self.name:
            return f"experiment-{self.experiment}"
        return f"{self.item.kind}-{self.experiment}-{self.name}"

    @property
    def errors(self) -> pd.DataFrame:
        """The comparisons of errors and accuracies."""
        return self.comparisons[~self.comparisons["quantity"].isin(TIMES)]

    @property
    def seconds(self) -> pd.DataFrame:
        """The comparisons of times."""
        return self.comparisons[self.comparisons["quantity"].isin(TIMES)]


def data_kind(dataset: Mapping) -> str:
    """Return `STAND_IN`, `RECIPE` or `OWN_DATA` for the settings of a dataset.

    `dataset` has ``stand_in_for`` and ``reader``; readers that draw have ``synthetic`` in their
    name.
    """
    if dataset["stand_in_for"]:
        return STAND_IN
    return RECIPE if "synthetic" in dataset["reader"] else OWN_DATA


def reproductions_of(
    experiment: str,
    settings: Mapping,
    dataset: Mapping,
    cells: Mapping[str, Sequence],
    *,
    methods: Mapping[str, Mapping],
    published: Mapping[str, str | Path],
    contents: Sequence[PaperItem],
) -> list[Reproduction]:
    """Return the reproductions in one experiment: its tables, its figures, then the whole.

    The experiment as a whole stands in for the tables that the description of its data names and
    that no table of its own reproduces.

    `settings` and `dataset` are those of the experiment and of its dataset, as in the
    configuration. `cells` map the names of the tables with a ``paper_table`` to what
    `workflow_lib.report.table_files.make` gives; no numbers are compared of a table that is
    left out. `published` are the files of `workflow_lib.run.named_settings.published_tables`, and
    `contents` the tables and figures of all papers.
    """
    tables = [item for item in contents if item.kind == "table"]
    names = [table.get("paper_table") for table in settings["tables"]]
    title, reproductions = dataset["title"], []
    for item in tables:
        for table in settings["tables"]:
            name = table.get("paper_table")
            if name != item.paper_table:
                continue
            found = comparisons([])
            if name in published and data_kind(dataset) != STAND_IN:
                apart = [
                    number
                    for number in read_published_apart([published[name]])
                    if source_and_name(number.table) == (item.paper, item.number)
                ]
                found = compared(cells.get(table["name"], ()), apart, settings["dataset"], methods)
            kind = item.data_kind(dataset)
            reproductions.append(Reproduction(item, experiment, table["name"], title, kind, found))
    for item in contents:
        for figure in settings["figures"]:
            if item.is_drawn_in([figure["kind"]], names):
                data = title if item.shows_results else ""
                kind = item.data_kind(dataset)
                reproductions.append(Reproduction(item, experiment, figure["name"], data, kind))
    for item in tables:
        if item.paper_table not in names and (item.paper != PAPER or compares_ofer(settings)):
            if item.number in tables_named(dataset["stand_in_for"], item.paper):
                kind = item.data_kind(dataset)
                reproductions.append(Reproduction(item, experiment, "", title, kind))
    return reproductions


def tables_named(stand_in_for: str | None, paper: str = PAPER) -> list[str]:
    """Return the numbers in ``tables 9, 10 and 17`` or ``tables 5.1 to 5.4`` of a description.

    Tables are those of the source that follows them, as in ``table 2 of Perina et al. (2009)``, and
    of Djerrab et al. (2018) without one; only those of `paper` count.
    """
    found: list[str] = []
    for numbers, source in _TABLES_IN_TEXT.findall(stand_in_for or ""):
        if (source or PAPER) == paper:
            for part in re.split(r", | and ", numbers):
                # The chapter, with its full stop, stays before every number of a range.
                ends = [number.rpartition(".") for number in part.split(" to ")]
                chapter = "".join(ends[0][:2])
                numbers_of_part = range(int(ends[0][2]), int(ends[-1][2]) + 1)
                found += [f"{chapter}{number}" for number in numbers_of_part]
    return list(dict.fromkeys(found))


def compared(
    cells: Sequence, apart: Iterable[Published], dataset_name: str, methods: Mapping[str, Mapping]
) -> pd.DataFrame:
    """Return the comparisons of one table of a run with the published numbers.

    Cells of errors and times hold the published number themselves. A cell of an output coordinate
    is compared with the number `apart` whose column is a word of the coordinate's name (the year of
    Table 6) or ``Global``, and a cell of a study of weights with that whose column is the weight
    and whose row ends with the name of the dataset (Table 15). Times without a training size are
    not compared, because the paper does not state what they count, and cells of other kinds have no
    numbers to compare.
    """
    rows = []
    for cell in cells:
        if not isinstance(cell, Cell):
            continue
        label, measured = variant_label(cell.variant, methods), QUANTITIES.get(cell.quantity)
        if cell.quantity in {**QUANTITIES, **TIMES} and not cell.study:
            if is_published(cell):
                size, ours = str(cell.training_size), (cell.mean, cell.deviation)
                if measured:
                    ours = measured.shown(cell.mean), measured.shown_spread(cell.deviation)
                printed = cell.published_value, cell.published_spread
                rows.append((f"{label}, n = {size}", size, cell.quantity, *ours, *printed))
            continue
        for number in apart:
            if number.unit == "s" or not _is_same(cell, number, dataset_name):
                continue
            quantity = error_of_unit(number.unit)
            measured = QUANTITIES[quantity]
            # Table 15 puts the weights of one dataset in order, Table 6 the methods of one year.
            column = number.row if cell.study else number.column
            what = f"\u03bb\u2082 = {number.column}" if cell.study else number.column
            ours = measured.shown(cell.mean), measured.shown_spread(cell.deviation)
            rows.append((f"{label}, {what}", column, quantity, *ours, number.value, number.spread))
    return comparisons(rows)


def _is_same(cell: Cell, number: Published, dataset_name: str) -> bool:
    """Return whether a published number has the same row and column as a cell."""
    if cell.variant != Variant(number.method, number.components, number.weak_size):
        return False
    if cell.study:
        is_of_data = number.row.casefold().endswith(dataset_name.casefold())
        return is_of_data and cell.value is not None and cell.value == float(number.column)
    if cell.quantity == "global":
        return number.column == "Global"
    return number.column in re.split(r"[^0-9A-Za-z]+", cell.name)
