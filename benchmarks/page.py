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
from string import Template
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from benchmarks.machine import read_description
from benchmarks.measuring import COLUMNS, PEER_OVER_OWN, is_installed, read_table
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
    """The measurements of one method, by n.

    Attributes
    ----------
    name : str
    is_peer : bool
        Whether it only serves for comparison and has no row of its own; drawn dashed.
    values : dict from int to float
    """

    name: str
    is_peer: bool
    values: dict[int, float]


class Panel(NamedTuple):
    """One plot.

    Attributes
    ----------
    title : str
    words : callable
        From a number, as text, to its label on the axis.
    lines : list of Line
    """

    title: str
    words: Callable[[str], str]
    lines: list[Line]


def write_page(folder: Path) -> Path:
    """Write the page from the tables in `folder`; return its path."""
    tables = _tables(folder)
    sections = {name: (_title(name), _section(name, rows)) for name, rows in tables.items()}
    if (folder / f"{COVERAGE}.csv").is_file():
        sections[COVERAGE] = (TITLES[COVERAGE], _coverage_section(folder))
    everything = list(itertools.chain.from_iterable(tables.values()))
    met = [row["met"] for row in everything if row["met"]]
    page = _PAGE.substitute(
        style=_STYLE,
        met=met.count("yes"),
        goals=len(met),
        navigation="".join(
            f'<li><a href="#{_escaped(name)}">{_escaped(title)}</a></li>'
            for name, (title, _) in sections.items()
        ),
        missed=_missed(everything),
        sections="\n".join(section for _, section in sections.values()),
        machine=_machine(read_description(folder)),
    )
    write_text(folder / PAGE_NAME, page)
    return folder / PAGE_NAME


def _tables(folder: Path) -> dict[str, list[dict[str, str]]]:
    """Return the rows of each table that has the common columns, in the order of `TITLES`."""
    found = {}
    for path in sorted(folder.glob("*.csv")):
        rows = read_table(path)
        if rows and set(COLUMNS) <= set(rows[0]):
            found[path.stem] = rows
    order = [*TITLES, *sorted(set(found) - set(TITLES))]
    return {name: found[name] for name in order if name in found}


def _title(name: str) -> str:
    return TITLES.get(name, name.replace("_", " ").capitalize())


# --- words and tables ----------------------------------------------------------------------------


def _section(name: str, rows: Sequence[Row]) -> str:
    module = importlib.import_module(f"benchmarks.{name}") if _is_benchmark(name) else None
    figures = getattr(module, "FIGURES", {"": _names(rows)})
    drawn = "\n".join(_figure(title, rows, names) for title, names in figures.items())
    return (
        f'<section id="{_escaped(name)}"><h2>{_escaped(_title(name))}</h2>\n'
        f"{_about(module)}\n{_chips(rows)}\n{drawn}\n"
        f"<details><summary>All numbers</summary>{_table(rows)}</details></section>"
    )


def _about(module: ModuleType | None) -> str:
    """Return the docstring of a benchmark without its first line, as paragraphs."""
    words = (module.__doc__ or "").split("\n\n", 1) if module else [""]
    return "".join(f"<p>{_prose(part)}</p>" for part in words[-1].split("\n\n"))


def _prose(text: str) -> str:
    """Return a paragraph of a docstring as HTML, its names in back quotes as code."""
    return re.sub(r"`+([^`]+)`+", r"<code>\1</code>", _escaped(" ".join(text.split())))


def _is_benchmark(name: str) -> bool:
    return name.isidentifier() and is_installed(f"benchmarks.{name}")


def _pairs(rows: Iterable[Row]) -> dict[tuple[str, str], list[Row]]:
    pairs: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        pairs.setdefault((row["method"], row["peer"]), []).append(row)
    return pairs


def _missed(rows: Sequence[Row]) -> str:
    missed = [row for row in rows if row["met"] == "no"]
    if not missed:
        return "<p>None is missed.</p>" if any(row["met"] for row in rows) else ""
    items = "".join(
        f"<li>{_comparison(row)}, n = {_escaped(row['n'])}: {_ratio(row)}, goal {_goal(row)}</li>"
        for row in missed
    )
    return f"<details><summary>Missed: {len(missed)}</summary><ul>{items}</ul></details>"


