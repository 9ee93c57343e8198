"""What it costs to reset the queue of the search for several boxes in an image, or to keep it.

As in Figure 5.3 of Blaschko (2014).
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from workflow_lib.papers.blaschko.queue_tables import read_queue_costs
from workflow_lib.report.labels import count_of, method_label, range_in_words
from workflow_lib.report.style import ACCENT_COLOR, BASE_COLOR, WIDTH, applied_style, write_title

SHOWS = (
    "how many sets of boxes the search for ten detections takes from a queue that is reset or "
    "kept, with the weights of the first method of the experiment that is for boxes alone"
)
CAPTION = (
    "Sets of boxes that are taken from the queue for each detection, where the queue is never "
    "reset, reset before the first one or two further detections, or before each; two detections "
    "overlap by less than \u03b3. Lines are means over the splits of the means over images, areas "
    "their sample standard deviation. Top: on the grid of cells of the method; bottom: with its "
    "weights on a finer one."
)
READS = {"queue_costs": "results/{experiment}/queue-costs.csv"}
METHOD_FIELDS = ("label",)
REQUIRES = {"task": {"boxes"}}
BECAUSE = "a figure of kind box_queues shows a search for boxes, and the task is {task}"
NEEDS_METHOD = {"tasks": {("boxes",)}}
METHOD_IN_WORDS = "a method that is for boxes alone, such as boxes-ssvm"

STRATEGIES = {
    "never reset": (0, BASE_COLOR, "-"),
    "before the 2nd alone": (1, "#009E73", "--"),
    "before the 2nd and the 3rd": (2, "#CC79A7", ":"),
    "reset before each detection": (np.inf, ACCENT_COLOR, "-."),
}
"""The number of detections before which the queue is reset, a color and a line style."""


def draw(queue_costs: str | Path, *, title: str, methods: Mapping[str, Mapping]):
    """Return the figure: a panel for each grid of cells and overlap."""
    costs = read_queue_costs(queue_costs)
    rows = {
        f"\u03b3 = {{}}, {n_cells} \u00d7 {n_cells}": of_grid
        for n_cells, of_grid in costs.groupby("n_cells")
    }
    return draw_rows(rows, title, methods, "row")


def draw_rows(
    rows: Mapping[str, pd.DataFrame], title: str, methods: Mapping[str, Mapping], share_y: str
):
    """Return a figure with a row of panels for each table of costs, one for each overlap.

    `rows` are tables by the titles of their panels, with braces for the overlap. The first has the
    columns of ``queue-costs.csv``; others need no method and training size.
    """
    from matplotlib.figure import Figure

    costs = next(iter(rows.values()))
    overlaps = sorted(costs["max_overlap"].unique())
    by_split = costs.groupby("split")["row"].nunique()
    what = (
        f"{method_label(costs['method'].iloc[0], methods)}, {costs['training_size'].iloc[0]} "
        f"training images; the first {range_in_words(set(by_split))} test images of "
        f"{count_of(len(by_split), 'split')}"
    )
    with applied_style():
        figure = Figure(figsize=(WIDTH, 5.8), layout="constrained")
        axes = figure.subplots(len(rows), len(overlaps), sharex=True, sharey=share_y, squeeze=False)
        for row, (name, of_row) in zip(axes, rows.items(), strict=True):
            for axis, overlap in zip(row, overlaps, strict=True):
                _draw_taken(axis, of_row[of_row["max_overlap"] == overlap])
                axis.set_title(name.format(overlap))
            row[0].set_yscale("log")
            row[0].set_ylabel("sets taken from the queue")
        for axis in axes[-1]:
            axis.set_xlabel("detection")
        figure.legend(handles=axes[0, 0].lines, loc="outside lower left", ncols=2)
        write_title(figure, f"{title}\n{what}")
    return figure


def _draw_taken(axis, costs) -> None:
    """Draw the costs of each detection: a line for each strategy."""
    for name, (n_resets, color, dashes) in STRATEGIES.items():
        taken = costs[costs["reset_before"] == np.minimum(costs["detection"], n_resets + 1)]
        means = taken.groupby(["split", "detection"])["n_dequeued"].mean().unstack()
        mean, spread = means.mean(), means.std()
        axis.plot(mean.index, mean, color=color, linestyle=dashes, label=name)
        if len(means) > 1:
            area = {"color": color, "alpha": 0.15, "linewidth": 0}
            axis.fill_between(mean.index, np.maximum(mean - spread, 1.0), mean + spread, **area)
    axis.set_xticks([1, 4, 7, 10])
