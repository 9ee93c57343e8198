"""Error or accuracy against training size, a line for each version of a dataset in the run.

Versions of a dataset share its random draws (``drawn_as``): they have the same rows in every split.
"""

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from workflow_lib.report.labels import figure_title, method_label, splits_in_words
from workflow_lib.report.lines import Line, draw_curve
from workflow_lib.report.quantities import QUANTITIES, baseline_of, shown_means
from workflow_lib.report.results import outside_studies, read_scores
from workflow_lib.report.style import WIDTH, scale_sizes

SHOWS = (
    "aRRMSE, or the accuracy, on each version of a dataset (of the same `drawn_as`) in the run, "
    "against the number of labelled rows"
)
CAPTION = (
    "The error on the test rows, or the accuracy, against the number of labelled training rows; a "
    "panel is a method, a line a version of the dataset, on the same rows. Points are means over "
    "the splits, bars their sample standard deviation."
)
READS = {"version_scores": "results/{version}/scores.csv"}
METHOD_FIELDS = ("label", "color", "marker", "regressor")

USUAL = "usual inputs"
"""The name of the version whose title the other titles begin with."""

STYLES = (
    *(("#0072B2", "o"), ("#E69F00", "s"), ("#009E73", "D"), ("#CC79A7", "^")),
    *(("#56B4E9", "v"), ("#D55E00", "P")),
)
"""Colours and markers of the versions, in their order; they are repeated where there are more."""


def draw(
    version_scores: Sequence[str | Path],
    *,
    shown_methods: Mapping[str, Mapping],
    metric: str,
    version_titles: Sequence[str],
):
    """Return the figure: a panel for each method that every version has scores of.

    Points of one training size are drawn side by side.
    """
    measured = QUANTITIES[metric]
    frames = [outside_studies(read_scores(path)) for path in version_scores]
    means = [_means(frame, metric) for frame in frames]
    title, labels = named_versions(version_titles)
    methods = [name for name in shown_methods if all(name in found for found in means)]
    sizes = sorted({size for found in means for name in methods for size in found[name]})
    panels = {
        name: [
            _line(label, found[name], sizes, index, len(labels))
            for index, (label, found) in enumerate(zip(labels, means, strict=True))
        ]
        for name in methods
    }
    title = f"{title}\n{splits_in_words(frames[0]['split'].nunique(), frames[0]['n_test'])}"
    baseline, name = baseline_of(frames[0], metric)
    return draw_curve(
        panels,
        size=(WIDTH, 1.5 + 2.4 * math.ceil(len(panels) / 2)),
        title_of=lambda method: method_label(method, shown_methods),
        axes=(measured.size_axis, measured.axis),
        scale=lambda axis, _: scale_sizes(axis, sizes, 1.3 if len(sizes) > 1 else 1.15),
        title=title,
        is_error=not measured.higher_is_better,
        level=(name, baseline),
    )


def named_versions(titles: Sequence[str]) -> tuple[str, list[str]]:
    """Return what the titles have in common, up to a comma, and the rest of each.

    Where one title is the beginning of all others, its rest is `USUAL`. What `figure_title` writes
    after the title of a stand-in stands after what they have in common, if all have it.
    """
    mark = figure_title("", "other data")
    if all(title.endswith(mark) for title in titles):
        heading, labels = named_versions([title.removesuffix(mark) for title in titles])
        return heading + mark, labels
    common = os.path.commonprefix(list(titles))
    if common in titles and all(f"{title}, ".startswith(f"{common}, ") for title in titles):
        return common, [title[len(common) + 2 :] or USUAL for title in titles]
    beginning = common.rpartition(", ")[0]
    if not beginning:
        return titles[0], list(titles)
    return beginning, [title[len(beginning) + 2 :] for title in titles]


def _means(frame, metric: str) -> dict[str, dict[int, tuple[float, float]]]:
    """Return means and deviations by method and training size, with the most weak rows of each."""
    found: dict[str, dict[int, tuple[float, float]]] = {}
    for size, column in shown_means(frame, metric).items():
        for variant in sorted(column):
            found.setdefault(variant.method, {})[size] = column[variant]
    return found


def _line(
    label: str,
    points: Mapping[int, tuple[float, float]],
    sizes: Sequence[int],
    index: int,
    n_versions: int,
) -> Line:
    shift = 1.04 ** (index - (n_versions - 1) / 2)
    color, marker = STYLES[index % len(STYLES)]
    values = [points.get(size, (math.nan, math.nan)) for size in sizes]
    means, deviations = zip(*values, strict=True)
    positions = [size * shift for size in sizes]
    return Line(label, positions, means, deviations, {"color": color, "marker": marker})
