"""The keys of a method with the regressor `box_support`."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from workflow_lib.core.grids import Grid, Shares
from workflow_lib.core.values import Flag, NotNegative, without_repeats
from workflow_lib.papers.blaschko.box_methods import BoxMethod


class BoxSupportGrid(Grid):
    """Grid of joint kernel support estimation for boxes."""

    nu: Shares
    """Largest shares nu of training boxes that count as outliers, in (0, 1]; with 1 all have the
    same weight."""

    word_power: Annotated[
        tuple[NotNegative, ...], Field(min_length=1), AfterValidator(without_repeats)
    ] = (0.0,)
    """Powers of the frequency of a word by which its feature is divided. 0 leaves features as they
    are; with 0.5 their linear kernel approximates the chi-squared kernel."""


class Parameters(BoxMethod):
    """Joint kernel support estimation for boxes."""

    regressor: Literal["box_support"]
    """`box_support`: the support of pairs of an image and a box."""

    center: Flag = True
    """Whether the share of each word in the whole image is subtracted. On by default: without it
    all weights of words are positive, and the best box is the whole image."""

    grid: BoxSupportGrid
    """Candidate hyper-parameters."""
