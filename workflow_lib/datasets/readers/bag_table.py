"""Reader of bags from a table: a row for each instance, such as a cell of a patient.

A column names the bag of each row, another the class of the bag. A bag without a class is
unlabelled: it can be learned from, and is never a test row.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from workflow_lib.config.base import Settings
from workflow_lib.datasets.tables import MISSING_VALUES, check_sources
from workflow_lib.errors import UserError

if TYPE_CHECKING:
    import numpy as np

    from workflow_lib.datasets.user_table import Table

Name = Annotated[str, Field(min_length=1)]

REPEATED = "a bag with the rows of an earlier bag"
TWO_CLASSES = "a bag with two classes"
COPIED_CLASSES = "bags with the same rows and two classes"
WITHOUT_ROWS = "a bag without a complete row"


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

    missing_values: tuple[str, ...] = MISSING_VALUES
    """Cells that count as missing, in addition to empty cells. A row with one among `numbers` is
    left out and counted."""


def kind_of_inputs(options: Options) -> str:
    """Return ``bags``."""
    return "bags"


def read(options: Options, sources: Sequence[Path], seed: int) -> dict[str, Any]:
    """Return one row for each bag, in the order of their first rows; `seed` is not used.

    ``inputs`` and ``bags``: see `workflow_lib.features.bag_rows`. ``classes``: see
    `workflow_lib.datasets.class_tables.class_dataset_tree`; the class vectors are the unit vectors,
    and unlabelled bags have the class -1 and outputs that are NaN. Left out and counted are bags
    whose rows have two classes, bags with the rows of an earlier one, and all of such with two
    classes, which would be in training and test rows; rows that lack a number, and bags without
    another row.

    Raises
    ------
    UserError
        As `workflow_lib.datasets.table_file.read_table`; if a column is missing or does not hold
        numbers, a row names no bag, or there are not two classes of bags.
    """
    import numpy as np

    from workflow_lib.datasets.class_tables import class_dataset_tree
    from workflow_lib.datasets.table_file import read_table
    from workflow_lib.features.bag_rows import bags_tree, pooled_rows

    path = options.file
    if path is None:
        check_sources(sources, "bag_table", "the table")
        path = sources[0]
    else:
        check_sources(sources, "bag_table")
    table = read_table(path, options.missing_values)
    names = table.matching(options.numbers, "numbers")
    rows = table.matrix(names)
    bags, labels, bag_names, excluded = _bags(table, rows, options)
    class_names = sorted(set(labels) - {""})
    numbers = {name: number for number, name in enumerate(class_names)} | {"": -1}
    inputs, input_names = pooled_rows(bags)
    return class_dataset_tree(
        inputs,
        np.array([numbers[label] for label in labels], dtype=np.int64),
        np.eye(len(class_names)),
        class_names,
        input_names,
        class_names,
        bag_names,
        place=table.place,
        rows_read=len(bags) + sum(excluded.values()),
        report={"exclusions": excluded, "incomplete_rows": int(np.isnan(rows).any(axis=1).sum())},
        bags=bags_tree(bags),
    )


def _bags(
    table: Table, rows: np.ndarray, options: Options
) -> tuple[list[np.ndarray], list[str], list[str], dict[str, int]]:
    """Return the bags that can be used, their classes ("" for none) and names, and exclusions."""
    import numpy as np

    from workflow_lib.datasets.row_roles import codes_of, row_key

    codes, names = codes_of(table.strings(options.bag))
    for row in np.flatnonzero(codes < 0):
        raise UserError(
            place=table.where(row, options.bag),
            found="the name of the bag is missing",
            expected="the bag of every row",
            remedy="fill it in, or remove the row",
        )
    classes, class_names = codes_of(table.strings(options.classes))
    is_complete = ~np.isnan(rows).any(axis=1)
    excluded = dict.fromkeys((TWO_CLASSES, WITHOUT_ROWS, REPEATED, COPIED_CLASSES), 0)
    found: dict[bytes, list[tuple[str, str, np.ndarray]]] = {}
    first = np.unique(codes, return_index=True)[1]
    members = np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])
    for code in np.argsort(first):
        own = members[code]
        labels = [class_names[number] for number in np.unique(classes[own]) if number >= 0]
        values = rows[own[is_complete[own]]]
        if len(labels) > 1:
            excluded[TWO_CLASSES] += 1
        elif not len(values):
            excluded[WITHOUT_ROWS] += 1
        else:
            label = labels[0] if labels else ""
            # The order of the rows of a bag has no meaning.
            key = b"".join(sorted(map(row_key, values)))
            found.setdefault(key, []).append((names[code], label, values))
    kept = []
    for copies in found.values():
        labelled = {label for _, label, _ in copies if label}
        if len(labelled) > 1:
            excluded[COPIED_CLASSES] += len(copies)
            continue
        # A labelled copy says more than an unlabelled one.
        kept.append(next((copy for copy in copies if copy[1]), copies[0]))
        excluded[REPEATED] += len(copies) - 1
    return (
        [values for _, _, values in kept],
        [label for _, label, _ in kept],
        [name for name, _, _ in kept],
        excluded,
    )
