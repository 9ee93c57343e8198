"""The keys of a method with the regressor `fitted_rank_ridge` or `joint_kernel_ridge`."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, Strict

from workflow_lib.core.grids import ChoosesKernel, RidgeGrid
from workflow_lib.core.requirement import Requirement
from workflow_lib.core.values import Sizes, strictly_increasing
from workflow_lib.methods.contract.method_file import MethodFile

Couplings = Annotated[
    tuple[Annotated[float, Strict(), Field(ge=0, le=1)], ...], AfterValidator(strictly_increasing)
]


class CouplingGrid(RidgeGrid):
    """Grid of kernel ridge regression that couples the outputs."""

    rank: Sizes = ()
    """Ranks of the fitted values, strictly increasing. For `fitted_rank_ridge`. A rank of at least
    the number of outputs leaves nothing out."""

    coupling: Couplings = ()
    """Shares t of the dependence of the outputs in the joint kernel, from 0 to 1, strictly
    increasing. For `joint_kernel_ridge`. 0 is kernel ridge regression of each output."""


class Parameters(MethodFile, ChoosesKernel):
    """Kernel ridge regression that couples the outputs."""

    regressor: Literal["fitted_rank_ridge", "joint_kernel_ridge"]
    """`fitted_rank_ridge`: with fitted values of reduced rank. `joint_kernel_ridge`: with the
    kernel k(x, x') ((1 - t) I + t D) on inputs and outputs, D the dependence of the outputs."""

    dependence: Literal["hsic", "correlation"] = "hsic"
    """What D is for `joint_kernel_ridge`: the Hilbert-Schmidt independence criterion of each pair
    of outputs (`hsic`) or their correlation."""

    grid: CouplingGrid
    """Candidate hyper-parameters."""

    requirements = tuple(
        Requirement(
            {"regressor": {regressor}},
            {f"has_{key}": {True}, f"has_{other}": {False}},
            f"the regressor {regressor} needs grid.{key}, and takes no grid.{other}",
        )
        for regressor, key, other in (
            ("fitted_rank_ridge", "rank", "coupling"),
            ("joint_kernel_ridge", "coupling", "rank"),
        )
    )
