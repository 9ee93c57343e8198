"""The engines that the benchmark of state-space EM compares, all with the same two functions.

An engine is a class made from the series (n, T, p) and parameters to start from, with

    iteration()      one EM iteration from these parameters, which is what is timed
    likelihoods(k)   log-likelihoods over k iterations of EM from these parameters
    timed_series     how many of the series an iteration takes

Ours take all series. pykalman and statsmodels have no EM for more than one series; a user
would call their smoother for each series, pool the statistics, and add an M-step, for which ours is
used. They get only the first few series. dynamax has EM for batches of series; its
E-step and M-step are compiled together once, whereas its `fit_em` compiles them in every call.
"""

import numpy as np

from workflow_lib.models.state_spaces.kalman_moments import moments_by_length
from workflow_lib.models.state_spaces.kalman_pykalman import PykalmanSeries
from workflow_lib.models.state_spaces.kalman_recursion import SeriesRecursion
from workflow_lib.models.state_spaces.linear_gaussian import ExpectedStatistics
from workflow_lib.models.state_spaces.series import read_series
from workflow_lib.models.state_spaces.state_space_maximisation import Restrictions, maximise

RESTRICTIONS = Restrictions(
    isotropic=True, strength=1.0, variance=0.05, floor=1e-8, largest_radius=1.0
)
SERIES_IN_A_LOOP = 20


class Ours:
    """EM with our M-step and the expectation of a subclass."""

    def __init__(self, Z, parameters) -> None:
        self.timed_series = len(Z)
        self.parameters = parameters
        self.expectation = self.prepared(Z)

    def prepared(self, Z):
        """Return the function from parameters to expected statistics."""
        raise NotImplementedError

    def iteration(self) -> None:
        updated = maximise(self.expectation(self.parameters), self.parameters, RESTRICTIONS)
        RESTRICTIONS.rescaled(updated)

    def likelihoods(self, iterations: int) -> list[float]:
        """Return log-likelihoods under maximum likelihood, which must not fall."""
        restrictions = RESTRICTIONS._replace(strength=0.0)
        found, parameters = [], self.parameters
        for _ in range(iterations):
            statistics = self.expectation(parameters)
            found.append(statistics.log_likelihood)
            parameters = maximise(statistics, parameters, restrictions)
        return found


class Moments(Ours):
    def prepared(self, Z):
        return moments_by_length(read_series(Z))[0].statistics


class Recursion(Ours):
    def prepared(self, Z):
        return SeriesRecursion(read_series(Z)).statistics


class Pykalman(Ours):
    """Smoother (which filters first) in a loop; the timed iteration leaves the likelihood out."""

    def __init__(self, Z, parameters) -> None:
        self.Z = Z[:SERIES_IN_A_LOOP]
        super().__init__(self.Z, parameters)

    def prepared(self, Z):
        return PykalmanSeries(read_series(Z)).statistics

    def iteration(self):
        from pykalman import KalmanFilter

        A, C, Q, R, mean, covariance = self.parameters
        peer = KalmanFilter(A, C, Q, R, np.zeros(len(A)), np.zeros(len(C)), mean, covariance)
        initial, states, across = 0.0, 0.0, 0.0
        for z in self.Z:
            means, covariances = peer.smooth(z)
            initial = initial + means[0]
            states = states + means.T @ means + covariances.sum(axis=0)
            across = across + z.T @ means
        return initial, states, across


class Statsmodels(Ours):
    """Compiled smoother in a loop, with everything the M-step needs."""

    def __init__(self, Z, parameters) -> None:
        super().__init__(Z[:SERIES_IN_A_LOOP], parameters)

    def prepared(self, Z):
        from statsmodels.tsa.statespace.kalman_smoother import KalmanSmoother

        def one_series(parameters, z) -> ExpectedStatistics:
            A, C, Q, R, mean, covariance = parameters
            d, p = len(A), len(C)
            # A smoother remains bound to its first series, so every series has its own.
            smoother = KalmanSmoother(k_endog=p, k_states=d, k_posdef=d)
            smoother["transition"], smoother["design"] = A, C
            smoother["selection"] = np.eye(d)
            smoother["state_cov"], smoother["obs_cov"] = Q, R
            smoother.initialize_known(mean, covariance)
            smoother.bind(z.copy())
            result = smoother.smooth()
            means = result.smoothed_state.T
            covariances = result.smoothed_state_cov.transpose(2, 0, 1)
            moments = covariances + means[:, :, None] * means[:, None, :]
            # The autocovariance at t is that of the states at t + 1 and t.
            across = result.smoothed_state_autocov[:, :, : len(z) - 1].sum(axis=2)
            return ExpectedStatistics(
                log_likelihood=float(result.llf),
                n_series=1,
                n_transitions=len(z) - 1,
                n_observed_steps=len(z),
                initial_sum=means[0],
                initial_moment=moments[0],
                next_moment=moments[1:].sum(axis=0),
                transition_moment=across + means[1:].T @ means[:-1],
                previous_moment=moments[:-1].sum(axis=0),
                state_moment=moments.sum(axis=0),
                observation_state_moment=z.T @ means,
                observation_moment=z.T @ z,
            )

        def statistics(parameters) -> ExpectedStatistics:
            total = one_series(parameters, Z[0])
            for z in Z[1:]:
                total = total + one_series(parameters, z)
            return total

        return statistics


class Dynamax:
    """Batch EM of dynamax in double precision."""

    def __init__(self, Z, parameters) -> None:
        import jax

        jax.config.update("jax_enable_x64", True)
        from dynamax.linear_gaussian_ssm import LinearGaussianSSM

        self.timed_series = len(Z)
        self.series = jax.numpy.asarray(Z)
        A, C, Q, R, mean, covariance = (jax.numpy.asarray(value) for value in parameters)
        self.model = LinearGaussianSSM(
            len(A), len(C), has_dynamics_bias=False, has_emissions_bias=False
        )
        self.parameters, self.properties = self.model.initialize(
            initial_mean=mean,
            initial_covariance=covariance,
            dynamics_weights=A,
            dynamics_covariance=Q,
            emission_weights=C,
            emission_covariance=R,
        )
        inputs = jax.numpy.zeros((*Z.shape[:2], 0))
        state = self.model.initialize_m_step_state(self.parameters, self.properties)

        def step(parameters):
            expectation = jax.vmap(lambda z, u: self.model.e_step(parameters, z, u))
            statistics, likelihoods = expectation(self.series, inputs)
            updated, _ = self.model.m_step(parameters, self.properties, statistics, state)
            return updated, likelihoods.sum()

        self.step, self.wait = jax.jit(step), jax.block_until_ready

    def iteration(self) -> None:
        self.wait(self.step(self.parameters))

    def likelihoods(self, iterations: int) -> list[float]:
        _, found = self.model.fit_em(
            self.parameters, self.properties, self.series, num_iters=iterations, verbose=False
        )
        return found.tolist()


ENGINES = {
    "moments": Moments,
    "recursion": Recursion,
    "pykalman": Pykalman,
    "statsmodels": Statsmodels,
    "dynamax": Dynamax,
}
