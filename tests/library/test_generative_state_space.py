"""The state-space model: exact filters, an EM that never falls, the same result of every engine.

The reference for everything is the dense joint Gaussian of all states and observations of a
series; pykalman is a second reference.
"""

import re
import subprocess
import sys

import numpy as np
import pytest
from each_case import each_case
from pykalman import KalmanFilter

from workflow_lib.models.state_spaces.kalman_moments import moments_by_length
from workflow_lib.models.state_spaces.kalman_pykalman import PykalmanSeries
from workflow_lib.models.state_spaces.kalman_recursion import SeriesRecursion
from workflow_lib.models.state_spaces.linear_gaussian import (
    LinearGaussianParameters,
    inverse_and_log_determinant,
    shrunk_to_radius,
    spectral_radius,
)
from workflow_lib.models.state_spaces.series import missing_patterns, read_series
from workflow_lib.models.state_spaces.state_space import (
    StateSpaceModel,
    engine_costs,
    mean_variance,
)
from workflow_lib.models.state_spaces.state_space_maximisation import Restrictions, maximise
from workflow_lib.models.state_spaces.state_space_start import random_pair, subspace_pair

UNRESTRICTED = Restrictions(
    isotropic=False, strength=0.0, variance=1.0, floor=1e-12, largest_radius=np.inf
)


def random_covariance(size, rng):
    factor = rng.normal(size=(size, size + 2))
    return 0.3 * factor @ factor.T / size + 0.2 * np.eye(size)


def random_parameters(d, p, seed=0, radius=0.9):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(d, d))
    return LinearGaussianParameters(
        A * radius / spectral_radius(A),
        rng.normal(size=(p, d)),
        random_covariance(d, rng),
        random_covariance(p, rng),
        rng.normal(size=d),
        random_covariance(d, rng),
    )


def model_with(parameters, **options):
    model = StateSpaceModel(len(parameters.transition), **options)
    model._set_parameters(parameters)
    model.n_steps_ = 0
    return model


def simulated(n=40, T=6, d=2, p=2, seed=0):
    parameters = random_parameters(d, p, seed)
    return parameters, model_with(parameters).sample(n, T, random_state=seed)[0]


def with_holes(Z, share=0.25, seed=0):
    """Return the series with numbers missing at random, and one wholly missing step."""
    holed = np.where(np.random.default_rng(seed).random(Z.shape) < share, np.nan, Z)
    holed[0, 1:3] = np.nan
    holed[:, 0, 0] = Z[:, 0, 0]
    return holed


def different_lengths(Z):
    return [z[: 3 + index % (Z.shape[1] - 2)] for index, z in enumerate(Z)]


def dense_joint(parameters, T):
    """Return mean and covariance of (m_1, .., m_T, z_1, .., z_T), built step by step."""
    A, C, Q, R, mean, covariance = parameters
    d, p = len(A), len(C)
    # m = S (m_1, noise_2, .., noise_T) with S[t, s] = A^(t-s).
    S = np.zeros((T * d, T * d))
    for t in range(T):
        for s in range(t + 1):
            S[t * d : t * d + d, s * d : s * d + d] = np.linalg.matrix_power(A, t - s)
    noise = np.kron(np.eye(T), Q)
    noise[:d, :d] = covariance
    states = S @ noise @ S.T
    start = np.zeros(T * d)
    start[:d] = mean
    H = np.kron(np.eye(T), C)
    observations = H @ states @ H.T + np.kron(np.eye(T), R)
    joint = np.block([[states, states @ H.T], [H @ states, observations]])
    return np.concatenate([S @ start, H @ S @ start]), joint, (T * d, T * p)


def dense_posterior(parameters, z, until=None):
    """Return log p(z), means (T, d) and covariance (T d, T d) of the states given z (T, p)."""
    T = len(z)
    mean, joint, (n_states, _) = dense_joint(parameters, T)
    known = z.copy()
    if until is not None:
        known[until:] = np.nan
    seen = np.flatnonzero(~np.isnan(known.reshape(-1)))
    values, columns = known.reshape(-1)[seen], n_states + seen
    within = joint[np.ix_(columns, columns)]
    across = joint[:n_states][:, columns]
    difference = values - mean[columns]
    solved = np.linalg.solve(within, difference)
    log_likelihood = -0.5 * (
        len(seen) * np.log(2 * np.pi) + np.linalg.slogdet(within)[1] + difference @ solved
    )
    posterior = joint[:n_states, :n_states] - across @ np.linalg.solve(within, across.T)
    return log_likelihood, (mean[:n_states] + across @ solved).reshape(T, -1), posterior


