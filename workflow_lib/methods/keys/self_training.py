"""The keys of a method with the regressor `self_training`."""

from __future__ import annotations

from typing import Literal

from workflow_lib.core.grids import (
    ChoosesKernel,
    ComponentGrid,
    RidgeExample,
    RidgeGrid,
    WeaklySupervised,
)
from workflow_lib.core.requirement import Requirement
from workflow_lib.methods.contract.method_file import ModelMethod


class SelfTrainingGrid(RidgeGrid, ComponentGrid):
    """Grid of self-training."""


class Parameters(ModelMethod, ChoosesKernel, WeaklySupervised):
    """One-hot kernel ridge regression with pseudo-classes for weak rows."""

    regressor: Literal["self_training"]
    """`self_training`: `class_ridge` with pseudo-classes for weak rows."""

    pseudo_classes: Literal["hard", "soft"]
    """A weak row is taken for the best class of its component (`hard`) or spread over them
    (`soft`)."""

    grid: SelfTrainingGrid
    """Candidate hyper-parameters."""

    one_example: RidgeExample = RidgeExample()
    """Values used instead of the grid with one labelled example per class."""

    requirements = (
        Requirement(
            {},
            {"model": {"gaussian_mixture"}, "weak": {True}},
            "self_training needs pseudo_classes (hard or soft), a mixture whose components the "
            "weak labels name, and weak: true",
        ),
    )
