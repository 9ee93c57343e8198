"""The stage that predicts the rows of a table and writes them as a table again."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np

from workflow_lib.datasets.table_file import Table
from workflow_lib.datasets.tables import listed
from workflow_lib.experiments.saved_model import Predictions, SavedModel
from workflow_lib.whole_files import write_text

OF_THE_ROW = " (of the row)"
"""Added to the name of a column that an output has already."""


def run(model: Path, rows: Path, output: Path) -> None:
    """Predict new rows and write them as CSV (UTF-8, commas, a header).

    One line a row, in the order of `rows`. Its columns: the one that names the rows, where the
    table that the model was made from had one and `rows` has it too; ``line``, the line of the file
    in which the row begins (for files that are no text, its number counted from 1); for each output
    its value, named as the output, and with calibrated intervals ``NAME lower`` and ``NAME upper``
    (empty where there were too few rows for one); or ``class``; ``novelty``, the distance to the
    nearest training row in units of what is usual among these; ``unlike_training``, ``yes`` where
    it is beyond the limit; ``note``, what was missing or unknown. Numbers are written so that they
    are read back exactly.

    Parameters
    ----------
    model : path
        A "predictor" artifact.
    rows : path
        CSV, TSV, Parquet or HDF5 table with the input columns in any order; others are passed
        over.
    output : path

    Raises
    ------
    UserError
        If a file cannot be read, or input columns are missing.
    """
    predictor = SavedModel.load(model)
    table = predictor.as_table(Path(rows))
    looked_at = {*predictor.columns_used(table), predictor.row_name}
    passed_over = [name for name in table.names if name not in looked_at]
    predictions = predictor.predict(table)
    columns = _named_apart(_row_columns(predictor, table), predictions)
    _write(Path(output), columns)
    print(f"{table.n_rows} rows predicted by {predictor.label}")
    if passed_over:
        print(f"columns that are no inputs, passed over: {listed(passed_over)}")
    if predictions.is_unlike.any():
        share = f"{int(predictions.is_unlike.sum())} of {table.n_rows} rows"
        print(f"{share} are unlike the training rows: take their predictions with care")
    n_noted = sum(map(bool, predictions.notes))
    if n_noted:
        print(f"{n_noted} of {table.n_rows} rows have a note")


def output_columns(predictions: Predictions) -> dict[str, list[str]]:
    """Return the columns of the outputs and their intervals, or of the classes, as texts."""
    if predictions.classes is not None:
        return {"class": predictions.classes}
    columns: dict[str, list[str]] = {}
    for position, name in enumerate(predictions.output_names):
        parts = {name: predictions.outputs}
        if predictions.level is not None:
            parts |= {f"{name} lower": predictions.lower, f"{name} upper": predictions.upper}
        columns |= {part: _numbers(values[:, position]) for part, values in parts.items()}
    return columns


def _row_columns(predictor: SavedModel, table: Table) -> dict[str, list[str]]:
    columns = {}
    if predictor.row_name in table.names:
        columns[predictor.row_name] = list(table.strings(predictor.row_name))
    return columns | {"line": [str(line) for line in table.lines]}


def _named_apart(rows: dict[str, list[str]], predictions: Predictions) -> dict[str, list[str]]:
    """Return all columns in their order; one that has the name of an output gets another name."""
    outputs = output_columns(predictions)
    said = {
        "novelty": _numbers(predictions.novelty),
        "unlike_training": ["yes" if unlike else "no" for unlike in predictions.is_unlike],
        "note": predictions.notes,
    }
    before, after = (
        {f"{name}{OF_THE_ROW * (name in outputs)}": values for name, values in part.items()}
        for part in (rows, said)
    )
    return before | outputs | after


def _numbers(values: np.ndarray) -> list[str]:
    """Return numbers as the shortest texts that are read back exactly; empty if infinite."""
    return [repr(float(value)) if np.isfinite(value) else "" for value in values]


def _write(output: Path, columns: dict[str, list[str]]) -> None:
    """Write the columns, whole or not at all."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    write_text(output, text.getvalue())
