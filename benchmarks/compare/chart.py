"""The chart of mean errors, from the table of all cells on the page of the comparison.

python -m benchmarks.compare.chart
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from benchmarks.compare.peers import PEERS
from benchmarks.measuring import ROOT
from workflow_lib.core.whole_files import write_bytes
from workflow_lib.report.style import (
    BASE_COLOR,
    WIDTH,
    applied_style,
    drawn,
    lay_out,
    write_title,
)

FIGURE_NAME = "comparison-errors.png"
SUBJECT = "OFER-stack"
COLOR, DOT_COLOR = "#BBBBBB", "#444444"


def main() -> None:
    """Draw the chart of docs/comparison.md."""
    docs = ROOT / "docs"
    write_chart(docs, (docs / "comparison.md").read_text(encoding="utf-8"))


def write_chart(folder: Path, page: str) -> None:
    """Write the chart of a page to a folder, as PNG."""
    with applied_style():
        figure = draw(recorded_errors(page))
        lay_out(figure)
        write_bytes(folder / FIGURE_NAME, drawn(figure, "png", {"Software": None}))


def recorded_errors(page: str) -> pd.DataFrame:
    """Return the errors of all cells on the page: a row for each cell, a column for each method."""
    lines = page.partition("## All cells")[2].partition("\n## ")[0].splitlines()
    rows = [
        [cell.strip(" *") for cell in line.strip("|").split("|")] for line in lines if "|" in line
    ]
    frame = pd.DataFrame(rows[2:], columns=rows[0]).set_index(["table", "rows"])
    return frame.drop(columns="best single method").apply(pd.to_numeric)


def draw(errors: pd.DataFrame) -> Figure:
    """Return the chart: the mean error of our stack and of the other libraries' methods.

    Methods that did not run on all cells are left out.
    """
    labels = [SUBJECT, *(peer.label for peer in PEERS.values())]
    shown = errors[[label for label in labels if label in errors]].dropna(axis="columns")
    shown = shown[shown.mean().sort_values(ascending=False).index]
    tables = shown.groupby("table").mean()
    height = 0.6 + 0.23 * max(len(shown.columns), 3)
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    axis = figure.subplots()
    for position, (method, column) in enumerate(shown.items()):
        is_ours = method == SUBJECT
        axis.barh(position, column.mean(), color=BASE_COLOR if is_ours else COLOR, height=0.7)
        axis.plot(tables[method], [position] * len(tables), ".", color=DOT_COLOR, markersize=4)
        axis.annotate(
            f"{column.mean():.3f}",
            (0, position),
            (4, 0),
            textcoords="offset points",
            va="center",
            color="white" if is_ours else "black",
        )
    axis.set_yticks(range(len(shown.columns)), list(shown))
    axis.set_xlim(0, None)
    axis.set_xlabel("test error relative to that of the training mean (1: no better)")
    axis.grid(False, axis="y")
    absent = [label for label in labels if label in errors and label not in shown]
    title = f"Mean over {len(shown)} cells (bars) and over those of each table (dots)"
    if absent:
        title += f"\nNot on all cells, and so left out: {', '.join(absent)}"
    write_title(figure, title)
    return figure


if __name__ == "__main__":
    main()
