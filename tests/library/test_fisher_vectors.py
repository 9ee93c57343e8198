"""Fisher vectors of sets: by derivatives, the Fisher embedding, and invariants."""

import numpy as np
import pytest

from workflow_lib.inputs import fisher_vectors
from workflow_lib.inputs.fisher_vectors import FisherVectors
from workflow_lib.models.fisher import FisherEmbedding
from workflow_lib.models.mixtures.mixture import GaussianMixtureModel


def descriptors(n_rows=200, dimension=5, seed=0):
    generator = np.random.default_rng(seed)
    centres = 3 * generator.normal(size=(4, dimension))
    labels = generator.integers(4, size=n_rows)
    return centres[labels] + generator.normal(size=(n_rows, dimension)) * [1, 2, 0.5, 1, 1.5]


def fitted(n_components=4):
    return GaussianMixtureModel(n_components, "diag", 1e-3, n_init=1).fit(descriptors())


def sets():
    return [descriptors(m, seed=m) for m in (30, 1, 12)]


def improved(vector):
    roots = np.sign(vector) * np.sqrt(np.abs(vector))
    length = np.linalg.norm(roots)
    return roots / length if length > 0 else roots


def mean_scores(model, members):
    """Return a Fisher vector (2 C d,) before root and length, by the Fisher embedding."""
    embedding = FisherEmbedding(model, form="full", covariance_block="constrained")
    deviations, roots = np.sqrt(model.covariances_), np.sqrt(model.weights_)[:, None]
    scores = embedding.transform(members).mean(axis=0)
    mu = scores[embedding.blocks["mu"]].reshape(deviations.shape) * deviations / roots
    sigma = scores[embedding.blocks["sigma"]].reshape(deviations.shape)
    sigma = sigma * model.covariances_ / (np.sqrt(2) * roots)
    return np.concatenate([mu.ravel(), sigma.ravel()])


def test_fisher_vectors_are_scaled_sums_of_the_fisher_embedding():
    model = fitted()
    vectors = FisherVectors(model)
    for members in sets():
        np.testing.assert_allclose(
            vectors.transform([members])[0],
            improved(mean_scores(model, members)),
            rtol=1e-7,
            atol=1e-8,
        )


def test_fisher_vectors_are_derivatives_of_the_log_likelihood():
    model, members, step = fitted(), descriptors(40, seed=1), 1e-5
    deviations = np.sqrt(model.covariances_)

    def log_likelihood(means, deviations):
        changed = GaussianMixtureModel(4, "diag", 1e-3)
        changed.weights_, changed.means_, changed.covariances_ = (
            model.weights_,
            means,
            deviations**2,
        )
        return changed.score_samples(members).mean()

    expected = np.empty((2, 4, 5))
    for component, number in np.ndindex(4, 5):
        change = np.zeros((4, 5))
        change[component, number] = step
        by_mean = log_likelihood(model.means_ + change, deviations)
        by_mean -= log_likelihood(model.means_ - change, deviations)
        by_deviation = log_likelihood(model.means_, deviations + change)
        by_deviation -= log_likelihood(model.means_, deviations - change)
        # The root of the inverse of the Fisher information, approximately diagonal.
        scale = deviations[component, number] / np.sqrt(model.weights_[component])
        expected[:, component, number] = by_mean * scale, by_deviation * scale / np.sqrt(2)
    found = FisherVectors(model).transform([members])[0]
    np.testing.assert_allclose(found, improved(expected.ravel()), atol=1e-4)


def test_neither_order_nor_repetition_nor_the_other_sets_matter():
    vectors, members = FisherVectors(fitted()), descriptors(30, seed=5)
    alone = vectors.transform([members])[0]
    shuffled = np.random.default_rng(0).permutation(members)
    np.testing.assert_allclose(vectors.transform([shuffled])[0], alone, atol=1e-10)
    np.testing.assert_allclose(vectors.transform([np.tile(members, (3, 1))])[0], alone, atol=1e-10)
    np.testing.assert_allclose(vectors.transform([*sets(), members])[-1], alone, atol=1e-12)


def test_many_sets_together_are_described_as_each_alone_in_pieces(monkeypatch):
    vectors = FisherVectors(fitted())
    sizes = [1, 1, 1, 0, 5, 1, 40, 16, 17, 0, 0, 3, *[1] * 70, 2]
    members = [descriptors(size, seed=index) for index, size in enumerate(sizes)]
    expected = [vectors.transform([own])[0] for own in members]
    for rows_at_once, numbers_at_once in ((16, 2**16), (7, 1)):
        monkeypatch.setattr(fisher_vectors, "ROWS_AT_ONCE", rows_at_once)
        monkeypatch.setattr(fisher_vectors, "NUMBERS_AT_ONCE", numbers_at_once)
        np.testing.assert_allclose(vectors.transform(members), expected, atol=1e-9)


def test_a_single_descriptor_is_described_as_a_set_of_its_copies():
    vectors, members = FisherVectors(fitted()), descriptors(20, seed=7)
    alone = vectors.transform(members[:, None])
    twice = vectors.transform([np.stack([row, row]) for row in members])
    np.testing.assert_allclose(alone, twice, atol=1e-9)


def test_rescaled_descriptors_with_a_rescaled_model_have_the_same_vectors():
    model, scale = fitted(), np.array([1e-3, 1.0, 7.0, 1e3, 2.0])
    scaled = GaussianMixtureModel(4, "diag", 1e-3)
    scaled.weights_ = model.weights_
    scaled.means_, scaled.covariances_ = model.means_ * scale + 5, model.covariances_ * scale**2
    for members in sets():
        np.testing.assert_allclose(
            FisherVectors(scaled).transform([members * scale + 5]),
            FisherVectors(model).transform([members]),
            atol=1e-6,
        )


def test_vectors_have_unit_length_and_empty_sets_are_zero():
    vectors = FisherVectors(fitted())
    found = vectors.transform([*sets(), np.empty((0, 5))])
    assert found.shape == (4, vectors.n_features) == (4, 2 * 4 * 5)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), [1, 1, 1, 0], atol=1e-12)
    assert vectors.transform([]).shape == (0, vectors.n_features)


def test_faults_are_named():
    with pytest.raises(ValueError, match="covariance_type='diag'"):
        FisherVectors(GaussianMixtureModel(2, "spherical").fit(descriptors()))
    vectors = FisherVectors(fitted())
    with pytest.raises(ValueError, match=r"shape \(m, 5\); found \(3, 4\)"):
        vectors.transform([np.zeros((3, 4))])
    with pytest.raises(ValueError, match="must be finite"):
        vectors.transform([np.full((3, 5), np.nan)])
