"""scikit-learn's own checks of the estimators of this paper."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator

from workflow_lib.papers.varoquaux.factored_classifier import FactoredClassifier
from workflow_lib.papers.varoquaux.invariant_features import FourierModulus
from workflow_lib.papers.varoquaux.neighbourhood_classifier import NeighbourhoodClassifier
from workflow_lib.papers.varoquaux.subsampled_factorisation import SubsampledFactorisation
from workflow_lib.solvers.stored.estimator import estimator_bytes, estimator_from_bytes


@pytest.mark.parametrize(
    "estimator",
    [FactoredClassifier(3, max_iter=5), NeighbourhoodClassifier(), FourierModulus()],
)
def test_a_stored_estimator_gives_the_same(estimator):
    X, y = np.random.default_rng(0).normal(size=(30, 4)), np.repeat([0, 1, 2], 10)
    fitted = estimator.fit(X, y)
    again = estimator_from_bytes(estimator_bytes(fitted))
    name = "transform" if hasattr(fitted, "transform") else "predict_proba"
    np.testing.assert_array_equal(getattr(again, name)(X), getattr(fitted, name)(X))


@pytest.mark.parametrize(
    "estimator",
    [
        SubsampledFactorisation(2, max_iter=2),
        SubsampledFactorisation(1, init="singular"),
        FactoredClassifier(3, max_iter=20),
        NeighbourhoodClassifier(max_iter=20),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_the_checks_of_scikit_learn_pass(estimator):
    checks = check_estimator(estimator, on_fail=None)
    assert [each["check_name"] for each in checks if each["status"] == "failed"] == []
