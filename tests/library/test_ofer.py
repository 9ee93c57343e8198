"""OFER: where it is kernel ridge regression, what eq. (14) minimises, and its edges."""

import warnings

import numpy as np
import pytest
from each_case import each_case
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesRegressor, GradientBoostingRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.neighbors import KNeighborsRegressor
from small_data import COVARIANCE_TYPES, clustered_outputs, numerical_jacobian, regression_data

from workflow_lib import (
    GaussianMixtureModel,
    GaussianModel,
    KernelRidgeRegressor,
    OutputFisherRegressor,
)
from workflow_lib.solvers.gram import gram_matrix

KERNELS = ("rbf", "linear", "tanimoto", "precomputed")


def split_data(kernel, n_train=40, n_test=15):
    """Return training and test inputs of a kernel, and training outputs."""
    X, Y = regression_data(n_train + n_test, n_clusters=4)
    if kernel == "tanimoto":
        X = np.abs(X)
    if kernel == "precomputed":
        K = gram_matrix(X, None, "rbf", 0.3)
        return K[:n_train, :n_train], K[n_train:, :n_train], Y[:n_train]
    return X[:n_train], X[n_train:], Y[:n_train]


@each_case("kernel", KERNELS)
@each_case("n_components", [1, 2, 4, 10])
@each_case("alpha", [1e-4, 0.1])
def test_tied_variance_one_penalty_and_intercept_are_kernel_ridge(kernel, n_components, alpha):
    X, X_test, Y = split_data(kernel)
    model = GaussianMixtureModel(n_components, "tied_spherical", n_init=1)
    ours = OutputFisherRegressor(model, kernel=kernel, alpha=alpha, preimage="closed_form")
    theirs = KernelRidgeRegressor(kernel=kernel, alpha=alpha)
    np.testing.assert_allclose(
        ours.fit(X, Y).predict(X_test), theirs.fit(X, Y).predict(X_test), atol=1e-10
    )


@each_case("kernel", KERNELS)
@each_case("covariance_type", COVARIANCE_TYPES)
@each_case("preimage", ["closed_form", "projected"])
@each_case("mixture", [True, False])
def test_one_component_is_kernel_ridge(kernel, covariance_type, preimage, mixture):
    X, X_test, Y = split_data(kernel)
    if mixture:
        model = GaussianMixtureModel(1, covariance_type)
    else:
        model = GaussianModel(covariance_type)
    ours = OutputFisherRegressor(model, kernel=kernel, alpha=0.01, preimage=preimage).fit(X, Y)
    theirs = KernelRidgeRegressor(kernel=kernel, alpha=0.01).fit(X, Y)
    np.testing.assert_allclose(ours.predict(X_test), theirs.predict(X_test), atol=1e-10)


def test_without_the_conditions_it_is_another_method():
    X, X_test, Y = split_data("rbf")
    reference = KernelRidgeRegressor(alpha=0.01).fit(X, Y).predict(X_test)
    tied = GaussianMixtureModel(4, "tied_spherical")
    for changed in (
        OutputFisherRegressor(GaussianMixtureModel(4), alpha=0.01, preimage="closed_form"),
        OutputFisherRegressor(tied, alpha={"pi": 1e-3, "mu": 0.1}, preimage="closed_form"),
        OutputFisherRegressor(tied, alpha=0.01, preimage="projected"),
        OutputFisherRegressor(tied, alpha=0.01, preimage="closed_form", center=False),
    ):
        assert np.abs(changed.fit(X, Y).predict(X_test) - reference).max() > 1e-4


@pytest.mark.parametrize("form", ["reduced", "full"])
def test_tiny_penalty_reproduces_the_training_outputs(form):
    X, Y = regression_data(20)
    for preimage in ("closed_form", "projected", "gradient"):
        model = OutputFisherRegressor(form=form, gamma=2.0, alpha=1e-10, preimage=preimage)
        np.testing.assert_allclose(model.fit(X, Y).predict(X), Y, atol=1e-4)


