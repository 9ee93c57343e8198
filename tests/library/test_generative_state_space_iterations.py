"""Extrapolated EM never lowers the objective, and gains more than plain EM per iteration."""

import numpy as np
import pytest
from each_case import each_case

from workflow_lib.models.state_spaces import state_space_iterations
from workflow_lib.models.state_spaces.kalman_moments import moments_by_length
from workflow_lib.models.state_spaces.kalman_recursion import SeriesRecursion
from workflow_lib.models.state_spaces.linear_gaussian import LinearGaussianParameters
from workflow_lib.models.state_spaces.series import read_series
from workflow_lib.models.state_spaces.state_space import mean_variance
from workflow_lib.models.state_spaces.state_space_iterations import (
    expectation_maximisation,
    extrapolated,
)
from workflow_lib.models.state_spaces.state_space_maximisation import Restrictions, maximise
from workflow_lib.models.state_spaces.state_space_start import starting_parameters


def random_walks(n=30, T=6, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, T)).cumsum(axis=1) + 0.3 * rng.normal(size=(n, T))


def problem(state_dim=2, isotropic=True, strength=1.0, seed=0):
    """Return a start, the expectation and the restrictions of a fit to random walks."""
    series = read_series(random_walks(seed=seed))
    variance = mean_variance(series)
    restrictions = Restrictions(isotropic, strength, 0.05 * variance, 1e-8 * variance, 1.0)
    rng = np.random.default_rng(seed)
    start = starting_parameters(series, state_dim, 1.0, variance, 1, rng)[0]
    return start, moments_by_length(series)[0].statistics, restrictions


def plain_objectives(start, expectation, restrictions, n_iter):
    parameters, objectives = start, []
    for _ in range(n_iter):
        parameters = maximise(expectation(parameters), parameters, restrictions)
        parameters, log_prior = restrictions.rescaled(parameters)
        objectives.append(expectation(parameters).log_likelihood + log_prior)
    return objectives


@pytest.mark.parametrize("state_dim", [1, 2, 3])
@pytest.mark.parametrize("strength", [0.0, 1.0])
def test_objective_never_falls_and_is_higher_than_that_of_plain_em(state_dim, strength):
    setting = problem(state_dim, strength=strength)
    _, objectives = expectation_maximisation(*setting, 60, -np.inf)
    plain = plain_objectives(*setting, 60)
    assert len(objectives) == 60
    assert np.diff(objectives).min() >= -1e-10 * abs(objectives[-1])
    np.testing.assert_allclose(objectives[:2], plain[:2], rtol=1e-12)
    assert objectives[-1] >= plain[-1] - 1e-6


def test_a_fifth_of_the_iterations_is_enough():
    setting = problem(2)
    _, objectives = expectation_maximisation(*setting, 100, -np.inf)
    assert objectives[-1] > plain_objectives(*setting, 500)[-1]


@pytest.mark.parametrize("n_iter", range(1, 8))
def test_number_of_iterations_is_as_requested(n_iter):
    assert len(expectation_maximisation(*problem(), n_iter, -np.inf)[1]) == n_iter


def test_returned_parameters_are_those_of_the_last_objective():
    start, expectation, restrictions = problem(3, isotropic=False)
    for n_iter in (1, 2, 3, 4, 30):
        parameters, objectives = expectation_maximisation(
            start, expectation, restrictions, n_iter, -np.inf
        )
        objective = expectation(parameters).log_likelihood + restrictions.log_prior(parameters)
        assert objectives[-1] == pytest.approx(objective, rel=1e-10)


def test_em_stops_where_an_iteration_gains_little():
    setting = problem(1)
    _, objectives = expectation_maximisation(*setting, 1000, 1e-4)
    assert len(objectives) < 100
    assert objectives[-1] - objectives[-2] < 1e-4
    _, further = expectation_maximisation(*setting, 1000, 1e-9)
    assert 0 <= further[-1] - objectives[-1] < 1e-2


@each_case("engine", ["moments", "recursion"])
@each_case("harm", ["no covariance", "overflow", "not a number", "worse"])
def test_bad_extrapolations_are_refused(monkeypatch, engine, harm):
    start, expectation, restrictions = problem(2)
    if engine == "recursion":
        expectation = SeriesRecursion(read_series(random_walks())).statistics
    size = sum(value.size for value in start)

    def bad(before, middle, after, units, longest):
        vector = {
            "no covariance": -after,
            "overflow": np.full(size, 1e300),
            "not a number": np.full(size, np.nan),
            "worse": before,
        }[harm]
        return vector, 2.0

    plain = plain_objectives(start, expectation, restrictions, 30)
    monkeypatch.setattr(state_space_iterations, "extrapolated", bad)
    _, objectives = expectation_maximisation(start, expectation, restrictions, 30, -np.inf)
    np.testing.assert_allclose(objectives, plain, rtol=1e-10)


def test_extrapolation_finds_the_limit_of_a_geometric_sequence():
    limit, direction = np.array([1.0, -2.0, 3.0]), np.array([0.5, 1.0, -1.0])
    steps = [limit + 0.9**k * direction for k in range(3)]
    vector, step = extrapolated(*steps, np.ones(3), 1e6)
    np.testing.assert_allclose(vector, limit, atol=1e-10)
    assert step == pytest.approx(10.0)
    vector, step = extrapolated(*steps, np.ones(3), 4.0)
    assert step == 4.0
    r, v = steps[1] - steps[0], steps[2] - 2 * steps[1] + steps[0]
    np.testing.assert_allclose(vector, steps[0] + 8.0 * r + 16.0 * v)


def test_extrapolation_is_at_least_the_last_step_even_where_nothing_moves():
    still = np.ones(3)
    for steps in ((still, still, still), (still, still, still + 1.0)):
        vector, step = extrapolated(*steps, np.ones(3), 4.0)
        assert step == 1.0
        np.testing.assert_allclose(vector, steps[2])


def test_units_of_the_series_do_not_matter():
    Z = random_walks()
    reached = []
    for scale in (1.0, 1e4):
        series = read_series(scale * Z)
        variance = mean_variance(series)
        restrictions = Restrictions(True, 1.0, 0.05 * variance, 1e-8 * variance, 1.0)
        start = LinearGaussianParameters(
            0.5 * np.eye(1),
            np.ones((1, 1)),
            0.3 * variance * np.eye(1),
            0.3 * variance * np.eye(1),
            np.zeros(1),
            variance * np.eye(1),
        )
        expectation = moments_by_length(series)[0].statistics
        _, objectives = expectation_maximisation(start, expectation, restrictions, 12, -np.inf)
        reached.append(np.array(objectives) + Z.size * np.log(scale))
    np.testing.assert_allclose(reached[1], reached[0], rtol=1e-8)
