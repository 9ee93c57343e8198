"""The keys of a method with the regressor `perceptron`."""

from __future__ import annotations

from typing import Literal

from workflow_lib.core.grids import Grid, OneExample, SomePositive
from workflow_lib.core.requirement import NEEDS_VECTORS
from workflow_lib.core.values import Positive
from workflow_lib.methods.contract.method_file import MethodFile


class PerceptronGrid(Grid):
    """Grid of perceptrons."""

    l2_penalty: SomePositive
    """Penalties on the squared weights."""


class PerceptronExample(OneExample):
    """Values for perceptrons with one labelled example per class."""

    l2_penalty: Positive | None = None
    """Used instead of `grid.l2_penalty`."""


class Parameters(MethodFile):
    """A perceptron that classifies."""

    regressor: Literal["perceptron"]
    """`perceptron`: one hidden layer."""

    grid: PerceptronGrid
    """Candidate hyper-parameters."""

    one_example: PerceptronExample = PerceptronExample()
    """Values used instead of the grid with one labelled example per class."""

    needs_of_data = (NEEDS_VECTORS,)
