"""Fisher vectors of sets: by derivatives, the Fisher embedding, another library, and invariants."""

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


def drawn_positions(sets, seed=0):
    generator = np.random.default_rng(seed)
    return [generator.random((len(members), 2)) for members in sets]


def raw(vectors, members):
    """Return the mean scaled scores before root and length."""
    return vectors.gradients(vectors.statistics(members))


def improved(vector):
    roots = np.sign(vector) * np.sqrt(np.abs(vector))
    length = np.linalg.norm(roots)
    return roots / length if length > 0 else roots


def test_fisher_vectors_are_scaled_sums_of_the_fisher_embedding():
    model = fitted()
    embedding = FisherEmbedding(model, form="full", covariance_block="constrained")
    vectors = FisherVectors(model)
    deviations, roots = np.sqrt(model.covariances_), np.sqrt(model.weights_)[:, None]
    for members in sets():
        mean_scores = embedding.transform(members).mean(axis=0)
        mu = mean_scores[embedding.blocks["mu"]].reshape(4, 5) * deviations / roots
        sigma = mean_scores[embedding.blocks["sigma"]].reshape(4, 5)
        sigma = sigma * model.covariances_ / (np.sqrt(2) * roots)
        expected = np.concatenate([mu.ravel(), sigma.ravel()])
        np.testing.assert_allclose(raw(vectors, members), expected, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(
            vectors.transform([members])[0], improved(expected), rtol=1e-7, atol=1e-8
        )


def test_fisher_vectors_are_derivatives_of_the_log_likelihood():
    model, members, step = fitted(), descriptors(40, seed=1), 1e-5
    found = raw(FisherVectors(model), members).reshape(2, 4, 5)
    deviations = np.sqrt(model.covariances_)

    def log_likelihood(means, deviations):
        changed = GaussianMixtureModel(4, "diag", 1e-3)
        changed.weights_, changed.means_, changed.covariances_ = (
            model.weights_,
            means,
            deviations**2,
        )
        return changed.score_samples(members).mean()

    for component, number in [(0, 0), (1, 3), (3, 4)]:
        change = np.zeros((4, 5))
        change[component, number] = step
        by_mean = log_likelihood(model.means_ + change, deviations)
        by_mean -= log_likelihood(model.means_ - change, deviations)
        by_deviation = log_likelihood(model.means_, deviations + change)
        by_deviation -= log_likelihood(model.means_, deviations - change)
        # The root of the inverse of the Fisher information, approximately diagonal.
        scale = deviations[component, number] / np.sqrt(model.weights_[component]) / (2 * step)
        assert found[0, component, number] == pytest.approx(by_mean * scale, abs=1e-6)
        expected = by_deviation * scale / np.sqrt(2)
        assert found[1, component, number] == pytest.approx(expected, abs=1e-6)


def test_fisher_vectors_are_those_of_scikit_image():
    feature = pytest.importorskip("skimage.feature")
    mixture = pytest.importorskip("sklearn.mixture")
    model = fitted()
    theirs = mixture.GaussianMixture(4, covariance_type="diag")
    theirs.weights_, theirs.means_, theirs.covariances_ = (
        model.weights_,
        model.means_,
        model.covariances_,
    )
    theirs.precisions_cholesky_ = 1 / np.sqrt(model.covariances_)
    for members in sets():
        expected = feature.fisher_vector(members, theirs, improved=True)
        # After the derivatives with respect to the weights, which ours lacks; so the length
        # differs. Those of the deviations have the opposite sign (numerical derivatives confirm
        # ours).
        expected = expected[4:] * np.repeat([1, -1], 20)
        found = FisherVectors(model).transform([members])[0]
        np.testing.assert_allclose(found, expected / np.linalg.norm(expected), atol=1e-7)


def test_responsibilities_are_those_of_the_model():
    model, far = fitted(), 100 * descriptors(20, seed=3)
    vectors = FisherVectors(model)
    for rows in (descriptors(seed=2), far):
        np.testing.assert_allclose(
            vectors.responsibilities(rows), model.responsibilities(rows), atol=1e-9
        )


def test_scores_of_draws_from_the_mixture_have_mean_zero_and_unit_variance():
    generator = np.random.default_rng(0)
    model = fitted()
    # Far apart, so that the Fisher information is diagonal and its approximation exact.
    model.means_ = model.means_ + 40 * np.arange(4)[:, None]
    labels = generator.choice(4, size=20_000, p=model.weights_ / model.weights_.sum())
    rows = model.means_[labels] + generator.normal(size=(20_000, 5)) * np.sqrt(
        model.covariances_[labels]
    )
    vectors = FisherVectors(model)
    single = np.array([raw(vectors, row[None]) for row in rows[:4000]])
    np.testing.assert_allclose(raw(vectors, rows), 0.0, atol=0.04)
    np.testing.assert_allclose(single.var(axis=0), 1.0, atol=0.35)
    assert single.var(axis=0).mean() == pytest.approx(1.0, abs=0.05)


def test_statistics_of_a_union_are_added_up():
    vectors, members = FisherVectors(fitted()), descriptors(50, seed=4)
    parts = vectors.statistics(members[:20]).plus(vectors.statistics(members[20:]))
    whole = vectors.statistics(members)
    assert parts.count == whole.count == 50
    for own, its in zip(parts[1:], whole[1:]):
        np.testing.assert_allclose(own, its, rtol=1e-10)


def test_neither_order_nor_repetition_nor_the_other_sets_matter():
    vectors, members = FisherVectors(fitted()), descriptors(30, seed=5)
    alone = vectors.transform([members])[0]
    shuffled = np.random.default_rng(0).permutation(members)
    np.testing.assert_allclose(vectors.transform([shuffled])[0], alone, atol=1e-10)
    np.testing.assert_allclose(vectors.transform([np.tile(members, (3, 1))])[0], alone, atol=1e-10)
    np.testing.assert_allclose(vectors.transform([*sets(), members])[-1], alone, atol=1e-12)


@pytest.mark.parametrize("pyramid", ["none", "2x2", "3x1"])
def test_many_sets_together_are_described_as_each_alone(pyramid, monkeypatch):
    monkeypatch.setattr(fisher_vectors, "ROWS_AT_ONCE", 16)
    vectors = FisherVectors(fitted(), pyramid)
    sizes = [1, 1, 1, 0, 5, 1, 40, 16, 17, 0, 0, 3, *[1] * 70, 2]
    members = [descriptors(size, seed=index) for index, size in enumerate(sizes)]
    positions = drawn_positions(members)
    expected = []
    for own, where in zip(members, positions, strict=True):
        # One descriptor after the other, summed here.
        alone = [vectors.region_statistics(*each) for each in zip(own[:, None], where[:, None])]
        parts = [np.zeros(2 * 4 * 5)] * vectors.n_regions
        for region in range(vectors.n_regions):
            for statistics in alone:
                if statistics[region].count:
                    parts[region] = parts[region] + vectors.gradients(statistics[region])
        parts = np.concatenate([improved(part) for part in parts])
        length = np.linalg.norm(parts)
        expected.append(parts / length if length > 0 else parts)
    found = vectors.transform(members, positions)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    monkeypatch.setattr(fisher_vectors, "NUMBERS_AT_ONCE", 1)
    np.testing.assert_allclose(vectors.transform(members, positions), found, atol=1e-12)


def test_a_single_descriptor_is_described_as_a_set_of_its_copies():
    vectors, members = FisherVectors(fitted()), descriptors(20, seed=7)
    alone = vectors.transform(members[:, None])
    twice = vectors.transform([np.stack([row, row]) for row in members])
    np.testing.assert_allclose(alone, twice, atol=1e-9)


def test_scores_of_a_set_are_sums_of_those_of_its_descriptors_whatever_the_block(monkeypatch):
    vectors, members = FisherVectors(fitted()), descriptors(50, seed=8)
    whole = raw(vectors, members)
    np.testing.assert_allclose(
        np.mean([raw(vectors, row[None]) for row in members], axis=0), whole, atol=1e-12
    )
    monkeypatch.setattr(fisher_vectors, "ROWS_AT_ONCE", 7)
    np.testing.assert_allclose(raw(vectors, members), whole, atol=1e-12)


def test_statistics_of_many_sets_give_the_scores_of_each():
    vectors, members = FisherVectors(fitted()), sets()
    each = [vectors.statistics(own) for own in members]
    together = fisher_vectors.Statistics(*(np.stack(parts) for parts in zip(*each, strict=True)))
    np.testing.assert_array_equal(
        vectors.gradients(together), [vectors.gradients(statistics) for statistics in each]
    )


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
    vectors = FisherVectors(fitted(), "2x2")
    members = [*sets(), np.empty((0, 5))]
    found = vectors.transform(members, drawn_positions(members))
    assert found.shape == (4, vectors.n_features) == (4, 5 * 2 * 4 * 5)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), [1, 1, 1, 0], atol=1e-12)
    assert vectors.transform([], []).shape == (0, vectors.n_features)


