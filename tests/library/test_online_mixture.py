"""Mixtures from a stream: against EM, finite differences, a stored state, and their users."""

import h5py
import numpy as np
import pytest
from sklearn.mixture import GaussianMixture
from small_data import clustered_outputs, numerical_jacobian, regression_data
from test_fisher_vectors import mean_scores

from workflow_lib import (
    FisherEmbedding,
    GaussianMixtureModel,
    OnlineGaussianMixtureModel,
    OutputFisherRegressor,
)
from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.models.gradient_steps import OPTIMISERS, GradientSteps
from workflow_lib.models.mixtures import mixture_gradient, online_mixture
from workflow_lib.models.mixtures.mixture_batches import expectation, features

COVARIANCES = online_mixture.COVARIANCES
UPDATES = online_mixture.UPDATES


def rows(n_rows=300, seed=0):
    return clustered_outputs(n_rows, seed=seed) * [1.0, 3.0, 0.5] + [10.0, 0.0, -2.0]


def online(update="stepwise", covariance_type="diag", **settings):
    settings = {"variance_floor": 1e-6, **settings}
    return OnlineGaussianMixtureModel(3, covariance_type, update, **settings)


def stream(model, n_batches=6, n_rows=50):
    for batch in np.array_split(rows(n_batches * n_rows), n_batches):
        model.partial_fit(batch)
    return model


def assert_same_parameters(first, second, **tolerances):
    for name in ("weights_", "means_", "covariances_"):
        expected = getattr(second, name)
        if tolerances:
            np.testing.assert_allclose(getattr(first, name), expected, **tolerances)
        else:
            np.testing.assert_array_equal(getattr(first, name), expected)


def step_of_em(model, Y):
    """Return scikit-learn's mixture after one iteration of EM from the parameters of `model`."""
    reference = GaussianMixture(
        model.n_components,
        covariance_type=model.covariance_type,
        reg_covar=0.0,
        max_iter=1,
        weights_init=model.weights_,
        means_init=model.means_,
        precisions_init=1.0 / model.covariances_,
    )
    with pytest.warns(match="did not converge"):
        return reference.fit(Y)


