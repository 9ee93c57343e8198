"""scikit-learn's own checks of estimators, and searches over the parameters of the parts."""

import numpy as np
import pytest
from each_case import each_case
from paper_folders import paper_modules
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import check_estimator
from small_data import regression_data

import workflow_lib
from workflow_lib import (
    FisherEmbedding,
    GaussianMixtureModel,
    GaussianModel,
    IOKRegressor,
    KernelRidgeClassifierCV,
    KernelRidgeRegressor,
    KernelRidgeRegressorCV,
    LandmarkRegressorCV,
    OnlineGaussianMixtureModel,
    OutputFisherRegressor,
    OutputFisherRegressorCV,
    StackClassifier,
    StackRegressor,
    StateSpaceModel,
)
from workflow_lib.solvers.gram import gram_matrix

OF_PAPERS = paper_modules("samples/estimators.py")

# Fewer starts than by default: the checks fit hundreds of times.
MIXTURE = GaussianMixtureModel(3, n_init=1, max_iter=20)
TIED = GaussianMixtureModel(3, "tied_spherical", n_init=1, max_iter=20)

ESTIMATORS = [
    KernelRidgeRegressor(),
    KernelRidgeRegressor(kernel="tanimoto", alpha=1e-3),
    KernelRidgeRegressor(kernel="precomputed"),
    IOKRegressor(),
    IOKRegressor(output_kernel="linear"),
    IOKRegressor(preimage="candidates"),
    OutputFisherRegressor(),
    OutputFisherRegressor(model=GaussianModel()),
    OutputFisherRegressor(model=TIED, alpha={"pi": 1e-2, "mu": 1e-3}),
    OutputFisherRegressor(model=MIXTURE, form="full", preimage="gradient"),
    OutputFisherRegressor(model=TIED, kernel="tanimoto", alpha=1e-3),
    OutputFisherRegressor(model=MIXTURE, kernel="precomputed"),
    # Most data of the checks have more rows than these limits.
    KernelRidgeRegressor(max_gram_rows=10, n_landmarks=40),
    KernelRidgeRegressor(kernel="linear", max_gram_rows=10),
    OutputFisherRegressor(model=TIED, max_gram_rows=10, n_landmarks=40),
    OutputFisherRegressor(model=TIED, regressor=ExtraTreesRegressor(3, random_state=0)),
]


GRID = {"kernels": ["rbf"], "widths": [0.3], "alphas": [1e-4, 1e-2]}
OF_METHODS = [
    KernelRidgeRegressorCV(**GRID),
    KernelRidgeClassifierCV(**GRID),
    OutputFisherRegressorCV([2], n_init=1, **GRID),
    LandmarkRegressorCV(n_landmarks=40, **GRID),
    LandmarkRegressorCV(2, n_landmarks=40, **GRID),
    StackRegressor(["ridge"]),
    StackClassifier(["class-krr"]),
]
"""With few values that compete, for the same reason."""

NOT_FITTED_HERE = "its model is fitted before, to columns of its own"
"""Of the Fisher embedding, which maps outputs under a model that is fitted to them."""

EXCEPTIONS = {
    "check_dtype_object": "objects that are no numbers are a ValueError, not a TypeError",
    "check_estimators_empty_data_messages": "the message is of this library",
}
"""Of all classes that take rows without scikit-learn's own checks of them."""

EXCEPTIONS_OF = {
    "GaussianModel": {"check_fit1d": "a vector is one column"},
    "GaussianMixtureModel": {"check_fit1d": "a vector is one column"},
    "OnlineGaussianMixtureModel": {
        "check_fit1d": "a vector is one column",
        "check_n_features_in_after_fitting": "the message is of this library",
    },
    "StateSpaceModel": {"check_fit2d_1feature": "one step says nothing about a transition"},
    "FisherEmbedding": dict.fromkeys(
        (
            *("check_fit_score_takes_y", "check_dont_overwrite_parameters", "check_n_features_in"),
            *("check_n_features_in_after_fitting", "check_positive_only_tag_during_fit"),
            *("check_estimators_dtypes", "check_pipeline_consistency", "check_dict_unchanged"),
            *("check_estimators_nan_inf", "check_estimators_pickle", "check_fit2d_1feature"),
            *("check_f_contiguous_array_estimator", "check_transformer_data_not_an_array"),
            *("check_transformer_general", "check_transformer_preserve_dtypes"),
            *("check_methods_sample_order_invariance", "check_methods_subset_invariance"),
            *("check_fit2d_1sample", "check_fit_check_is_fitted", "check_fit2d_predict1d"),
        ),
        NOT_FITTED_HERE,
    )
    | dict.fromkeys(
        (
            *("check_do_not_raise_errors_in_init_or_set_params",),
            *("check_no_attributes_set_in_init",),
        ),
        "it has no fit in which to check its parameters",
    ),
    **{name: checks for module in OF_PAPERS for name, checks in module.EXCEPTIONS_OF.items()},
}
"""Class -> checks that cannot apply, each with its reason; docs/api.rst sums them up."""

