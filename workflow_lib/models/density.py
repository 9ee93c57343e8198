"""OFER with every training output as a component of its own: a kernel density of the outputs.

The model is p(y) = (1/n) sum_i N(y; y_i, s^2 I). As s tends to zero, each training output belongs
to its own component alone and lies on its mean: the embedding of y_i has the responsibilities e_i,
the i-th unit vector, and the mu block zero. Kernel ridge regression with an intercept then predicts
the dual weights a(x), which sum to one, and eq. (10) of the OFER paper with their projection w(x)
on the simplex is the weighted mean sum_i w_i(x) y_i. (Without the projection it would be kernel
ridge regression of the outputs themselves.)

With a width of the density other than zero, w(x) says more than a mean: `mean_shift` returns the
output that is most likely under sum_i w_i(x) N(y; y_i, s^2 I).
"""

import numpy as np

from workflow_lib.models.exponentials import exp_in_place

# Numbers in one block of rows: a few such arrays stay in the cache of a processor.
BLOCK_SIZE = 2**17


def mean_shift(
    weights: np.ndarray,
    outputs: np.ndarray,
    gamma: float,
    start: np.ndarray,
    max_iter: int = 40,
    tolerance: float = 1e-6,
) -> np.ndarray:
    """Return points (n, d) of high density sum_i w_i exp(-gamma ||y - y_i||^2), one for each row.

    Each step leads to the mean of the training outputs under their share in the density,

        y <- sum_i w_i k_i y_i / sum_i w_i k_i,   k_i = exp(-gamma ||y - y_i||^2),

    the mean shift of Fukunaga & Hostetler (1975), which climbs to a local maximum and, for
    non-negative weights, never falls (Cheng 1995; it is EM). A step that does not raise the density
    but for rounding is not taken. Logarithms of the shares keep a narrow kernel from giving 0 / 0.

    Raises ValueError if a weight is negative or missing, or a row has none that is positive.

    Parameters
    ----------
    weights : array (n, l)
        Weights w_i >= 0 of the training outputs, one of them positive in each row.
    outputs : array (l, d)
        Training outputs.
    gamma : float
        Inverse squared width of the kernel; 1 / (2 s^2).
    start : array (n, d)
        Where each row begins, usually at its weighted mean.
    max_iter : int, default=40
        Most steps of a row.
    tolerance : float, default=1e-6
        A row rests once its next step is shorter than this part of the root mean squared distance
        of the training outputs from their mean.
    """
    if not (weights >= 0).all() or not weights.any(axis=1).all():
        raise ValueError(
            "weights must be non-negative, with a positive one in each row; project them on the "
            "simplex first."
        )
    # Centring keeps the differences of large squares from losing digits.
    centre = outputs.mean(axis=0)
    outputs, result = outputs - centre, start - centre
    shortest = tolerance * np.sqrt((outputs**2).sum(axis=1).mean())
    n_rows = max(1, BLOCK_SIZE // len(outputs))
    for first in range(0, len(weights), n_rows):
        block = slice(first, first + n_rows)
        result[block] = _climbed(weights[block], outputs, gamma, result[block], max_iter, shortest)
    return result + centre


def _climbed(weights, outputs, gamma, points, max_iter, shortest):
    """Return the points that a block of rows has reached; the outputs are centred."""
    with np.errstate(divide="ignore"):
        # -gamma ||y - y_i||^2 without the part of ||y||^2, which all training outputs share.
        constants = np.log(weights) - gamma * (outputs**2).sum(axis=1)
    directions = 2.0 * gamma * outputs.T

    def log_density_and_mean(points, constants):
        shares = points @ directions
        shares += constants
        largest = shares.max(axis=1)
        shares -= largest[:, None]
        exp_in_place(shares)
        total = shares.sum(axis=1)
        log_density = largest + np.log(total) - gamma * (points**2).sum(axis=1)
        return log_density, (shares @ outputs) / total[:, None]

    result = points.copy()
    rows = np.arange(len(points))
    log_density, means = log_density_and_mean(points, constants)
    moving = ((means - points) ** 2).sum(axis=1) > shortest**2
    for _ in range(max_iter):
        if not moving.all():
            rows, means, log_density = rows[moving], means[moving], log_density[moving]
            constants = constants[moving]
        if not len(rows):
            break
        reached, next_means = log_density_and_mean(means, constants)
        risen = reached > log_density
        result[rows[risen]] = means[risen]
        moving = risen & (((next_means - means) ** 2).sum(axis=1) > shortest**2)
        log_density, means = reached, next_means
    return result
