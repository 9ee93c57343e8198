"""The error of each output coordinate at the largest training size, cell by cell."""

from collections.abc import Iterable
from statistics import fmean, median

import pandas as pd

from workflow_lib.report.quantities import REFERENCE_METHOD
from workflow_lib.report.results import ROW, by_size, most_test_rows, outside_studies
from workflow_lib.report.tables import Cell, column_comparison, compared_cell
from workflow_lib.report.variants import Variant, order_variants

SUMMARIES = {"minimum": min, "median": median, "maximum": max, "global": fmean}
"""Quantities over the coordinates of one split. The global one is the aRRMSE."""


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
    size = int(errors["training_size"].max())
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
