"""The grid point with the lowest relative error of held-out rows, and its predictions of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from workflow_lib.fitting.input_kernels import InputKernel
from workflow_lib.fitting.validation_curves import KernelErrors
from workflow_lib.measures.metrics import MIN_GAIN, reference_errors, relative_error
from workflow_lib.solvers.principal_components import first_least


@dataclass(frozen=True)
class GridChoice:
    """A grid point, its cross-validated error and its held-out predictions."""

    kernel: InputKernel

    alpha_rest: float
    """lambda_0 of eq. (13)."""

    settings: dict[str, Any]
    """The other values of the point by name."""

    index: tuple[int, int]
    """Number of the combination of settings, and of the penalty."""

    score: float
    """Relative error of the held-out outputs, their squared errors summed over folds."""

    heldout_outputs: np.ndarray | None = None
    """Array (n, d) or None: predictions of the training rows, each without its fold."""

    # There is no leading block.
    alpha_leading = None


class GridComparison:
    """Grid points by the relative error of outputs (n, d), all of which are added to `curves`."""

    def __init__(
        self, outputs: np.ndarray, folds: np.ndarray, metric: str, curves: KernelErrors
    ) -> None:
        self._reference, self._metric = reference_errors(outputs, folds), metric
        self._curves, self._least = curves, None

    def best_of(
        self,
        kernel: InputKernel,
        settings: Mapping[str, Sequence],
        alphas: Sequence[float],
        errors: np.ndarray,
    ) -> GridChoice | None:
        """Return the best of all combinations of settings and penalties, of which the last change
        fastest; None where an earlier point is as good.

        `errors` (..., d) are the squared errors of each combination. Of equal points the first is
        kept.
        """
        scores = relative_error(errors, self._reference, self._metric).reshape(-1, 1)
        scores = np.where(np.isfinite(scores), scores, np.inf)
        self._curves.add_penalties(kernel, settings, alphas, scores)
        (index,) = first_least(scores, MIN_GAIN)
        score = float(scores[index, 0])
        if self._least is not None and score >= self._least * (1.0 - MIN_GAIN):
            return None
        self._least = score
        point, penalty = divmod(int(index), len(alphas))
        values = dict(zip(settings, list(product(*settings.values()))[point], strict=True))
        return GridChoice(kernel, float(alphas[penalty]), values, (point, penalty), score)
