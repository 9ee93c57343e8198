"""The error of each output coordinate at the largest training size, cell by cell."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import TYPE_CHECKING

from workflow_lib.experiments.statistics import mean_and_deviation
from workflow_lib.report.quantities import REFERENCE_METHOD, Quantity
from workflow_lib.report.results import by_size, most_test_rows, outside_studies
from workflow_lib.report.scores import Variant, order_variants
from workflow_lib.report.tables import column_comparison, in_order, reference_comparison

if TYPE_CHECKING:
    import pandas as pd

MOST_COORDINATES = 12
"""With more coordinates than this a table shows their minimum, median and maximum instead."""

SUMMARIES = {"minimum": min, "median": median, "maximum": max, "global": fmean}
"""Quantities over the coordinates of one split. The global one is the aRRMSE."""

_HEADINGS_OF_ACCURACIES = {
    "minimum": "Maximum",
    "maximum": "Minimum",
    "global": "Mean over classes",
}
"""Headings of summaries of error rates that are shown as accuracies, where they differ."""


@dataclass(frozen=True)
class CoordinateCell:
    """One cell of a table of coordinates.

    Attributes
    ----------
    quantity : str
        ``coordinate``, or a key of `SUMMARIES`.
    coordinate, name : int or None, str
        Number (from 0) and name of the output coordinate; None and empty for a summary.
    method, components, weak_size, training_size, n_splits, n_test, mean, deviation, bold,
    opponent, p_student, difference, n_nonzero, effect, hedges_g, p_reference_student,
    p_reference_corrected, largest_relative_difference, mark
        As in `workflow_lib.report.tables.Cell`; the rows that are compared are those of the same
        coordinate.
    """

    quantity: str
    coordinate: int | None
    name: str
    method: str
    components: str
    weak_size: int
    training_size: int
    n_splits: int
    n_test: int
    mean: float
    deviation: float
    bold: bool = False
    opponent: str = ""
    p_student: float = math.nan
    difference: float = math.nan
    n_nonzero: int | None = None
    effect: float = math.nan
    hedges_g: float = math.nan
    p_reference_student: float = math.nan
    p_reference_corrected: float = math.nan
    largest_relative_difference: float = math.nan
    mark: str = ""

    @property
    def variant(self) -> Variant:
        """The table row of this cell."""
        return Variant(self.method, self.components, self.weak_size)


def coordinate_table(
    errors: pd.DataFrame,
    *,
    method_order: Iterable[str] = (),
    reference: str = REFERENCE_METHOD,
) -> list[CoordinateCell]:
    """Return the cells of every coordinate, in order, then those of the summaries.

    Only the largest training size counts, and rows of studies of weak labels are left out. Means
    and deviations are over splits. A summary is taken over the coordinates of each split first, so
    that it is compared like a single coordinate.
    """
    errors = outside_studies(errors)
    method_order = list(method_order)
    size = largest_size(errors)
    largest = errors[errors["training_size"] == size]
    n_train = int(largest["n_train"].iloc[0])
    n_test = {variant: count for (variant, _), count in most_test_rows(largest).items()}
    columns: dict[tuple, dict[Variant, dict[int, float]]] = {}
    of_split: dict[Variant, dict[int, list[float]]] = {}
    for (coordinate, name), rows in largest.groupby(["coordinate", "name"]):
        column = columns["coordinate", int(coordinate), name] = by_size(rows, "error")[size]
        for variant, splits in column.items():
            for split, error in splits.items():
                of_split.setdefault(variant, {}).setdefault(split, []).append(error)
    for quantity, summarise in SUMMARIES.items():
        columns[quantity, None, ""] = {
            variant: {split: summarise(values) for split, values in splits.items()}
            for variant, splits in of_split.items()
        }
    return [
        cell
        for key, column in columns.items()
        for cell in _column_cells(key, column, size, n_train, n_test, method_order, reference)
    ]


def largest_size(errors: pd.DataFrame) -> int:
    """Return the largest training size."""
    return int(errors["training_size"].max())


def shown_columns(cells: Sequence[CoordinateCell]) -> list[tuple[str, int | None]]:
    """Return (quantity, coordinate) of the columns that a table shows, in order.

    They are the coordinates and the global error, or, of more than `MOST_COORDINATES`
    coordinates, the summaries.
    """
    coordinates = sorted({c.coordinate for c in cells if c.coordinate is not None})
    if len(coordinates) > MOST_COORDINATES:
        return [(quantity, None) for quantity in SUMMARIES]
    return [*(("coordinate", coordinate) for coordinate in coordinates), ("global", None)]


def column_heading(cell: CoordinateCell, measured: Quantity) -> str:
    """Return the heading of a column: the name of the output, or that of the summary."""
    if cell.name:
        return cell.name.replace("_", " ")
    if measured.is_accuracy and cell.quantity in _HEADINGS_OF_ACCURACIES:
        return _HEADINGS_OF_ACCURACIES[cell.quantity]
    return cell.quantity.capitalize()


def _column_cells(
    key: tuple[str, int | None, str],
    column: Mapping[Variant, Mapping[int, float]],
    size: int,
    n_train: int,
    n_test: Mapping[Variant, int],
    method_order: Sequence[str],
    reference: str,
) -> list[CoordinateCell]:
    """Return the cells of one column, row by row."""
    cells = []
    for variant in order_variants(column, method_order):
        splits = column[variant]
        cells.append(
            CoordinateCell(
                *key,
                variant.method,
                variant.components,
                variant.weak_size,
                size,
                len(splits),
                n_test[variant],
                *mean_and_deviation(in_order(splits)),
                **column_comparison(column, variant),
                **reference_comparison(column, variant, reference, n_train, n_test[variant]),
            )
        )
    return cells
