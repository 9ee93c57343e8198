"""The keys of a method with the regressor `elastic_net_features`."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, Strict

from workflow_lib.core.grids import Grid, Shares
from workflow_lib.core.requirement import NEEDS_VECTORS, Requirement
from workflow_lib.core.values import Count, Factors, Fraction, Sizes, strictly_increasing
from workflow_lib.methods.contract.method_file import MethodFile
from workflow_lib.papers.blaschko.methods.keys.k_support import NEEDS_COLUMNS

Depths = Annotated[
    tuple[Annotated[int, Strict(), Field(ge=0, le=20)], ...], AfterValidator(strictly_increasing)
]


def strictly_decreasing(values: tuple) -> tuple:
    """Return `values`; raise when they are not strictly decreasing."""
    strictly_increasing(values[::-1])
    return values


class NetGrid(Grid):
    """Grid of elastic nets."""

    alpha: Annotated[tuple[Fraction, ...], Field(min_length=1), AfterValidator(strictly_decreasing)]
    """Penalties relative to the smallest with which there are no coefficients, at most 1 and
    strictly decreasing."""

    l1_ratio: Shares
    """Shares of the absolute penalty: 1 is the lasso."""

    depth: Depths = ()
    """Largest depths of subtree patterns, strictly increasing. For patterns."""

    place_weight: Factors = (0.0,)
    """Weights of the place in the vector of a node, strictly increasing; 0, the only one by
    default, is the value alone, as in the thesis. For patterns."""

    n_selected: Sizes = ()
    """Numbers of inputs that the first elastic net selects, strictly increasing. For patterns."""


class Parameters(MethodFile):
    """Elastic nets of inputs and of subtree patterns."""

    regressor: Literal["elastic_net_features"]
    """`elastic_net_features`: an elastic net of inputs, or of the subtree patterns of a graph of
    those inputs at places, such as voxels, that another elastic net selects."""

    uses: Literal["inputs", "patterns", "both"] = "inputs"
    """What the elastic net uses: the inputs (the default), the numbers of subtree patterns, or both
    side by side."""

    n_levels: Count = 6
    """Levels of quantisation of the values, with 1, 2, 4, ... labels."""

    n_neighbours: Count = 5
    """Nearest places to which a node of the graph is joined, as in the thesis."""

    grid: NetGrid
    """Candidate hyper-parameters."""

    requirements = (
        Requirement(
            {"uses": {"patterns", "both"}},
            {"has_depth": {True}, "has_n_selected": {True}},
            "uses: {uses} needs grid.depth and grid.n_selected",
        ),
    )
    needs_of_data = (
        NEEDS_VECTORS,
        NEEDS_COLUMNS,
        Requirement(
            {"uses": {"patterns", "both"}},
            {"reader": {"haxby"}},
            "uses: {uses} needs inputs with places, as the reader haxby gives them, and "
            "the reader is {reader}",
        ),
    )
