"""EM of Gaussian mixtures from sufficient statistics, which are sums over batches of rows.

The M-step needs no responsibilities, only the sums over rows of r_ij T(y_i) with
T(y) = (y, second moments of y, 1); and log pi_j N(y; mu_j, Sigma_j) is linear in the same T(y)
(a mixture of an exponential family). An iteration is therefore two matrix products with the
matrix of all T(y_i), here called the features, and the sums may come from all rows (full EM) or
from a batch of them (stepwise EM). Rows are centred first, so that |y|^2 - 2 y'mu + |mu|^2 costs
no digits; the means of `Parameters` are relative to that centre.

Several starts of EM go side by side: the leading axis S of all parameters and statistics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from workflow_lib.core.array_arguments import as_numbers, masked_as_nan, refuse_sparse
from workflow_lib.models.covariance import clip_eigenvalues, inverse_factors
from workflow_lib.models.exponentials import exp_in_place

# A component that holds less than this many rows explains nothing; its parameters are undefined.
MIN_COUNT = 1e-6

# Numbers in a block of log densities; so many stay in a processor's cache between their steps.
BLOCK_NUMBERS = 32_768

# The log weight of a component that was dropped: finite, because a product with it must be.
ABSENT = -1e250

# Stepwise EM: the statistics of batch t = 1, 2, ... enter with the weight (t + OFFSET)^-EXPONENT.
# Any exponent in (0.5, 1] converges (Cappe & Moulines 2009); small ones forget the start sooner,
# large ones average over more batches.
STEP_EXPONENT = 0.55
STEP_OFFSET = 4.0

# Stepwise EM ends when a pass over the rows raises their mean log-likelihood (nats per row) by
# less than this, or the tolerance of EM where that is larger, and after so many passes at most.
PASS_TOLERANCE = 3e-4
MAX_PASSES = 20

# A batch is made of this many runs of neighbouring rows: rows on disk are read in runs, and
# rows that are sorted by something still give batches in which all of it occurs.
RUNS_PER_BATCH = 16


class Statistics(NamedTuple):
    """Sums over rows of r_ij T(y_i), for S starts of C components."""

    counts: np.ndarray
    """Array (S, C): zero where a component is absent."""

    sums: np.ndarray
    """Array (S, C, d)."""

    second: np.ndarray
    """Array (S, C), (S, C, d) or (S, C, d, d): of |y|^2 (the spherical shapes), of y^2 (``diag``)
    or of y y' (``full``)."""

    def of(self, starts) -> Statistics:
        """Return the statistics of some of the starts."""
        return Statistics(*(values[starts] for values in self))


class Parameters(NamedTuple):
    """Weights (S, C), means (S, C, d) and covariances (S, and as in `covariance`) of S starts.

    A component of weight zero is absent; its other parameters mean nothing.
    """

    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray

    def of(self, starts) -> Parameters:
        """Return the parameters of some of the starts."""
        return Parameters(*(values[starts] for values in self))


class Fit(NamedTuple):
    """The end of one start of EM."""

    parameters: Parameters
    """Of this start alone (S = 1)."""

    log_likelihoods: list[float]
    """Mean log-likelihood (nats per row) after every iteration, or see `stepwise`."""


