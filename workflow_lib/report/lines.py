"""Panels of lines with error bars: the limits of the axis, which have a color, and their names."""

import math
import textwrap
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from workflow_lib.report.labels import variant_label
from workflow_lib.report.style import (
    DASHES,
    WIDTH,
    applied_style,
    line_style,
    scale_errors,
    write_title,
)
from workflow_lib.report.variants import Variant

MAX_IN_COLOR = 8
OTHER_LOOK = {"color": "#9a9a9a", "linewidth": 0.9, "markersize": 5, "zorder": 1.5}

MAX_BAR_LENGTH = 2.0
"""The axis leaves room for bars up to this multiple of a length that three quarters of them do not
exceed; longer ones may be cut at its edge."""

NEAR = 0.25
"""A baseline is drawn up to this part of the span of the lines beyond them; further away it would
only take space."""

NAME_LETTERS = 26
NAME_HEIGHT = 11.5
"""Height of a line of a name at the end of a line, in points."""


@dataclass(frozen=True)
class Line:
    """Means with bars at positions of the horizontal axis, (n,) each; a NaN interrupts the line.

    Of too many lines those with the smallest `value` have a color. `appearance` holds what
    matplotlib's lines take; a line without ``marker`` is one of comparison.
    """

    label: str
    positions: Sequence[float]
    means: Sequence[float]
    bars: Sequence[float]
    appearance: Mapping[str, Any]
    value: float = -np.inf

    @property
    def last_point(self) -> tuple[float, float]:
        """The position and the mean where the line ends."""
        last = np.flatnonzero(~np.isnan(self.means))[-1]
        return self.positions[last], self.means[last]


def row_style(
    variant: Variant, variants: Sequence[Variant], methods: Mapping[str, Mapping]
) -> dict[str, Any]:
    """Return the look of a row: that of its method, with a dash for each further row of it."""
    of_method = [other for other in variants if other.method == variant.method]
    dash = DASHES[of_method.index(variant) % len(DASHES)]
    return {**line_style(variant.method, methods), "linestyle": dash}


def panel_size(n_lines: int) -> tuple[float, float]:
    """Return the size in inches of a figure of one panel, higher where a legend is needed."""
    return WIDTH, 4.2 + 0.2 * max(n_lines - MAX_IN_COLOR, 0)


def level_line(axis, label: str, level: float, **appearance) -> Line:
    """Return a horizontal line from the left to the right limit of an axis."""
    appearance = {"linewidth": 1.2, "zorder": 1} | appearance
    return Line(label, axis.get_xlim(), [level, level], [0.0, 0.0], appearance)


def draw_curve(
    panels: Mapping[str, Sequence[Line]],
    *,
    size: tuple[float, float],
    axes: tuple[str, str],
    scale: Callable[[Any, str], None],
    title_of: Callable[[str], str] = str,
    n_columns: int = 2,
    share_x: bool = True,
    level: tuple[str, float] | None = None,
    dashes: str = ":",
    **named,
):
    """Return a figure of y against x: a panel of lines for each name.

    Parameters
    ----------
    panels : mapping
    size : tuple of float
        In inches.
    axes : tuple of str
        Names of the horizontal and the vertical axis; an empty one is not written.
    scale : function
        Scales the horizontal axis of a panel, given its axes and its name.
    title_of : function
        From the name of a panel to its title, empty for none; the name by default.
    n_columns : int, default=2
        Most panels in a row.
    share_x : bool, default=True
        Whether all panels have one horizontal axis.
    level : tuple of str and float, or None
        Name and value of the baseline, a line of these `dashes`.
    **named
        As of `draw_panels`.
    """
    from matplotlib.figure import Figure

    n_panels, n_columns = len(panels), min(len(panels), n_columns)
    shape = math.ceil(n_panels / n_columns), n_columns
    with applied_style():
        figure = Figure(figsize=size, layout="constrained")
        grid = figure.subplots(*shape, sharex=share_x, sharey=True, squeeze=False)
        for axis, name in zip(grid.flat, panels, strict=False):
            scale(axis, name)
            if title_of(name):
                axis.set_title(title_of(name))
        for axis in grid[:, 0]:
            axis.set_ylabel(axes[1])
        for axis in grid.flat[max(n_panels - n_columns, 0) : n_panels] if axes[0] else ():
            axis.set_xlabel(axes[0])
            axis.tick_params(labelbottom=True)
        appearance = {"color": "#444444", "linestyle": dashes}
        baseline = level_line(grid[0, 0], *level, **appearance) if level else None
        draw_panels(list(grid.flat), list(panels.values()), baseline=baseline, **named)
    return figure


