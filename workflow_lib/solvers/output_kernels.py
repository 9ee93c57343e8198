"""Pre-images of output kernel regression: from weights on training outputs back to an output.

A method of output kernel regression predicts h(x) = sum_i a_i(x) psi(y_i) in the feature space of
an output kernel k. The distance of an output y to it is, up to a constant,

    k(y, y) - 2 sum_i a_i(x) k(y, y_i),

and not the second term alone: that would be right only where k(y, y) is constant.
"""

import numpy as np


def candidate_scores(
    weights: np.ndarray, cross_gram: np.ndarray, candidate_diagonal: np.ndarray
) -> np.ndarray:
    """Return the distances (n, c), up to a constant per row, of predictions to candidate outputs.

    Parameters
    ----------
    weights : array (n, l)
        a_i(x) of every row.
    cross_gram : array (c, l)
        Output kernel of the candidates against the training outputs.
    candidate_diagonal : array (c,)
        Output kernel of every candidate with itself.
    """
    return candidate_diagonal - 2.0 * (weights @ cross_gram.T)


def nearest_candidates(
    weights: np.ndarray, cross_gram: np.ndarray, candidate_diagonal: np.ndarray
) -> np.ndarray:
    """Return the number of the nearest candidate of every row: int (n,); the first of ties."""
    return candidate_scores(weights, cross_gram, candidate_diagonal).argmin(axis=1)


def minimise_rbf_distance(
    weights: np.ndarray, outputs: np.ndarray, gamma: float, start: np.ndarray, max_iter: int = 200
) -> np.ndarray:
    """Return local maximisers (n, d) of sum_i a_i exp(-gamma ||y - y_i||^2), started at `start`.

    The pre-image of the Gaussian output kernel, whose k(y, y) is constant, by scipy's L-BFGS with
    the analytic gradient, row by row as in the OFER paper.

    Parameters
    ----------
    weights : array (n, l)
    outputs : array (l, d)
        Training outputs.
    gamma : float
        Inverse squared width of the output kernel.
    start : array (n, d)
        Where each row's search begins; usually the nearest candidate.
    max_iter : int, default=200
    """
    from scipy.optimize import minimize

    # Divided by 2 gamma and without its constant, the score has a curvature of about 1 for every
    # width of the kernel: the absolute tolerances of the search then are in units of distance.
    def negative_score(y, row_weights):
        difference = outputs - y
        exponents = -gamma * (difference**2).sum(axis=1)
        gradient = -(row_weights * np.exp(exponents)) @ difference
        return -(row_weights @ np.expm1(exponents)) / (2.0 * gamma), gradient

    result = np.array(start, dtype=np.float64)
    for row, row_weights in enumerate(weights):
        total = np.abs(row_weights).sum()
        if total == 0.0:
            continue
        row_weights = row_weights / total
        optimum = minimize(
            negative_score,
            result[row],
            args=(row_weights,),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": max_iter, "gtol": 1e-8, "ftol": 1e-14},
        )
        if optimum.fun <= negative_score(result[row], row_weights)[0]:
            result[row] = optimum.x
    return result


# A row's step grows by this factor where it raised the score, and halves where it did not.
STEP_GROWTH = 1.3


def ascend_rbf_scores(
    weights: np.ndarray,
    outputs: np.ndarray,
    gamma: float,
    start: np.ndarray,
    max_iter: int = 15,
    tolerance: float = 1e-4,
) -> np.ndarray:
    """Return the optima of `minimise_rbf_distance`, approximately, for all rows at once.

    It is used for the many predictions that selection compares. Every row steps along

        sum_i a_i k_i (y_i - y) / max(f, sum_i |a_i| k_i / 10),
        f = sum_i a_i k_i,  k_i = exp(-gamma ||y - y_i||^2),

    the gradient of its score f, scaled so that a step of 1 is mean shift (Cheng 1995) and, where
    the kernel is wide, leads to the optimum. A step is taken only where it raises the score, which
    mean shift alone does not ensure for weights of both signs. Where the kernel is so narrow that
    the score is nearly flat between the training outputs, some rows stop short of the optimum.

    Parameters
    ----------
    weights, outputs, gamma, start
        As of `minimise_rbf_distance`.
    max_iter : int, default=15
        Trial steps of a row.
    tolerance : float, default=1e-4
        A row stops once its step is shorter than this part of the root mean squared distance of
        the training outputs from their mean.
    """
    centre = outputs.mean(axis=0)
    outputs = outputs - centre
    squared_lengths = (outputs**2).sum(axis=1)
    shortest = tolerance * np.sqrt(squared_lengths.mean())

    def kernel_at(points):
        distances = (points**2).sum(axis=1)[:, None] + squared_lengths - 2.0 * (points @ outputs.T)
        return np.exp(-gamma * np.maximum(distances, 0.0))

    result = start - centre
    rows, points, steps = np.arange(len(weights)), result.copy(), np.ones(len(weights))
    kernel = kernel_at(points)
    scores = (weights * kernel).sum(axis=1)
    for _ in range(max_iter):
        weighted = weights * kernel
        scaling = np.maximum(scores, np.abs(weighted).sum(axis=1) / 10.0)
        gradients = weighted @ outputs - scores[:, None] * points
        moves = gradients * (steps / np.where(scaling > 0, scaling, 1.0))[:, None]
        moving = np.sqrt((moves**2).sum(axis=1)) > shortest
        if not moving.all():
            rows, weights, points, steps = (
                rows[moving],
                weights[moving],
                points[moving],
                steps[moving],
            )
            kernel, scores, moves = kernel[moving], scores[moving], moves[moving]
        if not len(rows):
            break
        trial = points + moves
        trial_kernel = kernel_at(trial)
        trial_scores = (weights * trial_kernel).sum(axis=1)
        improved = trial_scores > scores
        points[improved], kernel[improved] = trial[improved], trial_kernel[improved]
        scores[improved] = trial_scores[improved]
        result[rows] = points
        steps *= np.where(improved, STEP_GROWTH, 0.5)
    return result + centre


def median_squared_distance(outputs: np.ndarray) -> float:
    """Return the median squared distance of the pairs of training outputs (n, d) that differ.

    1 if all are equal, so that its inverse can always be the `gamma` of a kernel.
    """
    from scipy.spatial.distance import pdist

    distances = pdist(outputs, "sqeuclidean")
    distances = distances[distances > 0]
    return float(np.median(distances)) if len(distances) else 1.0


def output_unit(outputs: np.ndarray) -> float:
    """Return the unit of output widths: the root of `median_squared_distance` of outputs (n, d)."""
    return float(np.sqrt(median_squared_distance(outputs)))


def clip_spectrum(gram: np.ndarray) -> np.ndarray:
    """Return the nearest positive semi-definite matrix (n, n) in Frobenius norm.

    For similarities that are not kernels, such as exp(-DTW): negative eigenvalues become zero.
    """
    eigenvalues, eigenvectors = np.linalg.eigh((gram + gram.T) / 2)
    clipped = (eigenvectors * np.maximum(eigenvalues, 0.0)) @ eigenvectors.T
    return (clipped + clipped.T) / 2
