"""Elastic nets of several outputs with one scale of penalties, and the inputs that they use.

Of n rows of centred inputs X and outputs Y each output y has the coefficients that minimise

    1/(2 n) ||y - X w||^2 + lambda (rho ||w||_1 + (1 - rho)/2 ||w||^2)

(Zou and Hastie 2005; Blaschko 2014, table 4.4, with lambda_1 = lambda rho and
lambda_2 = lambda (1 - rho) / 2). Penalties are relative to the smallest lambda with which no output
has any coefficient, max |X'Y| / (n rho), so that one grid suits all inputs.
"""

from collections.abc import Sequence

import numpy as np

TOLERANCE = 1e-4
"""Duality gap at which scikit-learn ends, as a share of the squares of an output."""

SELECTION_TOLERANCE = 1e-3
"""That of the comparison of grid points, and of the selection of inputs."""

SELECTION_PENALTIES = np.geomspace(1.0, 0.01, 25)
"""Relative penalties among which `used_inputs` finds one."""


def net_path(
    X: np.ndarray,
    Y: np.ndarray,
    l1_ratio: float,
    alphas: Sequence[float],
    tolerance: float = TOLERANCE,
) -> tuple[np.ndarray, np.ndarray]:
    """Return coefficients (p, q, d) and intercepts (p, d) for p relative penalties.

    Of inputs `X` (n, q) and outputs `Y` (n, d) without missing values; `l1_ratio` is rho, above 0,
    and `alphas` are strictly decreasing.
    """
    import warnings

    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import enet_path

    x_mean, y_mean = X.mean(axis=0), Y.mean(axis=0)
    X, Y = np.asfortranarray(X - x_mean), Y - y_mean
    largest = np.abs(X.T @ Y).max(initial=0.0) / (len(X) * l1_ratio)
    coefficients = np.zeros((len(alphas), X.shape[1], Y.shape[1]))
    if largest > 0:
        with warnings.catch_warnings():
            # Ends of paths with more inputs than rows; all methods of grids are refitted alike.
            warnings.simplefilter("ignore", ConvergenceWarning)
            for output, y in enumerate(Y.T):
                found = enet_path(
                    X, y, l1_ratio=l1_ratio, alphas=largest * np.asarray(alphas), tol=tolerance
                )
                coefficients[:, :, output] = found[1].T
    return coefficients, y_mean - x_mean @ coefficients


def used_inputs(X: np.ndarray, Y: np.ndarray, l1_ratio: float, n_used: int) -> np.ndarray:
    """Return which inputs (q,) any output uses, with the largest penalty that uses `n_used`.

    Of `SELECTION_PENALTIES`; where none uses as many, with the smallest.
    """
    coefficients, _ = net_path(X, Y, l1_ratio, SELECTION_PENALTIES, SELECTION_TOLERANCE)
    used = (coefficients != 0.0).any(axis=2)
    enough = used.sum(axis=1) >= n_used
    return used[enough.argmax() if enough.any() else -1]
