"""What it costs to reset the queue of the search for several boxes in an image, or to keep it.

As in Figure 5.3 and Tables 5.1 and 5.2 of Blaschko (2014).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from workflow_lib.artifacts import read_artifact
from workflow_lib.embeddings.queue_strategies import (
    cheapest_resets,
    costs_of_resets,
    queue_costs,
)
from workflow_lib.embeddings.word_grids import WordGrid
from workflow_lib.errors import UserError
from workflow_lib.features.word_points import ImagePoints, points_of
from workflow_lib.fitting.box_fitting import N_DETECTIONS
from workflow_lib.report.labels import count_of, method_label, range_in_words
from workflow_lib.report.style import (
    ACCENT_COLOR,
    BASE_COLOR,
    WIDTH,
    applied_style,
    scale_errors,
    write_title,
)

SHOWS = (
    "how many sets of boxes the search for ten detections takes from a queue that is reset or "
    "kept, with the weights of the first of its methods that has weights of words"
)
CAPTION = (
    "Top: sets of boxes that are taken from the queue for each detection, where the queue is never "
    "reset, reset before the first one or two further detections, or before each; two detections "
    "overlap by less than \u03b3. Lines are means over the splits of the means over images, areas "
    "their sample standard deviation. Bottom left: sets taken for ten detections, divided by those "
    "of the cheapest strategy of the image in hindsight. Bottom right: how often that strategy "
    "resets the queue. Points are medians over the images, bars go from the least to the most; "
    "squares are the same weights on a grid of four times as many cells at each side. The first 8 "
    "test images of each of the first 5 splits, the largest training size. Hollow: Tables 5.1 and "
    "5.2 of Blaschko (2014), over the 20 classes of PASCAL VOC 2007, each with one strategy for "
    "all its images."
)
METHOD_FIELDS = ("label", "color")
REQUIRES = {"task": {"boxes"}}
BECAUSE = "a figure of kind box_queues shows a search for boxes, and the task is {task}"
NEEDS = {"minutes": 10}

MAX_OVERLAPS = (0.25, 0.5, 0.75)
"""The overlaps with an earlier detection from which on a box is ruled out."""

MOST_SPLITS = 5
MOST_IMAGES = 8
"""The costs of an image with one overlap take about 0.1 s on 32 x 32 cells, and 1 s on the finer
grid."""

FINER = 4
"""How many times as fine the second grid is: with 32 x 32 cells, nearer to the grid of all pixels
that the published numbers are of."""

EACH, NEVER = "reset before each detection", "never reset"
STRATEGIES = {
    NEVER: (0, BASE_COLOR, "-"),
    "before the 2nd alone": (1, "#009E73", "--"),
    "before the 2nd and the 3rd": (2, "#CC79A7", ":"),
    EACH: (N_DETECTIONS - 1, ACCENT_COLOR, "-."),
}
"""The number of detections before which the queue is reset, a color and a line style."""

MARKS = {
    "grid of the method": {"marker": "o"},
    f"{FINER} times as fine": {"marker": "s"},
    "published": {"marker": "o", "markerfacecolor": "white"},
}
"""How the ranges of both grids and the published ones are marked."""

PUBLISHED = {
    EACH: ((1.36, 1.48, 1.94), (1.38, 1.52, 2.19), (1.59, 2.04, 3.15)),
    NEVER: ((1.17, 1.22, 1.28), (1.16, 1.20, 1.28), (1.14, 1.16, 1.20)),
}
"""Table 5.2 of Blaschko (2014): least, median and most, for each of `MAX_OVERLAPS`."""

PUBLISHED_RESETS = ((3, 4, 4), (2, 3, 4), (1, 2, 3))
"""Table 5.1 of Blaschko (2014), likewise."""


class QueueCosts(NamedTuple):
    """Costs of some images with one overlap, in sets taken from the queue."""

    taken: dict[str, np.ndarray]
    """Of each of `STRATEGIES` those for each detection, (n_images, `N_DETECTIONS`); NaN without."""

    ratios: dict[str, np.ndarray]
    """Of each of `STRATEGIES` all of them, divided by those of the cheapest one, (n_images,)."""

    resets: np.ndarray
    """How often the cheapest strategy of each image resets the queue, (n_images,)."""


def draw(
    dataset: str | Path,
    splits: Sequence[str | Path],
    all_regressions: Mapping[str, Sequence[str | Path]],
    *,
    title: str,
    shown_methods: Mapping[str, Mapping],
):
    """Return the figure: a panel for each overlap, one of ratios, and one of numbers of resets.

    Raises UserError if no shown method has weights of words.
    """
    from matplotlib.figure import Figure

    data = read_artifact(dataset, "dataset")
    method, items = _first_with_weights(shown_methods, all_regressions)
    tests = [read_artifact(path, "split")["test"][:MOST_IMAGES] for path in splits[:MOST_SPLITS]]
    # For each grid a list for each overlap, with the costs of each split.
    own, finer = (
        [
            [
                image_costs(item, points_of(data, rows), overlap, factor)
                for item, rows in zip(items, tests, strict=True)
            ]
            for overlap in MAX_OVERLAPS
        ]
        for factor in (1, FINER)
    )
    n_images = range_in_words([len(rows) for rows in tests])
    what = (
        f"{method_label(method, shown_methods)}, {items[0]['training_size']} training images; "
        f"the first {n_images} test images of {count_of(len(tests), 'split')}"
    )
    with applied_style():
        figure = Figure(figsize=(WIDTH, 6.2), layout="constrained")
        grid = figure.add_gridspec(2, 6)
        first = None
        for place, (overlap, of_splits) in enumerate(zip(MAX_OVERLAPS, own, strict=True)):
            axis = figure.add_subplot(grid[0, 2 * place : 2 * place + 2], sharey=first)
            _draw_taken(axis, [each.taken for each in of_splits])
            axis.set_title(f"\u03b3 = {overlap}")
            axis.set_xlabel("detection")
            axis.tick_params(labelleft=first is None)
            first = first or axis
        first.set_yscale("log")
        first.set_ylabel("sets taken from the queue")
        ratios, resets = figure.add_subplot(grid[1, :4]), figure.add_subplot(grid[1, 4:])
        for place, name in enumerate((EACH, NEVER)):
            found = [
                [_range([each.ratios[name] for each in row]) for row in costs]
                for costs in (own, finer)
            ]
            look = {"color": STRATEGIES[name][1]}
            _draw_ranges(ratios, (place, 2), [*found, PUBLISHED[name]], name, look)
        found = [[_range([each.resets for each in row]) for row in costs] for costs in (own, finer)]
        black = {"color": "black"}
        _draw_ranges(resets, (0, 1), [*found, PUBLISHED_RESETS], "cheapest", black)
        scale_errors(ratios, [1.0, ratios.get_ylim()[1]])
        ratios.set_title("sets taken / cheapest strategy")
        resets.set_title("resets of the cheapest")
        resets.yaxis.get_major_locator().set_params(integer=True)
        handles = [*first.lines, *resets.containers]
        figure.legend(handles=handles, loc="outside lower left", ncols=2)
        write_title(figure, f"{title}\n{what}")
    return figure


def image_costs(
    item: Mapping, images: Sequence[ImagePoints], max_overlap: float, finer: int = 1
) -> QueueCosts:
    """Return the costs of images, with the weights of an item of the "regression" artifact.

    They are on a grid `finer` times as fine as that of the method.
    """
    n_cells = finer * int(item["word_grid"]["n_cells"])
    center = bool(item["word_grid"]["center"])
    taken = {name: np.full((len(images), N_DETECTIONS), np.nan) for name in STRATEGIES}
    resets, least = [], []
    for row, image in enumerate(images):
        score = WordGrid(image, n_cells, center).score(item["word_weights"])
        costs = queue_costs(score, N_DETECTIONS, max_overlap)
        for name, (n_resets, _, _) in STRATEGIES.items():
            taken[name][row, : len(costs)] = costs_of_resets(costs, n_resets)
        before, cost = cheapest_resets(costs)
        resets.append(len(before))
        least.append(cost)
    ratios = {name: np.nansum(found, axis=1) / least for name, found in taken.items()}
    return QueueCosts(taken, ratios, np.array(resets))


def _first_with_weights(
    shown_methods: Mapping[str, Mapping], all_regressions: Mapping[str, Sequence[str | Path]]
) -> tuple[str, list[Mapping]]:
    """Return the first method whose items have weights of words, and those of the largest size."""
    for method in shown_methods:
        items = [
            max(read_artifact(path, "regression").values(), key=lambda item: item["training_size"])
            for path in all_regressions.get(method, ())[:MOST_SPLITS]
        ]
        if items and all("word_weights" in item for item in items):
            return method, items
    raise UserError(
        place="a figure of the kind box_queues",
        found=f"no weights of words of {', '.join(shown_methods)}",
        expected="a method for boxes with a linear score, box_machine or box_support",
        remedy="name such a method in the key methods of the figure, or leave the figure out",
    )


def _draw_taken(axis, taken: Sequence[Mapping[str, np.ndarray]]) -> None:
    """Draw the costs of each detection: a line for each strategy, from a mapping of each split."""
    for name, (_, color, dashes) in STRATEGIES.items():
        # Detections that no image of a split has are left out.
        means = np.array(
            [np.ma.masked_invalid(of[name]).mean(axis=0).filled(np.nan) for of in taken]
        )
        numbers, mean = np.arange(1, N_DETECTIONS + 1), means.mean(axis=0)
        axis.plot(numbers, mean, color=color, linestyle=dashes, label=name)
        if len(means) > 1:
            spread = means.std(axis=0, ddof=1)
            area = {"color": color, "alpha": 0.15, "linewidth": 0}
            axis.fill_between(numbers, np.maximum(mean - spread, 1.0), mean + spread, **area)
    axis.set_xticks([1, 4, 7, 10])


def _range(values: Sequence[np.ndarray]) -> tuple[float, float, float]:
    """Return the least, the median and the most of the values of all splits."""
    pooled = np.concatenate(values)
    return pooled.min(), np.median(pooled), pooled.max()


def _draw_ranges(axis, place: tuple[int, int], ranges: Sequence, name: str, look: Mapping) -> None:
    """Draw least, median and most for each of `MAX_OVERLAPS`: of both grids, and published.

    `place` is the number of the strategy and how many there are, side by side at each overlap.
    """
    centre, (number, n_strategies) = np.arange(len(MAX_OVERLAPS)), place
    axis.set_xticks(centre, list(map(str, MAX_OVERLAPS)))
    axis.set_xlabel("\u03b3")
    axis.grid(visible=False, axis="x")
    for own_place, (of_overlaps, (what, mark)) in enumerate(
        zip(ranges, MARKS.items(), strict=True)
    ):
        least, median, most = np.array(of_overlaps, dtype=float).T
        shift = (number + (own_place + 0.5) / len(MARKS)) / n_strategies - 0.5
        axis.errorbar(
            centre + 0.8 * shift,
            median,
            yerr=[median - least, most - median],
            label=f"{name}, {what}",
            **{"linestyle": "", "markersize": 5, "capsize": 3, "elinewidth": 1.2} | mark | look,
        )
