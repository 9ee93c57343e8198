"""Reader of tables of numbers in text files: CSV, or with another delimiter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, StrictBool

from workflow_lib.core.errors import UserError
from workflow_lib.core.settings import Settings
from workflow_lib.tabular.tables import dataset_tree, only_source, rows_with_outputs

if TYPE_CHECKING:
    from workflow_lib.tabular.user_table import Table


class Options(Settings):
    """Options of the reader ``csv``."""

    outputs: Annotated[tuple[str, ...], Field(min_length=1)]
    """Names of the columns to predict, or patterns such as ``y_*``."""

    inputs: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    """Names of the columns to predict from, or patterns such as ``x_*``; null: all others but
    `group`."""

    group: str | None = None
    """Column of groups of rows that a grouped split never separates; it may be an input as well.
    Rows without a group are left out."""

    delimiter: Annotated[str, Field(min_length=1, max_length=1)] = ","
    """The character between two values."""

    missing_values: tuple[str, ...] = ("", "NA", "NaN", "nan", "?")
    """Marks of missing values, in addition to empty cells."""

    allow_constant_outputs: StrictBool = False
    """Whether an output that has the same value in every row is accepted."""

    as_it_comes: StrictBool = False
    """Whether lines around the table are passed over, and a first column of names or numbers of
    the rows may lack a name; it is called `row`."""


def read(options: Options, sources: Sequence[Path], seed: int) -> dict[str, Any]:
    """Return the dataset in the single file of `sources`; `seed` is not used.

    The first line holds the names of the columns, every further line a row of numbers; blank
    lines are skipped. Missing inputs are NaN; rows with a missing output or group are dropped and
    counted. Columns that are neither inputs nor outputs may hold anything.

    Raises UserError naming the file, the line, the column and the value that cannot be read.
    """
    import numpy as np

    from workflow_lib.tabular.row_roles import codes_of
    from workflow_lib.tabular.table_file import read_source

    path = only_source(sources, "csv")
    table = read_source(path, options.missing_values, options.delimiter, options.as_it_comes)
    outputs = _columns(table, options.outputs, "outputs")
    if options.inputs is None:
        inputs = [name for name in table.names if name not in (*outputs, options.group)]
    else:
        inputs = _columns(table, options.inputs, "inputs")
    for name, count in Counter((*inputs, *outputs)).items():
        if count > 1:
            raise UserError(
                location=f"{path}, options inputs and outputs",
                found=f"the column '{name}' is named {count} times",
                expected="every column once, as an input or as an output",
                remedy="remove all but one of its names",
            )
    n_read, groups = table.n_rows, {}
    if options.group is not None:
        codes = codes_of(table.strings(options.group))[0]
        has_outputs = ~np.isnan(table.matrix(outputs)).any(axis=1)
        table = table.selected((codes >= 0) & has_outputs)
        groups["groups"] = {"group": codes_of(table.strings(options.group))[0]}
    known_inputs, known_outputs = rows_with_outputs(table.matrix(inputs), table.matrix(outputs))
    return dataset_tree(
        known_inputs,
        known_outputs,
        inputs,
        outputs,
        location=str(path),
        rows_read=n_read,
        allow_constant_outputs=options.allow_constant_outputs,
        **groups,
    )


def _columns(table: Table, patterns: Sequence[str], option: str) -> list[str]:
    """Return the columns that match each of `patterns`, in their order."""
    return [name for pattern in patterns for name in table.matching([pattern], option)]
