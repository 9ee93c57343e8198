"""The figures of all experiments: the best methods, a table of colours, and learning curves.

Experiments are called by their names, which are unique in a run. No text is shortened.
"""

import math
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from workflow_lib.report.inches import GREY, INK, draw_box, page, write
from workflow_lib.report.labels import count_of, format_signed
from workflow_lib.report.overview import best_of, overview, reference_of, shared_methods
from workflow_lib.report.quantities import QUANTITIES, shown_means
from workflow_lib.report.results import outside_studies, read_scores, write_frame
from workflow_lib.report.style import (
    BASE_COLOR,
    TITLE_SIZE,
    applied_style,
    line_style,
    save_figure,
    scale_sizes,
    width_of,
    wrapped,
)
from workflow_lib.report.variants import SELECTED, Variant

BETTER, MIDDLE, WORSE = "#0072B2", "#f7f7f7", "#D55E00"
"""Colours of an error below, at and above that of the reference; blue and orange are distinguished
with every kind of colour blindness."""

FULL_COLOR = 25.0
"""Differences in per cent from which the colour is the same."""

# Lengths in inches.
COLUMN, DETECTABLE, ROW, MIN_WIDTH = 0.5, 1.1, 0.4, 7.2
SLANT = 40
"""Degrees by which the names of columns are turned."""

PANEL = (2.1, 1.3)
"""Width of a learning curve, and height without the names above it."""

PANELS_IN_A_ROW = 5
HEAD_LINE = 0.15
"""Height of a line of these names."""

BEST_WIDTH = 4.0
"""Width of the figure of the best methods: its text can be read where 400 pixels are free."""


def run(
    scores: Mapping[str, str | Path],
    experiments: Mapping[str, Mapping],
    methods: Mapping[str, Mapping],
    best: Mapping[str, str | Path],
    headline: Mapping[str, str | Path],
    curves: Mapping[str, str | Path],
) -> None:
    """Read the scores of all experiments, draw the figures and write them and their numbers.

    `experiments` are those of `workflow_lib.report.overview.overview`, and `best`, `headline` and
    `curves` hold ``svg``, ``png`` and ``csv`` (paths) of each figure.
    """
    records = {name: read_scores(path) for name, path in scores.items()}
    found = overview(records, experiments, methods)
    points = curve_points(records, experiments, found)
    for figure, numbers, paths in (
        (draw_best(found), best_of(found), best),
        (draw_headline(found), found, headline),
        (draw_curves(points, experiments, methods), points, curves),
    ):
        save_figure(figure, paths["svg"], paths["png"])
        write_frame(paths["csv"], numbers)


def curve_points(
    scores: Mapping[str, pd.DataFrame], experiments: Mapping[str, Mapping], found: pd.DataFrame
) -> pd.DataFrame:
    """Return the points of the learning curves of the best method and of the reference.

    Columns: ``experiment``, ``title``, ``is_stand_in``, ``metric``, ``method``, ``label``,
    ``is_reference``, ``training_size``, ``mean`` and ``deviation`` (over the splits, as they are
    shown: an accuracy in per cent). Where the reference is the best method it is the only one.
    """
    best, rows = best_of(found).set_index("experiment"), []
    for name, settings in experiments.items():
        metric = settings.get("metric") or "arrmse"
        reference = reference_of(settings)
        columns = shown_means(outside_studies(scores[name]), metric)
        of_experiment = found[found["experiment"] == name]
        labels = dict(zip(of_experiment["method"], of_experiment["label"], strict=True))
        equal = of_experiment.loc[of_experiment["outcome"] == "equal", "label"]
        if reference in labels and len(equal):
            labels[reference] = " = ".join([labels[reference], *equal])
        for method in dict.fromkeys([reference, best.loc[name, "method"]]):
            for size, column in columns.items():
                variant = _drawn(column, method)
                if variant is None:
                    continue
                mean, deviation = column[variant]
                rows.append(
                    {
                        "experiment": name,
                        "title": settings["title"],
                        "is_stand_in": bool(settings.get("stand_in_for")),
                        "metric": metric,
                        "method": method,
                        "label": labels[method],
                        "is_reference": method == reference,
                        "training_size": size,
                        "mean": mean,
                        "deviation": deviation,
                    }
                )
    return pd.DataFrame(rows)


def best_in_words(found: pd.DataFrame) -> str:
    """Return what the figure of the best methods shows, for readers who cannot see it."""
    rows = best_of(found).itertuples()
    texts = [f"{_name(row)}: {_label(row)} {_percent_of(row)}" for row in rows]
    return f"The error of the best method, relative to that of the reference: {'; '.join(texts)}."


