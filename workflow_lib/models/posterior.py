"""The posterior pre-image: predicted outputs, drawn towards what the model of outputs expects.

A predicted output y_hat is taken as the true output with Gaussian noise of covariance R, and the
generative model as its prior. What is returned is the mean of the posterior,

    E[y | y_hat],    p(y | y_hat) proportional to p_theta(y) N(y_hat; y, R).

For a mixture of Gaussians it is

    sum_j w_j(y_hat) (mu_j + Sigma_j (Sigma_j + R)^-1 (y_hat - mu_j)),
    w_j(y_hat) proportional to pi_j N(y_hat; mu_j, Sigma_j + R),

and so linear shrinkage towards the mean for one Gaussian (the rule of Wiener filters and empirical
Bayes). It tends to y_hat as R tends to zero and to the mean of the model as R grows. The outputs of
a linear-Gaussian state-space model are one Gaussian of all steps.
"""

import numpy as np

from workflow_lib.core.array_arguments import as_numbers
from workflow_lib.models.covariance import (
    inverse_factors,
    log_gaussian_densities,
    squared_distances,
)
from workflow_lib.models.exponentials import exp_in_place

# Numbers in one block of rows: a few such arrays stay in the cache of a processor.
BLOCK_SIZE = 2**17


class GaussianPosterior:
    """The posterior means under a mixture of Gaussians, for one covariance of the noise.

    Components of one covariance share the gain G = Sigma (Sigma + R)^-1, and the posterior mean is
    m + G (y_hat - m) with m = sum_j w_j(y_hat) mu_j: a kernel density of a thousand outputs costs
    two matrix products.

    Raises ValueError if the noise has another shape, is not finite or is no covariance.

    Parameters
    ----------
    weights : array (C,)
    means : array (C, d)
    covariances, covariance_type
        As of `workflow_lib.models.covariance`.
    noise_covariance : float, array (d,) or array (d, d)
        R: a variance of all outputs, one of each, or a covariance matrix. Zeros are allowed.
    """

    def __init__(self, weights, means, covariances, covariance_type, noise_covariance) -> None:
        noise = checked_noise(noise_covariance, means.shape[1])
        self._means = means
        with np.errstate(divide="ignore"):
            self._log_weights = np.log(weights)
        prior = np.asarray(covariances, dtype=np.float64)
        if covariance_type == "tied_spherical":
            prior = prior[None]
        self._is_shared = len(prior) == 1 or bool((prior == prior[:1]).all())
        if self._is_shared:
            prior = prior[:1]
        if covariance_type == "full" or noise.ndim == 2:
            prior = _matrices(prior, means.shape[1])
            total = prior + (noise if noise.ndim == 2 else noise * np.eye(means.shape[1]))
            self._inverses, _ = inverse_factors(total)
            # By L^-1 of Sigma + R = L L'.
            self._gains = prior @ np.swapaxes(self._inverses, -1, -2) @ self._inverses
            self._total, self._shape = total, "full"
        else:
            # One number, or one of each output, for each component.
            prior = prior.reshape(len(prior), -1)
            self._total = np.broadcast_to(prior + noise, (len(prior), means.shape[1]))
            self._inverses = 1.0 / np.sqrt(self._total)
            self._gains, self._shape = prior / self._total, "diag"
        if self._is_shared:
            self._whitened_means = self._whitened(means)

    def means(self, outputs: np.ndarray) -> np.ndarray:
        """Return E[y | y_hat] (n, d) for predicted outputs y_hat (n, d)."""
        result = np.empty_like(outputs)
        n_rows = max(1, BLOCK_SIZE // max(self._means.shape))
        for first in range(0, len(outputs), n_rows):
            block = outputs[first : first + n_rows]
            q = self._memberships(block)
            if self._is_shared:
                mean = self._shrunk(block, q @ self._means, 0)
            else:
                mean = sum(
                    q[:, [j]] * self._shrunk(block, centre, j)
                    for j, centre in enumerate(self._means)
                )
            result[first : first + n_rows] = mean
        return result

    def _shrunk(self, outputs, centre, component):
        gain = self._gains[component]
        if self._shape == "full":
            return centre + (outputs - centre) @ gain.T
        return centre + gain * (outputs - centre)

    def _memberships(self, outputs):
        """Return w_j (n, C), in log space until they are divided by their sum."""
        if len(self._means) == 1:
            return np.ones((len(outputs), 1))
        if self._is_shared:
            log_joint = -0.5 * squared_distances(self._whitened(outputs), self._whitened_means)
        else:
            log_joint = log_gaussian_densities(outputs, self._means, self._total, self._shape)
        log_joint += self._log_weights
        log_joint -= log_joint.max(axis=1, keepdims=True)
        q = exp_in_place(log_joint)
        return q / q.sum(axis=1, keepdims=True)

    def _whitened(self, outputs):
        """Return outputs in units in which the covariance that all components share is I."""
        inverse = self._inverses[0]
        return outputs @ inverse.T if self._shape == "full" else outputs * inverse


def checked_noise(noise_covariance, dimension: int) -> np.ndarray:
    """Return the covariance of the noise as an array (), (d,) or (d, d).

    Raises ValueError if it has another shape, is not finite or is no covariance.
    """
    if noise_covariance is None:
        raise ValueError(
            "The pre-image 'posterior' needs noise_covariance, that of the errors of the predicted "
            "outputs: a number, one for each output, or a matrix."
        )
    noise = as_numbers(noise_covariance, "noise_covariance")
    if noise.shape not in ((), (dimension,), (dimension, dimension)):
        raise ValueError(
            f"noise_covariance has the shape {noise.shape}; expected (), ({dimension},) or "
            f"({dimension}, {dimension})."
        )
    if not np.isfinite(noise).all():
        raise ValueError("noise_covariance must be finite.")
    if noise.ndim < 2:
        is_covariance = (noise >= 0).all()
    else:
        largest = np.abs(noise).max(initial=0.0)
        is_symmetric = np.allclose(noise, noise.T, rtol=0, atol=1e-8 * largest)
        is_covariance = is_symmetric and np.linalg.eigvalsh(noise)[0] >= -1e-8 * largest
    if not is_covariance:
        raise ValueError("noise_covariance must be symmetric, without negative variances.")
    return noise


def _matrices(covariances: np.ndarray, dimension: int) -> np.ndarray:
    """Return covariances (C,), (C, d) or (C, d, d) as matrices (C, d, d)."""
    if covariances.ndim == 3:
        return covariances
    diagonals = covariances.reshape(len(covariances), -1)
    shape = (len(covariances), dimension)
    return np.broadcast_to(diagonals, shape)[:, :, None] * np.eye(dimension)
