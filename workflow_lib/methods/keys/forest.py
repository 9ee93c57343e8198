"""The keys of a method with the regressor `random_forest` or `extra_trees`."""

from __future__ import annotations

from typing import Literal

from workflow_lib.core.grids import ForestGrid
from workflow_lib.core.requirement import NEEDS_VECTORS
from workflow_lib.methods.contract.method_file import MethodFile


class Parameters(MethodFile):
    """Forests of regression trees."""

    regressor: Literal["random_forest", "extra_trees"]
    """`random_forest`, or `extra_trees`, which learn from all rows and draw the thresholds."""

    grid: ForestGrid
    """Candidate hyper-parameters."""

    needs_of_data = (NEEDS_VECTORS,)
