"""Grid points that are best on bootstrap samples of the held-out rows, instead of the best one.

With few rows the point with the lowest cross-validated error is chosen by chance among many that
are nearly as good. The mean of the fits that bootstrap samples of the rows choose (bagging;
Breiman, Machine Learning 1996), each as often as it is chosen, depends less on it. It is nearly
free: the predictions of the held-out rows are those of the grid.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from workflow_lib.fitting.input_kernels import InputKernel
from workflow_lib.measures.metrics import MIN_GAIN, reference_errors, relative_error

N_SAMPLES = 30
"""Bootstrap samples, each of which costs one row of a product of matrices for each grid point."""


class Point(NamedTuple):
    """A grid point without weak rows and components."""

    kernel: InputKernel
    alpha: float


class BootstrapChoices:
    """The best point of each bootstrap sample, of all points that were added.

    Parameters
    ----------
    outputs : array (n, d)
        Training outputs, NaN where missing.
    folds : int array (n,)
    metric : {"arrmse", "rrmse"}
        Error that is minimised; the reference is that of all rows.
    seed : int
        Of the samples.
    weights : array (n,) or None, default=None
        Positive weights of the rows in the errors, of mean 1; None for 1. Rows are drawn with equal
        chances, so that a row of weight 2 is not two rows.
    """

    def __init__(
        self,
        outputs: np.ndarray,
        folds: np.ndarray,
        metric: str,
        seed: int,
        weights: np.ndarray | None = None,
    ) -> None:
        self._outputs, self._metric, self._weights = outputs, metric, weights
        self._reference = reference_errors(outputs, folds, weights)
        n_rows = len(outputs)
        self._counts = np.random.default_rng(seed).multinomial(
            n_rows, np.full(n_rows, 1.0 / n_rows), size=N_SAMPLES
        )
        self._scores = np.full(N_SAMPLES, np.inf)
        self._points: list[Point | None] = [None] * N_SAMPLES
        self._heldout: dict[Point, np.ndarray] = {}

    def add(
        self, kernel: InputKernel, alphas: Sequence[float], heldout: Sequence[np.ndarray]
    ) -> None:
        """Add the points of a kernel.

        Parameters
        ----------
        kernel : InputKernel
        alphas : sequence of float
        heldout : sequence of arrays (n, d)
            For each penalty the outputs predicted for each training row without its fold.
        """
        for alpha, predicted in zip(alphas, heldout, strict=True):
            squares = np.nan_to_num((self._outputs - predicted) ** 2, nan=0.0)
            if self._weights is not None:
                squares *= self._weights[:, None]
            scores = relative_error(self._counts @ squares, self._reference, self._metric)
            is_better = scores < self._scores * (1.0 - MIN_GAIN)
            # Where all outputs are constant no error is defined, and the first point is chosen.
            is_better |= np.array([point is None for point in self._points])
            if is_better.any():
                point = Point(kernel, float(alpha))
                self._heldout[point] = predicted
                self._scores[is_better] = np.where(np.isfinite(scores), scores, np.inf)[is_better]
                for sample in np.flatnonzero(is_better):
                    self._points[sample] = point
        self._heldout = {point: self._heldout[point] for point in set(self._points)}

    def weights(self) -> dict[Point, float]:
        """Return the share of the samples that chose each point, the largest first."""
        counts = Counter(self._points).most_common()
        return {point: count / N_SAMPLES for point, count in counts}

    def heldout_outputs(self) -> np.ndarray:
        """Return the mean (n, d) of what the chosen points predict for held-out rows."""
        return sum(weight * self._heldout[point] for point, weight in self.weights().items())