def their_filter(parameters):
    A, C, Q, R, mean, covariance = parameters
    return KalmanFilter(A, C, Q, R, None, None, mean, covariance)


def assert_same_statistics(first, second, tolerance=1e-9):
    for name, one, other in zip(first._fields, first, second):
        scale = max(np.abs(other).max(), 1.0)
        np.testing.assert_allclose(one, other, atol=tolerance * scale, rtol=0, err_msg=name)


def invariants(parameters):
    """Return quantities that do not depend on the basis of the states."""
    A, C, Q, R, *_ = parameters
    stationary = np.linalg.solve(np.eye(len(A) ** 2) - np.kron(A, A), Q.reshape(-1))
    stationary = stationary.reshape(A.shape)
    markov = [C @ np.linalg.matrix_power(A, k) @ stationary @ C.T for k in range(4)]
    return {
        "eigenvalues": np.sort_complex(np.linalg.eigvals(A)),
        "one step": C @ Q @ C.T + R,
        "markov": np.array(markov),
    }


# --- small matrices ---------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 7, 40])
def test_inverse_and_log_determinant_are_those_of_numpy(size):
    covariance = random_covariance(size, np.random.default_rng(size))
    before = covariance.copy()
    for _ in range(2):
        inverse, log_determinant = inverse_and_log_determinant(covariance)
        np.testing.assert_allclose(inverse, np.linalg.inv(covariance), rtol=1e-9, atol=1e-12)
        assert log_determinant == pytest.approx(np.linalg.slogdet(covariance)[1], abs=1e-10)
    np.testing.assert_array_equal(covariance, before)


@pytest.mark.parametrize("matrix", [[[1.0, 2.0], [2.0, 1.0]], [[np.nan, 0.0], [0.0, 1.0]]])
def test_what_is_no_covariance_has_no_inverse(matrix):
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        inverse_and_log_determinant(np.array(matrix))


def test_matrices_are_shrunk_to_the_radius_only_where_they_exceed_it():
    rng = np.random.default_rng(0)
    for size in (1, 2, 5):
        matrix = rng.normal(size=(size, size))
        radius = np.abs(np.linalg.eigvals(matrix)).max()
        assert spectral_radius(matrix) == pytest.approx(radius, rel=1e-12)
        assert shrunk_to_radius(matrix, 1.001 * radius) is matrix
        shrunk = shrunk_to_radius(matrix, 0.5 * radius)
        assert 0.5 * radius * (1 - 1e-9) < spectral_radius(shrunk) <= 0.5 * radius
    with pytest.raises(np.linalg.LinAlgError, match="not finite"):
        spectral_radius(np.array([[np.inf]]))


# --- filter, smoother and likelihood ----------------------------------------------------------


@each_case(("d", "p", "T"), [(1, 1, 3), (2, 1, 5), (3, 2, 4), (2, 4, 3), (4, 1, 1)])
@each_case("holes", [False, True])
def test_filter_smoother_and_likelihood_are_those_of_the_dense_joint_gaussian(d, p, T, holes):
    parameters, Z = simulated(n=4, T=T, d=d, p=p, seed=d + p)
    if holes:
        Z = np.where(np.random.default_rng(1).random(Z.shape) < 0.3, np.nan, Z)
    model = model_with(parameters)
    smoothed, smoothed_covariances = model.smooth(Z, return_covariances=True)
    filtered, filtered_covariances = model.filter(Z, return_covariances=True)
    likelihoods = model.score_samples(Z)
    for row, z in enumerate(Z):
        expected, means, posterior = dense_posterior(parameters, z)
        assert likelihoods[row] == pytest.approx(expected, abs=1e-9)
        np.testing.assert_allclose(smoothed[row], means, atol=1e-10)
        for t in range(T):
            block = slice(t * d, t * d + d)
            np.testing.assert_allclose(
                smoothed_covariances[row, t], posterior[block, block], atol=1e-10
            )
            _, until_now, posterior_now = dense_posterior(parameters, z, until=t + 1)
            np.testing.assert_allclose(filtered[row, t], until_now[t], atol=1e-10)
            np.testing.assert_allclose(
                filtered_covariances[row, t], posterior_now[block, block], atol=1e-10
            )


