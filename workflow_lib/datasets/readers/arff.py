"""Reader of ARFF tables whose last columns are the outputs, as in the Mulan benchmark.

`scipy.io.arff` reads numeric and nominal attributes of dense rows. It takes the quotes of all rows
from the first one and a space for a part of a value, so that rows are split here; and it names no
line, which is found here where it fails.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, Strict, StrictBool

from workflow_lib.config.base import Settings
from workflow_lib.datasets.tables import dataset_tree, only_source, read_text, rows_with_outputs
from workflow_lib.errors import UserError

if TYPE_CHECKING:
    import numpy as np

Rows = list[tuple[int, str]]


class Options(Settings):
    """Options of the reader ``arff``."""

    targets: Annotated[int, Strict(), Field(ge=1)]
    """How many of the last attributes are outputs; all before them are inputs."""

    allow_constant_outputs: StrictBool = False
    """Whether an output that has the same value in every row is accepted."""


def read(options: Options, sources: Sequence[Path], seed: int) -> dict[str, Any]:
    """Return the dataset in the single ARFF file of `sources`; `seed` is not used.

    Nominal inputs become one indicator column per declared class, named ``name=class``. A
    missing input (``?``) is NaN, in all indicator columns when it is nominal; rows with a
    missing output are dropped and counted. Nominal outputs are read as numbers.

    Raises
    ------
    UserError
        Naming the file, the line and the value that cannot be read.
    """
    import numpy as np

    path = only_source(sources, "arff")
    header, rows = _parts(path)
    attributes = _load(path, header, [])[1]
    names = attributes.names()
    n_inputs = len(names) - options.targets
    if n_inputs < 1:
        raise UserError(
            place=f"{path}, option targets",
            found=f"{options.targets} targets in a file of {len(names)} attributes",
            expected="fewer targets than attributes",
            remedy="fix targets in the options of the dataset",
        )
    table, _ = _load(path, header, _split(path, rows, len(names)))
    input_names: list[str] = []
    blocks = []
    for name in names[:n_inputs]:
        classes = attributes[name][1]
        if classes is None:
            input_names.append(_unquoted(name))
            blocks.append(table[name][:, None])
        else:
            input_names += [f"{_unquoted(name)}={value}" for value in classes]
            values = np.char.decode(table[name], "utf-8")[:, None]
            blocks.append(np.where(values == "?", np.nan, values == np.array(classes)))
    outputs = np.column_stack([_numbers(path, name, table[name]) for name in names[n_inputs:]])
    inputs, outputs = rows_with_outputs(np.hstack(blocks), outputs)
    return dataset_tree(
        inputs,
        outputs,
        input_names,
        [_unquoted(name) for name in names[n_inputs:]],
        place=str(path),
        rows_read=len(rows),
        allow_constant_outputs=options.allow_constant_outputs,
    )


def _parts(path: Path) -> tuple[str, Rows]:
    """Return the header, the line ``@data`` included, and the rows with their line numbers."""
    lines = read_text(path).splitlines()
    is_data = [line.strip().lower() == "@data" for line in lines]
    if not any(is_data):
        raise UserError(
            place=str(path),
            found="no @data line",
            expected="an ARFF file: @attribute lines, then @data, then rows",
            remedy="check that the file is complete",
        )
    begin = is_data.index(True) + 1
    numbered = enumerate((line.strip() for line in lines[begin:]), start=begin + 1)
    rows = [(number, line) for number, line in numbered if line and not line.startswith("%")]
    return "\n".join(lines[:begin]) + "\n", rows


def _split(path: Path, rows: Rows, n_columns: int) -> Rows:
    """Return rows without quotes and spaces around values; refuse those of another length."""
    plain = []
    for number, line in rows:
        quote = "'" if ("'" in line and '"' not in line) else '"'
        values = next(csv.reader([line], quotechar=quote, skipinitialspace=True))
        if len(values) != n_columns or any("," in value for value in values):
            raise UserError(
                place=f"{path}, line {number}",
                found=f"{len(values)} values in '{line[:60]}'",
                expected=f"{n_columns} values without commas, one per attribute",
                remedy="fix the row; a broken last row means a truncated file, and a row in braces "
                "is sparse",
            )
        plain.append((number, ",".join(value.strip() for value in values)))
    return plain


def _load(path: Path, header: str, rows: Rows) -> tuple[np.ndarray, Any]:
    """Return the table and the attributes, as SciPy reads them."""
    from scipy.io import arff

    try:
        return arff.loadarff(StringIO(header + "\n".join(line for _, line in rows)))
    # SciPy raises many kinds of errors, some of them by accident.
    except Exception as error:
        if len(rows) > 1:
            for row in rows:
                _load(path, header, [row])
        raise UserError(
            place=f"{path}, line {rows[0][0]}" if rows else f"{path}, above the line @data",
            found=f"{error or type(error).__name__}",
            expected="numeric and nominal attributes, and rows with their values",
            remedy="fix the file, and take attributes of other types out of it",
        ) from error


def _unquoted(name: str) -> str:
    """Return a name without double quotes, which SciPy keeps."""
    return name[1:-1] if len(name) > 1 and name[0] == name[-1] == '"' else name


def _numbers(path: Path, name: str, values: np.ndarray) -> np.ndarray:
    """Return an output; the classes of a nominal one must be numbers."""
    try:
        return values.astype(str if values.dtype.kind == "S" else float).astype(float)
    except ValueError as error:
        raise UserError(
            place=f"{path}, attribute '{name}'",
            found=str(error),
            expected="an output that is a number",
            remedy="fix targets in the options of the dataset, or write its classes as numbers",
        ) from error
