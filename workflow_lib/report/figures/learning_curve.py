"""Error or accuracy against training size for every method of an experiment."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from workflow_lib.report.labels import method_label, splits_in_words, variant_label
from workflow_lib.report.lines import draw_curve, method_lines, panel_size
from workflow_lib.report.quantities import QUANTITIES, baseline_of, shown_means
from workflow_lib.report.results import outside_studies, read_scores
from workflow_lib.report.style import WIDTH, scale_sizes
from workflow_lib.report.variants import SELECTED, Variant, components_order, order_variants

SHOWS = "aRRMSE, or the accuracy, against the number of labelled rows"
CAPTION = (
    "The error on the test rows, or the accuracy, against the number of labelled training rows; a "
    "line is a method. Points are means over the splits, bars their sample standard deviation."
)
READS = {"scores": "results/{experiment}/scores.csv"}
METHOD_FIELDS = ("label", "color", "marker", "regressor")
NAMES_BEST = True


def draw(scores: str | Path, *, title: str, shown_methods: Mapping[str, Mapping], metric: str):
    """Return the figure: mean and standard deviation over splits against the training size.

    Points of one training size are drawn side by side, so that methods with equal errors are all
    seen. Fixed component numbers get a panel each, in which methods without a fixed number are
    repeated; of a method with several numbers of weak rows each has its own line style. Rows of
    studies of weak labels are left out. A dotted line is the error of the training mean, or the
    accuracy of a guess among the classes, unless it is far from all. Limits, colors and names are
    those of `workflow_lib.report.lines.draw_panels`.
    """
    measured, methods = QUANTITIES[metric], shown_methods
    rows = outside_studies(read_scores(scores))
    cells = shown_means(rows, metric)
    sizes = sorted(cells)
    variants = order_variants((v for column in cells.values() for v in column), methods)
    panels = _panels(variants)
    title = f"{title}\n{splits_in_words(rows['split'].nunique(), rows['n_test'])}"
    baseline, name = baseline_of(rows, metric)
    if measured.is_accuracy:
        title = f"{title}; chance {baseline:.2g} %"
    n_rows = math.ceil(len(panels) / 2)
    size = panel_size(len(variants)) if len(panels) == 1 else (WIDTH, 1.4 + 2.4 * n_rows)
    # Points of one training size are side by side.
    gaps = [math.log(b / a) for a, b in zip(sizes, sizes[1:], strict=False)] or [math.log(2)]

    def lines(members: Sequence[Variant]) -> list:
        step = min(0.3 * min(gaps) / len(members), 0.04)
        return method_lines(
            members,
            [cells[size] for size in sizes],
            lambda index: [size * math.exp(step * index) for size in sizes],
            methods,
            -1 if measured.higher_is_better else 1,
            lambda variant, methods: variant_label(variant._replace(components=SELECTED), methods),
        )

    def title_of(components: str) -> str:
        name = f"C = {components}" if components.isdigit() else "C selected"
        return name if len(panels) > 1 else ""

    return draw_curve(
        {components: lines(members) for components, members in panels.items()},
        size=size,
        title_of=title_of,
        axes=(measured.size_axis, measured.axis),
        scale=lambda axis, _: scale_sizes(axis, sizes, 1.3 if len(sizes) > 1 else 1.15),
        title=title,
        is_error=not measured.higher_is_better,
        reference=[method_label(measured.reference, methods)],
        level=(name, baseline),
    )


def _panels(variants: Sequence[Variant]) -> dict[str, list[Variant]]:
    """Return the component setting of each panel and the rows drawn in it. A method with fixed
    numbers is drawn in the panels of its numbers (and of the selected setting, where it has that
    too); a method without is drawn in all of them."""
    with_numbers = {v.method for v in variants if v.components.isdigit()}
    settings = {v.components for v in variants if v.method in with_numbers} or {SELECTED}
    panels = {}
    for setting in sorted(settings, key=components_order):
        panels[setting] = [
            v for v in variants if v.components == setting or v.method not in with_numbers
        ]
    return panels
