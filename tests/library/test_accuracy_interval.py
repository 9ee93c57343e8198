"""The binomial interval of an accuracy, against scipy and by trying true accuracies."""

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from workflow_lib import accuracy_interval


@pytest.mark.parametrize(("right", "n_test"), [(0, 10), (3, 10), (10, 10), (450, 500)])
@pytest.mark.parametrize("confidence", [0.5, 0.95])
def test_limits_are_those_of_clopper_and_pearson(right, n_test, confidence):
    found = accuracy_interval(right / n_test, n_test, confidence)
    exact = binomtest(right, n_test).proportion_ci(confidence, method="exact")
    np.testing.assert_allclose(found, (exact.low, exact.high), atol=1e-10)

    # By brute force: the true accuracies that do not make what was seen too improbable.
    tried, tail = np.linspace(0.0, 1.0, 20001), (1.0 - confidence) / 2.0
    likely = (binom.sf(right - 1, n_test, tried) >= tail) & (
        binom.cdf(right, n_test, tried) >= tail
    )
    np.testing.assert_allclose(found, tried[likely][[0, -1]], atol=1e-4)


def test_the_interval_holds_the_true_accuracy_as_often_as_it_states():
    n_test, true = 60, 0.83
    drawn = np.random.default_rng(0).binomial(n_test, true, size=2000) / n_test
    intervals = np.array([accuracy_interval(share, n_test) for share in drawn])
    held = ((intervals[:, 0] <= true) & (true <= intervals[:, 1])).mean()
    assert 0.95 <= held < 0.985


@pytest.mark.parametrize("arguments", [(1.2, 10), (0.5, 0), (0.5, 10, 1.0)])
def test_arguments_out_of_range_are_refused(arguments):
    with pytest.raises(ValueError, match="expected shares between 0 and 1"):
        accuracy_interval(*arguments)
