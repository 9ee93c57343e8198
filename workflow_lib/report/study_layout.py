"""Tables of studies of weak labels: a row for each value, a column for each method."""

import pandas as pd

from workflow_lib.report.labels import method_label, variant_label
from workflow_lib.report.study_tables import reference_cell, study_table, varied_variants
from workflow_lib.report.table_markup import Layout
from workflow_lib.report.table_notes import table_notes
from workflow_lib.report.table_text import (
    TableOptions,
    cell_block,
    cell_layout,
    measured_of,
    writer,
)
from workflow_lib.report.tables import Cell


def study_cells(scores: pd.DataFrame, study: str, options: TableOptions) -> list[Cell]:
    """Return the cells of a study in a table with these options."""
    order = {"method_order": options.methods, "reference": options.reference}
    return study_table(scores, study, metric=options.metric, **order)


def study_layout(
    cells: list[Cell], options: TableOptions, heading: str, unvaried: str, note: str
) -> Layout:
    """Return the layout with a row for each value of a study and a column for each method.

    Below the values are what is selected, in a row of the name `unvaried` if it has one, and, the
    same in every column with its components, the reference method without weak rows. `heading` is
    that of the values, and `note` explains them.
    """
    measured = measured_of(cells, options)
    found = {(cell.value, cell.variant): cell for cell in cells}
    columns = varied_variants(cells)
    values = sorted({cell.value for cell in cells if cell.value is not None})
    rows = [(f"{value:g}", value) for value in values]
    rows += [(unvaried, None)] * bool(unvaried)
    references = {("reference", column): reference_cell(cells, column) for column in columns}
    if any(references.values()):
        name = method_label(options.reference, options.methods)
        rows.append((f"{name}, no weak rows", "reference"))
    sizes = f"{measured.size_in_words(cells[0].training_size)} and {columns[0].weak_size} weak rows"
    write = writer(measured, options.decimals)
    return cell_layout(
        cells,
        options,
        title=f"{options.title.rstrip('.')}; {sizes}",
        row_heading=heading,
        heads=[variant_label(column._replace(weak_size=0), options.methods) for column in columns],
        blocks=[cell_block(measured.heading, rows, columns, found | references, write)],
        notes=table_notes(cells, options, measured, own=[note]),
    )