def test_covariances_stay_symmetric_and_positive_on_a_hard_long_series():
    parameters = random_parameters(3, 1, radius=1.0)._replace(
        observation_covariance=1e-8 * np.eye(1), initial_covariance=1e8 * np.eye(3)
    )
    Z = model_with(parameters).sample(1, 300, 0)[0]
    for method in ("filter", "smooth"):
        _, covariances = getattr(model_with(parameters), method)(Z, return_covariances=True)
        np.testing.assert_array_equal(covariances, covariances.swapaxes(-1, -2))
        eigenvalues = np.linalg.eigvalsh(covariances[0])
        assert (eigenvalues[:, 0] >= -1e-12 * eigenvalues[:, -1]).all()


def test_missing_numbers_everywhere_leave_the_prior():
    parameters, Z = simulated(n=2, T=4)
    Z[0] = np.nan
    model = model_with(parameters)
    assert model.score_samples(Z)[0] == 0.0
    means = model.smooth(Z)[0]
    for t in range(4):
        expected = np.linalg.matrix_power(parameters.transition, t) @ parameters.initial_mean
        np.testing.assert_allclose(means[t], expected, atol=1e-12)


# --- the E-step ---------------------------------------------------------------------------------


@each_case(("d", "p"), [(1, 1), (2, 1), (3, 2), (2, 5)])
@each_case("lengths", ["equal", "different"])
def test_engines_give_the_same_statistics(d, p, lengths):
    parameters, Z = simulated(n=12, T=7, d=d, p=p)
    series = read_series(Z if lengths == "equal" else different_lengths(Z))
    recursion = SeriesRecursion(series).statistics(parameters)
    groups = [group.statistics(parameters) for group in moments_by_length(series)]
    moments = groups[0]
    for group in groups[1:]:
        moments = moments + group
    assert_same_statistics(moments, recursion)
    assert_same_statistics(PykalmanSeries(series).statistics(parameters), recursion)
    assert len(groups) == (1 if lengths == "equal" else 5)


def test_engines_give_the_same_fit():
    _, Z = simulated(n=30, T=6, d=2, p=2)
    for Z_kind in (Z, different_lengths(Z)):
        fits = [
            StateSpaceModel(2, n_iter=20, n_init=2, engine=engine, tol=-1.0).fit(Z_kind)
            for engine in ("moments", "recursion")
        ]
        np.testing.assert_allclose(
            fits[0].log_likelihoods_, fits[1].log_likelihoods_, rtol=1e-9, atol=0
        )
        for parameter, other in zip(fits[0]._parameters(), fits[1]._parameters()):
            np.testing.assert_allclose(parameter, other, atol=1e-8)


def test_statistics_of_missing_numbers_are_expectations_under_the_dense_joint_gaussian():
    parameters, Z = simulated(n=5, T=4, d=2, p=3)
    Z = with_holes(Z, 0.4)
    d, p, T = 2, 3, 4
    found = SeriesRecursion(read_series(Z)).statistics(parameters)
    expected = {"state": np.zeros((d, d)), "across": np.zeros((p, d)), "within": np.zeros((p, p))}
    expected["transition"] = np.zeros((d, d))
    n_observed = 0
    for z in Z:
        mean, joint, (n_states, n_numbers) = dense_joint(parameters, T)
        flat = z.reshape(-1)
        columns = n_states + np.flatnonzero(~np.isnan(flat))
        gain = np.linalg.solve(joint[np.ix_(columns, columns)], joint[columns]).T
        means = mean + gain @ (flat[columns - n_states] - mean[columns])
        covariance = joint - gain @ joint[columns]
        moment = covariance + np.outer(means, means)
        for t in range(T):
            if t > 0:
                before = slice(t * d - d, t * d)
                expected["transition"] += moment[t * d : t * d + d, before]
            if np.isnan(z[t]).all():
                continue
            n_observed += 1
            states = slice(t * d, t * d + d)
            numbers = slice(n_states + t * p, n_states + t * p + p)
            expected["state"] += moment[states, states]
            expected["across"] += moment[numbers, states]
            expected["within"] += moment[numbers, numbers]
    assert found.n_observed_steps == n_observed < 5 * T
    np.testing.assert_allclose(found.transition_moment, expected["transition"], atol=1e-9)
    np.testing.assert_allclose(found.state_moment, expected["state"], atol=1e-9)
    np.testing.assert_allclose(found.observation_state_moment, expected["across"], atol=1e-9)
    np.testing.assert_allclose(found.observation_moment, expected["within"], atol=1e-9)


