"""The score, coordinate and timing files, and the published tables, read into plain records."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

from workflow_lib.error_measures import ERROR_MEASURES
from workflow_lib.errors import UserError

SELECTED = "selected"
"""The component setting of a row whose number of components was chosen by cross-validation (or
whose method has none)."""


class Variant(NamedTuple):
    """What makes a row of a table: a method, its component setting and its weak rows.

    ``setting`` is what a study of weak labels fixes, for example ``weak_noise=0.2``; empty outside
    of studies.
    """

    method: str
    components: str
    weak_size: int
    setting: str = ""


@dataclass(frozen=True)
class Score:
    """The errors of one fitted method on the test rows of one split.

    ``training_size`` is the number of training rows ``n_train`` or, of classes, that of labelled
    examples per class. Of classes there is the ``accuracy``, the share of test rows whose class is
    right, and no error; of other outputs it is None, and ``errors`` holds those of
    `workflow_lib.error_measures` by name. The columns from ``n_components`` to
    ``weights`` are what was chosen, None where the method has no such choice; ``n_landmarks``
    is None where a Gram matrix of all rows was used (or no kernel); ``edges`` names chosen values
    on the edge of their grid; ``weights`` are those of the members of a stack, as in
    ``m-krr=0.7 ofer-gmm=0.3``. ``setting`` is as in `Variant`. ``guess_accuracy``
    is that of the most frequent class; None where all are equally frequent, and of other outputs.
    """

    experiment: str
    dataset: str
    method: str
    components: str
    training_size: int
    weak_size: int
    split: int
    n_train: int
    n_test: int
    accuracy: float | None
    errors: Mapping[str, float | None]
    n_components: int | None
    kernel: str | None
    width: float | None
    alpha_leading: float | None
    alpha_rest: float | None
    weak_weight: float | None
    projected: bool | None
    n_landmarks: int | None
    edges: str | None
    weights: str | None
    setting: str = ""
    guess_accuracy: float | None = None

    def value(self, quantity: str) -> float | None:
        """Return an error, or the accuracy for any other quantity."""
        return self.errors[quantity] if quantity in self.errors else self.accuracy

    @property
    def variant(self) -> Variant:
        """The table row that this score belongs to."""
        return Variant(self.method, self.components, self.weak_size, self.setting)


@dataclass(frozen=True)
class CoordinateError:
    """The relative root mean squared error of one output coordinate in one split.

    ``coordinate`` counts from 0, ``name`` is the output's; 1 is the error of the training mean. Of
    classes each is a coordinate, and its error is the share of its test rows that are wrong.
    ``training_size`` and ``n_train`` are as in `Score`.
    """

    experiment: str
    dataset: str
    method: str
    components: str
    training_size: int
    weak_size: int
    split: int
    n_train: int
    n_test: int
    coordinate: int
    name: str
    error: float
    setting: str = ""

    @property
    def variant(self) -> Variant:
        """The table row that this error belongs to."""
        return Variant(self.method, self.components, self.weak_size, self.setting)


@dataclass(frozen=True)
class Timing:
    """Seconds that one method took on one split.

    ``selection_seconds`` is the whole cross-validation, ``fit_seconds`` one fit at the chosen
    settings, ``prediction_seconds`` and ``preimage_seconds`` the two parts of predicting all
    ``n_test`` rows.
    """

    experiment: str
    method: str
    components: str
    training_size: int
    weak_size: int
    split: int
    n_test: int
    selection_seconds: float
    fit_seconds: float
    prediction_seconds: float
    preimage_seconds: float
    setting: str = ""

    @property
    def variant(self) -> Variant:
        """The table row that this timing belongs to."""
        return Variant(self.method, self.components, self.weak_size, self.setting)


@dataclass(frozen=True)
class Published:
    """One number of a published table.

    ``value`` and ``spread`` are in ``unit``: ``s`` for times, ``root_sum_rrmse`` or ``norm_rrmse``
    for these errors, ``accuracy_percent`` for accuracies and ``RRMSE`` for the mean over
    coordinates. ``spread`` is NaN where the table
    prints none.
    ``training_size`` is None where the number belongs to no training size of a run.
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


Record = TypeVar("Record", Score, CoordinateError, Timing)


def read_scores(path: str | Path) -> list[Score]:
    """Return the rows of a ``scores.csv``, sorted by variant, training size and split.

    Raises
    ------
    UserError
        If the file is missing, has no rows, lacks a column, holds a value of the wrong kind, has
        a row with neither an accuracy nor all other errors, or names one fit twice; the message
        gives the file and the line.
    """
    columns = {
        "experiment": _text,
        "dataset": _text,
        "method": _text,
        "components": _text,
        "training_size": _count,
        "weak_size": _count,
        "setting": _setting,
        "split": _count,
        "n_train": _count,
        "n_test": _count,
        "accuracy": _optional(_share),
        **dict.fromkeys(ERROR_MEASURES, _optional(_finite)),
        "n_components": _optional(_count),
        "kernel": _optional(_text),
        "width": _optional(_number),
        "alpha_leading": _optional(_number),
        "alpha_rest": _optional(_number),
        "weak_weight": _optional(_number),
        "projected": _optional(_flag),
        "n_landmarks": _optional(_count),
        "edges": _optional(_text),
        "weights": _optional(_text),
    }
    rows = _read_rows(path, columns, {"guess_accuracy": _optional(_share)})
    _refuse_empty(path, rows, "one row per method, training size and split")
    for line, row in rows:
        row["errors"] = {name: row.pop(name) for name in ERROR_MEASURES}
        _refuse_missing_errors(path, line, row)
    return _unique(path, [(line, Score(**row)) for line, row in rows])