class RowReader:
    """Rows of a matrix in memory or on disk, in batches, as finite float64.

    Raises ValueError if `Y` has more than two axes, no rows or no columns.

    Parameters
    ----------
    Y : array (n, d) or (n,), or anything with a shape that gives rows when sliced
        For example an h5py dataset, of which only the rows of a batch are ever in memory.
    """

    def __init__(self, Y) -> None:
        refuse_sparse(Y, "Y")
        Y = masked_as_nan(Y)
        self._rows = Y if hasattr(Y, "shape") else as_numbers(Y, "Y")
        shape = tuple(self._rows.shape)
        if len(shape) not in (1, 2):
            raise ValueError(f"Y must be a matrix (rows, outputs); found {len(shape)} axes.")
        if 0 in shape:
            raise ValueError(f"Y must have rows and columns; found the shape {shape}.")
        self.n_rows, self.dimension = shape[0], shape[1] if len(shape) == 2 else 1

    def read(self, start: int, stop: int) -> np.ndarray:
        """Return the rows from `start` to before `stop`: an array (stop - start, d).

        Raises ValueError if a value is not finite; the message names the row.
        """
        rows = as_numbers(self._rows[start:stop], "Y")
        rows = rows.reshape(len(rows), self.dimension)
        if not np.isfinite(rows).all():
            row = start + int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
            raise ValueError(f"Y must be finite; row {row} holds NaN or infinity.")
        return rows

    def batches(self, size: int) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield all rows in order, at most `size` at a time, each with its slice."""
        for start in range(0, self.n_rows, size):
            stop = min(start + size, self.n_rows)
            yield slice(start, stop), self.read(start, stop)

    def shuffled_batches(self, size: int, generator) -> Iterator[np.ndarray]:
        """Yield all rows once, in batches of at most `size` rows: runs in random order."""
        length = -(-size // RUNS_PER_BATCH)
        firsts = np.arange(0, self.n_rows, length)
        generator.shuffle(firsts)
        n_batches = -(-len(firsts) // (size // length))
        for runs in np.array_split(firsts, n_batches):
            stops = np.minimum(runs + length, self.n_rows)
            yield np.concatenate([self.read(*run) for run in zip(runs, stops)])

    def moments_and_sample(self, size: int, n_sample: int, generator):
        """Return mean (d,), mean variance and a random sample of rows, by one pass in batches.

        Parameters
        ----------
        size : int
            Rows of a batch.
        n_sample : int
            Rows of the sample, which come in the order of all rows; each at most once.
        generator : numpy Generator
        """
        chosen = generator.choice(self.n_rows, n_sample, replace=False, shuffle=False)
        chosen.sort()
        count, mean, scatter = 0, np.zeros(self.dimension), 0.0
        sample = np.empty((n_sample, self.dimension))
        for block, rows in self.batches(size):
            first, last = np.searchsorted(chosen, [block.start, block.stop])
            sample[first:last] = rows[chosen[first:last] - block.start]
            # Moments of two parts from their own (Chan, Golub & LeVeque 1979): no digits are lost.
            batch_mean = rows.mean(axis=0)
            difference = batch_mean - mean
            rows = rows - batch_mean
            total = count + len(rows)
            scatter += np.vdot(rows, rows) + difference @ difference * count * len(rows) / total
            mean += difference * len(rows) / total
            count = total
        return mean, float(scatter) / (count * self.dimension), sample


def features(rows: np.ndarray, centre: np.ndarray, covariance_type: str) -> np.ndarray:
    """Return T(y - centre) of every row, an array (n, d + k + 1).

    The columns are y, the second moments that the shape of the covariances needs (k = 1 for the
    spherical shapes, d for ``diag``, none for ``full``, whose moments `_statistics` forms), and 1.
    """
    n_rows, dimension = rows.shape
    n_second = {"full": 0, "diag": dimension}.get(covariance_type, 1)
    values = np.empty((n_rows, dimension + n_second + 1))
    centred = values[:, :dimension]
    np.subtract(rows, centre, out=centred)
    if covariance_type == "diag":
        np.square(centred, out=values[:, dimension:-1])
    elif n_second:
        np.einsum("nd,nd->n", centred, centred, out=values[:, dimension])
    values[:, -1] = 1.0
    return values


def blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Yield slices that cover `n_rows` rows, each of about BLOCK_NUMBERS numbers."""
    size = max(BLOCK_NUMBERS // n_columns, 64)
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


def statistics_of_memberships(
    values: np.ndarray,
    memberships: Callable[[slice], np.ndarray],
    shape: tuple[int, int],
    covariance_type: str,
) -> Statistics:
    """Return the statistics of given memberships.

    Parameters
    ----------
    values : array (n, p)
        From `features`.
    memberships : function
        From a slice of rows to their memberships, an array (S, C, rows).
    shape : (int, int)
        S and C.
    covariance_type : str
    """
    totals = 0.0
    for block in blocks(len(values), shape[0] * shape[1]):
        responsibilities = memberships(block).reshape(shape[0] * shape[1], -1)
        totals = totals + _totals(values[block], responsibilities, covariance_type)
    return _statistics(totals, values.shape[1], shape, covariance_type)


def expectation(
    values: np.ndarray, parameters: Parameters, covariance_type: str
) -> tuple[Statistics, np.ndarray]:
    """Return the expected statistics and the summed log-likelihoods (S,) of rows, by their
    `features` (n, p): the E-step."""
    shape = parameters.weights.shape
    log_joint = _log_joint_function(parameters, covariance_type)
    totals, log_likelihoods = 0.0, np.zeros(shape[0])
    for block in blocks(len(values), shape[0] * shape[1]):
        joint = log_joint(values[block])
        by_start = joint.reshape(*shape, -1)
        highest = by_start.max(axis=1, keepdims=True)
        by_start -= highest
        exp_in_place(by_start)
        evidence = by_start.sum(axis=1, keepdims=True)
        by_start /= evidence
        np.log(evidence, out=evidence)
        evidence += highest
        log_likelihoods += evidence.sum(axis=(1, 2))
        totals = totals + _totals(values[block], joint, covariance_type)
    return _statistics(totals, values.shape[1], shape, covariance_type), log_likelihoods


def maximisation(statistics: Statistics, covariance_type: str, floor: float) -> Parameters:
    """Return the likeliest parameters with no variance under `floor`: the M-step.

    Components without rows get the weight zero. Statistics of any common scale will do.
    """
    counts, sums, second = statistics
    dimension = sums.shape[2]
    totals = counts.sum(axis=1)
    divisors = counts if counts.all() else np.where(counts > 0, counts, 1.0)
    means = sums / divisors[:, :, None]
    if covariance_type == "full":
        covariances = second / divisors[:, :, None, None]
        covariances -= means[:, :, :, None] * means[:, :, None, :]
        covariances = clip_eigenvalues(covariances, floor)
    elif covariance_type == "diag":
        covariances = np.maximum(second / divisors[:, :, None] - means**2, floor)
    elif covariance_type == "spherical":
        scatter = second - np.einsum("scd,scd->sc", means, sums)
        covariances = np.maximum(scatter / (dimension * divisors), floor)
    else:
        scatter = second.sum(axis=1) - np.einsum("scd,scd->s", means, sums)
        covariances = np.maximum(scatter / (dimension * totals), floor)
    return Parameters(counts / totals[:, None], means, covariances)


def expectation_maximisation(
    values: np.ndarray,
    start: Statistics,
    covariance_type: str,
    floor: float,
    max_iter: int,
    tol: float,
) -> list[Fit]:
    """Return the end of EM over all rows from every start.

    The starts go side by side; one that has converged leaves the others. A component that loses
    all its rows is absent from then on.

    Parameters
    ----------
    values : array (n, p)
        From `features`.
    start : Statistics
        The statistics of S starts, with which the first M-step is made.
    covariance_type : str
    floor : float
        Smallest variance, in squared units of the rows.
    max_iter : int
    tol : float
        A start ends when its mean log-likelihood rises by less than this.
    """
    statistics, running = start, list(range(len(start.counts)))
    ends: list = [None] * len(running)
    histories: list[list[float]] = [[] for _ in running]
    for iteration in range(max_iter):
        parameters = maximisation(statistics, covariance_type, floor)
        statistics, log_likelihoods = expectation(values, parameters, covariance_type)
        left = []
        for index, (start, log_likelihood) in enumerate(zip(running, log_likelihoods.tolist())):
            history = histories[start]
            history.append(log_likelihood / len(values))
            if iteration == max_iter - 1 or (iteration > 0 and history[-1] - history[-2] < tol):
                ends[start] = parameters.of([index])
            else:
                left.append(index)
        if not left:
            break
        if len(left) < len(running):
            running = [running[index] for index in left]
            statistics, parameters = statistics.of(left), parameters.of(left)
        statistics = _without_empty_components(values, statistics, parameters, covariance_type)
    return [Fit(end, history) for end, history in zip(ends, histories)]


def stepwise(
    rows: RowReader,
    size: int,
    centre: np.ndarray,
    start: Parameters,
    sample: np.ndarray,
    covariance_type: str,
    floor: float,
    max_iter: int,
    tol: float,
    generator: np.random.Generator,
) -> Fit:
    """Return the end of stepwise EM over batches, and of one full M-step after it.

    Stepwise EM (Cappe & Moulines 2009, Liang & Klein 2009) moves running statistics, those of
    an average row, towards those of each batch, s <- (1 - step) s + step s_batch, and makes an
    M-step after each. It ends by the rule of PASS_TOLERANCE and MAX_PASSES. The running
    statistics depend on the order of the batches; one E-step over all rows, batch by batch, and
    the M-step from its sums make the result a maximum given all rows. The log-likelihoods are those
    of every pass, in which each batch was scored before its step, and last that of all rows under
    the returned parameters.

    Parameters
    ----------
    rows : RowReader
    size : int
        Rows of a batch.
    centre : array (d,)
        What is taken from all rows, and what the means are relative to.
    start : Parameters
        Of one start.
    sample : array (m, d)
        The rows whose statistics under `start` stand for the batches before the first.
    covariance_type, floor
        As in `expectation_maximisation`.
    max_iter : int
        Most passes, where it is less than MAX_PASSES.
    tol : float
        Replaces PASS_TOLERANCE where it is larger.
    generator : numpy Generator
        For the order of the batches.
    """
    values = features(sample, centre, covariance_type)
    running = expectation(values, start, covariance_type)[0]
    running = Statistics(*(total / len(sample) for total in running))
    parameters, log_likelihoods, n_steps = start, [], 0
    for _ in range(min(MAX_PASSES, max_iter)):
        log_likelihood = 0.0
        for batch in rows.shuffled_batches(size, generator):
            values = features(batch, centre, covariance_type)
            statistics, scores = expectation(values, parameters, covariance_type)
            log_likelihood += float(scores[0])
            n_steps += 1
            running = moved(running, statistics, len(batch), falling_step(n_steps))
            parameters = maximisation(running, covariance_type, floor)
        log_likelihoods.append(log_likelihood / rows.n_rows)
        if len(log_likelihoods) > 1 and log_likelihoods[-1] - log_likelihoods[-2] < max(
            tol, PASS_TOLERANCE
        ):
            break
    statistics, _ = _expectation_of_all(rows, size, centre, parameters, covariance_type)
    # Renormalising the memberships without such a component would move a millionth of a row.
    empty = statistics.counts <= MIN_COUNT
    statistics = statistics._replace(counts=np.where(empty, 0.0, statistics.counts))
    parameters = maximisation(statistics, covariance_type, floor)
    _, scores = _expectation_of_all(rows, size, centre, parameters, covariance_type)
    return Fit(parameters, [*log_likelihoods, float(scores[0]) / rows.n_rows])


def falling_step(n_steps: int) -> float:
    """Return the weight of batch 1, 2, ... in the running statistics."""
    return (n_steps + STEP_OFFSET) ** -STEP_EXPONENT


def moved(running: Statistics, batch: Statistics, n_rows: int, step: float) -> Statistics:
    """Return the statistics of an average row, moved towards those of a batch of `n_rows` rows."""
    return Statistics(
        *((1.0 - step) * before + step / n_rows * now for before, now in zip(running, batch))
    )


def _expectation_of_all(rows, size, centre, parameters, covariance_type):
    totals, scores = None, np.zeros(1)
    for _, batch in rows.batches(size):
        values = features(batch, centre, covariance_type)
        statistics, batch_scores = expectation(values, parameters, covariance_type)
        scores += batch_scores
        if totals is None:
            totals = statistics
        else:
            totals = Statistics(*(total + now for total, now in zip(totals, statistics)))
    return totals, scores


def _without_empty_components(values, statistics, parameters, covariance_type) -> Statistics:
    counts = statistics.counts
    if counts.min() > MIN_COUNT or not ((counts > 0) & (counts <= MIN_COUNT)).any():
        return statistics
    # The memberships without a component are those of an E-step without it.
    weights = np.where(counts <= MIN_COUNT, 0.0, parameters.weights)
    return expectation(values, parameters._replace(weights=weights), covariance_type)[0]


def _totals(values, responsibilities, covariance_type) -> np.ndarray:
    """Return sums over rows of r T(y) for components (K, p), or (K, p + d * d) for ``full``."""
    totals = responsibilities @ values
    if covariance_type != "full":
        return totals
    centred = values[:, :-1]
    columns = np.ascontiguousarray(centred.T)
    moments = [(columns * weights) @ centred for weights in responsibilities]
    return np.hstack([totals, np.reshape(moments, (len(totals), -1))])


def _statistics(totals, n_columns: int, shape, covariance_type: str) -> Statistics:
    """Return the parts of `_totals` (K, p or more) from features of p columns."""
    dimension = {"full": n_columns - 1, "diag": n_columns // 2}.get(covariance_type, n_columns - 2)
    sums = totals[:, :dimension].reshape(*shape, dimension)
    counts = totals[:, n_columns - 1].reshape(shape)
    if covariance_type == "full":
        second = totals[:, n_columns:].reshape(*shape, dimension, dimension)
    elif covariance_type == "diag":
        second = totals[:, dimension : n_columns - 1].reshape(*shape, dimension)
    else:
        second = totals[:, dimension].reshape(shape)
    return Statistics(counts, sums, second)


def _log_joint_function(parameters: Parameters, covariance_type: str):
    """Return the function from features (n, p) to log pi_j N(y; mu_j, Sigma_j): (S * C, n)."""
    weights, means, covariances = parameters
    dimension = means.shape[2]
    if weights.all():
        log_weights = np.log(weights)
    else:
        log_weights = np.log(weights, where=weights > 0, out=np.full(weights.shape, ABSENT))
    constants = log_weights - 0.5 * dimension * np.log(2 * np.pi)
    if covariance_type == "full":
        return _full_log_joint(constants, weights > 0, means, covariances)
    if covariance_type == "diag":
        constants -= 0.5 * np.log(covariances).sum(axis=2)
    else:
        # A variance of a component, or of all of them, stands for d variances.
        covariances = covariances.reshape(len(weights), -1, 1)
        constants -= 0.5 * dimension * np.log(covariances[:, :, 0])
    linear = means / covariances
    constants -= 0.5 * np.einsum("scd,scd->sc", means, linear)
    n_second = covariances.shape[2]
    coefficients = np.empty((*weights.shape, dimension + n_second + 1))
    coefficients[:, :, :dimension] = linear
    coefficients[:, :, dimension:-1] = -0.5 / covariances
    coefficients[:, :, -1] = constants
    coefficients = coefficients.reshape(weights.size, -1)
    return lambda values: coefficients @ values.T


def _full_log_joint(constants, present, means, covariances):
    indices = np.argwhere(present)
    inverses, log_determinants = inverse_factors(covariances[present])
    constants = constants[present] - 0.5 * log_determinants

    def log_joint(values):
        joint = np.full((*present.shape, len(values)), ABSENT)
        for component, inverse, constant in zip(indices, inverses, constants):
            whitened = inverse @ (values[:, :-1] - means[*component]).T
            joint[*component] = constant - 0.5 * np.einsum("dn,dn->n", whitened, whitened)
        return joint.reshape(present.size, -1)

    return log_joint
