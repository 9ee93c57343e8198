"""The mean of every method with its standard error, as bars beside a line of chance."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from workflow_lib.report.labels import PLUS_MINUS, count_of, variant_label
from workflow_lib.report.quantities import QUANTITIES, baseline_of, errors_by_size
from workflow_lib.report.results import outside_studies, read_scores
from workflow_lib.report.style import WIDTH, applied_style, line_style, write_title
from workflow_lib.report.variants import SELECTED, order_variants

SHOWS = "the mean of every method with its standard error as bars, at the largest training size"
CAPTION = (
    "Means over the splits of every method at the largest training size, and their standard "
    "errors: the sample standard deviation divided by the root of the number of splits. Splits "
    "share rows, so that true standard errors are larger. The dashed line is a guess among the "
    "classes, or the training mean. Figure 4.9 of Blaschko (2014) has this form."
)
READS = {"scores": "results/{experiment}/scores.csv"}
METHOD_FIELDS = ("label", "color")
NAMES_BEST = True


def draw(scores: str | Path, *, title: str, shown_methods: Mapping[str, Mapping], metric: str):
    """Return the figure: a bar for each method, with its name below the axis."""
    from matplotlib.figure import Figure

    measured, rows = QUANTITIES[metric], outside_studies(read_scores(scores))
    columns = errors_by_size(rows, metric)
    size = max(columns)
    variants = [
        variant
        for variant in order_variants(list(columns[size]), shown_methods)
        if variant.method in shown_methods
    ]
    level, name = baseline_of(rows, metric)
    with applied_style():
        figure = Figure(figsize=(WIDTH, 1.7 + 0.45 * len(variants)), layout="constrained")
        axis = figure.subplots()
        for place, variant in enumerate(variants):
            shown = np.array([measured.shown(error) for error in columns[size][variant].values()])
            deviation = shown.std(ddof=1) if len(shown) > 1 else 0.0
            axis.barh(
                place,
                shown.mean(),
                xerr=deviation / np.sqrt(len(shown)),
                height=0.65,
                color=line_style(variant.method, shown_methods)["color"],
                error_kw={"elinewidth": 1.5, "capsize": 4},
                label=variant_label(variant._replace(components=SELECTED), shown_methods),
            )
        labels = [bar.get_label() for bar in axis.containers if bar.get_label() != "_nolegend_"]
        axis.set_yticks(range(len(variants)), labels[: len(variants)])
        axis.set_ylim(len(variants) - 0.4, -0.6)
        axis.grid(False, axis="y")
        if np.isfinite(level):
            axis.axvline(level, color="#222222", linestyle="--", linewidth=1.4, label=name)
            figure.legend(handles=axis.lines[-1:], loc="outside lower right")
        axis.set_xlabel(measured.axis)
        splits = count_of(rows["split"].nunique(), "split")
        what = f"{measured.size_in_words(size)}; {splits}, mean {PLUS_MINUS} standard error"
        write_title(figure, f"{title}\n{what}")
    return figure