def test_moment_engine_holds_nothing_of_the_size_of_the_data():
    parameters, Z = simulated(n=50, T=5, d=2, p=2)
    few = moments_by_length(read_series(Z))
    many = moments_by_length(read_series(np.tile(Z, (20, 1, 1))))
    assert [group.matrix.shape for group in few] == [group.matrix.shape for group in many]
    assert not any(
        value.size >= Z.size for value in vars(many[0]).values() if isinstance(value, np.ndarray)
    )
    once, twenty_times = few[0].statistics(parameters), many[0].statistics(parameters)
    for name, one, other in zip(once._fields, once, twenty_times):
        np.testing.assert_allclose(20 * np.asarray(one), other, rtol=1e-9, err_msg=name)


def test_cheaper_engine_is_chosen():
    _, short = simulated(n=60, T=5)
    _, long = simulated(n=1, T=300)
    assert StateSpaceModel(2, n_iter=2, n_init=1).fit(short).engine_ == "moments"
    assert StateSpaceModel(2, n_iter=2, n_init=1).fit(long).engine_ == "recursion"
    assert StateSpaceModel(2, n_iter=2, n_init=1).fit(with_holes(short)).engine_ == "recursion"
    moments, recursion = engine_costs(read_series(long), 2)
    assert moments > recursion


# --- EM -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("isotropic", [True, False])
def test_estimates_are_stationary_points_of_the_objective(isotropic):
    _, Z = simulated(n=30, T=5, d=1, p=2, seed=1)
    model = StateSpaceModel(
        1, 4000, 1, isotropic, tol=-1.0, prior_strength=5.0, max_spectral_radius=10.0
    ).fit(Z)
    series, restrictions = read_series(Z), Restrictions(isotropic, 5.0, 0.05, 0.0, 1.0)
    restrictions = restrictions._replace(variance=0.05 * mean_variance(series))

    def objective(parameters):
        total = model_with(parameters).score_samples(Z).sum()
        return total + restrictions.log_prior(parameters)

    best = model._parameters()
    for name in best._fields:
        value = getattr(best, name)
        directions = np.eye(value.size).reshape(-1, *value.shape)
        if name.endswith("covariance"):
            directions = directions + directions.swapaxes(-1, -2)
            if isotropic and name != "initial_covariance":
                directions = np.eye(len(value))[None]
        for direction in directions:
            step = 1e-5 * direction
            slope = objective(best._replace(**{name: value + step}))
            slope -= objective(best._replace(**{name: value - step}))
            assert abs(slope / 2e-5) < 2e-3, name


def test_one_step_equals_that_of_pykalman_on_one_sequence():
    parameters, Z = simulated(n=1, T=40, d=2, p=2)
    theirs = their_filter(parameters)
    names = (
        "transition_matrices",
        "observation_matrices",
        "transition_covariance",
        "observation_covariance",
        "initial_state_mean",
        "initial_state_covariance",
    )
    theirs.em(Z[0], n_iter=1, em_vars=names)
    expected = LinearGaussianParameters(*(getattr(theirs, name) for name in names))
    series = read_series(Z)
    for engine in (SeriesRecursion(series), moments_by_length(series)[0]):
        stepped = maximise(engine.statistics(parameters), parameters, UNRESTRICTED)
        for name, ours, their in zip(expected._fields, stepped, expected):
            np.testing.assert_allclose(ours, their, atol=1e-10, err_msg=name)


def test_isotropic_estimates_are_mean_diagonals_of_the_full_ones():
    parameters, Z = simulated(n=10, T=5)
    statistics = SeriesRecursion(read_series(Z)).statistics(parameters)
    full = maximise(statistics, parameters, UNRESTRICTED)
    isotropic = maximise(statistics, parameters, UNRESTRICTED._replace(isotropic=True))
    for name in ("state_covariance", "observation_covariance"):
        value = getattr(isotropic, name)
        np.testing.assert_array_equal(value, value[0, 0] * np.eye(2))
        assert value[0, 0] == pytest.approx(np.trace(getattr(full, name)) / 2)


def test_prior_adds_steps_of_its_variance():
    parameters, Z = simulated(n=10, T=5)
    statistics = SeriesRecursion(read_series(Z)).statistics(parameters)
    plain = maximise(statistics, parameters, UNRESTRICTED)
    prior = UNRESTRICTED._replace(strength=3.0, variance=0.7)
    shrunk = maximise(statistics, parameters, prior)
    np.testing.assert_allclose(
        shrunk.observation_covariance,
        (50 * plain.observation_covariance + 3 * 0.7 * np.eye(2)) / 53,
        atol=1e-12,
    )
    at_mode = parameters._replace(
        state_covariance=0.7 * np.eye(2),
        observation_covariance=0.7 * np.eye(2),
        initial_covariance=0.7 * np.eye(2),
    )
    assert prior.log_prior(at_mode) == pytest.approx(0.0, abs=1e-12)
    assert prior.log_prior(parameters) < 0


