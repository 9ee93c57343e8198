"""The stage that predicts the rows of a table and writes them as a table again."""

from __future__ import annotations

import csv
import io
import textwrap
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from workflow_lib.datasets.table_file import Table
from workflow_lib.datasets.tables import listed
from workflow_lib.experiments.saved_model import Predictions, SavedModel, named_apart
from workflow_lib.whole_files import write_text

WIDTH = 98
"""Letters of a line on the terminal."""


def run(model: Path, rows: Path, output: Path) -> None:
    """Predict new rows and write them as CSV (UTF-8, commas, a header).

    One line a row, in the order of `rows`. Its columns: the one that names the rows, where the
    table that the model was made from had one and `rows` has it too; ``line``, the line of the file
    in which the row begins (for files that are no text, its number counted from 1); for each output
    its value, named as the output, and with calibrated intervals ``NAME lower`` and ``NAME upper``
    (empty where there were too few rows for one); or ``class``, with calibrated sets of classes its
    ``probability`` and the ``set``, classes joined by ``|``, the most probable first; ``novelty``,
    the distance to the nearest training row in units of what is usual among these;
    ``unlike_training``, ``yes`` where it is beyond the limit; ``note``, what was missing or
    unknown; ``method``, what predicted it. Numbers are written so that they are read back exactly.

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
    columns = {name: _texts(values) for name, values in predictions.columns().items()}
    columns = named_apart(_row_columns(predictor, table), columns) | columns
    _write(Path(output), columns)
    print("\n".join(closing_lines(predictor, predictions, passed_over, output)))


def closing_lines(
    predictor: SavedModel, predictions: Predictions, passed_over: Sequence[str], output: Path
) -> list[str]:
    """Return what the terminal says of the predictions; `passed_over` are columns of no use."""
    n_rows = len(predictions.notes)
    lines = [f"{n_rows} row{'s' * (n_rows != 1)} predicted by {predictor.label}: {output}"]
    if passed_over:
        lines.append(f"columns that are no inputs, passed over: {listed(passed_over)}")
    is_finite = predictions.classes is not None or np.isfinite(predictions.lower).any()
    if predictions.level is not None and is_finite:
        what = "intervals" if predictions.classes is None else "sets of classes"
        true = "values" if predictions.classes is None else "classes"
        text = f"the {what} are meant to hold {100 * predictions.level:g} % of the true {true}"
        if predictor.coverage is not None:
            text += f"; of test rows they held {100 * predictor.coverage:.0f} %"
        lines.append(text)
    elif predictions.classes is None:
        why = "" if predictions.level is None else ": too few rows tested for one"
        lines.append(f"there are no intervals{why}")
    n_unlike = int(predictions.is_novel.sum())
    verb, care = ("is" if n_unlike == 1 else "are"), ": take their predictions with care"
    lines.append(
        f"{n_unlike} of {n_rows} rows {verb} unlike the training rows{care if n_unlike else ''}"
    )
    n_noted = sum(map(bool, predictions.notes))
    if n_noted:
        lines.append(
            f"{n_noted} of {n_rows} rows {'has' if n_noted == 1 else 'have'} a note on a "
            "missing or unknown value"
        )
    if predictor.warning:
        lines += textwrap.wrap(
            f"WARNING: {predictor.warning} These predictions may be of little use.",
            WIDTH,
            break_long_words=False,
            break_on_hyphens=False,
        )
    return lines


def _row_columns(predictor: SavedModel, table: Table) -> dict[str, list[str]]:
    columns = {}
    if predictor.row_name in table.names:
        columns[predictor.row_name] = list(table.strings(predictor.row_name))
    return columns | {"line": [str(line) for line in table.lines]}


def _texts(values: Sequence) -> list[str]:
    """Return values as texts: numbers as the shortest that are read back exactly.

    Infinite numbers are empty, and what is true or false is ``yes`` or ``no``.
    """
    values = np.asarray(values)
    if values.dtype == bool:
        return ["yes" if value else "no" for value in values]
    if values.dtype == float:
        return [repr(float(value)) if np.isfinite(value) else "" for value in values]
    return [str(value) for value in values]


def _write(output: Path, columns: dict[str, list[str]]) -> None:
    """Write the columns, whole or not at all."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    write_text(output, text.getvalue())