OF_OUTPUTS = [
    GaussianModel(),
    GaussianMixtureModel(2, n_init=1, max_iter=20),
    OnlineGaussianMixtureModel(2, max_passes=2),
    StateSpaceModel(1, n_iter=5, n_init=1),
    FisherEmbedding(GaussianMixtureModel(2).fit([[0.0, 1.0], [1.0, 2.0], [2.0, 0.0]])),
    *(estimator for module in OF_PAPERS for estimator in module.OF_ROWS),
    # Of bags and sequences scikit-learn only checks that they are cloned.
    *(OF_ITEMS := [estimator for module in OF_PAPERS for estimator in module.OF_ITEMS]),
]


def expected_failures(estimator) -> dict[str, str]:
    """Return the checks that cannot apply, each with its reason."""
    if type(estimator) in map(type, OF_ITEMS):
        return {}
    if type(estimator) in map(type, OF_OUTPUTS):
        return EXCEPTIONS | EXCEPTIONS_OF.get(type(estimator).__name__, {})
    if getattr(estimator, "kernel", None) == "precomputed":
        return {
            "check_positive_only_tag_during_fit": "gives a matrix with large negative eigenvalues "
            "as Gram matrix, which is no kernel and is refused with a message"
        }
    return {}


@pytest.mark.parametrize("estimator", ESTIMATORS + OF_METHODS + OF_OUTPUTS)
@pytest.mark.filterwarnings("ignore:.*landmarks stand for the Gram matrix")
@pytest.mark.filterwarnings("ignore:.*components were asked for")
@pytest.mark.filterwarnings("ignore:.*does not inherit from")
def test_checks_of_scikit_learn_pass_up_to_true_exceptions(subtests, estimator):
    expected = expected_failures(estimator)
    results = check_estimator(
        estimator, expected_failed_checks=expected, on_fail=None, on_skip=None
    )
    for result in results:
        with subtests.test(result["check_name"]):
            if result["status"] == "failed":
                raise result["exception"]
    failed = {each["check_name"] for each in results if each["status"] == "xfail"}
    assert failed == set(expected)


OF_INPUTS = [
    KernelRidgeRegressor(alpha=0.01),
    IOKRegressor(alpha=0.01),
    IOKRegressor(output_kernel="linear", alpha=0.01),
    OutputFisherRegressor(GaussianModel("full"), alpha=1e-3),
    OutputFisherRegressor(GaussianMixtureModel(1), form="full", alpha=1e-3),
    OutputFisherRegressor(GaussianMixtureModel(3), alpha={"pi": 1e-3, "mu": 1e-2}),
    *(
        OutputFisherRegressor(form=form, preimage=preimage, alpha=0.01)
        for form in ("reduced", "full")
        for preimage in ("closed_form", "projected", "gradient")
    ),
]
of_inputs = each_case("estimator", OF_INPUTS, ids=range(len(OF_INPUTS)))


@of_inputs
def test_neither_order_nor_shift_nor_precision_matters(estimator):
    # Clusters far apart, so that every start finds the same mixture.
    X, Y = regression_data(40, n_clusters=3, spread=8.0)
    estimator = clone(estimator)
    if isinstance(estimator, OutputFisherRegressor) and estimator.model is None:
        estimator.set_params(model=GaussianMixtureModel(3))
    plain = estimator.fit(X, Y).predict(X)
    order = np.random.default_rng(0).permutation(40)
    np.testing.assert_allclose(estimator.fit(X[order], Y[order]).predict(X), plain, atol=1e-6)
    shift = np.array([5.0, -10.0, 200.0])
    np.testing.assert_allclose(estimator.fit(X, Y + shift).predict(X), plain + shift, atol=1e-6)
    single = estimator.fit(X.astype("f4"), Y.astype("f4")).predict(X.astype("f4"))
    assert single.dtype == np.float64
    np.testing.assert_allclose(single, plain, atol=1e-3)


@of_inputs
@pytest.mark.filterwarnings("ignore:.*components were asked for")
def test_edges_of_the_training_set(estimator):
    X, Y = regression_data()
    estimator = clone(estimator)
    np.testing.assert_allclose(estimator.fit(X[:1], Y[:1]).predict(X[:2]), Y[[0, 0]], atol=1e-8)
    constant = np.full((10, 2), 0.1)
    np.testing.assert_allclose(estimator.fit(X[:10], constant).predict(X[:3]), 0.1, rtol=1e-9)
    half_constant = np.column_stack([Y[:, 0], np.full(len(Y), 0.3)])
    assert np.isfinite(estimator.fit(X, half_constant).predict(X)).all()
    column = estimator.fit(X, Y[:, :1]).predict(X)
    vector = estimator.fit(X, Y[:, 0]).predict(X)
    assert column.shape == (len(X), 1)
    np.testing.assert_array_equal(column[:, 0], vector)
    duplicated = estimator.fit(np.vstack([X, X]), np.vstack([Y, Y])).predict(X)
    assert np.isfinite(duplicated).all()


