"""The keys of a method with the regressor `joint_ridge`."""

from __future__ import annotations

from typing import Literal

from workflow_lib.core.grids import (
    Alphas,
    ChoosesKernel,
    CombinesCounts,
    ComponentGrid,
    Projections,
    RidgeGrid,
    SomePositive,
    WeakGrid,
    WeaklySupervised,
)
from workflow_lib.core.requirement import Requirement
from workflow_lib.methods.contract.method_file import ModelMethod


class JointGrid(RidgeGrid, ComponentGrid, WeakGrid):
    """Grid of joint learning."""

    joint_alpha: Alphas
    """Penalties of the kernel expansion by which the weights of the mixture depend on the inputs,
    relative to the kernel as those of `alpha` are. `.inf`: the weights do not depend on them, and
    the mixture is the one of the outputs alone."""

    variance_floor: SomePositive
    """Smallest variances of the components, as fractions of the mean variance of the outputs. The
    larger they are, the more gradually memberships change from one component to the next; kernel
    ridge regression of the outputs is the limit."""

    projection: Projections = ()
    """Whether predicted memberships are used as they are (`raw`) or projected on the simplex
    (`simplex`, also when this is empty); both compete."""


class Parameters(ModelMethod, ChoosesKernel, WeaklySupervised, CombinesCounts):
    """OFER with mixtures whose memberships are learned together with their regression."""

    regressor: Literal["joint_ridge"]
    """`joint_ridge`: kernel ridge regression of the reduced embedding, with a penalty per block,
    under a mixture whose weights depend on the inputs."""

    grid: JointGrid
    """Candidate hyper-parameters."""

    requirements = (
        Requirement(
            {},
            {"model": {"gaussian_mixture"}, "covariance_type": {"tied_spherical"}},
            "joint_ridge needs a mixture whose components share one variance "
            "(covariance_type: tied_spherical)",
        ),
    )