def method_lines(
    variants: Sequence[Variant],
    cells: Sequence[Mapping[Variant, tuple[float, float]]],
    positions: Callable[[float], Sequence[float]],
    methods: Mapping[str, Mapping],
    sign: int | None = None,
    label: Callable[[Variant, Mapping[str, Mapping]], str] = variant_label,
) -> list[Line]:
    """Return the line of each row of a table that has a mean in some of the `cells`.

    `cells` are means and deviations at each position. Lines are side by side: `positions` returns
    those of the line with this distance from the middle one. With a `sign`, that of better means,
    lines whose last mean is best have a color where there are too many.
    """
    lines = []
    for index, variant in enumerate(variants):
        means, bars = zip(*(of.get(variant, (math.nan, math.nan)) for of in cells), strict=True)
        if all(math.isnan(mean) for mean in means):
            continue
        appearance = row_style(variant, variants, methods)
        shifted = positions(index - (len(variants) - 1) / 2)
        line = Line(label(variant, methods), shifted, means, bars, appearance)
        lines.append(line if sign is None else replace(line, value=sign * line.last_point[1]))
    return lines


def draw_panels(
    axes: Sequence,
    panels: Sequence[Sequence[Line]],
    *,
    title: str,
    is_error: bool,
    reference: Collection[str] = (),
    baseline: Line | None = None,
) -> None:
    """Draw lines in one or several axes of equal limits, name them, and write the title.

    The limits follow the bulk of the data (`MAX_BAR_LENGTH`); a bar that is cut has a triangle at
    the edge. At most `MAX_IN_COLOR` lines of a panel are in color, others in grey, without bars,
    with a legend of their own. In a single panel, names are at the ends of the lines, else in a
    legend. Lines that differ by less than their width are named together.

    The `axes` have their horizontal limits, and several share their vertical axis; one more than
    panels is for the legend. A label means the same in every panel. The axis is logarithmic where
    errors (`is_error`) differ by a large factor. Lines with a label in `reference` have a color
    whatever their value, and a further horizontal line, the `baseline`, is left out where it is far
    from all others (`NEAR`).
    """
    panels = [[line for line in panel if not np.isnan(line.means).all()] for panel in panels]
    lines = [line for panel in panels for line in panel]
    values: dict[str, float] = {}
    for line in lines:
        values[line.label] = min(line.value, values.get(line.label, np.inf))
    ranked = sorted(values, key=lambda label: (label not in reference, values[label]))
    others = ranked[MAX_IN_COLOR:]
    has_baseline = _set_limits(axes[0], lines, baseline, is_error)
    is_cut = False
    for axis, panel in zip(axes, panels, strict=False):
        for line in panel:
            is_cut |= _draw_line(axis, line, others)
        if has_baseline:
            _draw_line(axis, baseline, others)
    write_title(axes[0].figure, title + "\n\u25b2 \u25bc the bar goes beyond the axis" * is_cut)
    axes[0].figure.draw_without_rendering()
    groups = [
        _equal_lines(axis, [*panel, baseline] if has_baseline else panel)
        for axis, panel in zip(axes, panels, strict=False)
    ]
    if len(panels) == 1:
        _name_one_panel(axes[0], groups[0], others)
    else:
        _name_panels(axes, groups, others)


