"""What estimators have in common that run a method of the workflow on arrays."""

from __future__ import annotations

from numbers import Integral
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.model_selection import check_cv
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_array,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from workflow_lib.core.errors import ArgumentError
from workflow_lib.core.parameters import check_kind, check_parameters, checks, random_generator
from workflow_lib.estimators.array_run import ArrayRun, FittedMethod, new_rows
from workflow_lib.fitting.validation_curves import CHOSEN, ENTRY
from workflow_lib.items.scales import ROW_SCALES
from workflow_lib.solvers.kernel_ridge import checked_inputs, checked_outputs, known_outputs

BLOCK_ROWS = 10_000
"""Rows that are predicted at a time: a Gram matrix against the training rows is made of them."""

MIN_WEIGHT = 1e-200
"""Weights of rows that are smaller, relative to the largest, count as zero."""


def _check_folds(name: str, cv) -> None:
    """Raise ValueError unless `cv` is a number of folds, or makes them as scikit-learn does."""
    is_list = isinstance(cv, list | tuple) and len(cv) > 0
    are_pairs = is_list and all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in cv)
    if isinstance(cv, str) or not (hasattr(cv, "split") or are_pairs):
        check_kind("folds", name, cv)


OF_ALL = checks(scale=ROW_SCALES, seed="random_state") | {"cv": _check_folds}
OF_REGRESSORS = OF_ALL | checks(metric=("arrmse", "rrmse"))
"""The checks of the parameters that all estimators here have."""


class MethodEstimator(BaseEstimator):
    """An estimator that runs a method in `fit`: subclasses say in `_fitted` which."""

    allowed: ClassVar[dict] = {}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _seed(self) -> int:
        """Return `random_state`, or a number drawn from it."""
        if isinstance(self.random_state, Integral):
            return int(self.random_state)
        return int(random_generator(self.random_state).integers(2**31))

    def _checked_rows(self, X, **options) -> np.ndarray:
        """Return inputs as numbers, NaN where missing."""
        return validate_data(
            self, checked_inputs(X), dtype=np.float64, ensure_all_finite="allow-nan", **options
        )

    def _checked_weights(self, sample_weight, X) -> np.ndarray | None:
        """Return the weights (n,) of rows X, from 0 to 1; None for none."""
        if sample_weight is None:
            return None
        options = {"dtype": np.float64, "ensure_non_negative": True}
        weights = _check_sample_weight(sample_weight, X, **options)
        weights = weights / (weights.max() or 1.0)
        # Smaller weights have no part in any digit, and their inverses would overflow.
        return np.where(weights < MIN_WEIGHT, 0.0, weights)

    def _fit_rows(self, X, outputs, groups, labels=None, weights=None, **others) -> None:
        """Run the method on checked rows, and set what is known of its selection. Rows without
        weight are left out, but for the folds that a splitter makes."""
        kept = np.ones(len(X), dtype=bool) if weights is None else weights > 0
        if kept.sum() < 2:
            raise ArgumentError(
                "argument X",
                f"{kept.sum()} sample" + ("" if kept.all() else " with a weight that is not zero"),
                expected="at least 2, as errors are those of rows that a fit has not seen",
                remedy="pass more rows",
            )
        seed, cv = self._seed(), self.cv
        if groups is not None:
            groups = np.unique(column_or_1d(groups), return_inverse=True)[1]
            check_consistent_length(X, groups)
        if not isinstance(cv, Integral):
            cv = self._fold_numbers(X, outputs if labels is None else labels, groups, kept)
        others_of_X, X, outputs = X[~kept], X[kept], outputs[kept]
        labels, groups, weights = (
            None if each is None else each[kept] for each in (labels, groups, weights)
        )
        # Equal weights leave no trace, not even in the last digit.
        if weights is not None and np.ptp(weights) > 0:
            others["weights"] = weights / weights.mean()
        metric = getattr(self, "metric", "arrmse")
        run = ArrayRun(X, outputs, seed, cv, self.scale, metric, labels, groups, **others)
        fitted = self._fitted(run)
        self._method, self._inputs, self._n_rows = fitted, run.inputs, run.n_rows
        self.heldout_predictions_ = np.empty((len(kept), fitted.heldout.shape[1]))
        self.heldout_predictions_[np.flatnonzero(kept)[run.order]] = fitted.heldout
        if not kept.all():
            self.heldout_predictions_[~kept] = self._of_checked_rows(others_of_X)
        self.cv_error_ = float(fitted.entries.get("score", np.nan))
        curves = fitted.entries.get(ENTRY, {})
        self.cv_curves_ = {name: curve for name, curve in curves.items() if name != CHOSEN}

    def _fold_numbers(self, X, y, groups, kept) -> np.ndarray:
        """Return the fold of every kept row that a splitter of scikit-learn makes."""
        heldout = [test for _, test in check_cv(self.cv).split(X, y, groups)]
        rows = np.concatenate([np.empty(0, dtype=int), *heldout])
        is_partition = np.array_equal(np.sort(rows), np.arange(len(X)))
        if not is_partition or sum(kept[test].any() for test in heldout) < 2:
            raise ArgumentError(
                "parameter cv",
                f"folds of {type(self.cv).__name__} that do not hold out every row once",
                expected="two folds or more that are a partition of the rows",
                remedy="use a number of folds, KFold or GroupKFold",
            )
        folds = np.empty(len(X), dtype=int)
        folds[rows] = np.repeat(np.arange(len(heldout)), [len(test) for test in heldout])
        return np.unique(folds[kept], return_inverse=True)[1]

    def _predicted(self, X, method: FittedMethod | None = None) -> np.ndarray:
        """Return the outputs (m, d), or scores of the classes, of new rows."""
        check_is_fitted(self)
        return self._of_checked_rows(self._checked_rows(X, reset=False), method)

    def _of_checked_rows(self, X, method: FittedMethod | None = None) -> np.ndarray:
        """Return the outputs (m, d), or scores of the classes, of checked rows."""
        predict = (method or self._method).predict
        blocks = (X[start : start + BLOCK_ROWS] for start in range(0, len(X), BLOCK_ROWS))
        return np.concatenate(
            [predict(new_rows(self._inputs, self._n_rows, block)) for block in blocks]
        )


