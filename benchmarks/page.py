"""The page of the benchmarks: goals, plots of time and memory, all numbers, and the machine.

One self-contained HTML file, made from the tables in its folder.
"""

from __future__ import annotations

import importlib
from pathlib import Path

import jinja2
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator, PercentFormatter

from benchmarks import TITLES
from benchmarks.machine import read_description
from workflow_lib.core.whole_files import write_text
from workflow_lib.report.style import applied_style, drawn, lay_out

PAGE_NAME = "index.html"

COVERAGE = "interval_coverage"
"""A benchmark that measures no time, with tables of its own."""

PANELS = {"seconds": "seconds", "memory_mb": "peak memory above the data, MB"}


def write_page(folder: Path) -> Path:
    """Write the page from the tables in `folder`; return its path."""
    sections, tables = [], [pd.DataFrame({"met": []})]
    for name, title in TITLES.items():
        path = folder / f"{name}.csv"
        if not path.is_file():
            continue
        words = importlib.import_module(f"benchmarks.{name}").__doc__
        section = {"id": name, "title": title, "about": words.split("\n\n")[1:]}
        rows = pd.read_csv(path)
        if name == COVERAGE:
            laws = pd.read_csv(folder / f"{name}_by_law.csv").set_index("law")
            sections.append(section | {"table": _html(laws.T), "figure": _coverages(rows, laws)})
            continue
        tables.append(rows)
        shown = rows.drop(columns=["benchmark", "threads"]).dropna(axis="columns", how="all")
        sections.append(section | {"table": _html(shown, index=False), "figure": _times(rows)})
    rows = pd.concat(tables)
    missed = rows[rows["met"] == "no"]
    template = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        keep_trailing_newline=True,
    ).get_template("page.html.j2")
    page = template.render(
        n_met=(rows["met"] == "yes").sum(),
        n_goals=rows["met"].notna().sum(),
        missed=_html(missed[["method", "peer", "n", "ratio", "goal"]], index=False)
        if len(missed)
        else "",
        sections=sections,
        machine=read_description(folder),
    )
    write_text(folder / PAGE_NAME, page)
    return folder / PAGE_NAME


def _html(frame: pd.DataFrame, **more) -> str:
    return frame.to_html(border=0, na_rep="", float_format="{:.4g}".format, **more)


def lines_of(rows: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Return the seconds or the memory of all methods and peers: a row for each n, a column each.

    Memory that was measured in a process without a time takes precedence, and what was measured of
    a method over what was measured of it as a peer.
    """
    rows = rows.iloc[np.argsort(rows["seconds"].notna(), kind="stable")]
    parts = [
        rows[[who, "n", column]].set_axis(["name", "n", "value"], axis="columns")
        for who, column in (("method", kind), ("peer", f"peer_{kind}"))
    ]
    found = pd.concat(parts).dropna().drop_duplicates(["name", "n"])
    found = found[found["value"] > 0].pivot(index="n", columns="name", values="value")
    names = dict.fromkeys([*rows["method"], *rows["peer"]])
    return found[[name for name in names if name in found]]


def fitted_exponent(values: pd.Series) -> float:
    """Return b of the least-squares fit value = a n^b in logarithms."""
    return float(np.polyfit(np.log(values.index), np.log(values), 1)[0])


def _times(rows: pd.DataFrame) -> str:
    """Return the SVG of time and memory over n; empty where nothing can be drawn."""
    # Measurements at a single size make no line.
    lines = {kind: lines_of(rows, kind).dropna(axis="columns", thresh=2) for kind in PANELS}
    lines = {kind: values for kind, values in lines.items() if values.size}
    if not lines:
        return ""
    names = list(dict.fromkeys(name for values in lines.values() for name in values))
    timed = set(rows["method"][rows["seconds"].notna()])
    with applied_style():
        figure = Figure(figsize=(10.6, 3.6 + 0.2 * len(names)), layout="constrained")
        axes = figure.subplots(1, len(lines), squeeze=False)[0]
        for axis, (kind, found) in zip(axes, lines.items(), strict=True):
            for name, values in found.items():
                values = values.dropna()
                color, style = f"C{names.index(name) % 10}", "o-" if name in timed else "o--"
                label = f"{name} ($n^{{{fitted_exponent(values):.1f}}}$)"
                axis.loglog(values.index, values, style, color=color, label=label)
            axis.set_xticks(found.index, [f"{n:,}" for n in found.index])
            axis.xaxis.set_minor_locator(NullLocator())
            axis.set_xlabel("n")
            axis.set_title(PANELS[kind])
            axis.legend(loc="upper left", bbox_to_anchor=(0.0, -0.2))
        return _svg(figure)


def _coverages(rows: pd.DataFrame, laws: pd.DataFrame) -> str:
    """Return the coverage of all outputs of all tables as SVG, one line per law."""
    with applied_style():
        figure = Figure(figsize=(10.6, 1.1 + 0.4 * len(laws)), layout="constrained")
        axis = figure.subplots()
        axis.axvline(laws["level"].iloc[0], color="#555555", linewidth=1.0)
        for place, (law, mean) in enumerate(laws["coverage"].items()):
            found = rows["coverage"][rows["law"] == law]
            # Spread evenly over the height of the line, so that none hides another.
            heights = place + 0.56 * ((np.arange(len(found)) * 0.618) % 1.0 - 0.5)
            axis.plot(found, heights, "o", markersize=4, alpha=0.6, color=f"C{place % 10}")
            axis.plot([mean] * 2, [place - 0.4, place + 0.4], linewidth=3, color=f"C{place % 10}")
        axis.set_yticks(range(len(laws)), laws.index)
        axis.invert_yaxis()
        axis.xaxis.set_major_formatter(PercentFormatter(1.0))
        axis.set_xlabel("fresh outputs inside of their intervals; bars are means")
        return _svg(figure)


def _svg(figure: Figure) -> str:
    """Return a figure as a part of the page, without the header of an SVG file."""
    lay_out(figure)
    text = drawn(figure, "svg", {"Date": None, "Creator": None}).decode()
    return text[text.index("<svg") :]
