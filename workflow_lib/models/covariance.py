"""Covariances of Gaussian components, in four shapes, behind one set of functions.

The shapes are those of scikit-learn's mixtures, and one more:

==================  =================  ==========================================
covariance_type     shape              covariance of component j
==================  =================  ==========================================
``spherical``       (C,)               ``covariances[j] * I``
``tied_spherical``  scalar             ``covariances * I``, the same for all
``diag``            (C, d)             ``diag(covariances[j])``
``full``            (C, d, d)          ``covariances[j]``
==================  =================  ==========================================

The spherical shapes, which every default model has, are computed for all components at once; the
others one component at a time (C <= 50).
"""

import numpy as np

COVARIANCE_TYPES = ("spherical", "tied_spherical", "diag", "full")

NOT_POSITIVE_DEFINITE = (
    "A component's covariance is not positive definite (collapsed or singleton samples). "
    "Raise variance_floor, lower n_components, or scale the outputs."
)


def component_covariance(covariances, covariance_type: str, component: int):
    """Return the covariance of one component: a scalar, a vector (d,) or a matrix (d, d)."""
    if covariance_type == "tied_spherical":
        return float(covariances)
    return covariances[component]


class ComponentPrecision:
    """The inverse covariance of one component, applied without ever being formed.

    A covariance matrix Sigma = L L' is applied as Sigma^-1 v = L'^-1 (L^-1 v).

    Raises ValueError if a covariance matrix is not positive definite; the message names the remedy.

    Parameters
    ----------
    covariance : float, array (d,) or array (d, d)
        The covariance as returned by `component_covariance`.
    """

    safe_to_load = True

    def __init__(self, covariance) -> None:
        self._variance = np.asarray(covariance, dtype=np.float64)
        self._inverse_factor = None
        if self._variance.ndim == 2:
            # Not scipy's factors and solves, as loading scipy takes longer than most jobs compute.
            # The determinant is a part of stored estimators, too.
            self._inverse_factor, self._log_determinant = inverse_factors(self._variance)

    def apply(self, vectors: np.ndarray) -> np.ndarray:
        """Return Sigma^-1 v for every row v of `vectors` (n, d)."""
        if self._inverse_factor is None:
            return vectors / self._variance
        return vectors @ self._inverse_factor.T @ self._inverse_factor

    def dense(self, dimension: int) -> np.ndarray:
        """Return Sigma^-1 as a matrix (d, d)."""
        return self.apply(np.eye(dimension))


def absolute_floor(Y: np.ndarray, variance_floor: float) -> float:
    """Return the smallest variance allowed: `variance_floor` x the mean output variance.

    A floor relative to the data keeps a component of one row from winning every vote
    (a component with variance near zero decides eq. (10) alone). Where the outputs do not vary
    at all, the floor is `variance_floor` itself.

    Raises ValueError if `variance_floor` is not positive.
    """
    return floor_from_variance(float(Y.var(axis=0).mean()), variance_floor)


def floor_from_variance(mean_variance: float, variance_floor: float) -> float:
    """Return `absolute_floor` where the mean output variance is known.

    Raises ValueError if `variance_floor` is not positive.
    """
    if not variance_floor > 0:
        raise ValueError(f"variance_floor must be positive; found {variance_floor}.")
    return variance_floor * (mean_variance if mean_variance > 0 else 1.0)


def estimate_covariances(
    Y: np.ndarray,
    responsibilities: np.ndarray,
    means: np.ndarray,
    covariance_type: str,
    floor: float,
):
    """Return the maximum-likelihood covariances, none of whose eigenvalues is under `floor`.

    Clipping the eigenvalues is the exact constrained maximiser, so EM stays monotone.

    Parameters
    ----------
    Y : array (n, d)
    responsibilities : array (n, C)
        Posterior probabilities of the components; every column has a positive sum.
    means : array (C, d)
    covariance_type : str
    floor : float
        Smallest eigenvalue allowed, in squared units of `Y`.
    """
    counts = responsibilities.sum(axis=0)
    n_components, dimension = means.shape
    if covariance_type == "full":
        covariances = np.empty((n_components, dimension, dimension))
        for j in range(n_components):
            difference = Y - means[j]
            scatter = (responsibilities[:, j, None] * difference).T @ difference / counts[j]
            covariances[j] = clip_eigenvalues(scatter, floor)
        return covariances
    if covariance_type == "diag":
        variances = np.empty((n_components, dimension))
        for j in range(n_components):
            variances[j] = responsibilities[:, j] @ (Y - means[j]) ** 2 / counts[j]
        return np.maximum(variances, floor)
    scatter = (responsibilities * squared_distances(Y, means)).sum(axis=0)
    if covariance_type == "spherical":
        return np.maximum(scatter / (dimension * counts), floor)
    return float(max(scatter.sum() / (dimension * counts.sum()), floor))


