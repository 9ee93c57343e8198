"""How near the greedy search for several boxes comes to the best set, and what is guaranteed.

The sentence of Section 5.1.3 of Blaschko (2014) on approximation, measured.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from workflow_lib.core.artifacts import read_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.papers.blaschko.box_search import detections
from workflow_lib.papers.blaschko.detection_energy import (
    DetectionEnergy,
    energy_of_boxes,
    greedy_ratio,
    overlap_power,
    ruled_out_from,
)
from workflow_lib.papers.blaschko.figures.box_detections import largest_item
from workflow_lib.papers.blaschko.item_kinds.points import unpack
from workflow_lib.papers.blaschko.word_grids import WordGrid
from workflow_lib.report.labels import count_of
from workflow_lib.report.style import ACCENT_COLOR, BASE_COLOR, WIDTH, applied_style, write_title

SHOWS = (
    "the energy of a set of detections that the greedy search finds, as a share of the best, and "
    "the share that is guaranteed, by the penalty of overlaps"
)
CAPTION = (
    "Energy of the set of up to four boxes that the greedy search finds, divided by that of the "
    "best set: mean and least over the images, and the mean of the share that is guaranteed. The "
    "best sets are found by comparing all sets of twelve candidate boxes of each image, which are "
    "detections that overlap by less than 0.8. Left: a penalty in proportion to the overlap of two "
    "boxes, in units of the best score; middle: the same, and an equal weight for the area that is "
    "covered more than once, in units of the area of the best box; right: boxes are ruled out from "
    "an overlap on. Where a penalty can exceed a score, finite ones have no guarantee, which is "
    "drawn at 0."
)
READS = {
    "dataset": "results/datasets/{dataset}.h5",
    "splits": "results/{experiment}/split-{split}/split.h5",
    "all_regressions": "results/{experiment}/split-{split}/{shown_method}/regression.h5",
}
METHOD_FIELDS = ("label",)
REQUIRES = {"task": {"boxes"}}
BECAUSE = "a figure of kind greedy_detections shows a search for boxes, and the task is {task}"
NEEDS_METHOD = {"tasks": {("boxes",)}}
METHOD_IN_WORDS = "a method that is for boxes alone, such as boxes-ssvm"
NEEDS = {"minutes": 3}

N_MOST, N_CANDIDATES, MAX_OVERLAP = 4, 12, 0.8
MAX_SPLITS, MAX_IMAGES = 3, 6
WEIGHTS = (0.0, 0.1, 0.3, 1.0, 3.0)
OVERLAPS = (0.1, 0.25, 0.4, 0.55, 0.7)


def draw(
    dataset: str | Path,
    splits: Sequence[str | Path],
    all_regressions: Mapping[str, Sequence[str | Path]],
    *,
    title: str,
    shown_methods: Mapping[str, Mapping],
):
    """Return the figure: a panel for each kind of penalty, with the weights of the first method.

    Raises UserError if no method has weights of words.
    """
    from matplotlib.figure import Figure

    data = read_artifact(dataset, "dataset")
    found = {
        method: [largest_item(path, "regression") for path in paths[:MAX_SPLITS]]
        for method, paths in all_regressions.items()
    }
    shown = next((key for key in found if all("word_weights" in each for each in found[key])), None)
    if shown is None:
        raise UserError(
            location="a figure of the kind greedy_detections",
            found=f"no weights of words of {', '.join(all_regressions) or 'any method'}",
            expected="a method for boxes with a linear score, such as boxes-ssvm",
            remedy="name such a method in the key methods of the figure, or leave the figure out",
        )
    items = found[shown]
    candidates = []
    for path, item in zip(splits, items):
        test = read_artifact(path, "split")["test"][:MAX_IMAGES]
        candidates += [_candidates(item, image) for image in unpack(data, test)]
    what = (
        f"{shown_methods[shown]['label']}, {items[0]['training_size']} training images; "
        f"{count_of(len(candidates), 'test image')} of {count_of(len(items), 'split')}"
    )
    panels = (
        ("penalty of overlaps", WEIGHTS, lambda x: (overlap_power(x), 0.0)),
        ("and of cells covered again", WEIGHTS, lambda x: (overlap_power(x), x)),
        ("overlap that rules out", OVERLAPS, lambda x: (ruled_out_from(x), 0.0)),
    )
    with applied_style():
        figure = Figure(figsize=(WIDTH, 3.4), layout="constrained")
        axes = figure.subplots(1, 3, sharey=True)
        for axis, (name, values, terms) in zip(axes, panels, strict=True):
            _draw_panel(
                axis, values, [[_energy(*each, *terms(x)) for each in candidates] for x in values]
            )
            axis.set_xlabel(name)
            if values is WEIGHTS:
                axis.set_xscale("symlog", linthresh=0.1, linscale=0.4)
                axis.set_xlim(-0.03, 4.2)
                axis.set_xticks(WEIGHTS, [f"{value:g}" for value in WEIGHTS])
                axis.minorticks_off()
        axes[0].set(ylabel="share of the best energy", ylim=(-0.03, 1.03))
        figure.legend(handles=axes[0].lines, loc="outside lower left", ncols=4)
        write_title(figure, f"{title}\n{what}")
    return figure


def _draw_panel(axis, values: Sequence[float], energies: Sequence[Sequence]) -> None:
    ratios = np.array([[greedy_ratio(each, N_MOST) for each in of_value] for of_value in energies])
    least = np.array([[each.guarantee(N_MOST) for each in of_value] for of_value in energies])
    axis.plot(values, ratios.mean(axis=1), "o-", color=BASE_COLOR, label="greedy, mean")
    axis.plot(values, ratios.min(axis=1), "v:", color=BASE_COLOR, label="greedy, least")
    axis.plot(values, least.mean(axis=1), "s--", color=ACCENT_COLOR, label="guaranteed, mean")
    axis.axhline(1.0 - 1.0 / np.e, color="0.5", linewidth=0.8, zorder=0, label="1 \u2212 1/e")


def _candidates(item: Mapping, image) -> tuple[np.ndarray, np.ndarray]:
    """Return boxes (m, 4) of an image and their scores, of which the best is 1."""
    kind = item["word_grid"]
    grid = WordGrid(image, int(kind["n_cells"]), bool(kind["center"]), int(kind["levels"]))
    found = detections(grid.score(item["word_weights"]), N_CANDIDATES, MAX_OVERLAP)
    boxes, scores = zip(*((one.box, one.score) for one in found))
    return np.array(boxes), np.array(scores) / (scores[0] if scores[0] > 0 else 1.0)


def _energy(boxes: np.ndarray, scores: np.ndarray, penalty, crowding: float) -> DetectionEnergy:
    left, top, right, bottom = boxes[0]
    return energy_of_boxes(boxes, scores, penalty, crowding / ((right - left) * (bottom - top)))
