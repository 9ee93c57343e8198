"""The style of the figures, and figures written so that the same data give the same bytes."""

import io
import os
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from workflow_lib.core.whole_files import write_bytes

STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.labelsize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.8,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "lines.linewidth": 1.8,
    "lines.markersize": 7,
    "figure.dpi": 100,
    "savefig.dpi": 150,
    # Text as outlines: the figure is the same where the font is not installed.
    "svg.fonttype": "path",
    # Without a salt of its own, matplotlib draws element names at random.
    "svg.hashsalt": "workflow_lib",
}

WIDTH = 6.4
"""Width of most figures in inches: narrow, so that their text can be read on a telephone."""

TITLE_SIZE = 10.5
"""Size of the title of a figure in points."""

OTHER_COLOR = "#6b6b6b"
ACCENT_COLOR = "#D55E00"
BASE_COLOR = "#0072B2"

DASHES = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)))
"""Line styles of the rows of one method, as numbers of components or of weak rows, in order."""

_END_OF_WORD = re.compile(r"[^\W_]{0,3}$")

MAX_LINEAR_RATIO = 3.0
"""Largest ratio of the means drawn on a linear axis of errors."""


@contextmanager
def applied_style() -> Iterator[None]:
    """Apply the style inside a ``with`` block, whatever the user's own matplotlib settings."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        yield


def line_style(method: str, methods: Mapping[str, Mapping]) -> dict[str, str]:
    """Return the color and marker of a method; a grey circle where `methods` gives none."""
    appearance = methods.get(method, {})
    return {
        "color": appearance.get("color") or OTHER_COLOR,
        "marker": appearance.get("marker") or "o",
    }


def plain_name(name: str) -> str:
    """Return the name of an output or a class for a figure, in which two $ would begin a formula.

    Underscores become spaces, as in the tables.
    """
    return name.replace("_", " ").replace("$", r"\$")


def short_names(names: Sequence[str], letters: int) -> list[str]:
    """Return names for a figure (`plain_name`), of at most so many letters; none become equal.

    Of a longer one the middle is left out, as ends often differ. Where that leaves some equal, what
    these share is left out after their first letters instead, up to the word in which they differ;
    what is equal even then ends with its number.
    """
    short = {name: _without_middle(name, letters) for name in names}
    n = letters // 4
    for text in dict.fromkeys(short.values()):
        equal = [name for name in short if short[name] == text]
        shared = os.path.commonprefix(equal)
        begin = len(shared) - len(_END_OF_WORD.search(shared)[0])
        for name in equal if len(equal) > 1 else ():
            short[name] = f"{name[:n]}\u2026{_without_middle(name[begin:], letters - n - 1)}"
    found, texts = {}, list(short.values())
    for number, (name, text) in enumerate(short.items(), start=1):
        end = f" ({number})" if texts.count(text) > 1 else ""
        found[name] = plain_name(text[: letters - len(end)] + end)
    return [found[name] for name in names]


def _without_middle(text: str, letters: int) -> str:
    if len(text) <= letters:
        return text
    n_last = (letters - 1) // 2
    return f"{text[: letters - 1 - n_last]}\u2026{text[len(text) - n_last :]}"


def scale_errors(axis, means: Sequence[float]) -> None:
    """Make the error axis logarithmic where the other methods could not be distinguished.

    That is where the largest of the `means` drawn is above `MAX_LINEAR_RATIO` times the
    smallest. Errors are then written as plain numbers at 1, 2 and 5 times powers of ten, and
    more where they span less than one.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    if min(means) <= 0 or max(means) <= MAX_LINEAR_RATIO * min(means):
        return
    axis.set_yscale("log")
    ratio = max(means) / min(means)
    steps = (1.0, 2.0, 5.0) if ratio > 10 else (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)
    # Of many powers of ten the locator takes some, where it has no further steps.
    axis.yaxis.set_major_locator(LogLocator(base=10, subs=steps if ratio < 1e4 else (1.0,)))
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.yaxis.set_minor_formatter(NullFormatter())


def scale_sizes(axis, sizes: Sequence[int], margin: float) -> None:
    """Make the horizontal axis a logarithmic one of training sizes, with these ticks alone.

    Beyond the smallest and the largest size there is the factor `margin`. A size without room for
    its number, beside those of the larger ones, has a tick alone.
    """
    from matplotlib.ticker import FuncFormatter

    axis.set_xscale("log")
    axis.set_xlim(sizes[0] / margin, sizes[-1] * margin)
    axis.set_xticks(sizes)
    # Asked when the figure is drawn: the width of the axis is known then.
    axis.xaxis.set_major_formatter(
        FuncFormatter(
            lambda size, _: f"{size:.0f}" if size in _sizes_with_room(axis, sizes) else ""
        )
    )
    axis.set_xticks([], minor=True)
    axis.grid(False, axis="x")


