"""The keys of a method with the regressor `box_proposals`."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, Strict

from workflow_lib.core.grids import Grid, Ranks, SomePositive
from workflow_lib.core.values import Share, without_repeats
from workflow_lib.papers.blaschko.box_methods import BoxMethod


class BoxProposalsGrid(Grid):
    """Grid of rankings of boxes by cues."""

    cost: SomePositive
    """Costs C of the mean hinge of a preference."""


class Parameters(BoxMethod, Ranks):
    """Rankings of boxes by cues that know no class of objects."""

    regressor: Literal["box_proposals"]
    """`box_proposals`: all boxes of an image are ranked by several cues, weighted by what they say
    of the overlap in training images."""

    cells: Annotated[int, Strict(), Field(ge=2, le=32)] = 16
    """Cells of each side of an image. The cues of all boxes are computed, 18,496 by default."""

    levels: Literal[1] = 1
    """The cues are those of boxes as a whole."""

    candidates: Annotated[int, Strict(), Field(ge=2, le=100_000)] = 300
    """Boxes of each training image that are compared, as of `box_ranking`."""

    near_share: Share = 0.8
    """Share of these boxes that are drawn near the true one, as of `box_ranking`."""

    cues: Annotated[
        tuple[Literal["contrast", "boundary", "symmetry", "saliency", "prior"], ...],
        Field(min_length=1),
        AfterValidator(without_repeats),
    ] = ("contrast", "boundary", "symmetry", "saliency", "prior")
    """What boxes are ranked by: how the words in a box differ from those around it (`contrast`) and
    across its rim (`boundary`), how alike its halves are (`symmetry`), how rare its words are
    (`saliency`), and how usual its place and size are among training boxes (`prior`)."""

    grid: BoxProposalsGrid
    """Candidate hyper-parameters."""
