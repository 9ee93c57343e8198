"""The steps of the method for outputs that are vectors: figure 1 of Djerrab et al. (2018)."""

from __future__ import annotations

from workflow_lib.report.inches import GREY
from workflow_lib.report.schemes import GIVEN, LEARNED, Map, Scheme, Space, draw_scheme

SHOWS = "the steps of the method for vectors, figure 1 of the paper"
CAPTION = (
    "The steps of the method: the spaces, the maps between them, and the order in which the maps "
    "are made (figure 1 of the paper)."
)

SCHEME = Scheme(
    "Output Fisher embedding regression in three steps",
    {
        "X": Space("X", "inputs", 1.2, 3.3),
        "F": Space("F", "Fisher embeddings", 4.6, 1.1),
        "Y": Space("Y", "outputs", 7.3, 3.3),
    },
    (
        Map(
            "1",
            "Y",
            "F",
            "a density p(y) is fitted to the training outputs; each is embedded as M times the "
            "gradient of log p",
            (6.65, 1.35),
            LEARNED,
            shift=-0.13,
        ),
        Map(
            "2",
            "X",
            "F",
            "h, the regression of the embedding from the input, learned by ridge",
            (0.85, 1.35),
            LEARNED,
        ),
        Map(
            "3",
            "F",
            "Y",
            "the pre-image: the output whose embedding is nearest, in closed form",
            (3.7, 2.45),
            GIVEN,
            shift=-0.13,
        ),
        Map("", "X", "Y", "f, the prediction: step 3 after h", (3.0, 3.55), GREY, is_whole=True),
    ),
)


def draw():
    """Return the figure of the scheme."""
    return draw_scheme(SCHEME)
