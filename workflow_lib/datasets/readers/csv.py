"""Reader of tables of numbers in text files: CSV, or with another delimiter."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, StrictBool

from workflow_lib.config.base import Settings
from workflow_lib.datasets.csv_rows import csv_rows
from workflow_lib.datasets.tables import (
    dataset_tree,
    only_source,
    parse_number,
    rows_with_outputs,
)
from workflow_lib.errors import UserError, unknown_name


class Options(Settings):
    """Options of the reader ``csv``."""

    outputs: Annotated[tuple[str, ...], Field(min_length=1)]
    """Names of the columns to predict."""

    inputs: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    """Names of the columns to predict from; null: all others."""

    delimiter: Annotated[str, Field(min_length=1, max_length=1)] = ","
    """The character between two values."""

    missing_values: tuple[str, ...] = ("", "NA", "NaN", "nan", "?")
    """Marks of missing values."""

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
    import numpy as np

    path = only_source(sources, "csv")
    header, rows = csv_rows(path, options.delimiter)
    outputs = _columns(path, header, options.outputs, "outputs")
    if options.inputs is None:
        inputs = [column for column in range(len(header)) if column not in outputs]
    else:
        inputs = _columns(path, header, options.inputs, "inputs")
    shared = [header[column] for column in inputs if column in outputs]
    if shared:
        raise UserError(
            place=f"{path}, options inputs and outputs",
            found=f"the column '{shared[0]}' is both an input and an output",
            expected="every column in at most one of the two",
            remedy="take it out of inputs or of outputs",
        )

    def numbers(columns: list[int]) -> np.ndarray:
        table = np.empty((len(rows), len(columns)))
        for row, (number, values) in enumerate(rows):
            for position, column in enumerate(columns):
                place = f"{path}, line {number}, column {column + 1} ('{header[column]}')"
                table[row, position] = parse_number(values[column], options.missing_values, place)
        return table

    known_inputs, known_outputs = rows_with_outputs(numbers(inputs), numbers(outputs))
    return dataset_tree(
        known_inputs,
        known_outputs,
        [header[column] for column in inputs],
        [header[column] for column in outputs],
        place=str(path),
        rows_read=len(rows),
        allow_constant_outputs=options.allow_constant_outputs,
    )


def _columns(path: Path, header: list[str], names: Sequence[str], option: str) -> list[int]:
    for position, name in enumerate(names):
        if name not in header:
            raise unknown_name(f"{path}, option {option}", "column", name, header)
        if name in names[:position]:
            raise UserError(
                place=f"{path}, option {option}",
                found=f"the column '{name}' is listed twice",
                expected="every column once",
                remedy="remove one of the two",
            )
    return [header.index(name) for name in names]
