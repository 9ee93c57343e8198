"""One Gaussian as the generative model of the outputs (section 3.1 of the OFER paper)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from workflow_lib.core.array_arguments import as_output_matrix, check_ignored
from workflow_lib.core.parameters import ParameterMixin, check_parameters, checks
from workflow_lib.core.stored_rows import are_stored
from workflow_lib.models.covariance import (
    COVARIANCE_TYPES,
    absolute_floor,
    estimate_covariances,
    floor_from_variance,
    log_gaussian_densities,
)
from workflow_lib.models.mixtures import mixture_batches

BATCH_NUMBERS = 2**20
"""Numbers in a batch of rows that stay in a file (8 MB)."""


class GaussianModel(ParameterMixin):
    """A Gaussian N(mu, Sigma) fitted to outputs by maximum likelihood.

    Parameters
    ----------
    covariance_type : {"spherical", "tied_spherical", "diag", "full"}, default="spherical"
        Shape of Sigma. The paper's Gaussians are isotropic, hence the default; with one component
        ``tied_spherical`` is the same thing.
    variance_floor : float, default=0.05
        Smallest eigenvalue of Sigma, as a fraction of the mean output variance.

    Attributes
    ----------
    mean_ : array (d,)
    covariance_ : float, array (d,) or array (d, d)
    weights_, means_, covariances_ : the same as a mixture of one component, shapes (1,), (1, d)
        and as in `workflow_lib.models.covariance`.
    """

    allowed: ClassVar = checks(positive="variance_floor", covariance_type=COVARIANCE_TYPES)
    has_component_block = False
    outputs_are_series = False

    def __init__(self, covariance_type: str = "spherical", variance_floor: float = 0.05) -> None:
        self.covariance_type = covariance_type
        self.variance_floor = variance_floor

    def fit(self, Y, y=None) -> GaussianModel:
        """Fit to outputs `Y` (n, d); `y` is ignored.

        `Y` may be rows that stay in a file (`workflow_lib.core.stored_rows.are_stored`), which are
        read twice, in batches.

        Raises
        ------
        ValueError
            If `Y` is empty or not finite, or a parameter is out of range.
        """
        check_parameters(self)
        self._check_columns(Y)
        if are_stored(Y):
            return self._fit_in_batches(mixture_batches.RowReader(Y))
        Y = as_output_matrix(Y)
        check_ignored(y, len(Y), self)
        self.weights_ = np.ones(1)
        self.means_ = Y.mean(axis=0, keepdims=True)
        self.covariances_ = estimate_covariances(
            Y,
            np.ones((len(Y), 1)),
            self.means_,
            self.covariance_type,
            absolute_floor(Y, self.variance_floor),
        )
        return self

    def _fit_in_batches(self, rows: mixture_batches.RowReader) -> GaussianModel:
        """Fit from the sums over batches of the moments around the mean."""
        size = max(BATCH_NUMBERS // rows.dimension, 1)
        mean, variance, _ = rows.moments_and_sample(size, 1, np.random.default_rng(0))
        totals = None
        for _, batch in rows.batches(size):
            found = mixture_batches.statistics_of_memberships(
                mixture_batches.features(batch, mean, self.covariance_type),
                lambda block: np.ones((1, 1, block.stop - block.start)),
                (1, 1),
                self.covariance_type,
            )
            totals = found if totals is None else [a + b for a, b in zip(totals, found)]
        parameters = mixture_batches.maximisation(
            totals, self.covariance_type, floor_from_variance(variance, self.variance_floor)
        )
        self.weights_, means, covariances = (values[0] for values in parameters)
        self.means_ = means + mean
        self.covariances_ = float(covariances) if covariances.ndim == 0 else covariances
        return self

    @property
    def n_components_(self) -> int:
        return 1

    @property
    def n_features_in_(self) -> int:
        return self.means_.shape[1]

    @property
    def mean_(self) -> np.ndarray:
        return self.means_[0]

    @property
    def covariance_(self):
        if self.covariance_type == "tied_spherical":
            return self.covariances_
        return self.covariances_[0]

    def score_samples(self, Y) -> np.ndarray:
        """Return log p(y) of every row of `Y` (n, d), in nats: an array (n,)."""
        Y = self._checked_rows(Y)
        return log_gaussian_densities(Y, self.means_, self.covariances_, self.covariance_type)[:, 0]

    def responsibilities(self, Y) -> np.ndarray:
        """Return the posterior probabilities of the components: a column of ones (n, 1)."""
        return np.ones((len(self._checked_rows(Y)), 1))

    def _checked_rows(self, Y) -> np.ndarray:
        self._check_is_fitted()
        rows = as_output_matrix(Y)
        self._check_columns(Y, rows.shape[1])
        return rows
