"""Reader of ARFF tables whose last columns are the outputs, as in the Mulan benchmark.

The format: https://waikato.github.io/weka-wiki/formats_and_processing/arff_stable/. Numeric
and nominal attributes are read, dense rows only.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, Strict, StrictBool

from workflow_lib.config.base import Settings
from workflow_lib.datasets.tables import dataset_tree, only_source, read_text, rows_with_outputs
from workflow_lib.errors import UserError

if TYPE_CHECKING:
    import numpy as np

    from workflow_lib.datasets.user_table import Table


_QUOTED = re.compile(r"""(?:^|,)\s*(['"])""")
"""The first value of a row that is in quotes, single or double."""

_IN_QUOTES = re.compile(r"""^(['"])(.*)\1$""")


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
        Naming the file, the line, the column and the value that cannot be read.
    """
    import numpy as np

    path = only_source(sources, "arff")
    table, classes = _parse(path)
    n_inputs = len(table.names) - options.targets
    if n_inputs < 1:
        raise UserError(
            place=f"{path}, option targets",
            found=f"{options.targets} targets in a file of {len(table.names)} attributes",
            expected="fewer targets than attributes",
            remedy="fix targets in the options of the dataset",
        )
    input_names: list[str] = []
    blocks = []
    for name in table.names[:n_inputs]:
        if name in classes:
            input_names += [f"{name}={value}" for value in classes[name]]
            blocks.append(_indicators(table, name, classes[name]))
        else:
            input_names.append(name)
            blocks.append(table.matrix([name]))
    output_names = table.names[n_inputs:]
    inputs, outputs = rows_with_outputs(np.hstack(blocks), table.matrix(output_names))
    return dataset_tree(
        inputs,
        outputs,
        input_names,
        output_names,
        place=str(path),
        rows_read=table.n_rows,
        allow_constant_outputs=options.allow_constant_outputs,
    )


def _parse(path: Path) -> tuple[Table, dict[str, Sequence[str]]]:
    """Return the table, and the classes of its nominal attributes by name.

    SciPy reads the header. It would read the rows too, but without the lines in its messages, and
    it accepts rows that are too long.
    """
    from workflow_lib.datasets.typed_columns import cleaned
    from workflow_lib.datasets.user_table import Table

    lines = read_text(path).splitlines()
    begin = next((at for at, line in enumerate(lines, 1) if line.strip().lower() == "@data"), 0)
    names, classes = _header(path, lines[:begin])
    numbers, rows = [], []
    for number, line in enumerate(lines[begin:], begin + 1):
        line = line.strip()
        if not line or line.startswith("%"):
            continue
        quoted = _QUOTED.search(line)
        quote = quoted[1] if quoted else "'"
        values = next(csv.reader([line], quotechar=quote, skipinitialspace=True))
        if len(values) != len(names) or line.startswith("{"):
            raise UserError(
                place=f"{path}, line {number}",
                found="a sparse row" if line.startswith("{") else f"{len(values)} values",
                expected=f"{len(names)} values, one per attribute, separated by commas",
                remedy="fix the row; a broken last row means a truncated file",
            )
        numbers.append(number)
        rows.append(values)
    columns = dict(zip(names, zip(*rows))) if rows else dict.fromkeys(names, ())
    table = Table(
        str(path), names, {}, lambda name: cleaned(columns[name], ("?",)), numbers, unit="line"
    )
    return table, classes


def _header(path: Path, lines: Sequence[str]) -> tuple[list[str], dict[str, Sequence[str]]]:
    """Return the names of the attributes, and the classes of the nominal ones."""
    from scipy.io.arff import loadarff

    from workflow_lib.datasets.typed_columns import checked_names

    try:
        if not lines:
            raise ValueError("no @data line")
        header = loadarff(io.StringIO("\n".join([*lines, ""])))[1]
        kinds = {name: header[name] for name in header.names()}
        other = [kind for kind, _ in kinds.values() if kind not in ("numeric", "nominal")]
        if other:
            raise ValueError(f"an attribute of the type {other[0]}")
    # SciPy raises many kinds of errors.
    except Exception as error:
        raise UserError(
            place=f"{path}, header",
            found=f"it cannot be read ({str(error).strip() or type(error).__name__})",
            expected="lines '@attribute NAME numeric' (or real, integer) and '@attribute NAME "
            "{class, ...}', then @data and the rows",
            remedy="check that this is a complete ARFF file, and take attributes of other types "
            "and repeated names out of it",
        ) from error
    # SciPy removes single quotes only from names, and those of one kind from classes.
    names = checked_names(f"{path}, header", [name.strip('"') for name in kinds])
    return names, {
        name: [_IN_QUOTES.sub(r"\2", value) for value in values]
        for name, (_, values) in zip(names, kinds.values())
        if values
    }


def _indicators(table: Table, name: str, classes: Sequence[str]) -> np.ndarray:
    """Return one column per class: 1 where the row has it, 0 elsewhere, NaN where missing."""
    import numpy as np

    texts = table.strings(name)
    for row, text in enumerate(texts):
        if text and text not in classes:
            raise UserError(
                place=table.where(row, name),
                found=f"'{text}' is not a class of this attribute",
                expected=f"one of: {', '.join(classes)}",
                remedy="fix the value, or add the class to the @attribute line",
            )
    indicators = (texts[:, None] == np.array(classes, dtype=object)).astype(np.float64)
    indicators[texts == ""] = np.nan
    return indicators
