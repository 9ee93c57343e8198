"""Files of tables: text, Parquet or HDF5, each checked to be of the kind that its name says."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Sequence
from pathlib import Path

from workflow_lib.datasets import delimited_text
from workflow_lib.datasets.archives import unpacked_gzip
from workflow_lib.datasets.tables import SAVE_AS_CSV, file_content
from workflow_lib.datasets.typed_columns import hdf5_columns, parquet_columns
from workflow_lib.datasets.user_table import MISSING_VALUES, Table
from workflow_lib.errors import UserError, nearest_name

TEXT_ENDINGS = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
PARQUET_ENDINGS = (".parquet",)
HDF5_ENDINGS = (".h5", ".hdf5")
ENDINGS = (*TEXT_ENDINGS, *PARQUET_ENDINGS, *HDF5_ENDINGS)
"""The endings of the files that can be read, in small or capital letters."""

_PARQUET, _HDF5 = "a Parquet file", "an HDF5 file"
_FIRST_BYTES = (
    (b"PK\x03\x04", "a ZIP archive or a workbook of a spreadsheet (.xlsx, .ods)"),
    (b"\xd0\xcf\x11\xe0", "a workbook of a spreadsheet (.xls)"),
    (b"PAR1", _PARQUET),
    (b"\x89HDF\r\n\x1a\n", _HDF5),
    (b"\x1f\x8b", "a file compressed by gzip"),
    (b"%PDF", "a PDF document"),
    (b"\xff\xfe", "text in the encoding UTF-16"),
    (b"\xfe\xff", "text in the encoding UTF-16"),
)
_MARKUP = (b"<!doctype", b"<html", b"<?xml")


def read_table(
    path: str | Path,
    missing_values: Collection[str] = MISSING_VALUES,
    delimiter: str | None = None,
    keep_empty: bool = False,
) -> Table:
    """Read a table from a file of the kind given by its ending.

    ``.csv``, ``.tsv``, ``.txt`` (and each of them with ``.gz``)
        UTF-8 text with a header. Cells are stripped of surrounding space, quoted cells may hold
        delimiters and line ends, blank lines are skipped, and a delimiter at the end of every line
        is ignored.
    ``.parquet``
        Columns of numbers, texts, bool or dates; needs the optional package pyarrow.
    ``.h5``, ``.hdf5``
        One-dimensional HDF5 datasets of equal length in the root, one per column; or a single
        two-dimensional dataset whose attribute ``columns`` holds the names. Links are not followed.

    Parameters
    ----------
    path : str or path
    missing_values : collection of str, default=MISSING_VALUES
        Cells that count as missing, compared without surrounding space.
    delimiter : str, default=None
        The character between two values of a text file; None: that of
        `workflow_lib.datasets.delimited_text.DELIMITERS` by which the
        header has the most names.
    keep_empty : bool, default=False
        Whether rows of a text file whose cells are all empty are kept, for a result for each row;
        see `workflow_lib.datasets.delimited_text.text_table`.

    Returns
    -------
    Table

    Raises
    ------
    UserError
        Naming the file and the line or column that cannot be read.
    """
    file, place = Path(path), str(path)
    _check_file(file, place)
    ending = _ending(file, place)
    content = _content(file, place, ending)
    if ending in PARQUET_ENDINGS:
        return Table.from_columns(parquet_columns(content, place), place, missing_values)
    if ending in HDF5_ENDINGS:
        return Table.from_columns(hdf5_columns(content, place), place, missing_values)
    return delimited_text.text_table(content, place, missing_values, delimiter, keep_empty)


def read_source(path: Path, missing_values: Collection[str] = ("",), delimiter: str = ",") -> Table:
    """Return the table in a source file that is text, whatever its name; otherwise `read_table`."""
    content = file_content(path)
    return delimited_text.text_table(content, str(path), missing_values, delimiter)


def text_rows(path: str | Path, delimiter: str | None = None) -> tuple[list[int], list[list[str]]]:
    """Return the lines on which the rows of a text file begin, and the stripped cells of each.

    The first row may be a header or not; rows may have different lengths; blank rows are left out.
    `delimiter` is as in `read_table`.

    Raises
    ------
    UserError
        For a file that cannot be read, is not UTF-8 text, or has unpaired quotes.
    """
    file, place = Path(path), str(path)
    _check_file(file, place)
    ending = _ending(file, place, TEXT_ENDINGS)
    return delimited_text.text_rows(_content(file, place, ending), place, delimiter)


# Files


def _check_file(path: Path, place: str) -> None:
    if path.is_dir():
        raise UserError(
            place=place,
            found="this is a folder",
            expected="a file with a table",
            remedy="name the file in the folder",
        )
    if not path.exists():
        raise UserError(
            place=place,
            found="there is no such file",
            expected="the path of your table, from the folder in which you run the command",
            remedy=_remedy_for_missing(path),
        )


def _ending(path: Path, place: str, known: Sequence[str] = ENDINGS) -> str:
    name = path.name.lower()
    ending = next((ending for ending in sorted(known, key=len)[::-1] if name.endswith(ending)), "")
    if not ending:
        raise UserError(
            place=place,
            found=f"the ending '{path.suffix}' is not that of a table that can be read"
            if path.suffix
            else "the name has no ending",
            expected=f"a file that ends in {', '.join(known)}",
            remedy=f"{SAVE_AS_CSV}, or rename the file if it is one of these",
        )
    return ending


def _content(path: Path, place: str, ending: str) -> bytes:
    """Return the bytes of the file; refuse a file of another kind than its ending says."""
    try:
        content = path.read_bytes()
        if ending.endswith(".gz") and content:
            content = unpacked_gzip(content)
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(
            place=place,
            found=f"the file cannot be read ({error})",
            expected="a file that is whole and that you may read",
            remedy="fix the permissions, or write the file again",
        ) from error
    if not content:
        raise UserError(
            place=place,
            found="the file is empty",
            expected="a header and at least one row",
            remedy="write the file again",
        )
    wanted = {".parquet": _PARQUET, ".h5": _HDF5, ".hdf5": _HDF5}.get(ending, "UTF-8 text")
    kind = next((kind for start, kind in _FIRST_BYTES if content.startswith(start)), None)
    if kind == _PARQUET and not content.endswith(b"PAR1"):
        # The name of a column may begin with the same letters.
        kind = None
    if kind is None and content[:1000].lstrip(b"\xef\xbb\xbf \t\r\n").lower().startswith(_MARKUP):
        kind = "a page in HTML or XML"
    if kind != (wanted if wanted in (_PARQUET, _HDF5) else None):
        raise UserError(
            place=place,
            found=f"the file is {kind or 'text, or damaged'}, but its name ends in '{ending}'",
            expected=wanted,
            remedy=_remedy_for_kind(kind),
        )
    return content


def _remedy_for_missing(path: Path) -> str:
    folder = path.parent
    if not folder.is_dir():
        return f"fix the path: there is no folder '{folder}'"
    nearest = nearest_name(path.name, [other.name for other in folder.iterdir()])
    return f"write '{folder / nearest}'" if nearest else "fix the path"


def _remedy_for_kind(kind: str | None) -> str:
    if kind in (_PARQUET, _HDF5):
        return "rename the file, with the ending of its kind"
    if kind == "a file compressed by gzip":
        return "unpack it, or let its name end in .csv.gz"
    if kind == "a page in HTML or XML":
        return "download the table itself; a page was saved instead of it"
    return f"{SAVE_AS_CSV}; the name of a text file must end in .csv"
