"""The Fisher embedding of series: exact round trips, Algorithm 1, and the identity with m-KRR."""

from functools import cache

import numpy as np
import pytest
from each_case import each_case
from sklearn.model_selection import GridSearchCV

from workflow_lib import FisherEmbedding, KernelRidgeRegressor, OutputFisherRegressor
from workflow_lib.models.state_spaces.state_space import StateSpaceModel

SHAPES = [(4, 1, 1), (5, 1, 2), (6, 2, 3), (2, 3, 2)]


@cache
def data(T, p, n=40, seed=0):
    """Return inputs (n, 3) and series (n, T, p) that depend on them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    level = np.tanh(X @ rng.normal(size=(3, p)))
    Z = np.cumsum(0.3 * rng.normal(size=(n, T, p)), axis=1) + level[:, None]
    return X, Z + 0.1 * rng.normal(size=Z.shape)


@cache
def embedding_of(T, p, d, isotropic=True):
    _, Z = data(T, p)
    return FisherEmbedding(StateSpaceModel(d, n_iter=20, isotropic=isotropic).fit(Z)), Z


def algorithm_1(model, h, T, d, p):
    """Return one series by the recursion, step by step."""
    initial, state, observation = np.split(h, [d, T * d])
    state, observation = state.reshape(T - 1, d), observation.reshape(T, p)
    series = []
    for t in range(T):
        if t == 0:
            m = model.initial_mean_ + model.initial_covariance_ @ initial
        else:
            m = model.transition_ @ m + model.state_covariance_ @ state[t - 1]
        series.append(model.observation_ @ m + model.observation_covariance_ @ observation[t])
    return np.array(series)


@pytest.mark.parametrize(("T", "p", "d"), SHAPES)
def test_blocks_are_in_order_and_of_their_sizes(T, p, d):
    embedding, Z = embedding_of(T, p, d)
    assert embedding.blocks == {
        "initial": slice(0, d),
        "state": slice(d, T * d),
        "observation": slice(T * d, T * d + T * p),
    }
    assert embedding.n_features == T * (d + p)
    assert embedding.transform(Z).shape == (len(Z), T * (d + p))


@each_case(("T", "p", "d"), SHAPES)
@each_case("isotropic", [True, False])
def test_closed_form_is_the_recursion_of_algorithm_1(T, p, d, isotropic):
    embedding, _ = embedding_of(T, p, d, isotropic)
    H = np.random.default_rng(0).normal(size=(6, embedding.n_features))
    found = embedding.inverse_transform(H)
    assert found.shape == (6, T, p)
    for h, z in zip(H, found):
        np.testing.assert_allclose(z, algorithm_1(embedding.model, h, T, d, p), atol=1e-10)


def test_embedding_and_preimage_are_affine():
    embedding, Z = embedding_of(5, 1, 2)
    mixed = 0.3 * Z[:5] + 0.7 * Z[5:10]
    H = embedding.transform(Z)
    np.testing.assert_allclose(
        embedding.transform(mixed), 0.3 * H[:5] + 0.7 * H[5:10], atol=1e-9 * np.abs(H).max()
    )


def test_matrices_are_accepted_and_series_returned():
    embedding, Z = embedding_of(6, 2, 3)
    H = embedding.transform(Z.reshape(len(Z), -1))
    np.testing.assert_array_equal(H, embedding.transform(Z))
    assert embedding.inverse_transform(H).shape == Z.shape


def test_models_of_different_lengths_embed_series_of_the_longest():
    _, Z = data(6, 2)
    model = StateSpaceModel(2, n_iter=5).fit([z[: 3 + index % 4] for index, z in enumerate(Z)])
    embedding = FisherEmbedding(model)
    np.testing.assert_allclose(embedding.inverse_transform(embedding.transform(Z)), Z, atol=1e-9)


def test_full_form_gradient_search_and_other_shapes_are_refused():
    embedding, Z = embedding_of(5, 1, 2)
    with pytest.raises(ValueError, match="Series have no full form.*form='reduced'"):
        FisherEmbedding(embedding.model, form="full")
    with pytest.raises(ValueError, match="no gradient pre-image.*preimage='closed_form'"):
        embedding.inverse_transform(embedding.transform(Z), "gradient")
    for bad in (Z[:, :4], Z.reshape(len(Z), -1)[:, :4], Z[0], np.repeat(Z, 2, axis=2)):
        with pytest.raises(ValueError, match=r"series \(n, 5, 1\)"):
            embedding.transform(bad)
    holed = Z.copy()
    holed[3, 1] = np.nan
    with pytest.raises(ValueError, match="series 3 holds NaN or infinity"):
        embedding.transform(holed)
    with pytest.raises(ValueError, match=r"H must have the shape \(n, 15\)"):
        embedding.inverse_transform(np.zeros((2, 3)))


# --- regression ----------------------------------------------------------------------------------


@each_case(("T", "p", "d"), SHAPES)
@each_case("alpha", [1e-3, 0.1, 10.0])
@each_case("isotropic", [True, False])
def test_one_penalty_and_an_intercept_is_kernel_ridge_regression(T, p, d, alpha, isotropic):
    X, Z = data(T, p)
    model = StateSpaceModel(d, n_iter=10, n_init=2, isotropic=isotropic)
    ours = OutputFisherRegressor(model, alpha=alpha).fit(X[:30], Z[:30]).predict(X[30:])
    theirs = KernelRidgeRegressor(alpha=alpha).fit(X[:30], Z[:30].reshape(30, -1))
    np.testing.assert_allclose(ours.reshape(10, -1), theirs.predict(X[30:]), atol=1e-8)


def test_penalties_per_block_give_another_method_and_infinite_ones_the_mean():
    X, Z = data(5, 1)
    model = StateSpaceModel(2, n_iter=10)
    one = OutputFisherRegressor(model, alpha=0.01).fit(X, Z).predict(X)
    alphas = {"initial": 0.01, "state": 1.0, "observation": np.inf}
    several = OutputFisherRegressor(model, alpha=alphas).fit(X, Z).predict(X)
    assert np.abs(one - several).max() > 1e-2
    everything = dict.fromkeys(alphas, np.inf)
    constant = OutputFisherRegressor(model, alpha=everything).fit(X, Z).predict(X)
    np.testing.assert_allclose(constant, np.broadcast_to(Z.mean(axis=0), Z.shape), atol=1e-9)
    with pytest.raises(ValueError, match="this embedding has .*'initial', 'state', 'observation'"):
        OutputFisherRegressor(model, alpha={"mu": 1.0}).fit(X, Z)


def test_predictions_have_the_shape_of_the_outputs():
    X, Z = data(6, 2)
    model = StateSpaceModel(2, n_iter=5, n_init=1)
    series = OutputFisherRegressor(model).fit(X, Z).predict(X[:7])
    assert series.shape == (7, 6, 2)
    regressor = OutputFisherRegressor(model.set_params(observation_dim=2))
    flat = regressor.fit(X, Z.reshape(len(Z), -1)).predict(X[:7])
    assert flat.shape == (7, 12)
    np.testing.assert_allclose(flat.reshape(7, 6, 2), series, atol=1e-12)
    single = OutputFisherRegressor(StateSpaceModel(2, n_iter=5)).fit(X, Z[:, :, 0])
    assert single.predict(X).shape == (len(X), 6)


def test_preimages_of_a_series_regressor():
    X, Z = data(5, 1)
    model = StateSpaceModel(2, n_iter=5, n_init=1)
    closed, projected = (
        OutputFisherRegressor(model, preimage=preimage).fit(X, Z).predict(X)
        for preimage in ("closed_form", "projected")
    )
    np.testing.assert_array_equal(closed, projected)


def test_series_regressor_can_be_searched():
    X, Z = data(5, 1)
    search = GridSearchCV(
        OutputFisherRegressor(StateSpaceModel(n_iter=5, n_init=1)),
        {"model__state_dim": [1, 2], "alpha": [1e-3, 1.0]},
        cv=2,
    ).fit(X, Z[:, :, 0])
    assert set(search.best_params_) == {"model__state_dim", "alpha"}


def test_series_regressor_refuses_what_cannot_be_done():
    X, Z = data(5, 1)
    regressor = OutputFisherRegressor(StateSpaceModel(2, n_iter=2))
    with pytest.raises(ValueError, match="at least two steps"):
        regressor.fit(X, Z[:, 0, 0])
    with pytest.raises(ValueError, match="Weak rows need a mixture"):
        regressor.fit(X, Z, X_weak=X, weak_responsibilities=np.ones((len(X), 1)))
    with pytest.raises(ValueError, match="NaN"):
        regressor.fit(X, np.where(Z > 1, np.nan, Z))
    with pytest.raises(ValueError):
        OutputFisherRegressor().fit(X, Z)