@each_case("make", [KernelRidgeRegressor, IOKRegressor, OutputFisherRegressor])
@each_case("kernel", ["rbf", "linear", "tanimoto"])
@each_case("center", [True, False])
def test_a_precomputed_kernel_is_the_kernel_itself(make, kernel, center):
    X, Y = regression_data()
    X = np.abs(X)
    direct = make(kernel=kernel, gamma=0.4, alpha=1e-2, center=center).fit(X[:30], Y[:30])
    K = gram_matrix(X, None, kernel, 0.4)
    given = make(kernel="precomputed", alpha=1e-2, center=center).fit(K[:30, :30], Y[:30])
    tolerance = 1e-7 if make is IOKRegressor else 1e-10
    np.testing.assert_allclose(given.predict(K[30:, :30]), direct.predict(X[30:]), atol=tolerance)


OF_ALL = [
    ({"alpha": 0.0}, "alpha must be positive; found 0.0"),
    ({"kernel": "precomputed"}, r"must be square in fit; found the shape \(40, 4\)"),
    ({"kernel": "tanimoto"}, "Negative values in data: row"),
]
OF_OFER = [
    ({"alpha": {"pi": 1.0}}, r"alpha names the blocks \['pi'\]; this .* \['pi', 'mu'\]"),
    ({"alpha": {"pi": 1.0, "sigma": 1.0}}, r"this embedding has \['pi', 'mu'\]"),
    ({"alpha": {"pi": 1.0, "mu": 0.0}}, "alpha must be positive; found 0.0"),
]
OF_IOKR = [({"output_kernel": "precomputed"}, "output_kernel must be one of .*'precomputed'")]


@each_case(
    ("make", "parameters", "message"),
    [
        *((KernelRidgeRegressor, *case) for case in OF_ALL),
        *((IOKRegressor, *case) for case in OF_ALL + OF_IOKR),
        *((OutputFisherRegressor, *case) for case in OF_ALL + OF_OFER),
    ],
)
def test_wrong_parameters_are_named_in_fit(make, parameters, message):
    X, Y = regression_data()
    with pytest.raises(ValueError, match=message):
        make(**parameters).fit(X, Y)


def test_parameters_of_the_model_are_reached_through_the_estimator():
    estimator = OutputFisherRegressor(model=GaussianMixtureModel(2))
    estimator.set_params(model__n_components=3, model__covariance_type="diag", alpha=0.1)
    assert estimator.model.n_components == 3
    assert estimator.get_params()["model__covariance_type"] == "diag"
    X, Y = regression_data()
    assert estimator.fit(X, Y).model_.n_components_ == 3
    assert not hasattr(estimator.model, "means_")
    with pytest.raises(ValueError, match="Invalid parameter 'components'"):
        estimator.set_params(model__components=3)


def test_grid_search_over_the_parameters_of_the_model():
    X, Y = regression_data()
    search = GridSearchCV(
        OutputFisherRegressor(model=GaussianMixtureModel(n_init=1), alpha=0.01),
        {"model__n_components": [1, 3], "alpha": [1e-3, 10.0]},
        cv=3,
    ).fit(X, Y)
    assert search.best_params_["alpha"] == 1e-3
    best = search.best_estimator_
    assert best.model_.n_components == search.best_params_["model__n_components"]
    assert best.predict(X).shape == Y.shape


def test_every_public_class_is_checked():
    checked = {type(estimator).__name__ for estimator in ESTIMATORS + OF_METHODS + OF_OUTPUTS}
    assert checked == {
        name for name in workflow_lib.__all__ if hasattr(getattr(workflow_lib, name), "set_params")
    }


def test_with_one_variance_and_penalty_embedding_and_preimage_cancel():
    X, Y = regression_data(60)
    mixture = GaussianMixtureModel(3, "tied_spherical", random_state=0)
    regressor = OutputFisherRegressor(mixture, "reduced", "rbf", 0.1, 1e-3, preimage="projected")
    plain = KernelRidgeRegressor("rbf", 0.1, 1e-3).fit(X[:40], Y[:40])
    embedded = regressor.fit(X[:40], Y[:40]).predict_embedding(X[40:])
    unprojected = regressor.embedding_.inverse_transform(embedded)
    np.testing.assert_allclose(unprojected, plain.predict(X[40:]), atol=1e-9)
