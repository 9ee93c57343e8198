"""Tables: the checks of every reader before its inputs and outputs become a dataset."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from workflow_lib.core.errors import UserError
from workflow_lib.items.sparse_inputs import is_sparse, joined_terms, sparse_tree

if TYPE_CHECKING:
    import numpy as np
    from scipy.sparse import csr_array

_ERRORS = ("#N/A", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!")
"""What spreadsheets show instead of a number that cannot be computed."""

MISSING_VALUES = ("", "NA", "NaN", "nan", "?", "null", "None", "N/A", *_ERRORS)
"""Marks of missing values in a table of the user; an empty cell is always missing."""

SAVE_AS_CSV = "in a spreadsheet, save the table as 'CSV UTF-8'"
"""Remedy for a table in the format of a spreadsheet program."""

NO_ROWS, BLANK = "0 rows below the names of the columns", "every line is blank"
"""What is found in a table without rows."""

FETCH_AGAIN = "fetch the file again, or fix it"
"""Remedy for a source with another content than expected."""

MAX_LINE_LENGTH = 1 << 24
"""Bytes of a line, a million numbers of sixteen digits: a line is split into its values at once,
which takes many times its size in memory."""


def wrong_source(location: str, found: str, expected: str) -> UserError:
    """Return the error for a source with another content than `expected`."""
    return UserError(location, found, expected, FETCH_AGAIN)


def no_table(location: str, found: str) -> UserError:
    """Return the error for a table without columns or without rows."""
    return UserError(location, found, "a header and at least one row", "write the file again")


def composed(text: str) -> str:
    """Return a text without surrounding space, in the Unicode normal form NFC."""
    text = text.strip()
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def finite_number(text: str) -> float | None:
    """Return the finite decimal number in `text`, or None."""
    try:
        # Python reads 1_000 as a number; in a table it is a mistake or a code.
        number = float("" if "_" in text else text)
    except ValueError:
        return None
    return number if number - number == 0.0 else None


def parse_number(text: str, missing_values: Sequence[str], location: str) -> float:
    """Return the number written in `text`, NaN when it is one of `missing_values`.

    Raises UserError naming `location` and the value, when `text` is not a finite decimal number.
    """
    text = text.strip()
    if text in missing_values:
        return float("nan")
    number = finite_number(text)
    if number is None:
        marks = ", ".join(repr(mark) for mark in missing_values)
        raise UserError(
            location=location,
            found=f"'{text}' is not a finite number",
            expected="a decimal number such as 3.25"
            + (f", or one of the marks of a missing value: {marks}" if marks else ""),
            remedy="fix the value, or leave this column out",
        )
    return number


def numbers_of(
    texts: Sequence[str], location: str, remedy: str, precision: type = float
) -> np.ndarray:
    """Return the finite decimal numbers (m,) in m texts without surrounding space.

    Raises UserError naming `location` and the column, from 1, of a text that is not a number, or
    not finite in the `precision`.
    """
    import numpy as np

    try:
        with np.errstate(over="ignore"):
            numbers = np.array(texts, dtype=precision)
        if np.isfinite(numbers).all() and "_" not in "".join(texts):
            return numbers
    except ValueError:
        pass
    largest = float(np.finfo(precision).max)
    column, text = next(
        (column, text)
        for column, text in enumerate(texts, start=1)
        if (number := finite_number(text)) is None or abs(number) > largest
    )
    raise UserError(
        location=f"{location}, column {column}",
        found=f"'{text}' is not a finite number",
        expected="a decimal number such as 3.25",
        remedy=remedy,
    )


def listed(values: Sequence[Any], most: int = 10) -> str:
    """Return the first `most` of `values` as a text, and how many more there are."""
    shown = ", ".join(str(value) for value in values[:most])
    return shown if len(values) <= most else f"{shown} and {len(values) - most} more"


def listed_names(names: Sequence[str], most: int = 5) -> str:
    """Return the first `most` of `names` in quotes as a text, and how many more there are."""
    return listed([f"'{name}'" for name in names], most)


def only_source(sources: Sequence[Path], reader: str) -> Path:
    """Return the single file in `sources`; raise a `UserError` unless there is exactly one."""
    check_sources(sources, reader, "the data")
    return Path(sources[0])


def check_sources(sources: Sequence[Path], reader: str, *parts: str) -> None:
    """Raise a `UserError` unless there is one source file for each of `parts`, what they hold."""
    if len(sources) != len(parts):
        raise UserError(
            location=f"sources of a dataset with the reader '{reader}'",
            found=f"{len(sources)} source files",
            expected=f"{len(parts)}: {', then '.join(parts)}",
            remedy="list them in the configuration of the dataset",
        )


def source_files(
    names: Iterable[str], folder: str | Path, sources: Sequence[Path]
) -> dict[str, Path]:
    """Return the paths of the files that exist, by `names`: among `sources`, or in `folder`."""
    given = {source.name: source for source in map(Path, sources)}
    paths = {name: given.get(name, Path(folder, name)) for name in names}
    return {name: path for name, path in paths.items() if path.is_file()}


def one_of(
    files: Mapping[str, Path], names: Sequence[str], folder: str | Path, remedy: str
) -> Path:
    """Return the only one of `files` (`source_files`) with one of `names`; `remedy` if none has."""
    found = [files[name] for name in names if name in files]
    if len(found) == 1:
        return found[0]
    raise UserError(
        location=f"the files of {folder}",
        found=f"both {found[0]} and {found[1]} exist"
        if found
        else f"there is no {' and no '.join(names)}",
        expected=f"{'one of them' if names[1:] else 'it'} among the sources, or in the folder "
        f"{folder} (option folder)",
        remedy="remove all but one of them" if found else remedy,
    )


def exclusion_report(excluded: Mapping[str, Sequence[str]]) -> dict[str, dict[str, Any]]:
    """Return, for names by the reason of their exclusion, ``exclusions`` and ``excluded_names``."""
    return {
        "exclusions": {reason: len(names) for reason, names in excluded.items()},
        "excluded_names": {reason: ", ".join(names) for reason, names in excluded.items() if names},
    }


def file_content(path: Path) -> bytes:
    """Return the bytes of a source file; raise a `UserError` where it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(
            location=str(path),
            found=f"the file cannot be read ({error.strerror})",
            expected="a text file",
            remedy=f"rm -f {path} and run the same snakemake command again",
        ) from error


