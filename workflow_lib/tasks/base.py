"""The contract of tasks: what an output of a dataset is, and all that follows from it.

A module of `workflow_lib.tasks`, or of the folder ``tasks`` of a paper, is the task of its name:
its ``TASK`` is an instance of a class below `Task`. Measures, splits, tables, sentences and the key
``task`` of datasets follow from it. Like a measure it loads NumPy only where a function needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workflow_lib.measures.base import Predictions

if TYPE_CHECKING:
    import numpy as np

PER_CLASS = "per_class"
"""The kind of splits whose training sizes are examples per class."""


@dataclass(frozen=True)
class Fit:
    """What the evaluation of a fit reads.

    Attributes
    ----------
    data, partition, item : mapping
        Trees of the "dataset" and "split" artifacts, and the item of the predictions.
    train : int array (n,)
        The rows of the dataset whose outputs the training rows have.
    folds : int array (n,) or None
        The folds of the training rows, None where no method was selected by them.
    within : function
        Returns predictions clipped to the values that the outputs can take.
    positive : int or None, default=None
        Number of the only class whose ranking is measured.
    """

    data: Mapping[str, Any]
    partition: Mapping[str, Any]
    item: Mapping[str, Any]
    train: np.ndarray
    folds: np.ndarray | None
    within: Callable[[np.ndarray], np.ndarray]
    positive: int | None = None


class Task:
    """What an output is. Values that are given here are those of rows of numbers."""

    order: int
    """Its position in lists of tasks and of measures."""

    description: str
    """What an output is, in the description of the key ``task``."""

    outputs: str
    """What its own measures are of (`workflow_lib.measures.base.Measure.outputs`). The metrics of
    an experiment are among them."""

    further_outputs: tuple[str, ...] = ()
    """Other kinds of outputs whose measures it has, too, before its own."""

    predicts: str
    """What a method of the task predicts, in the plural."""

    entry: str | None = None
    """Entry of a "dataset" artifact that marks its datasets; None: they have none of these."""

    splits: tuple[str, ...] = ("random", "grouped", "chronological", "given", "k_fold")
    """The kinds of splits that fit it."""

    plural: str = "outputs"
    """What outputs are called in sentences."""

    selection: str = "scored on the outputs themselves, after the pre-image."
    """How settings are selected, as the end of a sentence."""

    grouped: str = ""
    """The sentence on the test rows of grouped splits."""

    projects_memberships: bool = True
    """Whether predicted memberships of components are projected on the simplex."""

    decoder: str | None = None
    """How an output is found from a predicted vector where a method does not say; None: the vector
    is the output."""

    reference: str = "m-krr"
    """The method that the others are compared with."""

    part: str = "output coordinate"
    parts: str = "output coordinates"
    """What errors are also measured for separately."""

    baseline: str = "training mean"
    """The name of the level that uses no input."""

    methods: tuple[str, ...] = ()
    """The methods that a new table of the task is compared with: those of the library, good other
    methods, and the mean."""

    regressors: tuple[str, ...] = ()
    """Regressors that predict such outputs, too, besides those whose modules name the task."""

    output_of_row: str = "outputs"
    known_of_row: str = "at least one output"
    known_of_complete_row: str = "all outputs"
    """What a row of a new table has, and what is known of a labelled one that may be incomplete, or
    may not."""

    learns_from_outputs_alone: bool = True
    """Whether methods learn from outputs without inputs."""

    counts_outputs_apart: bool = False
    """Whether outputs are separate quantities, of which nearly equal ones count twice."""

    @property
    def may_split_per_class(self) -> bool:
        """Whether training sizes may be examples per class."""
        return PER_CLASS in self.splits

    def test(self, fit: Fit) -> Predictions:
        """Return the true and the predicted outputs of the test rows."""
        raise NotImplementedError

    def training(self, fit: Fit) -> dict[str, Predictions]:
        """Return those of the training rows, by the prefix of their quantities."""
        raise NotImplementedError

    def errors_of_parts(self, fit: Fit, rows: Predictions) -> list[tuple[int, str, float]]:
        """Return number, name and error of each of `parts` on the test rows."""
        raise NotImplementedError

    def further_quantities(self, fit: Fit) -> dict[str, float]:
        """Return quantities of the test rows that are no measures of the predictions."""
        return {}
