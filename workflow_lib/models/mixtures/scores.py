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

import numpy as np

from workflow_lib.core.array_arguments import as_output_matrix
from workflow_lib.models.covariance import ComponentPrecision, component_covariance
from workflow_lib.models.scores import Scores


class MixtureScores(Scores):
    """The Fisher scores of a fitted Gaussian or Gaussian mixture.

    Parameters
    ----------
    model : GaussianModel or GaussianMixtureModel
        A fitted model.
    form : {"reduced", "full"}
    covariance_block : {"constrained", "matrix"}
        How much of the covariance score is kept, as in `FisherEmbedding`.

    Attributes
    ----------
    sigma_shape : {"matrix", "diagonal", "trace"}
        The same by its numbers a component: d x d, d, or one.
    """

    def __init__(self, model, form: str, covariance_block: str) -> None:
        self.model = model
        self.form = form
        if covariance_block == "matrix" or model.covariance_type == "full":
            self.sigma_shape = "matrix"
        else:
            self.sigma_shape = "diagonal" if model.covariance_type == "diag" else "trace"
        self.leading = ("pi",) if model.has_component_block else ()
        self.n_components, self.dimension = model.means_.shape
        self.precisions = [
            ComponentPrecision(
                component_covariance(model.covariances_, model.covariance_type, component)
            )
            for component in range(self.n_components)
        ]

    def block_sizes(self):
        sizes = {"pi": self.n_components} if self.model.has_component_block else {}
        if self.form == "reduced":
            return sizes | {"mu": self.dimension}
        sizes["mu"] = self.n_components * self.dimension
        return sizes | {"sigma": self.n_components * self.sigma_size}

    def transform(self, Y):
        """As `Scores.transform`, of rows (n, d)."""
        Y = as_output_matrix(Y)
        if Y.shape[1] != self.dimension:
            raise ValueError(
                f"Y has {Y.shape[1]} columns; the model was fitted to {self.dimension}."
            )
        return self.reduced(Y) if self.form == "reduced" else self.full(Y)

    def remaining_block(self, H, blocks):
        """As `Scores.remaining_block`: the mu block, summed over components."""
        mean_block = H[..., blocks["mu"]]
        if self.form == "reduced":
            return mean_block
        shape = (*H.shape[:-1], self.n_components, self.dimension)
        return mean_block.reshape(shape).sum(axis=-2)

    def output_density(self):
        """Return the model itself, as described for `Scores`."""
        model = self.model
        return model.weights_, model.means_, model.covariances_, model.covariance_type

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
        summed = self._summed_mean_scores(Y, q)
        if not self.model.has_component_block:
            return summed
        return np.hstack([q / self.model.weights_, summed])

    def _summed_mean_scores(self, Y: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Return sum_j q_j u_j (n, d), without an array of all rows, components and coordinates.
        With diagonal covariances it is y (sum_j q_j / s_j) - sum_j q_j mu_j / s_j."""
        model = self.model
        if model.covariance_type == "full":
            return np.einsum("nc,ncd->nd", q, self.mean_scores(Y))
        precision = 1.0 / np.asarray(model.covariances_, dtype=np.float64)
        if model.covariance_type != "diag":
            precision = np.broadcast_to(precision, (self.n_components,))[:, None]
        # Relative to the centre of the components, so that outputs far from zero lose no digits.
        centre = model.means_.mean(axis=0)
        summed = (Y - centre) * (q @ precision)
        summed -= q @ (precision * (model.means_ - centre))
        return summed

    def normal_equations(
        self, Y: np.ndarray, residual: np.ndarray, form: str
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return J'J (n, d, d) and J'r (n, d), with J the derivative of the embedding in y (n, d).

        r are residuals (n, m). A sigma block of d x d numbers has a Jacobian of d^3; its products
        are written out instead, so that a step costs d^2 a component. With S = u u' - P,
        P = Sigma_j^-1 and a = grad q_j, the derivative of q S in the direction e_k is
        a_k S + q (P_k u' + u P_k').
        """
        q, u, q_gradient = self._responsibility_gradients(Y)
        normal = np.zeros((len(Y), self.dimension, self.dimension))
        gradient = np.zeros_like(Y)
        position = 0

        def add(jacobian):
            nonlocal position
            part = residual[:, position : position + jacobian.shape[1]]
            position += jacobian.shape[1]
            normal[...] += np.matmul(jacobian.transpose(0, 2, 1), jacobian)
            gradient[...] += np.matmul(jacobian.transpose(0, 2, 1), part[:, :, None])[:, :, 0]

        for jacobian in self._leading_jacobians(q, u, q_gradient, form):
            add(jacobian)
        if form == "reduced":
            return normal, gradient
        for component in range(self.n_components):
            if self.sigma_shape != "matrix":
                add(self._sigma_jacobian(q, u, q_gradient, component))
                continue
            part = residual[:, position : position + self.sigma_size]
            position += self.sigma_size
            added = self._matrix_sigma_products(
                q[:, component], u[:, component], q_gradient[:, component], part, component
            )
            normal += added[0]
            gradient += added[1]
        return normal, gradient

    def _responsibility_gradients(self, Y):
        """Return q (n, C), u (n, C, d) and the gradients of q in y (n, C, d)."""
        q = self.model.responsibilities(Y)
        u = self.mean_scores(Y)
        mean_u = np.einsum("nc,ncd->nd", q, u)
        return q, u, q[:, :, None] * (mean_u[:, None, :] - u)

    def _leading_jacobians(self, q, u, q_gradient, form):
        if self.model.has_component_block:
            yield q_gradient / self.model.weights_[None, :, None]
        mu_jacobians = (
            u[:, component, :, None] * q_gradient[:, component, None, :]
            + q[:, component, None, None] * self.precisions[component].dense(self.dimension)
            for component in range(self.n_components)
        )
        if form == "reduced":
            yield sum(mu_jacobians)
        else:
            yield from mu_jacobians

    def _sigma_jacobian(self, q, u, q_gradient, component):
        """Return the derivative (n, k, d) of a sigma block that is a diagonal or a trace."""
        u, precision = u[:, component], self.precisions[component].dense(self.dimension)
        if self.sigma_shape == "diagonal":
            gradients = 2.0 * u[:, :, None] * precision[None, :, :]
        else:
            gradients = 2.0 * (u @ precision)[:, None, :]
        scores = self.sigma_scores(u, component)[:, :, None]
        return scores * q_gradient[:, component, None, :] + q[:, component, None, None] * gradients

    def _matrix_sigma_products(self, q, u, q_gradient, residual, component):
        """Return J'J and J'r of the d x d sigma block of one component."""
        precision = self.precisions[component].dense(self.dimension)
        Pu = u @ precision
        squared_norm = (u**2).sum(axis=1)
        PSu = (squared_norm[:, None] * Pu) - Pu @ precision
        S_norm = squared_norm**2 - 2.0 * (u * Pu).sum(axis=1) + (precision**2).sum()
        cross = 2.0 * q[:, None, None] * (q_gradient[:, :, None] * PSu[:, None, :])
        normal = (
            S_norm[:, None, None] * (q_gradient[:, :, None] * q_gradient[:, None, :])
            + cross
            + cross.transpose(0, 2, 1)
            + (2.0 * q**2 * squared_norm)[:, None, None] * (precision @ precision)
            + (2.0 * q**2)[:, None, None] * (Pu[:, :, None] * Pu[:, None, :])
        )
        matrices = residual.reshape(-1, self.dimension, self.dimension)
        matrices = matrices + matrices.transpose(0, 2, 1)
        symmetric_u = np.matmul(matrices, u[:, :, None])[:, :, 0]
        # <S, r> with r + r' in hand: half of u'(r + r')u - <P, r + r'>.
        S_residual = 0.5 * (
            (u * symmetric_u).sum(axis=1) - np.einsum("nij,ij->n", matrices, precision)
        )
        gradient = q_gradient * S_residual[:, None] + q[:, None] * (symmetric_u @ precision)
        return normal, gradient
