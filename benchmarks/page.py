"""The page of the benchmarks: goals, plots of time and memory, all ratios, and the machine.

One self-contained HTML file, made from the tables in its folder.
"""

from __future__ import annotations

import html
import importlib
import io
import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

import jinja2
import numpy as np

from benchmarks.machine import read_description
from benchmarks.measuring import COLUMNS, is_installed, read_table
from benchmarks.titles import TITLES
from workflow_lib.core.whole_files import write_text
from workflow_lib.report.style import applied_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAGE_NAME = "index.html"

# The colours of Okabe & Ito (2008) that are dark enough for lines on white, and a grey; they differ
# with any colour blindness. Markers differ too.
LINE_COLORS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#E69F00",
    "#000000",
    "#7f7f7f",
)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<")

# A wider range has a tick for every power of ten only.
WIDE_RANGE = 50.0

# A benchmark that measures no time, with tables of its own.
COVERAGE = "interval_coverage"

Row = Mapping[str, str]


class Line(NamedTuple):
    """The measurements of one method, by n."""

    name: str

    is_peer: bool
    """Whether it only serves for comparison and has no row of its own; drawn dashed."""

    values: dict[int, float]


class Panel(NamedTuple):
    """One plot."""

    title: str

    words: Callable[[str], str]
    """From a number, as text, to its label on the axis."""

    lines: list[Line]


def write_page(folder: Path) -> Path:
    """Write the page from the tables in `folder`; return its path."""
    tables = _tables(folder)
    page = _template().render(
        rows=list(itertools.chain.from_iterable(tables.values())),
        sections=[_section(name, rows) for name, rows in tables.items()],
        coverage=_coverage(folder) if (folder / f"{COVERAGE}.csv").is_file() else None,
        headings=_HEADINGS,
        coverage_headings=_COVERAGE_HEADINGS,
        machine=read_description(folder),
    )
    write_text(folder / PAGE_NAME, page)
    return folder / PAGE_NAME


def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "e": _escaped,
        "plain": _plain,
        "prose": _prose,
        "duration": _duration,
        "megabytes": lambda number: f"{_plain(number)} MB" if number else "",
        "percent": lambda share, digits=1: f"{100 * float(share):.{digits}f}",
        "pairs": _pairs,
        "with_goal": lambda rows: [row for row in rows if row["goal"]],
    }
    return environment.get_template("page.html.j2")


def _tables(folder: Path) -> dict[str, list[dict[str, str]]]:
    """Return the rows of each table that has the common columns, in the order of `TITLES`."""
    found = {}
    for path in sorted(folder.glob("*.csv")):
        rows = read_table(path)
        if rows and set(COLUMNS) <= set(rows[0]):
            found[path.stem] = rows
    order = [*TITLES, *sorted(set(found) - set(TITLES))]
    return {name: found[name] for name in order if name in found}


def _section(name: str, rows: Sequence[Row]) -> dict[str, object]:
    """Return what the page shows of one table."""
    is_benchmark = name.isidentifier() and is_installed(f"benchmarks.{name}")
    module = importlib.import_module(f"benchmarks.{name}") if is_benchmark else None
    figures = getattr(module, "FIGURES", {"": _names(rows)})
    return {
        "id": name,
        "title": TITLES.get(name, name.replace("_", " ").capitalize()),
        "about": _about(module),
        "rows": rows,
        "figures": [
            {"title": title, "drawn": _figure(rows, tuple(names))}
            for title, names in figures.items()
        ],
    }


def _about(module: ModuleType | None) -> list[str]:
    """Return the paragraphs of the docstring of a benchmark, without its first line."""
    words = (module.__doc__ or "").split("\n\n", 1) if module else [""]
    return words[-1].split("\n\n")


def _prose(text: str) -> str:
    """Return a paragraph of a docstring as HTML, its names in back quotes as code."""
    return re.sub(r"`+([^`]+)`+", r"<code>\1</code>", _escaped(" ".join(text.split())))


def _pairs(rows: Iterable[Row]) -> list[tuple[tuple[str, str], list[Row]]]:
    """Return the rows of each method and peer, in the order of the first of them."""
    pairs: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        pairs.setdefault((row["method"], row["peer"]), []).append(row)
    return list(pairs.items())


