"""The steps of the method: schemes after figures 1 and 3 of Djerrab et al. (2018).

They show nothing of a run: which spaces there are, which maps lead from one to another, and in
which order these are made. The first is of outputs that are vectors, the second of classes, which
have vectors of their meaning.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from workflow_lib.report.figures.inches import GREY, INK, LINE, draw_arrow, draw_box, page, write
from workflow_lib.report.style import ACCENT_COLOR, BASE_COLOR, applied_style, save_figure

WIDTH, HEIGHT = 9.0, 4.3
BOX_WIDTH, BOX_HEIGHT = 1.75, 0.8
LETTERS = 27
"""Letters of a line of text beside an arrow."""

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


VECTORS = Scheme(
    "Output Fisher embedding regression in three steps",
    {
        "X": Space("X", "inputs", 1.2, 3.3),
        "F": Space("F", "Fisher embeddings", 4.6, 1.1),
        "Y": Space("Y", "outputs", 7.3, 3.3),
    },
    (
        Map(
            "1",
            "Y",
            "F",
            "a density p(y) is fitted to the training outputs; each is embedded as M times the "
            "gradient of log p",
            (6.65, 1.35),
            LEARNED,
            shift=-0.13,
        ),
        Map(
            "2",
            "X",
            "F",
            "h, the regression of the embedding from the input, learned by ridge",
            (0.85, 1.35),
            LEARNED,
        ),
        Map(
            "3",
            "F",
            "Y",
            "the pre-image: the output whose embedding is nearest, in closed form",
            (3.7, 2.45),
            GIVEN,
            shift=-0.13,
        ),
        Map("", "X", "Y", "f, the prediction: step 3 after h", (3.0, 3.55), GREY, is_whole=True),
    ),
)
"""After figure 1 of the paper."""

CLASSES = Scheme(
    "From an image to a class with a meaning in five steps",
    {
        "X": Space("X", "images, as features", 1.2, 3.3),
        "F": Space("F", "Fisher embeddings", 2.3, 1.1),
        "Y": Space("Y", "vectors of a meaning", 6.2, 1.1),
        "Z": Space("Z", "classes", 7.7, 3.3),
    },
    (
        Map(
            "1",
            "Z",
            "Y",
            "each class has the vector of its name, or of a text about it",
            (7.2, 1.85),
            shift=-0.13,
        ),
        Map(
            "2",
            "Y",
            "F",
            "a density is fitted to those of the training rows; each is embedded",
            (3.3, 0.5),
            LEARNED,
            shift=-0.13,
        ),
        Map("3", "X", "F", "h, learned by ridge", (0.15, 2.1), LEARNED),
        Map("4", "F", "Y", "first pre-image: a vector", (3.3, 1.5), GIVEN, shift=-0.13),
        Map("5", "Y", "Z", "second pre-image: the nearest class", (4.35, 2.35), GIVEN, shift=-0.13),
        Map("", "X", "Z", "f, the prediction: 5 after 4 after h", (3.0, 3.55), GREY, is_whole=True),
    ),
)
"""After figure 3 of the paper."""

SCHEMES = {"steps": VECTORS, "class_steps": CLASSES}
"""By the kind of the figure in the configuration."""


def run(output_svg: str | Path, output_png: str | Path, kind: str) -> None:
    """Draw the scheme of a kind and write it."""
    save_figure(draw_steps(kind), output_svg, output_png)


def draw_steps(kind: str):
    """Return the figure of a kind: a box for each space, and an arrow for each map.

    Parameters
    ----------
    kind : {"steps", "class_steps"}

    Returns
    -------
    matplotlib.figure.Figure
        To be written by `workflow_lib.report.style.save_figure`.
    """
    from matplotlib.figure import Figure

    scheme = SCHEMES[kind]
    with applied_style():
        figure = Figure(figsize=(WIDTH, HEIGHT))
        axis = page(figure)
        write(axis, 0.15, 0.22, scheme.title, fontsize=11.5)
        for one in scheme.maps:
            _draw_map(axis, one, scheme.spaces[one.source], scheme.spaces[one.target])
        for space in scheme.spaces.values():
            _draw_space(axis, space)
        _draw_key(axis, {one.color for one in scheme.maps})
    return figure


def _draw_space(axis, space: Space) -> None:
    """Draw the box of a space over the ends of the arrows."""
    left, top = space.x - BOX_WIDTH / 2, space.y - BOX_HEIGHT / 2
    draw_box(axis, left, top, BOX_WIDTH, BOX_HEIGHT, "#f2f2f2", edge=GREY)
    write(axis, space.x, space.y - 0.12, space.symbol, ha="center", fontsize=13, style="italic")
    write(axis, space.x, space.y + 0.17, space.words, ha="center", fontsize=8.5, color=GREY)


def _draw_map(axis, one: Map, source: Space, target: Space) -> None:
    """Draw the arrow of a map from box to box, with its number and its words."""
    run_x, run_y = target.x - source.x, target.y - source.y
    length = (run_x**2 + run_y**2) ** 0.5
    side = (run_y / length * one.shift, -run_x / length * one.shift)
    begin, end = _edge(source, run_x, run_y, side), _edge(target, -run_x, -run_y, side)
    look = {"linestyle": (0, (4, 3))} if one.is_whole else {}
    draw_arrow(axis, begin, end, one.color, **look)
    x, y = one.text
    if one.number:
        write(axis, x, y, one.number, fontsize=12, weight="bold", color=one.color)
        x += 0.22
    for line in textwrap.wrap(one.words, 60 if one.is_whole else LETTERS):
        write(axis, x, y, line, fontsize=8.5)
        y += LINE


def _edge(
    space: Space, run_x: float, run_y: float, side: tuple[float, float]
) -> tuple[float, float]:
    """Return where a line that runs beside the middle of a box leaves it."""
    share_x = BOX_WIDTH / 2 / abs(run_x) if run_x else float("inf")
    share_y = BOX_HEIGHT / 2 / abs(run_y) if run_y else float("inf")
    if share_x < share_y:
        along = side[1] - side[0] * run_y / run_x
        return space.x + run_x * share_x, space.y + run_y * share_x + along
    along = side[0] - side[1] * run_x / run_y
    return space.x + run_x * share_y + along, space.y + run_y * share_y


def _draw_key(axis, colors: set[str]) -> None:
    """Say what the colors of the arrows mean."""
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