@pytest.mark.parametrize("covariance_type", COVARIANCES)
@pytest.mark.parametrize("update", ["stepwise", "natural"])
def test_an_update_by_all_rows_with_step_one_is_a_step_of_em(update, covariance_type):
    Y = rows()
    model = online(update, covariance_type, step=1.0).partial_fit(Y)
    for _ in range(3):
        expected = step_of_em(model, Y)
        model.partial_fit(Y)
        np.testing.assert_allclose(model.weights_, expected.weights_, rtol=1e-12)
        np.testing.assert_allclose(model.means_, expected.means_, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(model.covariances_, expected.covariances_, rtol=1e-10)
    assert (np.diff(model.log_likelihoods_) > 0).all()


@pytest.mark.parametrize("covariance_type", COVARIANCES)
@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_many_ascents_reach_the_step_of_em(optimiser, covariance_type):
    Y = rows()
    start = online("stepwise", covariance_type, step=1.0).partial_fit(Y)
    rate = {"adagrad": 0.1, "rmsprop": 1e-4, "nesterov": 0.02}[optimiser]
    more = {"m_steps": 5000, "learning_rate": rate}
    found = online("gradient", covariance_type, optimiser=optimiser, **more).partial_fit(Y)
    # Steps of rmsprop do not become shorter than its rate.
    tolerance = 3e-3 if optimiser == "rmsprop" else 1e-6
    assert_same_parameters(found, start, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("covariance_type", COVARIANCES)
def test_objective_and_gradient_are_those_of_the_log_likelihood(covariance_type):
    Y = rows(80)
    model = stream(online("gradient", covariance_type))
    centred, shapes = Y - model._centre, {}
    coordinates = {
        "alpha": np.log(model.weights_) + 0.7,
        "means": model.means_ - model._centre,
        "deviations": np.sqrt(model.covariances_),
    }
    for name, values in coordinates.items():
        shapes[name] = values.shape

    def mixture(**changed):
        values = coordinates | changed
        other = GaussianMixtureModel(3, covariance_type)
        other.weights_ = mixture_gradient.softmax(values["alpha"])
        other.means_, other.covariances_ = values["means"], values["deviations"] ** 2
        return other

    held = mixture().responsibilities(centred)
    squares = centred**2 if covariance_type == "diag" else (centred**2).sum(axis=1)
    sums = [held.mean(axis=0), held.T @ centred / len(Y), held.T @ squares / len(Y)]
    entropy = -(held * np.log(np.maximum(held, 1e-300))).sum(axis=1).mean()
    bound = (
        mixture_gradient.expected_log_joint(*sums, mixture_gradient.Coordinates(**coordinates))
        + entropy
    )
    assert bound == pytest.approx(mixture().score_samples(centred).mean(), rel=1e-12)
    gradient = mixture_gradient.expected_gradient(
        *sums, mixture_gradient.Coordinates(**coordinates)
    )
    for name, shape in shapes.items():

        def score(point, name=name, shape=shape):
            return mixture(**{name: point.reshape(shape)}).score_samples(centred).mean()

        expected = numerical_jacobian(score, coordinates[name].ravel())
        np.testing.assert_allclose(gradient[name].ravel(), expected, rtol=1e-6, atol=1e-8)


def test_the_scaled_gradient_is_the_fisher_vector_and_vanishes_where_em_ends():
    Y = rows()
    model = GaussianMixtureModel(3, "diag", 1e-6, tol=1e-14, max_iter=3000).fit(Y)
    far = stream(online(), n_batches=2)
    for fitted, atol in ((far, None), (model, 1e-6)):
        found = mean_scores(fitted, Y)
        held, deviations = fitted.responsibilities(Y), np.sqrt(fitted.covariances_)
        sums = [held.mean(axis=0), held.T @ Y / len(Y), held.T @ Y**2 / len(Y)]
        coordinates = np.log(fitted.weights_), fitted.means_, deviations
        gradient = mixture_gradient.expected_gradient(
            *sums, mixture_gradient.Coordinates(*coordinates)
        )
        roots = np.sqrt(fitted.weights_)[:, None]
        scaled = [
            gradient["means"] * deviations / roots,
            gradient["deviations"] * deviations / roots / np.sqrt(2),
        ]
        np.testing.assert_allclose(found, np.ravel(scaled), atol=1e-9)
        if atol is not None:
            np.testing.assert_allclose(found, 0.0, atol=atol)


@pytest.mark.parametrize("update", UPDATES)
def test_a_stored_stream_goes_on_to_the_same_bits(tmp_path, update):
    model = online(update, optimiser="rmsprop")
    for batch in [rows(2), *np.array_split(rows(200), 4), rows(30, seed=1)]:
        model.partial_fit(batch)
        write_artifact(tmp_path / "state.h5", model.state(), "mixture-stream")
        tree = read_artifact(tmp_path / "state.h5", "mixture-stream")
        resumed = online(update, optimiser="rmsprop").with_state(tree)
        if model.n_batches_:
            assert_same_parameters(resumed, model)
        model = resumed
    direct = online(update, optimiser="rmsprop")
    for batch in [rows(2), *np.array_split(rows(200), 4), rows(30, seed=1)]:
        direct.partial_fit(batch)
    assert_same_parameters(model, direct)
    np.testing.assert_array_equal(model.log_likelihoods_, direct.log_likelihoods_)
    # Two rows waited for the first batch, and are in it.
    assert model.n_rows_ == 232 and model.n_batches_ == 5


@pytest.mark.parametrize("update", UPDATES)
def test_a_fit_is_near_that_of_em_and_reads_from_disk(tmp_path, update):
    Y = rows(3000)
    settings = {"batch_size": 200, "learning_rate": 0.03}
    model = online(update, **settings).fit(Y)
    best = GaussianMixtureModel(3, "diag", 1e-6).fit(Y)
    assert model.score_samples(Y).mean() > best.log_likelihoods_[-1] - 0.02
    with h5py.File(tmp_path / "rows.h5", "w") as file:
        file["rows"] = Y
        assert_same_parameters(online(update, **settings).fit(file["rows"]), model)


def test_a_constant_step_follows_a_stream_that_jumps():
    falling, constant = stream(online()), stream(online(step=0.3))
    for batch in np.array_split(rows(500) + [4.0, -6.0, 2.0], 10):
        for model in (falling, constant):
            model.partial_fit(batch)
    later = rows(500, seed=0) + [4.0, -6.0, 2.0]
    scores = [model.score_samples(later).mean() for model in (falling, constant)]
    assert scores[1] > scores[0]


def test_rows_wait_until_there_are_as_many_as_components():
    model = online().partial_fit(rows(2)).partial_fit(rows(2))
    assert not hasattr(model, "weights_") and model.n_batches_ == 0
    assert model.partial_fit(rows(3)).n_rows_ == 7
    with pytest.warns(match="3 components were asked for, but there are only 2 distinct rows"):
        assert online().fit(rows(2)).n_components_ == 2


def test_bad_input_is_refused():
    model = stream(online("gradient"))
    with pytest.raises(ValueError, match="3 columns as before; found 2"):
        model.partial_fit(rows()[:, :2])
    with pytest.raises(ValueError, match="must be finite; row 0"):
        model.partial_fit([[np.nan, 0.0, 0.0]])
    with pytest.raises(ValueError, match="has the version 0; this model has 1"):
        online("gradient").with_state(model.state() | {"version": 0})
    with pytest.raises(ValueError, match="has the update 'gradient'; this model has 'natural'"):
        online("natural").with_state(model.state())
    with pytest.raises(ValueError, match="learning_rate=1e[+]200 is too large for nesterov"):
        stream(online("gradient", optimiser="nesterov", learning_rate=1e200))
    for settings in ({"step": 0.0}, {"step": 1.5}, {"n_components": 0}, {"update": "em"}):
        with pytest.raises(ValueError, match=next(iter(settings))):
            online().set_params(**settings).partial_fit(rows())
    with pytest.raises(ValueError, match="learning_rate must be positive"):
        GradientSteps("adagrad", 0.0)


@pytest.mark.parametrize("update", UPDATES)
def test_constant_columns_have_the_smallest_variance(update):
    Y = np.column_stack([rows()[:, 0], np.full(300, 7.0)])
    model = online(update, variance_floor=0.01)
    for batch in np.array_split(Y, 3):
        model.partial_fit(batch)
    assert np.isfinite(model.means_).all()
    assert (model.covariances_ >= model._floor * (1 - 1e-12)).all()
    np.testing.assert_allclose(model.means_[:, 1], 7.0)


def test_embedding_and_regressor_take_it_as_a_mixture():
    X, Y = regression_data()
    embedding = FisherEmbedding(online().fit(Y), form="full")
    np.testing.assert_allclose(embedding.inverse_transform(embedding.transform(Y)), Y, atol=1e-9)
    regressor = OutputFisherRegressor(model=online()).fit(X, Y)
    assert regressor.predict(X).shape == Y.shape
    values = features(Y, np.zeros(3), "diag")
    statistics, _ = expectation(values, embedding.model._parameters, "diag")
    assert statistics.counts.sum() == pytest.approx(len(Y))
