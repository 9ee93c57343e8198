"""The keys of a method with the regressor `map_network`."""

from typing import Annotated, Literal

from pydantic import Field, Strict

from workflow_lib.core.grids import Grid, OneExample, SomePositive
from workflow_lib.core.values import MAX_COUNT, Positive
from workflow_lib.methods.contract.method_file import MethodFile

WholeFromOne = Annotated[int, Strict(), Field(ge=1, le=MAX_COUNT)]


class MapGrid(Grid):
    """Grid of classifiers of maps."""

    penalty: SomePositive
    """Penalties on the squared weights of the linear layer."""

    learning_rate: SomePositive = (1.0e-4,)
    """Learning rates of RMSProp; of no effect with `layer: none`."""


class MapExample(OneExample):
    """Values for classifiers of maps with one labelled example per class."""

    penalty: Positive | None = None
    """Used instead of `grid.penalty`."""

    learning_rate: Positive | None = None
    """Used instead of `grid.learning_rate`."""


class Parameters(MethodFile):
    """Classifiers of maps of local features, without Fisher vectors."""

    regressor: Literal["map_network"]
    """`map_network`: a linear classifier of the rows of a bag in their order, with one trained
    layer before it or none. The rows of all bags must be at the same positions."""

    layer: Literal["none", "convolution", "full"] = "none"
    """The layer before the linear classifier: `none`, `convolution` (filters of single rows, and a
    rectifier) or `full` (every unit sees all rows, and a rectifier)."""

    n_units: WholeFromOne = 64
    """Filters or units of the layer."""

    n_dimensions: WholeFromOne | None = 32
    """Principal components of the rows, found in the training bags; null: the numbers of a row
    themselves."""

    n_epochs: WholeFromOne = 100
    """Passes over the bags; 100 as in Palasek and Patras (2017)."""

    batch_size: WholeFromOne = 20
    """Bags of a batch."""

    grid: MapGrid
    """Candidate hyper-parameters."""

    one_example: MapExample = MapExample()
    """Values used instead of the grid with one labelled example per class."""

    items: Literal["bags"] = "bags"
    """`bags` of rows, and no other kind of inputs."""
