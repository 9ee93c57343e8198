"""The keys of a method with the regressor `reduced_rank_ridge`."""

from __future__ import annotations

from typing import Literal

from workflow_lib.core.grids import Centred, RidgeGrid
from workflow_lib.core.values import SomeSizes
from workflow_lib.methods.contract.method_file import MethodFile


class RankGrid(RidgeGrid):
    """Grid of reduced-rank regression."""

    rank: SomeSizes
    """Numbers of principal components of the outputs that are predicted, strictly increasing."""


class Parameters(MethodFile, Centred):
    """Kernel ridge regression with outputs of reduced rank."""

    regressor: Literal["reduced_rank_ridge"]
    """`reduced_rank_ridge`: of the leading principal components only."""

    grid: RankGrid
    """Candidate hyper-parameters."""