def read_text(path: Path) -> str:
    """Return the UTF-8 text in the file `path`, without a byte order mark.

    Raises UserError when the file is missing, and as `checked_text`.
    """
    return checked_text(file_content(path), str(path))


def utf8_text(content: bytes, location: str, remedy: str, has_lines: bool = True) -> str:
    """Return UTF-8 text; where it `has_lines`, without a byte order mark.

    Raises UserError naming `location`, and where it `has_lines` the first line that is not UTF-8.
    """
    try:
        return content.decode("utf-8-sig" if has_lines else "utf-8")
    except UnicodeDecodeError as error:
        line = f", line {_line_at(content, error.start)}" if has_lines else ""
        raise UserError(
            location=f"{location}{line}",
            found="the line is not UTF-8 text",
            expected="a text file in the encoding UTF-8",
            remedy=remedy,
        ) from error


def checked_text(content: bytes, location: str) -> str:
    """Return the UTF-8 text in `content`, without a byte order mark; `location` is the file.

    Raises UserError when it is blank or not UTF-8 text, or holds NUL bytes or a line that is too
    long (`MAX_LINE_LENGTH`).
    """
    position = content.find(b"\0")
    if position >= 0:
        raise UserError(
            location=f"{location}, line {_line_at(content, position)}",
            found="a NUL byte, which is not allowed in text",
            expected="a text file in the encoding UTF-8",
            remedy="save the file again as UTF-8; it may be UTF-16 or damaged",
        )
    text = utf8_text(content, location, f"save the file again as UTF-8; {SAVE_AS_CSV}")
    refuse_long_lines(content, location)
    if not text.strip():
        raise no_table(location, "the file is empty")
    return text


def _line_at(content: bytes, position: int) -> int:
    before = content[:position].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return before.count(b"\n") + 1


def lines_of(file: BinaryIO, location: str) -> Iterator[bytes]:
    """Yield the lines of a file with their ends.

    Raises UserError naming the first line that is too long.
    """
    number = 1
    while line := file.readline(MAX_LINE_LENGTH + 1):
        if len(line) > MAX_LINE_LENGTH:
            raise _too_long(location, number)
        yield line
        number += 1