def _sizes_with_room(axis, sizes: Sequence[int]) -> set[int]:
    """Return the sizes whose numbers do not overlap, from the largest to the smallest."""
    # A digit is 0.64 of the size of the font wide.
    digit = 0.64 * STYLE["font.size"] / 72 * axis.figure.dpi
    left, kept = float("inf"), set()
    for size in sorted(sizes, reverse=True):
        middle, width = axis.transData.transform((size, 1.0))[0], digit * len(str(size))
        if middle + width / 2 < left:
            kept.add(size)
            left = middle - width / 2 - digit
    return kept


def without_data(title: str, width: float = 7.8):
    """Return a figure that only says why nothing is drawn, `width` inches wide."""
    from matplotlib.figure import Figure

    with applied_style():
        figure = Figure(figsize=(width, 0.8))
        write_title(figure, title)
    return figure


def write_title(figure, title: str) -> None:
    """Write the title of a figure at its upper left, its lines wrapped to the width."""
    title = wrapped_title(title, figure.get_size_inches()[0])
    figure.suptitle(title, x=0.01, ha="left", fontsize=TITLE_SIZE)


def wrapped_title(title: str, width: float) -> str:
    """Return a title in lines that are not longer than a figure is wide, in inches."""
    return "\n".join(wrapped(line, 0.98 * width, TITLE_SIZE) for line in title.splitlines())


def wrapped(text: str, width: float, size: float, **wrapping) -> str:
    """Return a text in lines of at most `width` inches, in letters of so many points.

    `wrapping` are further arguments of `textwrap.fill`.
    """
    for letters in range(int(130 * width / size), 1, -1):
        found = textwrap.fill(text, letters, **wrapping)
        if width_of(found, size) <= width:
            break
    return found


def width_of(text: str, size: float) -> float:
    """Return how many inches wide the longest line of a text is, in letters of so many points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    font = FontProperties(family=STYLE["font.family"])
    # Two $ would begin a formula.
    text = re.sub(r"(?<!\\)\$", r"\\$", text)
    paths = [TextPath((0, 0), line, size=size, prop=font) for line in text.splitlines()]
    # In points; letters of a PNG are a little wider, as they begin at whole pixels.
    return max((path.get_extents().x1 for path in paths), default=0.0) / (0.94 * 72)


def save_figure(
    figure,
    svg_path: str | Path,
    png_path: str | Path | None = None,
    csv_path: str | Path | None = None,
) -> None:
    """Write a figure as SVG and PNG, each whole or not at all, without dates or versions.

    Its numbers are written as CSV (`workflow_lib.report.figure_data`), and in words into the SVG
    (`workflow_lib.report.figure_words`).

    `figure` is made without pyplot, so that nothing is kept in memory and no display is needed.
    There is no PNG and no CSV where their path is None.
    """
    from workflow_lib.report.figure_words import in_words

    with applied_style():
        lay_out(figure)
        metadata = {"Date": None, "Creator": None, "Description": in_words(figure)}
        targets = [(svg_path, "svg", metadata)]
        if png_path is not None:
            targets.append((png_path, "png", {"Software": None}))
        for path, file_format, metadata in targets:
            write_bytes(path, drawn(figure, file_format, metadata))
    if csv_path is not None:
        from workflow_lib.report.figure_data import figure_data
        from workflow_lib.report.results import write_frame

        write_frame(csv_path, figure_data(figure))


def drawn(figure, file_format: str, metadata: Mapping) -> bytes:
    """Return the bytes of a figure as ``"svg"`` or ``"png"``, as ``savefig`` writes them.

    With a layout, ``savefig`` draws twice, first for the layout, with which each drawing begins.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    content = io.BytesIO()
    if not isinstance(figure, Figure):
        figure.savefig(content, format=file_format, metadata=metadata)
        return content.getvalue()
    figure.dpi = STYLE["savefig.dpi"]
    if file_format == "svg":
        FigureCanvasSVG(figure).print_svg(content, metadata=metadata)
    else:
        FigureCanvasAgg(figure).print_png(content, metadata=metadata)
    return content.getvalue()


def lay_out(figure) -> None:
    """Place the parts of a figure, the same in every process.

    A first layout may overlap where axes have a fixed shape: the next one is that of the files.
    """
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    from workflow_lib.report.figure_layout import RepeatableLayoutEngine

    # A drawing that is not made by Matplotlib has no layout engine.
    engine = figure.get_layout_engine() if isinstance(figure, Figure) else None
    if isinstance(engine, ConstrainedLayoutEngine):
        figure.set_layout_engine(RepeatableLayoutEngine(**engine.get()))
        figure.draw_without_rendering()
