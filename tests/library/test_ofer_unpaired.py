"""OFER with outputs without inputs, and with the posterior pre-image."""

import h5py
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesRegressor
from small_data import regression_data

from workflow_lib import GaussianMixtureModel, GaussianModel, OutputFisherRegressor, StateSpaceModel
from workflow_lib.models.posterior_noise import FACTORS, choose_noise
from workflow_lib.solvers.gram import gram_matrix

X, Y = regression_data(80, n_clusters=3)
X, Y, X_NEW, UNPAIRED = X[:30], Y[:30], X[30:40], Y[40:]


@pytest.mark.parametrize("preimage", ["projected", "posterior"])
@pytest.mark.parametrize("model", [GaussianModel("full"), GaussianMixtureModel(3, n_init=1)])
def test_the_model_learns_from_all_outputs_and_without_them_nothing_changes(model, preimage):
    base = OutputFisherRegressor(model, preimage=preimage, alpha=0.01)
    without = clone(base).fit(X, Y)
    np.testing.assert_array_equal(
        clone(base).fit(X, Y, Y_unpaired=None).predict(X_NEW), without.predict(X_NEW)
    )
    both = clone(base).fit(X, Y, Y_unpaired=UNPAIRED)
    expected = clone(model).fit(np.vstack([Y, UNPAIRED]))
    np.testing.assert_array_equal(both.model_.means_, expected.means_)
    assert np.abs(both.predict(X_NEW) - without.predict(X_NEW)).max() > 0


@pytest.mark.parametrize(
    "model", [GaussianModel("full"), GaussianMixtureModel(3, "tied_spherical")]
)
def test_the_posterior_preimage_shrinks_the_projected_one(model):
    fitted = OutputFisherRegressor(model, alpha=0.01, preimage="posterior").fit(
        X, Y, Y_unpaired=UNPAIRED
    )
    projected = OutputFisherRegressor(model, alpha=0.01).fit(X, Y, Y_unpaired=UNPAIRED)
    np.testing.assert_allclose(
        fitted.predict(X_NEW),
        fitted.embedding_.posterior_mean(projected.predict(X_NEW), fitted.noise_.variances),
        atol=1e-12,
    )
    assert fitted.noise_.factor in FACTORS


def test_a_singular_covariance_is_raised_and_said():
    twice = np.hstack([Y, Y[:, :1]])
    model = OutputFisherRegressor(GaussianModel("full", 1e-6), preimage="posterior")
    with pytest.warns(UserWarning, match=f"In 1 of {twice.shape[1]} directions"):
        predicted = model.fit(X, twice).predict(X_NEW)
    np.testing.assert_allclose(predicted[:, -1], predicted[:, 0], atol=1e-6)


@pytest.mark.parametrize("shape", ["tied_spherical", "spherical", "diag", "full"])
def test_outputs_in_a_file_are_read_in_batches(tmp_path, monkeypatch, shape):
    monkeypatch.setattr("workflow_lib.models.mixtures.gaussian.BATCH_NUMBERS", 20)
    with h5py.File(tmp_path / "outputs.h5", "w") as file:
        stored = file.create_dataset("outputs", data=UNPAIRED)
        model = GaussianModel(shape)
        found = OutputFisherRegressor(model, preimage="posterior").fit(X, Y, Y_unpaired=stored)
        expected = OutputFisherRegressor(model, preimage="posterior").fit(X, Y, Y_unpaired=UNPAIRED)
        np.testing.assert_allclose(found.predict(X_NEW), expected.predict(X_NEW), rtol=1e-9)
        mixture = GaussianMixtureModel(3, shape, batch_size=40, n_init=1)
        found = OutputFisherRegressor(mixture).fit(X, Y, Y_unpaired=stored)
        np.testing.assert_allclose(found.model_.weights_.sum(), 1.0)
        with pytest.raises(ValueError, match="GaussianMixtureModel with batch_size"):
            OutputFisherRegressor().fit(X, Y, Y_unpaired=stored)
        with pytest.raises(ValueError, match="as Y has"):
            OutputFisherRegressor(model).fit(X, Y[:, :1], Y_unpaired=stored)


def shared_structure(seed, n_rows, n_outputs=12):
    """Return inputs and outputs: two noisy factors of the inputs, which all outputs follow."""
    random = np.random.default_rng(seed)
    loadings = np.random.default_rng(1).normal(size=(2, n_outputs))
    inputs = random.normal(size=(n_rows, 4))
    factors = inputs[:, :2] + 0.3 * random.normal(size=(n_rows, 2))
    return inputs, factors @ loadings + 0.8 * random.normal(size=(n_rows, n_outputs))


def test_outputs_without_inputs_lower_the_error_where_outputs_share_structure():
    errors = {"with": [], "without": []}
    for seed in range(8):
        inputs, outputs = shared_structure(seed, 1020)
        train, test, unpaired = slice(20), slice(20, 520), outputs[520:]
        for name, preimage, others in (
            ("without", "projected", None),
            ("with", "posterior", unpaired),
        ):
            regressor = OutputFisherRegressor(
                GaussianModel("full", variance_floor=1e-3),
                kernel="linear",
                alpha=0.01,
                preimage=preimage,
            ).fit(inputs[train], outputs[train], Y_unpaired=others)
            errors[name].append(((regressor.predict(inputs[test]) - outputs[test]) ** 2).mean())
    differences = np.array(errors["with"]) - errors["without"]
    assert differences.mean() < -3 * differences.std() / np.sqrt(len(differences))