def test_penalty_per_block_is_a_ridge_per_block():
    X, X_test, Y = split_data("rbf")
    both = OutputFisherRegressor(alpha={"pi": 0.3, "mu": 1e-3}, form="full", preimage="projected")
    with pytest.raises(ValueError, match=r"alpha names the blocks \['mu', 'pi'\].*'sigma'"):
        both.fit(X, Y)
    both = OutputFisherRegressor(alpha={"pi": 0.3, "mu": 1e-3}).fit(X, Y)
    for name, alpha in both.alpha.items():
        single = OutputFisherRegressor(alpha=alpha).fit(X, Y)
        columns = both.embedding_.blocks[name]
        np.testing.assert_array_equal(
            both.predict_embedding(X_test)[:, columns], single.predict_embedding(X_test)[:, columns]
        )


# Weak rows, eq. (14).


def weak_data(n_labelled=12, n_weak=7):
    X, Y = regression_data(n_labelled + n_weak + 5, seed=2)
    memberships = np.random.default_rng(0).dirichlet(np.ones(3), size=n_weak)
    parts = np.split(X, [n_labelled, n_labelled + n_weak])
    return *parts, Y[:n_labelled], memberships


def weak_estimator(**parameters):
    model = GaussianMixtureModel(3, variance_floor=0.2)
    return OutputFisherRegressor(model, gamma=0.5, **parameters)


@each_case("center", [True, False])
@each_case("weak_weight", [1e-3, 0.04, 1.0, 10.0])
@each_case("kernel", ["rbf", "linear"])
def test_solution_minimises_equation_14(center, weak_weight, kernel):
    X, X_weak, _, Y, memberships = weak_data()
    alphas = {"pi": 0.02, "mu": 0.1}
    estimator = weak_estimator(
        kernel=kernel, alpha=alphas, weak_weight=weak_weight, center=center
    ).fit(X, Y, X_weak, memberships)
    n_labelled, m = len(X), estimator.embedding_.n_features
    rows = np.vstack([X, X_weak])
    K = gram_matrix(rows, None, kernel, 0.5)
    targets = estimator.embedding_.transform(Y)
    pi = estimator.embedding_.blocks["pi"]
    weak_targets = memberships / estimator.model_.weights_
    shape = estimator.dual_coef_.shape

    def objective(parameters):
        dual = parameters[: shape[0] * m].reshape(shape)
        intercept = parameters[shape[0] * m :] if center else np.zeros(m)
        h = K @ dual + intercept
        labelled = ((targets - h[:n_labelled]) ** 2).sum() / (2 * n_labelled)
        weak = weak_weight * ((weak_targets - h[n_labelled:, pi]) ** 2).sum()
        norms = sum(
            alphas[name] * np.trace(dual[:, columns].T @ K @ dual[:, columns])
            for name, columns in estimator.embedding_.blocks.items()
        )
        return np.atleast_1d(labelled + weak + norms)

    solution = estimator.dual_coef_.ravel()
    if center:
        solution = np.concatenate([solution, estimator.intercept_])
    # A quadratic objective: central differences are exact but for rounding.
    slope = numerical_jacobian(objective, solution, step=1e-3)[0]
    elsewhere = numerical_jacobian(objective, solution + 0.1, step=1e-3)[0]
    assert np.abs(slope).max() < 1e-8 * max(1.0, np.abs(elsewhere).max())
    best = objective(solution)[0]
    for seed in range(20):
        direction = np.random.default_rng(seed).normal(size=solution.shape)
        assert objective(solution + 1e-2 * direction)[0] > best


def test_weak_rows_change_the_pi_block_only():
    X, X_weak, X_test, Y, memberships = weak_data()
    without = weak_estimator().fit(X, Y)
    estimator = weak_estimator().fit(X, Y, X_weak, memberships)
    pi, mu = (estimator.embedding_.blocks[name] for name in ("pi", "mu"))
    first, second = without.predict_embedding(X_test), estimator.predict_embedding(X_test)
    np.testing.assert_allclose(first[:, mu], second[:, mu], atol=1e-12)
    np.testing.assert_array_equal(estimator.dual_coef_[len(X) :, mu], 0.0)
    assert np.abs(first[:, pi] - second[:, pi]).max() > 1e-2


