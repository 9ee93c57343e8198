"""The keys of a method with the regressor `output_kernel_regression`."""

from __future__ import annotations

from typing import Literal

from workflow_lib.core.grids import AnyPositive, ChoosesKernel, RidgeGrid
from workflow_lib.core.requirement import Requirement
from workflow_lib.methods.contract.method_file import MethodFile


class OutputKernelGrid(RidgeGrid):
    """Grid of output kernel regression."""

    output_width: AnyPositive = ()
    """Widths of the output kernel, in units of the root of the median squared distance of the
    training outputs. Not for the linear output kernel."""


class Parameters(MethodFile, ChoosesKernel):
    """Output kernel regression (IOKR, OFER-density)."""

    regressor: Literal["output_kernel_regression"]
    """`output_kernel_regression`: of the features of an output kernel."""

    output_kernel: Literal["rbf", "linear", "dtw", "gak"]
    """Kernel on the outputs: `rbf`, `linear`, or for series `dtw` (dynamic time warping) or `gak`
    (global alignment)."""

    preimage: Literal["candidates", "minimiser", "mean", "mean_shift"]
    """How an output is found: `candidates` (the nearest training output), `minimiser` (numerical
    search, for the rbf output kernel), or, with weights projected on the simplex, `mean` (the
    weighted mean, for the linear output kernel) or `mean_shift` (the mode above it, for the rbf
    one)."""

    grid: OutputKernelGrid
    """Candidate hyper-parameters."""

    requirements = (
        Requirement(
            {"output_kernel": {"dtw", "gak"}},
            {"preimage": {"candidates"}},
            "the output kernel {output_kernel} needs the preimage candidates",
        ),
        Requirement(
            {"output_kernel": {"linear"}},
            {"preimage": {"candidates", "mean"}},
            "the linear output kernel needs the preimage candidates or mean; with the minimiser it "
            "would be kernel ridge regression itself",
        ),
        Requirement(
            {"output_kernel": {"rbf"}},
            {"preimage": {"candidates", "minimiser", "mean_shift"}},
            "the rbf output kernel needs the preimage candidates, minimiser or mean_shift",
        ),
        Requirement(
            {"output_kernel": {"rbf", "dtw", "gak"}},
            {"has_output_width": {True}},
            "the output kernel {output_kernel} needs grid.output_width",
        ),
        Requirement(
            {"output_kernel": {"linear"}},
            {"has_output_width": {False}},
            "the linear output kernel has no width, so grid.output_width must be empty",
        ),
    )
    needs_of_data = (
        Requirement(
            {"output_kernel": {"dtw", "gak"}},
            {"task": {"series"}},
            "the output kernel {output_kernel} compares series, and the task is {task}",
        ),
    )
    packages = {"output_kernel": {"dtw": "tslearn", "gak": "tslearn"}}
