"""The keys of a method with the regressor `box_kernel_support`."""

from typing import Annotated, Literal

from pydantic import Field, Strict

from workflow_lib.core.grids import Grid, Shares, SomePositive
from workflow_lib.papers.blaschko.box_methods import BoxMethod


class BoxKernelSupportGrid(Grid):
    """Grid of joint kernel support estimation for boxes with a chi-squared kernel."""

    nu: Shares
    """Largest shares nu of training boxes that count as outliers, in (0, 1]; with 1 all have the
    same weight."""

    width: SomePositive
    """Widths of the kernel, in units of the mean distance of two training boxes."""


class Parameters(BoxMethod):
    """Joint kernel support estimation for boxes with a chi-squared kernel."""

    regressor: Literal["box_kernel_support"]
    """`box_kernel_support`: the support of pairs of an image and a box, with a chi-squared kernel
    of the words in the box."""

    cells: Annotated[int, Strict(), Field(ge=2, le=64)] = 24
    """Cells of each side of an image; sides of boxes lie between them. All boxes are compared, so
    that time and memory grow with the fourth power; with the default there are 90,000."""

    grid: BoxKernelSupportGrid
    """Candidate hyper-parameters."""
