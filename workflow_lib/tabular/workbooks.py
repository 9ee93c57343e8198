"""Sheets of workbooks (.xlsx, .xlsm) as text, to be read like any other text of cells."""

import csv
import datetime
import io
import re
import warnings
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from workflow_lib.core.archives import DAMAGE, opened_zip
from workflow_lib.core.errors import UserError, nearest_name
from workflow_lib.core.optional_packages import not_installed
from workflow_lib.core.whole_files import write_bytes
from workflow_lib.tabular.tables import finite_number, listed_names, no_table

WORKBOOK_ENDING = ".xlsx"

MAX_CELLS, MAX_ROWS = 20_000_000, 1 << 20
"""Cells of a sheet, also those that are empty: one filled cell far away makes millions of them; and
rows, as many as a spreadsheet can have."""

_NUMBER = re.compile(r"-?(0|[1-9]\d{0,14})(\.\d+)?")

_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")
"""Characters that a workbook cannot hold."""

_MODIFIED = re.compile(rb"(<dcterms:modified[^>]*>)[^<]*(</dcterms:modified>)")


def sheet_text(
    content: bytes, location: str, sheet: str | None = None, or_first: bool = False
) -> tuple[bytes, list[str]]:
    """Return a sheet as CSV, a row on each line, and which of several it is, in words.

    Of formulas the stored value is taken. Dates are written in the form of ISO 8601. Rows above the
    first filled cell stay, and columns left of it are left out.

    Without the name of a `sheet` it is the first that is neither hidden nor empty, and with
    `or_first` also where no sheet has this name.

    Raises UserError when openpyxl is not installed, the file is damaged or would become too large,
    there is no such sheet, or all are empty.
    """
    openpyxl = _openpyxl(location, "save the table as CSV UTF-8")
    try:
        with opened_zip(io.BytesIO(content)), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
            found, rows, others = _chosen(book, location, sheet, or_first)
    except UserError:
        raise
    except (*DAMAGE, SyntaxError, TypeError, AttributeError, AssertionError) as error:
        raise UserError(
            location=location,
            found=f"the workbook is damaged ({error})",
            expected="a workbook of a spreadsheet (.xlsx)",
            remedy="open it in a spreadsheet and save it again, or save the table as CSV UTF-8",
        ) from error
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    note = f"the sheet '{found}' is read; others: {listed_names(others)}, to be chosen by sheet="
    return text.getvalue().encode(), [note] * bool(others)


def write_workbook(path: str | Path, columns: Mapping[str, Sequence]) -> None:
    """Write columns as a workbook of one sheet, whole or not at all; equal columns, equal bytes.

    Texts that are plain numbers become numbers, and all other texts stay texts, also those that
    begin as formulas do.

    `path` ends in ``.xlsx``; empty texts are empty cells.

    Raises UserError when openpyxl is not installed, or a sheet has fewer rows than the columns.
    """
    n_rows = max(map(len, columns.values()), default=0)
    if n_rows >= MAX_ROWS:
        raise UserError(
            location=str(path),
            found=f"{n_rows} rows",
            expected=f"fewer than {MAX_ROWS} rows, as many as a sheet can have",
            remedy="write CSV instead",
        )
    openpyxl = _openpyxl(str(path), "write CSV instead")
    book = openpyxl.Workbook(write_only=True)
    book.properties.created = book.properties.modified = datetime.datetime(1980, 1, 1)
    sheet = book.create_sheet("predictions")

    def cell(value: Any) -> Any:
        number = value
        if isinstance(value, str):
            # Not of codes such as 007.
            number = finite_number(value) if _NUMBER.fullmatch(value) else None
        if number is not None or value == "":
            return number
        found = openpyxl.cell.WriteOnlyCell(sheet, value=_UNPRINTABLE.sub("", value))
        found.data_type = "s"
        return found

    sheet.freeze_panes = "A2"
    for row in (columns, *zip(*columns.values(), strict=True)):
        sheet.append([cell(value) for value in row])
    written, dated = io.BytesIO(), io.BytesIO()
    book.save(written)
    # The archive holds the time of writing for each of its files.
    with zipfile.ZipFile(written) as source, zipfile.ZipFile(dated, "w") as target:
        for name in source.namelist():
            content = source.read(name)
            if name == "docProps/core.xml":
                content = _MODIFIED.sub(rb"\g<1>1980-01-01T00:00:00Z\g<2>", content)
            target.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    write_bytes(path, dated.getvalue())


def _openpyxl(location: str, instead: str) -> Any:
    """Return the package openpyxl; raise UserError where it is not installed."""
    try:
        import openpyxl
    except ImportError as error:
        raise not_installed("openpyxl", location, error, instead) from error
    return openpyxl


def _chosen(
    book: Any, location: str, sheet: str | None, or_first: bool
) -> tuple[str, list[list[str]], list[str]]:
    """Return the name of a sheet, its rows, and the names of the sheets that might be meant."""
    sheets = {item.title: item for item in book.worksheets}
    if sheet in sheets or (sheet is not None and not or_first):
        if sheet not in sheets:
            nearest = nearest_name(sheet, list(sheets))
            raise UserError(
                location=f"{location}, key sheet",
                found=f"there is no sheet '{sheet}'",
                expected=f"one of the sheets: {listed_names(list(sheets), 20)}",
                remedy=f"write sheet={nearest or next(iter(sheets), '')}",
            )
        return sheet, _rows(sheets[sheet], location), []
    visible = {name: item for name, item in sheets.items() if item.sheet_state == "visible"}
    for name, item in visible.items():
        if rows := _rows(item, location):
            return name, rows, [other for other in visible if other != name]
    raise no_table(location, "no sheet has a filled cell")


def _rows(sheet: Any, location: str) -> list[list[str]]:
    """Return the cells of a sheet as texts in rows of equal length; [] where all are empty."""
    # The size that a sheet states may be wrong.
    sheet.reset_dimensions()
    rows, width = [], 0
    for values in sheet.iter_rows(values_only=True):
        cells = [_text(value) for value in values]
        n_cells = max((at for at, cell in enumerate(cells, 1) if cell), default=0)
        rows.append(cells[:n_cells])
        width = max(width, n_cells)
        if len(rows) > MAX_ROWS or len(rows) * width > MAX_CELLS:
            raise UserError(
                location=f"{location}, sheet '{sheet.title}'",
                found=f"more than {MAX_ROWS} rows, or {MAX_CELLS} cells up to the last one",
                expected="a table of fewer cells",
                remedy="remove what stands far from the table, or save it as CSV UTF-8",
            )
    while rows and not rows[-1]:
        rows.pop()
    filled = (at for row in rows for at, cell in enumerate(row) if cell)
    start = min(filled, default=0)
    return [row[start:] + [""] * (width - max(len(row), start)) for row in rows]


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return value.date().isoformat()
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    # A line end within a cell would change the numbers of the rows below.
    return " ".join(value.split()) if isinstance(value, str) else str(value)
