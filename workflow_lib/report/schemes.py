"""Schemes of the method: its spaces as boxes, and the maps between them as arrows.

They show no data of a run: only the spaces, the maps between them, and the order in which the maps
are made.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from workflow_lib.report.inches import GREY, INK, LINE, draw_arrow, draw_box, page, write
from workflow_lib.report.style import ACCENT_COLOR, BASE_COLOR, applied_style

WIDTH, HEIGHT = 9.0, 4.3
BOX_WIDTH, BOX_HEIGHT = 1.75, 0.8
LETTERS = 27
"""Letters of a line of text at an arrow."""

LEARNED, GIVEN = ACCENT_COLOR, BASE_COLOR
"""Colors of maps that are learned from training rows, and of those that follow from these."""


@dataclass(frozen=True)
class Space:
    """A space: its symbol, what lies in it, and its middle."""

    symbol: str
    words: str
    x: float
    y: float


@dataclass(frozen=True)
class Map:
    """A map from one space to another, by their keys, with its number in the order of the steps.

    `shift` moves the arrow to its left, in inches; `text` is where its words begin.
    """

    number: str
    source: str
    target: str
    words: str
    text: tuple[float, float]
    color: str = INK
    shift: float = 0.0
    is_whole: bool = False


@dataclass(frozen=True)
class Scheme:
    """A figure: its title, its spaces by key, and its maps."""

    title: str
    spaces: Mapping[str, Space]
    maps: Sequence[Map]


def draw_scheme(scheme: Scheme):
    """Return the figure: a box for each space, and an arrow for each map.

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.figure import Figure

    with applied_style():
        figure = Figure(figsize=(WIDTH, HEIGHT))
        axis = page(figure)
        write(axis, 0.15, 0.22, scheme.title, fontsize=11.5)
        for arrow in scheme.maps:
            _draw_map(axis, arrow, scheme.spaces[arrow.source], scheme.spaces[arrow.target])
        for space in scheme.spaces.values():
            _draw_space(axis, space)
        _draw_key(axis, {arrow.color for arrow in scheme.maps})
    return figure


def _draw_space(axis, space: Space) -> None:
    """Draw the box of a space over the ends of the arrows."""
    left, top = space.x - BOX_WIDTH / 2, space.y - BOX_HEIGHT / 2
    draw_box(axis, left, top, BOX_WIDTH, BOX_HEIGHT, "#f2f2f2", edge=GREY)
    write(axis, space.x, space.y - 0.12, space.symbol, ha="center", fontsize=13, style="italic")
    write(axis, space.x, space.y + 0.17, space.words, ha="center", fontsize=8.5, color=GREY)


def _draw_map(axis, arrow: Map, source: Space, target: Space) -> None:
    """Draw the arrow of a map from box to box, with its number and its words."""
    run_x, run_y = target.x - source.x, target.y - source.y
    length = (run_x**2 + run_y**2) ** 0.5
    side = (run_y / length * arrow.shift, -run_x / length * arrow.shift)
    begin, end = _edge(source, run_x, run_y, side), _edge(target, -run_x, -run_y, side)
    look = {"linestyle": (0, (4, 3))} if arrow.is_whole else {}
    draw_arrow(axis, begin, end, arrow.color, **look)
    x, y = arrow.text
    if arrow.number:
        write(axis, x, y, arrow.number, fontsize=12, weight="bold", color=arrow.color)
        x += 0.22
    for line in textwrap.wrap(arrow.words, 60 if arrow.is_whole else LETTERS):
        write(axis, x, y, line, fontsize=8.5)
        y += LINE


def _edge(
    space: Space, run_x: float, run_y: float, side: tuple[float, float]
) -> tuple[float, float]:
    """Return where a line, shifted by `side` from the middle of a box, leaves the box."""
    share_x = BOX_WIDTH / 2 / abs(run_x) if run_x else float("inf")
    share_y = BOX_HEIGHT / 2 / abs(run_y) if run_y else float("inf")
    if share_x < share_y:
        along = side[1] - side[0] * run_y / run_x
        return space.x + run_x * share_x, space.y + run_y * share_x + along
    along = side[0] - side[1] * run_x / run_y
    return space.x + run_x * share_y + along, space.y + run_y * share_y


def _draw_key(axis, colors: set[str]) -> None:
    """Draw the legend of the colors of the arrows."""
    kinds = {
        "learned from training rows": LEARNED,
        "follows from what is learned": GIVEN,
        "given beforehand": INK,
    }
    shown = {words: color for words, color in kinds.items() if color in colors}
    y = HEIGHT - 0.2
    for number, (words, color) in enumerate(shown.items()):
        x = 0.15 + 2.7 * number
        draw_arrow(axis, (x, y), (x + 0.45, y), color)
        write(axis, x + 0.55, y, words, fontsize=8, color=GREY)
