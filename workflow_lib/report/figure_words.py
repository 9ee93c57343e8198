"""What a figure shows, in words with its numbers, for readers who cannot see it.

The words travel in the metadata of the SVG, so that whatever shows the picture has them.
"""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

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
        for panel, rows in figure_data(figure).groupby("panel", sort=False):
            rows = rows[rows["kind"] != "area"]
            rows = rows[(rows["series"] != "") | (rows["series"] == "").all()]
            groups = rows.groupby(["series", "kind"], sort=False)
            parts = [_series_in_words(*key, of_series) for key, of_series in groups]
            if len(parts) > MAX_SERIES:
                parts[MAX_SERIES:] = [f"{len(parts) - MAX_SERIES} more"]
            # A panel without a title has its number.
            axis = figure.axes[int(panel) - 1] if panel.isdecimal() else None
            labels = [axis.get_ylabel(), axis.get_xlabel()] if axis else [panel]
            name = " against ".join(label for label in labels if label)
            said.append(f"{name}: {'; '.join(parts)}".removeprefix(": "))
        if len(said) > MAX_PANELS:
            said[MAX_PANELS:] = [f"{len(said) - MAX_PANELS} more panels"]
        sentences = [figure.get_suptitle(), *said] if said else []
        words = " ".join(f"{part.rstrip('.:; ')}." for part in sentences if part)
    return _CONTROLS.sub(" ", words.replace(r"\$", "$")).strip()


def _series_in_words(series: str, kind: str, rows: pd.DataFrame) -> str:
    """Return the values of a line or of other parts of a panel, after their label."""
    x, y = (rows[name].to_numpy(float) for name in ("x", "y"))
    if kind in ("bar", "cell"):
        y = rows["high"].to_numpy(float)
    known = y[~np.isnan(y)]
    label = f"{series} " if series else ""
    if not len(known):
        return f"{label}no values"
    if kind == "line" and len(rows) <= MAX_VALUES:
        pairs = (f"{height:.3g} at {place:.3g}" for place, height in zip(x, y, strict=True))
        return f"{label}{', '.join(pairs)}"
    between = f"{known.min():.3g} to {known.max():.3g}"
    if kind == "line":
        ends = f"{y[0]:.3g} at {x[0]:.3g}, {y[-1]:.3g} at {x[-1]:.3g}"
        return f"{label}{ends}, in all {between}"
    return f"{label}{count_of(len(known), kind)}, {between}"


def words_of(path: str | Path) -> str:
    """Return the description in an SVG file, nothing where it has none."""
    found = _DESCRIPTION.search(Path(path).read_text(encoding="utf-8"))
    return unescape(found[1]).strip() if found else ""
