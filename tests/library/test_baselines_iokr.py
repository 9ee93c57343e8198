"""Output kernel regression: its weights, its distances to candidates and its pre-images."""

import numpy as np
import pytest
from small_data import numerical_jacobian, regression_data

from workflow_lib.solvers.gram import gram_matrix
from workflow_lib.solvers.iokr import IOKRegressor
from workflow_lib.solvers.kernel_ridge import KernelRidgeRegressor
from workflow_lib.solvers.output_kernels import (
    candidate_scores,
    clip_spectrum,
    median_squared_distance,
    minimise_rbf_distance,
)

KERNELS = ["rbf", "linear"]


def squared_distances(weights, outputs, candidates, kernel, gamma):
    """Return ||h(x) - psi(y)||^2 (n, c), its three terms from Gram matrices."""
    among = gram_matrix(outputs, None, kernel, gamma)
    norms = np.einsum("ni,ij,nj->n", weights, among, weights)
    cross = gram_matrix(candidates, outputs, kernel, gamma)
    diagonal = np.diag(gram_matrix(candidates, None, kernel, gamma))
    return norms[:, None] - 2 * weights @ cross.T + diagonal


def scores_of(weights, outputs, candidates, kernel, gamma=0.3):
    """Return the scores (n, c) of the candidates, as the estimator computes them."""
    cross = gram_matrix(candidates, outputs, kernel, gamma)
    diagonal = np.diag(gram_matrix(candidates, None, kernel, gamma))
    return candidate_scores(weights, cross, diagonal)


def rbf_score(weights, outputs, gamma, y):
    """Return sum_i a_i exp(-gamma ||y - y_i||^2) of one row of weights."""
    return weights @ np.exp(-gamma * ((outputs - y) ** 2).sum(axis=1))


@pytest.fixture(scope="module")
def data():
    return regression_data()


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("alpha", [1e-3, 1.0, np.inf])
def test_linear_output_kernel_is_kernel_ridge_regression(data, center, alpha):
    X, Y = data
    ours = IOKRegressor(gamma=0.4, alpha=alpha, center=center, output_kernel="linear")
    ridge = KernelRidgeRegressor(gamma=0.4, alpha=alpha, center=center).fit(X[:30], Y[:30])
    predicted = ours.fit(X[:30], Y[:30]).predict(X[30:])
    np.testing.assert_allclose(predicted, ridge.predict(X[30:]), rtol=0, atol=1e-10)
    vector = ours.fit(X[:30], Y[:30, 0]).predict(X[30:])
    np.testing.assert_allclose(vector, ridge.predict(X[30:])[:, 0], rtol=0, atol=1e-10)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("alpha", [1e-4, 1.0, np.inf])
def test_weights_sum_to_one_with_centring_only(data, kernel, alpha):
    X, Y = data
    model = IOKRegressor(kernel, alpha=alpha).fit(X[:30], Y[:30])
    weights = model.predict_weights(X[30:])
    assert weights.shape == (10, 30)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, rtol=0, atol=1e-9)
    model.set_params(center=False).fit(X[:30], Y[:30])
    assert np.abs(model.predict_weights(X[30:]).sum(axis=1) - 1.0).max() > 1e-3


@pytest.mark.parametrize("kernel", KERNELS)
def test_candidate_scores_are_distances_up_to_a_constant_a_row(data, kernel):
    X, Y = data
    weights = IOKRegressor(alpha=1e-3).fit(X[:30], Y[:30]).predict_weights(X[30:])
    scores = scores_of(weights, Y[:30], Y[20:], kernel)
    distances = squared_distances(weights, Y[:30], Y[20:], kernel, 0.3)
    constants = distances - scores
    np.testing.assert_allclose(constants, np.broadcast_to(constants[:, :1], constants.shape))
    np.testing.assert_array_equal(scores.argmin(axis=1), distances.argmin(axis=1))
    if kernel == "linear":
        explicit = (((weights @ Y[:30])[:, None] - Y[20:]) ** 2).sum(axis=2)
        np.testing.assert_allclose(distances, explicit, atol=1e-10)


def test_estimator_returns_the_nearest_output_where_the_norms_differ(data):
    X, Y = data
    model = IOKRegressor(output_kernel="linear", preimage="candidates", alpha=1e-3)
    predicted = model.fit(X[:30], Y[:30]).predict(X[30:])
    h = model.predict_weights(X[30:]) @ Y[:30]
    nearest = Y[:30][((h[:, None] - Y[:30]) ** 2).sum(axis=2).argmin(axis=1)]
    np.testing.assert_array_equal(predicted, nearest)
    largest_product = Y[:30][(h @ Y[:30].T).argmax(axis=1)]
    assert (predicted != largest_product).any()


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("gamma", [0.05, 0.5, 3.0])
def test_gradient_improves_on_its_start_and_ends_at_a_local_optimum(data, gamma, center):
    X, Y = data
    model = IOKRegressor(alpha=1e-3, center=center, output_gamma=gamma).fit(X[:30], Y[:30])
    ends = model.predict(X[30:])
    starts = model.set_params(preimage="candidates").predict(X[30:])
    improved = 0
    for weights, start, end in zip(model.predict_weights(X[30:]), starts, ends):

        def score(y, weights=weights):
            return np.atleast_1d(rbf_score(weights, Y[:30], gamma, y))

        assert score(end) >= score(start)
        improved += int(score(end)[0] > score(start)[0])
        assert np.abs(numerical_jacobian(score, end, 1e-5)).max() < 1e-6
    assert improved == 10


