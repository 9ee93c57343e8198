"""The keys of a method with the regressor `box_ranking`."""

from typing import Annotated, Literal

from pydantic import Field, Strict

from workflow_lib.core.grids import Grid, Ranks, SomePositive
from workflow_lib.core.values import Flag, Share
from workflow_lib.papers.blaschko.box_methods import BoxMethod


class BoxRankingGrid(Grid):
    """Grid of rankings of boxes."""

    cost: SomePositive
    """Costs C of the mean hinge of a preference. From some small cost on all lower ones find the
    same boxes: all preferences are then violated, and the weights of the words are proportional to
    the cost."""


class Parameters(BoxMethod, Ranks):
    """Rankings of boxes by their overlap with the true box."""

    regressor: Literal["box_ranking"]
    """`box_ranking`: boxes of each training image are ranked by their loss, 1 - overlap, and the
    first of all boxes is predicted."""

    center: Flag = False
    """Whether the share of each word in the whole image is subtracted. Off by default: the ranking
    learns which words speak against a box."""

    candidates: Annotated[int, Strict(), Field(ge=2, le=100_000)] = 300
    """Boxes of each training image that are compared, the true one included; all of the grid where
    it has fewer. 300 by default: with 20 images of `pasted-cars` the overlap of held-out rows is
    the same within .02 from 50 to 1000, and time grows in proportion."""

    near_share: Share = 0.8
    """Share of these boxes that are drawn near the true one. .8 by default: with 20 images
    of `pasted-cars` the overlap of held-out rows is the same within .02 from .7 to 1, and lower
    below for a complete graph, whose preferences are then mostly between boxes far from the
    object."""

    grid: BoxRankingGrid
    """Candidate hyper-parameters."""
