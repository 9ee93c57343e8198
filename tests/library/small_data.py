"""Small seeded data, fitted models and tiny artifacts that several tests share."""

from pathlib import Path

import numpy as np

from workflow_lib.core.artifacts import write_artifact
from workflow_lib.models.mixtures.gaussian import GaussianModel
from workflow_lib.models.mixtures.mixture import GaussianMixtureModel

COVARIANCE_TYPES = ("spherical", "tied_spherical", "diag", "full")


def clustered_outputs(
    n_rows: int = 60, dimension: int = 3, n_clusters: int = 3, spread: float = 3.0, seed: int = 0
) -> np.ndarray:
    """Return outputs (n, d): unit Gaussians around centres of the given spread."""
    generator = np.random.default_rng(seed)
    centres = spread * generator.normal(size=(n_clusters, dimension))
    return centres[np.arange(n_rows) % n_clusters] + generator.normal(size=(n_rows, dimension))


def regression_data(n_rows: int = 40, seed: int = 0, **options) -> tuple[np.ndarray, np.ndarray]:
    """Return inputs (n, 4) and clustered outputs (n, 3) that depend on them."""
    Y = clustered_outputs(n_rows, seed=seed, **options)
    generator = np.random.default_rng(seed + 1)
    X = np.tanh(Y @ generator.normal(size=(Y.shape[1], 4)) / 3)
    return X + 0.1 * generator.normal(size=X.shape), Y


def fitted_model(covariance_type: str, n_components: int | None = 3, Y=None, **parameters):
    """Return a fitted mixture, or a single Gaussian for None components."""
    Y = clustered_outputs() if Y is None else Y
    if n_components is None:
        return GaussianModel(covariance_type=covariance_type, **parameters).fit(Y)
    return GaussianMixtureModel(n_components, covariance_type, **parameters).fit(Y)


def numerical_jacobian(function, point: np.ndarray, step: float = 1e-6) -> np.ndarray:
    """Return the derivative (m, k) of a vector function at a point (k,), by central differences."""
    columns = []
    for index in range(len(point)):
        shift = np.zeros(len(point))
        shift[index] = step
        columns.append((function(point + shift) - function(point - shift)) / (2 * step))
    return np.stack(columns, axis=-1)


def write_dataset(path: Path, X: np.ndarray, Y: np.ndarray, n_channels: int = 1, **groups) -> Path:
    """Write a "dataset" artifact, with further groups."""
    tree = {"inputs": np.asarray(X, dtype=float), "outputs": np.asarray(Y, dtype=float)}
    tree["names"] = {"series_channels": n_channels}
    tree |= groups
    write_artifact(path, tree, "dataset", allow_nan=("inputs", "outputs"))
    return path
