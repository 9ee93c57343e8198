"""The inputs of one training size of one split, as each fold may see them.

Methods ask for Gram matrices or for feature vectors and need not know whether the inputs are rows
of numbers, a Gram matrix or texts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping

import numpy as np

from workflow_lib.core.stored_rows import StoredRows
from workflow_lib.inputs.preparation import InputPreparation
from workflow_lib.inputs.principal_coordinates import principal_coordinates, principal_directions
from workflow_lib.items.group_names import fold_group, size_group
from workflow_lib.items.scales import PRODUCTS_SCALE, TEXT_SCALES
from workflow_lib.solvers.gram import (
    absolute_distances,
    gram_from_products,
    gram_matrix,
    laplacian_of,
)
from workflow_lib.solvers.heldout import SeparateGrams, SharedGram
from workflow_lib.solvers.weak import WeakGrams

# 256 MB of eigenvectors of weak rows, and as much of distances.
MAX_NUMBERS_KEPT = 2**25

Grams = tuple[np.ndarray, np.ndarray]


def prepared_inputs(features: Mapping, folds: np.ndarray, training_size: int) -> PreparedInputs:
    """Return the inputs of the first `training_size` rows of the training pool.

    Parameters
    ----------
    features : mapping
        Tree of a "features" artifact.
    folds : int array (n,)
        Fold number of every training row.
    training_size : int
    """
    kinds = dict.fromkeys(TEXT_SCALES, PreparedTexts) | {PRODUCTS_SCALE: PreparedProducts}
    kind = kinds.get(features["scale"], PreparedRows)
    return kind(features, folds, training_size)


def kernel_gamma(kernel: str, width: float | None, n_columns: int) -> float | None:
    """Return gamma of a kernel with a width; None for kernels without one.

    `rbf_gamma` of ``rbf``; width / q of ``laplacian``, whose expected distance of q unit variances
    is 1.13 q.
    """
    if kernel == "laplacian":
        return None if width is None else width / n_columns
    return rbf_gamma(width, n_columns)


def rbf_gamma(width: float | None, n_columns: int) -> float | None:
    """Return gamma = width / (2 q): width 1 is the expected squared distance of q unit variances.

    A unit that is not learned from the rows, so that folds of unscaled inputs share one kernel.
    Two unrelated texts of unit length have the squared distance 2, so a text counts as one column.
    """
    return None if width is None else width / (2.0 * n_columns)


class PreparedInputs(ABC):
    """The interface of all kinds of inputs; widths of kernels are in units of `kernel_gamma`.

    Attributes
    ----------
    folds : int array (n,)
        Fold number of every training row.
    learns : bool
        Whether folds prepare the same row differently, so that their Gram matrices differ.
    weights : array (n,) or None
        Positive weights of the training rows; None for 1.
    """

    weights: np.ndarray | None = None

    def __init__(self, features: Mapping, folds: np.ndarray, training_size: int) -> None:
        self._group = features[size_group(training_size)]
        self.folds = folds
        self.learns = bool(self._group["learns"])
        self.weights = self._group.get("row_weights")

    def heldout_solver(
        self, kernel: str, width: float | None, center: bool, precision: str = "float64"
    ) -> SharedGram | SeparateGrams:
        """Return the solver of held-out predictions for one kernel.

        `precision` is that of `SharedGram`; folds that learn, and rows with weights, are solved in
        float64.
        """
        if self.learns or self.weights is not None:
            grams = list(self.shared_fold_grams(kernel, width))
            return SeparateGrams(grams, self.folds, center, self.weights)
        gram = self.training_gram(kernel, width)
        return SharedGram(gram, self.folds, center, overwrite=True, precision=precision)

    def weak_heldout_solver(
        self,
        kernel: str,
        width: float | None,
        center: bool,
        weak_size: int,
        decompositions: dict | None = None,
    ) -> WeakGrams:
        """Return the solver of held-out predictions with weak rows for one kernel.

        `decompositions` keeps, for each kernel and weak size, what does not depend on the labelled
        rows, up to a bound of memory, so that all training sizes of a split can share it.
        """
        known = {} if decompositions is None else decompositions
        key = kernel, width, weak_size
        solver = WeakGrams(
            list(self.fold_grams(kernel, width, weak_size)),
            weak_size,
            self.folds,
            center,
            shared=not self.learns,
            decomposition=None if self.learns else known.get(key),
        )
        kept = sum(rows**2 for _, _, rows in known)
        if not self.learns and key not in known and kept + weak_size**2 <= MAX_NUMBERS_KEPT:
            known[key] = solver.decomposition
        return solver

    @property
    @abstractmethod
    def n_columns(self) -> int:
        """How many inputs there are, as widths count them: a text counts as one."""

    def fold_grams(self, kernel: str, width: float | None, weak_size: int = 0) -> Iterator[Grams]:
        """Yield, for each fold, two Gram matrices: K (l + w, l + w) and K_heldout (h, l + w).

        The first is of the l training rows of the fold, followed by the w weak rows; the second of
        the h held-out rows against them.
        """
        for fold in range(self.folds.max() + 1):
            heldout = self.folds == fold
            yield self._grams(fold, ~heldout, heldout, weak_size, kernel, width)

    def shared_fold_grams(self, kernel: str, width: float | None) -> Iterator[Grams]:
        """Yield the matrices of `fold_grams` without weak rows, parts of one matrix if possible.

        Where folds do not learn, one matrix holds those of all of them, and computing it for each
        fold can cost more than a fit.
        """
        if self.learns:
            yield from self.fold_grams(kernel, width)
            return
        K = self.training_gram(kernel, width)
        for fold in range(self.folds.max() + 1):
            heldout = self.folds == fold
            yield K[np.ix_(~heldout, ~heldout)], K[np.ix_(heldout, ~heldout)]

    def refit_grams(self, kernel: str, width: float | None, weak_size: int = 0) -> Grams:
        """Return `training_gram` and `test_gram`."""
        arguments = kernel, width, weak_size
        return self.training_gram(*arguments), self.test_gram(*arguments)

    @abstractmethod
    def training_gram(self, kernel: str, width: float | None, weak_size: int = 0) -> np.ndarray:
        """Return the Gram matrix (n + w, n + w) of all training rows, followed by w weak rows.

        A new array, which the caller may overwrite.
        """

    @abstractmethod
    def test_gram(self, kernel: str, width: float | None, weak_size: int = 0) -> np.ndarray:
        """Return the Gram matrix (n_test, n + w) of the test rows against those."""

    @abstractmethod
    def fold_rows(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield, for each fold, feature vectors of its training rows and its held-out rows."""

    @abstractmethod
    def refit_rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Return feature vectors of all training rows and of the test rows."""

    def learn_all(self) -> None:
        """Learn now what the folds learn from their inputs, if it was not learned before."""
        return

    def directions(self) -> dict[str, np.ndarray]:
        """Return what makes feature vectors of the inner products of other rows; nothing here."""
        return {}

    @abstractmethod
    def _grams(self, fold, kept, heldout, weak_size, kernel, width) -> Grams:
        """Return the two matrices of `fold_grams` for one fold."""


class PreparedRows(PreparedInputs):
    """Rows of numbers, filled and scaled by what each fold learned; or a Gram matrix.

    Training and weak rows may be `workflow_lib.core.stored_rows.StoredRows` instead of arrays.

    Attributes
    ----------
    is_gram : bool
        Whether the inputs are a Gram matrix, so that there are no rows of features.
    are_letters : bool
        Whether rows are sequences of letters, of `workflow_lib.items.kinds.letters`.
    """

    def __init__(self, features: Mapping, folds: np.ndarray, training_size: int) -> None:
        super().__init__(features, folds, training_size)
        self._train = features["inputs"]["train"][:training_size]
        self._weak = features["inputs"]["weak"]
        self._test = features["inputs"]["test"]
        self._n_pool = len(features["inputs"]["train"])
        self.is_gram = features["kernel"] == "precomputed"
        self.are_letters = features.get("items", {}).get("kind") == "letters"
        self._distances: dict[tuple, np.ndarray] = {}

    def training_gram(self, kernel, width, weak_size=0):
        rows = self.refit_rows(weak_size)[0]
        return self._gram(("training", None, weak_size), rows, rows, kernel, width)

    def test_gram(self, kernel, width, weak_size=0):
        rows, test = self.refit_rows(weak_size)
        return self._gram(("test", None, weak_size), test, rows, kernel, width)

    def fold_rows(self, weak_size: int = 0):
        """As `PreparedInputs.fold_rows`, the training rows followed by weak rows."""
        for fold in range(self.folds.max() + 1):
            heldout = self.folds == fold
            yield self._prepared(fold, ~heldout, weak_size, self._rows("train", heldout, fold))

    def refit_rows(self, weak_size: int = 0):
        """As `PreparedInputs.refit_rows`, the training rows followed by weak rows."""
        everything = np.ones(len(self._train), dtype=bool)
        return self._prepared(None, everything, weak_size, self._rows("test", slice(None), None))

    @property
    def n_columns(self) -> int:
        """As `PreparedInputs.n_columns`: those that vary over the training rows."""
        return 1 if self.is_gram else self._preparation(None).n_columns

    def rows_as_prepared_by(self, fold: int | None) -> PreparedSlices:
        """Return all training rows as a fold (None: the refit) prepares them, on demand."""
        codes = self._group[fold_group(fold)].get("codes")
        rows = self._train if codes is None else self._rows("train", slice(None), fold)
        return PreparedSlices(rows, self._preparation(fold))

    def test_rows(self) -> np.ndarray:
        """Return the test rows as the refit prepares them."""
        return self._preparation(None).apply(self._rows("test", slice(None), None))

    def _rows(self, role, chosen, fold):
        """Return chosen rows, followed by the codes of their names that the fold has learned."""
        rows = {"train": self._train, "weak": self._weak, "test": self._test}[role][chosen]
        codes = None if self.is_gram else self._group[fold_group(fold)].get("codes")
        return rows if codes is None else np.hstack([rows, codes[role][chosen]])

    def _preparation(self, fold):
        return InputPreparation.from_tree(self._group[fold_group(fold)])

    def _grams(self, fold, kept, heldout, weak_size, kernel, width):
        others = self._rows("train", heldout, fold)
        rows, others = self._prepared(fold, kept, weak_size, others)
        return (
            self._gram(("training", fold, weak_size), rows, rows, kernel, width),
            self._gram(("heldout", fold, weak_size), others, rows, kernel, width),
        )

    def _gram(self, key, X, Z, kernel, width):
        """Return the Gram matrix of prepared rows, with the width in units of `kernel_gamma`.
        Widths of a Laplacian kernel share the distances of the rows that `key` stands for, as far
        as memory is meant to hold them."""
        gamma = kernel_gamma(kernel, width, X.shape[1])
        if kernel != "laplacian":
            return gram_matrix(X, None if Z is X else Z, kernel, gamma)
        distances = self._distances.get(key)
        if distances is None:
            distances = absolute_distances(X, Z)
            kept = sum(known.size for known in self._distances.values())
            if kept + distances.size <= MAX_NUMBERS_KEPT:
                self._distances[key] = distances
        return laplacian_of(distances, gamma)

    def _prepared(self, fold, kept, weak_size, others):
        """Return the kept training and the weak rows, and other rows, as a fold prepares them."""
        weak = self._rows("weak", slice(weak_size), fold)
        rows = np.vstack([self._rows("train", kept, fold), weak])
        if self.is_gram:
            weak_columns = self._n_pool + np.arange(weak_size)
            columns = np.concatenate([np.flatnonzero(kept), weak_columns])
            return rows[:, columns], others[:, columns]
        preparation = self._preparation(fold)
        return preparation.apply(rows), preparation.apply(others)


class PreparedSlices:
    """Rows that are prepared when a slice, or an array of row numbers, asks for them.

    Parameters
    ----------
    rows : array (n, q), or StoredRows
        Each asking reads them once.
    preparation : InputPreparation
    """

    def __init__(self, rows: np.ndarray | StoredRows, preparation: InputPreparation) -> None:
        self._rows, self._preparation = rows, preparation
        self.shape = len(rows), preparation.n_columns

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, rows) -> np.ndarray:
        return self._preparation.apply(np.asarray(self._rows[rows]))


class PreparedTexts(PreparedInputs):
    """Texts, known by the inner products of their weighted terms under each fold's weights."""

    def __init__(self, features: Mapping, folds: np.ndarray, training_size: int) -> None:
        super().__init__(features, folds, training_size)
        self._n_parts = int(features["n_parts"])

    @property
    def n_columns(self) -> int:
        return self._n_parts

    def training_gram(self, kernel, width, weak_size=0):
        columns = self._columns(np.ones(len(self.folds), dtype=bool), weak_size)
        return self._gram(None, columns, columns, kernel, width)

    def test_gram(self, kernel, width, weak_size=0):
        columns = self._columns(np.ones(len(self.folds), dtype=bool), weak_size)
        return self._gram(None, self._test_rows(), columns, kernel, width)

    def fold_rows(self):
        """As `PreparedInputs.fold_rows`: `principal_coordinates`."""
        for K, K_heldout in self.fold_grams("linear", None):
            yield tuple(principal_coordinates(K, K_heldout))

    def refit_rows(self):
        """As `PreparedInputs.refit_rows`: `principal_coordinates`."""
        return tuple(principal_coordinates(*self.refit_grams("linear", None)))

    def directions(self):
        """As `PreparedInputs.directions`: those of `principal_directions`."""
        names = ("eigenvectors", "roots")
        found = principal_directions(self.training_gram("linear", None))
        return dict(zip(names, found, strict=True))

    def test_squared_lengths(self) -> np.ndarray:
        """Return the products (n_test,) of every test row with itself, as the refit weighs them."""
        return self._stored(None)["squared_lengths"][self._test_rows()]

    def _grams(self, fold, kept, heldout, weak_size, kernel, width):
        columns = self._columns(kept, weak_size)
        gram = self._gram(fold, columns, columns, kernel, width)
        return gram, self._gram(fold, np.flatnonzero(heldout), columns, kernel, width)

    def _columns(self, kept, weak_size):
        return np.concatenate([np.flatnonzero(kept), self._n_pool() + np.arange(weak_size)])

    def _n_pool(self):
        """Return the number of the first weak row."""
        return len(self.folds)

    def _test_rows(self):
        n_rows, n_known = self._stored(None)["products"].shape
        return np.arange(n_known, n_rows)

    def _stored(self, fold):
        """Return the products that a fold knows."""
        return self._group[fold_group(fold)]

    def _gram(self, fold, rows, columns, kernel, width):
        stored = self._stored(fold)
        return gram_from_products(
            stored["products"][np.ix_(rows, columns)],
            stored["squared_lengths"][rows],
            stored["squared_lengths"][columns],
            kernel,
            rbf_gamma(width, self._n_parts),
        )


class PreparedProducts(PreparedTexts):
    """Rows known by their inner products alone, the same for all sizes and folds."""

    def __init__(self, features: Mapping, folds: np.ndarray, training_size: int) -> None:
        super().__init__(features, folds, training_size)
        self._features = features

    def _n_pool(self):
        return int(self._features["n_pool"])

    def _stored(self, fold):
        return self._features
