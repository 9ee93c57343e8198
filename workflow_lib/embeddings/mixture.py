"""Fisher scores of Gaussians and Gaussian mixtures, and their Jacobians.

Notation of sections 3 and 4 of the OFER paper, for one output y:

- q_j = pi_j p_j(y) / p(y), the responsibility of component j;
- u_j = Sigma_j^-1 (y - mu_j), the score of component j in its mean;
- pi block     q_j / pi_j                         (gradient in pi, the weights taken as free)
- mu block     q_j u_j                            (gradient in mu_j)
- sigma block  q_j (u_j u_j' - Sigma_j^-1)        (twice the gradient in Sigma_j: eq. (1) drops
  the factor 1/2, and so does this module), or its diagonal or trace.

The responsibilities are computed in log space, so that rows far from every component still have
finite scores.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from workflow_lib.generative.covariance import ComponentPrecision, component_covariance


class MixtureScores:
    """The Fisher scores of a fitted Gaussian or Gaussian mixture.

    Parameters
    ----------
    model : GaussianModel or GaussianMixtureModel
        A fitted model.
    sigma_shape : {"matrix", "diagonal", "trace"}
        How much of the covariance score is kept: d x d numbers a component, d, or one.
    """

    def __init__(self, model, sigma_shape: str) -> None:
        self.model = model
        self.sigma_shape = sigma_shape
        self.n_components, self.dimension = model.means_.shape
        self.precisions = [
            ComponentPrecision(
                component_covariance(model.covariances_, model.covariance_type, component)
            )
            for component in range(self.n_components)
        ]

    @property
    def sigma_size(self) -> int:
        """Numbers in the sigma block of one component."""
        return {"matrix": self.dimension**2, "diagonal": self.dimension, "trace": 1}[
            self.sigma_shape
        ]

    def mean_scores(self, Y: np.ndarray) -> np.ndarray:
        """Return u_j(y) for all rows and components: an array (n, C, d)."""
        scores = [
            precision.apply(Y - mean)
            for precision, mean in zip(self.precisions, self.model.means_, strict=True)
        ]
        return np.stack(scores, axis=1)

    def sigma_scores(self, u: np.ndarray, component: int) -> np.ndarray:
        """Return u u' - Sigma^-1 of one component for all rows, flattened: (n, sigma_size)."""
        precision = self.precisions[component].dense(self.dimension)
        if self.sigma_shape == "matrix":
            return (u[:, :, None] * u[:, None, :] - precision).reshape(len(u), -1)
        if self.sigma_shape == "diagonal":
            return u**2 - np.diag(precision)
        return ((u**2).sum(axis=1) - np.trace(precision))[:, None]

    def sigma_score_gradients(self, u: np.ndarray, component: int) -> np.ndarray:
        """Return the derivative in y of `sigma_scores`: an array (n, sigma_size, d)."""
        precision = self.precisions[component].dense(self.dimension)
        if self.sigma_shape == "matrix":
            left = u[:, :, None, None] * precision[None, None, :, :]
            right = u[:, None, :, None] * precision[None, :, None, :]
            return (left + right).reshape(len(u), -1, self.dimension)
        if self.sigma_shape == "diagonal":
            return 2.0 * u[:, :, None] * precision[None, :, :]
        return 2.0 * (u @ precision)[:, None, :]

    def full(self, Y: np.ndarray) -> np.ndarray:
        """Return the full embedding: pi (C, mixtures only), mu (C x d), sigma blocks."""
        q = self.model.responsibilities(Y)
        u = self.mean_scores(Y)
        blocks = [q / self.model.weights_] if self.model.has_component_block else []
        blocks.append((q[:, :, None] * u).reshape(len(Y), -1))
        blocks.extend(
            q[:, component, None] * self.sigma_scores(u[:, component], component)
            for component in range(self.n_components)
        )
        return np.hstack(blocks)

    def reduced(self, Y: np.ndarray) -> np.ndarray:
        """Return the reduced embedding of section 4: pi (C, mixtures only), sum of mu blocks."""
        q = self.model.responsibilities(Y)
        summed = np.einsum("nc,ncd->nd", q, self.mean_scores(Y))
        if not self.model.has_component_block:
            return summed
        return np.hstack([q / self.model.weights_, summed])

    def jacobian_blocks(self, Y: np.ndarray, form: str) -> Iterator[np.ndarray]:
        """Yield the derivative of the embedding in y, block by block: arrays (n, k, d).

        The blocks come in the order of the embedding, so that their products with a residual can
        be summed without holding the whole Jacobian.
        """
        q = self.model.responsibilities(Y)
        u = self.mean_scores(Y)
        mean_u = np.einsum("nc,ncd->nd", q, u)
        q_gradient = q[:, :, None] * (mean_u[:, None, :] - u)
        if self.model.has_component_block:
            yield q_gradient / self.model.weights_[None, :, None]
        mu_gradients = (
            u[:, component, :, None] * q_gradient[:, component, None, :]
            + q[:, component, None, None] * self.precisions[component].dense(self.dimension)
            for component in range(self.n_components)
        )
        if form == "reduced":
            yield sum(mu_gradients)
            return
        yield from mu_gradients
        for component in range(self.n_components):
            u_component = u[:, component]
            yield (
                self.sigma_scores(u_component, component)[:, :, None]
                * q_gradient[:, component, None, :]
                + q[:, component, None, None] * self.sigma_score_gradients(u_component, component)
            )
