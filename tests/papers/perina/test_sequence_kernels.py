"""Marginalised count kernels and probability product kernels, against sums over everything."""

import itertools

import numpy as np
import pytest
from hidden_markov_samples import likelihoods, model_with, random_rows

from workflow_lib.items.kinds.letters import letter_rows, sequences_in
from workflow_lib.papers.perina.marginalised_counts import MarginalisedCounts
from workflow_lib.papers.perina.probability_products import hidden_markov_products, markov_products
from workflow_lib.papers.perina.product_features import HiddenMarkovProducts, MarkovProducts
from workflow_lib.solvers.stored.estimator import estimator_bytes, estimator_from_bytes

TEXTS = ["ACGTTGA", "GGA", "TTTTACA", "CANGTA", "A", "GATTACA", "CCGCG", "AATAAT"]
ROWS = letter_rows(TEXTS, "ACGT")
LETTERS = range(4)


# --- marginalised count kernels ------------------------------------------------------------------


def counts_of_paths(model, sequence, order: int) -> np.ndarray:
    """Return the expected counts of words of `order` (state, letter) as a sum over all paths."""
    n_states, n_symbols = model.emissions_.shape
    b, total = likelihoods(model, sequence), 0.0
    counts = np.zeros((n_states,) * order + (n_symbols,) * order)
    for path in itertools.product(range(n_states), repeat=len(sequence)):
        p = model.initial_[path[0]] * np.prod(b[range(len(sequence)), path])
        p *= np.prod([model.transitions_[pair] for pair in itertools.pairwise(path)])
        total += p
        for k in range(len(sequence) - order + 1):
            letters = sequence[k : k + order]
            if (letters >= 0).all():
                counts[(*path[k : k + order], *letters)] += p
    return counts.ravel() / total


@pytest.mark.parametrize("order", [1, 2])
def test_marginalised_counts_are_sums_over_all_paths(order):
    features = MarginalisedCounts(3, order, n_symbols=4)
    found = features.fit_transform(ROWS)
    sequences = sequences_in(ROWS)
    expected = [counts_of_paths(features.model_, own, order) / len(own) for own in sequences]
    np.testing.assert_allclose(found, expected, atol=1e-14)
    again = estimator_from_bytes(estimator_bytes(features))
    np.testing.assert_array_equal(again.transform(ROWS), found)


def test_with_one_state_marginalised_pairs_are_shares_of_words():
    found = MarginalisedCounts(1, 2, n_symbols=4).fit_transform(ROWS)
    sequence = sequences_in(ROWS)[0]
    expected = np.bincount(sequence[:-1] * 4 + sequence[1:], minlength=16) / len(sequence)
    np.testing.assert_allclose(found[0], expected, atol=1e-14)
    with pytest.raises(ValueError, match="order must be 1 or 2"):
        MarginalisedCounts(order=3, n_symbols=4).fit(ROWS)


# --- probability product kernels -----------------------------------------------------------------


def stacked(models) -> list[np.ndarray]:
    parts = [(model.initial_, model.transitions_, model.emissions_) for model in models]
    return [np.stack(arrays) for arrays in zip(*parts)]


@pytest.mark.parametrize("n_states", [1, 3])
@pytest.mark.parametrize("length", [1, 4])
def test_products_of_hidden_markov_models_are_sums_over_all_sequences(length, n_states):
    models = [model_with("categorical", n_states, seed) for seed in range(3)]
    everything = np.array(list(itertools.product(LETTERS, repeat=length)))
    powers = np.exp([model.score_samples(everything) for model in models])
    both = stacked(models)
    found = hidden_markov_products(stacked(models[:2]), both, length)
    np.testing.assert_allclose(np.exp(found), powers[:2] @ powers.T, rtol=1e-12)
    own = hidden_markov_products(both, both, length, paired=True)
    np.testing.assert_allclose(np.exp(own[:, 0]), (powers**2).sum(axis=1), rtol=1e-12)


def chain_probability(initial, transitions, sequence, order: int) -> float:
    context = int(np.dot(sequence[:order], 4 ** np.arange(order)[::-1]))
    p = initial[context]
    for letter in sequence[order:]:
        p *= transitions[context, letter]
        context = (4 * context + letter) % len(initial)
    return p


@pytest.mark.parametrize(("order", "length"), [(1, 1), (1, 4), (2, 5)])
@pytest.mark.parametrize("rho", [0.5, 1.0])
def test_products_of_markov_chains_are_sums_over_all_sequences(rho, order, length):
    random = np.random.default_rng(0)
    chains = random_rows(random, 3, 4**order), random_rows(random, 3, 4**order, 4)
    everything = list(itertools.product(LETTERS, repeat=length))
    powers = np.array(
        [[chain_probability(*own, x, order) ** rho for x in everything] for own in zip(*chains)]
    )
    found = markov_products(chains, chains, length, rho)
    np.testing.assert_allclose(np.exp(found), powers @ powers.T, rtol=1e-12)
    own = markov_products(chains, chains, length, rho, paired=True)
    np.testing.assert_allclose(own[:, 0], np.diag(found), rtol=1e-12)


@pytest.mark.parametrize(
    "features",
    [HiddenMarkovProducts(4, n_symbols=4), MarkovProducts(4, 2, n_symbols=4, n_landmarks=None)],
)
def test_inner_products_of_features_are_the_divided_kernel(features):
    found = features.fit_transform(ROWS)
    models = features._models(sequences_in(ROWS))
    kernel = np.exp(features._log_products(models, models))
    lengths = np.sqrt(np.diag(kernel))
    np.testing.assert_allclose(found @ found.T, kernel / np.outer(lengths, lengths), atol=1e-7)
    # A row has the same features whatever else is transformed with it.
    np.testing.assert_allclose(features.transform(ROWS[3:5]), found[3:5], atol=1e-10)
    again = estimator_from_bytes(estimator_bytes(features))
    np.testing.assert_array_equal(again.transform(ROWS), found)


def test_fewer_landmarks_keep_the_lengths_and_the_products_with_them():
    few = HiddenMarkovProducts(4, n_symbols=4, n_landmarks=3).fit(ROWS)
    found = few.transform(ROWS)
    assert found.shape[1] <= 4
    np.testing.assert_allclose((found**2).sum(axis=1), 1.0)
    models = few._models(sequences_in(ROWS))
    inner = few._kernel(few.landmarks_) @ few.directions_
    np.testing.assert_allclose(found[:, :-1] @ inner.T, few._kernel(models), atol=1e-8)


def test_what_the_recursions_cannot_sum_is_refused():
    with pytest.raises(ValueError, match="length=1 is less than the order 2"):
        MarkovProducts(1, 2, n_symbols=4).fit(ROWS)
    with pytest.raises(ValueError, match="prior must be positive"):
        HiddenMarkovProducts(prior=0.0, n_symbols=4).fit(ROWS)
