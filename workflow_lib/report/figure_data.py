"""The numbers that a figure shows, read from its lines, points, bars, areas and pictures."""

import numpy as np
import pandas as pd

COLUMNS = ["panel", "kind", "series", "x", "y", "low", "high"]


def figure_data(figure) -> pd.DataFrame:
    """Return what a figure shows, a row for each point, in the order in which it was drawn.

    Columns: ``panel``, the title of the axes or, without one, their number; ``kind``; ``series``,
    the label of the line or picture, empty without one; ``x`` and ``y``. Of a line with error bars
    (``kind`` ``line``) ``low`` and ``high`` are the ends of the bars. Of bars (``bar``) and areas
    between two lines (``area``) they are their lower and upper ends. A cell of a picture with one
    value per cell (``cell``) has its column as ``x``, its row as ``y`` and its value as ``low`` and
    ``high``. Lines in units of the axes, pictures in colors and drawings have no numbers.

    `figure` is one of matplotlib or a `workflow_lib.report.drawing.Drawing`.
    """
    frames = []
    for number, axis in enumerate(getattr(figure, "axes", ()), start=1):
        panel = " ".join(axis.get_title(loc="left").split()) or axis.get_title() or str(number)
        for kind, series, *values in _parts(axis):
            series = "" if series.startswith("_") else series
            columns = dict(zip(COLUMNS, (panel, kind, series, *values), strict=True))
            frames.append(pd.DataFrame(columns, columns=COLUMNS))
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=COLUMNS)


def _parts(axis):
    """Yield kind, label, x, y, low and high of what the axes hold."""
    from matplotlib.collections import PathCollection, PolyCollection
    from matplotlib.container import BarContainer, ErrorbarContainer

    with_bars = {}
    for container in axis.containers:
        if isinstance(container, ErrorbarContainer) and container.lines[0] is not None:
            bars = [bar for bar in container.lines[2] if len(bar.get_segments())]
            with_bars[container.lines[0]] = container.get_label(), bars
        elif isinstance(container, BarContainer):
            yield ("bar", container.get_label(), *_bars(container.patches))
    for line in axis.lines:
        x, y = (np.asarray(values, dtype=float) for values in line.get_data())
        if line in with_bars:
            label, bars = with_bars[line]
            yield ("line", label, x, y, *_ends(bars, len(x)))
        elif line.get_transform().contains_branch(axis.transData) and line.get_marker() not in "|_":
            yield ("line", line.get_label(), x, y, np.nan, np.nan)
    for collection in axis.collections:
        if isinstance(collection, PathCollection) and len(collection.get_offsets()):
            x, y = np.ma.filled(collection.get_offsets().astype(float), np.nan).T
            yield ("point", collection.get_label(), x, y, np.nan, np.nan)
        elif isinstance(collection, PolyCollection):
            corners = np.vstack([path.vertices for path in collection.get_paths()])
            yield ("area", collection.get_label(), *corners.T, np.nan, np.nan)
    for image in axis.images:
        cells = image.get_array()
        if cells is not None and cells.ndim == 2:
            rows, columns = np.indices(cells.shape).reshape(2, -1)
            values = np.ma.filled(cells.astype(float), np.nan).ravel()
            yield ("cell", image.get_label(), columns, rows, values, values)


def _ends(bars, n_points: int) -> tuple:
    """Return the lower and the upper ends of error bars, NaN where there are none."""
    for bar in bars:
        segments = bar.get_segments()
        if len(segments) == n_points:
            unknown = np.full((2, 2), np.nan)
            ends = np.array([each if len(each) == 2 else unknown for each in segments], dtype=float)
            is_upright = not np.nan_to_num(np.ptp(ends[:, :, 0], axis=1)).any()
            return ends[:, 0, int(is_upright)], ends[:, 1, int(is_upright)]
    return np.nan, np.nan


def _bars(patches) -> tuple:
    """Return the middle of each bar across its length, NaN along it, and its two ends."""
    boxes = np.array([patch.get_bbox().get_points() for patch in patches], dtype=float)
    if np.allclose(np.ptp(boxes[:, :, 1], axis=1), np.ptp(boxes[0, :, 1])):
        return np.nan, boxes[:, :, 1].mean(axis=1), boxes[:, 0, 0], boxes[:, 1, 0]
    return boxes[:, :, 0].mean(axis=1), np.nan, boxes[:, 0, 1], boxes[:, 1, 1]
