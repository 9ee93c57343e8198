"""Reader of tables of numbers in text files: CSV, or with another delimiter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, StrictBool

from workflow_lib.config.base import Settings
from workflow_lib.datasets.tables import dataset_tree, only_source, rows_with_outputs
from workflow_lib.errors import UserError


class Options(Settings):
    """Options of the reader ``csv``."""

    outputs: Annotated[tuple[str, ...], Field(min_length=1)]
    """Names of the columns to predict."""

    inputs: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    """Names of the columns to predict from; null: all others."""

    delimiter: Annotated[str, Field(min_length=1, max_length=1)] = ","
    """The character between two values."""

    missing_values: tuple[str, ...] = ("", "NA", "NaN", "nan", "?")
    """Marks of missing values, in addition to empty cells."""

    allow_constant_outputs: StrictBool = False
    """Whether an output that has the same value in every row is accepted."""


def read(options: Options, sources: Sequence[Path], seed: int) -> dict[str, Any]:
    """Return the dataset in the single file of `sources`; `seed` is not used.

    The first line holds the names of the columns, every further line a row of numbers; blank
    lines are skipped. Missing inputs are NaN; rows with a missing output are dropped and
    counted. Columns that are neither inputs nor outputs may hold anything.

    Raises
    ------
    UserError
        Naming the file, the line, the column and the value that cannot be read.
    """
    from workflow_lib.datasets.table_file import read_source

    path = only_source(sources, "csv")
    table = read_source(path, options.missing_values, options.delimiter)
    inputs = options.inputs
    if inputs is None:
        inputs = [name for name in table.names if name not in options.outputs]
    for name, count in Counter((*inputs, *options.outputs)).items():
        if count > 1:
            raise UserError(
                place=f"{path}, options inputs and outputs",
                found=f"the column '{name}' is named {count} times",
                expected="every column once, as an input or as an output",
                remedy="remove all but one of its names",
            )
    known_inputs, known_outputs = rows_with_outputs(
        table.matrix(inputs), table.matrix(options.outputs)
    )
    return dataset_tree(
        known_inputs,
        known_outputs,
        inputs,
        options.outputs,
        place=str(path),
        rows_read=table.n_rows,
        allow_constant_outputs=options.allow_constant_outputs,
    )
