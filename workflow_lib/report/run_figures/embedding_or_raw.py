"""Does it help a regressor to predict embeddings instead of the outputs, and do weak rows help?"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from workflow_lib.report.embedding_pairs import RISK, relative_differences
from workflow_lib.report.inches import GREY
from workflow_lib.report.labels import count_of, format_signed, range_in_words
from workflow_lib.report.results import read_scores, write_frame
from workflow_lib.report.style import applied_style, plain_name, save_figure, wrapped

STYLES = (("#E69F00", "o"), ("#009E73", "s"), ("#0072B2", "D"), ("#CC79A7", "^"), ("#56B4E9", "v"))
"""Colours and markers of the training sizes, which every kind of colour blindness distinguishes."""

NAMES, PANEL, ROW, HEAD = 2.7, 1.75, 0.36, 1.45
"""Widths of the names and of a panel, and heights of a row and of the title, in inches."""

WIDEST = 20.0
"""Largest difference in per cent on the axis; those beyond are triangles at its edge."""

TITLES = {
    "embedding": "Embedding against raw outputs",
    "weak": "Embedding with weak rows against without",
}


def run(
    scores: Mapping[str, str | Path],
    experiments: Mapping[str, Mapping],
    pairs: Mapping[str, Sequence],
    methods: Mapping[str, Mapping],
    output_svg: str | Path,
    output_png: str | Path,
    output_csv: str | Path,
) -> None:
    """Read the scores of all experiments, draw the figure, and write it and its numbers.

    `experiments`, `pairs` and `methods` are those of
    `workflow_lib.report.embedding_pairs.relative_differences`.
    """
    frames = {name: read_scores(path) for name, path in scores.items()}
    found = relative_differences(frames, experiments, pairs, methods)
    save_figure(draw_embedding_or_raw(found), output_svg, output_png)
    write_frame(output_csv, found)


def draw_embedding_or_raw(found: pd.DataFrame):
    """Return the figure: a column for each regressor, a row for each experiment, a mark a size.

    A mark is the mean over the splits of the relative difference in per cent, a bar its standard
    deviation; it is filled where the corrected resampled t-test is significant. All panels have
    the same axis. With weak rows there is a second block of panels.
    """
    from matplotlib.figure import Figure

    labels = list(dict.fromkeys(found["label"]))
    blocks = [rows for _, rows in found.groupby("comparison", sort=False)]
    n_rows = [rows["experiment"].nunique() for rows in blocks]
    height = HEAD + sum(1.0 + ROW * number for number in n_rows)
    with applied_style():
        figure = Figure(figsize=(NAMES + PANEL * len(labels), height), layout="constrained")
        shape = {"sharex": True, "squeeze": False, "height_ratios": n_rows}
        axes = figure.subplots(len(blocks), len(labels), **shape)
        limit = _limit(found)
        for rows, line in zip(blocks, axes, strict=True):
            for label, axis in zip(labels, line, strict=True):
                _draw_panel(axis, rows, rows[rows["label"] == label], limit)
                title = wrapped(label, PANEL - 0.2, 9.5)
                if label == labels[0]:
                    title = f"{TITLES[rows['comparison'].iloc[0]]}\n{title}"
                else:
                    axis.tick_params(labelleft=False)
                axis.set_title(title, fontsize=9.5, loc="left")
        _write_head(figure, found)
    return figure


def _limit(found: pd.DataFrame) -> float:
    """Return the end of the axis on both sides: the largest mean, in steps of five."""
    largest = found["difference_percent"].abs().max()
    return min(WIDEST, 5.0 * math.ceil(1.1 * max(largest, 1.0) / 5.0))


def _draw_panel(axis, block: pd.DataFrame, rows: pd.DataFrame, limit: float) -> None:
    experiments = list(dict.fromkeys(block["experiment"]))
    sizes = sorted(block["training_size"].unique())
    shifts = dict(zip(sizes, np.linspace(-0.28, 0.28, len(sizes)), strict=True))
    axis.axvline(0.0, color="#444444", linewidth=1.2, zorder=1)
    for row in rows.itertuples():
        y = experiments.index(row.experiment) + (shifts[row.training_size] if len(sizes) > 1 else 0)
        color, marker = STYLES[sizes.index(row.training_size) % len(STYLES)]
        x, deviation = row.difference_percent, np.nan_to_num(row.deviation_percent)
        is_inside = abs(x) <= limit
        ends = np.clip([x - deviation, x + deviation], -limit, limit)
        axis.plot(ends, [y, y], color=color, linewidth=1.0, alpha=0.55, zorder=2)
        mark = {"color": color, "markersize": 5.5, "markeredgewidth": 1.3, "clip_on": False}
        mark["marker"] = marker if is_inside else "<" if x < 0 else ">"
        mark["markerfacecolor"] = color if row.p_corrected < RISK else "white"
        axis.plot(np.clip(x, -limit, limit), y, zorder=3, **mark)
    names = block.drop_duplicates("experiment").set_index("experiment")
    marked = (f"{name} *" if names.loc[name, "is_stand_in"] else name for name in experiments)
    texts = [wrapped(plain_name(name), NAMES - 0.2, 8.5) for name in marked]
    axis.set_yticks(range(len(experiments)), texts, fontsize=8.5)
    axis.set_ylim(len(experiments) - 0.45, -0.55)
    axis.set_xlim(-1.04 * limit, 1.04 * limit)
    axis.tick_params(axis="y", length=0)
    axis.tick_params(axis="x", labelbottom=True, labelsize=8.5)
    if rows.empty:
        appearance = {"ha": "center", "color": GREY, "fontsize": 9, "backgroundcolor": "white"}
        axis.text(0.0, (len(experiments) - 1) / 2, "not with weak rows", **appearance)
        return
    n_lower = int((rows["difference_percent"] < 0).sum())
    mean = format_signed(rows["difference_percent"].mean(), 1)
    axis.set_xlabel(f"lower in {n_lower} of {len(rows)},\nmean {mean} %", fontsize=8.5, color=GREY)


def _write_head(figure, found: pd.DataFrame) -> None:
    from matplotlib.lines import Line2D

    sizes = sorted(found["training_size"].unique())
    splits = range_in_words(found["n_splits"])
    weak = found.loc[found["weak_size"] > 0, "weak_size"].unique()
    lines = [
        "Embedding or raw outputs? The same regressor with both targets",
        "Difference of the test error in per cent; left of the line it is lower, thus better",
        f"Mark: mean over {splits} splits; bar: standard deviation; filled: significant "
        f"(corrected t-test, {RISK:g})",
    ]
    notes = ["* a stand-in"] if found["is_stand_in"].any() else []
    if len(weak):
        notes.append(f"{range_in_words(weak)} weak rows")
    if found["difference_percent"].abs().max() > _limit(found):
        notes.append("triangle: beyond the axis")
    if notes:
        lines.append("; ".join(notes))
    figure.suptitle("\n".join(lines), x=0.01, ha="left", fontsize=10.5)
    marks = [
        Line2D([], [], color=color, marker=marker, linestyle="", markersize=6)
        for color, marker in (STYLES[number % len(STYLES)] for number in range(len(sizes)))
    ]
    names = [count_of(int(size), "training row") for size in sizes]
    figure.legend(marks, names, loc="outside lower left", ncols=len(sizes), fontsize=9)
