"""The error of each output coordinate at the largest training size, cell by cell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean, median

import pandas as pd

from workflow_lib.report.quantities import REFERENCE_METHOD, Quantity
from workflow_lib.report.results import ROW, by_size, most_test_rows, outside_studies
from workflow_lib.report.tables import Cell, column_comparison, compared_cell
from workflow_lib.report.variants import Variant, order_variants

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


def coordinate_table(
    errors: pd.DataFrame, *, method_order: Iterable[str] = (), reference: str = REFERENCE_METHOD
) -> list[Cell]:
    """Return the cells of every coordinate, in order, then those of the summaries.

    Only the largest training size counts, and rows of studies of weak labels are left out. Means
    and deviations are over splits. A summary is taken over the coordinates of each split first, so
    that it is compared like a single coordinate.
    """
    errors = outside_studies(errors)
    method_order = list(method_order)
    size = largest_size(errors)
    largest = errors[errors["training_size"] == size]
    columns: dict[tuple, dict[Variant, dict[int, float]]] = {}
    for (coordinate, name), rows in largest.groupby(["coordinate", "name"]):
        columns["coordinate", int(coordinate), name] = by_size(rows, "error")[size]
    of_splits = largest.groupby([*ROW, "training_size", "split"])["error"]
    for quantity, summarise in SUMMARIES.items():
        values = of_splits.agg(lambda errors, of=summarise: of(errors.tolist())).reset_index()
        columns[quantity, None, ""] = by_size(values, "error")[size]
    options = {"size": size, "n_train": int(largest["n_train"].iloc[0])}
    options |= {"n_test": most_test_rows(largest), "reference": reference}
    return [
        compared_cell(
            quantity,
            column,
            variant,
            **options,
            **column_comparison(column, variant),
            coordinate=coordinate,
            name=name,
        )
        for (quantity, coordinate, name), column in columns.items()
        for variant in order_variants(column, method_order)
    ]


def largest_size(errors: pd.DataFrame) -> int:
    """Return the largest training size."""
    return int(errors["training_size"].max())


def shown_columns(cells: Sequence[Cell]) -> list[tuple[str, int | None]]:
    """Return (quantity, coordinate) of the columns that a table shows, in order.

    They are the coordinates and the global error, or, of more than `MOST_COORDINATES`
    coordinates, the summaries.
    """
    coordinates = sorted({c.coordinate for c in cells if c.coordinate is not None})
    if len(coordinates) > MOST_COORDINATES:
        return [(quantity, None) for quantity in SUMMARIES]
    return [*(("coordinate", coordinate) for coordinate in coordinates), ("global", None)]


def column_heading(cell: Cell, measured: Quantity) -> str:
    """Return the heading of a column: the name of the output, or that of the summary."""
    if cell.name:
        return cell.name.replace("_", " ")
    if measured.is_accuracy and cell.quantity in _HEADINGS_OF_ACCURACIES:
        return _HEADINGS_OF_ACCURACIES[cell.quantity]
    return cell.quantity.capitalize()
