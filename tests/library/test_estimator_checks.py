"""scikit-learn's own checks of estimators, and searches over the parameters of the parts."""

from __future__ import annotations

import pytest
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks
from small_data import regression_data

from workflow_lib import (
    GaussianMixtureModel,
    GaussianModel,
    IOKRegressor,
    KernelRidgeRegressor,
    OutputFisherRegressor,
)

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


def expected_failures(estimator) -> dict[str, str]:
    """Return the checks that cannot apply, each with its reason."""
    if estimator.kernel == "precomputed":
        return {
            "check_positive_only_tag_during_fit": "gives a matrix with large negative eigenvalues "
            "as Gram matrix, which is no kernel and is refused with a message"
        }
    return {}


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
@pytest.mark.filterwarnings("ignore:.*landmarks stand for the Gram matrix")
@pytest.mark.filterwarnings("ignore:.*components were asked for")
def test_estimator_check(estimator, check):
    check(estimator)


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


def test_estimators_can_be_shown():
    estimator = OutputFisherRegressor(model=GaussianMixtureModel(2))
    assert "n_components=2" in repr(estimator)
    assert "OutputFisherRegressor" in estimator._repr_html_()
