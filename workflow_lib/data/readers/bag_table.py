"""Reader of bags from a table: a row for each instance, such as a cell of a patient.

A column names the bag of each row, another the class of the bag. A bag without a class is
unlabelled: it can be learned from, and is never a test row.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from workflow_lib.core.settings import Settings
from workflow_lib.tabular.tables import MISSING_VALUES, check_sources

Name = Annotated[str, Field(min_length=1)]


class Options(Settings):
    """Options of the reader ``bag_table``."""

    file: Name | None = None
    """The table, relative to the folder of the run: .csv, .tsv, .txt (also with .gz), .parquet, .h5
    or .hdf5. null (the default): it is the only source."""

    bag: Name
    """Column that names the bag of each row. The rows of a bag need not follow one another."""

    classes: Name
    """Column of the class of the bag, the same in all its rows or only in some. A bag without any
    is unlabelled."""

    numbers: Annotated[tuple[Name, ...], Field(min_length=1)]
    """Columns of numbers that describe a row, or patterns of them such as ``x_*``."""

    number_formats: dict[Name, Name] = {}
    """For columns of numbers that are not written as usual, how the number 1234.5 is written there:
    `"1.234,5"`, `"1'234.5"`, `"$1,234.5"` or `"1234,5 mg"`. In these columns a minus may have any
    form, numbers in brackets are negative, and Fortran's exponents (1.5D+03) are read."""

    missing_values: tuple[str, ...] = MISSING_VALUES
    """Cells that count as missing, in addition to empty cells. A row with one among `numbers` is
    left out and counted."""

    delimiter: Annotated[str, Field(min_length=1, max_length=1)] | None = None
    """The character between two cells of a text file; null: detected from the header."""

    sheet: str | None = None
    """Sheet of a workbook; null: the first that is neither hidden nor empty."""


def kind_of_inputs(options: Options) -> str:
    """Return ``bags``."""
    return "bags"


def read(options: Options, sources: Sequence[Path], seed: int) -> dict[str, Any]:
    """Return one row for each bag, in the order of their first rows; `seed` is not used.

    ``inputs`` and ``bags``: see `workflow_lib.items.kinds.bags`. ``classes``: see
    `workflow_lib.data.class_tables.class_dataset_tree`; the class vectors are the unit vectors,
    and unlabelled bags have the class -1 and outputs that are NaN. ``bag_columns``: the columns of
    the ``bag``, and of the ``numbers`` as JSON, with which tables of new rows are read. What is
    left out: `workflow_lib.data.bags_of_rows.labelled_bags`.

    Raises UserError as `workflow_lib.tabular.table_file.read_table`; if a column is missing or does
    not hold numbers, a row names no bag, or there are not two classes of bags.
    """
    import numpy as np

    from workflow_lib.data.bags_of_rows import labelled_bags
    from workflow_lib.data.class_tables import class_dataset_tree
    from workflow_lib.items.kinds import bags
    from workflow_lib.tabular.table_file import read_table

    path = options.file
    if path is None:
        check_sources(sources, "bag_table", "the table")
        path = sources[0]
    else:
        check_sources(sources, "bag_table")
    table = read_table(path, options.missing_values, options.delimiter, sheet=options.sheet)
    table = table.with_formats(options.number_formats)
    names = table.matching(options.numbers, "numbers")
    found = labelled_bags(table, options.bag, options.classes, names)
    labels = found.table.strings(options.classes)
    class_names = sorted(set(labels) - {""})
    numbers = {name: number for number, name in enumerate(class_names)} | {"": -1}
    return class_dataset_tree(
        found.table.matrix(found.pooled),
        np.array([numbers[label] for label in labels], dtype=np.int64),
        np.eye(len(class_names)),
        class_names,
        found.pooled,
        class_names,
        list(found.table.strings(options.bag)),
        location=table.location,
        rows_read=found.table.n_rows + sum(found.excluded.values()),
        report={"exclusions": found.excluded, "incomplete_rows": found.n_incomplete},
        bag_columns={"bag": options.bag, "numbers": json.dumps(names, ensure_ascii=False)},
        **bags.pack(found.bags, has_own_units=True),
    )
