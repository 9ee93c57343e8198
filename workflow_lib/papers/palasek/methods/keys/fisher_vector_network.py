"""The keys of a method with the regressor `fisher_vector_network`."""

from typing import Annotated, Literal

from pydantic import Field, Strict

from workflow_lib.core.grids import Grid, OneExample, SomePositive
from workflow_lib.core.values import MAX_COUNT, Flag, Positive
from workflow_lib.methods.contract.method_file import MethodFile

WholeFromOne = Annotated[int, Strict(), Field(ge=1, le=MAX_COUNT)]
WholeFromZero = Annotated[int, Strict(), Field(ge=0, le=MAX_COUNT)]


class ClassifierGrid(Grid):
    """Grid of trained classifiers of bags."""

    penalty: SomePositive
    """Penalties on the squared weights of the linear layer."""

    learning_rate: SomePositive = (1.0e-4,)
    """Learning rates of its training, in units of the spread of the rows."""


class ClassifierExample(OneExample):
    """Values for trained classifiers of bags with one labelled example per class."""

    penalty: Positive | None = None
    """Used instead of `grid.penalty`."""

    learning_rate: Positive | None = None
    """Used instead of `grid.learning_rate`."""


class NetworkGrid(ClassifierGrid):
    """Grid of Fisher vector networks."""

    pseudo_weight: Annotated[tuple[Annotated[float, Field(ge=0)], ...], Field(min_length=1)] = (
        0.0,
    )
    """Weights of unlabelled bags with pseudo-classes, relative to labelled ones; 0 (the default):
    they have none."""


class NetworkExample(ClassifierExample):
    """Values for Fisher vector networks with one labelled example per class."""

    pseudo_weight: Annotated[float, Field(ge=0)] | None = None
    """Used instead of `grid.pseudo_weight`."""


class Parameters(MethodFile):
    """Fisher vectors of bags, and networks that train them."""

    regressor: Literal["fisher_vector_network"]
    """`fisher_vector_network`: a Gaussian mixture, Fisher vectors of bags and a linear classifier,
    trained one after the other or together."""

    n_components: WholeFromOne = 16
    """Components of the mixture, where the experiment has `components: selected`."""

    n_dimensions: WholeFromOne | None = 32
    """Principal components of the rows, found in the bags that the mixture is fitted to; null: the
    numbers of a row themselves."""

    trained_layer: Literal["projection", "convolution"] | None = None
    """A layer of the rows that starts from the principal components and is trained with the
    network: their `projection`, or a `convolution` with as many filters, and their opposites,
    before a rectifier; null (the default): the principal components stay."""

    mixture_bags: Literal["all", "labelled"] = "all"
    """Whose rows give the first mixture: `all` (the default, unlabelled bags too) or `labelled`."""

    mixture_start: Literal["em", "k_means"] = "em"
    """The first mixture: fitted by EM, or by k-means++ and k-means alone, as in Palasek and Patras
    (2017)."""

    classifier_start: Literal["svm", "zero"] = "svm"
    """The first linear layer: a linear support vector machine, or zeros."""

    n_epochs: WholeFromZero = 0
    """Passes over the bags in which mixture and linear layer are trained together; 0 (the default):
    they are not."""

    optimiser: Literal["rmsprop", "momentum"] = "rmsprop"
    """How parameters follow the gradient of the cost: by RMSProp, or by gradient descent with
    momentum, as the paper trains classifiers of fixed vectors."""

    trained: Literal["network", "classifier"] = "network"
    """What is trained: mixture, linear layer and `trained_layer` (`network`), or the linear layer
    alone (`classifier`)."""

    batches: Literal["halves", "mixed"] = "halves"
    """Bags of a batch: as many unlabelled as labelled ones (`halves`), or any (`mixed`)."""

    batch_size: WholeFromOne = 20
    """Labelled bags of a batch, or all with `batches: mixed`."""

    unlabelled_weight: Annotated[float, Field(ge=0)] = 0.0
    """Weight of the log-likelihood of the rows in the cost of a batch, lambda of eq. (11)."""

    m_steps: WholeFromZero = 0
    """Ascents of the log-likelihood of a batch before its step."""

    m_step_rate: Positive = 0.01
    """Learning rate of these ascents."""

    in_batches: Literal["used", "dropped", "replaced"] = "used"
    """Unlabelled bags of a batch are `used`, or, as controls, `dropped` once the batch is drawn, so
    that the batches of labelled bags are the same, or `replaced` by labelled ones, so that there
    are as many updates by batches of the same size."""

    refit: Flag = False
    """Whether a linear support vector machine on the trained vectors replaces the linear layer: a
    control for what the vectors gain."""

    unlabelled: Flag = False
    """Whether the bags of the weak rows are used, without their classes."""

    by_epoch: Flag = False
    """Whether the scores of the test rows after every epoch are stored too, for a figure. The last
    are those of the method in any case."""

    grid: NetworkGrid
    """Candidate hyper-parameters."""

    one_example: NetworkExample = NetworkExample()
    """Values used instead of the grid with one labelled example per class."""

    items: Literal["bags"] = "bags"
    """`bags` of rows, and no other kind of inputs."""