class MethodRegressor(RegressorMixin, MethodEstimator):
    """A method that predicts numbers."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _fit_outputs(
        self,
        X,
        Y,
        groups,
        X_weak=None,
        weak_responsibilities=None,
        Y_unpaired=None,
        sample_weight=None,
    ) -> None:
        """As `_fit_rows`, of inputs and outputs as they are passed."""
        check_parameters(self)
        if Y is None:
            # scikit-learn says which argument is missing.
            validate_data(self, X, Y)
        X, Y = self._checked_rows(X), known_outputs(Y)
        check_consistent_length(X, Y)
        self._is_vector = Y.ndim == 1
        outputs = Y.reshape(len(Y), -1)
        weights = self._checked_weights(sample_weight, X)
        unknown = np.isnan(outputs if weights is None else outputs[weights > 0])
        if unknown.all(axis=1).any() or unknown.all(axis=0).any():
            raise ArgumentError(
                "argument y",
                f"no known output in {unknown.all(axis=1).sum()} rows and "
                f"{unknown.all(axis=0).sum()} columns",
                expected="a known output in every row and every column",
                remedy="leave out these rows and columns",
            )
        others = self._weak_rows(X_weak, weak_responsibilities)
        if Y_unpaired is not None:
            others["unpaired"] = _unpaired_outputs(Y_unpaired, Y.shape)
        self._fit_rows(X, outputs, groups, weights=weights, **others)
        if self._is_vector:
            self.heldout_predictions_ = self.heldout_predictions_[:, 0]

    def _weak_rows(self, X_weak, weak_responsibilities) -> dict[str, np.ndarray]:
        """Return inputs and memberships of weak rows as arguments of `ArrayRun`."""
        name = "weak_responsibilities"
        if (X_weak is None) != (weak_responsibilities is None):
            raise ArgumentError(
                f"arguments X_weak and {name}",
                "one of them without the other",
                expected="both, with a row for each weak row, or none",
                remedy="pass both",
            )
        if X_weak is None:
            return {}
        X_weak = self._checked_rows(X_weak, reset=False)
        q = checked_inputs(weak_responsibilities, name)
        q = check_array(q, dtype=np.float64, input_name=name)
        check_consistent_length(X_weak, q)
        if q.min() < 0 or not np.allclose(q.sum(axis=1), 1.0, atol=1e-6):
            raise ArgumentError(
                f"argument {name}",
                "rows that are no probabilities",
                expected="numbers from 0 on, which sum to 1 in every row",
                remedy="divide each row by its sum",
            )
        return {"X_weak": X_weak, "memberships": q}

    def predict(self, X) -> np.ndarray:
        """Return the predicted outputs (m,) or (m, d), as in `fit`, for inputs `X` (m, q).

        Raises
        ------
        ValueError
            If the inputs are infinite, or have other columns than in `fit`.
        """
        predicted = self._predicted(X)
        return predicted[:, 0] if self._is_vector else predicted

    def score(self, X, y, sample_weight=None) -> float:
        """Return the coefficient of determination of the predictions, as in scikit-learn."""
        return super().score(X, checked_outputs(y), sample_weight)


class MethodClassifier(ClassifierMixin, MethodEstimator):
    """A method that scores classes."""

    def fit(self, X, y, groups=None):
        """Choose by cross-validation, and fit to all rows.

        Parameters
        ----------
        X, groups
            As of `KernelRidgeRegressorCV.fit`.
        y : array (n,)
            Classes: numbers or texts.

        Raises
        ------
        ValueError
            If there is one row or one class, inputs are infinite, `y` is continuous, or a
            parameter has no meaning.
        """
        return self._fit_classes(X, y, groups)

    def _fit_classes(self, X, y, groups, sample_weight=None):
        """As `fit`, of rows with weights."""
        check_parameters(self)
        if y is None:
            # scikit-learn says which argument is missing.
            validate_data(self, X, y)
        X, y = self._checked_rows(X), column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        check_classification_targets(y)
        weights = self._checked_weights(sample_weight, X)
        kept = slice(None) if weights is None else weights > 0
        # Classes without any weight are none; their rows are left out before they count as another.
        labels = np.zeros(len(y), dtype=int)
        self.classes_, labels[kept] = np.unique(y[kept], return_inverse=True)
        if len(self.classes_) < 2:
            raise ArgumentError(
                "argument y",
                f"one class, {self.classes_[0]!r}",
                expected="rows of two classes or more",
                remedy="pass rows of another class",
            )
        self._fit_rows(X, np.eye(len(self.classes_))[labels], groups, labels, weights)
        return self

    def predict(self, X) -> np.ndarray:
        """Return the class (m,) of the highest score for inputs `X` (m, q)."""
        highest = self._predicted(X).argmax(axis=1)
        return self.classes_[highest]


def _unpaired_outputs(Y_unpaired, shape: tuple[int, ...]) -> np.ndarray:
    """Return outputs without inputs as rows (m, d), if they are like those of this shape."""
    found = checked_inputs(Y_unpaired, "Y_unpaired")
    found = check_array(found, dtype=np.float64, ensure_2d=False, input_name="Y_unpaired")
    if found.shape[1:] != shape[1:]:
        raise ArgumentError(
            "argument Y_unpaired",
            f"the shape {found.shape}",
            expected=f"that of the outputs, {shape}, but for the number of rows",
            remedy="pass the same outputs of other rows",
        )
    return found.reshape(len(found), -1)