def _name_one_panel(axis, groups: Sequence[Sequence[Line]], others: Collection[str]) -> None:
    """Write the names at the ends of the lines, and the legend of those in grey."""
    in_color = [group for group in groups if any(line.label not in others for line in group)]
    in_grey = [replace(group[0], label=_joined(group)) for group in groups if group not in in_color]
    _add_legend_of_others(axis.figure, in_grey, loc="outside lower left")
    _name_ends(axis, in_color)


def _name_panels(
    axes: Sequence, panels: Sequence[Sequence[Sequence[Line]]], others: Collection[str]
) -> None:
    """Write the legend of all panels, and above each panel which of its lines are equal."""
    lines = [line for groups in panels for group in groups for line in group]
    in_grey = [line for line in lines if line.label in others]
    in_color = [line for line in lines if line.label not in others]
    _add_legend_of_others(axes[0].figure, in_grey, loc="outside lower right", ncols=1)
    if len(axes) > len(panels):
        axes[-1].axis("off")
        _add_legend(axes[-1], in_color, loc="upper left", ncols=1)
    else:
        columns = {"ncols": 2} if in_grey else {}
        _add_legend(axes[0].figure, in_color, loc="outside lower left", **columns)
    for axis, groups in zip(axes, panels, strict=False):
        equal = [_wrapped(_joined(group), 40) for group in groups if len(group) > 1]
        axis.set_title("\n".join([axis.get_title("left"), *equal]), fontsize=9)


def _set_limits(axis, lines: Sequence[Line], baseline: Line | None, is_error: bool) -> bool:
    """Set the vertical scale and limits, and return whether the baseline is within them."""
    means = np.concatenate([line.means for line in lines])
    bars = np.nan_to_num(np.concatenate([line.bars for line in lines]))[~np.isnan(means)]
    means = means[~np.isnan(means)]
    if is_error:
        scale_errors(axis, means)
    is_log = axis.get_yscale() == "log"
    if any(bars):
        bars = np.minimum(bars, MAX_BAR_LENGTH * np.quantile(bars[bars > 0], 0.75))
    lowest = np.min(np.maximum(means - bars, means / 2) if is_log else means - bars)
    forward, back = (np.log, np.exp) if is_log else (float, np.array)
    low, high = forward(lowest), forward(np.max(means + bars))
    span = high - low or abs(high) or 1.0
    has_baseline = False
    if baseline is not None:
        level = forward(baseline.means[0])
        has_baseline = low - NEAR * span < level < high + NEAR * span
        low, high = (min(low, level), max(high, level)) if has_baseline else (low, high)
    axis.set_ylim(back([low - 0.05 * span, high + 0.05 * span]))
    return has_baseline


def _draw_line(axis, line: Line, others: Collection[str]) -> bool:
    """Draw a line within the limits of an axis, and return whether a bar is cut there."""
    look = OTHER_LOOK if line.label in others else {}
    appearance = {**line.appearance, "label": line.label, **look}
    if line.label in others or "marker" not in appearance:
        axis.plot(line.positions, line.means, **appearance)
        return False
    appearance |= {"markeredgecolor": "white", "markeredgewidth": 0.6}
    positions, means, bars = np.array([line.positions, line.means, np.nan_to_num(line.bars)])
    axis.errorbar(positions, means, yerr=bars, capsize=2, elinewidth=1.0, **appearance)
    bottom, top = axis.get_ylim()
    cuts = ((means - bars < bottom, bottom, "v"), (means + bars > top, top, "^"))
    appearance = {"color": line.appearance["color"], "linestyle": "", "clip_on": False}
    for is_beyond, edge, marker in cuts:
        if any(is_beyond):
            heights = means[is_beyond] * 0 + edge
            axis.plot(positions[is_beyond], heights, marker=marker, markersize=4.5, **appearance)
    return any(any(is_beyond) for is_beyond, *_ in cuts)


