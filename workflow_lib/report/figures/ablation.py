"""The difference of each method from the first, split by split, with both tests.

An ablation changes one thing at a time: the first method is the reference, and each of the others
differs from it in one setting.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from workflow_lib.core.errors import UserError
from workflow_lib.protocol.statistics import detectable_difference, mean_and_deviation
from workflow_lib.report.labels import count_of, format_p_value, method_label, range_in_words
from workflow_lib.report.quantities import QUANTITIES, Quantity, errors_by_size
from workflow_lib.report.results import outside_studies, read_scores, rows_of_sizes
from workflow_lib.report.style import WIDTH, applied_style, line_style, write_title
from workflow_lib.report.tables import (
    CORRECTED_RISK,
    STUDENT_RISK,
    Difference,
    common_splits,
    difference,
)

SHOWS = "the difference of each of its methods from the first, split by split, with both tests"
CAPTION = (
    "The difference of each method from the first one on the same test rows, at the largest "
    "training size. Points are means over the splits, bars the 95 % interval of the corrected "
    "resampled t-test, grey circles the splits, the larger the more of them have this difference. "
    "Filled points: the corrected test finds a difference at 0.05; with a dot: only the paired "
    "Student t-test does, at 0.001. Both p values are beside the points, not adjusted for the "
    "number of comparisons."
)
READS = {"scores": "results/{experiment}/scores.csv"}
METHOD_FIELDS = ("label", "color", "marker")

CIRCLE, CIRCLES = 14.0, 500.0
"""Area in square points of the circle of one split, unless all circles of a row would take more
than the other: then it is its share of them."""

BELOW = 0.26
"""How far circles are below the bar of their row, which would hide them, in rows."""


@dataclass(frozen=True)
class Change:
    """The comparison of a method with the reference; differences are as they are shown.

    ``by_split`` are those of each split, ``mean`` is their mean, and ``half_width`` half the length
    of the interval, NaN for one split. ``found`` has the tests.
    """

    method: str
    by_split: Sequence[float]
    mean: float
    half_width: float
    found: Difference


def draw(scores: str | Path, *, title: str, shown_methods: Mapping[str, Mapping], metric: str):
    """Return the figure: a row for each method but the first of `shown_methods`.

    Of a method with several numbers of weak rows the row with the most is compared.

    Raises UserError if the scores lack the first method, or hold no other.
    """
    from matplotlib.figure import Figure

    frame = outside_studies(read_scores(scores))
    size = int(frame["training_size"].max())
    rows = frame[frame["training_size"] == size]
    changes = changes_of(rows, metric, shown_methods, scores)
    measured, first = QUANTITIES[metric], next(iter(shown_methods))
    n_splits = max(change.found.n_splits for change in changes)
    heading = f"{measured.size_in_words(size)}, {count_of(n_splits, 'split')}, "
    heading += f"{range_in_words(rows['n_test'])} test rows"
    if n_splits > 1:
        heading += "\nPoints: means and 95 % intervals (corrected test); grey: splits"
    with applied_style():
        figure = Figure(figsize=(WIDTH, 1.7 + 0.47 * len(changes)), layout="constrained")
        axis = figure.subplots()
        axis.axvline(0.0, color="#444444", linewidth=1.2, linestyle=":", zorder=1)
        for index, change in enumerate(changes):
            _draw_change(axis, index, change, shown_methods, measured)
        labels = [method_label(change.method, shown_methods) for change in changes]
        axis.set_yticks(range(len(changes)), labels)
        axis.set_ylim(len(changes) - 0.4, -0.6)
        axis.grid(False, axis="y")
        axis.tick_params(axis="y", length=0)
        name = measured.difference_name
        axis.set_xlabel(f"difference in {name} from {method_label(first, shown_methods)}")
        write_title(figure, f"{title}\n{heading}")
    return figure


def changes_of(
    rows, metric: str, methods: Mapping[str, Mapping], location: str | Path
) -> list[Change]:
    """Return the comparisons with the first of `methods`, in their order.

    `rows` are those of one training size of the scores, and `location` names their file.

    Raises UserError if there is nothing to compare.
    """
    measured, first = QUANTITIES[metric], next(iter(methods))
    ((size, column),) = errors_by_size(rows, metric).items()
    n_train, n_test = rows_of_sizes(rows)[size], int(rows["n_test"].max())
    errors = {variant.method: column[variant] for variant in sorted(column)}
    changes = []
    for method in methods:
        splits = common_splits(errors.get(method, {}), errors.get(first, {}))
        if method == first or not splits:
            continue
        by_split = [
            measured.shown_difference(errors[method][split] - errors[first][split])
            for split in splits
        ]
        mean, deviation = mean_and_deviation(by_split)
        half_width = math.nan
        if len(splits) > 1:
            # With this power the quantile that is added to that of the test is zero.
            half_width = detectable_difference(
                deviation, len(splits), n_train, n_test, CORRECTED_RISK, power=0.5
            )
        found = difference(errors[method], errors[first], n_train, n_test)
        changes.append(Change(method, by_split, mean, half_width, found))
    if not changes:
        raise UserError(
            location=str(location),
            found=f"no method that can be compared with {first}",
            expected="two methods of the figure at least, the first to compare the others with",
            remedy="add them to methods in the file of the experiment, or leave the figure out",
        )
    return changes


def _draw_change(
    axis, index: int, change: Change, methods: Mapping[str, Mapping], measured: Quantity
) -> None:
    # Differences that are equal but for rounding are one circle.
    counts = Counter(round(each, 9) for each in change.by_split)
    area = min(CIRCLE, CIRCLES / len(change.by_split))
    label = method_label(change.method, methods)
    grey = {"color": "#9a9a9a", "alpha": 0.55, "linewidths": 0, "zorder": 2}
    areas, heights = [area * count for count in counts.values()], [index + BELOW] * len(counts)
    axis.scatter(list(counts), heights, s=areas, label=f"{label}, splits", **grey)
    found, appearance = change.found, line_style(change.method, methods)
    is_found = found.p_corrected < CORRECTED_RISK
    bar = None if math.isnan(change.half_width) else [change.half_width]
    style = {"capsize": 3, "elinewidth": 1.6, "linestyle": "", "zorder": 4, **appearance}
    style["markerfacecolor"] = appearance["color"] if is_found else "white"
    axis.errorbar([change.mean], [index], xerr=bar, label=label, **style)
    if not is_found and found.p_student < STUDENT_RISK:
        dot = {"marker": ".", "markersize": 3, "color": appearance["color"], "linestyle": ""}
        axis.plot([change.mean], [index], zorder=5, label="_test", **dot)
    if not math.isnan(found.p_student):
        text = f"{measured.write_difference(found.difference)}\n"
        text += f"Student {format_p_value(found.p_student)}\n"
        text += f"corrected {format_p_value(found.p_corrected)}"
        where = {"transform": axis.get_yaxis_transform(), "va": "center", "fontsize": 7.5}
        axis.text(1.02, index, text, color="#444444", linespacing=1.1, **where)