def test_pykalman_engine_gives_the_fit_of_ours():
    _, Z = simulated(n=1, T=40, d=2, p=1)
    Z[0, 5] = np.nan
    fits = [
        StateSpaceModel(2, n_iter=6, n_init=1, engine=engine, tol=-1.0).fit(
            np.vstack([Z, Z[:, ::-1]])
        )
        for engine in ("pykalman", "recursion")
    ]
    np.testing.assert_allclose(fits[0].log_likelihoods_, fits[1].log_likelihoods_, rtol=1e-9)
    np.testing.assert_allclose(fits[0].transition_, fits[1].transition_, atol=1e-8)


def test_pykalman_and_scikit_learn_are_imported_only_when_used():
    code = (
        "import sys; from workflow_lib import StateSpaceModel; import numpy as np;"
        "StateSpaceModel(1, n_iter=2, n_init=1).fit(np.random.default_rng(0).normal(size=(5, 4)));"
        "assert not {'pykalman', 'sklearn', 'pandas'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# --- what is recovered --------------------------------------------------------------------------


@pytest.mark.parametrize(("d", "p"), [(2, 1), (2, 3)])
def test_invariants_of_simulated_series_are_recovered(d, p):
    rotation = np.array([[np.cos(0.8), -np.sin(0.8)], [np.sin(0.8), np.cos(0.8)]])
    truth = LinearGaussianParameters(
        0.9 * rotation,
        np.random.default_rng(2).normal(size=(p, d)),
        0.3 * np.eye(d),
        0.2 * np.eye(p),
        np.ones(d),
        np.eye(d),
    )
    Z = model_with(truth).sample(4000, 10, random_state=5)[0]
    model = StateSpaceModel(d, n_iter=500, tol=1e-9).fit(Z)
    expected, found = invariants(truth), invariants(model._parameters())
    np.testing.assert_allclose(found["eigenvalues"], expected["eigenvalues"], atol=0.03)
    np.testing.assert_allclose(found["one step"], expected["one step"], atol=0.05)
    scale = np.abs(expected["markov"]).max()
    np.testing.assert_allclose(found["markov"], expected["markov"], atol=0.06 * scale)
    assert model.score_samples(Z).sum() > model_with(truth).score_samples(Z).sum()


def test_change_of_basis_changes_no_likelihood():
    parameters, Z = simulated(n=5, T=5, d=2, p=2)
    basis = np.array([[1.0, 0.4], [-0.3, 2.0]])
    inverse = np.linalg.inv(basis)
    A, C, Q, R, mean, covariance = parameters
    turned = LinearGaussianParameters(
        basis @ A @ inverse,
        C @ inverse,
        basis @ Q @ basis.T,
        R,
        basis @ mean,
        basis @ covariance @ basis.T,
    )
    np.testing.assert_allclose(
        model_with(parameters).score_samples(Z), model_with(turned).score_samples(Z), rtol=1e-11
    )
    for name, value in invariants(parameters).items():
        np.testing.assert_allclose(invariants(turned)[name], value, atol=1e-10)


def test_subspace_start_recovers_the_dynamics_from_noisy_series():
    parameters = random_parameters(2, 2, seed=4)
    Z = model_with(parameters).sample(20000, 8, random_state=0)[0]
    A, C = subspace_pair(read_series(Z), 2)
    found = np.sort_complex(np.linalg.eigvals(A))
    expected = np.sort_complex(np.linalg.eigvals(parameters.transition))
    np.testing.assert_allclose(found, expected, atol=0.1)
    assert C.shape == (2, 2)


def test_series_too_short_for_the_subspace_start_are_fitted_from_random_ones():
    Z = np.random.default_rng(0).normal(size=(20, 2, 1))
    assert subspace_pair(read_series(Z), 3) is None
    assert np.isfinite(StateSpaceModel(3, n_iter=5).fit(Z).log_likelihoods_).all()


def test_random_starts_are_observable():
    rng = np.random.default_rng(0)
    for d, p in ((1, 1), (3, 1), (2, 4), (5, 2)):
        A, C = random_pair(p, d, rng)
        blocks = [C @ np.linalg.matrix_power(A, k) for k in range(d)]
        assert np.linalg.matrix_rank(np.vstack(blocks)) == d
        assert spectral_radius(A) < 1


def test_more_starts_never_give_a_lower_objective_and_seeds_matter():
    _, Z = simulated(n=10, T=4, d=2, p=1)
    best = [
        StateSpaceModel(2, n_iter=15, n_init=n_init).fit(Z).log_likelihoods_[-1]
        for n_init in (1, 2, 4, 8)
    ]
    assert np.diff(best).min() >= 0
    draws = {
        StateSpaceModel(3, n_iter=1, n_init=1, random_state=seed).fit(Z).log_likelihoods_[0]
        for seed in range(5)
    }
    assert len(draws) == 5
    first, second = (StateSpaceModel(3, n_iter=3).fit(Z).transition_ for _ in range(2))
    np.testing.assert_array_equal(first, second)


# --- restrictions and tiny samples --------------------------------------------------------------


@pytest.mark.parametrize("bound", [1.0, 0.6])
def test_spectral_radius_is_bounded_and_the_objective_still_never_falls(bound):
    growing = 1.4 ** np.arange(8)
    Z = growing * (1 + 0.1 * np.random.default_rng(0).normal(size=(10, 8)))
    free = StateSpaceModel(2, n_iter=60, n_init=2, max_spectral_radius=10.0).fit(Z)
    assert spectral_radius(free.transition_) > 1.3
    for seed in range(3):
        model = StateSpaceModel(
            2, n_iter=60, n_init=3, max_spectral_radius=bound, tol=-np.inf, random_state=seed
        ).fit(Z)
        assert 0.9 * bound < spectral_radius(model.transition_) <= bound
        objectives = model.log_likelihoods_
        assert np.diff(objectives).min() >= -1e-10 * np.abs(objectives).max()
        assert objectives[-1] < free.log_likelihoods_[-1]


def expected_log_density(A, Q, statistics, restrictions):
    """Return the objective of EM in A and Q, up to a constant: transitions plus log prior."""
    s = statistics
    noise = s.next_moment - A @ s.transition_moment.T - s.transition_moment @ A.T
    noise = noise + A @ s.previous_moment @ A.T
    noise = noise + restrictions.strength * restrictions.variance * np.eye(len(A))
    count = s.n_transitions + restrictions.strength
    return -0.5 * (count * np.linalg.slogdet(Q)[1] + np.trace(np.linalg.solve(Q, noise)))


@pytest.mark.parametrize("strength", [0.0, 30.0])
def test_bounded_transition_is_an_improvement_even_where_the_straight_line_leaves_the_bound(
    strength,
):
    restrictions = UNRESTRICTED._replace(strength=strength, variance=0.1, largest_radius=0.7)
    moved_at_the_bound = 0
    for seed in range(20):
        parameters, Z = simulated(n=10, T=6, d=2, p=2, seed=seed)
        radius = spectral_radius(parameters.transition)
        # On the bound already, so that the straight line to the unconstrained maximiser often
        # leaves it.
        current = parameters._replace(transition=parameters.transition * 0.7 / radius)
        statistics = SeriesRecursion(read_series(Z)).statistics(current)
        free = maximise(statistics, current, restrictions._replace(largest_radius=np.inf))
        stepped = maximise(statistics, current, restrictions)
        assert spectral_radius(stepped.transition) <= 0.7 * (1 + 1e-9)
        before, after = (
            expected_log_density(one.transition, one.state_covariance, statistics, restrictions)
            for one in (current, stepped)
        )
        assert after >= before
        if spectral_radius(free.transition) > 0.7:
            shortest = current.transition + 1e-6 * (free.transition - current.transition)
            stuck = spectral_radius(shortest) > 0.7
            moved = np.abs(stepped.transition - current.transition).max() > 1e-3
            moved_at_the_bound += stuck and moved
    assert moved_at_the_bound >= 5


@each_case("seed", [0, 1, 2, 4, 6, 15, 17, 24])
def test_bounded_transition_reaches_the_constrained_maximiser(seed):
    # No other transition within the bound is better, near or far. The best ones have a real
    # eigenvalue at the bound, one at either end, or a complex pair.
    restrictions = UNRESTRICTED._replace(isotropic=True, largest_radius=0.6)
    parameters, Z = simulated(n=10, T=6, d=2, p=2, seed=seed)
    current = parameters._replace(transition=parameters.transition * 0.3)
    statistics = SeriesRecursion(read_series(Z)).statistics(parameters)
    free = maximise(statistics, current, restrictions._replace(largest_radius=np.inf))
    assert spectral_radius(free.transition) > 0.6
    for _ in range(30):
        current = maximise(statistics, current, restrictions)
    reached = expected_log_density(
        current.transition, current.state_covariance, statistics, restrictions
    )
    rng = np.random.default_rng(seed)
    for size in (1e-3, 1e-2, 0.1, 1.0):
        for _ in range(100):
            other = current.transition + size * rng.normal(size=(2, 2))
            other = shrunk_to_radius(other, 0.6)
            noise = statistics.next_moment - other @ statistics.transition_moment.T
            noise = noise - statistics.transition_moment @ other.T
            noise = noise + other @ statistics.previous_moment @ other.T
            Q = np.trace(noise) / (2 * statistics.n_transitions) * np.eye(2)
            assert expected_log_density(other, Q, statistics, restrictions) <= reached + 1e-6


@pytest.mark.parametrize("state_dim", [1, 2])
def test_starts_agree_where_the_bound_is_met(state_dim):
    # Random walks: the best transition has an eigenvalue at the bound.
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(40, 6)).cumsum(axis=1) + 0.1 * rng.normal(size=(40, 6))
    models = [
        StateSpaceModel(state_dim, n_iter=400, n_init=n_init, random_state=3, tol=1e-9).fit(Z)
        for n_init in (1, 5)
    ]
    assert spectral_radius(models[0].transition_) > 1 - 1e-6
    reached = [model.log_likelihoods_[-1] for model in models]
    assert reached[1] - reached[0] < 0.01


