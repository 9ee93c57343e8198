"""The keys of a method with the regressor `class_ridge`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator

from workflow_lib.core.grids import (
    AnyPositive,
    AveragesRows,
    ChoosesKernel,
    ComponentGrid,
    RidgeGrid,
    WeakExample,
    WeakGrid,
    WeaklySupervised,
)
from workflow_lib.core.requirement import Requirement
from workflow_lib.core.values import NotNegative, Positive, without_repeats
from workflow_lib.methods.contract.method_file import ModelMethod
from workflow_lib.models.class_decoders import (
    BLOCK_DECODERS,
    CLASS_DECODERS,
    MIXTURE_DECODERS,
    PLAIN_DECODERS,
)


class ClassGrid(RidgeGrid, ComponentGrid, WeakGrid):
    """Grid of kernel ridge regression on classes."""

    output_width: AnyPositive = ()
    """Widths of the kernel on the class vectors, in units of the root of their median squared
    distance. For the decoder `output_kernel`."""

    block_weight: Annotated[tuple[NotNegative, ...], AfterValidator(without_repeats)] = ()
    """Weights of the membership block where a class is searched in the embedding, relative to the
    other block; 0 leaves it out. For decoders with a mixture."""


class ClassExample(WeakExample):
    """Values for kernel ridge regression on classes with one labelled example per class."""

    output_width: Positive | None = None
    """Used instead of `grid.output_width`."""

    block_weight: NotNegative | None = None
    """Used instead of `grid.block_weight`."""


class Parameters(ModelMethod, ChoosesKernel, AveragesRows, WeaklySupervised):
    """Kernel ridge regression on the indicators of the classes."""

    regressor: Literal["class_ridge"]
    """`class_ridge`: kernel ridge regression on the indicators of the classes, decoded as `decoder`
    says."""

    decoder: Literal[CLASS_DECODERS]
    """How a class is found from the scores: `one_hot` (the highest score), `least_loss` (the
    least expected cost, by the `class_costs` of the dataset or path lengths in its `class_tree`,
    under the scores as probabilities), `output_kernel` (exact search over the classes with an rbf
    kernel on the class vectors), `candidates` (the class with the nearest Fisher embedding),
    `class_block` (the nearest in the embedding of class indicators and memberships, where weak rows
    join the memberships) or `class_block_component_first` (only classes of the likeliest component
    compete)."""

    grid: ClassGrid
    """Candidate hyper-parameters."""

    one_example: ClassExample = ClassExample()
    """Values used instead of the grid with one labelled example per class."""

    requirements = (
        Requirement(
            {"decoder": set(CLASS_DECODERS) - {"output_kernel"}},
            {"has_output_width": {False}},
            "grid.output_width is for output kernel regression and for the decoder output_kernel",
        ),
        Requirement(
            {"decoder": {"output_kernel"}},
            {"has_output_width": {True}},
            "the decoder output_kernel needs grid.output_width",
        ),
        Requirement(
            {"decoder": set(MIXTURE_DECODERS)},
            {"model": {"gaussian_mixture"}, "has_block_weight": {True}},
            "the decoder {decoder} needs a mixture and grid.block_weight",
        ),
        Requirement(
            {"decoder": set(PLAIN_DECODERS)},
            {"model": {None}},
            "the decoder {decoder} needs no model, so model must be null",
        ),
        Requirement(
            {"decoder": set(PLAIN_DECODERS)},
            {"has_block_weight": {False}},
            "grid.block_weight is for decoders that search a class in the embedding",
        ),
        Requirement(
            {"weak": {True}},
            {"decoder": set(BLOCK_DECODERS)},
            "weak rows join class_ridge with the decoders class_block and "
            "class_block_component_first",
        ),
    )
    needs_of_data = (
        Requirement(
            {}, {"task": {"classes"}}, "the decoder {decoder} finds a class, and the task is {task}"
        ),
        Requirement(
            {"decoder": {"least_loss"}},
            {"has_class_losses": {True}},
            "the decoder least_loss needs a dataset with class_tree or class_costs",
        ),
    )
