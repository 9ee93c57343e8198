"""The error relative to one method of the experiment, against the number of labelled rows."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from workflow_lib.core.errors import UserError
from workflow_lib.report.labels import method_label, splits_in_words
from workflow_lib.report.lines import Line, draw_curve, panel_size
from workflow_lib.report.quantities import QUANTITIES, errors_by_size
from workflow_lib.report.results import outside_studies, read_scores, rows_of_sizes
from workflow_lib.report.style import WIDTH, applied_style, line_style, scale_sizes
from workflow_lib.report.tables import CORRECTED_RISK, STUDENT_RISK, common_splits, difference

SHOWS = "the error relative to the first of its methods, against the number of labelled rows"
CAPTION = (
    "The error on the test rows relative to that of the first method, against the number of "
    "labelled training rows; a line is a method. Points are means over the splits of the "
    "differences on the same split, bars their sample standard deviation. Filled points: the "
    "corrected resampled t-test finds a difference at 0.05; with a dot: only the paired Student "
    "t-test does, at 0.001."
)
READS = {"scores": "results/{experiment}/scores.csv"}
METHOD_FIELDS = ("label", "color", "marker")
REQUIRES = {"task": {"regression", "series"}}
BECAUSE = "a figure of kind relative_curve needs outputs that are numbers"

COLUMNS = ["method", "training_size", "mean", "deviation", "p_student", "p_corrected"]


def draw(scores: str | Path, *, title: str, shown_methods: Mapping[str, Mapping], metric: str):
    """Return the figure; the first of `shown_methods` is the one that the others are compared with.

    Raises UserError if the scores lack that method, or hold no other.
    """
    frame = read_scores(scores)
    what = splits_in_words(frame["split"].nunique(), frame["n_test"])
    panels = {"": relative_errors(frame, metric, shown_methods, scores)}
    return draw_differences(panels, QUANTITIES[metric].name, shown_methods, f"{title}\n{what}")


def relative_errors(
    scores: pd.DataFrame, metric: str, methods: Mapping[str, Mapping], location: str | Path
) -> pd.DataFrame:
    """Return the differences of the errors from those of the first of `methods`, in per cent.

    Columns `COLUMNS`: means and deviations over the splits that both have, and the p-values of the
    two tests on the errors. Each method is taken with its most weak rows.

    Raises UserError if there is nothing to compare; `location` names the scores.
    """
    first, rows = next(iter(methods)), []
    scores = outside_studies(scores)
    n_train, n_test = rows_of_sizes(scores), int(scores["n_test"].max())
    for size, column in errors_by_size(scores, metric).items():
        errors = {variant.method: column[variant] for variant in sorted(column)}
        if first not in errors:
            continue
        for method in methods:
            if method != first and method in errors:
                splits = common_splits(errors[method], errors[first])
                ratios = [errors[method][split] / errors[first][split] for split in splits]
                found = difference(errors[method], errors[first], n_train[size], n_test)
                spread = np.std(ratios, ddof=1) if len(ratios) > 1 else 0.0
                means = 100.0 * (np.mean(ratios) - 1.0), 100.0 * spread
                rows.append((method, size, *means, found.p_student, found.p_corrected))
    if not rows:
        raise UserError(
            location=str(location),
            found=f"no method that can be compared with {first}",
            expected="two methods of the figure at least, the first to compare the others with",
            remedy="add them to methods in the file of the experiment, or leave the figure out",
        )
    order = {method: index for index, method in enumerate(methods)}
    frame = pd.DataFrame(rows, columns=COLUMNS)
    return frame.sort_values("method", key=lambda names: names.map(order), kind="stable")


def draw_differences(
    panels: Mapping[str, pd.DataFrame], error: str, methods: Mapping[str, Mapping], title: str
):
    """Return the figure of differences (`relative_errors`), with a panel for each of its titles.

    `error` is the name of the error.
    """
    first = method_label(next(iter(methods)), methods)
    lines = {name: _lines(rows, methods) for name, rows in panels.items()}
    figure = draw_curve(
        lines,
        size=panel_size(len(methods)) if len(panels) == 1 else (1.15 * WIDTH, 4.0),
        axes=(QUANTITIES["arrmse"].size_axis, f"{error}, % above {first}"),
        scale=lambda axis, name: scale_sizes(
            axis, sorted(panels[name]["training_size"].unique()), 1.25
        ),
        title=title,
        is_error=False,
        n_columns=len(panels),
        share_x=False,
        level=(first, 0.0),
    )
    with applied_style():
        for axis, name in zip(figure.axes, panels, strict=True):
            _empty_markers(axis, lines[name], panels[name])
    return figure


def _lines(rows: pd.DataFrame, methods: Mapping[str, Mapping]) -> list[Line]:
    """Return the line of each method; points of one training size are side by side."""
    by_method, lines = rows.groupby("method", sort=False), []
    for index, (name, found) in enumerate(by_method):
        positions = found["training_size"] * 1.035 ** (index - (len(by_method) - 1) / 2)
        means, deviations = (found[column].to_list() for column in ("mean", "deviation"))
        appearance = line_style(name, methods)
        label = method_label(name, methods)
        lines.append(Line(label, positions.to_list(), means, deviations, appearance))
    return lines


def _empty_markers(axis, lines: Sequence[Line], rows: pd.DataFrame) -> None:
    """Empty the markers of the differences that the corrected test does not find. Of these a dot
    marks the ones that the Student test finds. The order of the methods is that of their lines."""
    for line, (_, found) in zip(lines, rows.groupby("method", sort=False), strict=True):
        is_open = ~(found["p_corrected"] < CORRECTED_RISK).to_numpy()
        has_dot = is_open & (found["p_student"] < STUDENT_RISK).to_numpy()
        positions, means = np.array(line.positions), np.array(line.means)
        appearance = {"linestyle": "", "label": "_tests", "zorder": 4}
        appearance["color"] = line.appearance["color"]
        marker = {"marker": line.appearance["marker"], "markerfacecolor": "white"}
        axis.plot(positions[is_open], means[is_open], **appearance, **marker)
        axis.plot(positions[has_dot], means[has_dot], **appearance, marker=".", markersize=3)
