"""Fisher scores of texts and trees."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.sparse import csr_array
from scipy.stats import dirichlet_multinomial

from workflow_lib.inputs.term_scores import (
    TermWeights,
    dirichlet_scores,
    fit_dirichlet,
    fit_terms,
    markov_scores,
    terms_from_tree,
)

SCALES = ("tf-idf", "multinomial", "dirichlet-multinomial", "markov")
ONE_STATE = np.zeros(4, dtype=int)
ALPHA = np.array([0.2, 1.0, 0.5, 3.0])


def texts(n_rows=200, alpha=ALPHA, seed=0, length=30):
    generator = np.random.default_rng(seed)
    shares = generator.dirichlet(alpha, size=n_rows)
    return np.array([generator.multinomial(length, row) for row in shares]).astype(float)


def log_likelihoods(counts, alpha):
    return dirichlet_multinomial.logpmf(counts.astype(int), alpha, counts[0].sum())


def test_scores_are_finite_differences_of_the_log_likelihood():
    for row in texts(5):
        expected = approx_fprime(ALPHA, lambda alpha, row=row: log_likelihoods(row[None], alpha)[0])
        np.testing.assert_allclose(dirichlet_scores(row[None], ALPHA)[0], expected, atol=1e-5)


def test_the_likelihood_is_greatest_where_scores_sum_to_zero(monkeypatch):
    counts = texts()
    likelihoods = []
    for most in range(1, 30):
        monkeypatch.setattr("workflow_lib.inputs.term_scores.MAX_ITERATIONS", most)
        likelihoods.append(log_likelihoods(counts, fit_dirichlet(csr_array(counts))).sum())
    assert (np.diff(likelihoods) >= -1e-9).all()
    monkeypatch.setattr("workflow_lib.inputs.term_scores.MAX_ITERATIONS", 5000)
    monkeypatch.setattr("workflow_lib.inputs.term_scores.TOLERANCE", 1e-12)
    alpha = fit_dirichlet(csr_array(counts))
    scores = dirichlet_scores(counts, alpha)
    np.testing.assert_allclose(scores.sum(axis=0), 0.0, atol=1e-4)
    np.testing.assert_allclose(alpha, ALPHA, rtol=0.35)


STATES = np.array([0, 1, 0, 1, 0])


def transitions(n_rows=60):
    """Return counts (n, 5) of transitions from two states, of means that differ."""
    return np.random.default_rng(0).poisson([6.0, 1.0, 2.0, 4.0, 3.0], size=(n_rows, 5)) + 0.0


def by_state(values):
    """Return the sums (2,) of values (5,) over the transitions of each state."""
    return np.bincount(STATES, values)


def test_scores_of_trees_are_finite_differences_of_the_log_likelihood():
    logits = np.random.default_rng(1).normal(size=5)

    def probabilities(logits):
        return np.exp(logits) / by_state(np.exp(logits))[STATES]

    counts = transitions(5)
    found = markov_scores(counts, probabilities(logits), STATES)
    for row, scores in zip(counts, found, strict=True):
        expected = approx_fprime(
            logits, lambda logits, row=row: row @ np.log(probabilities(logits)), 1e-7
        )
        np.testing.assert_allclose(scores, expected, atol=1e-5)
    fitted = fit_terms(csr_array(counts), "markov", STATES)
    most_likely = fitted.mean_counts / by_state(fitted.mean_counts)[STATES]
    mean = markov_scores(counts, most_likely, STATES).mean(axis=0)
    np.testing.assert_allclose(mean, 0.0, atol=1e-12)


def test_scores_of_trees_are_whitened():
    counts = transitions(4000)
    scores = fit_terms(csr_array(counts), "markov", STATES)
    expected = scores.mean_counts
    shares = expected / by_state(expected)[STATES]
    raw = markov_scores(counts, shares, STATES) / np.sqrt(expected)
    roots = np.sqrt(shares)
    projection = np.eye(5) - np.outer(roots, roots) * (STATES[:, None] == STATES)
    np.testing.assert_allclose(np.cov(raw.T), projection, atol=0.06)
    lengths = np.linalg.norm(raw, axis=1, keepdims=True)
    np.testing.assert_allclose(scores.apply(csr_array(counts)), raw / lengths, atol=1e-12)


def test_trees_of_one_state_are_texts():
    counts = csr_array(texts(20))
    of_texts = fit_terms(counts, "multinomial").apply(counts)
    of_trees = fit_terms(counts, "markov", ONE_STATE).apply(counts)
    np.testing.assert_allclose(of_trees, of_texts, atol=1e-12)


@pytest.mark.parametrize("scale", SCALES)
def test_all_kinds_are_of_unit_length_leave_out_rare_terms_and_are_stored(scale):
    counts = texts(20)
    counts[:, 0] = 0.0
    counts[0, 0] = 5.0
    counts[3] = 0.0
    fitted = fit_terms(csr_array(counts), scale, ONE_STATE)
    rows = fitted.apply(csr_array(counts))
    rows = rows if isinstance(rows, np.ndarray) else rows.toarray()
    lengths = np.linalg.norm(rows, axis=1)
    np.testing.assert_allclose(np.delete(lengths, 3), 1.0)
    assert lengths[3] == 0.0 and np.isfinite(rows).all() and fitted.n_terms == 4
    # A term of a single text has no column, or a column of zeros.
    assert rows.shape[1] == 3 or not rows[:, 0].any()
    again = terms_from_tree(fitted.tree())
    assert type(again) is type(fitted)
    assert isinstance(fitted, TermWeights) == (scale == "tf-idf")


@pytest.mark.parametrize("scale", SCALES)
def test_texts_without_common_terms_have_no_features(scale):
    fitted = fit_terms(csr_array(np.eye(4)), scale, ONE_STATE)
    rows = fitted.apply(csr_array(np.eye(4)))
    assert not (rows if isinstance(rows, np.ndarray) else rows.toarray()).any()
    known = fit_terms(csr_array(texts(20)), scale, ONE_STATE).apply(csr_array(np.zeros((1, 4))))
    assert not (known if isinstance(known, np.ndarray) else known.toarray()).any()
