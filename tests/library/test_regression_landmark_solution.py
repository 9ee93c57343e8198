"""Above max_gram_rows the estimators use landmarks, never an n by n array, or refuse."""

import tracemalloc
import warnings

import numpy as np
import pytest
from each_case import each_case
from small_data import regression_data

from workflow_lib import (
    GaussianMixtureModel,
    GaussianModel,
    KernelRidgeRegressor,
    OutputFisherRegressor,
    StateSpaceModel,
)
from workflow_lib.solvers import landmark_solution
from workflow_lib.solvers.gram import gram_matrix
from workflow_lib.solvers.landmarks import choose_landmarks

TIED = GaussianMixtureModel(3, "tied_spherical", n_init=1)
KERNELS = ("rbf", "linear", "tanimoto")
approximate = pytest.mark.filterwarnings("ignore:.*landmarks stand for the Gram matrix")


def positive_data(n_rows=60, seed=0):
    X, Y = regression_data(n_rows, seed)
    return np.abs(X), Y


def series_data(n_rows=50, T=5, p=2):
    """Return inputs (n, 3) and series (n, T, p) that depend on them."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(n_rows, 3))
    level = np.tanh(X @ generator.normal(size=(3, p)))
    return X, level[:, None] + 0.1 * np.cumsum(generator.normal(size=(n_rows, T, p)), axis=1)


def refuse_gram(monkeypatch):
    """Make the exact solution fail."""

    def refused(*arguments):
        raise AssertionError("a Gram matrix of all rows was made")

    for module in ("solvers.kernel_ridge", "estimators.output_fisher"):
        monkeypatch.setattr(f"workflow_lib.{module}.gram_matrix", refused)


# Where the approximation is exact.


@approximate
@each_case("kernel", KERNELS)
@each_case("center", [True, False])
@each_case("alpha", [1e-4, 1e-2, 1.0, np.inf])
def test_landmarks_at_all_rows_give_the_exact_kernel_ridge_regression(kernel, center, alpha):
    X, Y = positive_data()
    options = {"kernel": kernel, "gamma": 0.4, "alpha": alpha, "center": center}
    exact = KernelRidgeRegressor(**options).fit(X[:40], Y[:40])
    landmarks = KernelRidgeRegressor(**options, max_gram_rows=39, n_landmarks=40)
    landmarks.fit(X[:40], Y[:40])
    np.testing.assert_allclose(landmarks.predict(X), exact.predict(X), atol=1e-8)
    if kernel != "linear":
        np.testing.assert_array_equal(landmarks.landmarks_, X[:40])


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("n_landmarks", [4, 1000])
def test_a_linear_kernel_on_few_columns_is_solved_exactly_and_silently(center, n_landmarks):
    X, Y = regression_data(60)
    X += 50.0
    options = {"kernel": "linear", "alpha": 1e-3, "center": center}
    exact = KernelRidgeRegressor(**options).fit(X, Y)
    primal = KernelRidgeRegressor(**options, max_gram_rows=10, n_landmarks=n_landmarks)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        primal.fit(X, Y)
    assert primal.landmarks_ is None
    assert primal.dual_coef_.shape == (4, 3)
    np.testing.assert_allclose(primal.predict(X), exact.predict(X), atol=1e-8)


@approximate
def test_a_linear_kernel_on_more_columns_than_landmarks_takes_landmarks():
    generator = np.random.default_rng(0)
    # Rows of rank 3: as many landmarks that span them are exact.
    X = generator.normal(size=(60, 3)) @ generator.normal(size=(3, 20))
    Y = generator.normal(size=(60, 2))
    options = {"kernel": "linear", "alpha": 1e-3}
    exact = KernelRidgeRegressor(**options).fit(X, Y)
    landmarks = KernelRidgeRegressor(**options, max_gram_rows=10, n_landmarks=5).fit(X, Y)
    assert landmarks.landmarks_.shape == (5, 20)
    np.testing.assert_allclose(landmarks.predict(X), exact.predict(X), atol=1e-8)


@approximate
@each_case("kernel", KERNELS)
@each_case("center", [True, False])
@each_case(
    ("model", "form", "alpha"),
    [
        (GaussianModel(), "reduced", 1e-2),
        (TIED, "reduced", {"pi": 1e-3, "mu": 1e-1}),
        (TIED, "reduced", {"pi": np.inf, "mu": 1e-2}),
        (GaussianMixtureModel(3, "diag", n_init=1), "full", {"pi": 1e-3, "mu": 0.1, "sigma": 1.0}),
    ],
)
def test_landmarks_at_all_rows_give_the_exact_ofer(kernel, center, model, form, alpha):
    X, Y = positive_data()
    options = {"form": form, "kernel": kernel, "gamma": 0.4, "alpha": alpha, "center": center}
    exact = OutputFisherRegressor(model, **options).fit(X[:40], Y[:40])
    landmarks = OutputFisherRegressor(model, **options, max_gram_rows=39, n_landmarks=40)
    landmarks.fit(X[:40], Y[:40])
    H = exact.predict_embedding(X)
    np.testing.assert_allclose(landmarks.predict_embedding(X), H, atol=1e-8 * np.abs(H).max())
    if center:
        np.testing.assert_allclose(landmarks.predict(X), exact.predict(X), atol=1e-7)


@approximate
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("alpha", [1e-2, {"initial": 1e-3, "state": 1e-2, "observation": 1.0}])
def test_landmarks_at_all_rows_give_the_exact_ofer_of_series(kernel, alpha):
    X, series = series_data()
    model = StateSpaceModel(2, n_iter=10)
    options = {"kernel": kernel, "alpha": alpha}
    exact = OutputFisherRegressor(model, **options).fit(X[:40], series[:40])
    landmarks = OutputFisherRegressor(model, **options, max_gram_rows=20, n_landmarks=40)
    predictions = landmarks.fit(X[:40], series[:40]).predict(X)
    assert predictions.shape == series.shape
    np.testing.assert_allclose(predictions, exact.predict(X), atol=1e-8)


# Where it is an approximation.


@approximate
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("kernel", ["rbf", "tanimoto"])
def test_the_solution_is_the_best_function_of_the_landmarks(kernel, center):
    X, Y = positive_data(80)
    alpha = 1e-2
    estimator = KernelRidgeRegressor(
        kernel, gamma=2.0, alpha=alpha, center=center, max_gram_rows=50, n_landmarks=6
    ).fit(X, Y)
    assert estimator.dual_coef_.shape == (6, 3)
    # Eq. (13) as one problem of least squares in the dual coefficients of the landmarks.
    within = gram_matrix(estimator.landmarks_, None, kernel, 2.0)
    root = np.linalg.cholesky(within).T * np.sqrt(2 * len(X) * alpha)
    rows = np.column_stack([gram_matrix(X, estimator.landmarks_, kernel, 2.0), np.ones(len(X))])
    system = np.vstack([rows, np.column_stack([root, np.zeros(6)])])
    if not center:
        system[:, -1] = 0.0
    solution = np.linalg.lstsq(system, np.vstack([Y, np.zeros((6, 3))]), rcond=None)[0]
    np.testing.assert_allclose(estimator.predict(X), rows @ solution, atol=1e-9)
    np.testing.assert_allclose(estimator.dual_coef_, solution[:-1], atol=1e-7)
    np.testing.assert_allclose(estimator.intercept_, solution[-1], atol=1e-8)


@approximate
@pytest.mark.parametrize("is_ofer", [True, False])
def test_few_landmarks_are_nearly_as_good_on_smooth_outputs(is_ofer):
    generator = np.random.default_rng(0)
    X = generator.uniform(-1, 1, size=(900, 3))
    smooth = np.column_stack([np.sin(2 * X[:, 0]) + X[:, 1], np.cos(X.sum(axis=1))])
    Y = smooth + 0.1 * generator.normal(size=smooth.shape)
    options = {"gamma": 0.5, "alpha": 1e-4}
    if is_ofer:
        make, options = OutputFisherRegressor, options | {"model": TIED}
    else:
        make = KernelRidgeRegressor

    def error(**parameters):
        estimator = make(**options, **parameters).fit(X[:600], Y[:600])
        return np.sqrt(((estimator.predict(X[600:]) - smooth[600:]) ** 2).mean())

    exact, some, one = (
        error(),
        error(max_gram_rows=500, n_landmarks=60),
        error(max_gram_rows=500, n_landmarks=1),
    )
    assert some < 1.05 * exact
    assert one > 3 * exact


@approximate
def test_landmarks_follow_from_random_state():
    X, Y = regression_data(80)

    def fitted(random_state):
        return KernelRidgeRegressor(
            max_gram_rows=20, n_landmarks=10, random_state=random_state
        ).fit(X, Y)

    np.testing.assert_array_equal(fitted(0).predict(X), fitted(0).predict(X))
    assert (fitted(0).landmarks_ != fitted(1).landmarks_).any()
    for random_state in (3, np.random.default_rng(3)):
        expected = choose_landmarks(X, 10, "rbf", None, "k_means", np.random.default_rng(3))
        np.testing.assert_array_equal(fitted(random_state).landmarks_, expected)
    assert fitted(np.random.RandomState(0)).landmarks_.shape == (10, 4)


@approximate
def test_landmarks_of_sparse_counts_are_not_negative():
    # Means of columns that are zero nearly everywhere round to less than zero.
    generator = np.random.default_rng(0)
    X = 0.1 * generator.poisson(0.03, size=(400, 60))
    Y = X[:, :2] + X[:, 2:4]
    estimator = KernelRidgeRegressor("tanimoto", alpha=1e-3, max_gram_rows=100, n_landmarks=50)
    assert estimator.fit(X, Y).landmarks_.min() >= 0
    exact = KernelRidgeRegressor("tanimoto", alpha=1e-3).fit(X, Y)
    assert estimator.score(X, Y) > 0.5 * exact.score(X, Y)


# The limit.


@approximate
@pytest.mark.parametrize(
    "estimator", [KernelRidgeRegressor(), OutputFisherRegressor(TIED)], ids=["m-krr", "ofer"]
)
def test_the_limit_decides_and_changes_nothing_below(estimator, monkeypatch):
    X, Y = regression_data(40)
    without_limit = estimator.fit(X, Y).predict(X)
    estimator.set_params(max_gram_rows=40, n_landmarks=5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimator.fit(X, Y)
    np.testing.assert_array_equal(estimator.predict(X), without_limit)
    assert estimator.landmarks_ is None
    np.testing.assert_array_equal(estimator.X_fit_, X)
    with monkeypatch.context() as patch:
        refuse_gram(patch)
        estimator.set_params(max_gram_rows=39).fit(X, Y)
        assert estimator.landmarks_.shape == (5, 4)
        assert np.abs(estimator.predict(X) - without_limit).max() > 1e-6
        # None stands for the limit of the machine.
        patch.setattr(landmark_solution, "default_max_gram_rows", lambda: 10)
        estimator.set_params(max_gram_rows=None).fit(X, Y)
        assert estimator.landmarks_ is not None
    estimator.fit(X, Y)
    np.testing.assert_array_equal(estimator.predict(X), without_limit)
    assert estimator.landmarks_ is None


@approximate
@pytest.mark.parametrize("make", [KernelRidgeRegressor, OutputFisherRegressor])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_no_array_grows_with_the_square_of_the_rows(make, kernel):
    X, Y = regression_data(4000)
    parameters = {"model": TIED} if make is OutputFisherRegressor else {}
    estimator = make(kernel=kernel, max_gram_rows=1000, n_landmarks=20, **parameters)
    tracemalloc.start()
    try:
        estimator.fit(X, Y).predict(X)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 * len(X) ** 2 / 10


@approximate
@pytest.mark.parametrize("preimage", ["closed_form", "projected", "gradient"])
def test_predictions_do_not_depend_on_blocks(preimage, monkeypatch):
    X, Y = regression_data(60)
    series_X, series = series_data()
    options = {"max_gram_rows": 20, "n_landmarks": 12, "alpha": 0.01}
    estimators = [
        (KernelRidgeRegressor(**options), X, Y),
        (KernelRidgeRegressor(**options), X, Y[:, 0]),
        (OutputFisherRegressor(TIED, preimage=preimage, **options), X, Y),
    ]
    if preimage != "gradient":
        model = StateSpaceModel(2, n_iter=5)
        estimator = OutputFisherRegressor(model, preimage=preimage, **options)
        estimators.append((estimator, series_X, series))
    for estimator, inputs, outputs in estimators:
        together = estimator.fit(inputs, outputs).predict(inputs)
        assert together.shape == outputs.shape
        with monkeypatch.context() as patch:
            patch.setattr(landmark_solution, "BLOCK_NUMBERS", 84)
            patch.setattr("workflow_lib.solvers.feature_ridge.BLOCK_NUMBERS", 84)
            in_blocks = estimator.fit(inputs, outputs).predict(inputs)
        np.testing.assert_allclose(in_blocks, together, atol=1e-8)


# Warnings and refusals.


@pytest.mark.parametrize("make", [KernelRidgeRegressor, OutputFisherRegressor])
def test_one_warning_names_what_was_done_and_the_line_of_the_call(make):
    X, Y = regression_data(40)
    with pytest.warns(UserWarning) as caught:
        make(max_gram_rows=20, n_landmarks=10).fit(X, Y)
    assert len(caught) == 1
    message = str(caught[0].message)
    assert message.startswith("40 rows are more than max_gram_rows (20): 10 landmarks stand")
    assert "Raise n_landmarks" in message
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match=": 40 landmarks stand"):
        make(max_gram_rows=20).fit(X, Y)


@pytest.mark.parametrize("make", [KernelRidgeRegressor, OutputFisherRegressor])
def test_precomputed_kernels_above_the_limit_are_refused(make):
    X, Y = regression_data(40)
    K = gram_matrix(X)
    make(kernel="precomputed", max_gram_rows=40).fit(K, Y)
    with pytest.raises(ValueError, match="40 rows are more than max_gram_rows .39.*precomputed"):
        make(kernel="precomputed", max_gram_rows=39).fit(K, Y)


@pytest.mark.parametrize("max_gram_rows", [11, 18])
def test_weak_rows_above_the_limit_are_refused(max_gram_rows):
    X, Y = regression_data(19)
    memberships = np.full((7, 3), 1 / 3)
    model = GaussianMixtureModel(3, n_init=1)
    labelled = X[:12], Y[:12], X[12:], memberships
    allowed = OutputFisherRegressor(model, max_gram_rows=19).fit(*labelled)
    unlimited = OutputFisherRegressor(model).fit(*labelled)
    np.testing.assert_array_equal(allowed.predict(X), unlimited.predict(X))
    with pytest.raises(ValueError, match="cannot stand for weak rows. Give fewer rows, or raise"):
        OutputFisherRegressor(model, max_gram_rows=max_gram_rows).fit(*labelled)


@approximate
def test_rows_that_a_kernel_refuses_are_named_by_their_index_among_all_rows(monkeypatch):
    monkeypatch.setattr(landmark_solution, "BLOCK_NUMBERS", 84)
    X, Y = positive_data(60)
    wrong = X.copy()
    wrong[47, 1] = -0.5
    estimator = KernelRidgeRegressor("tanimoto", max_gram_rows=20, n_landmarks=12)
    with pytest.raises(ValueError, match="Negative values in data: row 47"):
        estimator.fit(wrong, Y)
    estimator.fit(X, Y)
    with pytest.raises(ValueError, match="Negative values in data: row 47"):
        estimator.predict(wrong)
