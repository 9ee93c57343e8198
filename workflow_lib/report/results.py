"""The results of experiments as frames of pandas: scores, choices, coordinates and seconds.

Every row of a frame belongs to a fit, which `FIT` identifies:

``experiment``, ``dataset``, ``method``
    their names;
``components``
    ``selected``, or a fixed number of components;
``training_size``
    labelled training rows or, for classes, labelled examples per class;
``weak_size``
    weakly labelled rows;
``setting``
    what a study of weak labels fixes, for example ``weak_noise=0.2``; empty outside of studies;
``split``
    its number, from 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from workflow_lib.errors import UserError

FIT = (
    *("experiment", "dataset", "method", "components"),
    *("training_size", "weak_size", "setting", "split"),
)
"""The columns that identify a fit."""

COUNTS = ("training_size", "weak_size", "split", "n_train", "n_test", "coordinate")
"""Columns of whole numbers, zero or more."""

TEXTS = ("experiment", "dataset", "method", "components", "quantity", "name")
"""Columns of texts that are not empty."""

SCORES = (*FIT, "n_train", "n_test", "quantity", "value")
"""Columns of ``scores.csv``: one row for each fit and quantity."""

CHOICES = (*FIT, "name", "value")
"""Columns of ``choices.csv``: one row for each fit and selected setting; values are texts."""

COORDINATES = (*FIT, "n_train", "n_test", "coordinate", "name", "error")
"""Columns of ``coordinates.csv``: one row for each fit and output coordinate, or class."""

SECONDS = ("selection_seconds", "fit_seconds", "prediction_seconds", "preimage_seconds")
TIMINGS = (*FIT, "n_train", "n_test", *SECONDS)
"""Columns of the files of seconds: one row for each fit."""


def read_scores(paths: str | Path | Iterable[str | Path]) -> pd.DataFrame:
    """Return the rows of one or several ``scores.csv``, with the columns `SCORES`.

    Raises
    ------
    UserError
        If a file is missing or has no rows, lacks a column, holds a value of the wrong kind or
        names a fit and quantity twice; the message gives the file and the line.
    """
    return _read(paths, SCORES, unique=(*FIT, "quantity"), numbers=("value",))


def read_choices(paths: str | Path | Iterable[str | Path]) -> pd.DataFrame:
    """Return the rows of one or several ``choices.csv``, with the columns `CHOICES`.

    Raises UserError as `read_scores` does, but for a file without rows.
    """
    return _read(paths, CHOICES, unique=(*FIT, "name"), is_empty_allowed=True)


def read_coordinates(paths: str | Path | Iterable[str | Path]) -> pd.DataFrame:
    """Return the rows of one or several ``coordinates.csv``, with the columns `COORDINATES`.

    Raises UserError as `read_scores` does.
    """
    return _read(paths, COORDINATES, unique=(*FIT, "coordinate"), numbers=("error",))


def read_timings(paths: str | Path | Iterable[str | Path]) -> pd.DataFrame:
    """Return the rows of one or several files of seconds, with the columns `TIMINGS`.

    Raises UserError as `read_scores` does.
    """
    return _read(paths, TIMINGS, unique=FIT, numbers=SECONDS)


def wide(frame: pd.DataFrame, names: str = "quantity") -> pd.DataFrame:
    """Return one row for each fit, with a column for each value of the column `names`."""
    index = [column for column in frame.columns if column not in (names, "value")]
    return frame.pivot(index=index, columns=names, values="value").reset_index()


def _read(
    paths: str | Path | Iterable[str | Path],
    columns: tuple[str, ...],
    unique: tuple[str, ...],
    numbers: tuple[str, ...] = (),
    is_empty_allowed: bool = False,
) -> pd.DataFrame:
    """Return the checked rows of files one below the other."""
    listed = [paths] if isinstance(paths, str | Path) else list(paths)
    frames = [_read_one(path, columns, unique, numbers, is_empty_allowed) for path in listed]
    return pd.concat(frames, ignore_index=True)


def _read_one(path, columns, unique, numbers, is_empty_allowed) -> pd.DataFrame:
    texts = _texts(path, columns)
    remedy = f"rm {path} and run the same snakemake command again"
    if texts.empty and not is_empty_allowed:
        raise UserError(str(path), "it has a header and no rows", "one row per fit", remedy)
    converted: dict[str, pd.Series] = {}
    for column in columns:
        text = texts[column]
        if column in COUNTS:
            values = pd.to_numeric(text, errors="coerce")
            is_right, expected = (values >= 0) & (values % 1 == 0), "a whole number, zero or more"
        elif column in numbers:
            values = pd.to_numeric(text, errors="coerce")
            is_right, expected = values.abs() < float("inf"), "a finite number"
        else:
            values, expected = text, "a name"
            is_right = (text != "") if column in TEXTS else pd.Series(True, index=text.index)
        if not is_right.all():
            row = (~is_right).idxmax()
            found = f"found '{text[row]}'" if text[row] else "found nothing"
            raise UserError(f"{path}, line {row + 2}, column {column}", found, expected, remedy)
        converted[column] = values.astype("int64") if column in COUNTS else values
    frame = pd.DataFrame(converted)
    repeated = frame.duplicated(list(unique))
    if repeated.any():
        row = repeated.idxmax()
        first = (frame[list(unique)] == frame.loc[row, list(unique)]).all(axis=1).idxmax()
        described = ", ".join(f"{name} {frame.loc[row, name]}" for name in unique)
        raise UserError(
            f"{path}, line {row + 2}",
            f"{described} is on line {first + 2} already",
            "each of them once",
            "remove one of the two rows",
        )
    return frame


def _texts(path: str | Path, columns: tuple[str, ...]) -> pd.DataFrame:
    """Return the cells of a CSV as texts."""
    try:
        texts = pd.read_csv(path, dtype=str, keep_default_na=False, na_filter=False)
    except OSError as error:
        raise UserError(
            str(path), f"it cannot be read ({error.strerror})", "a CSV file", "run its rule first"
        ) from error
    except (UnicodeDecodeError, pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise UserError(
            str(path),
            f"it is no CSV file in UTF-8 ({error})",
            f"the columns {', '.join(columns)}",
            f"rm {path} and run the same snakemake command again",
        ) from error
    missing = [name for name in columns if name not in texts.columns]
    if missing:
        raise UserError(
            f"{path}, line 1",
            f"there is no column {', '.join(missing)}",
            f"the columns {', '.join(columns)}",
            f"rm {path} and run the same snakemake command again",
        )
    return texts[list(columns)]


def settings_of(choices: pd.DataFrame) -> Mapping[tuple, dict[str, str]]:
    """Return the selected settings of each fit, by the values of `FIT`."""
    grouped = choices.groupby(list(FIT), sort=False)
    return {fit: dict(zip(rows["name"], rows["value"], strict=True)) for fit, rows in grouped}
