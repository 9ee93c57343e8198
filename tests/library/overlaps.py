"""Overlapping text and marks of a figure, found in what Matplotlib draws."""

import itertools

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from workflow_lib.report.style import applied_style, lay_out

EDGE = 1.0
"""Pixels at the border of a text that another thing may touch: extents are rounded up."""


def overlaps(figure) -> list[str]:
    """Return what is wrong: texts that overlap, marks below texts, and what leaves the figure.

    Marks are all that is drawn beside texts, frames, ticks, grids, legends and the lines that lead
    to a name.
    """
    with applied_style():
        canvas = FigureCanvasAgg(figure)
        lay_out(figure)
        canvas.draw()
        # Fixed, so that nothing moves when the texts are hidden.
        figure.set_layout_engine("none")
        texts = [(text.get_text(), text.get_window_extent()) for text in _texts(figure)]
        _leave_marks_alone(figure)
        canvas.draw()
    is_ink = np.asarray(canvas.buffer_rgba())[::-1, :, :3].min(axis=2) < 250
    height, width = is_ink.shape
    found = []
    for name, box in texts:
        if not (-EDGE <= box.x0 and box.x1 <= width + EDGE):
            found.append(f"{name!r} leaves the figure sideways: {box.x0:.0f} to {box.x1:.0f}")
        if not (-EDGE <= box.y0 and box.y1 <= height + EDGE):
            found.append(f"{name!r} leaves the figure upwards: {box.y0:.0f} to {box.y1:.0f}")
        x0, y0, x1, y1 = (max(round(edge), 0) for edge in box.padded(-EDGE).extents)
        if is_ink[y0:y1, x0:x1].any():
            found.append(f"a mark runs through {name!r}")
    for (name, box), (other, location) in itertools.combinations(texts, 2):
        shared = Bbox.intersection(box.padded(-EDGE), location.padded(-EDGE))
        if shared is not None and shared.width > 0 and shared.height > 0:
            found.append(f"{name!r} overlaps {other!r}")
    border = np.concatenate([is_ink[0], is_ink[-1], is_ink[:, 0], is_ink[:, -1]])
    return [*found, *["a mark leaves the figure"] * bool(border.any())]


def _texts(figure) -> list[Text]:
    """Return the texts that are drawn; ticks beyond the limits of their axis are not."""
    of_ticks, drawn = set(), []
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
                of_ticks |= {tick.label1, tick.label2}
                if axes.axison and low <= tick.get_loc() <= high:
                    drawn += [tick.label1, tick.label2]
    others = [text for text in figure.findobj(Text) if text not in of_ticks]
    return [each for each in drawn + others if each.get_visible() and each.get_text().strip()]


def _leave_marks_alone(figure) -> None:
    """Hide the texts, frames, ticks, grids, legends and the lines that lead to a name."""
    for text in figure.findobj(Text):
        text.set_visible(False)
    for legend in (*figure.legends, *(axes.get_legend() for axes in figure.axes)):
        if legend is not None:
            legend.set_visible(False)
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_visible(False)
        axes.spines[:].set_visible(False)
