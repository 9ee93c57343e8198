"""The keys of a method with the regressor `random_forest_classifier`."""

from __future__ import annotations

from typing import Literal

from workflow_lib.core.grids import ForestGrid, OneExample
from workflow_lib.core.requirement import NEEDS_VECTORS
from workflow_lib.core.values import Fraction
from workflow_lib.methods.contract.method_file import MethodFile


class ForestExample(OneExample):
    """Values for forests with one labelled example per class."""

    max_features: Fraction | None = None
    """Used instead of `grid.max_features`."""


class Parameters(MethodFile):
    """A forest of classification trees."""

    regressor: Literal["random_forest_classifier"]
    """`random_forest_classifier`: of classes."""

    grid: ForestGrid
    """Candidate hyper-parameters."""

    one_example: ForestExample = ForestExample()
    """Values used instead of the grid with one labelled example per class."""

    needs_of_data = (NEEDS_VECTORS,)
