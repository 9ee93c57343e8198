"""The inputs of a saved model: what must be kept of the training rows to predict new rows.

New rows take the place of the test rows: their Gram matrix against the training rows is made as
`workflow_lib.fitting.prepared_inputs` makes that of the test rows of a split.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from workflow_lib.fitting.prepared_inputs import PreparedRows, rbf_gamma
from workflow_lib.inputs.column_origins import column_origins
from workflow_lib.inputs.preparation import InputPreparation, fit_preparation
from workflow_lib.inputs.term_scores import fit_terms, inner_products, terms_from_tree
from workflow_lib.items.group_names import fold_group, size_group
from workflow_lib.items.scales import PRODUCTS_SCALE, TEXT_SCALES
from workflow_lib.items.sparse_inputs import inputs_of, sparse_tree
from workflow_lib.solvers.gram import gram_from_products
from workflow_lib.uncertainty.novelty import distances_of_test_rows, nearest_by_products

if TYPE_CHECKING:
    from scipy.sparse import csr_array

UNKNOWN_INPUTS = ("train", "weak", "lagged")
"""Arrays of `saved_inputs_tree` that may hold NaN, where inputs are missing."""


def saved_inputs_tree(data: Mapping, partition: Mapping, features: Mapping, n_weak: int) -> dict:
    """Return what is kept of the inputs of the largest training size, as a tree for an artifact.

    `data`, `partition` and `features` are the trees of the artifacts "dataset", "split" and
    "features", and `n_weak` the weak rows that some method of the model learned from: the first of
    the weak pool.

    Returns
    -------
    dict
        ``kind``: ``rows``, ``texts``, ``gram`` or ``products``; ``kernel``; ``n_rows`` and
        ``n_weak``; ``lagged_values``: ``none``, ``separate`` or ``added``, as in
        `workflow_lib.protocol.features_stage.run`; and by kind:

        - ``rows``: the raw rows ``train`` (n, q) and ``weak`` (w, q), with the codes of names that
          were learned, and the ``preparation``; of sequences and bags the group ``items``.
        - ``texts``: the ``counts`` of the terms of the training and weak rows, the
          tree of their weights or scores, and, with added lagged values, ``lagged`` (n + w, k)
          and their ``preparation``.
        - ``gram``, ``products``: ``position`` (n + w,), the index of each row in the order of the
          rows of the dataset, and ``squared_lengths``, the diagonal.
    """
    size = int(max(partition["sizes"]))
    known = np.concatenate([partition["train"][:size], partition["weak"][:n_weak]])
    kind = "gram" if features["kernel"] == "precomputed" else "rows"
    if features["scale"] in TEXT_SCALES:
        kind = "texts"
    elif features["scale"] == PRODUCTS_SCALE:
        kind = "products"
    lagged_values = "none"
    if "lagged_values" in features:
        # The option of `features_stage.run`, inferred from the artifact.
        is_added = False
        if kind == "texts":
            is_added = int(features["n_parts"]) == 2
        elif kind == "rows":
            is_added = features["inputs"]["train"].shape[1] > data["inputs"].shape[1]
        lagged_values = "added" if is_added else "separate"
    tree = {"kind": kind, "kernel": features["kernel"], "n_rows": size, "n_weak": n_weak}
    tree["lagged_values"] = lagged_values
    if kind == "texts":
        return tree | _texts_tree(data, known, size, lagged_values == "added", features["scale"])
    if kind == "rows":
        rows = features["inputs"]
        stored = features[size_group(size)][fold_group(None)]
        codes = stored.get("codes", {role: np.empty((len(rows[role]), 0)) for role in rows})
        if "items" in features:
            tree["items"] = features["items"]
        return tree | {
            "train": np.hstack([rows["train"][:size], codes["train"][:size]]),
            "weak": np.hstack([rows["weak"][:n_weak], codes["weak"][:n_weak]]),
            "preparation": InputPreparation.from_tree(stored).tree(),
        }
    position = np.searchsorted(np.sort(known), known)
    squared_lengths = np.asarray(inputs_of(data))[known, known]
    return tree | {"position": position, "squared_lengths": squared_lengths}


class SavedInputs:
    """The inputs of a saved model, from the tree of `saved_inputs_tree`.

    There are `n_rows` labelled training rows, and `n_known` labelled and weak rows.
    """

    def __init__(self, tree: Mapping) -> None:
        self._tree = tree
        self.kind, self.lagged_values = tree["kind"], tree["lagged_values"]
        self.n_rows = int(tree["n_rows"])
        self.n_known = self.n_rows + int(tree["n_weak"])
        if self.kind == "rows":
            n_stored = len(tree["train"]) + len(tree["weak"])
        elif self.kind == "texts":
            n_stored = len(tree["counts"]["indptr"]) - 1
        else:
            n_stored = len(tree["position"])
        if n_stored != self.n_known or min(self.n_rows, self.n_known - self.n_rows) < 0:
            raise ValueError(f"the inputs are not those of {self.n_known} rows.")
        self._known_texts: tuple | None = None

    def training_rows(self) -> tuple[np.ndarray | csr_array, np.ndarray | None]:
        """Return the inputs (n, q) of the labelled training rows, and their lagged values (n, k).

        They are as those of `new_rows`, of rows of numbers and of texts.
        """
        if self.kind == "texts":
            lagged = self._tree["lagged"][: self.n_rows] if self.lagged_values == "added" else None
            return inputs_of({"inputs": self._tree["counts"]})[: self.n_rows], lagged
        return self._tree["train"], None

    def new_rows(
        self,
        inputs: np.ndarray | csr_array,
        lagged_values: np.ndarray | None = None,
        items: Sequence | None = None,
    ) -> NewRows | NewProducts | NewGram:
        """Return new rows against the training rows.

        Raises ValueError if the number of columns is not that of the training rows, or lagged
        values are missing.

        Parameters
        ----------
        inputs : array or sparse matrix (m, q)
            Raw inputs, as those of the dataset; NaN where missing. For a Gram matrix the kernel
            values with the rows of the model, in the order of the dataset's rows; for inner
            products these products, followed by a column with the squared length of the new row.
        lagged_values : array (m, k) or None, default=None
            Values known before the outputs, for models that use them.
        items : list of m items or None, default=None
            Those that are not in `inputs`, such as bags of rows of numbers, for their methods.
        """
        if self.lagged_values != "none" and lagged_values is None:
            raise ValueError("this model needs the lagged values of new rows.")
        if self.kind == "texts":
            return self._new_texts(inputs, lagged_values)
        if self.kind == "rows":
            if self.lagged_values == "added":
                inputs = np.hstack([inputs, lagged_values])
            _check_columns(inputs, self._tree["train"].shape[1])
            inputs = np.asarray(inputs, dtype=np.float64)
            return NewRows(self._tree, inputs, lagged_values, items)
        _check_columns(inputs, self.n_known + (self.kind == "products"))
        values = np.asarray(inputs, dtype=np.float64)
        against, lengths = values[:, self._tree["position"]], self._tree["squared_lengths"]
        if self.kind == "gram":
            return NewGram(against, lengths, self.n_rows, lagged_values)
        return NewProducts(against, values[:, -1], lengths, self.n_rows, 1, lagged_values)

    def _new_texts(self, counts: csr_array, lagged_values: np.ndarray | None) -> NewProducts:
        """Return texts, with the products that the features stage computes for test rows."""
        tree = self._tree
        weights = terms_from_tree(tree)
        _check_columns(counts, weights.n_terms)
        if self._known_texts is None:
            known_counts = inputs_of({"inputs": tree["counts"]})
            known_counts.check_format(full_check=True)
            known = weights.apply(known_counts)
            self._known_texts = known, np.asarray((known**2).sum(axis=1)).ravel()
        known, known_lengths = self._known_texts
        texts = weights.apply(counts.tocsr())
        products = inner_products(texts, known)
        lengths = np.asarray((texts**2).sum(axis=1)).ravel()
        n_parts = 1
        if self.lagged_values == "added":
            n_parts = 2
            preparation = InputPreparation.from_tree(tree["preparation"])
            both = [preparation.apply(rows) for rows in (lagged_values, tree["lagged"])]
            # Their inner products are means over the values.
            values, known_values = (each / np.sqrt(max(each.shape[1], 1)) for each in both)
            products += values @ known_values.T
            lengths = lengths + (values**2).sum(axis=1)
            known_lengths = known_lengths + (known_values**2).sum(axis=1)
        return NewProducts(products, lengths, known_lengths, self.n_rows, n_parts, lagged_values)


Directions = Callable[[], Mapping[str, np.ndarray]]
"""A function that returns the entries of `workflow_lib.fitting.fit_data.FitData.directions`."""


class _PreparedOnce(PreparedRows):
    """Rows that are prepared once, although every kernel of a stack asks for them."""

    _kept: tuple | None = None

    def refit_rows(self, weak_size: int = 0):
        if self._kept is None or self._kept[0] != weak_size:
            self._kept = weak_size, super().refit_rows(weak_size)
        return self._kept[1]


class NewRows:
    """New rows of numbers; each method is that of `workflow_lib.fitting.fit_data.RowsOfTest`."""

    def __init__(
        self,
        tree: Mapping,
        inputs: np.ndarray,
        lagged_values: np.ndarray | None,
        items: Sequence | None,
    ) -> None:
        size, self.lagged_values, self._n_new = int(tree["n_rows"]), lagged_values, len(inputs)
        self._items = items
        features = {
            "scale": "",
            "kernel": tree["kernel"],
            "inputs": {"train": tree["train"], "weak": tree["weak"], "test": inputs},
            size_group(size): {"learns": True, fold_group(None): tree["preparation"]},
            "items": tree.get("items", {}),
        }
        self._kernel = tree["kernel"]
        self._prepared = _PreparedOnce(features, np.zeros(size, dtype=int), size)

    def test_gram(self, kernel: str, width: float | None, weak_size: int = 0) -> np.ndarray:
        """Return the Gram matrix (m, n + w) against the training rows, then the weak ones."""
        return self._prepared.test_gram(kernel, width, weak_size)

    def test_rows(self) -> np.ndarray:
        """Return the prepared rows (m, k)."""
        return self._prepared.test_rows()

    def items(self) -> Sequence:
        """Return the items of the rows."""
        return self._items

    def __len__(self) -> int:
        return self._n_new

    def vectors(self, directions: Directions) -> np.ndarray:
        """Return feature vectors (m, k): those of `test_rows`."""
        return self.test_rows()

    def distances(self) -> np.ndarray:
        """Return the distances (m,) to the nearest training rows (`uncertainty.novelty`)."""
        return distances_of_test_rows(self._prepared, self._kernel)


@dataclass(frozen=True, eq=False)
class NewProducts:
    """New rows known by their inner products with the training rows, then the weak ones."""

    products: np.ndarray
    lengths: np.ndarray
    known_lengths: np.ndarray
    n_rows: int
    n_parts: int
    lagged_values: np.ndarray | None

    def test_gram(self, kernel: str, width: float | None, weak_size: int = 0) -> np.ndarray:
        """As `NewRows.test_gram`."""
        n_columns = self.n_rows + weak_size
        return gram_from_products(
            # In the memory order of the features stage, which affects rounding.
            np.ascontiguousarray(self.products[:, :n_columns]),
            self.lengths,
            self.known_lengths[:n_columns],
            kernel,
            rbf_gamma(width, self.n_parts),
        )

    def __len__(self) -> int:
        return len(self.products)

    def vectors(self, directions: Directions) -> np.ndarray:
        """Return feature vectors (m, k), from inner products with the training rows."""
        basis = directions()
        return self.test_gram("linear", None) @ basis["eigenvectors"] / basis["roots"]

    def distances(self) -> np.ndarray:
        """As `NewRows.distances`."""
        n = self.n_rows
        return nearest_by_products(self.products[:, :n], self.lengths, self.known_lengths[:n])


@dataclass(frozen=True, eq=False)
class NewGram:
    """New rows known by their kernel values with the training rows, then the weak ones."""

    values: np.ndarray
    diagonal: np.ndarray
    n_rows: int
    lagged_values: np.ndarray | None

    def test_gram(self, kernel: str, width: float | None, weak_size: int = 0) -> np.ndarray:
        """As `NewRows.test_gram`; the kernel has been applied already."""
        return self.values[:, : self.n_rows + weak_size]

    def test_rows(self) -> np.ndarray:
        """As `NewRows.test_rows`: the kernel values with the training rows."""
        return self.values[:, : self.n_rows]

    def __len__(self) -> int:
        return len(self.values)

    def vectors(self, directions: Directions) -> np.ndarray:
        """As `NewRows.vectors`."""
        return self.test_rows()

    def distances(self) -> np.ndarray:
        """As `NewRows.distances`."""
        diagonal = self.diagonal[: self.n_rows]
        own = np.full(len(self.values), np.median(diagonal))
        return nearest_by_products(self.test_rows(), own, diagonal)


def _texts_tree(
    data: Mapping, known: np.ndarray, size: int, has_lagged_values: bool, scale: str
) -> dict:
    counts = inputs_of(data)[known]
    weights = fit_terms(counts[:size], scale, data.get("term_states"))
    tree: dict = {"counts": sparse_tree(counts), **weights.tree()}
    if has_lagged_values:
        values = data["lagged_values"]["values"][known]
        preparation = fit_preparation(values[:size], "standard", column_origins(data))
        tree["lagged"] = values
        tree["preparation"] = preparation.tree()
    return tree


def _check_columns(inputs, expected: int) -> None:
    if inputs.shape[1] != expected:
        raise ValueError(f"new rows have {inputs.shape[1]} input columns; expected {expected}.")