def refuse_long_lines(content: bytes, location: str) -> None:
    """Raise the `UserError` of `lines_of` for a text with a line that is too long."""
    start, number = 0, 1
    while len(content) - start > MAX_LINE_LENGTH:
        window = start, start + MAX_LINE_LENGTH + 1
        end = max(content.rfind(b"\n", *window), content.rfind(b"\r", *window))
        number += max(content.count(b"\n", *window), content.count(b"\r", *window))
        if end < 0:
            raise _too_long(location, number)
        start = end + 1


def _too_long(location: str, number: int) -> UserError:
    return UserError(
        location=f"{location}, line {number}",
        found=f"the line has more than {MAX_LINE_LENGTH} bytes",
        expected="shorter lines, one per row",
        remedy="check whether the file is damaged or not a table in the expected form",
    )


def rows_with_outputs(inputs: np.ndarray, outputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of `inputs` (n, q) and `outputs` (n, d) whose outputs are all known."""
    import numpy as np

    known = ~np.isnan(outputs).any(axis=1)
    return inputs[known], outputs[known]


def dataset_tree(
    inputs: np.ndarray,
    outputs: np.ndarray,
    input_names: Sequence[str],
    output_names: Sequence[str],
    location: str,
    rows_read: int | None = None,
    allow_constant_outputs: bool = False,
    allow_missing_outputs: bool = False,
    weak_rows: np.ndarray | None = None,
    **groups: Mapping[str, Any],
) -> dict[str, Any]:
    """Check a table and return it as the tree of a "dataset" artifact.

    Returns a dict: ``inputs`` (n, q) and ``outputs`` (n, d) float64; ``names``: ``inputs`` and
    ``outputs`` as JSON lists; ``report``: ``rows_read``, ``rows_dropped`` (without outputs),
    ``missing_inputs`` and ``missing_outputs`` (values), ``constant_outputs`` (columns); and
    `groups`. For sparse inputs ``inputs`` is a group, and the names of its columns are in
    ``terms``.

    Raises UserError for fewer than two rows, outputs or inputs that are not finite, an input or an
    output that is missing in every row, a row without any output, a constant output, no input, or
    negative counts.

    Parameters
    ----------
    inputs : array or sparse matrix (n, q)
        A row per example; NaN marks a missing value. q may be 0 where there is a group
        ``learned_columns`` or ``descriptors`` (`workflow_lib.inputs.images.visual_words`). A sparse
        matrix holds counts of terms and stays sparse (see `workflow_lib.items.sparse_inputs`).
        Where the terms are transitions of trees, the array ``term_states`` (q,) among `groups` has
        the number of the state that each leads from. What rows of other items are, says
        their kind (`workflow_lib.items.kinds`).
    outputs : array (n, d)
        Finite; NaN marks a missing value where `allow_missing_outputs` allows it.
    input_names, output_names : sequences of q and d str
    location : str
        The file or the reader, for the messages.
    rows_read : int, default=None
        Rows before those without outputs were dropped; n when None.
    allow_constant_outputs : bool, default=False
        Whether a constant output is accepted. Its relative error is 0/0, so by default it is
        treated as a mistake. Only known values are compared.
    allow_missing_outputs : bool, default=False
        Whether a row may lack some of its outputs, but not all of them. By default none may be
        missing, so that readers of complete tables drop such rows themselves.
    weak_rows : bool array (n,), default=None
        Rows with a weak label, such as a group, which may lack all outputs with
        `allow_missing_outputs`; none when None. A weak row without any output does not count in
        the missing outputs.
    **groups : mappings
        Further groups of the tree, for example ``truth``; ``names`` and ``report`` are merged
        with those made here. ``lagged_values`` (``values`` (n, k), numbers known before the
        outputs), ``order`` (``time``, ``begin``, ``end``: days; ``company``; all (n,)) and
        ``groups`` (codes (n,) of rows that belong together, such as ``scaffold``) must fit the
        rows.
    """
    import numpy as np

    sparse = is_sparse(inputs)
    if not sparse:
        inputs = np.ascontiguousarray(inputs, dtype=np.float64)
    outputs = np.ascontiguousarray(outputs, dtype=np.float64)
    n_rows = outputs.shape[0]
    rows_read = n_rows if rows_read is None else rows_read
    if n_rows < 2:
        raise UserError(
            location=location,
            found=f"{n_rows} of {rows_read} rows have "
            + ("enough of their outputs" if allow_missing_outputs else "all their outputs"),
            expected="at least 2 such rows",
            remedy="add rows, or leave out the outputs that are mostly missing",
        )
    if inputs.shape[1] == 0 and not {"learned_columns", "descriptors"} & set(groups):
        raise UserError(
            location=location,
            found="no column is left for the inputs",
            expected="at least one input",
            remedy="name fewer columns as outputs",
        )
    if allow_missing_outputs:
        n_missing_outputs = _check_values(outputs, output_names, location, "output")
        unknown = np.isnan(outputs).all(axis=1)
        if weak_rows is not None:
            n_missing_outputs -= int(np.sum(unknown & weak_rows)) * outputs.shape[1]
            unknown &= ~weak_rows
        _refuse_rows(unknown, location, "no output is known")
    else:
        n_missing_outputs = 0
        _refuse_rows(
            ~np.isfinite(outputs).all(axis=1), location, "outputs that are NaN or infinite"
        )
    if sparse:
        _check_counts(inputs, location)
        n_missing = 0
        stored = {"inputs": sparse_tree(inputs), "terms": joined_terms(input_names)}
    else:
        n_missing = _check_values(inputs, input_names, location, "input")
        stored = {"inputs": inputs}
    missing = np.isnan(outputs)
    first = outputs[np.argmin(missing, axis=0), np.arange(outputs.shape[1])]
    # Equality with the first known value, because the range of huge values can overflow.
    is_constant = ((outputs == first) | missing).all(axis=0)
    constant = [name for name, same in zip(output_names, is_constant) if same]
    if constant and not allow_constant_outputs:
        raise UserError(
            location=location,
            found=f"the output {listed(constant)} has the same value in every row"
            + (" where it is known" if n_missing_outputs else ""),
            expected="outputs that vary",
            remedy="leave it out of the outputs, or, where the reader has this option, set "
            "allow_constant_outputs: true",
        )
    for group in ("lagged_values", "order", "groups"):
        for name, values in groups.get(group, {}).items():
            if len(values) != n_rows:
                found = f"'{name}' has {len(values)} entries for {n_rows} rows"
                raise ValueError(f"{location}, group '{group}': {found}.")
    if "lagged_values" in groups:
        values = groups["lagged_values"]["values"]
        lagged_names = json.loads(groups.get("names", {}).get("lagged_values", "null"))
        _check_values(values, lagged_names or range(values.shape[1]), location, "lagged value")
    report = {
        "rows_read": rows_read,
        "rows_dropped": rows_read - n_rows,
        "missing_inputs": n_missing,
        "missing_outputs": n_missing_outputs,
        "constant_outputs": len(constant),
    }
    names = {"outputs": json.dumps(list(output_names), ensure_ascii=False)}
    if not sparse:
        names["inputs"] = json.dumps(list(input_names), ensure_ascii=False)
    return {
        **groups,
        **stored,
        "outputs": outputs,
        "names": {**groups.get("names", {}), **names},
        "report": {**groups.get("report", {}), **report},
    }


def _check_values(values: np.ndarray, names: Sequence[str], location: str, kind: str) -> int:
    """Return the number of missing values; refuse infinite values and columns without a value."""
    import numpy as np

    _refuse_rows(np.isinf(values).any(axis=1), location, f"{kind}s that are infinite")
    missing = np.isnan(values)
    empty = [name for name, all_missing in zip(names, missing.all(axis=0)) if all_missing]
    if empty:
        raise UserError(
            location=location,
            found=f"no row has a value in the {kind} {listed(empty)}",
            expected=f"at least one value in every {kind}",
            remedy=f"leave this column out of the {kind}s",
        )
    return int(missing.sum())


def _check_counts(inputs: csr_array, location: str) -> None:
    """Refuse counts that are negative or not finite."""
    import numpy as np

    stored = inputs.tocoo()
    wrong = ~np.isfinite(stored.data) | (stored.data < 0)
    faulty = np.bincount(stored.row[wrong], minlength=inputs.shape[0])
    _refuse_rows(faulty, location, "counts of terms that are negative or not finite")


def _refuse_rows(faulty: np.ndarray, location: str, what: str) -> None:
    import numpy as np

    rows = np.flatnonzero(faulty)
    if rows.size:
        raise UserError(
            location=f"{location}, rows {listed(rows)} (counted from 0)",
            found=what,
            expected="finite numbers",
            remedy="fix or remove these rows",
        )
