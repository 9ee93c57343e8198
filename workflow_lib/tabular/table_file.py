"""Files of tables: text, workbooks, Parquet or HDF5, each of the kind that its name says."""

import zlib
from collections.abc import Collection, Sequence
from pathlib import Path

from workflow_lib.core.archives import unpacked_gzip
from workflow_lib.core.errors import UserError, nearest_name
from workflow_lib.tabular import delimited_text
from workflow_lib.tabular.arff_text import arff_table
from workflow_lib.tabular.fasta_text import fasta_entries
from workflow_lib.tabular.tables import SAVE_AS_CSV, checked_text, file_content
from workflow_lib.tabular.typed_columns import FROM_MATLAB, MATLAB, hdf5_columns, parquet_columns
from workflow_lib.tabular.user_table import MISSING_VALUES, Table, cleaned
from workflow_lib.tabular.workbooks import sheet_text

TEXT_ENDINGS = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
PARQUET_ENDINGS = (".parquet",)
HDF5_ENDINGS = (".h5", ".hdf5", ".mat")
WORKBOOK_ENDINGS = (".xlsx", ".xlsm")
ARFF_ENDINGS = (".arff",)
FASTA_ENDINGS = (".fasta", ".fa", ".faa", ".fna")
_BINARY = (*WORKBOOK_ENDINGS, *PARQUET_ENDINGS, *HDF5_ENDINGS)
ENDINGS = (*TEXT_ENDINGS, *_BINARY, *ARFF_ENDINGS, *FASTA_ENDINGS)
"""The endings of the files that can be read, in small or capital letters."""

_PARQUET, _HDF5, _GZIP = "a Parquet file", "an HDF5 file", "a file compressed by gzip"
_OLD_MATLAB = "a file of MATLAB before version 7.3"
_ZIP = "a ZIP archive or a workbook of a spreadsheet (.xlsx, .ods)"
_PAGE = "a page in HTML or XML"
_FIRST_BYTES = (
    (b"PK\x03\x04", _ZIP),
    (b"\xd0\xcf\x11\xe0", "a workbook of a spreadsheet, of an old kind (.xls) or with a password"),
    (b"PAR1", _PARQUET),
    (b"\x89HDF\r\n\x1a\n", _HDF5),
    (MATLAB, _HDF5),
    (b"MATLAB 5.0 MAT-file", _OLD_MATLAB),
    (b"\x1f\x8b", _GZIP),
    (b"%PDF", "a PDF document"),
    (b"\xff\xfe", "text in the encoding UTF-16"),
    (b"\xfe\xff", "text in the encoding UTF-16"),
)
_MARKUP = (b"<!doctype", b"<html", b"<?xml")
_REMEDIES = {
    _ZIP: f"let its name end in .xlsx, if it is such a workbook, or {SAVE_AS_CSV}",
    _PARQUET: "rename the file, with the ending of its kind",
    _HDF5: "rename the file, with the ending of its kind",
    _GZIP: "unpack it, or let its name end in .csv.gz",
    _OLD_MATLAB: FROM_MATLAB,
    _PAGE: "download the table itself; a page was saved instead of it",
}


def read_table(
    path: str | Path,
    missing_values: Collection[str] = MISSING_VALUES,
    delimiter: str | None = None,
    keep_empty: bool = False,
    sheet: str | None = None,
) -> Table:
    """Read a table from a file of the kind given by its ending.

    ``.csv``, ``.tsv``, ``.txt`` (and each of them with ``.gz``)
        UTF-8 text with a header. Lines around the table are passed over where it is clear which
        they are (`workflow_lib.tabular.delimited_text`). Cells are stripped of surrounding
        space, quoted cells may hold delimiters and line ends, blank lines are skipped, and a
        delimiter at the end of every line is ignored.
    ``.xlsx``, ``.xlsm``
        A sheet of a workbook, read like text; needs the optional package openpyxl.
    ``.arff``
        Nominal attributes are categories.
    ``.parquet``
        Columns of numbers, texts, bool or dates; needs the optional package pyarrow. Dictionaries
        are categories.
    ``.h5``, ``.hdf5``, ``.mat`` (of MATLAB 7.3)
        One-dimensional HDF5 datasets of equal length in the root, one per column, also of the
        shapes (n, 1) and (1, n); or a single two-dimensional dataset whose attribute ``columns``
        holds the names. Enumerations are categories. Links are not followed.
    ``.fasta``, ``.fa``, ``.faa``, ``.fna``
        Sequences with headers, as the columns ``class`` (the first word of the header), ``header``
        (all of it) and ``sequence``.

    Raises UserError naming the file and the line or column that cannot be read.

    Parameters
    ----------
    missing_values : collection of str, default=MISSING_VALUES
        Cells that count as missing, compared without surrounding space.
    delimiter : str, default=None
        The character between two values of a text file; None: that of
        `workflow_lib.tabular.delimited_text.DELIMITERS` by which the header has the most
        names.
    keep_empty : bool, default=False
        Whether rows of a text file whose cells are all empty are kept, for a result for each row;
        see `workflow_lib.tabular.delimited_text.text_table`. Then a workbook need not have the
        `sheet`.
    sheet : str, default=None
        Name of the sheet of a workbook; None: the first that is neither hidden nor empty.
    """
    location, ending, content = _checked_file(path, ENDINGS)
    if ending in (*PARQUET_ENDINGS, *HDF5_ENDINGS):
        columns_of = parquet_columns if ending in PARQUET_ENDINGS else hdf5_columns
        columns, categories = columns_of(content, location)
        return Table.from_columns(columns, location, missing_values, categories)
    if ending in ARFF_ENDINGS:
        return arff_table(checked_text(content, location), location, missing_values)[0]
    if ending in WORKBOOK_ENDINGS:
        content, notes = sheet_text(content, location, sheet, or_first=keep_empty)
        table = delimited_text.text_table(
            content, location, missing_values, ",", keep_empty, as_it_comes=True, unit="row"
        )
        table.notes[:0] = notes
        return table
    if ending in FASTA_ENDINGS:
        lines, headers, sequences = zip(*fasta_entries(checked_text(content, location), location))
        classes = [header.partition(" ")[0] for header in headers]
        columns = {"class": classes, "header": headers, "sequence": sequences}
        # No cell but the class can be missing.
        arrays = {name: cleaned(values, ()) for name, values in columns.items()}
        return Table(location, list(arrays), {}, arrays.__getitem__, lines, "line")
    return delimited_text.text_table(
        content, location, missing_values, delimiter, keep_empty, as_it_comes=True
    )