def test_units_of_the_states_maximise_the_prior():
    parameters, Z = simulated(n=10, T=5)
    restrictions = UNRESTRICTED._replace(strength=3.0, variance=0.7)
    rescaled, log_prior = restrictions.rescaled(parameters)
    assert log_prior == pytest.approx(restrictions.log_prior(rescaled), abs=1e-12)
    np.testing.assert_allclose(
        model_with(rescaled).score_samples(Z), model_with(parameters).score_samples(Z), rtol=1e-11
    )
    A, C, Q, R, mean, covariance = rescaled
    for k in (0.5, 0.99, 1.01, 2.0):
        other = LinearGaussianParameters(A, C / k**0.5, k * Q, R, k**0.5 * mean, k * covariance)
        assert restrictions.log_prior(other) < log_prior
    unchanged, nothing = UNRESTRICTED.rescaled(parameters)
    assert unchanged is parameters and nothing == 0.0


SHAPES = [(1, 2, 1), (1, 2, 3), (2, 3, 1), (3, 2, 2), (1, 30, 1)]


@each_case("shape", SHAPES)
@each_case(
    ("state_dim", "isotropic", "prior_strength"),
    [(1, True, 0.0), (4, True, 0.0), (4, False, 0.0), (4, False, 1.0)],
)
def test_tiny_samples_stay_finite(isotropic, shape, prior_strength, state_dim):
    Z = np.random.default_rng(0).normal(size=shape)
    model = StateSpaceModel(
        state_dim, n_iter=25, n_init=2, isotropic=isotropic, prior_strength=prior_strength
    ).fit(Z)
    for value in (*model._parameters(), model.log_likelihoods_, model.smooth(Z)):
        assert np.isfinite(value).all()
    for name in ("state_covariance_", "observation_covariance_", "initial_covariance_"):
        assert np.linalg.eigvalsh(getattr(model, name)).min() > 0


