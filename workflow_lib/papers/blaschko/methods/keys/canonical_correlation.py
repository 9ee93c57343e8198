"""The keys of a method with the regressor `canonical_correlation`."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, Strict

from workflow_lib.core.grids import ChoosesKernel, RidgeGrid
from workflow_lib.core.values import MAX_COUNT, Factors, Share, SomeSizes, strictly_increasing
from workflow_lib.methods.contract.method_file import MethodFile

OutputPenalties = Annotated[
    tuple[Annotated[float, Strict(), Field(ge=0)], ...],
    Field(min_length=1),
    AfterValidator(strictly_increasing),
]
Neighbours = Annotated[
    tuple[Annotated[int, Strict(), Field(ge=0, le=MAX_COUNT)], ...],
    Field(min_length=1),
    AfterValidator(strictly_increasing),
]
Shares = Annotated[tuple[Share, ...], Field(min_length=1), AfterValidator(strictly_increasing)]


class CanonicalGrid(RidgeGrid):
    """Grid of kernel canonical correlation analysis."""

    laplacian_weight: Factors
    """Weights gamma of the graph Laplacian of the inputs relative to the penalty `alpha`, strictly
    increasing; where `kernel` names kernels, they are divided by the size of each that multiplies
    `alpha`, so that one grid suits them all. 0 is kernel canonical correlation analysis of the
    labelled rows alone; where no other is named, unlabelled inputs are not used."""

    neighbours: Neighbours = (5,)
    """Neighbours of a row in the graphs, strictly increasing. 0 joins all pairs of rows, with the
    Gaussian kernel of their distances whose width is the median distance, as in the thesis."""

    output_penalty: OutputPenalties
    """Penalties epsilon of the directions of the outputs, in units of their variance, strictly
    increasing. 0 is none; with `.inf` directions of greatest covariance are found instead of
    those of greatest correlation."""

    output_laplacian_weight: Factors = (0.0,)
    """Weights of the graph Laplacian of the outputs relative to `output_penalty`, strictly
    increasing. The graph also has the outputs without inputs, where the experiment has
    `unpaired_sizes`. Only 0 by default, as in the thesis."""

    n_directions: SomeSizes
    """Numbers of directions on which the outputs are regressed, strictly increasing. One of at
    least the number of outputs is all directions."""

    projection_penalty: Shares
    """Penalties of the regression on the projections relative to that of the directions, from 0
    (least squares) to 1, strictly increasing. With 1 and all directions the method is (Laplacian)
    kernel ridge regression."""


class Parameters(MethodFile, ChoosesKernel):
    """Kernel canonical correlation analysis of inputs and outputs."""

    regressor: Literal["canonical_correlation"]
    """`canonical_correlation`: ridge regression of the outputs on the directions of the inputs that
    kernel canonical correlation analysis finds, with graph Laplacians of paired and unpaired rows
    in its penalties."""

    criterion: Literal["error", "correlation", "permutation"] = "error"
    """By what settings are selected: the out-of-fold error of the outputs (`error`, the default, as
    for all methods); their out-of-fold correlation (`correlation`); or, for all settings of the
    directions, the distance of the canonical correlations from those after a permutation of the
    rows (`permutation`), and the out-of-fold error for `n_directions` and `projection_penalty`; an
    infinite `output_penalty` is then left out beside others."""

    grid: CanonicalGrid
    """Candidate hyper-parameters."""
