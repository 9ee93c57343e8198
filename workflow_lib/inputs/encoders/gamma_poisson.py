"""Activations of topics of n-grams: the Gamma-Poisson factorisation of Cerda and Varoquaux (2022).

The counts v of the n-grams of a text are Poisson with the means h W: the k topics W, which sum to 1
each, are learned by skrub's ``GapEncoder`` (extra ``encoders``), and the activations h, the codes,
have independent Gamma priors of the shape a and the scale b. For given topics the codes are the
mode of the posterior,

    h = argmin  sum_j (h W)_j - v_j log (h W)_j  +  sum_k h_k / b - (a - 1) log h_k,

a convex problem. The topics depend on texts alone, not on outputs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from workflow_lib.core.json_text import from_json_bytes, json_bytes
from workflow_lib.core.optional_packages import not_installed

if TYPE_CHECKING:
    from workflow_lib.inputs.encoded_columns import TrainingColumn

N_TOPICS = 10
"""Number k of topics, or that of the different texts with an n-gram if they are fewer: the default
of skrub."""

LENGTHS = (2, 3, 4)
"""Lengths of n-grams, in characters: those of skrub."""

SHAPE, SCALE = 1.1, 1.0
"""a and b of the Gamma prior: those of skrub."""

MAX_STEPS, TOLERANCE = 200, 1e-4
"""Most updates of the activations, and the largest relative change of those of a text (Euclidean)
at which they end."""

N_NAMING, MIN_SHARE = 3, 0.1
"""Most n-grams that name a topic, and the smallest weight of one, as a share of the largest."""

SMALLEST = 1e-10


class Encoder:
    """The topics of a column of texts.

    Attributes
    ----------
    n_grams : tuple of str
        The J n-grams of the texts that it was fitted to; others are not counted.
    topics : array (k, J)
        Rows sum to 1. Where no text has an n-gram, there is one topic without n-grams.
    training_codes : array (n, k)
        Those of `apply`: they depend on no output.
    """

    needs_level = False

    def __init__(self, n_grams: Sequence[str], topics: np.ndarray, training_codes=None) -> None:
        self.n_grams, self.topics, self.training_codes = tuple(n_grams), topics, training_codes
        self._indices = {n_gram: index for index, n_gram in enumerate(self.n_grams)}

    @classmethod
    def fit(cls, column: TrainingColumn, seed: int = 0) -> Encoder:
        """Return the encoder of the texts of training and weak rows; `seed` starts the topics.

        Raises UserError if skrub is not installed.
        """
        levels = np.array(column.levels, dtype=object)
        texts = levels[np.concatenate([column.codes, column.others])]
        n_different = sum(bool(n_grams_of(text)) for text in set(texts))
        fitted = cls((), np.ones((1, 0)))
        if n_different:
            fitted = cls(*_topics(texts, min(N_TOPICS, n_different), seed))
        different, indices = np.unique(levels[column.codes], return_inverse=True)
        fitted.training_codes = fitted.apply(different)[indices]
        return fitted

    def apply(self, texts: np.ndarray) -> np.ndarray:
        """Return the codes (m, k) of m texts; a text without known n-grams has the prior mode."""
        entries = [
            (row, self._indices[n_gram], count)
            for row, text in enumerate(texts)
            for n_gram, count in n_grams_of(text).items()
            if n_gram in self._indices
        ]
        rows, columns, counts = np.array(entries or np.empty((0, 3)), dtype=np.int64).T
        return activations(rows, columns, counts.astype(float), self.topics, len(texts))

    @property
    def labels(self) -> list[str]:
        """The n-grams that name each topic: frequent in it and rare in others, long ones first."""
        lengths = np.array([len(n_gram) for n_gram in self.n_grams])
        shares = lengths * self.topics**2 / np.maximum(self.topics.sum(axis=0), SMALLEST)
        return [self._label(number, share) for number, share in enumerate(shares)]

    def _label(self, number: int, shares: np.ndarray) -> str:
        chosen: list[str] = []
        for index in np.argsort(-shares, kind="stable"):
            if shares[index] < MIN_SHARE * shares.max():
                break
            n_gram = self.n_grams[index]
            # An n-gram within another, or shifted by a letter, tells nothing more.
            if not any(
                n_gram[1:] in other or n_gram[:-1] in other or other in n_gram for other in chosen
            ):
                chosen.append(n_gram)
            if len(chosen) == N_NAMING:
                break
        named = ", ".join(f"'{n_gram}'" for n_gram in chosen)
        return f"topic {number + 1}" + (f" ({named})" if named else "")

    def tree(self) -> dict:
        """Return the encoder as the group of an artifact."""
        return {"n_grams": json_bytes(self.n_grams), "topics": self.topics}

    @classmethod
    def from_tree(cls, tree: Mapping) -> Encoder:
        """Return the encoder whose `tree` was stored."""
        return cls(from_json_bytes(tree["n_grams"]), tree["topics"])


def n_grams_of(text: str) -> Counter[str]:
    """Return the counts of the n-grams of a text: lower case, several white spaces as one space."""
    text = re.sub(r"\s\s+", " ", text.lower())
    return Counter(
        text[begin : begin + length]
        for length in LENGTHS
        for begin in range(len(text) - length + 1)
    )


def activations(
    rows: np.ndarray,
    columns: np.ndarray,
    counts: np.ndarray,
    topics: np.ndarray,
    n_rows: int,
    shape: float = SHAPE,
    scale: float = SCALE,
) -> np.ndarray:
    """Return the posterior modes (m, k) for counts (e,) of n-grams `columns` in texts `rows`.

    By the multiplicative updates h_k = (a - 1 + h_k sum_j W_kj v_j / (h W)_j) / (1 + 1 / b), which
    never lower the posterior, from equal activations.
    """
    n_topics, denominator = len(topics), 1.0 + 1.0 / scale
    lengths = np.bincount(rows, counts, n_rows)
    found = np.repeat(np.maximum(lengths, SMALLEST)[:, None] / n_topics, n_topics, axis=1)
    # The updates of a text without known n-grams end at the mode of the prior.
    found[lengths == 0] = (shape - 1.0) / denominator
    order = np.argsort(rows, kind="stable")
    rows, counts, weights = rows[order], counts[order], topics.T[columns[order]]
    for _ in range(MAX_STEPS):
        # Only texts that still change have entries; each has a segment of them.
        active, begins, indices = np.unique(rows, return_index=True, return_inverse=True)
        if not len(active):
            break
        current = found[active]
        means = np.einsum("ek,ek->e", current[indices], weights) + SMALLEST
        gains = np.add.reduceat(weights * (counts / means)[:, None], begins)
        found[active] = (shape - 1.0 + current * gains) / denominator
        change = np.linalg.norm(found[active] - current, axis=1)
        is_changing = change > TOLERANCE * np.linalg.norm(current, axis=1)
        if not is_changing.all():
            kept = is_changing[indices]
            rows, counts, weights = rows[kept], counts[kept], weights[kept]
    return found


def _topics(texts: np.ndarray, n_topics: int, seed: int) -> tuple[list[str], np.ndarray]:
    """Return the n-grams and the topics that skrub learns from texts."""
    try:
        from skrub import GapEncoder
    except ImportError as error:
        raise not_installed("skrub", "encode: gamma-poisson", error, "choose n-grams") from error
    import pandas

    encoder = GapEncoder(
        n_components=n_topics,
        ngram_range=(min(LENGTHS), max(LENGTHS)),
        gamma_shape_prior=SHAPE,
        gamma_scale_prior=SCALE,
        random_state=seed % 2**32,
    ).fit(pandas.Series(texts, dtype=str))
    return list(encoder.vocabulary), encoder.W_
