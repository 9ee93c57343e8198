"""The features stage: the inputs of one split, and what is learned from them in each fold."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from workflow_lib.artifacts import read_artifact, write_artifact
from workflow_lib.errors import UserError
from workflow_lib.experiments.items import fold_group, size_group
from workflow_lib.features.preparation import (
    InputPreparation,
    fit_preparation,
    preparation_learns,
)
from workflow_lib.kernels.gram import gram_matrix


def run(dataset: Path, split: Path, output: Path, scale: str, kernel: str) -> None:
    """Fit the preparation of every training size and fold, and write the "features" artifact.

    It holds the raw inputs of the training, weak and test rows, and for each training size the
    preparation fitted to all its rows and to the training rows of each fold. Where the inputs are
    a Gram matrix (`kernel` is ``precomputed``), its columns are those of the training, then of the
    weak rows.

    Raises
    ------
    UserError
        If `kernel` is ``precomputed`` and the inputs are no symmetric matrix.
    """
    inputs = read_artifact(dataset, "dataset")["inputs"]
    partition = read_artifact(split, "split")
    if kernel == "precomputed":
        check_gram_matrix(inputs, dataset)
        inputs = inputs[:, np.concatenate([partition["train"], partition["weak"]])]
    train, weak = inputs[partition["train"]], inputs[partition["weak"]]
    tree: dict = {
        "scale": scale,
        "kernel": kernel,
        "inputs": {
            "train": train,
            "weak": weak,
            "test": inputs[partition["test"]],
        },
    }
    for size in partition["sizes"]:
        folds = partition["folds"][size_group(size)]
        # Weak rows are filled from the fold's training rows, so they can differ by fold as well.
        learns = preparation_learns(np.vstack([train[:size], weak]), scale)
        tree[size_group(size)] = {"learns": learns}
        for fold in [None, *range(folds.max() + 1)]:
            rows = train[:size] if fold is None else train[:size][folds != fold]
            preparation = fit_preparation(rows, scale)
            tree[size_group(size)][fold_group(fold)] = {
                "fill": preparation.fill,
                "offset": preparation.offset,
                "scale": preparation.scale,
                "standardised": preparation.standardised,
            }
    write_artifact(
        output, tree, "features", inputs=[dataset, split], allow_nan=("train", "weak", "test")
    )


def check_gram_matrix(inputs: np.ndarray, place: Path) -> None:
    """Raise UserError unless the inputs are the Gram matrix of all rows of the dataset."""
    square = inputs.shape[0] == inputs.shape[1]
    if not square or not np.allclose(inputs, inputs.T, rtol=1e-8, atol=1e-10):
        raise UserError(
            place=str(place),
            found=f"inputs of the shape {inputs.shape} that are no symmetric matrix",
            expected="kernel values between all rows, because the kernel is precomputed",
            remedy="choose another kernel, or give the Gram matrix as inputs",
        )


class PreparedInputs:
    """The inputs of one training size of one split, prepared as each fold may see them.

    Parameters
    ----------
    features : dict
        Tree of a "features" artifact.
    folds : int array (n,)
        Fold number of every training row.
    training_size : int
    """

    def __init__(self, features: dict, folds: np.ndarray, training_size: int) -> None:
        self._group = features[size_group(training_size)]
        self._train = features["inputs"]["train"][:training_size]
        self._weak = features["inputs"]["weak"]
        self._test = features["inputs"]["test"]
        self._n_pool = len(features["inputs"]["train"])
        self._is_gram = features["kernel"] == "precomputed"
        self.folds = folds
        self.learns = bool(self._group["learns"])

    def _preparation(self, fold: int | None) -> InputPreparation:
        stored = self._group[fold_group(fold)]
        return InputPreparation(
            stored["fill"], stored["offset"], stored["scale"], bool(stored["standardised"])
        )

    def refit(self, weak_size: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Return the prepared training rows (followed by the weak rows) and the test rows."""
        everything = np.ones(len(self._train), dtype=bool)
        return self._prepared(None, everything, weak_size, self._test)

    def by_fold(self, weak_size: int = 0) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield, for each fold, its prepared training (and weak) rows and its held-out rows."""
        for fold in range(self.folds.max() + 1):
            heldout = self.folds == fold
            yield self._prepared(fold, ~heldout, weak_size, self._train[heldout])

    def _prepared(self, fold, kept, weak_size, others):
        """Return the kept training and the weak rows, and other rows, as a fold prepares them."""
        rows = np.vstack([self._train[kept], self._weak[:weak_size]])
        if self._is_gram:
            weak_columns = self._n_pool + np.arange(weak_size)
            columns = np.concatenate([np.flatnonzero(kept), weak_columns])
            return rows[:, columns], others[:, columns]
        preparation = self._preparation(fold)
        return preparation.apply(rows), preparation.apply(others)


def rbf_gamma(width: float | None, n_columns: int) -> float | None:
    """Return gamma = width / (2 q): width 1 is the expected squared distance of q unit variances.

    A unit that is not learned from the rows, so that folds of unscaled inputs share one kernel.
    """
    return None if width is None else width / (2.0 * n_columns)


def gram_of(X: np.ndarray, Z: np.ndarray | None, kernel: str, width: float | None) -> np.ndarray:
    """Return the Gram matrix of prepared inputs, with the rbf width in units of `rbf_gamma`."""
    return gram_matrix(X, Z, kernel, rbf_gamma(width, X.shape[1]))
