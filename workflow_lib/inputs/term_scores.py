"""TF-IDF weights, and Fisher scores of texts and trees under models of their counts.

With n terms in a text, c_t of them t, there are two models:

``multinomial``
    terms are drawn independently with probabilities p. The free softmax score is c_t - n p_t, and
    the Fisher information of p is that of independent terms with c_t / n, so that the whitened
    score is (c_t - n p_t) / sqrt(n p_t).
``dirichlet-multinomial``
    every text has probabilities of its own, drawn from a Dirichlet law with parameters alpha of sum
    A. A term that has occurred occurs again more easily, so that its further occurrences count
    less; the score of alpha_t is

        psi(c_t + alpha_t) - psi(alpha_t) - psi(n + A) + psi(A),

    with the digamma function psi. For a small alpha_t the first difference is 1 / alpha_t once the
    term occurs, the inverse of how often it does, and grows as the logarithm of c_t: TF-IDF (Elkan
    2005). It is divided by the root of its mean square over the training texts, which estimates
    the diagonal of the Fisher information.

For labelled trees the terms are transitions, each from a state (the label of a node, or the labels
of the last nodes on the way to it) to a symbol (the label of a child, or the end of the children):

``markov``
    a node of state s draws the labels of its children, and then the end, independently with the
    probabilities A_s (Nicotra, Micheli & Starita 2004). With c_sb transitions to b among the n_s
    from s, the log-likelihood is the sum of c_sb log A_sb, and its softmax score c_sb - n_s A_sb.
    The Fisher information of the row A_s is E[n_s] (diag(A_s) - A_s A_s'), so that the whitened
    score is (c_sb - n_s A_sb) / sqrt(E[n_s] A_sb), where E[n_s] A_sb is estimated by the mean of
    c_sb over the training trees. With one state it is ``multinomial``. In a Markov
    chain every node but the last has one child, and no end is drawn.

Terms of fewer than MIN_TEXTS training texts are left out, and rows have unit length, as those of
`TermWeights`, which have the same interface.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from workflow_lib.items.scales import MARKOV_SCALE

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MAX_ITERATIONS, TOLERANCE = 200, 1e-6
"""Of the parameters of the Dirichlet law: iterations, and relative change at which they stop."""

MIN_ALPHA = 1e-6
"""Smallest parameter of the Dirichlet law, where a term is so rare that it tends to zero."""

# A term of a single training text relates no two texts: it only shortens the others.
MIN_TEXTS = 2


class Terms(ABC):
    """Weights or scores of q terms; the first attribute of a class has one entry for each."""

    @property
    def n_terms(self) -> int:
        """Number of terms q."""
        return len(next(iter(vars(self).values())))

    @abstractmethod
    def apply(self, counts: csr_array) -> np.ndarray | csr_array:
        """Return the scores (n, kept terms) of counts (n, q), each row of unit length or zero."""

    def tree(self) -> dict:
        """Return the attributes as a group of an artifact."""
        return asdict(self)


@dataclass(frozen=True)
class TermWeights(Terms):
    """Fitted weights of terms."""

    inverse_document_frequency: np.ndarray
    """Array (q,): ln((1 + l) / (1 + l_t)) + 1 for a term in l_t of l training texts, zero for a
    term in fewer than MIN_TEXTS."""

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


@dataclass(frozen=True)
class MultinomialScores(Terms):
    """Scores under a multinomial law."""

    probabilities: np.ndarray
    """Array (q,): share of each term among those of the training texts; zero for those that are
    left out."""

    def apply(self, counts: csr_array) -> np.ndarray:
        """As of the base class."""
        kept = np.flatnonzero(self.probabilities)
        known = counts[:, kept].toarray()
        expected = known.sum(axis=1, keepdims=True) * self.probabilities[kept]
        scores = np.divide(known - expected, np.sqrt(expected), where=expected > 0, out=known * 0.0)
        return _of_unit_length(scores)


@dataclass(frozen=True)
class DirichletScores(Terms):
    """Scores under a Dirichlet-multinomial law."""

    alpha: np.ndarray
    """Array (q,): parameters; zero for terms that are left out."""

    information: np.ndarray
    """Array (q,): mean squares of the scores of the training texts."""

    def apply(self, counts: csr_array) -> np.ndarray:
        """As of the base class."""
        kept = np.flatnonzero(self.alpha)
        scores = dirichlet_scores(counts[:, kept].toarray(), self.alpha[kept])
        information = self.information[kept]
        return _of_unit_length(scores / np.sqrt(np.where(information > 0, information, 1.0)))


@dataclass(frozen=True)
class MarkovScores(Terms):
    """Scores under a Markov model of trees."""

    mean_counts: np.ndarray
    """Array (q,): mean count of each transition in the training trees; zero for those that are left
    out."""

    states: np.ndarray
    """Int array (q,): number of the state that each transition leads from."""

    def apply(self, counts: csr_array) -> np.ndarray:
        """As of the base class."""
        kept = np.flatnonzero(self.mean_counts)
        mean_counts, states = self.mean_counts[kept], self.states[kept]
        probabilities = mean_counts / _sums_by_state(mean_counts[None], states)[0]
        scores = markov_scores(counts[:, kept].toarray(), probabilities, states)
        return _of_unit_length(scores / np.sqrt(mean_counts))


def markov_scores(counts: np.ndarray, probabilities: np.ndarray, states: np.ndarray) -> np.ndarray:
    """Return the softmax scores (n, q) of counts (n, q) of transitions.

    `probabilities` (q,) sum to one over the transitions of each of the `states` (q,).
    """
    return counts - _sums_by_state(counts, states) * probabilities


def _sums_by_state(counts: np.ndarray, states: np.ndarray) -> np.ndarray:
    """Return for each entry of counts (n, q) the sum (n, q) over the entries of its state."""
    same_state = states[:, None] == np.unique(states)
    return (counts @ same_state) @ same_state.T


def dirichlet_scores(counts: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """Return the scores (n, q) of counts (n, q) for the parameters (q,); zero for an empty text."""
    # Only texts need it, and it takes time to import.
    from scipy.special import digamma

    if not len(alpha):
        return np.zeros(counts.shape)
    own = digamma(counts + alpha) - digamma(alpha)
    of_length = digamma(counts.sum(axis=1) + alpha.sum()) - digamma(alpha.sum())
    return own - of_length[:, None]


def fit_dirichlet(counts: csr_array) -> np.ndarray:
    """Return the parameters (q,) with the greatest likelihood of counts (n, q).

    By the fixed point iteration of Minka (2000), which never lowers the likelihood. Each term must
    occur in some text.
    """
    from scipy.special import digamma

    counts = counts[np.flatnonzero(np.asarray(counts.sum(axis=1)).ravel() > 0)]
    lengths = np.asarray(counts.sum(axis=1)).ravel()
    alpha = np.asarray(counts.sum(axis=0)).ravel() / counts.sum() * counts.shape[1] * 0.1
    for _ in range(MAX_ITERATIONS):
        of_terms = digamma(counts.data + alpha[counts.indices]) - digamma(alpha[counts.indices])
        sums = np.bincount(counts.indices, of_terms, minlength=len(alpha))
        total = (digamma(lengths + alpha.sum()) - digamma(alpha.sum())).sum()
        new = np.maximum(alpha * sums / total, MIN_ALPHA)
        change = np.abs(new - alpha).sum() / alpha.sum()
        alpha = new
        if change < TOLERANCE:
            break
    return alpha


def fit_terms(counts: csr_array, scale: str, states: np.ndarray | None = None) -> Terms:
    """Return the weights or scores of terms, fitted to the counts (l, q) of texts.

    `scale` is one of `workflow_lib.items.scales.TEXT_SCALES`; `states` (q,) are, with ``markov``,
    the states that the terms, which are transitions, lead from.
    """
    if scale == "tf-idf":
        return fit_term_weights(counts)
    frequency = np.bincount(counts.indices, minlength=counts.shape[1])
    kept = np.flatnonzero(frequency >= MIN_TEXTS)
    known = counts[:, kept]
    if scale == MARKOV_SCALE:
        mean_counts = np.zeros(counts.shape[1])
        mean_counts[kept] = np.asarray(known.mean(axis=0)).ravel()
        return MarkovScores(mean_counts, states)
    found = np.zeros((2, counts.shape[1]))
    if len(kept):
        if scale == "multinomial":
            found[0, kept] = np.asarray(known.sum(axis=0)).ravel() / known.sum()
        else:
            found[0, kept] = fit_dirichlet(known)
            found[1, kept] = (dirichlet_scores(known.toarray(), found[0, kept]) ** 2).mean(axis=0)
    return MultinomialScores(found[0]) if scale == "multinomial" else DirichletScores(*found)


def terms_from_tree(tree: Mapping) -> Terms:
    """Return what `tree` of one of these classes stored."""
    kinds = (MarkovScores, DirichletScores, MultinomialScores, TermWeights)
    kind = next(kind for kind in kinds if fields(kind)[0].name in tree)
    return kind(*(tree[field.name] for field in fields(kind)))


def inner_products(texts, known) -> np.ndarray:
    """Return the inner products (n, m) of the rows of two dense or two sparse arrays."""
    found = texts @ known.T
    return found if isinstance(found, np.ndarray) else found.toarray()


def _of_unit_length(scores: np.ndarray) -> np.ndarray:
    lengths = np.sqrt((scores**2).sum(axis=1, keepdims=True))
    return scores / np.where(lengths > 0, lengths, 1.0)
