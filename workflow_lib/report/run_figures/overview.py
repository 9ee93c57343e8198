"""The two figures that open the report: a table of colours of all methods, and learning curves."""

import math
import textwrap
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from workflow_lib.report.inches import GREY, INK, draw_box, page, shortened, write
from workflow_lib.report.labels import count_of, format_signed
from workflow_lib.report.overview import best_of, overview, reference_of, shared_methods
from workflow_lib.report.quantities import QUANTITIES, shown_means
from workflow_lib.report.results import outside_studies, read_scores, write_frame
from workflow_lib.report.style import applied_style, line_style, save_figure, scale_sizes
from workflow_lib.report.variants import SELECTED, Variant

BETTER, MIDDLE, WORSE = "#0072B2", "#f7f7f7", "#D55E00"
"""Colours of an error below, at and above that of the reference; blue and orange are distinguished
with every kind of colour blindness."""

FULL_COLOR = 25.0
"""Differences in per cent from which the colour is the same."""

# Lengths in inches.
NAMES, COLUMN, OTHERS, DETECTABLE, ROW, HEAD = 3.1, 0.5, 1.8, 1.1, 0.4, 1.85
SLANT, MIN_WIDTH = 1.2, 7.2
PANEL = (2.1, 1.75)
PANELS_IN_A_ROW = 5
NAME_LETTERS, REFERENCE_LETTERS, LABEL_LETTERS, PANEL_LETTERS = 44, 16, 30, 27


