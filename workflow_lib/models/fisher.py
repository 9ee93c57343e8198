"""The Fisher embedding of outputs under a generative model, and the way back."""

from __future__ import annotations

import numpy as np

from workflow_lib.core.array_arguments import as_numbers, check_ignored
from workflow_lib.core.parameters import ParameterMixin, check_choice
from workflow_lib.models.closed_form import closed_form_preimage
from workflow_lib.models.forward import ForwardEmbedding
from workflow_lib.models.gradient import minimise_distance
from workflow_lib.models.posterior import GaussianPosterior

PREIMAGES = ("closed_form", "projected", "gradient", "posterior")
STARTS = ("closed_form", "mean")


class FisherEmbedding(ForwardEmbedding, ParameterMixin):
    """phi(y) = M grad_theta log p_theta(y), the output embedding of OFER (sections 3 and 4).

    Parameters
    ----------
    model : GaussianModel, GaussianMixtureModel or StateSpaceModel
        A fitted generative model of the outputs.
    form : {"reduced", "full"}, default="reduced"
        ``reduced``: block `pi` (C; mixtures only) and block `mu` (d), the sum over components of
        the scores in the means; it has a closed-form pre-image. ``full``: `pi` (C), `mu` (C x d,
        component-major) and `sigma`. Series have the reduced form only, with blocks `initial` (d),
        `state` ((T - 1) x d) and `observation` (T x p), both by steps.
    covariance_block : {"constrained", "matrix"}, default="constrained"
        Shape of the `sigma` block of the full form. ``matrix``: d x d numbers a component as
        printed in eq. (1), whatever the covariances. ``constrained``: the part that the model's
        covariances can follow: d x d for full ones, the diagonal (d) for diagonal ones, the trace
        (1) for spherical and tied spherical ones. All are twice the derivative of log p in the
        covariance, because eq. (1) drops the factor 1/2.

    Attributes
    ----------
    blocks : dict of slice
        Columns of each block, in order.
    n_features : int
        Columns of the embedding.
    """

    estimator_type = None

    def __sklearn_clone__(self) -> FisherEmbedding:
        return type(self)(**self.get_params(deep=False))

    def __sklearn_is_fitted__(self) -> bool:
        return True

    @property
    def n_features_in_(self) -> int:
        """Columns of the outputs that the model was fitted to."""
        return self.model.n_features_in_

    def set_params(self, **parameters) -> FisherEmbedding:
        """Set constructor parameters and return the embedding."""
        super().set_params(**parameters)
        self.__init__(**self.get_params(deep=False))
        return self

    def transform(self, Y) -> np.ndarray:
        """Return the embeddings (n, m) of outputs `Y` (n, d), or series (n, T, p) or (n, T p).

        Raises
        ------
        ValueError
            If `Y` is not finite or has other columns (or steps) than the model.
        """
        embedded = super().transform(Y)
        self.model._check_columns(Y, self.n_features_in_)
        return embedded

    def fit(self, Y, y=None) -> FisherEmbedding:
        """Return the embedding as it is, for pipelines: its model is already fitted."""
        check_ignored(y, len(self.transform(Y)), self)
        return self

    def fit_transform(self, Y, y=None) -> np.ndarray:
        """Return `transform(Y)`."""
        return self.transform(Y)

    def inverse_transform(
        self, H, preimage: str = "closed_form", start: str = "closed_form", noise_covariance=None
    ) -> np.ndarray:
        """Return the outputs (n, d) whose embeddings are `H` (n, m), or nearest to it.

        Series come back as an array (n, T, p), also where `transform` was given a matrix (n, T p).

        Parameters
        ----------
        H : array (n, m)
            Embeddings, exact or predicted.
        preimage : {"closed_form", "projected", "gradient", "posterior"}, default="closed_form"
            ``closed_form``: eq. (7) and (10); the full form uses its first two blocks. Series:
            Algorithm 1.
            ``projected``: the same after the predicted responsibilities pi_j h1_j are projected
            on the simplex, which keeps eq. (10) from dividing by a number near zero. Without a
            `pi` block there is nothing to project, and this is ``closed_form``.
            ``gradient``: a local minimiser of ||phi(y) - h||^2 (eq. (3)). Not for series.
            ``posterior``: the mean of p_theta(y) N(y_hat; y, R), where y_hat is ``projected`` and R
            the `noise_covariance` (`workflow_lib.models.posterior`).
        start : {"closed_form", "mean"}, default="closed_form"
            Where the gradient search starts: at the projected closed form of the first two
            blocks, or at the mean of the model.
        noise_covariance : float, array (d,) or array (d, d), default=None
            R of ``posterior``, the covariance of the errors of the predicted outputs, of all steps
            of series; a number or a vector stands for uncorrelated errors.

        Raises
        ------
        ValueError
            If a choice is unknown, `H` has the wrong shape, a gradient search is asked for series,
            or the noise is missing or no covariance where the pre-image is ``posterior``.
        """
        check_choice("preimage", preimage, PREIMAGES)
        check_choice("start", start, STARTS)
        H = as_numbers(H, "H")
        if H.ndim != 2 or H.shape[1] != self.n_features:
            raise ValueError(f"H must have the shape (n, {self.n_features}); found {H.shape}.")
        if not np.isfinite(H).all():
            raise ValueError("H must be finite; it holds NaN or infinity.")
        if preimage == "gradient":
            if not hasattr(self.scores, "normal_equations"):
                raise ValueError(
                    "Series have no gradient pre-image, because Algorithm 1 solves theirs. Use "
                    "preimage='closed_form'."
                    if self.model.outputs_are_series
                    else f"{type(self.model).__name__} has no gradient pre-image. Use "
                    "preimage='closed_form'."
                )
            return self._gradient_preimage(H, start)
        outputs = closed_form_preimage(self, H, projected=preimage in ("projected", "posterior"))
        if preimage == "posterior":
            return self.posterior_mean(outputs, noise_covariance)
        return outputs

    def posterior_mean(self, outputs: np.ndarray, noise_covariance) -> np.ndarray:
        """Return E[y | y_hat] under the model, for predicted outputs y_hat (n, d) or (n, T, p).

        Raises
        ------
        ValueError
            If the noise is missing or no covariance, or the kind of model has no such pre-image.
        """
        if not hasattr(self.scores, "output_density"):
            raise ValueError(
                f"{type(self.model).__name__} has no posterior pre-image. Use "
                "preimage='closed_form'."
            )
        posterior = GaussianPosterior(*self.scores.output_density(), noise_covariance)
        flat = posterior.means(outputs.reshape(len(outputs), -1))
        return flat.reshape(outputs.shape)

    def _gradient_preimage(self, H, start):
        if start == "mean":
            mean = self.model.weights_ @ self.model.means_
            begin = np.broadcast_to(mean, (len(H), len(mean)))
        else:
            begin = closed_form_preimage(self, H, projected=True)
        return minimise_distance(
            self.transform,
            lambda Y, residual: self.scores.normal_equations(Y, residual, self.form),
            H,
            begin,
            numbers_per_row=self.n_features + self.scores.n_components * self.scores.dimension**2,
        )
