"""One table of an experiment, of any kind: its layout, its CSV file and its LaTeX."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from workflow_lib.core.plugins import TABLE_KINDS
from workflow_lib.core.whole_files import write_text
from workflow_lib.report.published_tables import beside, published_layouts
from workflow_lib.report.quantities import shown_cells
from workflow_lib.report.reads import arranged
from workflow_lib.report.results import read_coordinates, read_scores, read_timings
from workflow_lib.report.table_markup import Layout, latex_markup
from workflow_lib.report.table_text import TableOptions
from workflow_lib.report.tables import write_cells

READERS: dict[str, Callable] = {
    "scores": read_scores,
    "coordinates": read_coordinates,
    "timings": read_timings,
}
"""The readers of results that a kind of table is given as frames."""


def make(
    kind: str, results: Mapping[str, Any], options: TableOptions
) -> tuple[Any, Layout, list[Layout]]:
    """Return the cells of a table, its layout, and the layouts of published tables below it.

    Published numbers without a training size are beside ours where rows and columns are the same,
    else in separate tables below.

    Raises ValueError if there is no such kind, and UserError if the results do not hold what it
    shows.

    Parameters
    ----------
    kind : str
        A key of `workflow_lib.report.table_kinds.base.table_kinds`.
    results : mapping
        What the kind reads, by the names in its ``READS``, each as a path or as the frame that it
        would be read as. Others are ignored.
    options : TableOptions
    """
    module = TABLE_KINDS.load(kind)
    cells = module.cells(
        *(_read(*read, results[read[0]]) for read in module.READS.items()), options
    )
    published = published_layouts(options.published, options.methods, options.stand_in_for)
    return cells, *beside(module.layout(cells, options), published)


def run(
    kind: str,
    results: Mapping[str, str | Path],
    output_csv: str | Path,
    output_latex: str | Path,
    label: str,
    **options,
) -> None:
    r"""Write one table as tidy CSV and as LaTeX with the label `label`, for ``\input``.

    The CSV has none of the published numbers without a training size. `options` are the fields of
    `workflow_lib.report.table_text.TableOptions`, and the other parameters those of `make`.
    """
    module, given = TABLE_KINDS.load(kind), TableOptions(**options)
    cells, layout, below = make(kind, results, given)
    shows_errors = getattr(module, "SHOWS_ERRORS", False)
    written = shown_cells(cells, given.metric) if shows_errors else cells
    write_cells(output_csv, written, module.COLUMNS)
    write_text(output_latex, latex_markup(layout, label, below))


def _read(name: str, pattern: str, result: Any) -> Any:
    if isinstance(result, pd.DataFrame):
        return result
    given = arranged(pattern, result)
    return READERS[name](given) if name in READERS else given