def _equal_lines(axis, lines: Sequence[Line]) -> list[list[Line]]:
    """Return lines in groups that differ by less than a line is wide, after the layout."""
    width = 1.8 * axis.figure.dpi / 72
    groups: list[tuple[np.ndarray, list[Line]]] = []
    for line in lines:
        points = np.column_stack([line.positions, line.means])
        heights = axis.transData.transform(points)[:, 1]
        for first, group in groups:
            if first.shape == heights.shape and np.allclose(
                first, heights, rtol=0, atol=width, equal_nan=True
            ):
                group.append(line)
                break
        else:
            groups.append((heights, [line]))
    return [group for _, group in groups]


def _joined(group: Sequence[Line]) -> str:
    return " = ".join(line.label.replace(" = ", "\u00a0=\u00a0") for line in group)


def _wrapped(name: str, letters: int) -> str:
    return textwrap.fill(name, letters, break_on_hyphens=False)


def _add_legend(artist, lines: Sequence[Line], **where) -> None:
    """Write the legend of lines in a figure or an axis, if there are any; a label occurs once."""
    from matplotlib.lines import Line2D

    handles = {line.label: Line2D([], [], **line.appearance) for line in lines}
    if handles:
        where = {"ncols": max(75 // (max(map(len, handles)) + 7), 1), "alignment": "left"} | where
        artist.legend(list(handles.values()), list(handles), **where)


def _add_legend_of_others(figure, lines: Sequence[Line], **where) -> None:
    """Write the legend of the lines in grey."""
    in_grey = [replace(line, appearance={**line.appearance, **OTHER_LOOK}) for line in lines]
    appearance = {"title": "others, without bars", "title_fontsize": 9, "fontsize": 8.5}
    _add_legend(figure, in_grey, **appearance, **where)


def _name_ends(axis, groups: Sequence[Sequence[Line]]) -> None:
    """Write names right of an axis, each as near to the end of its line as the others permit."""
    from scipy.optimize import isotonic_regression

    axis.figure.draw_without_rendering()
    names = [_wrapped(_joined(group), NAME_LETTERS) for group in groups]
    to_axis = axis.transData + axis.transAxes.inverted()
    ends = np.array([to_axis.transform(group[0].last_point)[1] for group in groups])
    order = np.argsort(ends, kind="stable")
    pixels = NAME_HEIGHT / 72 * axis.figure.dpi
    heights = np.array([names[index].count("\n") + 1 for index in order])
    heights = heights * pixels / axis.get_window_extent().height
    # The middles of names without space between them; what is added must not decrease.
    stacked = np.cumsum(heights) - heights / 2
    added = isotonic_regression(ends[order] - stacked).x
    positions = stacked + np.clip(added, 0.0, max(1.05 - heights.sum(), 0.0))
    for height, index in zip(positions, order):
        _write_name(axis, groups[index], names[index], height)


def _write_name(axis, group: Sequence[Line], name: str, height: float) -> None:
    """Write a name with the markers of its lines at a height, and join it to their end."""
    from matplotlib.transforms import ScaledTranslation

    marked = [line.appearance for line in group if line.appearance.get("marker")]
    if len(group[0].means) > 1:
        appearance = {"arrowstyle": "-", "color": "#c4c4c4", "linewidth": 0.8}
        appearance |= {"shrinkA": 0, "shrinkB": 0}
        where = {"textcoords": "axes fraction", "annotation_clip": False, "zorder": 1.2}
        axis.annotate("", group[0].last_point, (1.01, height), arrowprops=appearance, **where)
    for number, appearance in enumerate(marked):
        shift = ScaledTranslation((8 + 10 * number) / 72, 0, axis.figure.dpi_scale_trans)
        style = {name: appearance[name] for name in ("color", "marker")}
        axis.plot([1.0], [height], transform=axis.transAxes + shift, clip_on=False, **style)
    where = {"xycoords": "axes fraction", "textcoords": "offset points", "annotation_clip": False}
    begin = (5 + 10 * len(marked), 0)
    axis.annotate(name, (1.0, height), begin, va="center", fontsize=9, **where)
