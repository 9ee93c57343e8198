"""The results of experiments as frames of pandas, and the published tables.

The columns of the frames are those of the files (`workflow_lib.core.result_columns`). Their rows
are sorted by method, components, weak rows, setting, training size and split, whatever the order in
the file.
"""

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from workflow_lib.core.errors import UserError
from workflow_lib.core.result_cells import frame_as_csv, text_of
from workflow_lib.core.result_columns import CHOICES, COORDINATES, FIT, SCORES, SECONDS, TIMINGS
from workflow_lib.core.whole_files import write_text
from workflow_lib.report.variants import SELECTED, Variant
from workflow_lib.tasks.found import all_measures

ROW = list(Variant._fields)
"""The columns that make a row of a table."""

COUNT, NUMBER, NAME = "a whole number, zero or more", "a finite number", "a name"
"""What a column may hold."""

_SETTING = "nothing, or a name and a number such as weak_noise=0.2"
_SHARE = "a share from 0 to 1"
_EXPECTED = {
    **dict.fromkeys(("experiment", "dataset", "method", "components", "quantity", "name"), NAME),
    **dict.fromkeys(("training_size", "weak_size", "split", "n_train", "n_test"), COUNT),
    **dict.fromkeys((*SECONDS, "error"), NUMBER),
    **{"coordinate": COUNT, "setting": _SETTING},
}
"""What a column holds; columns that are not listed hold any text."""

_PUBLISHED = {"table": NAME, "value": NUMBER, "spread": NUMBER, "training_size": COUNT}
_FRACTIONS = [name for name, measure in all_measures().items() if measure.is_share]
_FRACTIONS.append("guess_accuracy")


class Published(NamedTuple):
    """One number of a published table.

    ``value`` and ``spread`` are in ``unit``: ``s`` for times, ``root_sum_rrmse`` or ``norm_rrmse``
    for these errors, ``accuracy_percent`` for accuracies and ``RRMSE`` for the mean over
    coordinates. ``spread`` is NaN where the table prints none.
    ``value`` is NaN where the number is missing in the text of the paper.
    ``training_size`` is None where the number belongs to no training size of a run, and ``method``
    empty where we have no method like it. ``note`` is a sentence about the table, empty by default.
    """

    table: str
    row: str
    column: str
    value: float
    spread: float
    unit: str
    method: str
    components: str
    training_size: int | None
    weak_size: int
    note: str = ""


def read_scores(path: str | Path) -> pd.DataFrame:
    """Return the rows of a ``scores.csv``, with the columns `SCORES`.

    Raises UserError if the file is missing or has no rows, lacks a column, holds a value of the
    wrong kind or names a fit and quantity twice; the message gives the file and the line.
    """
    scores = read_results(path, SCORES, _EXPECTED | {"value": NUMBER}, unique=(*FIT, "quantity"))
    wrong = scores["quantity"].isin(_FRACTIONS) & ~scores["value"].between(0, 1)
    if wrong.any():
        line = wrong.idxmax()
        raise _wrong_value(path, line, "value", scores.loc[line, "value"], _SHARE)
    return _sorted(not_empty(path, scores), "quantity")


def read_choices(path: str | Path) -> pd.DataFrame:
    """Return the rows of a ``choices.csv``, with the columns `CHOICES`; values are texts.

    Raises UserError as `read_scores` does, but for a file without rows.
    """
    return _sorted(read_results(path, CHOICES, _EXPECTED, unique=(*FIT, "name")), "name")


def read_coordinates(path: str | Path) -> pd.DataFrame:
    """Return the rows of a ``coordinates.csv``, with the columns `COORDINATES`.

    Raises UserError as `read_scores` does.
    """
    errors = read_results(path, COORDINATES, _EXPECTED, unique=(*FIT, "coordinate"))
    return _sorted(not_empty(path, errors), "coordinate")


def read_timings(path: str | Path) -> pd.DataFrame:
    """Return the rows of a file of seconds, with the columns `TIMINGS`.

    Raises UserError as `read_scores` does, but for a file without rows.
    """
    return _sorted(read_results(path, TIMINGS, _EXPECTED, unique=FIT))


