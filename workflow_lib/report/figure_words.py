"""What a figure shows, in words with its numbers, for readers who cannot see it.

The words travel in the metadata of the SVG, so that whatever shows the picture has them.
"""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd

from workflow_lib.report.figure_data import figure_data
from workflow_lib.report.labels import count_of

MAX_PANELS = MAX_SERIES = 12
"""Panels, and series of a panel, that are described; more are counted."""

MAX_VALUES = 4
"""Points that are all named; of more, the number and the range."""

_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]+")
_DESCRIPTION = re.compile(r"<dc:description>(.*?)</dc:description>", re.DOTALL)


def describe(figure, words: str):
    """Return a figure after giving it its own description, which `in_words` then returns."""
    figure.description = words
    return figure


def in_words(figure) -> str:
    """Return the description of a figure: its own, or one made of its title and its numbers.

    The latter names each line and the points, bars and cells of each panel, with first and last, or
    least and largest values. Areas and, beside labelled ones, parts without a label, which are aids
    to the eye, are left out. It is empty of a drawing, which shows no numbers.
    """
    words = getattr(figure, "description", None)
    if words is None:
        said = []
        for axis in getattr(figure, "axes", ()):
            rows = figure_data(SimpleNamespace(axes=[axis]))
            rows = rows[rows["kind"] != "area"]
            rows = rows[(rows["series"] != "") | (rows["series"] == "").all()]
            groups = rows.groupby(["series", "kind"], sort=False)
            parts = [_series_in_words(axis, *key, of_series) for key, of_series in groups]
            parts = [part for part in parts if part]
            if len(parts) > MAX_SERIES:
                parts[MAX_SERIES:] = [f"{len(parts) - MAX_SERIES} more"]
            title = " ".join(axis.get_title(loc="left").split()) or axis.get_title()
            labels = [title] if title else [axis.get_ylabel(), axis.get_xlabel()]
            name = " against ".join(label for label in labels if label)
            said += [f"{name}: {'; '.join(parts)}".removeprefix(": ")] if parts else []
        if len(said) > MAX_PANELS:
            said[MAX_PANELS:] = [f"{len(said) - MAX_PANELS} more panels"]
        sentences = [figure.get_suptitle(), *said] if said else []
        words = " ".join(f"{part.rstrip('.:; ')}." for part in sentences if part)
    return _CONTROLS.sub(" ", words.replace(r"\$", "$")).strip()


def _series_in_words(axis, series: str, kind: str, rows: pd.DataFrame) -> str:
    """Return the values of a line or of other parts of a panel, after their label; nothing of the
    line where both coordinates are equal, which guides the eye."""
    x, y = (rows[name].to_numpy(float) for name in ("x", "y"))
    if kind == "line" and np.array_equal(x, y):
        return ""
    if kind in ("bar", "cell"):
        y = rows["high"].to_numpy(float)
    if kind == "line":
        x, y = x[~np.isnan(x + y)], y[~np.isnan(x + y)]
    known = y[~np.isnan(y)]
    label = f"{series} " if series else ""
    if not len(known):
        return f"{label}no values"
    if kind == "line":
        values = [f"{height:.3g} at {_tick_label(axis, at)}" for at, height in zip(x, y)]
        if len(values) <= MAX_VALUES:
            return f"{label}{', '.join(values)}"
    between = f"{known.min():.3g} to {known.max():.3g}"
    if kind == "line":
        return f"{label}{values[0]}, {values[-1]}, in all {between}"
    return f"{label}{count_of(len(known), kind)}, {between}"


def _tick_label(axis, x: float) -> str:
    """Return the tick that a position on the horizontal axis belongs to, where ticks are fixed, as
    the marks of several lines stand beside it."""
    from matplotlib.ticker import FixedFormatter, FixedLocator

    locator, formatter = axis.xaxis.get_major_locator(), axis.xaxis.get_major_formatter()
    if not isinstance(locator, FixedLocator) or not len(locator.locs):
        return f"{x:.3g}"
    nearest = int(np.argmin(np.abs(np.asarray(locator.locs) - x)))
    if isinstance(formatter, FixedFormatter) and nearest < len(formatter.seq):
        return formatter.seq[nearest].replace("\n", " ")
    return f"{locator.locs[nearest]:.5g}"


def words_of(path: str | Path) -> str:
    """Return the description in an SVG file, nothing where it has none."""
    found = _DESCRIPTION.search(Path(path).read_text(encoding="utf-8"))
    return unescape(found[1]).strip() if found else ""
