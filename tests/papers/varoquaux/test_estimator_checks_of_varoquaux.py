"""scikit-learn's own checks of the estimators of this paper."""

import pytest
from sklearn.utils.estimator_checks import check_estimator

from workflow_lib.papers.varoquaux.factored_classifier import FactoredClassifier
from workflow_lib.papers.varoquaux.subsampled_factorisation import SubsampledFactorisation
from workflow_lib.papers.varoquaux.triplet_classifier import TripletClassifier


@pytest.mark.parametrize(
    "estimator",
    [
        SubsampledFactorisation(2, max_iter=2),
        SubsampledFactorisation(1, init="singular", codes="sampled"),
        FactoredClassifier(3, max_iter=20),
        TripletClassifier(max_iter=20, n_triplets=5),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_the_checks_of_scikit_learn_pass(estimator):
    checks = check_estimator(estimator, on_fail=None)
    assert [each["check_name"] for each in checks if each["status"] == "failed"] == []
