"""What every kind of table is given, and cells of errors and times in rows and columns."""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_lib.report.agreement import format_spreads
from workflow_lib.report.labels import MISSING, format_published_error, variant_label
from workflow_lib.report.quantities import QUANTITIES, Quantity, errors_shown
from workflow_lib.report.results import Published
from workflow_lib.report.table_markup import MARKS, Block, Entry, Layout, Row
from workflow_lib.report.table_notes import has_differences, is_published, table_notes
from workflow_lib.report.tables import Cell, error_table
from workflow_lib.report.variants import order_variants


@dataclass(frozen=True)
class TableOptions:
    """What a table is given besides the results that it reads.

    Attributes
    ----------
    methods : mapping of method name to mapping
        ``label`` and ``regressor`` of each, in the order of rows.
    metric : str, default="arrmse"
        The measure of the experiment, a key of `workflow_lib.report.quantities.QUANTITIES`.
    caption, dataset_title : str, default=""
        The sentence above the table, and the data that were used.
    stand_in_for : str, optional
        What the data stand in for. Only without it are numbers compared with published ones.
    published : sequence of path, default=()
        The files of published numbers that are shown with ours.
    keys : mapping, default={}
        The keys that only tables of its kind have (`workflow_lib.report.table_kinds.keys`), as
        plain values; others are ignored.
    decimals : int, optional
        Those of our errors, by default those of `Quantity.write`. The CSV has all digits.
    """

    methods: Mapping[str, Mapping]
    metric: str = "arrmse"
    caption: str = ""
    dataset_title: str = ""
    stand_in_for: str | None = None
    published: Sequence[str | Path] = ()
    keys: Mapping[str, Any] = field(default_factory=dict)
    decimals: int | None = None

    @property
    def title(self) -> str:
        """The caption with the data that were used and what they stand in for."""
        title = f"{self.caption.rstrip('.')}. Data: {self.dataset_title}"
        return f"{title}, standing in for {self.stand_in_for}" if self.stand_in_for else title

    @property
    def reference(self) -> str:
        """The method that the others are compared with."""
        return QUANTITIES[self.metric].reference


def error_cells(
    scores: pd.DataFrame,
    options: TableOptions,
    errors: Sequence[str],
    published: Sequence[Published],
) -> list[Cell]:
    """Return the cells of a table of `errors`, with the published numbers where they belong.

    They are those that `errors_shown` gives for the task.
    """
    errors = errors_shown(errors, options.metric, set(scores["quantity"]))
    return error_table(
        scores,
        method_order=options.methods,
        reference=options.reference,
        published=published,
        errors=errors,
        is_comparable=not options.stand_in_for,
    )


def measured_of(cells: Sequence[Cell], options: TableOptions) -> Quantity:
    """Return the quantity of the cells, that of the experiment where theirs is no error."""
    own = QUANTITIES[options.metric]
    measured = QUANTITIES.get(cells[0].quantity, own) if cells else own
    return replace(measured, is_per_class=measured.is_per_class or own.is_per_class)


def size_notes(cells: Sequence[Cell], options: TableOptions, bold_within: str = "") -> list[str]:
    """Return the sentences under a table of several training sizes."""
    measured = measured_of(cells, options)
    sizes = measured.size_note
    return table_notes(cells, options, measured, sizes=sizes, bold_within=bold_within)


def cell_layout(cells: Sequence[Cell], options: TableOptions, **parts) -> Layout:
    """Return the layout of these `parts`, with the headings of published numbers."""
    tables = sorted({cell.published_table for cell in cells if is_published(cell)})
    headings = {
        "title": options.title,
        "published_heading": f"Published (table {', '.join(tables)})" if tables else "",
        "difference_heading": "Difference, in spreads" if has_differences(cells) else "",
    }
    return Layout(**headings | parts)


def method_layout(
    cells: Sequence[Cell],
    options: TableOptions,
    headings: Mapping[str, str],
    writer_of: Callable[[str], Callable],
    write_published: Callable = format_published_error,
    bold_within: str = "",
) -> Layout:
    """Return the layout with a row for each method and a column for each training size.

    `headings` are those of the quantities, and `writer_of` gives the function that writes a mean
    and a deviation of one. `bold_within` is as in `table_notes`.
    """
    sizes = sorted({cell.training_size for cell in cells})
    published_sizes = sorted({cell.training_size for cell in cells if is_published(cell)})
    blocks = []
    for quantity in dict.fromkeys(cell.quantity for cell in cells):
        of_quantity = [cell for cell in cells if cell.quantity == quantity]
        variants = order_variants([cell.variant for cell in of_quantity], options.methods)
        blocks.append(
            cell_block(
                headings[quantity],
                [(variant_label(variant, options.methods), variant) for variant in variants],
                sizes,
                {(cell.variant, cell.training_size): cell for cell in of_quantity},
                writer_of(quantity),
                published_sizes if any(map(is_published, of_quantity)) else len(published_sizes),
                write_published,
                has_differences(cells),
            )
        )
    return cell_layout(
        cells,
        options,
        row_heading="Method",
        heads=[f"n = {size}" for size in sizes],
        blocks=blocks,
        notes=size_notes(cells, options, bold_within),
        published_heads=[f"n = {size}" for size in published_sizes],
    )


def cell_block(
    heading: str,
    rows: Sequence[tuple],
    columns: Sequence,
    found: Mapping[tuple, Cell | None],
    write: Callable,
    published: Sequence | int = (),
    write_published: Callable = format_published_error,
    with_differences: bool = False,
) -> Block:
    """Return a block with a row for each pair of a label and a key.

    `found` has the cell of the keys of a row and of a column; cells that it lacks are marked as
    missing. `published` are the columns with published numbers or, in a block without any, the
    number of columns that stay empty.
    """
    laid_out = []
    for label, key in rows:
        ours = [_entry(found.get((key, column)), write) for column in columns]
        if isinstance(published, int):
            empty = [Entry("")] * published
            laid_out.append(Row(label, ours, empty, empty if with_differences else []))
            continue
        cells = [found.get((key, column)) for column in published]
        printed = [
            Entry(write_published(cell.published_value, cell.published_spread))
            if cell is not None and is_published(cell)
            else Entry(MISSING)
            for cell in cells
        ]
        differences = [
            Entry(format_spreads(cell.published_difference_in_spreads) if cell else MISSING)
            for cell in cells
        ]
        laid_out.append(Row(label, ours, printed, differences if with_differences else []))
    return Block(heading, laid_out)


def _entry(cell: Cell | None, write: Callable) -> Entry:
    if cell is None:
        return Entry(MISSING)
    return Entry(write(cell.mean, cell.deviation), cell.bold, MARKS[cell.mark])


def writer(quantity: Quantity, decimals: int | None) -> Callable:
    """Return the function that writes a mean and a deviation of a quantity."""
    return functools.partial(quantity.write, decimals=decimals)