def headline_in_words(found: pd.DataFrame) -> str:
    """Return what the first figure shows, for readers who cannot see it."""
    counts = found.loc[~found["is_ceiling"], "outcome"].value_counts()
    n_experiments = count_of(found["experiment"].nunique(), "experiment")
    return (
        f"Each method against the reference on {n_experiments}: of "
        f"{count_of(int(counts.drop('', errors='ignore').sum()), 'comparison')} "
        f"{counts.get('better', 0)} significantly better, {counts.get('worse', 0)} significantly "
        f"worse, {counts.get('equal', 0)} equal up to rounding."
    )


def curves_in_words(points: pd.DataFrame) -> str:
    """Return what the learning curves show, for readers who cannot see them."""
    sentences = []
    for _, rows in points.groupby("experiment", sort=False):
        other = rows[~rows["is_reference"]]
        last = (other if len(other) else rows).iloc[-1]
        sentences.append(f"{last['experiment']}: {last['label']} {last['mean']:.3g}")
    return f"The best method at the largest training size: {'; '.join(sentences)}."


def draw_best(found: pd.DataFrame):
    """Return the figure: a bar for each experiment, by how much the best method lowers the error.

    Its length is the difference from the reference in per cent, at the largest training size. It is
    filled where the difference is significant.
    """
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    margin, line, bar, percent = 0.1, 0.16, 0.1, 0.7
    whole = BEST_WIDTH - 2 * margin
    key = (
        "Bars: by how much it is lower, of 100 %. Filled: significant (corrected test, 0.05); "
        "hollow: may be chance."
    )
    with applied_style():
        title = wrapped("Best method: error against the reference", whole, TITLE_SIZE)
        head = [(text, {"fontsize": TITLE_SIZE}) for text in title.splitlines()]
        appearance = {"fontsize": 8.5, "color": GREY}
        head += [(text, appearance) for text in wrapped(key, whole, 8.5).splitlines()]
        rows = [
            (row, _wrapped(f"{_name(row)}: {_label(row)}", whole - percent, 9).splitlines())
            for row in best_of(found).itertuples()
        ]
        height = 0.3 + line * len(head)
        height += sum(line * len(lines) + 2 * bar for _, lines in rows)
        figure = Figure(figsize=(BEST_WIDTH, height))
        axis = page(figure)
        y = 0.15
        for text, appearance in head:
            write(axis, margin, y, text, **appearance)
            y += line
        y += 0.08
        for row, lines in rows:
            is_found = row.outcome == "better"
            weight = "bold" if is_found else "normal"
            write(axis, BEST_WIDTH - margin, y, _percent_of(row), ha="right", weight=weight)
            for text in lines:
                write(axis, margin, y, text)
                y += line
            corner = (margin, y - 0.06)
            draw_box(axis, *corner, whole, bar, "#eeeeee")
            if row.outcome and row.difference_percent < 0.0:
                appearance = {"facecolor": BASE_COLOR if is_found else "white", "linewidth": 1.0}
                share = -row.difference_percent / 100
                axis.add_patch(
                    Rectangle(corner, whole * share, bar, edgecolor=BASE_COLOR, **appearance)
                )
            y += 2 * bar
    return figure


