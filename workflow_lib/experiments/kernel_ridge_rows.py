"""What one job of kernel ridge regression reads."""

from __future__ import annotations

import numpy as np

from workflow_lib.artifacts import read_artifact
from workflow_lib.embeddings.forward import ForwardEmbedding
from workflow_lib.experiments.items import components_group, fold_group, size_group
from workflow_lib.experiments.weak_memberships import memberships
from workflow_lib.generative.storage import model_from_tree


class KernelRidgeRows:
    """What one job of kernel ridge regression has read.

    Parameters are those of `workflow_lib.experiments.kernel_ridge_stage.run`.
    """

    def __init__(
        self,
        dataset,
        split,
        features,
        embeddings,
        models,
        weak_labels,
        kernel,
        center,
        weak_outputs,
    ) -> None:
        outputs = read_artifact(dataset, "dataset")["outputs"]
        self.partition = read_artifact(split, "split")
        self.train = outputs[self.partition["train"]]
        self.weak = outputs[self.partition["weak"]]
        self.features = read_artifact(features, "features")
        self.embeddings = read_artifact(embeddings, "embeddings") if embeddings else None
        self.models = read_artifact(models, "models") if models else None
        self.weak_labels = read_artifact(weak_labels, "weak_labels") if weak_labels else None
        self.kernel, self.center = kernel, center
        self.weak_outputs = weak_outputs
        self.weak_decompositions: dict = {}
        self.sizes = [int(size) for size in self.partition["sizes"]]
        self.weak_sizes = [int(size) for size in self.partition["weak_sizes"]]

    def has_one_example(self, size: int) -> bool:
        """Return whether a training size is one labelled example of each class."""
        return 1 in self.partition.get("examples", ())[:1] and size == self.sizes[0]

    def stored_model(self, size: int, count: int, fold: int | None) -> dict:
        """Return the stored model of one training size, component count and fold."""
        return self.models[size_group(size)][components_group(count)][fold_group(fold)]

    def embedding(self, size: int, count: int, fold: int | None) -> ForwardEmbedding:
        """Return the embedding under that model."""
        return ForwardEmbedding(
            model_from_tree(self.stored_model(size, count, fold)),
            self.embeddings["form"],
            self.embeddings["covariance_block"],
        )

    def embedded(self, size: int, count: int, fold: int | None) -> np.ndarray:
        """Return the embeddings of the rows that the model was fitted to."""
        return self.embeddings[size_group(size)][components_group(count)][fold_group(fold)]

    def memberships(
        self, training_size: int, count: int, noise: float, weak_size: int
    ) -> np.ndarray:
        """Return the memberships (w, C) of the first weak rows."""
        return memberships(self.weak_labels, training_size, count, noise)[:weak_size]
