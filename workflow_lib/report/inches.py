"""Figures of texts, boxes and arrows, at positions in inches from the upper left."""

from collections.abc import Sequence

INK, GREY = "#222222", "#444444"

LINE = 0.15
"""Distance between two lines of text."""


def page(figure):
    """Return an axis that fills a figure, in inches, downwards from the upper edge."""
    width, height = figure.get_size_inches()
    axis = figure.add_axes((0, 0, 1, 1))
    axis.set_xlim(0, width)
    axis.set_ylim(height, 0)
    axis.axis("off")
    return axis


def write(axis, x: float, y: float, text: str, **appearance) -> None:
    """Write a text whose middle is at height `y`; by default 9 points and nearly black."""
    # Two $ would begin a formula.
    text = text.replace("$", r"\$")
    axis.text(x, y, text, va="center", **({"fontsize": 9, "color": INK} | appearance))


def write_lines(axis, x: float, y: float, lines: Sequence[str], **appearance) -> None:
    """Write lines under each other, the middle of the first at height `y`, in grey."""
    for number, line in enumerate(lines):
        write(axis, x, y + LINE * number, line, **({"fontsize": 8.5, "color": GREY} | appearance))


def draw_box(
    axis, x: float, y: float, width: float, height: float, color: str, edge="white", hatch=None
) -> None:
    """Draw a filled rectangle by its upper left corner; a hatch has the color of the edge."""
    from matplotlib.patches import Rectangle

    appearance = {"facecolor": color, "edgecolor": edge, "linewidth": 0.8, "hatch": hatch}
    axis.add_patch(Rectangle((x, y), width, height, **appearance))


def draw_arrow(
    axis, begin: tuple[float, float], end: tuple[float, float], color: str, **appearance
) -> None:
    """Draw an arrow from one point to another."""
    arrow = {"arrowstyle": "-|>", "color": color, "linewidth": 1.6, "shrinkA": 0, "shrinkB": 0}
    axis.annotate("", xy=end, xytext=begin, arrowprops=arrow | appearance)
