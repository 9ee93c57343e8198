"""Exponentials of relative log probabilities."""

import numpy as np

from workflow_lib.models.exponentials import MIN_LOG, exp_in_place


def test_small_results_are_zero_and_the_others_those_of_numpy():
    logs = np.concatenate([np.linspace(MIN_LOG, 0.0, 1001), [-1e250, -np.inf, MIN_LOG - 1.0]])
    expected = np.where(logs >= MIN_LOG, np.exp(logs), 0.0)
    assert exp_in_place(logs) is logs
    np.testing.assert_array_equal(logs, expected)
    few = np.array([[-1.0, 0.0], [-2.0, np.nan]])
    np.testing.assert_array_equal(exp_in_place(few.copy()), np.exp(few))
    assert exp_in_place(np.empty((0, 3))).shape == (0, 3)