@pytest.mark.parametrize("value", [0.0, 3.0, 0.1])
def test_constant_series_stay_finite_without_a_prior(value):
    model = StateSpaceModel(2, n_iter=30, prior_strength=0.0).fit(np.full((4, 5, 2), value))
    assert np.isfinite(model.log_likelihoods_).all()
    assert np.isfinite(model.score_samples(np.full((1, 5, 2), value))).all()


# --- input and output -----------------------------------------------------------------------------


def test_samples_have_the_moments_of_the_model():
    parameters = random_parameters(2, 2)
    Z, states = model_with(parameters).sample(40000, 3, random_state=1)
    assert Z.shape == (40000, 3, 2) and states.shape == (40000, 3, 2)
    mean, joint, _ = dense_joint(parameters, 3)
    drawn = np.hstack([states.reshape(len(states), -1), Z.reshape(len(Z), -1)])
    np.testing.assert_allclose(drawn.mean(axis=0), mean, atol=0.05)
    np.testing.assert_allclose(np.cov(drawn.T), joint, atol=0.06 * np.abs(joint).max())
    again = model_with(parameters).sample(5, 3, random_state=7)[0]
    np.testing.assert_array_equal(again, model_with(parameters).sample(5, 3, random_state=7)[0])


def test_matrices_are_series_of_single_numbers_or_of_the_given_ones():
    _, Z = simulated(n=10, T=6, d=2, p=2)
    options = {"n_iter": 3, "n_init": 1}
    flat = StateSpaceModel(2, observation_dim=2, **options).fit(Z.reshape(10, 12))
    np.testing.assert_array_equal(
        flat.transition_, StateSpaceModel(2, **options).fit(Z).transition_
    )
    np.testing.assert_array_equal(flat.smooth(Z.reshape(10, 12)), flat.smooth(Z))
    single = StateSpaceModel(2, **options).fit(Z[:, :, 0])
    assert single.observation_dim_ == 1
    np.testing.assert_array_equal(single.smooth(Z[:, :, 0]), single.smooth(Z[:, :, :1]))


