"""The keys of a method with the regressor `joint_kernel_support`."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from workflow_lib.core.grids import AveragesRows, Grid, OneExample, Shares, SomePositive
from workflow_lib.core.requirement import Requirement
from workflow_lib.core.values import Fraction, Positive, without_repeats
from workflow_lib.methods.contract.method_file import MethodFile


class PairGrid(Grid):
    """Grid of joint kernel support estimation."""

    nu: Shares
    """Largest shares of training pairs that count as outliers, above 0 and at most 1. At 1 all
    pairs have the same weight: the kernel density estimate of the pairs."""

    width: SomePositive
    """Widths of the kernels on the inputs, as of kernel ridge regression."""

    output_width: SomePositive
    """Widths of the rbf kernel on the outputs (class vectors), in units of the root of the median
    squared distance of those that differ."""


class PairExample(OneExample):
    """Values for joint kernel support estimation with one labelled example per class."""

    nu: Fraction | None = None
    """Used instead of `grid.nu`."""

    width: Positive | None = None
    """Used instead of `grid.width`."""

    output_width: Positive | None = None
    """Used instead of `grid.output_width`."""


class Parameters(MethodFile, AveragesRows):
    """Joint kernel support estimation."""

    regressor: Literal["joint_kernel_support"]
    """`joint_kernel_support`: of pairs of inputs and outputs, by a one-class support vector
    machine."""

    preimage: Literal["candidates", "mean_shift"]
    """How an output is found: `candidates` (the training output of the highest score) or
    `mean_shift` (the mode above the weighted mean of the training outputs). Classes are all
    compared, whatever it is."""

    kernel: Annotated[
        tuple[Literal["rbf", "laplacian"], ...],
        Field(min_length=1),
        AfterValidator(without_repeats),
    ] = ("rbf",)
    """Candidate kernels on the inputs, selected by cross-validation; each takes each of
    `grid.width`. They are not negative, as weights of outputs must be. For texts and inner products
    there is no `laplacian`; the kernel `tanimoto` of an experiment replaces both."""

    grid: PairGrid
    """Candidate hyper-parameters."""

    one_example: PairExample = PairExample()
    """Values used instead of the grid with one labelled example per class, or where no grid point
    is better than equal scores."""

    needs_of_data = (
        Requirement(
            {},
            {"kernel": {"rbf", "linear", "tanimoto"}},
            "joint kernel support estimation needs a kernel on the inputs that is not negative, "
            "which a Gram matrix of the inputs may be",
        ),
    )

    def predicts_scores(self, task: str) -> bool:
        return task == "classes"
