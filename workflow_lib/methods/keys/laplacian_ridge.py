"""The keys of a method with the regressor `laplacian_ridge`."""

from __future__ import annotations

from typing import Literal

from workflow_lib.core.grids import Centred, RidgeGrid, SomePositive
from workflow_lib.core.values import SomeSizes
from workflow_lib.methods.contract.method_file import MethodFile


class LaplacianGrid(RidgeGrid):
    """Grid of Laplacian-regularised regression."""

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
