"""The tables and figures of a run that reproduce those of the paper, and their numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from workflow_lib.report.agreement import comparisons
from workflow_lib.report.figures.registry import figure_modules
from workflow_lib.report.labels import variant_label
from workflow_lib.report.quantities import QUANTITIES, error_of_unit
from workflow_lib.report.results import Published, read_published_apart
from workflow_lib.report.table_notes import is_published
from workflow_lib.report.tables import TIMES, Cell
from workflow_lib.report.variants import Variant

OWN_DATA = "the paper's own data"
RECIPE = "drawn by the paper's recipe"
STAND_IN = "a stand-in"
"""What the data of a reproduction are; the classes of `data_kind`."""

DRAWING = "a drawing without data"
"""What a figure without data shows."""

_TABLES_IN_TEXT = re.compile(r"\btables? (\d+(?:(?:, | and | to )\d+)*)")


@dataclass(frozen=True)
class Reproduction:
    """One table or figure of a run that reproduces one of the paper.

    ``item`` is ``table`` or ``figure`` with its number in the paper, and ``experiment`` and
    ``name`` are where it is in the run; without a name the experiment as a whole stands in for the
    data of the paper's table, and has no table of the same form. ``data`` is the title of the
    dataset, empty for a figure that shows none, and ``data_kind`` what `data_kind` says, or
    `DRAWING`. ``comparisons`` are its numbers with the published ones, seconds among them
    (`workflow_lib.report.agreement.comparisons`); none on a stand-in.
    """

    item: tuple[str, int]
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
        return f"{self.item[0]}-{self.experiment}-{self.name}"

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


def is_comparable(dataset: Mapping) -> bool:
    """Return whether numbers on a dataset may be compared with the published ones."""
    return data_kind(dataset) != STAND_IN


def reproductions_of(
    experiment: str,
    settings: Mapping,
    dataset: Mapping,
    cells: Mapping[str, Sequence],
    *,
    methods: Mapping[str, Mapping],
    published: Mapping[int, str | Path],
    drawn_as: Mapping[str, int],
) -> list[Reproduction]:
    """Return the reproductions in one experiment: its tables, its figures, then the whole.

    The experiment as a whole stands in for the tables that the description of its data names and
    that no table of its own reproduces.

    `settings` and `dataset` are those of the experiment and of its dataset, as in the
    configuration. `cells` map the names of the tables with a ``paper_table`` to what
    `workflow_lib.report.table_text.table_cells` gives; no numbers are compared of a table that is
    left out. `published` map the numbers of the published tables that are available to their paths,
    and `drawn_as` our kinds of figures to the numbers of those that they reproduce.
    """
    kind = data_kind(dataset)
    reproductions = []
    for table in settings["tables"]:
        number = table.get("paper_table")
        # Those of another source are named by their file.
        if not isinstance(number, int):
            continue
        found = comparisons([])
        if number in published and kind != STAND_IN:
            apart = read_published_apart([published[number]])
            found = compared(cells.get(table["name"], ()), apart, settings["dataset"], methods)
        item, title = ("table", number), dataset["title"]
        reproductions.append(Reproduction(item, experiment, table["name"], title, kind, found))
    for figure in settings["figures"]:
        if figure["kind"] in drawn_as:
            item = ("figure", drawn_as[figure["kind"]])
            # The figure shows its own samples or none, whatever the data of the experiment.
            module = figure_modules()[figure["kind"]]
            shown = RECIPE if module.artifacts or module.settings else DRAWING
            reproductions.append(Reproduction(item, experiment, figure["name"], "", shown))
    reproduced = {reproduction.item for reproduction in reproductions}
    for number in tables_named(dataset["stand_in_for"]):
        if ("table", number) not in reproduced:
            reproductions.append(
                Reproduction(("table", number), experiment, "", dataset["title"], kind)
            )
    return reproductions


def tables_named(stand_in_for: str | None) -> list[int]:
    """Return the numbers in ``tables 9, 10 and 17`` or ``tables 11 to 15`` of a description."""
    found: set[int] = set()
    for numbers in _TABLES_IN_TEXT.findall(stand_in_for or ""):
        for part in re.split(r", | and ", numbers):
            first, *last = (int(number) for number in part.split(" to "))
            found.update(range(first, (last or [first])[-1] + 1))
    return sorted(found)


def compared(
    cells: Sequence, apart: Iterable[Published], dataset_name: str, methods: Mapping[str, Mapping]
) -> pd.DataFrame:
    """Return the comparisons of one table of a run with the published numbers.

    Cells of errors and times hold the published number themselves. A cell of an output coordinate
    is compared with the number `apart` whose column is a word of the coordinate's name (the year of
    Table 6) or ``Global``, and a cell of a study of weights with that whose column is the weight
    and whose row ends with the name of the dataset (Table 15). Times without a training size are
    not compared, because the paper does not state what they count.
    """
    rows = []
    for cell in cells:
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
