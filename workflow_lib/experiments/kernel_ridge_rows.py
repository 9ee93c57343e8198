"""What one job of kernel ridge regression reads."""

from __future__ import annotations

import numpy as np

from workflow_lib.artifacts import read_artifact
from workflow_lib.embeddings.forward import ForwardEmbedding
from workflow_lib.errors import UserError
from workflow_lib.experiments.items import components_group, fold_group, size_group
from workflow_lib.experiments.weak_memberships import is_told, memberships
from workflow_lib.generative.storage import model_from_tree


class KernelRidgeRows:
    """What one job of kernel ridge regression has read.

    Where the largest training set has more rows than a Gram matrix allows, the inputs of training
    and weak rows stay in their file (`workflow_lib.stored_rows.StoredRows`), for every size.

    Parameters are those of `workflow_lib.methods.kernel_ridge.run`; `max_gram_rows` is
    that of its `landmarks`, or None if any number of rows has a Gram matrix.

    Raises
    ------
    UserError
        If `weak_outputs` asks for the true outputs of weak rows that have none.
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
        max_gram_rows=None,
    ) -> None:
        self.partition = read_artifact(split, "split")
        self.sizes = [int(size) for size in self.partition["sizes"]]
        self.weak_sizes = [int(size) for size in self.partition["weak_sizes"]]
        is_large = max_gram_rows is not None and max(self.sizes, default=0) > max_gram_rows
        outputs = read_artifact(dataset, "dataset", ("inputs",) if is_large else ())["outputs"]
        self.train = outputs[self.partition["train"]]
        self.weak = outputs[self.partition["weak"]]
        if weak_outputs == "true":
            self._check_true_outputs(dataset)
        self.features = read_artifact(
            features, "features", ("inputs/train", "inputs/weak") if is_large else ()
        )
        self.embeddings = read_artifact(embeddings, "embeddings") if embeddings else None
        self.models = read_artifact(models, "models") if models else None
        self.weak_labels = read_artifact(weak_labels, "weak_labels") if weak_labels else None
        self.kernel, self.center = kernel, center
        self.weak_outputs = weak_outputs
        self.weak_decompositions: dict = {}

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
        self, training_size: int, count: int, noise: float, weak_size: int, fold: int | None = None
    ) -> np.ndarray:
        """Return the memberships (w, C) of the first weak rows, as a fold knows them."""
        return memberships(self.weak_labels, training_size, count, noise, fold)[:weak_size]

    def is_told(
        self, training_size: int, count: int, weak_size: int, fold: int | None = None
    ) -> np.ndarray | None:
        """Return which of the first weak rows (w,) are told anything; None for all."""
        told = is_told(self.weak_labels, training_size, count, fold)
        return None if told is None else told[:weak_size]

    def _check_true_outputs(self, dataset) -> None:
        joining = self.weak[: max(self.weak_sizes, default=0)]
        n_unknown = int(np.isnan(joining).all(axis=1).sum())
        if n_unknown:
            raise UserError(
                place=f"{dataset}, a method with weak_outputs: true",
                found=f"{n_unknown} weak rows without any known output",
                expected="weak rows whose outputs are known and hidden from the other methods",
                remedy="leave this method out of the experiment, or set its weak_outputs to "
                "component_mean or neighbours",
            )