def read_coordinates(path: str | Path) -> list[CoordinateError]:
    """Return the rows of a ``coordinates.csv``, sorted by variant, size, split and coordinate.

    Raises UserError as `read_scores` does.
    """
    columns = {
        "experiment": _text,
        "dataset": _text,
        "method": _text,
        "components": _text,
        "training_size": _count,
        "weak_size": _count,
        "setting": _setting,
        "split": _count,
        "n_train": _count,
        "n_test": _count,
        "coordinate": _count,
        "name": _text,
        "error": _finite,
    }
    rows = _read_rows(path, columns)
    _refuse_empty(path, rows, "one row per method, training size, split and output coordinate")
    return _unique(path, [(line, CoordinateError(**row)) for line, row in rows])


def read_timings(path: str | Path) -> list[Timing]:
    """Return the rows of a timings file, sorted by variant, training size and split.

    Raises UserError as `read_scores` does.
    """
    columns = {
        "experiment": _text,
        "method": _text,
        "components": _text,
        "training_size": _count,
        "weak_size": _count,
        "setting": _setting,
        "split": _count,
        "n_test": _count,
        "selection_seconds": _finite,
        "fit_seconds": _finite,
        "prediction_seconds": _finite,
        "preimage_seconds": _finite,
    }
    rows = _read_rows(path, columns)
    return _unique(path, [(line, Timing(**row)) for line, row in rows])


def read_published(paths: Iterable[str | Path]) -> list[Published]:
    """Return the published numbers of several files that correspond to those of a run.

    Columns: table, row, column, value, spread, unit, method, components, training_size and,
    optionally, weak_size (0 when there is no such column). Rows whose method or training size
    is empty have no counterpart in a run and are left out; `read_published_apart` gives those
    without a training size.

    Raises UserError as `read_scores` does.
    """
    return [number for number in _read_published(paths) if number.training_size is not None]


def read_published_apart(paths: Iterable[str | Path]) -> list[Published]:
    """Return the published numbers of several files that are shown in a table of their own.

    They have a method and no training size, because their rows and columns are not those of a
    run. Raises UserError as `read_scores` does.
    """
    return [number for number in _read_published(paths) if number.training_size is None]


def _read_published(paths: Iterable[str | Path]) -> list[Published]:
    """Return the published numbers that have a method, in the order of the files."""
    columns = {
        "table": _text,
        "row": _any_text,
        "column": _any_text,
        "value": _finite,
        "spread": _optional(_finite),
        "unit": _any_text,
        "method": _any_text,
        "components": _any_text,
        "training_size": _optional(_count),
    }
    published = []
    for path in paths:
        for _, row in _read_rows(path, columns, {"weak_size": _optional(_count)}):
            if not row["method"]:
                continue
            row["spread"] = math.nan if row["spread"] is None else row["spread"]
            row["components"] = row["components"] or SELECTED
            row["weak_size"] = row.get("weak_size") or 0
            published.append(Published(**row))
    return published


def outside_studies(records: Iterable[Record]) -> list[Record]:
    """Return the records that belong to no study of weak labels."""
    return [record for record in records if not record.setting]


def study_of(setting: str) -> tuple[str, float]:
    """Return the study and the value of a setting: ``weak_noise=0.2`` is (``weak_noise``, 0.2).

    Outside of studies it is an empty name and zero.
    """
    study, _, value = setting.partition("=")
    return study, float(value or 0)


def group_by_cell(records: Iterable[Record]) -> dict[tuple[Variant, int], dict[int, Record]]:
    """Return the records of each table cell: (variant, training size) -> {split: record}."""
    cells: dict[tuple[Variant, int], dict[int, Record]] = {}
    for record in records:
        cells.setdefault((record.variant, record.training_size), {})[record.split] = record
    return cells


def order_variants(variants: Iterable[Variant], method_order: Iterable[str]) -> list[Variant]:
    """Return the distinct variants in the order of the methods given, then by name.

    Within a method the selected components come first, then the fixed ones by number, each with
    its weak sizes ascending, and the settings of studies last, by their values.
    """
    position = {method: index for index, method in enumerate(method_order)}

    def key(variant: Variant) -> tuple:
        return (
            position.get(variant.method, len(position)),
            variant.method,
            components_order(variant.components),
            variant.weak_size,
            study_of(variant.setting),
        )

    return sorted(set(variants), key=key)


