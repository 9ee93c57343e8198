"""Scores become calibrated probabilities, and pools have the weights of the least log loss."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import softmax

from workflow_lib.solvers.class_calibration import Calibration, pool_weights

N_ROWS, N_CLASSES = 3000, 4


def drawn(probabilities, seed=1):
    """Return classes drawn with these probabilities (n, K)."""
    draws = np.random.default_rng(seed).random((len(probabilities), 1))
    return (draws > np.cumsum(probabilities, axis=1)[:, :-1]).sum(axis=1)


def normal_scores(seed, n_rows=N_ROWS):
    return np.random.default_rng(seed).normal(size=(n_rows, N_CLASSES))


@pytest.mark.parametrize("factor", [1e-6, 1.0, 1e6])
def test_the_temperature_is_that_of_the_classes(factor):
    scores = normal_scores(0)
    found = Calibration.fit(factor * scores, drawn(softmax(1.5 * scores, axis=1)))
    assert found.inverse_temperature * factor == pytest.approx(1.5, rel=0.1)
    probabilities = np.exp(found.log_probabilities(factor * scores))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    np.testing.assert_allclose(probabilities, softmax(1.5 * scores, axis=1), atol=0.05)


def test_shares_keep_their_meaning():
    shares = softmax(2.0 * normal_scores(0), axis=1)
    found = Calibration.fit(shares, drawn(shares))
    assert found.of_logarithms and found.inverse_temperature == pytest.approx(1.0, rel=0.1)
    # A share of zero leaves a class possible.
    assert np.isfinite(found.log_probabilities(np.eye(N_CLASSES))).all()
    assert not Calibration.fit(shares - 0.5, drawn(shares)).of_logarithms


def test_rows_count_by_their_weights():
    scores = normal_scores(0, 200)
    classes = drawn(softmax(scores, axis=1))
    weights = np.repeat([1.0, 3.0], 100)
    repeated = np.r_[np.arange(200), np.tile(np.arange(100, 200), 2)]
    expected = Calibration.fit(scores[repeated], classes[repeated])
    found = Calibration.fit(scores, classes, weights)
    assert found.inverse_temperature == pytest.approx(expected.inverse_temperature, rel=0.02)
    assert Calibration.fit(scores[:0], classes[:0]) == Calibration()


def test_weights_have_the_least_log_loss():
    scores = [normal_scores(seed, 400) for seed in range(3)]
    classes = drawn(0.7 * softmax(2 * scores[0], axis=1) + 0.3 * softmax(2 * scores[1], axis=1))
    probabilities = [softmax(2 * each, axis=1) for each in scores]
    weights = pool_weights(probabilities, classes)
    assert weights.sum() == pytest.approx(1.0)
    assert weights == pytest.approx([0.7, 0.3, 0.0], abs=0.15)

    def loss(logits):
        pooled = np.tensordot(softmax(logits), probabilities, axes=1)
        return -np.log(pooled[np.arange(400), classes]).mean()

    best = minimize(loss, np.zeros(3), method="Nelder-Mead", options={"maxiter": 2000}).fun
    with np.errstate(divide="ignore"):
        assert loss(np.log(weights)) == pytest.approx(best, abs=1e-4)


def test_a_useless_method_is_left_out_and_equal_ones_share():
    good = softmax(3 * normal_scores(0, 400), axis=1)
    classes = drawn(good)
    wrong = np.roll(good, 1, axis=1)
    weights = pool_weights([good, wrong, good], classes)
    assert weights.tolist() == pytest.approx([0.5, 0.0, 0.5], abs=0.03)
    assert weights[0] == weights[2]


def test_no_class_is_certain_where_all_rows_are_right():
    classes = np.arange(40) % 3
    scores = np.eye(3)[classes]
    # With probability p of the right class the likelihood is that of 40 + 1/3 rows right, and 2/3
    # wrong.
    found = np.exp(Calibration.fit(10.0 * scores - 5.0, classes).log_probabilities(scores * 10.0))
    np.testing.assert_allclose(found.max(axis=1), (40 + 1 / 3) / 41, rtol=1e-3)
