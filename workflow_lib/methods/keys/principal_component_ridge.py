"""The keys of a method with the regressor `principal_component_ridge`."""

from __future__ import annotations

from typing import Literal

from workflow_lib.core.grids import ChoosesKernel, RidgeGrid
from workflow_lib.methods.contract.method_file import MethodFile


class Parameters(MethodFile, ChoosesKernel):
    """Kernel ridge regression with a penalty per principal component of the outputs."""

    regressor: Literal["principal_component_ridge"]
    """`principal_component_ridge`: each principal component has a penalty of its own."""

    grid: RidgeGrid
    """Candidate hyper-parameters."""
