"""Reader of ARFF tables whose last columns are the outputs, as in the Mulan benchmark.

The format: https://waikato.github.io/weka-wiki/formats_and_processing/arff_stable/. Numeric
and nominal attributes are read, dense rows only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pydantic import Field, Strict, StrictBool

from workflow_lib.config.base import Settings
from workflow_lib.datasets.tables import (
    dataset_tree,
    only_source,
    parse_number,
    read_text,
    rows_with_outputs,
)
from workflow_lib.errors import UserError

if TYPE_CHECKING:
    import numpy as np

_MISSING = ("?",)
_ATTRIBUTE = re.compile(
    r"""@attribute \s+ ( '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" | [^\s{]+ ) \s* (.*)""",
    re.IGNORECASE | re.VERBOSE,
)
_QUOTED = re.compile(r"""\s*( '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" )\s*(,|\Z)""", re.VERBOSE)
_PLAIN = re.compile(r"([^,]*)(,|\Z)")


class Options(Settings):
    """Options of the reader ``arff``."""

    targets: Annotated[int, Strict(), Field(ge=1)]
    """How many of the last attributes are outputs; all before them are inputs."""

    allow_constant_outputs: StrictBool = False
    """Whether an output that has the same value in every row is accepted."""


class Attribute(NamedTuple):
    """A column of an ARFF table: its name, and its classes if it is nominal, otherwise None."""

    name: str
    classes: tuple[str, ...] | None


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
    attributes, rows = _parse(path)
    n_inputs = len(attributes) - options.targets
    if n_inputs < 1:
        raise UserError(
            place=f"{path}, option targets",
            found=f"{options.targets} targets in a file of {len(attributes)} attributes",
            expected="fewer targets than attributes",
            remedy="fix targets in the options of the dataset",
        )
    input_names: list[str] = []
    blocks = []
    for column, attribute in enumerate(attributes[:n_inputs]):
        if attribute.classes is None:
            input_names.append(attribute.name)
            blocks.append(_numbers(path, attribute, column, rows)[:, None])
        else:
            input_names += [f"{attribute.name}={value}" for value in attribute.classes]
            blocks.append(_indicators(path, attribute, column, rows))
    outputs = np.column_stack(
        [
            _numbers(path, attributes[column], column, rows)
            for column in range(n_inputs, len(attributes))
        ]
    )
    inputs, outputs = rows_with_outputs(np.hstack(blocks), outputs)
    return dataset_tree(
        inputs,
        outputs,
        input_names,
        [attribute.name for attribute in attributes[n_inputs:]],
        place=str(path),
        rows_read=len(rows),
        allow_constant_outputs=options.allow_constant_outputs,
    )


def _parse(path: Path) -> tuple[list[Attribute], list[tuple[int, list[str]]]]:
    """Return the attributes and, for each row, its line number and its values as texts."""
    attributes: list[Attribute] = []
    rows: list[tuple[int, list[str]]] = []
    in_data = False
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        line = line.strip()
        if not line or line.startswith("%"):
            continue
        if in_data:
            rows.append((number, _values(path, number, line, len(attributes))))
        elif line.lower().startswith("@attribute"):
            attributes.append(_attribute(path, number, line))
        elif line.lower() == "@data":
            _refuse_repeated(path, attributes)
            in_data = True
        elif not line.lower().startswith("@relation"):
            raise UserError(
                place=f"{path}, line {number}",
                found=f"'{line[:60]}' in the header",
                expected="@relation, @attribute, @data or a comment that starts with %",
                remedy="check that this is an ARFF file",
            )
    if not in_data or not attributes:
        raise UserError(
            place=str(path),
            found="no @data line" if attributes else "no @attribute line",
            expected="an ARFF file: @attribute lines, then @data, then rows",
            remedy="check that the file is complete",
        )
    return attributes, rows


def _attribute(path: Path, number: int, line: str) -> Attribute:
    match = _ATTRIBUTE.match(line)
    kind = match.group(2).strip() if match else ""
    name = _unquoted(match.group(1)) if match else ""
    if kind.lower() in ("numeric", "real", "integer"):
        return Attribute(name, None)
    if kind.startswith("{") and kind.endswith("}"):
        return Attribute(name, tuple(_split(kind[1:-1])))
    raise UserError(
        place=f"{path}, line {number}",
        found=f"'{line[:60]}'",
        expected="@attribute NAME numeric (or real, integer), or @attribute NAME {class, ...}",
        remedy="take attributes of other types out of the file",
    )


def _values(path: Path, number: int, line: str, n_columns: int) -> list[str]:
    if line.startswith("{"):
        raise UserError(
            place=f"{path}, line {number}",
            found="a sparse row",
            expected="dense rows: values separated by commas",
            remedy="write the file again without sparse rows",
        )
    values = _split(line)
    if len(values) != n_columns:
        raise UserError(
            place=f"{path}, line {number}",
            found=f"{len(values)} values",
            expected=f"{n_columns} values, one per attribute",
            remedy="fix the row; a broken last row means a truncated file",
        )
    return values


def _split(text: str) -> list[str]:
    """Split at commas outside of quotes, and strip spaces and quotes from the values."""
    if "'" not in text and '"' not in text:
        return [part.strip() for part in text.split(",")]
    values = []
    position, comma = 0, ","
    while comma:
        match = _QUOTED.match(text, position) or _PLAIN.match(text, position)
        value, comma = match.groups()
        values.append(_unquoted(value.strip()))
        position = match.end()
    return values


def _unquoted(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    return text


def _refuse_repeated(path: Path, attributes: Sequence[Attribute]) -> None:
    seen: set[str] = set()
    for attribute in attributes:
        if attribute.name in seen:
            raise UserError(
                place=str(path),
                found=f"two attributes are named '{attribute.name}'",
                expected="different names",
                remedy="rename one of them",
            )
        seen.add(attribute.name)


def _place(path: Path, number: int, attribute: Attribute, column: int) -> str:
    return f"{path}, line {number}, column {column + 1} ('{attribute.name}')"


def _numbers(
    path: Path, attribute: Attribute, column: int, rows: Sequence[tuple[int, list[str]]]
) -> np.ndarray:
    import numpy as np

    return np.array(
        [
            parse_number(values[column], _MISSING, _place(path, number, attribute, column))
            for number, values in rows
        ],
        dtype=np.float64,
    )


def _indicators(
    path: Path, attribute: Attribute, column: int, rows: Sequence[tuple[int, list[str]]]
) -> np.ndarray:
    """Return one column per class: 1 where the row has it, 0 elsewhere, NaN where missing."""
    import numpy as np

    position = {value: place for place, value in enumerate(attribute.classes)}
    indicators = np.zeros((len(rows), len(position)))
    for row, (number, values) in enumerate(rows):
        value = values[column]
        if value in position:
            indicators[row, position[value]] = 1.0
        elif value in _MISSING:
            indicators[row] = np.nan
        else:
            raise UserError(
                place=_place(path, number, attribute, column),
                found=f"'{value}' is not a class of this attribute",
                expected=f"one of: {', '.join(attribute.classes)}",
                remedy="fix the value, or add the class to the @attribute line",
            )
    return indicators