def draw_headline(found: pd.DataFrame):
    """Return the figure: a row for each experiment, a column for each method.

    A cell is the difference of its error from that of the reference in per cent. Methods that ran
    on one experiment only are not drawn, but for the best of them.
    """
    from matplotlib.figure import Figure

    names, methods = list(dict.fromkeys(found["experiment"])), shared_methods(found)
    labels = found.drop_duplicates("method").set_index("method")["label"]
    others = found[~found["method"].isin(methods) & (found["outcome"] != "")]
    has_others = not others.empty
    texts = {}
    for row in found.itertuples():
        below = f"n = {row.training_size}, {row.reference} {row.reference_error:.2g}"
        texts[row.experiment] = _name(row), below
    left = 0.25 + max(max(width_of(name, 9), width_of(below, 8)) for name, below in texts.values())
    right = left + COLUMN * len(methods)
    # Slanted names reach above the columns, and beyond the last one.
    slant, lengths = math.radians(SLANT), [width_of(labels[method], 9) for method in methods]
    top = 0.75 + math.sin(slant) * max(lengths, default=0.0)
    ends = [COLUMN * (n + 0.5) + math.cos(slant) * x for n, x in enumerate(lengths)]
    space = max(ends, default=0.0) - COLUMN * len(methods)
    if has_others:
        besides = [width_of(label, 8.5) for label in _best_others(others)["label"]]
        space = max(space, 1.3, COLUMN + 0.3 + max(besides, default=0.0))
    width = max(right + space + DETECTABLE, MIN_WIDTH)
    height = top + ROW * len(names) + 0.65
    with applied_style():
        figure = Figure(figsize=(width, height))
        axis = page(figure)
        title = "Error of each method, relative to that of the reference (%)"
        write(axis, 0.1, 0.2, title, fontsize=12, weight="bold")
        for number, method in enumerate(methods):
            appearance = {"rotation": SLANT, "ha": "left", "rotation_mode": "anchor"}
            write(axis, left + COLUMN * (number + 0.45), top - 0.1, labels[method], **appearance)
        if has_others:
            write(axis, right + 0.1, top - 0.12, "best of the others", color=GREY)
        appearance = {"color": GREY, "fontsize": 8.5, "ha": "center"}
        for line, text in enumerate(("difference that", "the test finds", "in 80 % of runs")):
            write(axis, width - DETECTABLE / 2, top - 0.42 + 0.15 * line, text, **appearance)
        for number, name in enumerate(names):
            rows = found[found["experiment"] == name]
            y = top + ROW * number
            title, below = texts[name]
            write(axis, 0.1, y + 0.13, title)
            write(axis, 0.1, y + 0.29, below, fontsize=8, color=GREY)
            by_method = rows.set_index("method")
            for index, method in enumerate(methods):
                if method in by_method.index:
                    _draw_cell(axis, left + COLUMN * index, y, COLUMN, by_method.loc[method])
            rest = _best_others(others[others["experiment"] == name])
            for _, best in rest.iterrows():
                _draw_cell(axis, right + 0.1, y, COLUMN, best)
                x = right + 0.15 + COLUMN
                write(axis, x, y + ROW / 2, best["label"], fontsize=8.5, color=GREY)
            detectable = rows["detectable_percent"].median()
            if not math.isnan(detectable):
                text, x = f"\u00b1{format_signed(detectable)[1:]} %", width - DETECTABLE / 2
                write(axis, x, y + ROW / 2, text, ha="center", color=GREY)
        _draw_key(axis, height - 0.32)
    return figure


def draw_curves(
    points: pd.DataFrame, experiments: Mapping[str, Mapping], methods: Mapping[str, Mapping]
):
    """Return the figure: a small learning curve for each experiment, lines with their names."""
    from matplotlib.figure import Figure

    panels = [rows for _, rows in points.groupby("experiment", sort=False)]
    n_columns = min(PANELS_IN_A_ROW, len(panels))
    n_rows = math.ceil(len(panels) / n_columns)
    with applied_style():
        heads = [_panel_head(rows, methods) for rows in panels]
        height = PANEL[1] + HEAD_LINE * max(map(len, heads))
        figure = Figure(
            figsize=(max(PANEL[0] * n_columns, 6.2), height * n_rows + 0.35), layout="constrained"
        )
        axes = list(figure.subplots(n_rows, n_columns, squeeze=False).flat)
        for axis, rows, head in zip(axes, panels, heads, strict=False):
            _draw_curve(axis, rows, head, methods)
        for axis in axes[len(panels) :]:
            axis.remove()
        title = "The best method and the reference, by number of labelled rows"
        figure.suptitle(title, x=0.01, ha="left", fontsize=11, weight="bold")
    return figure


def _drawn(column: Mapping[Variant, object], method: str) -> Variant | None:
    """Return the row of a method that is drawn: most weak rows, selected components first."""
    rows = [
        (-variant.weak_size, variant.components != SELECTED, variant)
        for variant in column
        if variant.method == method
    ]
    return min(rows)[-1] if rows else None


def _name(row) -> str:
    return row.experiment + (" (stand-in)" if row.is_stand_in else "")


def _label(row) -> str:
    return row.label + (", the reference" if row.label == row.reference else "")


def _wrapped(text: str, width: float, size: float) -> str:
    """Return a text in lines of so many inches, which break between words where they can."""
    return wrapped(text, width, size, break_on_hyphens=False)


def _percent_of(row) -> str:
    """Return the difference of a method from the reference, a dash where there is none."""
    if not row.outcome:
        return "0 %" if row.label == row.reference else "\u2013"
    return f"{format_signed(row.difference_percent)} %"


def _best_others(others: pd.DataFrame) -> pd.DataFrame:
    """Return the best row of each experiment, of methods that have no column; no ceilings."""
    fair = others[~others["is_ceiling"]]
    return fair.loc[fair.groupby("experiment", sort=False)["error"].idxmin()]


