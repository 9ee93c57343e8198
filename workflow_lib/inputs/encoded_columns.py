"""Columns of names whose codes every fold learns from its own training rows.

The encoders are the modules of `workflow_lib.inputs.encoders`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from workflow_lib.core.json_text import from_json_bytes, json_bytes
from workflow_lib.inputs.encoder_names import encoder_module


class TrainingColumn(NamedTuple):
    """What a fold knows of a column of names."""

    levels: Sequence[str]
    """All texts of the column."""

    codes: np.ndarray
    """Int array (n,): the text of each training row of the fold, as its index in `levels`."""

    others: np.ndarray
    """Int array (w,): those of the weak rows, whose outputs are not known."""

    outputs: np.ndarray
    """Array (n, d): of the training rows; NaN where missing."""

    folds: np.ndarray
    """Int array (n,): inner folds of the training rows, at least two where there are two rows."""


class EncodedColumns:
    """The fitted encoders of some columns, in the order in which their codes are joined: pairs of
    the name of an encoder and the fitted encoder, by the names of columns."""

    def __init__(self, encoders: Mapping[str, tuple]) -> None:
        self._encoders = dict(encoders)

    @classmethod
    def fit(
        cls, columns: Mapping[str, tuple[str, TrainingColumn]], seeds: Mapping[str, int]
    ) -> EncodedColumns:
        """Fit the encoder of each column: its name, and what the fold knows of the column."""
        return cls(
            {
                name: (encoder, encoder_module(encoder).Encoder.fit(column, seeds[name]))
                for name, (encoder, column) in columns.items()
            }
        )

    def encoder_of(self, column: str):
        """Return the fitted encoder of a column."""
        return self._encoders[column][1]

    @property
    def widths(self) -> list[int]:
        """The number of codes of each column."""
        return [len(encoder.labels) for _, encoder in self._encoders.values()]

    @property
    def names(self) -> list[str]:
        """The names of all codes: those of the column and of the code."""
        return [
            f"{name}, {label}"
            for name, (_, encoder) in self._encoders.items()
            for label in encoder.labels
        ]

    def training_codes(self) -> np.ndarray:
        """Return the codes (n, k) of the training rows that the encoders were fitted to."""
        return np.hstack([encoder.training_codes for _, encoder in self._encoders.values()])

    def apply(self, texts: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the codes (m, k) of other rows, given the texts (m,) of every column."""
        parts = []
        for name, (_, encoder) in self._encoders.items():
            different, indices = np.unique(
                np.asarray(texts[name], dtype=object), return_inverse=True
            )
            parts.append(encoder.apply(different)[indices])
        return np.hstack(parts)

    def tree(self) -> dict:
        """Return the encoders as the group of an artifact; columns are numbered."""
        return {
            f"{number}": {"described": json_bytes([name, encoder]), "fitted": fitted.tree()}
            for number, (name, (encoder, fitted)) in enumerate(self._encoders.items())
        }

    @classmethod
    def from_tree(cls, tree: Mapping) -> EncodedColumns:
        """Return the encoders whose `tree` was stored."""
        encoders = {}
        for number in sorted(tree, key=int):
            name, encoder = from_json_bytes(tree[number]["described"])
            fitted = encoder_module(encoder).Encoder.from_tree(tree[number]["fitted"])
            encoders[name] = encoder, fitted
        return cls(encoders)


def inner_folds(folds: np.ndarray) -> np.ndarray:
    """Return the folds (n,) by which the codes of training rows are cross-fitted.

    These are the folds of the selection that the rows are in. Where only one is left, because the
    selection has two folds, its rows are dealt alternately into two.
    """
    if len(np.unique(folds)) > 1:
        return folds
    return np.arange(len(folds)) % 2