def test_weak_rows_without_weight_are_as_if_absent():
    X, X_weak, X_test, Y, memberships = weak_data()
    without = weak_estimator().fit(X, Y).predict(X_test)
    for weak_weight, tolerance in ((0.0, 1e-12), (1e-14, 1e-9)):
        estimator = weak_estimator(weak_weight=weak_weight).fit(X, Y, X_weak, memberships)
        np.testing.assert_allclose(estimator.predict(X_test), without, atol=tolerance)


def test_infinite_penalty_gives_the_weighted_mean_of_labelled_and_weak_rows():
    X, X_weak, X_test, Y, memberships = weak_data()
    options = {"weak_weight": 0.3}
    infinite = weak_estimator(alpha=np.inf, **options).fit(X, Y, X_weak, memberships)
    large = weak_estimator(alpha=1e10, **options).fit(X, Y, X_weak, memberships)
    np.testing.assert_allclose(
        infinite.predict_embedding(X_test), large.predict_embedding(X_test), atol=1e-6
    )


def test_only_one_block_may_have_an_infinite_penalty():
    X, X_weak, X_test, Y, memberships = weak_data()
    estimator = weak_estimator(alpha={"pi": 0.01, "mu": np.inf})
    H = estimator.fit(X, Y, X_weak, memberships).predict_embedding(X_test)
    mu = H[:, estimator.embedding_.blocks["mu"]]
    np.testing.assert_allclose(mu, np.tile(mu[0], (len(mu), 1)))
    assert H[:, estimator.embedding_.blocks["pi"]].std(axis=0).min() > 0


def test_precomputed_kernels_of_weak_rows():
    X, X_weak, X_test, Y, memberships = weak_data()
    rows = np.vstack([X, X_weak])
    K = gram_matrix(rows, None, "rbf", 0.5)
    direct = weak_estimator(alpha=0.02).fit(X, Y, X_weak, memberships)
    given = weak_estimator(kernel="precomputed", alpha=0.02)
    given.fit(K[:12, :12], Y, K[12:], memberships)
    K_test = gram_matrix(X_test, rows, "rbf", 0.5)
    np.testing.assert_allclose(given.predict(K_test), direct.predict(X_test), atol=1e-9)
    assert given.X_fit_ is None
    with pytest.raises(ValueError, match="X has 12 features, but .* expecting 19 features"):
        given.predict(K_test[:, :12])


def test_true_memberships_of_weak_rows_help():
    X, Y = regression_data(200, seed=5)
    model = GaussianMixtureModel(3)
    labelled, weak, test = slice(0, 10), slice(10, 120), slice(120, 200)
    options = {"gamma": 0.5, "alpha": {"pi": 1e-3, "mu": 0.1}, "weak_weight": 0.05}
    without = OutputFisherRegressor(model, **options).fit(X[labelled], Y[labelled])
    memberships = without.model_.responsibilities(Y[weak])
    joined = OutputFisherRegressor(model, **options)
    joined.fit(X[labelled], Y[labelled], X[weak], memberships)
    errors = [((m.predict(X[test]) - Y[test]) ** 2).mean() for m in (without, joined)]
    assert errors[1] < 0.9 * errors[0]


