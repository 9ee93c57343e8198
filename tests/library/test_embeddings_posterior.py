"""The posterior pre-image: its limits, linear shrinkage, and numerical integration."""

import numpy as np
import pytest
from each_case import each_case
from small_data import COVARIANCE_TYPES, clustered_outputs

from workflow_lib import FisherEmbedding, GaussianMixtureModel, GaussianModel, StateSpaceModel
from workflow_lib.models.posterior import GaussianPosterior

Y = clustered_outputs(60, 3, spread=1.5)
MODELS = {
    f"{shape}-{n}": (GaussianMixtureModel(n, shape, random_state=0) if n > 1 else None)
    or GaussianModel(shape)
    for shape in COVARIANCE_TYPES
    for n in (1, 3)
}
NOISES = {
    "number": 0.4,
    "vector": np.array([0.1, 0.4, 2.0]),
    "matrix": np.array([[0.5, 0.2, 0.0], [0.2, 0.6, -0.1], [0.0, -0.1, 0.3]]),
}


@pytest.fixture(scope="module", params=sorted(MODELS))
def embedding(request):
    return FisherEmbedding(MODELS[request.param].fit(Y))


def scaled(noise, factor):
    return factor * np.asarray(noise)


def model_mean(model):
    return model.weights_ @ model.means_


@each_case("noise", NOISES.values(), ids=list(NOISES))
def test_without_noise_it_is_the_identity_and_with_endless_noise_the_mean(embedding, noise):
    H = embedding.transform(Y)
    exact = embedding.inverse_transform(H, "posterior", noise_covariance=scaled(noise, 0.0))
    np.testing.assert_allclose(exact, Y, atol=1e-9)
    nearly = embedding.inverse_transform(H, "posterior", noise_covariance=scaled(noise, 1e-9))
    np.testing.assert_allclose(nearly, Y, atol=1e-6)
    endless = embedding.inverse_transform(H, "posterior", noise_covariance=scaled(noise, 1e12))
    expected = np.broadcast_to(model_mean(embedding.model), Y.shape)
    np.testing.assert_allclose(endless, expected, atol=1e-5)


def test_without_noise_it_is_the_projected_closed_form_of_any_embedding(embedding):
    H = embedding.transform(Y)
    H = H + 0.1 * H.std(axis=0) * np.random.default_rng(2).standard_normal(H.shape)
    found = embedding.inverse_transform(H, "posterior", noise_covariance=0.0)
    np.testing.assert_allclose(found, embedding.inverse_transform(H, "projected"), atol=1e-8)


def dense(values, dimension):
    values = np.asarray(values, dtype=float)
    if values.ndim == 0:
        return values * np.eye(dimension)
    return np.diag(values) if values.ndim == 1 else values


@each_case("noise", NOISES.values(), ids=list(NOISES))
@each_case("shape", COVARIANCE_TYPES)
def test_of_one_gaussian_it_is_linear_shrinkage(shape, noise):
    model = GaussianModel(shape).fit(Y)
    prior, noise_matrix = dense(model.covariance_, 3), dense(noise, 3)
    gain = np.linalg.solve(prior + noise_matrix, prior).T
    expected = model.mean_ + (Y - model.mean_) @ gain.T
    found = FisherEmbedding(model).posterior_mean(Y, noise)
    np.testing.assert_allclose(found, expected, atol=1e-10)


@each_case("shape", COVARIANCE_TYPES)
@each_case("noise", [0.05, 0.7])
def test_in_one_dimension_it_agrees_with_numerical_integration(shape, noise):
    model = GaussianMixtureModel(3, shape, random_state=0).fit(Y[:, :1])
    points = np.linspace(Y[:, 0].min() - 8.0, Y[:, 0].max() + 8.0, 40_001)
    density = np.exp(model.score_samples(points[:, None]))
    predicted = Y[:10, 0]
    joint = density * np.exp(-0.5 * (predicted[:, None] - points) ** 2 / noise)
    expected = (joint * points).sum(axis=1) / joint.sum(axis=1)
    found = FisherEmbedding(model).posterior_mean(predicted[:, None], noise)
    np.testing.assert_allclose(found[:, 0], expected, atol=1e-8)


