"""Cells of CSV results, of which a spreadsheet takes none for a formula.

A spreadsheet runs a text that begins with ``=``, ``+``, ``-`` or ``@``, or with a tab or the end of
a line before these; names of the user's rows and columns are such texts at times, and may come from
others. An apostrophe before the text says that it is one. Numbers are written as they are.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

_FORMULA = re.compile("'*[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
"""Texts that are quoted: those with apostrophes already too, so that all can be read back. Excel
takes the wide signs of East Asian keyboards for the usual ones."""

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|nan)", re.ASCII)

SPREADSHEET_SAFE = "SPREADSHEET_SAFE"
"""Environment variable that a job sets to ``no`` where its texts are to be written as they are."""


class _Lines(io.StringIO):
    """Lines with line feeds, of a writer that quotes what holds a character of its own line end.
    With a line feed alone, it would not quote a carriage return, after which a spreadsheet begins a
    row."""

    END = "\r\n"

    def write(self, line: str) -> int:
        return super().write(line.removesuffix(self.END) + "\n")


def cell_of(value: Any) -> Any:
    """Return a value as it is written: a text that looks like a formula after an apostrophe."""
    is_formula = isinstance(value, str) and _FORMULA.match(value) and not _NUMBER.fullmatch(value)
    return f"'{value}" if is_formula and os.environ.get(SPREADSHEET_SAFE) != "no" else value


def text_of(cell: str) -> str:
    """Return the text of which `cell_of` made a cell."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def rows_as_csv(columns: Sequence[str], rows: Iterable[Iterable]) -> str:
    """Return a header and rows as CSV, with line feeds."""
    text = _Lines()
    writer = csv.writer(text, lineterminator=_Lines.END)
    writer.writerows([cell_of(value) for value in row] for row in (columns, *rows))
    return text.getvalue()


def frame_as_csv(frame: pd.DataFrame) -> str:
    """Return a frame as CSV without its index, with line feeds and every digit."""
    safe = frame.copy()
    for index, dtype in enumerate(frame.dtypes):
        if dtype.kind == "O":
            safe.isetitem(index, frame.iloc[:, index].astype(object).map(cell_of))
    text = _Lines()
    safe.rename(columns=cell_of).to_csv(text, index=False, lineterminator=_Lines.END)
    return text.getvalue()
