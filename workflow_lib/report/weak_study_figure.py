"""Error against the weight of weak labels, or against the share of wrong labels."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from workflow_lib.report.labels import splits_in_words, variant_label
from workflow_lib.report.lines import Line, draw_panels, level_line, panel_size, row_style
from workflow_lib.report.quantities import QUANTITIES, Quantity
from workflow_lib.report.results import read_scores
from workflow_lib.report.study_tables import reference_cell, study_table, varied_variants
from workflow_lib.report.style import applied_style, line_style
from workflow_lib.report.tables import Cell

X_LABELS = {
    "weak_weight": "\u03bb\u2082, the weight of weak labels (log scale)",
    "weak_noise": "share of wrong labels",
}
BREAK = 1.5
"""Distance between two segments of the axis, in powers of ten."""


def draw_weak_study(
    scores: str | Path, kind: str, methods: Mapping[str, Mapping], *, title: str, metric: str
):
    """Return the figure: mean and standard deviation over splits against the value of the study.

    The axis of lambda_2 is logarithmic; zero, which leaves the weak rows out, is drawn separately
    on the left, and what cross-validation selects on the right. A dashed line is the reference
    method without weak rows. Points of one value are drawn side by side. Limits, colors and names
    are those of `workflow_lib.report.lines.draw_panels`.

    `kind` is the study, `methods` have ``label``, ``color`` and ``marker`` in the order of the
    legend, and the `title` is that of the dataset. An accuracy is drawn in percent.

    Raises UserError if the scores contain no such study.
    """
    from matplotlib.figure import Figure

    measured = QUANTITIES[metric]
    reference = measured.reference
    cells = study_table(
        read_scores(scores), kind, metric=metric, method_order=methods, reference=reference
    )
    variants = varied_variants(cells)
    segments = _segments(cells, kind)
    positions = _positions(segments, kind)
    ordered = sorted(positions.values())
    gap = min((b - a for a, b in zip(ordered, ordered[1:], strict=False)), default=1.0)
    step = min(0.25 / len(variants), 0.06) * gap
    references = [reference_cell(cells, variant) for variant in variants]
    size = measured.size_in_words(cells[0].training_size)
    sizes = f"{size} and {variants[0].weak_size} weak rows"
    n_splits = max(cell.n_splits for cell in cells)
    what = splits_in_words(n_splits, [cell.n_test for cell in cells])
    with applied_style():
        figure = Figure(figsize=panel_size(len(variants)), layout="constrained")
        axis = figure.subplots()
        _name_positions(axis, segments, positions, kind)
        axis.set_ylabel(measured.axis)
        lines = [
            _line(
                {cell.value: cell for cell in cells if cell.variant == variant},
                segments,
                positions,
                measured,
                step * (index - (len(variants) - 1) / 2),
                variant_label(variant._replace(weak_size=0), methods),
                row_style(variant, variants, methods),
            )
            for index, variant in enumerate(variants)
        ]
        color = line_style(reference, methods)["color"]
        levels = []
        for cell in dict.fromkeys(cell for cell in references if cell is not None):
            label = f"{variant_label(cell.variant, methods)}, no weak rows"
            level = measured.shown(cell.mean)
            levels.append(level_line(axis, label, level, color=color, linestyle="--"))
        draw_panels(
            [axis],
            [lines + levels],
            title=f"{title}\n{sizes}\n{what}",
            is_error=not measured.higher_is_better,
            reference=[line.label for line in levels],
        )
    return figure


def _segments(cells: Sequence[Cell], kind: str) -> list[list[float | None]]:
    """Return the values drawn, in segments between which the axis is broken. Of weights these are
    zero, the others, and what is selected (None)."""
    values = {cell.value for cell in cells if cell.value is not None}
    if kind == "weak_noise":
        return [sorted(values)]
    segments = [[0.0] if 0 in values else [], sorted(values - {0}), [None]]
    return [segment for segment in segments if segment]


def _positions(segments: Sequence[Sequence[float | None]], kind: str) -> dict[float | None, float]:
    """Return the position of each value on the axis. Weights are at their logarithms, shares as
    they are; a segment begins `BREAK` after the last."""
    positions: dict[float | None, float] = {}
    for segment in segments:
        natural = [math.log10(v) if v and kind == "weak_weight" else (v or 0.0) for v in segment]
        shift = max(positions.values()) + BREAK - natural[0] if positions else 0.0
        positions |= {value: index + shift for value, index in zip(segment, natural, strict=True)}
    return positions


def _line(
    cells: Mapping, segments, positions, measured: Quantity, shift: float, label, appearance
) -> Line:
    """Return the line of one method, interrupted between segments."""
    points = []
    for segment in segments:
        for value in segment:
            if value in cells:
                mean, deviation = cells[value].mean, cells[value].deviation
                shown = measured.shown(mean), measured.shown_spread(deviation)
                points.append((positions[value] + shift, *shown))
        points.append((math.nan, math.nan, math.nan))
    line = Line(label, *zip(*points, strict=True), appearance)
    sign = -1 if measured.higher_is_better else 1
    return replace(line, value=sign * line.last_point[1])


def _name_positions(axis, segments, positions: Mapping[float | None, float], kind: str) -> None:
    """Write the values under the axis, and a thin line wherever it is broken."""
    labels = ["selected" if value is None else f"{value:g}" for value in positions]
    axis.set_xticks(list(positions.values()), labels)
    axis.set_xlabel(X_LABELS[kind])
    axis.grid(False, axis="x")
    margin = 0.08 * (max(positions.values()) - min(positions.values())) or 0.5
    axis.set_xlim(min(positions.values()) - margin, max(positions.values()) + margin)
    for segment in segments[1:]:
        middle = positions[segment[0]] - BREAK / 2
        axis.axvline(middle, color="#999999", linewidth=0.8, linestyle=(0, (1, 3)), zorder=1)