_HEADINGS = (
    "n",
    "p",
    "time",
    "fastest&ndash;slowest",
    "peer's time",
    "ratio",
    "goal",
    "met",
    "largest difference",
    "peak memory",
    "peer's memory",
    "rounds",
)


def _escaped(text: str) -> str:
    return html.escape(str(text))


def _plain(number: str) -> str:
    value = float(number)
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _duration(seconds: str) -> str:
    if not seconds:
        return ""
    value = float(seconds)
    for unit, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "&micro;s")):
        if value >= unit:
            return f"{_plain(str(value / unit))} {name}"
    return f"{value / 1e-9:.3g} ns"


# --- figures -------------------------------------------------------------------------------------


def lines_of(rows: Sequence[Row], names: Iterable[str], kind: str) -> list[Line]:
    """Return the lines of the methods and peers `names`, in their order.

    Parameters
    ----------
    rows : sequence of row
    names : iterable of str
    kind : {"seconds", "memory_mb"}
        What is drawn. Memory that was measured in a separate process takes precedence over memory
        that was measured together with a time.
    """
    lines = []
    for name in names:
        measured = [row for row in rows if row["method"] == name]
        own = _values(measured, kind)
        peer = _values((row for row in rows if row["peer"] == name), f"peer_{kind}")
        # Where a method is also a peer, its own row was measured first.
        values = dict(sorted((peer | own).items()))
        if values:
            lines.append(Line(name, not any(row["seconds"] for row in measured), values))
    return lines


def _values(rows: Iterable[Row], column: str) -> dict[int, float]:
    values: dict[int, float] = {}
    # Rows without a time are from processes that measured memory alone: they are read last.
    for row in sorted(rows, key=lambda row: not row["seconds"]):
        if (
            row[column]
            and float(row[column]) > 0
            and not (row["seconds"] and int(row["n"]) in values)
        ):
            values[int(row["n"])] = float(row[column])
    return values


def fitted_exponent(values: Mapping[int, float]) -> float | None:
    """Return b of the least-squares fit value = a n^b in logarithms; None for a single size."""
    if len(values) < 2:
        return None
    sizes, numbers = np.log(list(values)), np.log(list(values.values()))
    return float(np.polyfit(sizes, numbers, 1)[0])


def _names(rows: Sequence[Row]) -> tuple[str, ...]:
    named = itertools.chain.from_iterable((row["method"], row["peer"]) for row in rows)
    return tuple(name for name in dict.fromkeys(named) if name)


def _figure(rows: Sequence[Row], names: tuple[str, ...]) -> str:
    """Return the SVG of one figure, time and memory over n; empty where nothing can be drawn."""
    panels = []
    for label, kind, words in (
        ("time", "seconds", _duration),
        ("peak memory above the data", "memory_mb", lambda number: f"{_plain(number)} MB"),
    ):
        # Measurements at a single size make no line.
        lines = [line for line in lines_of(rows, names, kind) if len(line.values) > 1]
        if lines:
            panels.append(Panel(label, words, lines))
    return _drawn(panels, names) if panels else ""


def _drawn(panels: Sequence[Panel], names: Sequence[str]) -> str:
    """Return the panels as SVG; a method has the same style in all."""
    from matplotlib.figure import Figure

    # In inches; below the axes are the sizes, the name of the axis and the legend.
    plot, above, below = 2.6, 0.4, 0.6
    legend = 0.2 * max(len(panel.lines) for panel in panels) + 0.05
    height = above + plot + below + legend
    with applied_style():
        figure = Figure(figsize=(10.6, height))
        for position, panel in enumerate(panels):
            axis = figure.add_axes(
                (0.075 + 0.505 * position, (legend + below) / height, 0.41, plot / height)
            )
            for line in panel.lines:
                _draw(axis, line, names.index(line.name))
            _label(axis, panel)
            axis.legend(
                loc="upper left",
                bbox_to_anchor=(-0.02, -below / plot),
                borderaxespad=0.0,
                fontsize=8.5,
                labelspacing=0.35,
                handlelength=2.6,
            )
        return _inline_svg(figure, "; ".join(f"{panel.title} over n" for panel in panels))


def _inline_svg(figure: Figure, label: str) -> str:
    """Return a figure as a part of the page."""
    content = io.StringIO()
    figure.savefig(content, format="svg", metadata={"Date": None, "Creator": None})
    text = content.getvalue()
    # Without the header of an SVG file.
    return f'<div role="img" aria-label="{_escaped(label)}">{text[text.index("<svg") :]}</div>'