def _comparison(row: Row) -> str:
    return f"{_escaped(row['method'])} against {_escaped(row['peer'])}"


def _chips(rows: Sequence[Row]) -> str:
    """Return the ratios that have a goal: a line for each comparison, a chip for each size."""
    lines = []
    for (method, peer), group in _pairs(row for row in rows if row["goal"]).items():
        chips = "".join(
            f'<span class="chip {_class(row)}"><span class="size">n = {_escaped(row["n"])}</span> '
            f"<b>{_ratio(row)}</b> ({_goal(row)}) {_mark(row)}</span>"
            for row in group
        )
        lines.append(
            f'<tr><th scope="row">{_escaped(method)}<br><span class="quiet">against '
            f"{_escaped(peer)}</span></th><td>{chips}</td></tr>"
        )
    if not lines:
        return ""
    return (
        '<table class="goals"><caption>Ratios with a goal: &le; the cost as a multiple of the '
        "peer's, &ge; how many times the peer takes</caption>"
        f"<tbody>{''.join(lines)}</tbody></table>"
    )


def _class(row: Row) -> str:
    return {"yes": "met", "no": "missed"}.get(row["met"], "open")


def _mark(row: Row) -> str:
    return {"yes": "&#10003; met", "no": "&#10007; missed"}.get(row["met"], "not measured")


def _ratio(row: Row) -> str:
    return f"{_plain(row['ratio'])} &times;" if row["ratio"] else "&ndash;"


def _goal(row: Row) -> str:
    return _escaped(row["goal"]).replace("&lt;=", "&le;").replace("&gt;=", "&ge;")


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


def _table(rows: Sequence[Row]) -> str:
    head = "".join(f'<th scope="col">{heading}</th>' for heading in _HEADINGS)
    body = []
    for (method, peer), group in _pairs(rows).items():
        against = f' <span class="quiet">against {_escaped(peer)}</span>' if peer else ""
        notes = list(dict.fromkeys(row["note"] for row in group if row["note"]))
        note = f'<br><span class="quiet">{_escaped(" | ".join(notes))}</span>' if notes else ""
        body.append(
            f'<tr><th class="block" scope="rowgroup" colspan="{len(_HEADINGS)}">'
            f"{_escaped(method)}{against}{note}</th></tr>"
        )
        body.extend(
            f"<tr>{''.join(f'<td>{cell}</td>' for cell in _cells(row))}</tr>" for row in group
        )
    return (
        f'<div class="wide"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table></div>"
    )


def _cells(row: Row) -> list[str]:
    spread = ""
    if row["seconds_min"]:
        spread = f"{_duration(row['seconds_min'])}&ndash;{_duration(row['seconds_max'])}"
    direction = "peer / ours" if row["ratio_is"] == PEER_OVER_OWN else "ours / peer"
    return [
        _escaped(row["n"]),
        _escaped(row["p"]),
        _duration(row["seconds"]),
        spread,
        _duration(row["peer_seconds"]),
        f'{_ratio(row)} <span class="quiet">{direction}</span>' if row["ratio"] else "",
        _goal(row),
        {"yes": "yes", "no": "<b>no</b>"}.get(row["met"], ""),
        _escaped(row["agreement"]),
        _megabytes(row["memory_mb"]),
        _megabytes(row["peer_memory_mb"]),
        _escaped(row["repetitions"]),
    ]


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


def _megabytes(number: str) -> str:
    return f"{_plain(number)} MB" if number else ""


def _machine(description: Mapping[str, str]) -> str:
    if not description:
        return "<p>Not recorded.</p>"
    entries = "".join(
        f"<dt>{_escaped(name[:1].upper() + name[1:])}</dt><dd>{_escaped(value)}</dd>"
        for name, value in description.items()
    )
    return f"<dl>{entries}</dl>"


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