def clip_eigenvalues(matrix: np.ndarray, floor: float) -> np.ndarray:
    """Return symmetric matrices (..., d, d) with every eigenvalue raised to at least `floor`.

    Raises ValueError if a value is not finite.
    """
    matrix = np.asarray_chkfinite(matrix)
    symmetric = (matrix + np.swapaxes(matrix, -1, -2)) / 2
    try:
        # A factorisation costs a tenth of the eigenvalues, which large samples do not need.
        np.linalg.cholesky(symmetric - floor * np.eye(matrix.shape[-1]))
        return symmetric
    except np.linalg.LinAlgError:
        eigenvalues, eigenvectors = np.linalg.eigh(symmetric)
    raised = eigenvectors * np.maximum(eigenvalues, floor)[..., None, :]
    clipped = raised @ np.swapaxes(eigenvectors, -1, -2)
    clipped = (clipped + np.swapaxes(clipped, -1, -2)) / 2
    return np.where((eigenvalues[..., 0] >= floor)[..., None, None], symmetric, clipped)


def inverse_factors(covariances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return L^-1 (..., d, d), where Sigma = L L', and log det Sigma (...) of covariance matrices.

    Raises ValueError if a matrix is not positive definite; the message names the remedy.
    """
    try:
        factors = np.linalg.cholesky(covariances)
    except np.linalg.LinAlgError as error:
        raise ValueError(NOT_POSITIVE_DEFINITE) from error
    diagonals = np.diagonal(factors, axis1=-2, axis2=-1)
    return np.linalg.inv(factors), 2.0 * np.log(diagonals).sum(axis=-1)


def squared_distances(Y: np.ndarray, means: np.ndarray) -> np.ndarray:
    """Return |y_i - mu_j|^2 = |y_i|^2 - 2 y_i' mu_j + |mu_j|^2, an array (n, C), by one product.

    The origin is first moved between the means, so that a common offset of the outputs costs no
    digits.
    """
    origin = means.sum(axis=0) / len(means)
    Y, means = Y - origin, means - origin
    # By component in memory, which makes sums over components fast.
    distances = (-2.0 * means) @ Y.T
    distances += np.einsum("nd,nd->n", Y, Y)
    distances += np.einsum("jd,jd->j", means, means)[:, None]
    return np.maximum(distances, 0.0, out=distances).T


def log_gaussian_densities(
    Y: np.ndarray, means: np.ndarray, covariances, covariance_type: str
) -> np.ndarray:
    """Return log N(y_i; mu_j, Sigma_j) for every row and component, an array (n, C)."""
    dimension = Y.shape[1]
    if covariance_type in ("spherical", "tied_spherical"):
        log_densities = squared_distances(Y, means)
        log_densities *= -0.5 / covariances
        log_densities -= 0.5 * dimension * np.log(2 * np.pi * covariances)
        return log_densities
    log_densities = np.empty((len(Y), len(means)))
    if covariance_type == "full":
        inverses, log_determinants = inverse_factors(covariances)
        for j, mean in enumerate(means):
            whitened = (Y - mean) @ inverses[j].T
            log_densities[:, j] = np.einsum("nd,nd->n", whitened, whitened)
    else:
        log_determinants = np.log(covariances).sum(axis=1)
        for j, mean in enumerate(means):
            log_densities[:, j] = (Y - mean) ** 2 @ (1.0 / covariances[j])
    log_densities += dimension * np.log(2 * np.pi) + log_determinants
    log_densities *= -0.5
    return log_densities