def _draw_cell(axis, x: float, y: float, width: float, row: pd.Series) -> None:
    percent, outcome = row["difference_percent"], row["outcome"]
    if not outcome:
        write(axis, x + width / 2, y + ROW / 2, "0", ha="center", color=GREY, fontsize=8.5)
        return
    text = "=" if outcome == "equal" else format_signed(percent)
    is_found = outcome in ("better", "worse")
    fill = color_of(0.0 if outcome == "equal" else percent)
    draw_box(axis, x + 0.02, y + 0.02, width - 0.04, ROW - 0.04, fill)
    if is_found:
        from matplotlib.patches import Rectangle

        frame = (x + 0.035, y + 0.035), width - 0.07, ROW - 0.07
        axis.add_patch(Rectangle(*frame, fill=False, edgecolor=INK, linewidth=1.6))
    ink = "white" if abs(percent) > 0.7 * FULL_COLOR and outcome != "equal" else INK
    appearance = {"color": ink, "weight": "bold" if is_found else "normal"}
    style = {"style": "italic"} if row["is_ceiling"] else {}
    write(axis, x + width / 2, y + ROW / 2, text, ha="center", fontsize=8.5, **appearance, **style)


def color_of(percent: float) -> tuple[float, float, float]:
    """Return the colour of a difference: blue below zero, orange above, nearly white at zero."""
    from matplotlib.colors import to_rgb

    share = min(abs(percent) / FULL_COLOR, 1.0)
    end, middle = to_rgb(BETTER if percent < 0 else WORSE), to_rgb(MIDDLE)
    red, green, blue = ((1 - share) * m + share * e for m, e in zip(middle, end, strict=True))
    return red, green, blue


def _draw_key(axis, y: float) -> None:
    x = 0.1
    for percent in (-FULL_COLOR, -FULL_COLOR / 2, 0, FULL_COLOR / 2, FULL_COLOR):
        draw_box(axis, x, y - 0.09, 0.3, 0.18, color_of(percent))
        x += 0.3
    text = "lower error (blue) to higher error (orange); frame: significant (corrected test, 0.05)"
    write(axis, x + 0.1, y, text, fontsize=8.5, color=GREY)
    text = "= equal up to rounding; italics: a ceiling, learns from outputs not known in use"
    write(axis, 0.1, y + 0.2, text, fontsize=8.5, color=GREY)


def _panel_head(rows: pd.DataFrame, methods: Mapping[str, Mapping]) -> list[tuple[str, dict]]:
    """Return the lines above a panel: the experiment, and the methods from the upper curve down."""
    first, width = rows.iloc[0], PANEL[0] - 0.55
    mark = "\n(stand-in)" if first["is_stand_in"] else ""
    name = wrapped(first["experiment"], width, 8.5) + mark
    head = [(text, {"fontsize": 8.5}) for text in name.splitlines()]
    ends = rows.groupby("method", sort=False).last().sort_values("mean")
    for method, end in ends[::-1].iterrows():
        appearance = {"color": line_style(method, methods)["color"], "fontsize": 8}
        appearance |= {"weight": "normal" if end["is_reference"] else "bold"}
        # Bold letters are wider than those that are measured.
        label = _wrapped(end["label"], width - (0.0 if end["is_reference"] else 0.2), 8)
        head += [(text, appearance) for text in label.splitlines()]
    return head


def _draw_curve(
    axis, rows: pd.DataFrame, head: list[tuple[str, dict]], methods: Mapping[str, Mapping]
) -> None:
    first = rows.iloc[0]
    for number, (text, appearance) in enumerate(reversed(head)):
        where = {"xycoords": "axes fraction", "textcoords": "offset points", "va": "bottom"}
        above = (0.0, 4.0 + 72 * HEAD_LINE * number)
        axis.annotate(text, (0.0, 1.0), above, **where, **appearance)
    sizes = sorted(set(rows["training_size"]))
    scale_sizes(axis, sizes, 1.3)
    for method, line in rows.groupby("method", sort=False):
        appearance = {"markersize": 4, "linewidth": 1.5, "capsize": 2, "elinewidth": 0.8}
        bars = line["deviation"].fillna(0.0)
        appearance |= line_style(method, methods)
        axis.errorbar(line["training_size"], line["mean"], yerr=bars, **appearance)
    shown = [sizes[0], sizes[-1]] if len(sizes) > 1 else sizes
    axis.set_xticks(shown, [str(size) for size in shown], fontsize=8)
    axis.tick_params(axis="y", labelsize=8)
    axis.margins(y=0.1)
    measured = QUANTITIES[first["metric"]]
    unit = f"{measured.name} (%)" if measured.is_percent else measured.name
    axis.set_ylabel(unit, fontsize=8)
