"""The stage that predicts the rows of a table and writes them as a table again."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from workflow_lib.core.result_cells import rows_as_csv
from workflow_lib.core.whole_files import write_text
from workflow_lib.table.saved_model import Predictions, SavedModel, with_distinct_names
from workflow_lib.table.terminal_summary import headline_lines
from workflow_lib.tabular.column_lists import columns_of_list
from workflow_lib.tabular.table_file import Table
from workflow_lib.tabular.tables import listed
from workflow_lib.tabular.workbooks import WORKBOOK_ENDING, write_workbook

MAX_DECIMALS, DECIMALS_OF_SHARES = 12, 4
"""Decimals of an output with one value alone; of probabilities and novelties."""


def run(
    model: Path,
    rows: Path,
    output: Path,
    trusted: Sequence[str] = (),
    joint: bool = False,
    keep: str | Sequence[str] = (),
) -> None:
    """Predict new rows and write them as CSV (UTF-8, commas, a header) or as a workbook.

    One line per row, or per bag of rows, in the order of `rows`. Its columns: the name of the row,
    if the table that the model was made from had such a column and `rows` has it too; ``line``, the
    line of the file in which the row begins (for binary files the number of the row, counted from
    1); the columns to `keep`; and those of `workflow_lib.table.saved_model.Predictions.columns`,
    ``yes`` or ``no`` in ``unlike_training``, and empty where there were too few rows for an
    interval.

    Outputs and the ends of their intervals are rounded to a thousandth of a usual interval, or less
    (`rounded`).

    Raises UserError if a file cannot be read, columns are missing, or the model has no joint
    regions.

    Parameters
    ----------
    model : path
        A "predictor" artifact.
    rows : path
        Table of any kind with the input columns in any order; others are ignored.
    output : path
        A workbook where it ends in ``.xlsx``, which needs the optional package openpyxl.
    trusted : sequence of str, default=()
        Classes that the configuration names
        (`workflow_lib.table.saved_model.load_model`).
    keep : str or sequence of str, default=()
        Names or patterns of columns of `rows`, in a text separated by commas; of bags those of
        their first rows.
    """
    predictor = SavedModel.load(model, trusted)
    table = predictor.as_table(Path(rows))
    kept = table.matching(columns_of_list(keep, table.names), "keep") if keep else []
    used = {*predictor.columns_used(table), predictor.row_name, *kept}
    ignored = [name for name in table.names if name not in used]
    predictions = predictor.predict(table, joint)
    columns = {name: _cells(values) for name, values in rounded(predictions).columns().items()}
    rows_of_table = predictor.predicted_rows(table)
    columns = _row_columns(predictor, rows_of_table, columns, kept) | columns
    if Path(output).suffix == WORKBOOK_ENDING:
        write_workbook(output, columns)
    else:
        write_text(output, rows_as_csv(list(columns), zip(*columns.values(), strict=True)))
    print("\n".join(closing_lines(predictor, predictions, ignored, output)))
    for note in table.notes:
        print(f"{table.location}: {note}")


def rounded(predictions: Predictions) -> Predictions:
    """Return predictions with as many decimals as their intervals justify.

    Of each output, the values and all ends have the decimals of a thousandth of half the median
    width of its intervals; without intervals those of a ten-thousandth of the range of the
    predicted values. More digits of a prediction are noise. `workflow_lib.load_model` gives them
    all.
    """
    with np.errstate(invalid="ignore"):
        halves = (predictions.upper - predictions.lower) / 2
    decimals = []
    for half, values in zip(halves.T, predictions.outputs.T, strict=True):
        known = half[np.isfinite(half) & (half > 0)]
        step = np.median(known) / 1000 if known.size else np.ptp(values) / 10_000
        decimals.append(max(0, math.ceil(-math.log10(step))) if step > 0 else MAX_DECIMALS)

    def cut(values: np.ndarray) -> np.ndarray:
        # Adding zero makes a zero of a negative one.
        cut = [column.round(n) + 0.0 for column, n in zip(values.T, decimals, strict=True)]
        return np.stack(cut, axis=1)

    joint, shares = predictions.joint, predictions.class_probabilities
    return replace(
        predictions,
        outputs=cut(predictions.outputs),
        lower=cut(predictions.lower),
        upper=cut(predictions.upper),
        novelty=predictions.novelty.round(DECIMALS_OF_SHARES),
        class_probabilities=None if shares is None else shares.round(DECIMALS_OF_SHARES),
        joint=joint and replace(joint, lower=cut(joint.lower), upper=cut(joint.upper)),
    )


def closing_lines(
    predictor: SavedModel, predictions: Predictions, ignored: Sequence[str], output: Path
) -> list[str]:
    """Return the printed summary of the predictions; `ignored` are the unused columns."""
    n_rows, word = len(predictions.notes), predictor.row_word
    lines = [f"{n_rows} {word}{'s' * (n_rows != 1)} predicted by {predictor.label}: {output}"]
    if ignored:
        lines.append(f"columns that are not inputs, ignored: {listed(ignored)}")
    is_finite = predictions.classes is not None or np.isfinite(predictions.lower).any()
    if predictions.level is not None and is_finite:
        what = "intervals" if predictions.classes is None else "sets of classes"
        true = "values" if predictions.classes is None else "classes"
        text = f"the {what} should hold {100 * predictions.level:g} % of the true {true}"
        if predictor.coverage is not None:
            text += f"; on test rows they held {100 * predictor.coverage:.0f} %"
        lines.append(text)
    elif predictions.classes is None:
        why = "" if predictions.level is None else ": there are too few test rows"
        lines.append(f"there are no intervals{why}")
    if predictions.joint is not None:
        text = f"the boxes should hold all outputs of {100 * predictions.level:g} % of the {word}s"
        if not np.isfinite(predictions.joint.lower).any():
            text = "there are no joint regions: there are too few test rows"
        elif predictor.joint_coverage is not None:
            text += f"; on test rows they held {100 * predictor.joint_coverage:.0f} %"
        lines.append(text)
    n_unlike = int(predictions.is_novel.sum())
    verb, care = ("is" if n_unlike == 1 else "are"), ": take their predictions with care"
    unlike = f"{verb} unlike the training {word}s{care if n_unlike else ''}"
    lines.append(f"{n_unlike} of {n_rows} {word}s {unlike}")
    n_noted = sum(map(bool, predictions.notes))
    if n_noted:
        lines.append(
            f"{n_noted} of {n_rows} {word}s {'has' if n_noted == 1 else 'have'} a note on a "
            "missing or unknown value"
        )
    if predictor.warning:
        text = f"WARNING: {predictor.warning} These predictions may be of little use."
        lines += headline_lines(text)
    return lines


def _row_columns(
    predictor: SavedModel, table: Table, taken: Collection[str], kept: Sequence[str]
) -> dict[str, list]:
    """Return the columns that say which row it is, under names that are not `taken`."""
    columns: dict[str, list] = {}
    if predictor.row_name in table.names:
        columns = {predictor.row_name: list(table.strings(predictor.row_name))}
        columns = with_distinct_names(columns, taken)
    columns |= with_distinct_names({"line": table.lines.tolist()}, {*taken, *columns})
    more = {name: list(table.strings(name)) for name in kept if name != predictor.row_name}
    return columns | with_distinct_names(more, {*taken, *columns})


def _cells(values: Sequence) -> list:
    """Return values as cells: infinite numbers are empty, and booleans are ``yes`` or ``no``."""
    values = np.asarray(values)
    if values.dtype == bool:
        return ["yes" if value else "no" for value in values]
    if values.dtype == float:
        return [value if math.isfinite(value) else "" for value in values.tolist()]
    return [str(value) for value in values]
