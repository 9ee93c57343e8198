"""The data that a method may learn from: the rows of a split, and those of one fit."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from workflow_lib.core.artifacts import read_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.fitting.fit_spec import FitSpec
from workflow_lib.fitting.missing_outputs import impute_mean
from workflow_lib.fitting.wrong_labels import training_output_rows
from workflow_lib.items.class_trees import ClassTree, tree_of_edges
from workflow_lib.items.group_names import components_group, fold_group, size_group
from workflow_lib.items.kinds.base import item_kinds, items_of

if TYPE_CHECKING:
    from workflow_lib.fitting.prepared_inputs import PreparedInputs


STREAMED = (
    "descriptors/values",
    *(path for kind in item_kinds().values() for path in kind.streamed),
)
"""Large parts of a dataset, of which a fit reads its own rows."""


class SplitData:
    """The artifacts of one split that a method reads, each when it is first asked for.

    Artifacts that are in memory are given as trees, so that a method learns from arrays as it does
    from files. Where the largest training set has more rows than a Gram matrix allows, the inputs
    of training and weak rows stay in their file (`workflow_lib.core.stored_rows.StoredRows`), for
    every size.

    Parameters
    ----------
    paths : mapping from str to path, sequence of paths or None
        By the names in `workflow_lib.methods.contract.base.ARTIFACTS`; ``dataset`` and ``split`` at
        least. Those that the method does without are missing, or None.
    max_gram_rows : int or None, default=None
        Most training rows of a Gram matrix; None for any number.
    trees : mapping or None, default=None
        Trees of the artifacts in memory, by the same names, whose files are not read.

    Attributes
    ----------
    paths : dict
    partition : dict
        Tree of the "split" artifact.
    sizes, weak_sizes, unpaired_sizes : list of int
        Numbers of labelled rows, of weak rows, and of outputs without inputs.
    weak_decompositions : dict
        Of `PreparedInputs.weak_heldout_solver`, for all sizes.
    """

    def __init__(
        self,
        paths: Mapping[str, Path | Sequence[Path] | None],
        max_gram_rows: int | None = None,
        trees: Mapping[str, Mapping] | None = None,
    ) -> None:
        self.paths = {name: path for name, path in paths.items() if path}
        self._trees = dict(trees or {})
        self.partition = self._read("split")
        self.sizes = list(map(int, self.partition["sizes"]))
        self.weak_sizes = list(map(int, self.partition["weak_sizes"]))
        self.unpaired_sizes = list(map(int, self.partition.get("unpaired_sizes", ())))
        self.weak_decompositions: dict = {}
        self._made: dict[str, tuple] = {}
        self._is_large = max_gram_rows is not None and max(self.sizes, default=0) > max_gram_rows
        self._inputs: dict[int, PreparedInputs] = {}

    @cached_property
    def dataset(self) -> dict:
        """Tree of the "dataset" artifact, of which methods use the outputs."""
        streamed = ("inputs",) if self._is_large else ()
        return self._read("dataset", (*streamed, *STREAMED))

    @cached_property
    def features(self) -> dict:
        """Tree of the "features" artifact."""
        stored = ("inputs/train", "inputs/weak") if self._is_large else ()
        return self._read("features", stored)

    @cached_property
    def train(self) -> np.ndarray:
        """Outputs (n, d) of the training pool, NaN where missing."""
        return self.dataset["outputs"][training_output_rows(self.partition)]

    @cached_property
    def weak(self) -> np.ndarray:
        """Outputs (w, d) of the weak pool, which are hidden from all but some methods."""
        return self.dataset["outputs"][self.partition["weak"]]

    @cached_property
    def labels(self) -> np.ndarray:
        """Classes (n,) of the training pool."""
        return self.dataset["classes"]["labels"][training_output_rows(self.partition)]

    def items(self, rows: np.ndarray) -> Any:
        """Return the items in some rows of the dataset, as `unpack` of their kind."""
        return items_of(self.dataset, rows)

    @property
    def vectors(self) -> np.ndarray:
        """Class vectors (K, d)."""
        return self.dataset["classes"]["vectors"]

    @property
    def losses(self) -> np.ndarray:
        """Losses (K, K) between classes: the costs or, without these, path lengths in the tree."""
        losses = self.dataset["classes"]["losses"]
        return losses["class_cost"] if "class_cost" in losses else losses["path_length"]

    @property
    def class_tree(self) -> ClassTree:
        """The tree of classes of the dataset, with all lengths 1."""
        dataset = self.dataset
        edges = json.loads(dataset["classes"]["tree"].tobytes())
        return tree_of_edges(edges, json.loads(dataset["names"]["classes"]))

    @cached_property
    def models(self) -> dict | None:
        """Tree of the "models" artifact; None without a generative model."""
        return self._read("models")

    @cached_property
    def embeddings(self) -> dict | None:
        """Tree of the "embeddings" artifact; None where outputs themselves are predicted."""
        return self._read("embeddings")

    @cached_property
    def weak_labels(self) -> dict | None:
        """Tree of the "weak_labels" artifact; None where nothing is known of weak rows."""
        return self._read("weak_labels")

    def _read(self, kind: str, stored: Sequence[str] = ()) -> dict | None:
        if kind in self._trees:
            return self._trees[kind]
        return read_artifact(self.paths[kind], kind, stored) if kind in self.paths else None

    def once(self, name: str, key: Hashable, make: Callable[[], Any]) -> tuple[Any, float]:
        """Return what `make` returns, called once for fits that share it, and the seconds spared.

        The seconds are those of the call, and zero for the fit that made it. What was made for the
        last `key` of a name is kept.
        """
        if name in self._made and self._made[name][0] == key:
            return self._made[name][1:]
        started = time.perf_counter()
        made = make()
        self._made[name] = key, made, time.perf_counter() - started
        return made, 0.0

    def inputs(self, size: int) -> PreparedInputs:
        """Return the inputs of one training size; those of the last size asked for are kept."""
        if size not in self._inputs:
            # Methods that use no inputs need not load SciPy.
            from workflow_lib.fitting.prepared_inputs import prepared_inputs

            folds = self.partition["folds"][size_group(size)]
            self._inputs = {size: prepared_inputs(self.features, folds, size)}
        return self._inputs[size]

    def is_one_example_of_each(self, size: int) -> bool:
        """Return whether a training size is one labelled example of each class."""
        return 1 in self.partition.get("examples", ())[:1] and size == self.sizes[0]

    def stored_model(self, size: int, count: int, fold: int | None) -> dict:
        """Return the stored model of one training size, component count and fold."""
        return self.models[size_group(size)][components_group(count)][fold_group(fold)]

    def embedded(self, size: int, count: int, fold: int | None) -> np.ndarray:
        """Return the embeddings of the rows that the model was fitted to."""
        return self.embeddings[size_group(size)][components_group(count)][fold_group(fold)]

    def memberships(
        self,
        size: int,
        count: int,
        weak_size: int,
        noise: float = 0.0,
        fold: int | None = None,
    ) -> np.ndarray:
        """Return the memberships (w, C) of the first weak rows, as a fold or the refit knows them.

        Labels of a simulated annotator are the same in every fold; those of groups are computed for
        each fold from its own rows (`workflow_lib.protocol.annotation`). `noise` is the share of
        the rows whose label is another component, with membership 1.

        Raises UserError for noise in labels of groups, which no annotator gives.
        """
        labels = self.weak_labels[size_group(size)][components_group(count)]
        if "memberships" in labels:
            mistaken = (labels["draw"] < noise)[:weak_size, None]
            correct, mistakes = labels["memberships"][:weak_size], labels["mistake"][:weak_size]
            return np.where(mistaken, np.eye(correct.shape[1])[mistakes], correct)
        if noise > 0:
            raise UserError(
                location="key studies.weak_noise of the experiment",
                found=f"a share {noise:g} of wrong labels, for weak labels that come from groups",
                expected="no study of the noise of labels where the dataset has groups",
                remedy="remove weak_noise from the studies of the experiment",
            )
        return labels[fold_group(fold)]["memberships"][:weak_size]

    def has_weak_label(
        self, size: int, count: int, weak_size: int, fold: int | None = None
    ) -> np.ndarray | None:
        """Return which of the first weak rows (w,) have any label; None for all.

        Rows of groups without a labelled row have none; their memberships are the weights of the
        mixture.
        """
        labels = self.weak_labels[size_group(size)][components_group(count)]
        of_fold = None if "memberships" in labels else labels[fold_group(fold)]
        return None if of_fold is None else of_fold["is_labelled"][:weak_size]

    def check_weak_outputs(self) -> None:
        """Raise UserError where hidden outputs of weak rows are asked for, and some have none."""
        joining = self.weak[: max(self.weak_sizes, default=0)]
        n_unknown = int(np.isnan(joining).all(axis=1).sum())
        if n_unknown:
            raise UserError(
                location=f"{self.paths['dataset']}, a method with weak_outputs: true",
                found=f"{n_unknown} weak rows without any known output",
                expected="weak rows whose outputs are known and hidden from the other methods",
                remedy="leave this method out of the experiment, or set its weak_outputs to "
                "component_mean or neighbours",
            )


class FitData:
    """The data of one fit of a method: the first rows of the training pool, and their folds.

    Parameters
    ----------
    split : SplitData
    spec : FitSpec
    members : mapping from names to fitted methods, or None, default=None
        Those that a method combines, where they are fitted already.

    Attributes
    ----------
    split, spec, members
    size : int
        Training rows n.
    test : RowsOfTest
        The inputs of the test rows, for which a fitted method predicts.
    """

    def __init__(
        self, split: SplitData, spec: FitSpec, members: Mapping[str, Any] | None = None
    ) -> None:
        self.split, self.spec, self.members = split, spec, members
        self.size = spec.training_size
        self.test = RowsOfTest(self)

    @property
    def folds(self) -> np.ndarray:
        """Fold number (n,) of every training row."""
        return self.split.partition["folds"][size_group(self.size)]

    @property
    def fold_numbers(self) -> range:
        """The folds."""
        return range(self.folds.max() + 1)

    @property
    def inputs(self) -> PreparedInputs:
        """Inputs of the training rows, as each fold may see them."""
        return self.split.inputs(self.size)

    @property
    def rows(self) -> np.ndarray:
        """Row numbers (n,) of the training rows in the dataset."""
        return self.split.partition["train"][: self.size]

    @property
    def output_rows(self) -> np.ndarray:
        """Row numbers (n,) of the training outputs: `rows`, unless outputs were swapped."""
        return training_output_rows(self.split.partition)[: self.size]

    @property
    def outputs(self) -> np.ndarray:
        """Training outputs (n, d), NaN where missing."""
        return self.split.train[: self.size]

    @property
    def items(self) -> Any:
        """Items of the n training rows, as `workflow_lib.items.kinds` has them."""
        return self.split.items(self.rows)

    @property
    def weak_items(self) -> Any:
        """Items of the weak rows of this fit, whose outputs are hidden."""
        return self.split.items(self.split.partition["weak"][: self.spec.weak_size])

    @property
    def unpaired_outputs(self) -> np.ndarray:
        """Outputs (u, d) of rows whose inputs count as unknown, NaN where missing.

        Those of the rows without inputs of the dataset, where it has any. The pool may have fewer
        than the requested number, since copies of test rows are left out of it.
        """
        rows = self.split.partition.get("unpaired", ())[: self.spec.unpaired_size]
        dataset = self.split.dataset
        outputs = dataset.get("unpaired", dataset)["outputs"]
        return outputs[np.asarray(rows, dtype=int)]

    @property
    def labels(self) -> np.ndarray:
        """Classes (n,) of the training rows."""
        return self.split.labels[: self.size]

    @property
    def n_classes(self) -> int:
        """Number of classes K, those without a training row included."""
        return len(self.split.vectors)

    @property
    def has_classes(self) -> bool:
        """Whether the outputs are classes, not numbers."""
        return "classes" in self.split.dataset

    @property
    def has_one_example(self) -> bool:
        """Whether no class has more than one training row, so that nothing can be selected."""
        return self.has_classes and int(np.bincount(self.labels).max()) == 1

    def targets(self, fold: int | None = None) -> np.ndarray:
        """Return the outputs (n, d), missing ones filled with the means of a fold's rows.

        None: of all training rows. The means are weighted by ``row_weights`` of the split, if any.
        """
        weights = self.split.partition.get("row_weights")
        weights = None if weights is None else weights[: self.size]
        return impute_mean(self.outputs, None if fold is None else self.folds != fold, weights)

    @cached_property
    def vectors(self) -> tuple[np.ndarray, np.ndarray]:
        """Feature vectors of all training rows and of the test rows."""
        return self.inputs.refit_rows()

    def directions(self) -> dict[str, np.ndarray]:
        """Return what makes feature vectors of inner products, where these are the inputs.

        ``eigenvectors`` and ``roots`` of
        `workflow_lib.inputs.principal_coordinates.principal_directions`, which a method that
        learned from such vectors keeps: another linear algebra library may turn them. Empty for
        rows of numbers.
        """
        return self.inputs.directions()


class RowsOfTest:
    """The test rows of a split, as a fitted method sees rows for which it predicts.

    `workflow_lib.table.saved_inputs` gives new rows with the same interface.
    """

    def __init__(self, data: FitData) -> None:
        self._data = data

    def __len__(self) -> int:
        return len(self._data.split.partition["test"])

    def test_gram(self, kernel: str, width: float | None, weak_size: int = 0) -> np.ndarray:
        """Return the Gram matrix (m, n + w) against the training rows, then the weak ones."""
        return self._data.inputs.test_gram(kernel, width, weak_size)

    def test_rows(self) -> np.ndarray:
        """Return the prepared rows (m, k) of inputs that are rows of numbers."""
        return self._data.inputs.test_rows()

    def items(self) -> Any:
        """Return the items of the rows, as `workflow_lib.items.kinds` has them."""
        return self._data.split.items(self._data.split.partition["test"])

    def vectors(self, directions: Callable[[], Mapping[str, np.ndarray]]) -> np.ndarray:
        """Return the feature vectors (m, k).

        `directions`, a function that returns `FitData.directions` or more, is for rows that come
        without the training rows; here the rows are known.
        """
        return self._data.vectors[1]

    @property
    def lagged_values(self) -> np.ndarray:
        """Past values (m, p)."""
        return self._data.split.features["lagged_values"]["test"]


class RowsOfTraining(RowsOfTest):
    """The training rows of a fit, with the interface of rows for which a fitted method predicts."""

    def __len__(self) -> int:
        return self._data.size

    def test_gram(self, kernel: str, width: float | None, weak_size: int = 0) -> np.ndarray:
        """Return the Gram matrix (n, n + w) of the training rows with themselves and weak ones."""
        return self._data.inputs.training_gram(kernel, width, weak_size)[: self._data.size]

    def items(self) -> Any:
        """Return the items of the rows."""
        return self._data.items

    def test_rows(self) -> np.ndarray:
        """Return the prepared rows (n, k) of inputs that are rows of numbers."""
        return self._data.inputs.rows_as_prepared_by(None)[:]

    def vectors(self, directions: Callable[[], Mapping[str, np.ndarray]]) -> np.ndarray:
        """Return the feature vectors (n, k)."""
        return self._data.vectors[0]

    @property
    def lagged_values(self) -> np.ndarray:
        """Past values (n, p)."""
        return self._data.split.features["lagged_values"]["train"][: self._data.size]