def test_very_wide_output_kernel_becomes_the_linear_one(data):
    X, Y = data
    wide = IOKRegressor(alpha=1e-3, output_gamma=1e-9).fit(X[:30], Y[:30])
    linear = IOKRegressor(alpha=1e-3, output_kernel="linear").fit(X[:30], Y[:30])
    np.testing.assert_allclose(wide.predict(X[30:]), linear.predict(X[30:]), atol=1e-5)


def test_gradient_does_not_depend_on_the_scale_of_the_weights(data):
    X, Y = data
    weights = IOKRegressor(alpha=1e-3).fit(X[:30], Y[:30]).predict_weights(X[30:])
    ends = minimise_rbf_distance(weights, Y[:30], 0.3, Y[30:])
    tiny = minimise_rbf_distance(1e-9 * weights, Y[:30], 0.3, Y[30:])
    np.testing.assert_allclose(tiny, ends, atol=1e-6)
    nothing = minimise_rbf_distance(0.0 * weights, Y[:30], 0.3, Y[30:])
    np.testing.assert_array_equal(nothing, Y[30:])


@pytest.mark.parametrize("output_kernel", KERNELS)
def test_predictions_are_chosen_among_the_given_candidates(data, output_kernel):
    X, Y = data
    model = IOKRegressor(alpha=1e-3, output_kernel=output_kernel, preimage="candidates")
    model.fit(X[:30], Y[:30])
    candidates = Y[30:] + 0.1
    predicted = model.predict(X[30:], candidates)
    gamma = 1 / 3
    distances = squared_distances(
        model.predict_weights(X[30:]), Y[:30], candidates, output_kernel, gamma
    )
    np.testing.assert_array_equal(predicted, candidates[distances.argmin(axis=1)])
    assert len(np.unique(predicted, axis=0)) > 1
    only = model.predict(X[30:], candidates[:1])
    np.testing.assert_array_equal(only, np.repeat(candidates[:1], 10, axis=0))


def test_given_candidates_start_the_search(data):
    X, Y = data
    # Equal weights and a narrow kernel: every training output is a local optimum.
    model = IOKRegressor(alpha=np.inf, output_gamma=50.0).fit(X, Y)
    for row in (7, 20):
        predicted = model.predict(X[:2], Y[row : row + 1] + 0.03)
        np.testing.assert_allclose(predicted, np.tile(Y[row], (2, 1)), atol=1e-4)


def test_candidates_of_a_vector_of_outputs(data):
    X, Y = data
    model = IOKRegressor(alpha=1e-3, preimage="candidates").fit(X, Y[:, 0])
    candidates = np.array([-4.0, 0.0, 4.0])
    predicted = model.predict(X, candidates)
    assert predicted.shape == (40,)
    assert set(predicted) <= set(candidates)
    np.testing.assert_array_equal(predicted, model.predict(X, candidates[:, None]))


@pytest.mark.parametrize("candidates", [np.ones((4, 1)), np.ones((4, 2))])
def test_candidates_of_another_width_are_refused(data, candidates):
    model = IOKRegressor().fit(*data)
    with pytest.raises(ValueError, match="candidates must have 3 columns.*found"):
        model.predict(data[0], candidates)


def test_candidates_that_are_not_finite_are_refused(data):
    with pytest.raises(ValueError, match="candidates contains NaN"):
        IOKRegressor().fit(*data).predict(data[0], np.full((2, 3), np.nan))


@pytest.mark.parametrize("preimage", ["candidates", "gradient"])
def test_narrow_output_kernel_returns_the_training_output_of_a_training_input(data, preimage):
    X, Y = data
    model = IOKRegressor(gamma=2.0, alpha=1e-10, output_gamma=50.0, preimage=preimage).fit(X, Y)
    np.testing.assert_allclose(model.predict(X), Y, atol=1e-5)


def test_clip_spectrum_is_psd_symmetric_and_nearer_than_others():
    generator = np.random.default_rng(0)
    gram = generator.normal(size=(8, 8))
    gram = (gram + gram.T) / 2
    clipped = clip_spectrum(gram)
    np.testing.assert_array_equal(clipped, clipped.T)
    assert np.linalg.eigvalsh(gram).min() < -1
    assert np.linalg.eigvalsh(clipped).min() > -1e-12
    for _ in range(20):
        step = 0.05 * generator.normal(size=(8, 2))
        other = clip_spectrum(clipped + step @ step.T * generator.choice([-1, 1]))
        assert np.linalg.norm(other - gram) > np.linalg.norm(clipped - gram)


def test_clip_spectrum_leaves_kernels_unchanged(data):
    gram = gram_matrix(data[0], None, "rbf", 0.4)
    np.testing.assert_allclose(clip_spectrum(gram), gram, rtol=0, atol=1e-12)


def test_median_squared_distance_of_known_outputs():
    # The pairs that differ: 1, 9, 16 (of 0, 1, 4 on a line).
    assert median_squared_distance(np.array([[0.0], [1.0], [4.0]])) == 9.0
    assert median_squared_distance(np.array([[0.0, 0.0], [3.0, 4.0]])) == 25.0
    assert median_squared_distance(np.array([[0.0]] * 9 + [[2.0]])) == 4.0
    shifted = 1e8 + np.array([[0.0], [1.0], [4.0]])
    assert median_squared_distance(shifted) == 9.0


@pytest.mark.parametrize("n_rows", [1, 2, 50])
def test_median_squared_distance_of_constant_outputs_is_one(n_rows):
    assert median_squared_distance(np.tile([0.1, 1 / 3, 1e6], (n_rows, 1))) == 1.0
