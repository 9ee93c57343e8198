"""The error against the number of outputs without inputs, relative to the reference method."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from workflow_lib.core.errors import UserError
from workflow_lib.report.labels import method_label, splits_in_words
from workflow_lib.report.lines import Line, draw_curve, panel_size
from workflow_lib.report.quantities import QUANTITIES, errors_of
from workflow_lib.report.results import read_scores
from workflow_lib.report.style import WIDTH

SHOWS = "the error relative to the reference method, against the number of outputs without inputs"
CAPTION = (
    "The error on the test rows relative to that of the reference method, against the number of "
    "rows of which the output alone was used; a line is a number of labelled training rows. Points "
    "are means over the splits of the differences on the same split, bars their sample standard "
    "deviation."
)
READS = {"scores": "results/{experiment}/scores.csv"}
METHOD_FIELDS = ("label",)
REQUIRES = {"has_unpaired_sizes": {True}}
BECAUSE = "a figure of kind unpaired needs unpaired_sizes"

STUDY = "unpaired_size="
COLORS, MARKERS = ("#440154", "#31688E", "#35B779", "#B8860B", "#8A8A8A"), "osD^v"
"""Of the training sizes, from dark to light, in order."""


def draw(scores: str | Path, *, title: str, methods: Mapping[str, Mapping], metric: str):
    """Return the figure; each method that learns from such outputs has a panel.

    Numbers of outputs are drawn at their square roots. Differences are paired by split.

    Raises UserError if no method has learned from outputs without inputs.
    """
    measured = QUANTITIES[metric]
    differences = relative_differences(read_scores(scores), metric, measured.reference)
    if differences.empty:
        raise UserError(
            location=str(scores),
            found="no method that learned from outputs without inputs, or no reference method",
            expected=f"{measured.reference} and a method such as ofer-unpaired or sem-unpaired",
            remedy="add them to methods in the file of the experiment, or leave the figure out",
        )
    panels = dict(list(differences.groupby("method")))
    counts = sorted(differences["count"].unique())
    name = method_label(measured.reference, methods)
    shown = ", ".join(method_label(method, methods) for method in panels)
    what = splits_in_words(differences["split"].nunique(), differences["n_test"])

    def scale(axis, _) -> None:
        axis.set_xscale("function", functions=(lambda x: np.sqrt(np.maximum(x, 0.0)), np.square))
        axis.set_xlim(0, 1.12 * counts[-1])
        axis.set_xticks(counts, [str(count) for count in counts])
        axis.grid(False, axis="x")

    return draw_curve(
        {method: _lines(rows, measured) for method, rows in panels.items()},
        title_of=lambda method: method_label(method, methods) if len(panels) > 1 else "",
        size=panel_size(0) if len(panels) == 1 else (WIDTH, 1.4 + 2.6 * len(panels)),
        axes=(
            "outputs without inputs (square-root scale)",
            f"{measured.error_name}, % above {name}",
        ),
        scale=scale,
        title=f"{title}\n{shown}; {what}",
        is_error=False,
        n_columns=1,
        level=(name, 0.0),
    )


def relative_differences(scores: pd.DataFrame, metric: str, reference: str) -> pd.DataFrame:
    """Return the differences of errors from those of a method on the same split, in per cent.

    Columns ``method``, ``training_size``, ``count`` (of outputs without inputs), ``split``,
    ``n_test`` and ``difference``.
    """
    rows = errors_of(scores, metric)
    key = ["training_size", "split"]
    base = rows[(rows["method"] == reference) & (rows["setting"] == "")]
    studied = rows[rows["setting"].str.startswith(STUDY)]
    # A stack has a single number, none.
    studied = studied[studied.groupby("method")["setting"].transform("nunique") > 1]
    paired = studied.merge(base[[*key, "value"]], on=key, suffixes=("", "_of_reference"))
    return paired.assign(
        count=paired["setting"].str.removeprefix(STUDY).astype(int),
        difference=100.0 * (paired["value"] / paired["value_of_reference"] - 1.0),
    )[["method", "training_size", "count", "split", "n_test", "difference"]]


def _lines(rows: pd.DataFrame, measured) -> list[Line]:
    """Return a line for each training size; points of one number are side by side."""
    lines, step = [], 0.012 * np.sqrt(rows["count"].max())
    for index, (size, points) in enumerate(rows.groupby("training_size")):
        means = points.groupby("count")["difference"].agg(["mean", "std"]).fillna(0.0)
        appearance = {"color": COLORS[index % len(COLORS)], "marker": MARKERS[index % len(MARKERS)]}
        label = measured.size_in_words(size)
        columns = (list(means[name]) for name in ("mean", "std"))
        positions = (np.sqrt(means.index) + index * step) ** 2
        lines.append(Line(label, list(positions), *columns, appearance))
    return lines