def test_lists_are_returned_as_lists():
    parameters, Z = simulated(n=6, T=6)
    rows = different_lengths(Z)
    model = model_with(parameters)
    smoothed, covariances = model.smooth(rows, return_covariances=True)
    for row, states, state_covariances in zip(rows, smoothed, covariances):
        assert states.shape == (len(row), 2) and state_covariances.shape == (len(row), 2, 2)
        np.testing.assert_allclose(states, model.smooth(row[None])[0], atol=1e-12)
    padded = np.full_like(Z, np.nan)
    for target, row in zip(padded, rows):
        target[: len(row)] = row
    np.testing.assert_allclose(model.score_samples(rows), model.score_samples(padded), rtol=1e-12)


def test_patterns_distinguish_lengths_from_missing_ends():
    Z = np.zeros((4, 3, 1))
    Z[1:3, 2] = np.nan
    series = read_series([Z[0], Z[1], Z[2], Z[3, :2]])
    patterns = missing_patterns(series)
    assert sorted(patterns.counts) == [1, 1, 2]
    assert patterns.index[1] == patterns.index[2] != patterns.index[3]


def bad_series():
    _, Z = simulated(n=4, T=4)
    missing_step, missing_series, missing_column, infinite = (Z.copy() for _ in range(4))
    missing_step[:, 2] = np.nan
    missing_series[3] = np.nan
    missing_column[:, :, 1] = np.nan
    infinite[1, 0, 0] = np.inf
    ragged = np.empty(2, dtype=object)
    ragged[:] = [Z[0], Z[1, :2]]
    return {
        "one step": (Z[:, :1], "at least two steps"),
        "one step in a list": ([Z[0], Z[1, :1]], "series 1 has one"),
        "a vector": (Z[:, 0, :1], "at least two steps"),
        "missing step": (missing_step, "Every series is missing at step 2"),
        "missing series": (missing_series, "All numbers of series 3 are missing"),
        "missing column": (missing_column, "Number 1 of the steps .* missing in every series"),
        "infinite": (infinite, "series 1 holds infinity"),
        "ragged": (ragged, "Pass a list of arrays"),
        "nested ragged": ([[[1.0, 2.0], [1.0]]], "Series 0 is not an array"),
        "one series": (Z[0, :, 0], re.escape("as z[None]")),
        "four axes": (Z[None], re.escape("must have the shape (n, T, p)")),
        "no series": (Z[:0], "There must be series"),
        "empty list": ([], "found an empty list"),
        "different columns": ([Z[0], Z[1, :, :1]], "have 1 numbers per step; expected 2"),
        "scalars": ([1.0, 2.0], "Every series of a list"),
    }


@each_case("case", bad_series())
def test_bad_series_are_refused_with_the_remedy(case):
    Z, message = bad_series()[case]
    with pytest.raises(ValueError, match=message):
        StateSpaceModel(2, n_iter=2).fit(Z)


def test_series_unlike_those_of_fit_are_refused():
    parameters, Z = simulated(n=3, T=4)
    with pytest.raises(ValueError, match="have 1 numbers per step; expected 2"):
        model_with(parameters).smooth(Z[:, :, :1])
    with pytest.raises(ValueError, match="cannot be cut into steps of 2"):
        model_with(parameters).smooth(Z.reshape(3, 8)[:, :5])
    with pytest.raises(ValueError, match="have 2 numbers per step; expected 3"):
        StateSpaceModel(2, observation_dim=3).fit(Z)


def test_engines_that_cannot_take_missing_numbers_say_so():
    _, Z = simulated(n=5, T=4)
    Z = with_holes(Z)
    with pytest.raises(ValueError, match="engine='moments' needs series without missing"):
        StateSpaceModel(2, engine="moments").fit(Z)
    with pytest.raises(ValueError, match="pykalman drops a step"):
        StateSpaceModel(2, engine="pykalman").fit(Z)
