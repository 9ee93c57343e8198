"""The explanation of the predictions of a saved model as a table, and on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas

from workflow_lib.table.input_groups import column_groups, correlated_groups, rows_at
from workflow_lib.table.shapley import shapley_values
from workflow_lib.tabular.table_file import Table

if TYPE_CHECKING:
    from workflow_lib.table.saved_model import SavedModel

MAX_SHOWN, MAX_LINES = 5, 5
"""Rows, and inputs of each row, that are shown on the terminal."""

MAX_INPUTS = 12
"""Inputs whose importance is shown on the terminal."""


def explanation_frame(
    model: SavedModel, table: Table, n_background: int, correlation: float, seed: int
) -> pandas.DataFrame:
    """Return the table of `workflow_lib.table.saved_model.SavedModel.explain`."""
    encoded = model.encoded(table)
    rows = rows_at(encoded, np.arange(encoded.inputs.shape[0]))
    background = model.training_rows()
    if background.lagged_values is None:
        # The method was fitted without these columns.
        rows = type(rows)(rows.inputs, rows.names, None, [], rows.notes)
    positions = {
        name: (inputs, lagged if rows.lagged_values is not None else [])
        for name, (inputs, lagged) in model.positions.items()
    }
    grouping = correlated_groups(column_groups(positions), background, correlation)
    groups = grouping.groups
    predict = model.explained_outputs
    values, mean = shapley_values(predict, rows, background, groups, n_background, seed)
    predicted = predict(rows)
    cells = {name: table.strings(name) for name in positions}
    frames = []
    for row, (of_row, prediction) in enumerate(zip(values, predicted), start=1):
        shown = [
            cells[group.columns[0]][row - 1] if len(group.columns) == 1 else "" for group in groups
        ]
        for index, output in enumerate(model.explained_names):
            frame = pandas.DataFrame(
                {
                    "row": row,
                    "output": output,
                    "input": [group.name for group in groups],
                    "columns": ["; ".join(group.columns) for group in groups],
                    "value": shown,
                    "contribution": of_row[:, index],
                    "prediction": prediction[index],
                    "mean_prediction": mean[index],
                }
            )
            largest = frame["contribution"].abs().argsort(kind="stable")[::-1]
            frames.append(frame.iloc[largest])
    return pandas.concat(frames, ignore_index=True)


def explanation_lines(frame: pandas.DataFrame) -> list[str]:
    """Return the largest contributions to the predictions of the first rows, for the terminal."""
    lines = []
    for (row, output), part in frame[frame["row"] <= MAX_SHOWN].groupby(
        ["row", "output"], sort=False
    ):
        first = part.iloc[0]
        lines.append(
            f"Row {row}, {output}: {first['prediction']:.4g} "
            f"(mean of the training rows: {first['mean_prediction']:.4g})"
        )
        lines += [
            f"  {each.contribution:+10.4g}  {each.input}{_cell(each.value)}"
            for each in part.head(MAX_LINES).itertuples()
        ]
        others = part["contribution"].iloc[MAX_LINES:]
        if len(others):
            lines.append(f"  {others.sum():+10.4g}  the other {len(others)} inputs together")
    if frame["row"].max() > MAX_SHOWN:
        lines.append(f"The other {frame['row'].max() - MAX_SHOWN} rows are in the file.")
    return lines


def _cell(text: str) -> str:
    """Return the value of a row for the terminal; nothing of a group, nor of an empty cell."""
    try:
        text = f"{float(text):.6g}"
    except ValueError:
        pass
    return f" = {text}" if text else ""


def importance_lines(frame: pandas.DataFrame) -> list[str]:
    """Return the most important inputs of each output, for the terminal."""
    lines = []
    for output, part in frame.groupby("output", sort=False):
        lines.append(f"{output}: error {part['error'].iloc[0]:.3f} on test rows; it rises by")
        for row in part.head(MAX_INPUTS).itertuples():
            spread = "" if np.isnan(row.deviation) else f" \u00b1 {row.deviation:.3f}"
            tested = "" if np.isnan(row.p_adjusted) else f"  (adjusted p = {row.p_adjusted:.2g})"
            lines.append(f"  {row.importance:+.3f}{spread}  {row.input}{tested}")
    return lines