def components_order(components: str) -> tuple[int, int, str]:
    """Return a sorting key for component settings: words first, then numbers ascending."""
    if components.isdigit():
        return (1, int(components), "")
    return (0, 0, components)


def _read_rows(
    path: str | Path,
    columns: dict[str, Callable[[str], object]],
    optional_columns: dict[str, Callable[[str], object]] | None = None,
) -> list[tuple[int, dict]]:
    """Return (line number, converted row) pairs; other columns are ignored."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            found = reader.fieldnames or []
            missing = [name for name in columns if name not in found]
            if missing:
                raise UserError(
                    f"{path}, line 1",
                    f"there is no column {', '.join(missing)}",
                    f"the columns {', '.join(columns)}",
                    f"write them, or rm {path} if a rule made it and run snakemake again",
                )
            wanted = dict(columns)
            for name, convert in (optional_columns or {}).items():
                if name in found:
                    wanted[name] = convert
            return [
                (reader.line_num, _convert(path, reader.line_num, row, wanted)) for row in reader
            ]
    except OSError as error:
        raise UserError(
            str(path), f"it cannot be read ({error.strerror})", "a CSV file", "run its rule first"
        ) from error
    except UnicodeDecodeError as error:
        raise UserError(
            str(path), "it is not UTF-8 text", "a CSV file", "save it as UTF-8"
        ) from error


def _convert(path, line: int, row: dict, columns: dict[str, Callable[[str], object]]) -> dict:
    """Return the wanted columns of a row, converted."""
    converted = {}
    for name, convert in columns.items():
        text = row[name]
        try:
            if text is None:
                raise ValueError("a value")
            converted[name] = convert(text.strip())
        except ValueError as error:
            found = "nothing" if not text else f"'{text}'"
            raise UserError(
                f"{path}, line {line}, column {name}",
                f"found {found}",
                str(error),
                f"correct it, or rm {path} if a rule made it and run snakemake again",
            ) from error
    return converted


def _refuse_empty(path, rows: list, expected: str) -> None:
    if not rows:
        raise UserError(
            str(path),
            "it has a header and no rows",
            expected,
            f"rm {path} and run the same snakemake command again",
        )


def _refuse_missing_errors(path, line: int, row: dict) -> None:
    """Raise for a row of ``scores.csv`` without an accuracy that lacks one of the errors."""
    missing = [name for name, value in row["errors"].items() if value is None]
    if missing and row["accuracy"] is None:
        raise UserError(
            f"{path}, line {line}, column {missing[0]}",
            "found nothing, and no accuracy either",
            "a finite number, or an accuracy for classes",
            f"rm {path} and run the same snakemake command again",
        )


def _unique(path, numbered: list[tuple[int, Record]]) -> list[Record]:
    """Return the records sorted; a record that occurs twice is an error."""
    first_line: dict[tuple, int] = {}
    for line, record in numbered:
        key = _key(record)
        if key in first_line:
            place = f"split {record.split}"
            if isinstance(record, CoordinateError):
                place += f", coordinate {record.coordinate}"
            if record.setting:
                place = f"{record.setting}, {place}"
            raise UserError(
                f"{path}, line {line}",
                f"method {record.method}, components {record.components}, training size "
                f"{record.training_size}, weak size {record.weak_size}, {place} "
                f"is on line {first_line[key]} already",
                "each of them once",
                "remove one of the two rows",
            )
        first_line[key] = line
    return sorted((record for _, record in numbered), key=_key)


def _key(record: Record) -> tuple:
    """Return the key that identifies a record in its file."""
    key = (record.variant, record.training_size, record.split)
    return (*key, record.coordinate) if isinstance(record, CoordinateError) else key


def _any_text(text: str) -> str:
    return text


def _text(text: str) -> str:
    if not text:
        raise ValueError("a name")
    return text


def _count(text: str) -> int:
    try:
        number = float(text)
        if number < 0 or number != int(number):
            raise ValueError
    except (ValueError, OverflowError):
        raise ValueError("a whole number, zero or more") from None
    return int(number)


def _setting(text: str) -> str:
    study, equals, value = text.partition("=")
    if text and not (study and equals and _is_number(value)):
        raise ValueError("nothing, or a name and a number such as weak_noise=0.2")
    return text


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _flag(text: str) -> bool:
    if text not in ("0", "1"):
        raise ValueError("0 or 1")
    return text == "1"


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise ValueError("a number") from None
    if math.isnan(number):
        raise ValueError("a number, which may be inf but not nan")
    return number


def _finite(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise ValueError("a finite number") from None
    if not math.isfinite(number):
        raise ValueError("a finite number")
    return number


def _share(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise ValueError("a share from 0 to 1") from None
    if not 0.0 <= number <= 1.0:
        raise ValueError("a share from 0 to 1")
    return number


def _optional(convert: Callable[[str], object]) -> Callable[[str], object]:
    """Return the converter that converts an empty value to None."""
    return lambda text: None if text == "" else convert(text)
