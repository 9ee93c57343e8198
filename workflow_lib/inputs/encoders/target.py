"""Codes of a level: smoothed means of the outputs of the training rows with this level.

The code of level v and output y is the empirical Bayes estimate of scikit-learn's
``TargetEncoder(smooth="auto")`` (Micci-Barreca 2001),

    c_v = w_v m_v + (1 - w_v) m,    w_v = n_v s^2 / (n_v s^2 + s_v^2),

with the mean m and variance s^2 of y over the training rows, and the number n_v, mean m_v and
variance s_v^2 of the training rows with the level. A level that no training row has gets m.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from workflow_lib.core.json_text import from_json_bytes, json_bytes

if TYPE_CHECKING:
    from workflow_lib.inputs.encoded_columns import TrainingColumn

MAX_CODES = 8
"""Largest number of codes of a level. Up to as many outputs have a code each, in their own unit; of
more outputs the leading principal components have, after standardising."""


class Encoder:
    """The codes of the levels of one column.

    Attributes
    ----------
    levels : tuple of str
        The L levels that a training row has.
    codes : array (L, k)
    means : array (k,)
        The codes of all other levels.
    training_codes : array (n, k)
        Cross-fitted: the codes of the rows of each inner fold are learned from the others, so that
        the code of a row does not contain its own outputs. (The principal components of more than
        `MAX_CODES` outputs are those of all training rows.)
    """

    needs_level = True
    """Whether a text that no row of the dataset has is not known, and noted."""

    def __init__(self, levels, codes, means, training_codes=None) -> None:
        self.levels, self.codes, self.means = tuple(levels), codes, means
        self.training_codes = training_codes
        self._indices = {level: index for index, level in enumerate(self.levels)}

    @classmethod
    def fit(cls, column: TrainingColumn, seed: int = 0) -> Encoder:
        """Return the encoder of the training rows of `column`; nothing is drawn."""
        targets = leading_outputs(column.outputs)
        n_levels = len(column.levels)
        table, means, counts = smoothed_means(column.codes, targets, n_levels)
        training_codes = np.empty((len(column.codes), targets.shape[1]))
        for fold in np.unique(column.folds):
            own = column.folds == fold
            of_others = smoothed_means(column.codes[~own], targets[~own], n_levels)[0]
            training_codes[own] = of_others[column.codes[own]]
        seen = np.flatnonzero(counts)
        levels = [column.levels[index] for index in seen]
        return cls(levels, table[seen], means, training_codes)

    def apply(self, texts: np.ndarray) -> np.ndarray:
        """Return the codes (m, k) of m texts."""
        table = np.vstack([self.codes, self.means])
        return table[[self._indices.get(text, len(self.levels)) for text in texts]]

    @property
    def labels(self) -> list[str]:
        """The names of the codes."""
        return [f"mean {number + 1}" for number in range(len(self.means))]

    def tree(self) -> dict:
        """Return the encoder as the group of an artifact."""
        return {"levels": json_bytes(self.levels), "codes": self.codes, "means": self.means}

    @classmethod
    def from_tree(cls, tree: Mapping) -> Encoder:
        """Return the encoder whose `tree` was stored."""
        return cls(from_json_bytes(tree["levels"]), tree["codes"], tree["means"])


def leading_outputs(outputs: np.ndarray) -> np.ndarray:
    """Return the outputs (n, k) that have a code each, k <= `MAX_CODES`.

    Outputs (n, d) of d <= `MAX_CODES` columns are returned unchanged, NaN where missing. Of more,
    the scores of the leading principal components of the standardised outputs are returned; missing
    values are replaced by the mean first. The largest loading of a component is positive.
    """
    n_outputs = outputs.shape[1]
    if n_outputs <= MAX_CODES:
        return outputs
    known = ~np.isnan(outputs)
    counts = np.maximum(known.sum(axis=0), 1)
    centred = np.where(known, outputs - np.where(known, outputs, 0.0).sum(axis=0) / counts, 0.0)
    deviations = np.sqrt((centred**2).sum(axis=0) / counts)
    constant = deviations <= 1e-12 * np.abs(np.where(known, outputs, 0.0)).max(axis=0, initial=0.0)
    standardised = centred / np.where(constant, np.inf, deviations)
    directions = np.linalg.svd(standardised, full_matrices=False)[2][:MAX_CODES]
    largest = np.abs(directions).argmax(axis=1)
    directions *= np.sign(directions[np.arange(len(directions)), largest])[:, None]
    return standardised @ directions.T


def smoothed_means(
    codes: np.ndarray, outputs: np.ndarray, n_levels: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return c_v (L, k) of all levels, m (k,), and the number of rows (L,) of each level.

    From the levels `codes` (n,) and the `outputs` (n, k) of rows. Missing values (NaN) do not
    count; m is 0 for an output without any value.
    """
    table, means = np.empty((n_levels, outputs.shape[1])), np.zeros(outputs.shape[1])
    for column, values in enumerate(outputs.T):
        known = ~np.isnan(values)
        levels, values = codes[known], values[known]
        means[column] = values.mean() if len(values) else 0.0
        counts = np.bincount(levels, minlength=n_levels)
        of_levels = np.bincount(levels, values, n_levels) / np.maximum(counts, 1)
        squares = np.bincount(levels, (values - of_levels[levels]) ** 2, n_levels)
        between = counts * (values.var() if len(values) else 0.0)
        within = squares / np.maximum(counts, 1)
        weights = np.divide(between, between + within, out=np.zeros(n_levels), where=between > 0)
        table[:, column] = weights * of_levels + (1.0 - weights) * means[column]
    return table, means, np.bincount(codes, minlength=n_levels)
