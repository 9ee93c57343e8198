"""The figure of the inputs that matter to the winner of a user's own table."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from workflow_lib.core.artifacts import read_artifact
from workflow_lib.protocol.importance_table import (
    COLUMNS,
    RISK,
    importance_frame,
    main_rows,
    matters,
)
from workflow_lib.report.figure_words import describe
from workflow_lib.report.labels import MINUS, count_of, format_error
from workflow_lib.report.results import write_frame
from workflow_lib.report.run_figures.answer import LABEL_LETTERS, WIDTH
from workflow_lib.report.style import (
    BASE_COLOR,
    applied_style,
    save_figure,
    short_names,
    without_data,
    write_title,
)

MAX_INPUTS = 12


def run(answer: str | Path, importance: str | Path, files: Mapping[str, str | Path]) -> None:
    """Draw the importance of the inputs, and write the figure and its numbers.

    The paths are those of the ``answer.json`` and of the "importance" artifact; `files` hold
    ``svg``, ``png`` and ``csv``. Where the artifact says why there is no importance, so does the
    figure, and its table has no rows.
    """
    found = json.loads(Path(answer).read_text(encoding="utf-8"))
    tree = read_artifact(importance, "importance")
    if tree.get("reason"):
        frame, figure = (
            pd.DataFrame(columns=list(COLUMNS)),
            without_data(f"No importance of inputs: {tree['reason']}", WIDTH),
        )
    else:
        frame = main_rows(importance_frame(tree, str(importance)))
        figure = draw_importance(frame, found["label"], int(tree["n_rows"]), int(tree["n_train"]))
        describe(figure, importance_in_words(frame))
    save_figure(figure, files["svg"], files["png"])
    write_frame(files["csv"], frame)


def draw_importance(frame: pd.DataFrame, label: str, n_rows: int, n_train: int):
    """Return the figure: a bar for each of the most important inputs, with its spread.

    A bar is the mean over the splits of the increase of the error, a line the standard deviation.
    Bars of inputs that do not pass the adjusted test at `RISK` are hollow.

    Parameters
    ----------
    frame : DataFrame
        As of `workflow_lib.protocol.importance_table.main_rows`.
    label : str
        Of the method.
    n_rows, n_train : int
        Test rows and training rows of each split.
    """
    from matplotlib.figure import Figure

    shown = frame.head(MAX_INPUTS)
    means, deviations = shown["importance"], shown["deviation"].fillna(0.0)
    is_error_rate = frame["output"].iloc[0] == "class"
    with applied_style():
        figure = Figure(figsize=(WIDTH, 1.45 + 0.3 * len(shown)), layout="constrained")
        axis = figure.subplots()
        positions = np.arange(len(shown))
        faces = [BASE_COLOR if passed else "white" for passed in matters(shown)]
        axis.barh(positions, means, color=faces, edgecolor=BASE_COLOR, height=0.6, zorder=2)
        axis.hlines(positions, means - deviations, means + deviations, color="#333333", zorder=3)
        for position, (mean, deviation) in enumerate(zip(means, shown["deviation"])):
            text = signed_error(mean, deviation)
            where = {"xycoords": ("axes fraction", "data"), "annotation_clip": False}
            where |= {"textcoords": "offset points", "va": "center", "fontsize": 8.5}
            axis.annotate(text, (1, position), (9, 0), **where)
        axis.set_yticks(positions, short_names(shown["input"], LABEL_LETTERS))
        axis.set_ylim(len(shown) - 0.4, -0.6)
        axis.axvline(0, color="#444444", linewidth=1)
        axis.grid(False, axis="y")
        error = "share of wrong classes" if is_error_rate else "relative error"
        axis.set_xlabel("increase of the error", loc="left")
        n_splits = int(frame["n_splits"].iloc[0])
        basis = f"{count_of(n_splits, 'split')}, {n_train} training and {n_rows} test rows each"
        hollow = f"; hollow: not above zero (adjusted p \u2265 {RISK:g})"
        notes = f"{basis}{'' if matters(shown).all() or n_splits == 1 else hollow}"
        if len(frame) > len(shown):
            notes += f"; the first {len(shown)} of {len(frame)} inputs"
        write_title(figure, f"Which inputs matter to {label} ({error})\n{notes}")
    return figure


def _short(error: float) -> str:
    return f"{error:.2f}" if error >= 0.1 else f"{error:.2g}"


def signed_error(mean: float, deviation: float) -> str:
    """Return an increase of an error with its deviation, as ``0.021 ± 0.004``."""
    rounded = mean if abs(mean) >= 5e-4 else 0.0
    return format_error(rounded, deviation).replace("-", MINUS)


def importance_in_words(frame: pd.DataFrame) -> str:
    """Return what permuting the three most important inputs does to the error.

    `frame` is as of `workflow_lib.protocol.importance_table.main_rows`.
    """
    passed = frame[matters(frame)] if int(frame["n_splits"].iloc[0]) > 1 else frame
    splits = count_of(int(frame["n_splits"].iloc[0]), "split")
    shown = frame.head(1) if passed.empty else passed.head(3)
    parts = [
        f"permuting {row.input} raises the error from {_short(row.error)} to "
        f"{_short(row.permuted_error)}"
        for row in shown.itertuples()
    ]
    text = "; ".join(parts)
    text = f"{text[0].upper()}{text[1:]} ({splits})"
    if not passed.empty:
        return f"{text}."
    (row,) = shown.itertuples()
    if row.permuted_error <= row.error:
        return f"Permuting any single input does not raise the error ({splits})."
    return f"{text}; this, and each smaller rise, may be chance (adjusted p \u2265 {RISK:g})."