def _figure(title: str, rows: Sequence[Row], names: Iterable[str]) -> str:
    """Return the HTML of one figure: time and memory over n."""
    names = tuple(names)
    panels = []
    for label, kind, words in (
        ("time", "seconds", _duration),
        ("peak memory above the data", "memory_mb", _megabytes),
    ):
        # Measurements at a single size make no line.
        lines = [line for line in lines_of(rows, names, kind) if len(line.values) > 1]
        if lines:
            panels.append(Panel(label, words, lines))
    if not panels:
        return ""
    heading = f"<h3>{_escaped(title)}</h3>" if title else ""
    return (
        f"{heading}<figure>{_drawn(panels, names)}<figcaption>Medians, both axes logarithmic. "
        "Dashed: the peers. The exponents are those of a fit value = a n<sup>b</sup>.</figcaption>"
        "</figure>"
    )


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


def _coverage_section(folder: Path) -> str:
    """Return the part of the page on the coverage of intervals."""
    module = importlib.import_module(f"benchmarks.{COVERAGE}")
    laws = read_table(folder / f"{module.BY_LAW}.csv")
    rows = read_table(folder / f"{COVERAGE}.csv")
    low, high = module.BAND
    head = "".join(f'<th scope="col">{heading}</th>' for heading in _COVERAGE_HEADINGS)
    body = "".join(f"<tr>{_coverage_cells(law, module)}</tr>" for law in laws)
    return (
        f'<section id="{COVERAGE}"><h2>{TITLES[COVERAGE]}</h2>\n{_about(module)}\n'
        f'<div class="wide"><table><caption>The mean coverage must lie between {low:.0%} and '
        f"{high:.0%}, and no third below {module.MIN_COVERAGE_OF_THIRDS:.0%}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>\n"
        f"<figure>{_drawn_coverage(rows, laws, module)}<figcaption>A dot is one output of one "
        "table, a bar the mean of its law. The spread is that of quantiles of a few "
        "hundred rows.</figcaption></figure></section>"
    )


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


def _coverage_cells(law: Row, module: ModuleType) -> str:
    shares = {name: f"{100 * float(law[name]):.1f} %" for name in module.SHARES}
    ratios = {
        name: f"{_plain(law[name])} &times;" if law[name] != "nan" else "&ndash;"
        for name in ("width_over_constant", "score_over_constant", "half_width_over_ideal")
    }
    thirds = [
        " / ".join(
            f"{100 * float(law[name]):.0f}" for name in module.THIRDS if name.endswith(f"_{by}")
        )
        for by in ("predicted", "novelty", "width")
    ]
    cells = (
        _escaped(law["rows"]),
        _escaped(law["splits"]),
        _escaped(law["simulations"]),
        f"<b>{shares['coverage']}</b>",
        shares["deviation"],
        shares["share_in_band"],
        shares["share_of_outputs_in_band"],
        *thirds,
        *ratios.values(),
        shares["measured_by_product"],
        {"yes": "yes", "no": "<b>no</b>"}[law["met"]],
    )
    title = module.LAWS[law["law"]].title
    title = title[:1].upper() + title[1:]
    return f'<th scope="row">{_escaped(title)}</th>' + "".join(f"<td>{cell}</td>" for cell in cells)


