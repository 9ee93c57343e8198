"""TF-IDF weights of term counts, learned from training rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# A term of a single training text relates no two texts: it only shortens the others.
MIN_TEXTS = 2


@dataclass(frozen=True)
class TermWeights:
    """Fitted weights of terms.

    Attributes
    ----------
    inverse_document_frequency : array (q,)
        ln((1 + l) / (1 + l_t)) + 1 for a term in l_t of l training texts, zero for a term in fewer
        than MIN_TEXTS.
    """

    inverse_document_frequency: np.ndarray

    @property
    def n_terms(self) -> int:
        """Number of terms q."""
        return len(self.inverse_document_frequency)

    def tree(self) -> dict:
        """Return the weights as a group of an artifact."""
        return {"inverse_document_frequency": self.inverse_document_frequency}

    def apply(self, counts: csr_array) -> csr_array:
        """Return the weighted counts (n, q), still sparse, every row of unit length.

        The weight of a term that occurs c times in a text is (1 + ln c) times its inverse document
        frequency; a text without any known term stays zero.
        """
        weighted = counts.copy()
        weighted.data = (1.0 + np.log(counts.data)) * self.inverse_document_frequency[
            counts.indices
        ]
        lengths = np.sqrt((weighted**2).sum(axis=1))
        rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
        weighted.data /= np.where(lengths > 0, lengths, 1.0)[rows]
        return weighted


def fit_term_weights(counts: csr_array) -> TermWeights:
    """Fit the weights to the term counts (l, q) of training texts.

    Sublinear counts, smooth inverse document frequencies and rows of unit length, as scikit-learn's
    ``TfidfTransformer(sublinear_tf=True)`` (Salton & Buckley 1988).
    """
    n_texts, n_terms = counts.shape
    frequency = np.bincount(counts.indices, minlength=n_terms)
    weights = np.log((1.0 + n_texts) / (1.0 + frequency)) + 1.0
    return TermWeights(np.where(frequency >= MIN_TEXTS, weights, 0.0))
