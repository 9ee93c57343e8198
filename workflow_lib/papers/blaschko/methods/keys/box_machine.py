"""The keys of a method with the regressor `box_machine`."""

from typing import Literal

from workflow_lib.core.grids import Grid, SomePositive
from workflow_lib.core.values import Flag
from workflow_lib.papers.blaschko.box_methods import BoxMethod


class BoxMachineGrid(Grid):
    """Grid of structured support vector machines for boxes."""

    cost: SomePositive
    """Costs C of the mean loss."""


class Parameters(BoxMethod):
    """Structured support vector machines for boxes."""

    regressor: Literal["box_machine"]
    """`box_machine`: a structured support vector machine whose loss is 1 - overlap."""

    center: Flag = False
    """Whether the share of each word in the whole image is subtracted. Off by default: the machine
    learns which words speak against a box."""

    grid: BoxMachineGrid
    """Candidate hyper-parameters."""
