"""Tables in the text format ARFF."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from workflow_lib.core.errors import UserError

if TYPE_CHECKING:
    from workflow_lib.tabular.user_table import Table

_QUOTED = re.compile(r"""(?:^|,)\s*(['"])""")
"""The first value of a row that is in quotes, single or double."""

_IN_QUOTES = re.compile(r"""^(['"])(.*)\1$""")


def arff_table(
    text: str, location: str, missing: Collection[str] = ()
) -> tuple[Table, dict[str, Sequence[str]]]:
    """Return the table, and the classes of its nominal attributes by name.

    SciPy reads the header. It would read the rows too, but without the lines in its messages, and
    it accepts rows that are too long.

    `text` is the whole file, with dense rows of numeric and nominal attributes; cells are missing
    that are ``?`` or in `missing`.

    Raises UserError for a header that cannot be read, and naming the line of a sparse row or one of
    another number of values.
    """
    from workflow_lib.tabular.user_table import Table, cleaned

    lines = text.splitlines()
    begin = next((at for at, line in enumerate(lines, 1) if line.strip().lower() == "@data"), 0)
    names, classes = _header(location, lines[:begin])
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
                location=f"{location}, line {number}",
                found="a sparse row" if line.startswith("{") else f"{len(values)} values",
                expected=f"{len(names)} values, one per attribute, separated by commas",
                remedy="fix the row; a broken last row means a truncated file",
            )
        numbers.append(number)
        rows.append(values)
    columns = dict(zip(names, zip(*rows))) if rows else dict.fromkeys(names, ())
    marks = {"?", *missing}
    table = Table(
        location,
        names,
        {},
        lambda name: cleaned(columns[name], marks),
        numbers,
        unit="line",
        categories=classes,
    )
    return table, classes


def _header(location: str, lines: Sequence[str]) -> tuple[list[str], dict[str, Sequence[str]]]:
    """Return the names of the attributes, and the classes of the nominal ones."""
    from scipy.io.arff import loadarff

    from workflow_lib.tabular.user_table import checked_names

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
            location=f"{location}, header",
            found=f"it cannot be read ({str(error).strip() or type(error).__name__})",
            expected="lines '@attribute NAME numeric' (or real, integer) and '@attribute NAME "
            "{class, ...}', then @data and the rows",
            remedy="check that this is a complete ARFF file, and take attributes of other types "
            "and repeated names out of it",
        ) from error
    # SciPy removes single quotes only from names, and those of one kind from classes.
    names = checked_names(f"{location}, header", [name.strip('"') for name in kinds])
    return names, {
        name: [_IN_QUOTES.sub(r"\2", value) for value in values]
        for name, (_, values) in zip(names, kinds.values())
        if values
    }
