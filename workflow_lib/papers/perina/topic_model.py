"""A topic model of bags of words: latent Dirichlet allocation (Blei, Ng & Jordan 2003)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.special import gammaln, psi

from workflow_lib.core.array_arguments import as_numbers, check_ignored
from workflow_lib.core.parameters import ParameterMixin, check_parameters, checks, random_generator
from workflow_lib.papers.perina.hidden_markov_emissions import times_log

# A bag's proportions are found when an iteration changes them by less than this, in words a topic.
TOLERANCE = 1e-5
MAX_ITERATIONS = 1000

# Bags that are found stay in the arrays until so many of the others are left.
REARRANGED_BELOW = 0.5

# Iterations of a bag's proportions in each pass of a fit. scikit-learn's default of 100 takes five
# times as long, and the bound is lower after as many passes: what a bag assigns to topics that have
# not formed yet is better left unfinished.
FIT_ITERATIONS = 10

# Numbers of an array with one for every bag and word; bags beyond follow in blocks.
BLOCK_NUMBERS = 2**21


class TopicPosterior(NamedTuple):
    """The variational posterior of n bags.

    Each of the words v of a bag comes from topic z with q(z | v) = phi_vz = e_z beta_zv / r_v, with
    e_z = exp(E log theta_z) and r_v = sum_z e_z beta_zv. No array holds phi.
    """

    counts: np.ndarray
    """(n, W) words of each bag."""

    proportions: np.ndarray
    """(n, Z) gamma: q(theta) is the Dirichlet distribution with these parameters."""

    log_weights: np.ndarray
    """(n, Z) E log theta_z = psi(gamma_z) - psi(sum gamma)."""

    norms: np.ndarray
    """(n, W) r_v."""

    @property
    def weights(self) -> np.ndarray:
        """e (n, Z)."""
        return np.exp(self.log_weights)


class TopicModel(ParameterMixin):
    """Latent Dirichlet allocation of bags of W words with Z topics.

        theta ~ Dirichlet(alpha),   each word: z ~ theta, v ~ beta_z

    scikit-learn's `LatentDirichletAllocation` fits the topics by variational Bayes. Everything else
    takes the topics as given parameters: the posterior of a bag is approximated by
    q(theta) prod q(z), with the largest bound on log p(words), eq. (6) and (7) of Blei et al.

    Parameters
    ----------
    n_topics : int, default=40
        Number of topics Z.
    alpha : float, default=0.5
        Parameter of the Dirichlet distribution of proportions, the same for all topics.
    random_state : int, Generator, RandomState or None, default=0
    max_iter : int, default=50
        Passes of scikit-learn over the bags.

    Attributes
    ----------
    topics_ : array (Z, W)
        beta, the posterior means of the fit; rows sum to one. It may be assigned.
    alpha_ : array (Z,)
        It may be assigned.
    """

    allowed: ClassVar = checks(whole="n_topics max_iter", positive="alpha", seed="random_state")
    input_tags: ClassVar = {"sparse": True, "positive_only": True}
    score_terms = "topic_model"

    def __init__(
        self, n_topics: int = 40, alpha: float = 0.5, random_state=0, max_iter: int = 50
    ) -> None:
        self.n_topics = n_topics
        self.alpha = alpha
        self.random_state = random_state
        self.max_iter = max_iter

    def fit(self, counts, y=None) -> TopicModel:
        """Fit to bags, an array or sparse matrix (n, W) of counts; `y` is ignored.

        Raises ValueError if a count is negative or not finite, a bag is empty, or a parameter is
        out of range.
        """
        from sklearn.decomposition import LatentDirichletAllocation

        check_parameters(self)
        self._check_columns(counts)
        counts = read_counts(counts)
        check_ignored(y, counts.shape[0], self)
        seed = int(random_generator(self.random_state).integers(2**31))
        fitted = LatentDirichletAllocation(
            self.n_topics,
            doc_topic_prior=self.alpha,
            learning_method="batch",
            max_iter=self.max_iter,
            max_doc_update_iter=FIT_ITERATIONS,
            random_state=seed,
        ).fit(counts)
        self.topics_ = fitted.components_ / fitted.components_.sum(axis=1, keepdims=True)
        self.alpha_ = np.full(self.n_topics, float(self.alpha))
        return self

    @property
    def n_features_in_(self) -> int:
        """Number of words W."""
        return np.shape(self.topics_)[1]

    def score_samples(self, counts) -> np.ndarray:
        """Return the bound -F <= log p(words) of every bag, in nats: an array (n,).

        The words count as a sequence: no factor for their order is added.

        Raises ValueError as `fit`, or if the number of words differs, or a word is in no topic.
        """
        found = [
            -sum(term.sum(axis=1) for term in free_energy_terms(self, each).values())
            for each in self.posteriors(counts)
        ]
        return np.concatenate(found)

    def proportions(self, counts) -> np.ndarray:
        """Return E theta (n, Z) of every bag; rows sum to one."""
        found = np.concatenate([each.proportions for each in self.posteriors(counts)])
        return found / found.sum(axis=1, keepdims=True)

    def posteriors(self, counts) -> Iterator[TopicPosterior]:
        """Yield the posteriors of the bags, in order, some at a time."""
        self._check_is_fitted()
        given, counts = counts, read_counts(counts)
        self._check_columns(given, counts.shape[1], "counts")
        size = max(1, BLOCK_NUMBERS // counts.shape[1])
        for begin in range(0, counts.shape[0], size):
            block = counts[begin : begin + size]
            block = block.toarray() if hasattr(block, "toarray") else block
            yield _posterior(self, block, begin)


def _posterior(model: TopicModel, counts: np.ndarray, begin: int) -> TopicPosterior:
    """Return the posterior of bags, each iterated until its own proportions are found."""
    topics, alpha = np.asarray(model.topics_), np.asarray(model.alpha_)
    missing = (counts > 0) & ~(topics > 0).any(axis=0)
    if missing.any():
        bag, word = np.argwhere(missing)[0]
        raise ValueError(
            f"Bag {begin + bag} holds the word {word}, which has probability zero in every topic. "
            "Leave the word out."
        )
    # As scikit-learn starts bags that are not those of its fit.
    proportions = np.ones((len(counts), len(alpha)))
    running, values = np.arange(len(counts)), counts
    current, ended = proportions.copy(), np.zeros(len(counts), dtype=bool)
    for iteration in range(MAX_ITERATIONS):
        weights = np.exp(_expected_logs(current))
        updated = alpha + weights * (_ratios(values, weights @ topics) @ topics.T)
        changed = np.abs(updated - current).mean(axis=1)
        current = updated
        # A bag that is found keeps its first proportions, so that they do not depend on others.
        found = ((changed < TOLERANCE) | (iteration == MAX_ITERATIONS - 1)) & ~ended[running]
        proportions[running[found]] = current[found]
        ended[running[found]] = True
        kept = ~ended[running]
        if not kept.any():
            break
        if kept.sum() < REARRANGED_BELOW * len(running):
            running, values, current = running[kept], values[kept], current[kept]
    log_weights = _expected_logs(proportions)
    return TopicPosterior(counts, proportions, log_weights, np.exp(log_weights) @ topics)


def free_energy_terms(model: TopicModel, posterior: TopicPosterior) -> dict[str, np.ndarray]:
    """Return the terms of F by topic, arrays (n, Z); ``normalisation`` is one number (n, 1).

    With n_v words v, gamma, alpha and l_z = E log theta_z:

        word_entropy          sum_v n_v phi_vz log phi_vz
        assignment_energy     -sum_v n_v phi_vz l_z
        word_energy           -sum_v n_v phi_vz log beta_zv
        proportion_entropy    (gamma_z - 1) l_z - log Gamma(gamma_z)
        proportion_energy     -(alpha_z - 1) l_z + log Gamma(alpha_z)
        normalisation         log Gamma(sum gamma) - log Gamma(sum alpha)

    Their sum is minus the bound, eq. (15) of Blei et al.
    """
    alpha, topics = np.asarray(model.alpha_), np.asarray(model.topics_)
    counts, gamma, log_weights, norms = posterior
    ratios, weights = _ratios(counts, norms), posterior.weights
    assigned = expected_topics(model, posterior)
    by_topic = weights * (ratios @ times_log(topics, topics).T)
    log_norms = np.log(norms, out=np.zeros_like(norms), where=counts > 0)
    by_norm = weights * ((ratios * log_norms) @ topics.T)
    return {
        "word_entropy": assigned * log_weights + by_topic - by_norm,
        "assignment_energy": -assigned * log_weights,
        "word_energy": -by_topic,
        "proportion_entropy": (gamma - 1.0) * log_weights - gammaln(gamma),
        "proportion_energy": gammaln(alpha) - (alpha - 1.0) * log_weights,
        "normalisation": (gammaln(gamma.sum(axis=1)) - gammaln(alpha.sum()))[:, None],
    }


def expected_topics(model: TopicModel, posterior: TopicPosterior) -> np.ndarray:
    """Return the expected counts sum_v n_v phi_vz (n, Z) of words from each topic."""
    ratios = _ratios(posterior.counts, posterior.norms)
    return posterior.weights * (ratios @ np.asarray(model.topics_).T)


def expected_words(model: TopicModel, posterior: TopicPosterior) -> np.ndarray:
    """Return the expected counts n_v phi_vz (n, Z, W) of each word from each topic."""
    ratios = _ratios(posterior.counts, posterior.norms)
    return posterior.weights[:, :, None] * np.asarray(model.topics_) * ratios[:, None]


def _expected_logs(proportions: np.ndarray) -> np.ndarray:
    """Return E log theta (n, Z) of Dirichlet distributions."""
    return psi(proportions) - psi(proportions.sum(axis=1, keepdims=True))


def _ratios(counts: np.ndarray, norms: np.ndarray) -> np.ndarray:
    """Return n_v / r_v, and zero for words that do not occur."""
    return np.divide(counts, norms, out=np.zeros_like(counts), where=counts > 0)


def read_counts(counts):
    """Return bags as a finite float64 array (n, W), or as a sparse matrix of rows.

    Raises ValueError if the shape is not (n, W), a count is negative or not finite, or a bag is
    empty.
    """
    if hasattr(counts, "tocsr"):
        if counts.dtype.kind == "c":
            raise ValueError("Complex data not supported: Counts must hold real numbers.")
        counts = counts.tocsr().astype(np.float64)
        values = counts.data
    else:
        values = counts = as_numbers(counts, "Counts")
    if counts.ndim != 2 or 0 in counts.shape:
        raise ValueError(f"Counts must be a matrix (bags, words); found the shape {counts.shape}.")
    if not np.isfinite(values).all():
        raise ValueError("Counts must be finite; there is NaN or infinity.")
    if (values < 0).any():
        raise ValueError("Negative values in data. Counts must not be negative.")
    empty = np.flatnonzero(np.asarray(counts.sum(axis=1)).ravel() == 0)
    if len(empty):
        raise ValueError(f"Bag {empty[0]} is empty. Leave it out.")
    return counts
