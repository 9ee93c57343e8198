"""Samples of the item kinds of the paper."""

import numpy as np
from item_samples import ItemSample, change

from workflow_lib.papers.blaschko.item_kinds.points import ImagePoints

IMAGES = [
    ImagePoints(np.array([0, 2]), np.array([[0.0, 0.5], [1.0, 0.25]]), np.array([80, 60]), 3),
    ImagePoints(np.array([1]), np.array([[0.75, 0.5]]), np.array([40, 40]), 3),
]

SAMPLES = {
    "points": ItemSample(
        (IMAGES,),
        IMAGES,
        (
            change("points", "begins", 2, to=2),
            change("points", "words", 0, to=3),
            change("points", "positions", (0, 0), to=1.5),
        ),
    )
}
