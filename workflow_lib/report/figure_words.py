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

MAX_SERIES = 12
"""Series that are described; more are counted."""

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

    The latter names each line, point, bar and picture of each panel with its first and last or its
    least and largest values; it is empty of a drawing, which shows no numbers.
    """
    words = getattr(figure, "description", None)
    if words is None:
        data = figure_data(figure)
        series = list(data.groupby(["panel", "kind", "series"], sort=False))
        said = [_series_in_words(*key, rows) for key, rows in series if key[1] != "area"]
        if len(said) > MAX_SERIES:
            said[MAX_SERIES:] = [f"{len(said) - MAX_SERIES} more series"]
        title = figure.get_suptitle() if said else ""
        words = " ".join(f"{part.rstrip('.:;')}." for part in [*title.splitlines(), *said] if part)
    return _CONTROLS.sub(" ", words.replace(r"\$", "$")).strip()


def _series_in_words(panel: str, kind: str, series: str, rows: pd.DataFrame) -> str:
    # A panel without a title has its number.
    where = "" if panel.isdecimal() else f"{panel}: "
    x, y = (rows[name].to_numpy(float) for name in ("x", "y"))
    if kind in ("bar", "cell"):
        x, y = np.full(len(rows), np.nan), rows["high"].to_numpy(float)
    known = y[~np.isnan(y)]
    what = f"{where}{series}".removesuffix(": ")
    if not len(known):
        return f"{what}: no values"
    if kind == "line" and len(rows) <= MAX_VALUES:
        pairs = (f"{height:.3g} at {place:.3g}" for place, height in zip(x, y, strict=True))
        return f"{what}: {', '.join(pairs)}"
    if kind == "line":
        return (
            f"{what}: from {y[0]:.3g} at {x[0]:.3g} to {y[-1]:.3g} at {x[-1]:.3g}, between "
            f"{known.min():.3g} and {known.max():.3g}"
        )
    return f"{what}: {count_of(len(known), kind)} from {known.min():.3g} to {known.max():.3g}"


def words_of(path: str | Path) -> str:
    """Return the description in an SVG file, nothing where it has none."""
    found = _DESCRIPTION.search(Path(path).read_text(encoding="utf-8"))
    return unescape(found[1]).strip() if found else ""