@pytest.mark.parametrize("shape", COVARIANCE_TYPES)
def test_shapes_of_noise_that_say_the_same_agree(shape):
    embedding = FisherEmbedding(GaussianMixtureModel(3, shape, random_state=0).fit(Y))
    found = [
        embedding.posterior_mean(Y, noise) for noise in (0.4, np.full(3, 0.4), 0.4 * np.eye(3))
    ]
    np.testing.assert_allclose(found[1], found[0], atol=1e-10)
    np.testing.assert_allclose(found[2], found[0], atol=1e-10)


def test_rows_are_independent_of_their_block(monkeypatch):
    embedding = FisherEmbedding(GaussianMixtureModel(3, "full", random_state=0).fit(Y))
    together = embedding.posterior_mean(Y, 0.3)
    monkeypatch.setattr("workflow_lib.models.posterior.BLOCK_SIZE", 30)
    np.testing.assert_allclose(embedding.posterior_mean(Y, 0.3), together, atol=1e-12)


@pytest.mark.parametrize("noise", NOISES.values(), ids=list(NOISES))
def test_components_of_one_covariance_are_as_any_others(noise):
    model = GaussianMixtureModel(3, "tied_spherical", random_state=0).fit(Y)
    spherical = np.full(3, model.covariances_)
    shared = GaussianPosterior(
        model.weights_, model.means_, model.covariances_, "tied_spherical", noise
    )
    # One that differs in a component without weight is computed component by component.
    more = [np.append(values, values[:1], axis=0) for values in (model.weights_, model.means_)]
    more[0][-1] = 0.0
    each = GaussianPosterior(*more, np.append(spherical, 7.0), "spherical", noise)
    np.testing.assert_allclose(each.means(Y), shared.means(Y), atol=1e-10)


def test_series_are_one_gaussian_of_all_steps():
    random = np.random.default_rng(0)
    Z = random.normal(size=(40, 4, 2)).cumsum(axis=1)
    model = StateSpaceModel(2, observation_dim=2, n_init=1, random_state=0).fit(Z)
    embedding = FisherEmbedding(model)
    _, means, covariances, _ = embedding.scores.output_density()
    difference = Z.reshape(len(Z), -1) - means[0]
    whitened = np.linalg.solve(np.linalg.cholesky(covariances[0]), difference.T)
    log_determinant = np.linalg.slogdet(2 * np.pi * covariances[0])[1]
    log_density = -0.5 * ((whitened**2).sum(axis=0) + log_determinant)
    np.testing.assert_allclose(log_density, model.score_samples(Z), rtol=1e-9)
    H = embedding.transform(Z)
    found = embedding.inverse_transform(H, "posterior", noise_covariance=0.5)
    gain = np.linalg.solve(covariances[0] + 0.5 * np.eye(8), covariances[0]).T
    np.testing.assert_allclose(found.reshape(len(Z), -1), means[0] + difference @ gain.T, atol=1e-8)


@pytest.mark.parametrize(
    ("noise", "words"),
    [
        (None, "needs noise_covariance"),
        (np.ones(2), "has the shape"),
        (-1.0, "without negative variances"),
        (np.array([1.0, -1.0, 1.0]), "without negative variances"),
        (np.diag([1.0, 1.0, -1.0]), "without negative variances"),
        (np.triu(np.ones((3, 3))), "symmetric"),
        (np.nan, "finite"),
    ],
)
def test_wrong_noise_is_refused(noise, words):
    embedding = FisherEmbedding(GaussianModel().fit(Y))
    with pytest.raises(ValueError, match=words):
        embedding.inverse_transform(embedding.transform(Y), "posterior", noise_covariance=noise)