def _draw(axis, line: Line, style: int) -> None:
    color = LINE_COLORS[style % len(LINE_COLORS)]
    axis.plot(
        list(line.values),
        list(line.values.values()),
        color=color,
        marker=MARKERS[style % len(MARKERS)],
        markerfacecolor="white" if line.is_peer else color,
        linestyle="--" if line.is_peer else "-",
        # Adding zero takes the sign off a rounded zero.
        label=f"{line.name}  ($n^{{{round(fitted_exponent(line.values), 1) + 0.0:.1f}}}$)",
    )


def _label(axis, panel: Panel) -> None:
    from matplotlib.ticker import (
        FixedLocator,
        FuncFormatter,
        LogLocator,
        NullFormatter,
        NullLocator,
    )

    sizes = sorted({n for line in panel.lines for n in line.values})
    numbers = [number for line in panel.lines for number in line.values.values()]
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.xaxis.set_major_locator(FixedLocator(sizes))
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axis.xaxis.set_minor_locator(NullLocator())
    steps = (1.0,) if max(numbers) > WIDE_RANGE * min(numbers) else (1.0, 2.0, 5.0)
    axis.yaxis.set_major_locator(LogLocator(base=10, subs=steps))
    axis.yaxis.set_major_formatter(
        FuncFormatter(lambda value, _: html.unescape(panel.words(f"{value:g}")))
    )
    axis.yaxis.set_minor_formatter(NullFormatter())
    axis.set_xlabel("n")
    axis.set_title(panel.title)


# --- coverage of intervals -----------------------------------------------------------------------


def _coverage(folder: Path) -> dict[str, object]:
    """Return what the page shows of the coverage of intervals."""
    module = importlib.import_module(f"benchmarks.{COVERAGE}")
    laws = read_table(folder / f"{module.BY_LAW}.csv")
    rows = read_table(folder / f"{COVERAGE}.csv")
    titles = [module.LAWS[law["law"]].title for law in laws]
    return {
        "id": COVERAGE,
        "title": TITLES[COVERAGE],
        "about": _about(module),
        "band": module.BAND,
        "least": module.MIN_COVERAGE_OF_THIRDS,
        "laws": [law | {"title": t[:1].upper() + t[1:]} for law, t in zip(laws, titles)],
        "drawn": _drawn_coverage(rows, laws, module),
    }


_COVERAGE_HEADINGS = (
    "law or table",
    "rows",
    "splits",
    "tables",
    "coverage",
    "deviation over tables",
    "tables in the band",
    "outputs in the band",
    "thirds by prediction",
    "thirds by novelty",
    "thirds by width",
    "width / one for all rows",
    "score / one for all rows",
    "half width / ideal",
    "stated by the product",
    "met",
)


def _drawn_coverage(rows: Sequence[Row], laws: Sequence[Row], module: ModuleType) -> str:
    """Return the coverage of all outputs of all tables as SVG, one line per law."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import PercentFormatter

    with applied_style():
        figure = Figure(figsize=(10.6, 1.1 + 0.55 * len(laws)))
        axis = figure.add_axes((0.12, 0.72 / (1.1 + 0.55 * len(laws)), 0.85, 0.55))
        axis.axvspan(*module.BAND, color="#e8f2fa", zorder=0)
        axis.axvline(float(laws[0]["level"]), color="#555555", linewidth=1.0)
        for index, law in enumerate(laws):
            found = [float(row["coverage"]) for row in rows if row["law"] == law["law"]]
            # Spread evenly over the height of the line, so that none hides another.
            heights = index + 0.56 * ((np.arange(len(found)) * 0.618) % 1.0 - 0.5)
            color, mean = LINE_COLORS[index % len(LINE_COLORS)], float(law["coverage"])
            axis.plot(found, heights, "o", color=color, markersize=4, alpha=0.6)
            axis.plot([mean, mean], [index - 0.4, index + 0.4], color=color, linewidth=3)
        axis.set_yticks(range(len(laws)), [law["law"] for law in laws])
        axis.set_ylim(len(laws) - 0.5, -0.5)
        axis.xaxis.set_major_formatter(PercentFormatter(1.0))
        axis.set_xlabel("fresh outputs inside of their intervals")
        axis.grid(axis="y", visible=False)
        return _inline_svg(figure, "coverage of intervals by law")