@pytest.mark.parametrize("with_weak_rows", [False, True])
def test_a_precomputed_kernel_predicts_the_same(with_weak_rows):
    model = GaussianMixtureModel(3, "tied_spherical", n_init=1)
    weak = {}
    if with_weak_rows:
        fitted = clone(model).fit(np.vstack([Y, UNPAIRED]))
        weak = {"X_weak": X_NEW, "weak_responsibilities": fitted.responsibilities(UNPAIRED[:10])}
    values = {"alpha": 0.01, "preimage": "posterior"}
    direct = OutputFisherRegressor(model, gamma=0.3, **values)
    direct.fit(X, Y, Y_unpaired=UNPAIRED, **weak)
    rows = np.vstack([X, X_NEW]) if with_weak_rows else X
    if with_weak_rows:
        weak["X_weak"] = gram_matrix(X_NEW, rows, "rbf", 0.3)
    given = OutputFisherRegressor(model, kernel="precomputed", **values)
    given.fit(gram_matrix(X, None, "rbf", 0.3), Y, Y_unpaired=UNPAIRED, **weak)
    assert given.noise_.factor == direct.noise_.factor
    np.testing.assert_allclose(given.noise_.variances, direct.noise_.variances, rtol=1e-8)
    np.testing.assert_allclose(
        given.predict(gram_matrix(X_NEW, rows, "rbf", 0.3)), direct.predict(X_NEW), atol=1e-8
    )


def test_any_regressor_and_series_have_a_posterior_preimage():
    trees = ExtraTreesRegressor(n_estimators=5, random_state=0)
    regressor = OutputFisherRegressor(GaussianModel(), preimage="posterior", regressor=trees)
    assert regressor.fit(X, Y, Y_unpaired=UNPAIRED).predict(X_NEW).shape == (10, Y.shape[1])
    random = np.random.default_rng(0)
    series = random.normal(size=(50, 4, 2)).cumsum(axis=1)
    inputs = series[:, -1] + random.normal(size=(50, 2))
    model = StateSpaceModel(1, observation_dim=2, n_init=1, random_state=0)
    regressor = OutputFisherRegressor(model, preimage="posterior", alpha=0.1)
    regressor.fit(inputs[:20], series[:20], Y_unpaired=series[20:])
    assert regressor.predict(inputs[:3]).shape == (3, 4, 2)


def test_the_noise_of_a_fold_comes_from_its_own_prior_and_small_factors_win_ties():
    random = np.random.default_rng(0)
    outputs, folds = random.normal(size=(12, 2)), np.arange(12) % 3
    heldout = outputs + 0.1
    requested = []

    def unchanged(fold):
        def posterior(predicted, noise):
            requested.append((fold, len(predicted), *noise))
            return predicted

        return posterior

    noise = choose_noise(outputs, heldout, folds, list(map(unchanged, range(3))), (0.0, 1.0, 2.0))
    assert noise.factor == 0.0 and not noise.variances.any()
    np.testing.assert_array_equal(noise.means, heldout)
    expected = [(fold, 4, v, v) for v in (0.01, 0.02) for fold in range(3)]
    np.testing.assert_allclose(requested, expected)
    corrected = [lambda predicted, noise: predicted - 0.1 * (noise[0] > 0.015)] * 3
    better = choose_noise(outputs, heldout, folds, corrected, (0.0, 1.0, 2.0))
    assert better.factor == 2.0
    np.testing.assert_allclose(better.means, outputs)


def test_missing_outputs_and_constant_ones_do_not_choose_the_noise():
    outputs = np.array([[1.0, 5.0], [np.nan, 5.0], [3.0, 5.0], [2.0, 5.0]])
    heldout = np.array([[1.5, 5.0], [9.0, 5.0], [2.5, 5.0], [2.0, 5.0]])
    unchanged = [lambda predicted, noise: predicted] * 2
    noise = choose_noise(outputs, heldout, np.arange(4) % 2, unchanged, (0.0, 1.0))
    assert noise.error == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("unpaired", "words"),
    [
        (np.ones((4, 7)), "Expected 3 numbers a row"),
        (np.vstack([Y[:2, :3], np.full((4, 3), np.nan)]), "rows 2, 3, 4, 5 .*: no output is known"),
        (np.where(np.eye(4, 3) > 0, np.nan, 1.0), "NaN"),
        (np.empty((0, 3)), "0 sample"),
    ],
)
def test_wrong_outputs_without_inputs_are_refused(unpaired, words):
    outputs = Y[:, :3]
    with pytest.raises(ValueError, match=words):
        OutputFisherRegressor(GaussianModel()).fit(X, outputs, Y_unpaired=unpaired)