@pytest.mark.parametrize(
    "pyramid, region_of",
    [
        ("2x2", lambda x, y: 2 * (y >= 0.5) + (x >= 0.5)),
        ("3x1", lambda x, y: (y >= 1 / 3) * 1 + (y >= 2 / 3)),
    ],
)
def test_a_pyramid_holds_the_whole_and_then_its_regions(pyramid, region_of):
    model, members = fitted(), descriptors(60, seed=6)
    (positions,) = drawn_positions([members])
    positions[0] = [1.0, 1.0]
    positions[1] = [0.0, 0.0]
    region = np.array([region_of(x, y) for x, y in positions])
    vectors, single = FisherVectors(model, pyramid), FisherVectors(model)
    chosen = [members, *(members[region == r] for r in range(region.max() + 1))]
    expected = single.transform(chosen).ravel() / np.sqrt(len(chosen))
    np.testing.assert_allclose(
        vectors.transform([members], [positions])[0], expected, rtol=1e-9, atol=1e-11
    )
    assert vectors.n_features == len(expected)


def test_faults_are_named():
    with pytest.raises(ValueError, match="covariance_type='diag'"):
        FisherVectors(GaussianMixtureModel(2, "spherical").fit(descriptors()))
    model = fitted()
    with pytest.raises(ValueError, match="pyramid must be one of .*found '4x4'"):
        FisherVectors(model, "4x4")
    with pytest.raises(ValueError, match=r"shape \(m, 5\); found \(3, 4\)"):
        FisherVectors(model).transform([np.zeros((3, 4))])
    with pytest.raises(ValueError, match="must be finite"):
        FisherVectors(model).transform([np.full((3, 5), np.nan)])
    pyramid = FisherVectors(model, "2x2")
    with pytest.raises(ValueError, match="needs the positions"):
        pyramid.transform([np.zeros((3, 5))])
    with pytest.raises(ValueError, match="1 arrays of positions for 2 sets"):
        pyramid.transform([np.zeros((3, 5))] * 2, [np.zeros((3, 2))])
    with pytest.raises(ValueError, match=r"shape \(3, 2\); found \(2, 2\)"):
        pyramid.transform([np.zeros((3, 5))], [np.zeros((2, 2))])
    with pytest.raises(ValueError, match="between 0 and 1"):
        pyramid.transform([np.zeros((3, 5))], [np.full((3, 2), 1.5)])
