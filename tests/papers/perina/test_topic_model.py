"""Topic models: the bound against enumeration and scikit-learn, and their score spaces."""

import itertools
import re

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.special import gammaln
from sklearn.base import clone
from sklearn.decomposition import LatentDirichletAllocation
from small_data import numerical_jacobian

from workflow_lib import ScoreSpace, TopicModel
from workflow_lib.papers.perina import topic_model


def model_with(n_topics: int = 3, n_words: int = 5, seed: int = 0) -> TopicModel:
    """Return a model with random topics and unequal alpha."""
    random = np.random.default_rng(seed)
    model = TopicModel(n_topics)
    model.topics_ = random.dirichlet(np.ones(n_words), size=n_topics)
    model.alpha_ = random.uniform(0.3, 1.5, size=n_topics)
    return model


def bags(n: int = 30, n_words: int = 5, seed: int = 1) -> np.ndarray:
    """Return counts that are not empty."""
    counts = np.random.default_rng(seed).poisson(1.0, size=(n, n_words))
    counts[:, 0] += counts.sum(axis=1) == 0
    return counts


@pytest.fixture
def converged(monkeypatch):
    monkeypatch.setattr(topic_model, "TOLERANCE", 1e-13)
    monkeypatch.setattr(topic_model, "MAX_ITERATIONS", 20_000)


def enumerated(model, counts) -> float:
    """Return log p of the words of one bag, as a sum over the topics of all words."""
    alpha, words = model.alpha_, np.repeat(np.arange(len(counts)), counts)
    total = 0.0
    for topics in itertools.product(range(len(alpha)), repeat=len(words)):
        assigned = np.bincount(topics, minlength=len(alpha))
        log_p = gammaln(alpha.sum()) - gammaln(alpha.sum() + len(words))
        log_p += (gammaln(alpha + assigned) - gammaln(alpha)).sum()
        total += np.exp(log_p) * np.prod(model.topics_[topics, words])
    return np.log(total)


# --- the bound -----------------------------------------------------------------------------------


@pytest.mark.parametrize("n_topics", [2, 3])
def test_the_bound_is_below_the_sum_over_all_assignments(n_topics):
    model, counts = model_with(n_topics), bags(20)
    counts = counts[counts.sum(axis=1) <= 6]
    exact = [enumerated(model, own) for own in counts]
    bounds = model.score_samples(counts)
    assert len(counts) > 5 and (bounds <= np.array(exact) + 1e-9).all()
    assert (bounds > np.array(exact) - 1.0).all()


def test_with_one_topic_the_bound_is_the_likelihood():
    model, counts = model_with(1), bags()
    expected = counts @ np.log(model.topics_[0])
    np.testing.assert_allclose(model.score_samples(counts), expected, rtol=1e-12)


def test_proportions_and_bound_are_those_of_scikit_learn(converged):
    counts = bags(40, 8).astype(float)
    peer = LatentDirichletAllocation(
        3, doc_topic_prior=0.7, mean_change_tol=1e-13, max_doc_update_iter=20_000, random_state=0
    ).fit(counts)
    model = TopicModel(3)
    model.topics_, model.alpha_ = peer.exp_dirichlet_component_, np.full(3, 0.7)
    gamma = peer._unnormalized_transform(counts)
    found = np.concatenate([each.proportions for each in model.posteriors(counts)])
    np.testing.assert_allclose(found, gamma, atol=1e-8)
    np.testing.assert_allclose(model.proportions(counts), peer.transform(counts), atol=1e-9)
    # Theirs holds a part of the topics, which is what is left without any bag.
    bound = peer._approx_bound(counts, gamma, False) - peer._approx_bound(
        counts[:0], gamma[:0], False
    )
    assert model.score_samples(counts).sum() == pytest.approx(bound, rel=1e-10)


