"""EM for a state-space model, with extrapolated steps.

EM converges slowly where the states are hardly seen: hundreds of iterations for a handful of short
series. After every two iterations from theta_0 to theta_1 and theta_2, with r = theta_1 - theta_0
and v = theta_2 - theta_1 - r, a third one starts from the extrapolation

    theta_0 + 2 a r + a^2 v,     a = |r| / |v|

(SQUAREM, Varadhan & Roland, Scandinavian Journal of Statistics 35, 2008; a = 1 is theta_2). It is
kept only where it raises the objective, which therefore never falls.
"""

from contextlib import suppress
from typing import NamedTuple

import numpy as np

from workflow_lib.models.state_spaces.linear_gaussian import (
    ExpectedStatistics,
    LinearGaussianParameters,
    shrunk_to_radius,
)
from workflow_lib.models.state_spaces.state_space_maximisation import Restrictions, maximise

# Longest a at first. It grows by the factor where it held back a step that was kept, and shrinks by
# it after a step that was not.
MAX_STEP = 4.0
STEP_FACTOR = 4.0


class Point(NamedTuple):
    """Parameters, and what an E-step says of them."""

    parameters: LinearGaussianParameters
    statistics: ExpectedStatistics
    objective: float
    """Log-likelihood plus log prior, in nats."""


def expectation_maximisation(
    start: LinearGaussianParameters,
    expectation,
    restrictions: Restrictions,
    n_iter: int,
    smallest_gain: float,
) -> tuple[LinearGaussianParameters, list[float]]:
    """Return the parameters after EM, and the objective after every iteration.

    Raises numpy.linalg.LinAlgError if a covariance becomes singular, or the likelihood is not
    finite.

    Parameters
    ----------
    start : LinearGaussianParameters
    expectation : callable
        From parameters to ExpectedStatistics.
    restrictions : Restrictions
    n_iter : int
        Most iterations. Extrapolated ones count where they are kept.
    smallest_gain : float
        EM stops when an iteration without extrapolation raises the objective by less, in nats.
    """

    def iterated(parameters: LinearGaussianParameters, statistics: ExpectedStatistics) -> Point:
        updated = maximise(statistics, parameters, restrictions)
        updated, log_prior = restrictions.rescaled(updated)
        statistics = expectation(updated)
        return Point(updated, statistics, statistics.log_likelihood + log_prior)

    units = _as_vector(_units(start, restrictions.variance))
    point = Point(start, expectation(start), -np.inf)
    objectives: list[float] = []
    trail, longest = [_as_vector(start)], MAX_STEP
    while len(objectives) < n_iter:
        point = iterated(point.parameters, point.statistics)
        objectives.append(point.objective)
        if len(objectives) > 1 and objectives[-1] - objectives[-2] < smallest_gain:
            break
        trail.append(_as_vector(point.parameters))
        if len(trail) < 3 or len(objectives) == n_iter:
            continue
        vector, step = extrapolated(*trail, units, longest)
        jumped = None
        # What overflows is refused, like everything that does not raise the objective.
        with np.errstate(all="ignore"), suppress(np.linalg.LinAlgError):
            parameters = _as_parameters(vector, start, restrictions)
            jumped = iterated(parameters, expectation(parameters))
        if jumped is not None and point.objective < jumped.objective < np.inf:
            point = jumped
            objectives.append(point.objective)
            longest *= STEP_FACTOR if step == longest else 1.0
        else:
            longest = max(longest / STEP_FACTOR, MAX_STEP)
        trail = [_as_vector(point.parameters)]
    if not np.isfinite(objectives[-1]):
        raise np.linalg.LinAlgError("the likelihood is not finite")
    return point.parameters, objectives


def extrapolated(
    before: np.ndarray, middle: np.ndarray, after: np.ndarray, units: np.ndarray, longest: float
) -> tuple[np.ndarray, float]:
    """Return theta_0 + 2 a r + a^2 v and a, which is at least 1 and at most `longest`.

    Vectors hold all parameters; |r| and |v| are taken in `units`, one for every parameter.
    """
    r = middle - before
    v = after - middle - r
    length, curvature = np.linalg.norm(r / units), np.linalg.norm(v / units)
    step = min(max(length, curvature) / curvature, longest) if curvature > 0 else 1.0
    return before + 2.0 * step * r + step**2 * v, float(step)


def _units(parameters: LinearGaussianParameters, variance: float) -> LinearGaussianParameters:
    """Return units of every parameter that grow with those of the series."""
    A, C, Q, R, mean, covariance = (np.ones_like(value) for value in parameters)
    return LinearGaussianParameters(
        A, C, variance * Q, variance * R, variance**0.5 * mean, variance * covariance
    )


def _as_vector(parameters: LinearGaussianParameters) -> np.ndarray:
    return np.concatenate([value.ravel() for value in parameters])


def _as_parameters(
    vector: np.ndarray, like: LinearGaussianParameters, restrictions: Restrictions
) -> LinearGaussianParameters:
    """Return a vector as parameters with a transition within its bound. Covariances may come out as
    none; the E-step says so."""
    values, end = [], 0
    for value in like:
        begin, end = end, end + value.size
        values.append(vector[begin:end].reshape(value.shape))
    values[0] = shrunk_to_radius(values[0], restrictions.largest_radius)
    return LinearGaussianParameters(*values)