@each_case(
    ("change", "message"),
    [
        ({"weak_responsibilities": None}, "X_weak was given without weak_responsibilities"),
        ({"X_weak": None}, "weak_responsibilities was given without X_weak"),
        ({"X_weak": np.zeros((7, 3))}, "X_weak has 3 columns; expected 4"),
        ({"weak_responsibilities": np.full((7, 2), 0.5)}, r"shape \(7, 2\); expected \(7, 3\)"),
        ({"weak_responsibilities": np.full((6, 3), 1 / 3)}, r"shape \(6, 3\); expected \(7, 3\)"),
        ({"weak_responsibilities": np.full((7, 3), 0.5)}, r"must be probabilities \(sum 1\)"),
        (
            {"weak_responsibilities": np.tile([1.5, -0.5, 0.0], (7, 1))},
            r"must be probabilities \(sum 1\)",
        ),
        ({"weak_responsibilities": np.full((7, 3), np.nan)}, "contains NaN"),
    ],
)
def test_mistakes_in_weak_rows_are_named(change, message):
    X, X_weak, _, Y, memberships = weak_data()
    arguments = {"X_weak": X_weak, "weak_responsibilities": memberships} | change
    with pytest.raises(ValueError, match=message):
        weak_estimator().fit(X, Y, **arguments)


def test_weak_rows_need_a_mixture_and_a_weight():
    X, X_weak, _, Y, memberships = weak_data()
    with pytest.raises(ValueError, match="Weak rows need a mixture"):
        OutputFisherRegressor(GaussianModel()).fit(X, Y, X_weak, memberships)
    with pytest.raises(ValueError, match="weak_weight must not be negative; found -1"):
        weak_estimator(weak_weight=-1.0).fit(X, Y, X_weak, memberships)
    with pytest.raises(ValueError, match="Negative values in data"):
        weak_estimator(kernel="tanimoto").fit(np.abs(X), Y, -np.abs(X_weak), memberships)


# Invariances and edges.


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_units_of_the_outputs_do_not_matter(factor):
    X, Y = regression_data()
    estimator = OutputFisherRegressor(alpha={"pi": 1e-3, "mu": 1e-2})
    plain = estimator.fit(X, Y).predict(X)
    scaled = estimator.fit(X, factor * Y).predict(X)
    np.testing.assert_allclose(scaled / factor, plain, rtol=1e-6, atol=1e-6)


def test_more_components_than_distinct_outputs():
    X, _ = regression_data(12)
    Y = np.eye(3)[np.arange(12) % 3]
    with pytest.warns(UserWarning, match="only 3 distinct outputs"):
        estimator = OutputFisherRegressor(GaussianMixtureModel(8), alpha=1e-6).fit(X, Y)
    assert estimator.embedding_.blocks["pi"] == slice(0, 3)
    assert np.isfinite(estimator.predict(X)).all()


def test_data_and_parameters_are_not_changed():
    X, X_weak, _, Y, memberships = weak_data()
    model = GaussianMixtureModel(3)
    arguments = (X, Y, X_weak, memberships)
    before = [array.copy() for array in arguments]
    OutputFisherRegressor(model).fit(*arguments).predict(X)
    for array, copy in zip(arguments, before):
        np.testing.assert_array_equal(array, copy)
    assert not hasattr(model, "means_")


