"""The pre-image of an embedding that has no closed form, by damped least squares.

Solves eq. (3) of the OFER paper, min_y ||phi(y) - h||^2, for all rows at once with the
Levenberg-Marquardt method and analytic derivatives. Every row has a damping of its own, so that one
hard row does not slow the others.
"""

import numpy as np

# With less damping than this, nearly singular normal equations would become exactly singular.
MIN_DAMPING = 1e-12

# A row is also finished when an accepted step lowers its loss by less than this fraction: where the
# residual stays large, steps shrink slowly and the last digits of y cost most of the time.
MIN_DECREASE = 1e-10

# Rows handled together: bounds the memory of a step at about 64 MB.
MAX_BLOCK = 8_000_000


def minimise_distance(
    transform,
    normal_equations,
    H: np.ndarray,
    start: np.ndarray,
    max_iter: int = 100,
    tol: float = 1e-8,
    numbers_per_row: int = 1,
) -> np.ndarray:
    """Return the rows y that locally minimise ||phi(y) - h||^2.

    Returns an array (n, d): never further from `H` than `start` is.

    Parameters
    ----------
    transform : callable
        phi, from rows (n, d) to embeddings (n, m).
    normal_equations : callable
        From rows (n, d) and residuals r = phi(y) - h (n, m) to J'J (n, d, d) and J'r (n, d), with
        J the derivative of phi.
    H : array (n, m)
        Embeddings to invert.
    start : array (n, d)
        Where each row's search begins; the loss has local minima, so this matters.
    max_iter : int, default=100
        Most steps tried for a row.
    tol : float, default=1e-8
        A row is finished when a step changes it by less than this, relative to its norm.
    numbers_per_row : int, default=1
        Numbers that `normal_equations` holds for one row; sets how many are handled together.
    """
    rows_at_once = max(1, MAX_BLOCK // max(numbers_per_row, 1))
    result = np.array(start, dtype=np.float64)
    for begin in range(0, len(H), rows_at_once):
        part = slice(begin, begin + rows_at_once)
        result[part] = _minimise_part(
            transform, normal_equations, H[part], result[part], max_iter, tol
        )
    return result


def _minimise_part(transform, normal_equations, H, Y, max_iter, tol):
    dimension = Y.shape[1]
    residual = transform(Y) - H
    loss = (residual**2).sum(axis=1)
    damping = np.full(len(Y), 1e-3)
    active = np.flatnonzero(np.isfinite(loss))
    for _ in range(max_iter):
        if len(active) == 0:
            break
        normal, gradient = normal_equations(Y[active], residual[active])
        scale = np.einsum("nii->ni", normal).max(axis=1)
        scale = np.where(scale > 0, scale, 1.0)
        ridge = (damping[active] * scale)[:, None, None] * np.eye(dimension)
        step = -np.linalg.solve(normal + ridge, gradient[:, :, None])[:, :, 0]
        trial = Y[active] + step
        trial_residual = transform(trial) - H[active]
        trial_loss = (trial_residual**2).sum(axis=1)
        better = trial_loss < loss[active]
        decrease = loss[active] - trial_loss
        finished = better & (decrease <= MIN_DECREASE * loss[active])
        accepted = active[better]
        Y[accepted] = trial[better]
        residual[accepted] = trial_residual[better]
        loss[accepted] = trial_loss[better]
        damping[active] *= np.where(better, 0.2, 5.0)
        damping[active] = np.maximum(damping[active], MIN_DAMPING)
        small = np.linalg.norm(step, axis=1) <= tol * (1.0 + np.linalg.norm(trial, axis=1))
        active = active[~(small | finished)]
    return Y