def read_published(paths: Iterable[str | Path]) -> list[Published]:
    """Return the published numbers of several files that correspond to those of a run.

    Columns are the fields of `Published`, of which weak_size (by default 0) and note may be absent.
    Rows whose method or training size is empty have no counterpart in a run and are left out;
    `read_published_apart` gives those without a training size.

    Raises UserError as `read_scores` does.
    """
    return _published(paths, apart=False)


def read_published_apart(paths: Iterable[str | Path]) -> list[Published]:
    """Return the published numbers of several files that are shown in a table of their own.

    They have no training size, because their rows, columns or splits are not those of a run.
    Raises UserError as `read_scores` does.
    """
    return _published(paths, apart=True)


def read_json(path: str | Path) -> dict:
    """Return what a JSON file holds.

    Raises UserError if it cannot be read, or holds anything but an object.
    """
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
        if not isinstance(found, dict):
            raise ValueError("it holds no object")
    except (OSError, ValueError) as error:
        raise UserError(
            str(path),
            f"it cannot be read ({error})",
            "a JSON file that a rule made",
            f"rm -f {path} and run the same snakemake command again",
        ) from error
    return found


def outside_studies(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that belong to no study of weak labels."""
    return frame[frame["setting"] == ""]


def by_size(
    frame: pd.DataFrame, column: str = "value"
) -> dict[int, dict[Variant, dict[int, float]]]:
    """Return training size -> row of a table -> split -> value; sizes ascend."""
    found: dict[int, dict[Variant, dict[int, float]]] = {}
    columns = frame[["training_size", *ROW, "split", column]]
    for size, *row, split, value in columns.itertuples(index=False, name=None):
        found.setdefault(size, {}).setdefault(Variant(*row), {})[split] = value
    return dict(sorted(found.items()))


def most_test_rows(frame: pd.DataFrame) -> dict[tuple[Variant, int], int]:
    """Return the number of test rows of each row and training size, the largest over the splits."""
    largest = frame.groupby([*ROW, "training_size"], sort=False)["n_test"].max()
    return {(Variant(*key[:-1]), key[-1]): int(count) for key, count in largest.items()}


def rows_of_sizes(frame: pd.DataFrame) -> dict[int, int]:
    """Return training size -> number of training rows; sizes ascend."""
    return {
        int(size): int(n) for size, n in frame.groupby("training_size")["n_train"].last().items()
    }


def write_frame(path: str | Path, frame: pd.DataFrame) -> None:
    """Write a frame as CSV without its index, whole or not at all, with every digit."""
    write_text(path, frame_as_csv(frame))


def _published(paths: Iterable[str | Path], apart: bool) -> list[Published]:
    """Return the published numbers without a training size, or those with one and a method."""
    defaults = {"weak_size": "0", "note": ""}
    names = [name for name in Published._fields if name not in defaults]
    optional = ("value", "spread", "training_size", "weak_size")
    found = []
    for path in paths:
        expected = _PUBLISHED | {"weak_size": COUNT}
        rows = read_results(path, names, expected, defaults=defaults, optional=optional)
        rows = rows[(apart | (rows["method"] != "")) & (rows["training_size"].isna() == apart)]
        absent = rows["value"].isna()
        if absent.any() and not apart:
            raise _wrong_value(path, absent.idxmax(), "value", "", NUMBER)
        rows = rows.replace({"components": {"": SELECTED}}).fillna({"weak_size": 0})
        rows = rows.astype({"weak_size": int} | ({} if apart else {"training_size": int}))
        rows = rows.assign(training_size=None) if apart else rows
        columns = rows[list(Published._fields)]
        found += [Published(*number) for number in columns.itertuples(index=False, name=None)]
    return found


def _sorted(frame: pd.DataFrame, *within: str) -> pd.DataFrame:
    order = ["experiment", *ROW, "training_size", "split", *within]
    return frame.sort_values(order, kind="stable", ignore_index=True)


def not_empty(path: str | Path, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a file; raise UserError if there are none."""
    if frame.empty:
        raise UserError(
            str(path),
            "it has a header and no rows",
            "one row for each fit at least",
            f"rm {path} and run the same snakemake command again",
        )
    return frame


def read_results(
    path: str | Path,
    columns: Iterable[str],
    expected: Mapping[str, str],
    unique: Iterable[str] = (),
    defaults: Mapping[str, str] | None = None,
    optional: Iterable[str] = (),
) -> pd.DataFrame:
    """Return the columns of a CSV file of results, converted and checked.

    `expected` says what a column holds, as `COUNT`, `NUMBER` or `NAME`, and the values of the
    columns `unique` may not occur twice. Columns with `defaults` may be missing, and empty values
    of `optional` columns are NaN. Raises UserError as `read_scores` does.
    """
    texts = _texts(path, list(columns), defaults or {})
    converted = {}
    for column in texts.columns:
        text, kind = texts[column], expected.get(column)
        is_right, values = pd.Series(True, index=text.index), text
        if kind in (COUNT, NUMBER):
            values = _numbers(text)
            is_right = values.abs() < math.inf
            if kind == COUNT:
                is_right &= (values >= 0) & (values % 1 == 0)
            if column in optional:
                is_right |= text == ""
        elif kind == NAME:
            is_right = text != ""
        elif kind == _SETTING:
            value = text.str.extract("^[^=]+=(.+)$", expand=False).fillna("nan")
            is_right = (text == "") | (_numbers(value).abs() < math.inf)
        if not is_right.all():
            line = (~is_right).idxmax()
            raise _wrong_value(path, line, column, text[line], kind)
        is_whole = kind == COUNT and column not in optional
        converted[column] = values.astype("int64") if is_whole else values
    frame = pd.DataFrame(converted)
    _refuse_repeated(path, frame, list(unique))
    return frame


def _numbers(text: pd.Series) -> pd.Series:
    """Return texts as numbers, to the last digit; NaN for those that are none."""
    try:
        return text.where(text != "", "nan").astype("float64")
    except ValueError:
        return pd.to_numeric(text, errors="coerce")


def _texts(path: str | Path, columns: list[str], defaults: Mapping[str, str]) -> pd.DataFrame:
    try:
        texts = pd.read_csv(path, dtype=str, keep_default_na=False, index_col=False)
    except OSError as error:
        raise UserError(
            str(path), f"it cannot be read ({error.strerror})", "a CSV file", "run its rule first"
        ) from error
    except (UnicodeDecodeError, pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise UserError(
            str(path),
            f"it cannot be read as CSV ({error})",
            f"UTF-8 text with the columns {', '.join(columns)}",
            f"correct it, or rm {path} if a rule made it and run snakemake again",
        ) from error
    missing = [name for name in columns if name not in texts.columns]
    if missing:
        raise UserError(
            f"{path}, line 1",
            f"there is no column {', '.join(missing)}",
            f"the columns {', '.join(columns)}",
            f"write them, or rm {path} if a rule made it and run snakemake again",
        )
    texts = texts.assign(**{name: v for name, v in defaults.items() if name not in texts.columns})
    texts = texts[[*columns, *defaults]].fillna("")
    cells = {name: texts[name].astype(object).str.strip() for name in texts}
    return pd.DataFrame({name: column.map(text_of) for name, column in cells.items()})


def _refuse_repeated(path: str | Path, frame: pd.DataFrame, unique: list[str]) -> None:
    repeated = frame.duplicated(unique) if unique else pd.Series(False, index=frame.index)
    if repeated.any():
        line = repeated.idxmax()
        key = frame.loc[line, unique]
        first = (frame[unique] == key).all(axis=1).idxmax()
        # Numbers of splits and sizes are easier to find in the file than names of the experiment.
        named = ", ".join(
            f"{name.replace('_', ' ')} {key[name]}" for name in unique[2:] if key[name] != ""
        )
        raise UserError(
            f"{path}, line {line + 2}",
            f"{named} is on line {first + 2} already",
            "each of them once",
            "remove one of the two rows",
        )


def _wrong_value(
    path: str | Path, line: int, column: str, value: object, expected: str
) -> UserError:
    return UserError(
        f"{path}, line {line + 2}, column {column}",
        f"found '{value}'" if value != "" else "found nothing",
        expected,
        f"correct it, or rm {path} if a rule made it and run snakemake again",
    )