def test_fit_takes_the_topics_of_scikit_learn():
    random = np.random.default_rng(0)
    topics = np.array([[0.45, 0.45, 0.05, 0.05, 0.0], [0.0, 0.05, 0.05, 0.45, 0.45]])
    theta = random.dirichlet([0.3, 0.3], size=300)
    counts = np.stack([random.multinomial(80, own) for own in theta @ topics])
    model = TopicModel(2, alpha=0.3).fit(counts)
    order = np.argsort(-model.topics_[:, 0])
    np.testing.assert_allclose(model.topics_[order], topics, atol=0.03)
    np.testing.assert_allclose(model.proportions(counts)[:, order], theta, atol=0.2)
    np.testing.assert_allclose(model.topics_.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.alpha_, [0.3, 0.3])
    np.testing.assert_array_equal(clone(model).fit(counts).topics_, model.topics_)


def test_sparse_counts_blocks_and_other_bags_change_nothing(monkeypatch):
    model, counts = model_with(), bags()
    expected = model.score_samples(counts)
    np.testing.assert_array_equal(model.score_samples(csr_matrix(counts)), expected)
    alone = np.concatenate([model.score_samples(own[None]) for own in counts])
    np.testing.assert_allclose(alone, expected, atol=1e-12)
    monkeypatch.setattr(topic_model, "BLOCK_NUMBERS", 20)
    np.testing.assert_allclose(model.score_samples(counts), expected, atol=1e-12)
    sparse = TopicModel(2, max_iter=5).fit(csr_matrix(counts))
    np.testing.assert_allclose(sparse.topics_, TopicModel(2, max_iter=5).fit(counts).topics_)


# --- score spaces --------------------------------------------------------------------------------


@pytest.mark.parametrize(("level", "columns"), [("state", 16), ("symbol", 28), ("term", 6)])
def test_the_terms_of_every_level_sum_to_minus_the_bound(level, columns):
    model, counts = model_with(), bags()
    space = ScoreSpace(model, level=level)
    vectors = space.transform(counts)
    assert vectors.shape == (len(counts), columns)
    sums = vectors.sum(axis=1) * counts.sum(axis=1)
    np.testing.assert_allclose(sums, -model.score_samples(counts), rtol=1e-11)
    bound = ScoreSpace(model, "log_likelihood").transform(counts)
    np.testing.assert_array_equal(bound[:, 0], model.score_samples(counts))


def test_energies_by_word_sum_to_those_by_topic():
    model, counts = model_with(), bags()
    by_topic, by_word = ScoreSpace(model), ScoreSpace(model, level="symbol")
    topics, words = by_topic.transform(counts), by_word.transform(counts)
    np.testing.assert_allclose(
        words[:, by_word.blocks["word_energy"]].reshape(-1, 3, 5).sum(axis=2),
        topics[:, by_topic.blocks["word_energy"]],
        atol=1e-12,
    )


@pytest.mark.parametrize("parametrization", ["free", "softmax"])
def test_fisher_scores_are_the_derivatives_of_the_bound(parametrization, converged):
    model, counts = model_with(), bags(8)

    def bound(vector):
        other = TopicModel(3)
        alpha, topics = vector[:3], vector[3:].reshape(3, 5)
        if parametrization == "softmax":
            alpha, topics = np.exp(alpha), np.exp(topics)
            topics /= topics.sum(axis=1, keepdims=True)
        other.alpha_, other.topics_ = alpha, topics
        return other.score_samples(counts)

    point = np.concatenate([model.alpha_, model.topics_.ravel()])
    point = np.log(point) if parametrization == "softmax" else point
    found = ScoreSpace(model, "fisher", parametrization=parametrization).transform(counts)
    np.testing.assert_allclose(found, numerical_jacobian(bound, point, 1e-5), atol=1e-5)


@pytest.mark.parametrize(("level", "columns"), [("state", 3), ("symbol", 15), ("term", 1)])
def test_expected_counts_are_those_of_all_words(level, columns):
    model, counts = model_with(), bags()
    vectors = ScoreSpace(model, "expected_counts", level, divide_by_length=False).transform(counts)
    assert vectors.shape[1] == columns
    np.testing.assert_allclose(vectors.sum(axis=1), counts.sum(axis=1), rtol=1e-12)


