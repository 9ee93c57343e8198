"""What the stages of classes read: labelled rows by training size, inputs and class vectors."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from workflow_lib.artifacts import read_artifact
from workflow_lib.experiments.items import size_group
from workflow_lib.experiments.prepared_inputs import PreparedInputs, prepared_inputs


class ClassRows:
    """The rows of one split of a dataset of classes.

    Attributes
    ----------
    vectors : array (K, d)
        The class vectors.
    sizes, weak_sizes : list of int
        Numbers of labelled and of weak rows.
    """

    def __init__(self, dataset: Path, split: Path, features: Path) -> None:
        classes = read_artifact(dataset, "dataset")["classes"]
        self.vectors = classes["vectors"]
        self._partition = read_artifact(split, "split")
        self._labels = classes["labels"][self._partition["train"]]
        self._features = read_artifact(features, "features")
        self.sizes = [int(size) for size in self._partition["sizes"]]
        self.weak_sizes = [int(size) for size in self._partition["weak_sizes"]]

    def has_one_example(self, size: int) -> bool:
        """Return whether no class has more than one labelled row, so that nothing is selected."""
        return has_one_example(self._labels[:size])

    def labels(self, size: int) -> np.ndarray:
        """Return the classes (n,) of the first `size` training rows."""
        return self._labels[:size]

    def inputs(self, size: int) -> PreparedInputs:
        """Return the inputs of one training size."""
        return prepared_inputs(self._features, self._partition["folds"][size_group(size)], size)


def has_one_example(labels: np.ndarray) -> bool:
    """Return whether no class has more than one of the rows with these classes (n,)."""
    return int(np.bincount(labels).max()) == 1