def run(
    scores: Mapping[str, str | Path],
    experiments: Mapping[str, Mapping],
    methods: Mapping[str, Mapping],
    headline: Mapping[str, str | Path],
    curves: Mapping[str, str | Path],
) -> None:
    """Read the scores of all experiments, draw both figures and write them and their numbers.

    `experiments` are those of `workflow_lib.report.overview.overview`, and `headline` and `curves`
    hold ``svg``, ``png`` and ``csv`` (paths) of each figure.
    """
    records = {name: read_scores(path) for name, path in scores.items()}
    found = overview(records, experiments, methods)
    points = curve_points(records, experiments, found)
    for figure, numbers, paths in (
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
        reference, columns = (
            reference_of(settings),
            shown_means(outside_studies(scores[name]), metric),
        )
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
        sentences.append(f"{last['title']}: {last['label']} {last['mean']:.3g}")
    return f"The best method at the largest training size: {'; '.join(sentences)}."


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
    right = NAMES + COLUMN * len(methods)
    # Slanted names reach beyond the last column.
    width = max(right + (OTHERS if has_others else SLANT) + DETECTABLE, MIN_WIDTH)
    height = HEAD + ROW * len(names) + 0.65
    with applied_style():
        figure = Figure(figsize=(width, height))
        axis = page(figure)
        title = "Error of each method, relative to that of the reference (%)"
        write(axis, 0.1, 0.2, title, fontsize=12, weight="bold")
        for number, method in enumerate(methods):
            appearance = {"rotation": 40, "ha": "left", "rotation_mode": "anchor"}
            x = NAMES + COLUMN * (number + 0.45)
            write(axis, x, HEAD - 0.1, shortened(labels[method], LABEL_LETTERS), **appearance)
        if has_others:
            write(axis, right + 0.1, HEAD - 0.12, "best of the others", color=GREY)
        appearance = {"color": GREY, "fontsize": 8.5, "ha": "center"}
        for line, text in enumerate(("difference that", "the test finds", "in 80 % of runs")):
            write(axis, width - DETECTABLE / 2, HEAD - 0.42 + 0.15 * line, text, **appearance)
        for number, name in enumerate(names):
            rows = found[found["experiment"] == name]
            y = HEAD + ROW * number
            _write_experiment(axis, rows, y)
            by_method = rows.set_index("method")
            for index, method in enumerate(methods):
                if method in by_method.index:
                    _draw_cell(axis, NAMES + COLUMN * index, y, COLUMN, by_method.loc[method])
            rest = others[(others["experiment"] == name) & ~others["is_ceiling"]]
            if len(rest):
                best = rest.loc[rest["error"].idxmin()]
                _draw_cell(axis, right + 0.1, y, COLUMN, best)
                text, x = shortened(best["label"], 17), right + 0.15 + COLUMN
                write(axis, x, y + ROW / 2, text, fontsize=8.5, color=GREY)
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

    names = list(dict.fromkeys(points["experiment"]))
    n_columns = min(PANELS_IN_A_ROW, len(names))
    n_rows = math.ceil(len(names) / n_columns)
    with applied_style():
        figure = Figure(
            figsize=(max(PANEL[0] * n_columns, 6.2), PANEL[1] * n_rows + 0.35), layout="constrained"
        )
        axes = list(figure.subplots(n_rows, n_columns, squeeze=False).flat)
        for axis, name in zip(axes, names, strict=False):
            _draw_curve(axis, points[points["experiment"] == name], methods)
        for axis in axes[len(names) :]:
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


def _write_experiment(axis, rows: pd.DataFrame, y: float) -> None:
    """Write the name of a row, and at which size it is and what its reference reaches."""
    first = rows.iloc[0]
    mark = " (stand-in)" if first["is_stand_in"] else ""
    name = shortened(first["title"], NAME_LETTERS - len(mark)) + mark
    write(axis, 0.1, y + 0.13, name)
    reference = shortened(first["reference"], REFERENCE_LETTERS)
    text = f"n = {first['training_size']}, {reference} {first['reference_error']:.2g}"
    name = shortened(first["experiment"], NAME_LETTERS - len(text))
    write(axis, 0.1, y + 0.29, f"{name}: {text}", fontsize=8, color=GREY)


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
    """Draw what the colours, the frames and the signs mean."""
    x = 0.1
    for percent in (-FULL_COLOR, -FULL_COLOR / 2, 0, FULL_COLOR / 2, FULL_COLOR):
        draw_box(axis, x, y - 0.09, 0.3, 0.18, color_of(percent))
        x += 0.3
    text = "lower error (blue) to higher error (orange); frame: significant (corrected test, 0.05)"
    write(axis, x + 0.1, y, text, fontsize=8.5, color=GREY)
    text = "= equal up to rounding; italics: a ceiling, learns from outputs not known in use"
    write(axis, 0.1, y + 0.2, text, fontsize=8.5, color=GREY)


def _panel_title(title: str, mark: str) -> str:
    """Return a title in two lines at most, shortened where needed, with its mark."""
    for letters in range(len(title), 0, -1):
        text = shortened(title, letters) + mark
        lines = textwrap.wrap(text, PANEL_LETTERS, break_on_hyphens=False)
        if len(lines) <= 2:
            break
    return "\n".join(lines)


def _draw_curve(axis, rows: pd.DataFrame, methods: Mapping[str, Mapping]) -> None:
    first = rows.iloc[0]
    mark = " (stand-in)" if first["is_stand_in"] else ""
    axis.set_title(_panel_title(first["title"], mark), fontsize=8.5)
    sizes = sorted(set(rows["training_size"]))
    scale_sizes(axis, sizes, 1.3)
    for method, line in rows.groupby("method", sort=False):
        appearance = {"markersize": 4, "linewidth": 1.5, "capsize": 2, "elinewidth": 0.8}
        bars = line["deviation"].fillna(0.0)
        appearance |= line_style(method, methods)
        axis.errorbar(line["training_size"], line["mean"], yerr=bars, **appearance)
    ends = rows.groupby("method", sort=False).last().sort_values("mean")
    measured = QUANTITIES[first["metric"]]
    # Errors fall and accuracies rise with the number of rows: with the room, a corner is free.
    top = 0.30 if measured.higher_is_better else 0.98
    for number, (method, end) in enumerate(ends[::-1].iterrows()):
        appearance = {"color": line_style(method, methods)["color"], "fontsize": 8}
        appearance |= {"weight": "normal" if end["is_reference"] else "bold"}
        where = {"xycoords": "axes fraction", "ha": "right", "va": "top"}
        # As wide as the panel: bold letters are wider.
        label = shortened(end["label"], 22 if end["is_reference"] else 20)
        axis.annotate(label, (0.98, top - 0.13 * number), **where, **appearance)
    shown = [sizes[0], sizes[-1]] if len(sizes) > 1 else sizes
    axis.set_xticks(shown, [str(size) for size in shown], fontsize=8)
    axis.tick_params(axis="y", labelsize=8)
    axis.margins(y=0.25)
    low, high = axis.get_ylim()
    room = 0.2 * (high - low)
    axis.set_ylim((low - room, high) if measured.higher_is_better else (low, high + room))
    unit = f"{measured.name} (%)" if measured.is_percent else measured.name
    axis.set_ylabel(unit, fontsize=8)