def _drawn_coverage(rows: Sequence[Row], laws: Sequence[Row], module: ModuleType) -> str:
    """Return the coverage of all outputs of all tables as SVG, one line per law."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import PercentFormatter

    with applied_style():
        figure = Figure(figsize=(10.6, 1.1 + 0.55 * len(laws)))
        axis = figure.add_axes((0.12, 0.72 / (1.1 + 0.55 * len(laws)), 0.85, 0.55))
        axis.axvspan(*module.BAND, color="#e8f2fa", zorder=0)
        axis.axvline(float(laws[0]["level"]), color="#555555", linewidth=1.0)
        for place, law in enumerate(laws):
            found = [float(row["coverage"]) for row in rows if row["law"] == law["law"]]
            # Spread evenly over the height of the line, so that none hides another.
            heights = place + 0.56 * ((np.arange(len(found)) * 0.618) % 1.0 - 0.5)
            color, mean = LINE_COLORS[place % len(LINE_COLORS)], float(law["coverage"])
            axis.plot(found, heights, "o", color=color, markersize=4, alpha=0.6)
            axis.plot([mean, mean], [place - 0.4, place + 0.4], color=color, linewidth=3)
        axis.set_yticks(range(len(laws)), [law["law"] for law in laws])
        axis.set_ylim(len(laws) - 0.5, -0.5)
        axis.xaxis.set_major_formatter(PercentFormatter(1.0))
        axis.set_xlabel("fresh outputs inside of their intervals")
        axis.grid(axis="y", visible=False)
        return _inline_svg(figure, "coverage of intervals by law")


_PAGE = Template("""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Benchmarks</title>
<style>
$style
</style>
</head>
<body>
<header>
<h1>Benchmarks</h1>
<p class="lead"><b>$met of $goals</b> goals met. Every ratio was measured in one process with one
thread: both sides in turn, median of the repetitions.</p>
$missed
</header>
<nav aria-label="Sections"><ul>$navigation<li><a href="#machine">Machine</a></li></ul></nav>
<main>
$sections
<section id="machine"><h2>Machine</h2>
$machine
</section>
</main>
</body>
</html>
""")

_STYLE = """
:root { --ink: #1c1c1c; --quiet: #555555; --line: #d5d5d5; --band: #f4f6f8; --link: #005a9c; }
* { box-sizing: border-box; }
html { scroll-padding-top: 3.5rem; }
body { margin: 0; color: var(--ink); background: #ffffff;
  font: 16px/1.5 system-ui, "Segoe UI", "Helvetica Neue", Arial, "DejaVu Sans", sans-serif; }
header, main { max-width: 68rem; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: 1.5rem; }
h1 { font-size: 1.75rem; line-height: 1.25; margin: 0 0 0.25rem; }
h2 { font-size: 1.35rem; margin: 0 0 0.5rem; }
h3 { font-size: 1.08rem; margin: 1.6rem 0 0.2rem; }
p, ul { margin: 0.4rem 0 0.8rem; max-width: 52rem; }
a { color: var(--link); }
nav { position: sticky; top: 0; z-index: 1; background: #ffffff; margin-top: 0.75rem;
  border-bottom: 1px solid var(--line); }
nav ul { max-width: 68rem; margin: 0 auto; padding: 0.45rem 1.25rem; list-style: none;
  display: flex; gap: 0.15rem 1.1rem; overflow-x: auto; white-space: nowrap; font-size: 0.9rem; }
nav a { text-decoration: none; }
nav a:hover, nav a:focus { text-decoration: underline; }
section { padding: 1.6rem 0 1rem; border-bottom: 1px solid var(--line); }
section:last-child { border-bottom: 0; }
code { font-size: 0.9em; }
.quiet, figcaption { color: var(--quiet); font-size: 0.88rem; font-weight: 400; }
figure { margin: 0.6rem 0 1rem; }
figure svg { display: block; width: 100%; height: auto; }
table { border-collapse: collapse; font-size: 0.88rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--quiet); padding: 0.3rem 0 0.4rem; }
th, td { padding: 0.3rem 0.5rem; text-align: left; vertical-align: top; }
td { white-space: nowrap; }
thead th { border-bottom: 2px solid var(--ink); vertical-align: bottom; }
tbody tr:nth-child(even) > td { background: var(--band); }
th.block { padding-top: 0.8rem; border-bottom: 1px solid var(--line); }
table.goals { width: 100%; }
table.goals th { font-weight: 400; width: 40%; padding-left: 0; }
table.goals td { white-space: normal; background: none !important; }
table.goals tr { border-top: 1px solid var(--line); }
.chip { display: inline-block; margin: 0.1rem 0.4rem 0.2rem 0; padding: 0.1rem 0.55rem;
  border-radius: 0.4rem; border: 1px solid; white-space: nowrap; }
.chip .size { color: var(--quiet); }
.met { background: #e8f2fa; border-color: #7fb2d6; }
.missed { background: #fdeee3; border-color: #d98a55; }
.open { background: var(--band); border-color: var(--line); }
.wide { overflow-x: auto; margin: 0.6rem 0; }
details { margin: 0.4rem 0 0.8rem; }
summary { cursor: pointer; color: var(--link); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.2rem 1.2rem; max-width: 60rem;
  font-size: 0.92rem; }
dt { color: var(--quiet); }
dd { margin: 0; }
@media print {
  nav { display: none; }
  figure, tr { break-inside: avoid; }
  .wide { overflow: visible; }
}
"""
