"""The best boxes of an image: branch and bound, and exhaustive search.

Both take images whose cells have the weights of noise, those of one box a higher mean. The scores
that are found must be equal. Besides the time, the sets of boxes taken from the queue are counted:
their mean per detection, as a share of all boxes.
"""

import numpy as np

from benchmarks.measuring import (
    Measurement,
    at_least,
    at_most,
    compared,
    each,
    interleaved,
    largest_difference,
    row,
)

SIDES = (24, 48)
N_IMAGES, N_DETECTIONS = 5, 10
MEAN, GAIN_IN_BOX = -0.3, 1.0
GAIN, SHARE = 3.0, 0.005
STRATEGIES = {"kept": 0, "reset before the first two": 2, "always reset": N_DETECTIONS - 1}
NOTE = "n is cells of a side, p is boxes of an image"


def measurements(quick: bool) -> list[Measurement]:
    """Return what is measured: the time for one box, and the sets taken for ten."""
    sides = SIDES[:1] if quick else SIDES
    return each("one_box", n=sides) + each("ten_boxes", n=sides)


def images(n: int) -> list[np.ndarray]:
    """Return images of n x n cells, each with a box of a third by a quarter of the sides."""
    random, drawn = np.random.default_rng(0), []
    for _ in range(N_IMAGES):
        weights = random.normal(MEAN, 1.0, size=(n, n))
        left, top = random.integers(0, n - n // 3, 2)
        weights[top : top + n // 4, left : left + n // 3] += GAIN_IN_BOX
        drawn.append(weights)
    return drawn


def all_boxes(n: int) -> np.ndarray:
    """Return all boxes of n x n cells."""
    low, high = np.triu_indices(n + 1, 1)
    pairs, count = np.arange(len(low)), len(low)
    columns, rows = np.repeat(pairs, count), np.tile(pairs, count)
    return np.stack([low[columns], low[rows], high[columns], high[rows]], axis=1)


def one_box(n: int) -> list[dict[str, str]]:
    """Time the best box of each image, by branch and bound and among all boxes."""
    from workflow_lib.papers.blaschko.box_bounds import BoxScore
    from workflow_lib.papers.blaschko.box_search import detections

    drawn, boxes = images(n), all_boxes(n)
    calls = {
        f"best box of {N_IMAGES} images, branch and bound": lambda: np.array(
            [next(detections(BoxScore(image), 1)).score for image in drawn]
        ),
        "exhaustive search": lambda: np.array(
            [BoxScore(image).of_boxes(boxes).max() for image in drawn]
        ),
    }
    # Of few boxes exhaustive search is about as fast.
    goal = at_least(GAIN, 0.0) if n == max(SIDES) else None
    return compared(n, len(boxes), calls, goal, gain=True, agreement=largest_difference, note=NOTE)


def ten_boxes(n: int) -> list[dict[str, str]]:
    """Count the sets taken from the queue for ten detections, by what is done with the queue."""
    from workflow_lib.papers.blaschko.box_bounds import BoxScore
    from workflow_lib.papers.blaschko.box_search import detections

    drawn, n_boxes = images(n), len(all_boxes(n))
    timings = interleaved(
        {
            name: lambda n_resets=n_resets: [
                [one.n_dequeued for one in detections(BoxScore(image), N_DETECTIONS, 0.5, n_resets)]
                for image in drawn
            ]
            for name, n_resets in STRATEGIES.items()
        }
    )
    return [
        row(
            n,
            n_boxes,
            f"sets taken per detection, {N_DETECTIONS} detections, queue {name}",
            timings[name],
            "all boxes",
            goal=at_most(SHARE) if n == max(SIDES) and n_resets != 2 else None,
            ratio=float(np.mean(timings[name].result)) / n_boxes,
            note=NOTE,
        )
        for name, n_resets in STRATEGIES.items()
    ]
