"""Learning curves of the test rows beside those of the training rows, for every method."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from workflow_lib.core.errors import UserError
from workflow_lib.core.result_columns import TRAINING
from workflow_lib.report.labels import method_label, splits_in_words, variant_label
from workflow_lib.report.lines import Line, draw_panels, row_style
from workflow_lib.report.quantities import QUANTITIES, as_measured_on_test_rows, shown_means
from workflow_lib.report.results import outside_studies, read_scores
from workflow_lib.report.style import WIDTH, applied_style, scale_sizes
from workflow_lib.report.variants import Variant, order_variants

SHOWS = "the error on the test rows beside that on the training rows, against the number of rows"
CAPTION = (
    "The error, or the accuracy, on the test rows (left) and on the training rows that the method "
    "was fitted to (right), against their number. Points are means over the splits, bars their "
    "sample standard deviation. The estimation error is at most the distance between both, and "
    "what more rows do not reduce is at least the level on the training rows; methods that repeat "
    "their training outputs say nothing here. Stacks and some others have no error on training "
    "rows."
)
READS = {"scores": "results/{experiment}/scores.csv"}
METHOD_FIELDS = ("label", "color", "marker")


def draw(scores: str | Path, *, title: str, shown_methods: Mapping[str, Mapping], metric: str):
    """Return the figure: two panels of equal limits, the same methods in both.

    Methods without an error of the training rows (stacks, methods on landmarks, and those whose
    pre-image is a search for each row) are in the left panel only.

    Raises
    ------
    UserError
        If no method has one.
    """
    from matplotlib.figure import Figure

    measured, methods = QUANTITIES[metric], shown_methods
    rows = outside_studies(read_scores(scores))
    rows = rows[rows["method"].isin(methods)]
    of_training = as_measured_on_test_rows(rows, TRAINING)
    if of_training.empty:
        raise UserError(
            place="a figure of the kind training_error",
            found=f"no method has an error of its training rows: {', '.join(methods)}",
            expected="one at least, as most methods without landmarks have it",
            remedy="run the experiment again with the present version, or leave the figure out",
        )
    panels = {"test rows": rows, "training rows": of_training}
    cells = {name: shown_means(frame, metric) for name, frame in panels.items()}
    variants = order_variants(
        list(dict.fromkeys(v for column in cells["test rows"].values() for v in column)), methods
    )
    sizes = sorted(cells["test rows"])
    with applied_style():
        figure = Figure(figsize=(WIDTH, 4.4), layout="constrained")
        axes = list(figure.subplots(1, 2, sharey=True))
        for axis, name in zip(axes, panels, strict=True):
            scale_sizes(axis, sizes, 1.15)
            axis.set_title(name)
            axis.set_xlabel(measured.size_axis)
        axes[0].set_ylabel(measured.axis.replace(" on test rows", ""))
        draw_panels(
            axes,
            [_lines(variants, sizes, found, methods, measured) for found in cells.values()],
            title=f"{title}\n{splits_in_words(rows['split'].nunique(), rows['n_test'])}",
            is_error=not measured.higher_is_better,
            reference=[method_label(measured.reference, methods)],
        )
    return figure


def _lines(variants: Sequence[Variant], sizes: Sequence[int], cells, methods, measured) -> list:
    """Return the lines of one panel, of the rows that it has."""
    lines = []
    for variant in variants:
        points = [cells.get(size, {}).get(variant, (math.nan, math.nan)) for size in sizes]
        means, bars = zip(*points, strict=True)
        known = [mean for mean in means if mean == mean]
        if known:
            sign = -1 if measured.higher_is_better else 1
            look = row_style(variant, variants, methods)
            label = variant_label(variant, methods)
            lines.append(Line(label, sizes, means, bars, look, value=sign * known[-1]))
    return lines
