"""A linear-Gaussian state-space model of series (section 3.3 of the OFER paper)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from workflow_lib.core.array_arguments import check_ignored
from workflow_lib.core.parameters import (
    ParameterMixin,
    check_kind,
    check_parameters,
    checks,
    random_generator,
)
from workflow_lib.models.state_spaces.kalman_moments import moments_by_length
from workflow_lib.models.state_spaces.kalman_pykalman import PykalmanSeries
from workflow_lib.models.state_spaces.kalman_recursion import SeriesRecursion
from workflow_lib.models.state_spaces.linear_gaussian import LinearGaussianParameters
from workflow_lib.models.state_spaces.series import SeriesBatch, check_can_be_fitted, read_series
from workflow_lib.models.state_spaces.state_space_iterations import expectation_maximisation
from workflow_lib.models.state_spaces.state_space_maximisation import Restrictions
from workflow_lib.models.state_spaces.state_space_start import starting_parameters

ENGINES = ("batched", "moments", "recursion", "pykalman")

# Smallest eigenvalue of a covariance, as a fraction of the variance of the series. With a prior it
# is never met; without one it keeps noise-free series from making a covariance singular.
COVARIANCE_FLOOR = 1e-8


class StateSpaceModel(ParameterMixin):
    """The linear-Gaussian state-space model, fitted to many series at once by EM.

        m_1 ~ N(mu_0, Sigma_0),   m_t ~ N(A m_{t-1}, Q),   z_t ~ N(C m_t, R)

    with covariances Q and R, hidden states m_t (d numbers) and observed z_t (p numbers). Numbers
    may be missing and lengths may differ. The model has no offset: a constant level takes a state
    with an eigenvalue near one, so series are best centred first.

    The parameters are only determined up to a change of basis of the states. Compare eigenvalues
    of A, C Q C' + R or predictions between fits, never A or C themselves.

    Parameters
    ----------
    state_dim : int, default=2
        Number of hidden states d.
    n_iter : int, default=100
        Most EM iterations of a start. Every third one starts from an extrapolation where that
        raises the objective (`workflow_lib.models.state_spaces.state_space_iterations`), which is
        worth several hundred plain ones.
    n_init : int, default=4
        Number of starts; the highest objective is kept. The first start comes from lagged moments
        (a subspace method) where the series are long enough for it, the others are random.
    isotropic : bool, default=True
        Q and R are multiples of the identity, as in the paper; False fits full covariances.
        Sigma_0 is full in both cases.
    random_state : int, Generator, RandomState or None, default=0
        Seed of the random starts.
    observation_dim : int or None, default=None
        Numbers per step p of series that come as the rows of a matrix (n, T p); None means 1.
        Arrays (n, T, p) say it themselves.
    tol : float, default=1e-6
        EM stops when a plain iteration raises the objective by less than this, in nats per
        observed number.
    prior_strength : float, default=1.0
        Weight of the prior on Q, R and Sigma_0, in steps; 0 is maximum likelihood. It keeps fits
        to a few series finite and fades as these grow.
    prior_variance : float, default=0.05
        Variance at the prior's mode, as a fraction of the mean variance of the series.
    max_spectral_radius : float, default=1.0
        Largest modulus allowed for an eigenvalue of A: above 1, predictions explode.
    engine : {"batched", "moments", "recursion", "pykalman"}, default="batched"
        How expectations are computed. ``moments`` (complete series): from one moment matrix per
        length, at a cost that does not depend on the number of series. ``recursion``: a Kalman
        filter and smoother of all series at once. ``batched`` takes the cheaper of these.
        ``pykalman``: pykalman's filter and smoother, for one long series or as a reference.

    Attributes
    ----------
    transition_ : array (d, d)
        A.
    observation_ : array (p, d)
        C.
    state_covariance_ : array (d, d)
        Q.
    observation_covariance_ : array (p, p)
        R.
    initial_mean_ : array (d,)
    initial_covariance_ : array (d, d)
    log_likelihoods_ : array
        The objective after every EM iteration of the best start: the log-likelihood of all series
        plus the log prior (nats; zero at the prior's mode). It never falls.
    log_prior_ : float
        The log prior of the fitted parameters: ``log_likelihoods_[-1] - log_prior_`` is the sum of
        ``score_samples``.
    observation_dim_ : int
        p.
    n_steps_ : int
        Steps of the longest series of fit.
    engine_ : str
        The engine that was used: what ``batched`` chose.
    """

    allowed: ClassVar = checks(
        whole="state_dim n_iter n_init",
        whole_or_none="observation_dim",
        flag="isotropic",
        number="tol",
        not_negative="prior_strength",
        positive="prior_variance max_spectral_radius",
        seed="random_state",
        engine=ENGINES,
    )
    input_tags: ClassVar = {"allow_nan": True, "three_d_array": True}
    has_component_block = False
    outputs_are_series = True

    def __init__(
        self,
        state_dim: int = 2,
        n_iter: int = 100,
        n_init: int = 4,
        isotropic: bool = True,
        random_state=0,
        observation_dim: int | None = None,
        tol: float = 1e-6,
        prior_strength: float = 1.0,
        prior_variance: float = 0.05,
        max_spectral_radius: float = 1.0,
        engine: str = "batched",
    ) -> None:
        self.state_dim = state_dim
        self.n_iter = n_iter
        self.n_init = n_init
        self.isotropic = isotropic
        self.random_state = random_state
        self.observation_dim = observation_dim
        self.tol = tol
        self.prior_strength = prior_strength
        self.prior_variance = prior_variance
        self.max_spectral_radius = max_spectral_radius
        self.engine = engine

    def fit(self, Z, y=None) -> StateSpaceModel:
        """Fit to series by EM from `n_init` starts; `y` is ignored.

        Parameters
        ----------
        Z : array (n, T, p) or (n, T p), or list of arrays (T_i, p) or (T_i p,)
            The series; NaN or a masked number is missing. Rows of a matrix are cut into steps of
            `observation_dim` numbers.

        Raises
        ------
        ValueError
            If the shape is not that of series, a series has one step only or nothing observed, a
            step or a number of the steps is missing in every series, a number is infinite, or a
            parameter is out of range.
        """
        check_parameters(self)
        series = read_series(Z, self.observation_dim)
        check_ignored(y, len(series.lengths), self)
        self._check_columns(Z)
        check_can_be_fitted(series)
        variance = mean_variance(series)
        restrictions = Restrictions(
            self.isotropic,
            float(self.prior_strength),
            self.prior_variance * variance,
            COVARIANCE_FLOOR * variance,
            self.max_spectral_radius,
        )
        self.engine_ = self._choose_engine(series)
        expectation = _expectation(self.engine_, series)
        smallest_gain = self.tol * int(series.observed.sum())
        starts = starting_parameters(
            series,
            self.state_dim,
            self.max_spectral_radius,
            variance,
            self.n_init,
            random_generator(self.random_state),
        )
        best_parameters, best_objectives, failure = None, None, None
        for start in starts:
            try:
                parameters, objectives = expectation_maximisation(
                    start, expectation, restrictions, self.n_iter, smallest_gain
                )
            except np.linalg.LinAlgError as error:
                failure = error
                continue
            if best_objectives is None or objectives[-1] > best_objectives[-1]:
                best_parameters, best_objectives = parameters, objectives
        if best_parameters is None:
            raise ValueError(
                "The states' covariances became singular from every start. Raise prior_strength, "
                "lower state_dim, or scale the series."
            ) from failure
        self._set_parameters(best_parameters)
        self.n_steps_ = series.values.shape[1]
        self.log_likelihoods_ = np.array(best_objectives)
        self.log_prior_ = restrictions.log_prior(best_parameters)
        return self

    def _choose_engine(self, series: SeriesBatch) -> str:
        if self.engine == "moments" and not series.is_complete:
            raise ValueError(
                "engine='moments' needs series without missing numbers. Use engine='batched'."
            )
        if self.engine != "batched":
            return self.engine
        if not series.is_complete:
            return "recursion"
        moments, recursion = engine_costs(series, self.state_dim)
        return "moments" if moments <= recursion else "recursion"

    def _set_parameters(self, parameters: LinearGaussianParameters) -> None:
        for name, value in parameters._asdict().items():
            setattr(self, f"{name}_", value)

    @property
    def observation_dim_(self) -> int:
        return len(self.observation_)

    def _parameters(self) -> LinearGaussianParameters:
        names = LinearGaussianParameters._fields
        return LinearGaussianParameters(*(getattr(self, f"{name}_") for name in names))

    @property
    def n_features_in_(self) -> int:
        """Numbers in the longest series of fit."""
        return self.n_steps_ * self.observation_dim_

    def _read(self, Z) -> SeriesBatch:
        self._check_is_fitted()
        # Series of other lengths have other columns.
        if getattr(Z, "shape", ())[1:] == (getattr(self, "n_steps_", 0) * self.observation_dim_,):
            self._check_columns(Z, self.n_features_in_)
        return read_series(Z, self.observation_dim_)

    def score_samples(self, Z) -> np.ndarray:
        """Return log p(z) of every series, in nats, over its observed numbers: an array (n,).

        `Z` is as in `fit`, except that series may have one step or nothing observed (which has
        the logarithm 0).
        """
        series = self._read(Z)
        return SeriesRecursion(series).filter(self._parameters()).log_likelihoods

    def filter(self, Z, return_covariances: bool = False):
        """Return the states given the observations up to their step.

        Parameters
        ----------
        Z : as in `score_samples`
        return_covariances : bool, default=False
            Also return the states' covariances.

        Returns
        -------
        means : array (n, T, d)
            E[m_t | z_1, .., z_t]; a list of arrays (T_i, d) where `Z` is a list.
        covariances : array (n, T, d, d), or a list of arrays (T_i, d, d)
            Only with `return_covariances`.
        """
        series = self._read(Z)
        recursion = SeriesRecursion(series)
        filtered = recursion.filter(self._parameters())
        return _states(series, recursion, filtered, return_covariances)

    def smooth(self, Z, return_covariances: bool = False):
        """Return the states given all observations of their series, E[m_t | z_1, .., z_T].

        Parameters and shapes are those of `filter`.
        """
        series = self._read(Z)
        recursion, parameters = SeriesRecursion(series), self._parameters()
        smoothed = recursion.smooth(parameters, recursion.filter(parameters))
        return _states(series, recursion, smoothed, return_covariances)

    def sample(self, n: int, T: int, random_state=None) -> tuple[np.ndarray, np.ndarray]:
        """Return `n` random series of `T` steps, an array (n, T, p), and their states (n, T, d)."""
        check_kind("whole", "n", n)
        check_kind("whole", "T", T)
        self._check_is_fitted()
        rng = random_generator(random_state)
        A, C, Q, R, mean, covariance = self._parameters()
        states = rng.normal(size=(n, T, len(A)))
        states[:, 0] = mean + states[:, 0] @ np.linalg.cholesky(covariance).T
        states[:, 1:] = states[:, 1:] @ np.linalg.cholesky(Q).T
        for t in range(1, T):
            states[:, t] += states[:, t - 1] @ A.T
        noise = rng.normal(size=(n, T, len(C))) @ np.linalg.cholesky(R).T
        return states @ C.T + noise, states


def mean_variance(series: SeriesBatch) -> float:
    """Return the variance of the observed numbers around their column's mean, over columns.

    Where nothing varies it is the mean square, and where all is zero, one.
    """
    seen = series.observed.sum(axis=(0, 1))
    means = series.values.sum(axis=(0, 1)) / seen
    difference = np.where(series.observed, series.values - means, 0.0)
    variance = float((np.square(difference).sum(axis=(0, 1)) / seen).mean())
    square = float((np.square(series.values).sum(axis=(0, 1)) / seen).mean())
    # Rounding of a constant's mean is no variance.
    if variance > 1e-20 * square:
        return variance
    return square if square > 0 else 1.0


def engine_costs(series: SeriesBatch, state_dim: int) -> tuple[float, float]:
    """Return the cost of an expectation by moments and by recursion, in rough seconds.

    Only the comparison counts; the factors were measured once and their ratio travels. Moments: an
    inverse and products of matrices of sizes T d and T p for every length. Recursion: about 40
    calls of numpy a step, and a little work for every number.
    """
    n_series, longest, p = series.values.shape
    moments = 0.0
    for length in np.unique(series.lengths).tolist():
        states, numbers = length * state_dim, length * p
        moments += 1e-4 + 1e-10 * states * (states**2 + numbers**2 + states * numbers)
    recursion = 4.5e-5 * longest + 1e-8 * n_series * longest * (state_dim + p)
    return moments, recursion


def _expectation(engine: str, series: SeriesBatch):
    """Return the function from parameters to expected statistics."""
    if engine == "pykalman":
        return PykalmanSeries(series).statistics
    if engine == "recursion":
        return SeriesRecursion(series).statistics
    groups = moments_by_length(series)

    def statistics(parameters):
        total = groups[0].statistics(parameters)
        for group in groups[1:]:
            total = total + group.statistics(parameters)
        return total

    return statistics


def _states(series, recursion, states, return_covariances):
    means = series.unpad(np.ascontiguousarray(states.means.transpose(1, 0, 2)))
    if not return_covariances:
        return means
    covariances = recursion.by_series(states.covariances).transpose(1, 0, 2, 3)
    return means, series.unpad(np.ascontiguousarray(covariances))
