"""The class that is most probable under generative models of the classes: the MAP rule.

p(c | x) is proportional to p(c) p(x | c), with the shares of the classes among the training rows as
p(c). The inputs are log p(x | c), the last class first (`score_space` with the kind
``log_likelihood``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from workflow_lib.fitting.class_selection import squared_error
from workflow_lib.fitting.fit_data import FitData
from workflow_lib.methods.contract import base

REGRESSORS = ("most_probable_class",)
TASKS = ("classes",)
NEEDS = {"minutes": 2}
READS = ("dataset", "split", "features")


@dataclass
class Method(base.Method):
    """Nothing is selected but the models themselves, by the `squared_error` of p(c | x).

    The scores are the log odds of each class against all others.
    """

    def select(self, data: FitData) -> base.Selection:
        heldout = np.empty((data.size, data.n_classes))
        for fold, (_, log_p) in enumerate(data.inputs.fold_rows()):
            is_heldout = data.folds == fold
            heldout[is_heldout] = _fit(data.labels[~is_heldout], data.n_classes).scores(log_p)
        error = squared_error(1.0 / (1.0 + np.exp(-heldout)), data.labels)
        return base.Selection(heldout, {"score": error})

    def fit(self, data: FitData, selection: base.Selection) -> Fitted:
        return _fit(data.labels, data.n_classes)


class Fitted(base.Fitted):
    """The class of each column of the inputs (C,), and the logarithms of their shares (C,).

    `n_classes` is the number K of the scores, those without a training row included.
    """

    def __init__(self, classes: np.ndarray, log_shares: np.ndarray, n_classes: int) -> None:
        self._classes, self._log_shares, self._n_classes = classes, log_shares, n_classes

    def predict(self, rows):
        return self.scores(rows.test_rows())

    def scores(self, log_p: np.ndarray) -> np.ndarray:
        """Return the log odds (m, K) from log p(x | c) (m, C); a class without a model is last."""
        from workflow_lib.papers.perina.score_space import log_sum_of_others

        joint = log_p + self._log_shares
        odds = np.zeros_like(joint) if joint.shape[1] == 1 else joint - log_sum_of_others(joint)
        scores = np.repeat(odds.min(axis=1, keepdims=True) - 1.0, self._n_classes, axis=1)
        scores[:, self._classes] = odds
        return scores

    def to_arrays(self):
        return {
            "classes": self._classes,
            "log_shares": self._log_shares,
            "n_classes": self._n_classes,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping) -> Fitted:
        return cls(arrays["classes"], arrays["log_shares"], int(arrays["n_classes"]))


def _fit(labels: np.ndarray, n_classes: int) -> Fitted:
    counts = np.bincount(labels, minlength=n_classes)
    classes = np.flatnonzero(counts)[::-1]
    return Fitted(classes, np.log(counts[classes] / len(labels)), n_classes)