def read_source(
    path: Path,
    missing_values: Collection[str] = ("",),
    delimiter: str = ",",
    as_it_comes: bool = False,
) -> Table:
    """Return the table in a source file that is text, whatever its name; otherwise `read_table`."""
    content = file_content(path)
    return delimited_text.text_table(
        content, str(path), missing_values, delimiter, as_it_comes=as_it_comes
    )


def text_rows(path: str | Path) -> tuple[list[int], list[list[str]]]:
    """Return the lines on which the rows of a text file begin, and the stripped cells of each.

    The first row may be a header or not; rows may have different lengths; blank rows are left out.

    Raises UserError for a file that cannot be read, is not UTF-8 text, or has unpaired quotes.
    """
    location, _, content = _checked_file(path, TEXT_ENDINGS)
    return delimited_text.text_rows(content, location)


def _checked_file(path: str | Path, known: Sequence[str]) -> tuple[str, str, bytes]:
    """Return the path for messages, which of the endings `known` it has, and the bytes of the file.
    A file of another kind than its ending says is refused."""
    file, location = Path(path), str(path)
    if not file.is_file():
        is_folder = file.is_dir()
        raise UserError(
            location=location,
            found="this is a folder" if is_folder else "there is no such file",
            expected="the path of your table, from the folder in which you run the command",
            remedy="name the file in the folder" if is_folder else _remedy_for_missing(file),
        )
    name = file.name.lower()
    ending = max((ending for ending in known if name.endswith(ending)), key=len, default="")
    if not ending:
        raise UserError(
            location=location,
            found=f"the ending '{file.suffix}' is not that of a table that can be read"
            if file.suffix
            else "the name has no ending",
            expected=f"a file that ends in {', '.join(known)}",
            remedy=f"{SAVE_AS_CSV}, or rename the file if it is one of these",
        )
    try:
        content = file.read_bytes()
        if ending.endswith(".gz") and content:
            content = unpacked_gzip(content)
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(
            location=location,
            found=f"the file cannot be read ({error})",
            expected="a file that is whole and that you may read",
            remedy="fix the permissions, or write the file again",
        ) from error
    wanted = dict(zip(_BINARY, (_ZIP, _ZIP, _PARQUET, _HDF5, _HDF5, _HDF5))).get(ending)
    kind = next((kind for start, kind in _FIRST_BYTES if content.startswith(start)), None)
    if kind == _PARQUET and not content.endswith(b"PAR1"):
        # The name of a column may begin with the same letters.
        kind = None
    if kind is None and content[:1000].lstrip(b"\xef\xbb\xbf \t\r\n").lower().startswith(_MARKUP):
        kind = _PAGE
    if kind != wanted:
        raise UserError(
            location=location,
            found=f"the file is {kind or 'text, or damaged'}, but its name ends in '{ending}'",
            expected=wanted or "UTF-8 text",
            remedy=_REMEDIES.get(kind, f"{SAVE_AS_CSV}; its name must end in .csv"),
        )
    return location, ending, content


def _remedy_for_missing(path: Path) -> str:
    folder = path.parent
    if not folder.is_dir():
        return f"fix the path: there is no folder '{folder}'"
    nearest = nearest_name(path.name, [other.name for other in folder.iterdir()])
    return f"write '{folder / nearest}'" if nearest else "fix the path"