def test_energies_by_word_are_the_expected_counts_up_to_their_scale():
    model, counts = model_with(), bags()
    energies, expected = (
        ScoreSpace(model, level="symbol"),
        ScoreSpace(model, "expected_counts", "symbol"),
    )
    own, words = energies.transform(counts), expected.transform(counts)
    logs = -np.log(model.topics_).ravel()
    np.testing.assert_allclose(own[:, energies.blocks["word_energy"]], words * logs, atol=1e-12)


def test_relabelled_topics_permute_the_columns():
    model, counts, order = model_with(), bags(), [2, 0, 1]
    other = clone(model)
    other.topics_, other.alpha_ = model.topics_[order], model.alpha_[order]
    own, relabelled = (ScoreSpace(each).transform(counts) for each in (model, other))
    blocks = own[:, :15].reshape(-1, 5, 3)[:, :, order].reshape(-1, 15)
    np.testing.assert_allclose(relabelled[:, :15], blocks, atol=1e-10)


@pytest.mark.parametrize("as_given", [np.asarray, csr_matrix])
def test_models_of_classes_are_fitted_to_their_bags(as_given):
    counts, y = bags(), np.arange(30) % 2
    models = [TopicModel(2, max_iter=5), TopicModel(2, max_iter=5)]
    space = ScoreSpace(models, "top").fit(as_given(counts), y)
    alone = TopicModel(2, max_iter=5).fit(counts[y == 1])
    np.testing.assert_allclose(space.models_[0].topics_, alone.topics_)
    vectors = space.transform(as_given(counts))
    odds = space.models_[0].score_samples(counts) - space.models_[1].score_samples(counts)
    np.testing.assert_allclose(vectors[:, 0], odds, atol=1e-12)


# --- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([[1, -1]], "Counts must not be negative."),
        ([[1, np.nan]], "Counts must be finite"),
        ([[1, 0], [0, 0]], "Bag 1 is empty. Leave it out."),
        ([1, 2], "Counts must be a matrix (bags, words); found the shape (2,)."),
    ],
)
def test_bad_counts_are_named(counts, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        TopicModel(2).fit(counts)
    with pytest.raises(ValueError, match=re.escape(message)):
        model_with(2, 2).score_samples(counts)


def test_other_words_than_those_of_the_topics_are_refused():
    with pytest.raises(ValueError, match="counts has 4 columns; the model has 5."):
        model_with().score_samples(bags(n_words=4))
    model = model_with(2, 3)
    model.topics_ = np.array([[0.5, 0.5, 0.0]] * 2)
    with pytest.raises(ValueError, match="Bag 1 holds the word 2, which has probability zero"):
        model.score_samples([[1, 1, 0], [0, 1, 1]])
    assert np.isfinite(model.score_samples([[1, 1, 0]])).all()


def test_bags_have_no_positions():
    with pytest.raises(ValueError, match="level='position' needs sequences; a bag has no order"):
        ScoreSpace(model_with(), level="position").transform(bags())


@pytest.mark.parametrize("settings", [{"n_topics": 0}, {"alpha": 0.0}, {"max_iter": 0}])
def test_bad_settings_are_refused(settings):
    with pytest.raises(ValueError, match="must be"):
        TopicModel(**settings).fit(bags())


def test_few_bags_and_words_that_were_never_seen_have_finite_scores():
    counts = bags(3, n_words=6)
    counts[:, 5] = 0
    model = TopicModel(4, max_iter=5).fit(counts)
    new = np.array([[0, 0, 0, 0, 0, 9], [1, 0, 0, 2, 0, 300]])
    for kind in ("free_energy", "fisher", "expected_counts"):
        for level in ("state", "symbol"):
            assert np.isfinite(ScoreSpace(model, kind, level).transform(new)).all()
    np.testing.assert_allclose(model.proportions(new).sum(axis=1), 1.0)
