"""The keys of a method with the regressor `posterior_ridge`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from workflow_lib.core.grids import AnyPositive, ChoosesKernel, RidgeExample, RidgeGrid
from workflow_lib.core.requirement import NEEDS_UNPAIRED_OUTPUTS, Requirement
from workflow_lib.core.values import Factors, Sizes, without_repeats
from workflow_lib.methods.contract.method_file import MethodFile

Priors = Annotated[
    tuple[Literal["gaussian", "mixture", "mixture_full", "kernel"], ...],
    Field(min_length=1),
    AfterValidator(without_repeats),
]


class PosteriorGrid(RidgeGrid):
    """Grid of kernel ridge regression with the posterior pre-image."""

    prior: Priors = ("gaussian",)
    """Densities of all known outputs that compete: one Gaussian (`gaussian`), a mixture of
    Gaussians with one shrunk covariance (`mixture`) or with one of each component (`mixture_full`),
    or a Gaussian around each output (`kernel`)."""

    prior_components: Sizes = ()
    """Numbers of components of the mixtures, strictly increasing."""

    prior_width: AnyPositive = ()
    """Standard deviations of `kernel`, relative to that of the outputs."""

    noise: Factors = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0)
    """Variances of the noise, relative to the mean squared errors of held-out predictions, strictly
    increasing. 0 leaves predictions as they are."""


class Parameters(MethodFile, ChoosesKernel):
    """Kernel ridge regression with the posterior pre-image."""

    regressor: Literal["posterior_ridge"]
    """`posterior_ridge`: kernel ridge regression, which is OFER with one Gaussian, whose
    predictions are replaced by their posterior means under a density of all known outputs."""

    decoder: Literal["euclidean", "cosine"] | None = None
    """How a class is found from a predicted class vector, as for `kernel_ridge`."""

    grid: PosteriorGrid
    """Candidate hyper-parameters."""

    one_example: RidgeExample = RidgeExample()
    """Values used instead of the grid with one labelled example per class, where no prior is used
    either."""

    requirements = (
        Requirement(
            {"has_prior_components": {False}},
            {"has_prior_mixture": {False}, "has_prior_mixture_full": {False}},
            "the priors mixture and mixture_full need grid.prior_components",
        ),
        Requirement(
            {"has_prior_width": {False}},
            {"has_prior_kernel": {False}},
            "the prior kernel needs grid.prior_width",
        ),
    )
    needs_of_data = (
        NEEDS_UNPAIRED_OUTPUTS,
        Requirement(
            {"decoder": {"euclidean", "cosine"}},
            {"task": {"classes"}},
            "the decoder {decoder} finds a class, and the task is {task}",
        ),
    )

    def facts(self) -> dict[str, Any]:
        """Return the facts of all methods, and which priors compete."""
        return super().facts() | {
            f"has_prior_{name}": name in self.grid.prior
            for name in ("mixture", "mixture_full", "kernel")
        }