def test_default_model_is_a_mixture_and_warns_of_nothing():
    X, Y = regression_data(40, n_clusters=4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimator = OutputFisherRegressor().fit(X, Y)
    assert isinstance(estimator.model_, GaussianMixtureModel)
    assert estimator.embedding_.form == "reduced"
    assert clustered_outputs().shape[1] == estimator.predict(X).shape[1]


@each_case("kernel", KERNELS)
@each_case("preimage", ["closed_form", "projected"])
def test_kernel_ridge_as_the_regressor_is_the_default_path(kernel, preimage):
    X, X_test, Y = split_data(kernel)
    model = GaussianMixtureModel(3, "tied_spherical", n_init=1)
    default = OutputFisherRegressor(model, kernel=kernel, alpha=0.01, preimage=preimage)
    regressor = KernelRidgeRegressor(kernel=kernel, alpha=0.01)
    ours = OutputFisherRegressor(model, preimage=preimage, regressor=regressor)
    for name in ("predict", "predict_embedding"):
        expected, found = (
            getattr(estimator.fit(X, Y), name)(X_test) for estimator in (default, ours)
        )
        np.testing.assert_allclose(found, expected, atol=1e-10)


def test_a_regressor_of_single_outputs_is_fitted_once_for_each_column_of_the_embedding():
    X, X_test, Y = split_data("rbf")
    regressor = GradientBoostingRegressor(n_estimators=3, random_state=0)
    ours = OutputFisherRegressor(GaussianModel(), regressor=regressor).fit(X, Y)
    targets = ours.embedding_.transform(Y)
    expected = np.column_stack(
        [clone(regressor).fit(X, column).predict(X_test) for column in targets.T]
    )
    np.testing.assert_allclose(ours.predict_embedding(X_test), expected)
    assert not hasattr(regressor, "estimators_")


@pytest.mark.parametrize("preimage", ["closed_form", "projected"])
def test_a_forest_of_all_blocks_returns_weighted_means_of_the_outputs(preimage):
    """Its weights sum to one, so that with a tied variance only the cuts of the trees differ."""
    X, Y = regression_data(60, n_clusters=3)
    forest = ExtraTreesRegressor(n_estimators=7, min_samples_leaf=3, random_state=0)
    model = GaussianMixtureModel(3, "tied_spherical", n_init=1)
    ours = OutputFisherRegressor(model, regressor=forest, preimage=preimage).fit(X[:40], Y[:40])
    leaves, others = (ours.regressor_.apply(rows)[:, None] for rows in (X[:40], X[40:]))
    same = others == leaves.transpose(1, 0, 2)
    weights = (same / same.sum(axis=1, keepdims=True)).mean(axis=2)
    np.testing.assert_allclose(ours.predict(X[40:]), weights @ Y[:40], atol=1e-10)


def clustered_weak_data():
    """Return a model, training data, weak rows with memberships, and test inputs."""
    X, Y = regression_data(60, n_clusters=3)
    model = GaussianMixtureModel(3, "tied_spherical", n_init=1)
    memberships = clone(model).fit(Y[:25]).responsibilities(Y[25:45])
    return model, X[:25], Y[:25], {"X_weak": X[25:45], "weak_responsibilities": memberships}, X[45:]


@pytest.mark.parametrize("weak_weight", [0.0, 0.01, 1.0])
def test_weak_rows_with_weighted_kernel_ridge_are_the_default_path(weak_weight):
    model, X, Y, weak, X_test = clustered_weak_data()
    settings = {"weak_weight": weak_weight, "gamma": 0.3, "center": False}
    ours = OutputFisherRegressor(model, alpha=0.01, **settings).fit(X, Y, **weak)
    # scikit-learn has no intercept, and its penalty is that of the whole system.
    ridge = KernelRidge(kernel="rbf", gamma=0.3, alpha=2 * len(X) * 0.01)
    other = OutputFisherRegressor(model, regressor=ridge, weak_weight=weak_weight).fit(X, Y, **weak)
    np.testing.assert_allclose(
        other.predict_embedding(X_test), ours.predict_embedding(X_test), atol=1e-8
    )
    np.testing.assert_allclose(other.predict(X_test), ours.predict(X_test), atol=1e-8)


@pytest.mark.parametrize(
    "regressor",
    [
        ExtraTreesRegressor(n_estimators=5, random_state=0),
        GradientBoostingRegressor(n_estimators=3, random_state=0),
    ],
    ids=lambda regressor: type(regressor).__name__,
)
def test_weak_rows_change_the_leading_block_of_any_weighted_regressor(regressor):
    model, X, Y, weak, X_test = clustered_weak_data()
    ours = OutputFisherRegressor(model, regressor=regressor)
    with_weak = clone(ours).fit(X, Y, **weak).predict_embedding(X_test)
    without = clone(ours).fit(X, Y).predict_embedding(X_test)
    assert with_weak.shape == without.shape
    assert np.abs(with_weak[:, :3] - without[:, :3]).max() > 0


def test_weak_rows_with_a_regressor_without_weights_are_refused():
    model, X, Y, weak, _ = clustered_weak_data()
    ours = OutputFisherRegressor(model, regressor=KNeighborsRegressor())
    with pytest.raises(ValueError, match="KNeighborsRegressor cannot .* such as Ridge"):
        ours.fit(X, Y, **weak)
