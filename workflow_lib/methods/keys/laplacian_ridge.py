"""The keys of a method with the regressor `laplacian_ridge`."""

from __future__ import annotations

from typing import Literal

from workflow_lib.config.grids import Centred, RidgeGrid, SomePositive
from workflow_lib.config.method_file import MethodFile
from workflow_lib.config.values import SomeSizes


class LaplacianGrid(RidgeGrid):
    """Of Laplacian-regularised regression."""

    laplacian_weight: SomePositive
    """Weights of the graph Laplacian in the kernel."""

    neighbours: SomeSizes
    """Neighbours of a row in the graph, strictly increasing."""


class Parameters(MethodFile, Centred):
    """Laplacian-regularised kernel ridge regression."""

    regressor: Literal["laplacian_ridge"]
    """`laplacian_ridge`: with unlabelled inputs."""

    grid: LaplacianGrid
    """Candidate hyper-parameters."""
