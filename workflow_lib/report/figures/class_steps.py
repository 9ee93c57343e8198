"""The steps of the method for classes with a meaning: figure 3 of Djerrab et al. (2018)."""

from __future__ import annotations

from workflow_lib.report.inches import GREY
from workflow_lib.report.schemes import GIVEN, LEARNED, Map, Scheme, Space, draw_scheme

SHOWS = "the steps of the method for classes, figure 3 of the paper"
CAPTION = (
    "The steps of the method: the spaces, the maps between them, and the order in which the maps "
    "are made (figure 3 of the paper)."
)

SCHEME = Scheme(
    "From an image to a class with a meaning in five steps",
    {
        "X": Space("X", "images, as features", 1.2, 3.3),
        "F": Space("F", "Fisher embeddings", 2.3, 1.1),
        "Y": Space("Y", "vectors of a meaning", 6.2, 1.1),
        "Z": Space("Z", "classes", 7.7, 3.3),
    },
    (
        Map(
            "1",
            "Z",
            "Y",
            "each class has the vector of its name, or of a text about it",
            (7.2, 1.85),
            shift=-0.13,
        ),
        Map(
            "2",
            "Y",
            "F",
            "a density is fitted to those of the training rows; each is embedded",
            (3.3, 0.5),
            LEARNED,
            shift=-0.13,
        ),
        Map("3", "X", "F", "h, learned by ridge", (0.15, 2.1), LEARNED),
        Map("4", "F", "Y", "first pre-image: a vector", (3.3, 1.5), GIVEN, shift=-0.13),
        Map("5", "Y", "Z", "second pre-image: the nearest class", (4.35, 2.35), GIVEN, shift=-0.13),
        Map("", "X", "Z", "f, the prediction: 5 after 4 after h", (3.0, 3.55), GREY, is_whole=True),
    ),
)


def draw():
    """Return the figure of the scheme."""
    return draw_scheme(SCHEME)
