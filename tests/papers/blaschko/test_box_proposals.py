"""Rankings of boxes by several cues: the cues by their definitions, and the method."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from test_boxes import N_IMAGES, N_WORDS, RANKS, SIDE, dataset_of, image, run

from workflow_lib.core.artifacts import read_artifact
from workflow_lib.items.box_overlap import overlaps
from workflow_lib.items.group_names import DETECTIONS
from workflow_lib.papers.blaschko.box_cues import CUES, all_boxes, image_cues, prior_cue
from workflow_lib.papers.blaschko.methods.box_proposals import Fitted
from workflow_lib.protocol.splitting import split_rows


def counts(points, box, but=None):
    """Return the counts of words in a box of cells, without those in another."""
    columns, rows = points.cells(SIDE)

    def inside(box):
        left, top, right, bottom = box
        return (columns >= left) & (columns < right) & (rows >= top) & (rows < bottom)

    chosen = inside(box) & ~(inside(but) if but is not None else np.zeros(len(rows), dtype=bool))
    return np.bincount(points.words[chosen], minlength=N_WORDS)


def distance(points, first, second):
    """Return the smoothed chi-squared distance of two counts."""
    added = 0.05 * counts(points, [0, 0, SIDE, SIDE])
    h, g = ((each + added) / (each + added).sum() for each in (first, second))
    return ((h - g) ** 2 / np.where(h + g > 0, h + g, 1.0)).sum()


@pytest.mark.parametrize("box", [[3, 2, 8, 7], [0, 0, 4, 3], [1, 1, 2, 12]])
def test_the_cues_are_those_of_their_definitions(box):
    points, (left, top, right, bottom) = image(np.random.default_rng(0), [3, 3, 7, 7]), box
    width, height = -(-(right - left) // 2), -(-(bottom - top) // 2)
    around = np.clip([left - width, top - height, right + width, bottom + height], 0, SIDE)
    outer = np.clip([left - 1, top - 1, right + 1, bottom + 1], 0, SIDE)
    has_core = right - left > 2 and bottom - top > 2
    core = [left + 1, top + 1, right - 1, bottom - 1] if has_core else None
    middle = (left + right) // 2
    own, of_image = counts(points, box), counts(points, [0, 0, SIDE, SIDE])
    halves = (
        counts(points, [left, top, middle, bottom]),
        counts(points, [middle, top, right, bottom]),
    )
    information = -np.log(np.where(of_image > 0, of_image, of_image.sum()) / of_image.sum())
    mean = of_image @ information / of_image.sum()
    expected = [
        distance(points, own, counts(points, around, box)),
        distance(points, counts(points, box, core), counts(points, outer, box)),
        -distance(points, *halves),
        own @ (information - mean) / of_image.sum(),
    ]
    np.testing.assert_allclose(image_cues(points, SIDE, np.array([box]))[0], expected, atol=1e-9)


def test_the_prior_is_a_density_of_centres_and_sides():
    random = np.random.default_rng(1)
    boxes = all_boxes(SIDE)
    known = boxes[random.integers(0, len(boxes), 6)]

    def places(rows):
        sides = (rows[:, 2:] - rows[:, :2]) / SIDE
        return np.hstack([(rows[:, :2] + rows[:, 2:]) / (2 * SIDE), np.log(sides)])

    widths = np.maximum(places(known).std(axis=0, ddof=1), 1 / SIDE) * 6 ** (-1 / 8)
    others = places(boxes[::500])
    density = np.mean(
        [multivariate_normal(each, np.diag(widths**2)).pdf(others) for each in places(known)],
        axis=0,
    )
    peak = multivariate_normal(np.zeros(4), np.diag(widths**2)).pdf(np.zeros(4))
    np.testing.assert_allclose(np.exp(prior_cue(boxes[::500], known, SIDE)), density / peak)


def test_several_cues_find_boxes_of_other_words_that_places_do_not_tell(tmp_path):
    dataset, found = dataset_of(), {}
    test = split_rows(N_IMAGES, [4, 8], [], 12, 2, 0)["test"]
    for name, cues in (("all", CUES), ("prior", ["prior"])):
        settings = RANKS | {"cues": cues, "grid": {"cost": [10.0]}}
        item = run("box_proposals", tmp_path / name, dataset, settings)
        found[name] = overlaps(item["outputs"], dataset["outputs"][test]).mean()
        assert item[DETECTIONS].shape == (12, 10, 5)
        assert (overlaps(item[DETECTIONS][:, 0, :4], item[DETECTIONS][:, 1, :4]) < 0.5).all()
    assert found["all"] > 0.5 > found["prior"] + 0.1
    fitted = read_artifact(tmp_path / "prior" / "r.h5", "regression")["n-8_w-0_C-selected"]
    assert "gap" in fitted and "weight_prior" in fitted


def test_a_stored_ranking_scores_as_before():
    points = image(np.random.default_rng(2), [3, 3, 7, 7])
    boxes = all_boxes(SIDE)[::50]
    fitted = Fitted(np.array([1.0, 0.5]), boxes[:3], SIDE, ("contrast", "prior"), {"gap": 0.1})
    again = Fitted.from_arrays(fitted.to_arrays())
    cues = image_cues(points, SIDE, boxes)
    np.testing.assert_array_equal(fitted.scores(boxes, cues), again.scores(boxes, cues))
    assert again.entries() == fitted.entries()
