"""The keys of a method with the regressor `map_network`."""

from typing import Literal

from workflow_lib.methods.contract.method_file import MethodFile
from workflow_lib.papers.palasek.methods.keys.fisher_vector_network import (
    ClassifierExample,
    ClassifierGrid,
    WholeFromOne,
)


class Parameters(MethodFile):
    """Classifiers of maps of local features, without Fisher vectors."""

    regressor: Literal["map_network"]
    """`map_network`: a linear classifier of the rows of a bag in their order, with one trained
    layer before it or none. The rows of all bags must be at the same positions."""

    layer: Literal["none", "convolution", "full"] = "none"
    """The layer before the linear classifier: `none`, `convolution` (filters of single rows, and a
    rectifier) or `full` (every unit sees all rows, and a rectifier). `none` is a support vector
    machine, on which the learning rate has no effect; the others are trained by RMSProp."""

    n_units: WholeFromOne = 64
    """Filters or units of the layer."""

    n_dimensions: WholeFromOne | None = 32
    """Principal components of the rows, found in the training bags; null: the numbers of a row
    themselves."""

    n_epochs: WholeFromOne = 100
    """Passes over the bags; 100 as in Palasek and Patras (2017)."""

    batch_size: WholeFromOne = 20
    """Bags of a batch."""

    grid: ClassifierGrid
    """Candidate hyper-parameters."""

    one_example: ClassifierExample = ClassifierExample()
    """Values used instead of the grid with one labelled example per class."""

    items: Literal["bags"] = "bags"
    """`bags` of rows, and no other kind of inputs."""
