"""The keys of a method with the regressor `reduced_rank_ridge`."""

from __future__ import annotations

from typing import Literal

from workflow_lib.config.grids import Centred, RidgeGrid
from workflow_lib.config.method_file import MethodFile
from workflow_lib.config.values import SomeSizes


class RankGrid(RidgeGrid):
    """Of reduced-rank regression."""

    rank: SomeSizes
    """Numbers of principal components of the outputs that are predicted, strictly increasing."""


class Parameters(MethodFile, Centred):
    """Kernel ridge regression with outputs of reduced rank."""

    regressor: Literal["reduced_rank_ridge"]
    """`reduced_rank_ridge`: of the leading principal components only."""

    grid: RankGrid
    """Candidate hyper-parameters."""
