"""Kernel ridge regression and OFER of many rows, which may stay in their file."""

from __future__ import annotations

import re
from functools import partial
from typing import ClassVar

import h5py
import numpy as np
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from workflow_lib.core.errors import ArgumentError, UserError
from workflow_lib.core.parameters import check_parameters, checks
from workflow_lib.core.stored_rows import StoredRows, are_stored
from workflow_lib.estimators.cross_validated import OF_KERNELS
from workflow_lib.estimators.method_estimator import BLOCK_ROWS, OF_REGRESSORS, MethodRegressor
from workflow_lib.fitting.prepared_inputs import kernel_gamma
from workflow_lib.fitting.streamed_fit import StreamPlan, StreamSettings
from workflow_lib.methods.contract.saved_method import SavedMethod
from workflow_lib.solvers.kernel_ridge import known_outputs


def _check_device(name: str, device) -> None:
    """Raise ValueError unless `device` is None, or names one with numbers of 64 bits."""
    names = r"auto|(cpu|cuda|xpu)(:\d+)?"
    if not (device is None or isinstance(device, str) and re.fullmatch(names, device)):
        raise ValueError(f"{name} must be None, auto, cpu, cuda, cuda:0, ...; found {device!r}.")


class LandmarkRegressorCV(MethodRegressor):
    """Kernel ridge regression of many rows on landmarks, with its selection inside.

    With m landmarks L the prediction is k(x, L) A + b: the minimiser of eq. (13) of Djerrab,
    Garcia, Sangnier & d'Alche-Buc (2018) among these functions (Nystrom). One pass over the rows
    adds up what determines A and the held-out errors of all penalties
    (`workflow_lib.solvers.feature_sums`): m^2 operations a row, and memory that does not grow with
    the rows. They may stay in their file: datasets of h5py, arrays that numpy maps from a file, or
    columns of `open_columns`.

    With `n_components`, the Fisher scores of a mixture of the outputs are regressed (OFER), which
    learns by `OnlineGaussianMixtureModel.partial_fit`; errors after its pre-image take a second
    pass. There are neither weak rows nor `sample_weight`: for these use `OutputFisherRegressorCV`
    and `KernelRidgeRegressorCV`, on as many rows as a Gram matrix allows.

    Parameters
    ----------
    n_components : int or None, default=None
        Components of the mixture; None regresses the outputs themselves.
    n_landmarks : int, default=1000
        m. Landmarks are centres of k-means of 20 m rows; all rows where there are no more than m.
    kernels : sequence of {"linear", "rbf", "laplacian"} or None, default=None
        Those that compete, on these 20 m rows; None for all.
    widths : sequence of float or None, default=None
        Those of `rbf` and `laplacian`, in units of `KernelRidgeRegressorCV`; None for 0.01, 0.1, 1
        and 10.
    alphas : sequence of float or None, default=None
        Penalties that compete on all rows, relative to each kernel; None for 1e-9, 1e-8, ... 1.
        With a mixture each of its two blocks has a penalty of its own.
    center : bool, default=True
        Whether there is an intercept.
    scale : {"standard", "none"}, default="standard"
        Of the inputs, learned from the 20 m rows.
    metric : {"arrmse", "rrmse"}, default="arrmse"
        What is minimised on held-out rows: the mean over outputs of the relative error, or the
        relative error of all outputs together.
    cv : int, default=5
        Number of folds, drawn by row.
    device : str or None, default=None
        Where the sums over rows are added up: None for the processor, ``cuda`` or another device of
        torch (the extra ``deep``), ``auto`` for a GPU where there is one. In float64 everywhere.
    random_state : int, Generator, RandomState or None, default=1
        Of folds, landmarks and the start of the mixture.

    Attributes
    ----------
    kernel_, width_, gamma_ : str, float or None, float or None
        As of `KernelRidgeRegressorCV`.
    alpha_ : float or dict
        lambda_0; with a mixture those of the blocks, ``{"pi": ..., "mu": ...}``.
    best_params_ : dict
        All that was chosen.
    cv_error_ : float
        Relative error of the held-out rows.
    landmarks_ : array (m, q) or None
        Of prepared inputs; None for the linear kernel of m columns or fewer, which needs none.
    n_rows_ : int
        Rows that were learned from: those with all outputs.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from workflow_lib import LandmarkRegressorCV
    >>> X, Y = load_linnerud(return_X_y=True)
    >>> LandmarkRegressorCV(n_landmarks=10).fit(X, Y).predict(X[:2]).shape
    (2, 3)
    """

    allowed: ClassVar = (
        {"device": _check_device}
        | OF_KERNELS
        | OF_REGRESSORS
        | checks(whole_or_none="n_components", whole="n_landmarks", folds="cv")
    )

    def __init__(
        self,
        n_components=None,
        n_landmarks=1000,
        kernels=None,
        widths=None,
        alphas=None,
        center=True,
        scale="standard",
        metric="arrmse",
        cv=5,
        device=None,
        random_state=1,
    ):
        self.n_components = n_components
        self.n_landmarks = n_landmarks
        self.kernels = kernels
        self.widths = widths
        self.alphas = alphas
        self.center = center
        self.scale = scale
        self.metric = metric
        self.cv = cv
        self.device = device
        self.random_state = random_state

    def fit(self, X, y, Y_unpaired=None):
        """Choose by cross-validation, and fit to all rows.

        Parameters
        ----------
        X : array (n, q), or rows that stay in a file
            Inputs, NaN where missing.
        y : array (n,) or (n, d), or rows that stay in a file
            Outputs; rows that lack one are left out.
        Y_unpaired : array (m,) or (m, d), or rows that stay in a file, or None
            Outputs without inputs, from which the mixture learns, too.

        Raises
        ------
        ValueError
            If there is one row, values are infinite, shapes differ, outputs without inputs are
            given without `n_components`, or a parameter has no meaning.
        """
        check_parameters(self)
        X, Y = self._inputs_of(X), self._outputs_of(X, y)
        unpaired = None
        if Y_unpaired is not None:
            if self.n_components is None:
                raise ArgumentError(
                    "argument Y_unpaired",
                    "outputs without inputs, and no mixture that could learn from them",
                    expected="n_components with Y_unpaired",
                    remedy="set n_components, or leave Y_unpaired out",
                )
            unpaired = _as_rows(Y_unpaired, "Y_unpaired")
            if unpaired.shape[1:] != Y.shape[1:]:
                raise ArgumentError(
                    "argument Y_unpaired",
                    f"the shape {unpaired.shape}",
                    expected=f"{Y.shape[1]} columns, as y has",
                    remedy="pass the same outputs",
                )
        plan = StreamPlan.made(X, Y, self._settings(), unpaired)
        rows = range(len(X))
        solutions = plan.solved(plan.sums(X, Y, rows, self.device))
        errors = plan.errors(solutions, X, Y, rows) if plan.models else None
        method = plan.fitted(solutions, errors)
        self._preparation, self._method = plan.preparation, SavedMethod(method.tree)
        self.landmarks_, self.n_rows_ = plan.landmarks, method.n_rows
        choice = method.choice
        self.kernel_, self.width_ = choice.kernel
        self.gamma_ = kernel_gamma(*choice.kernel, plan.preparation.n_columns)
        self.alpha_ = choice.alpha_rest
        if plan.models:
            self.alpha_ = {"pi": choice.alpha_leading, "mu": choice.alpha_rest}
        self.best_params_ = {"kernel": self.kernel_, "alpha": self.alpha_}
        if self.width_ is not None:
            self.best_params_["width"] = self.width_
        self.cv_error_ = choice.score
        return self

    def _predicted(self, X) -> np.ndarray:
        check_is_fitted(self)
        X = self._inputs_of(X, reset=False)
        starts = range(0, len(X), BLOCK_ROWS)
        blocks = [np.asarray(X[start : start + BLOCK_ROWS], dtype=np.float64) for start in starts]
        predicted = [self._method.predict(_Prepared(self._preparation, rows)) for rows in blocks]
        return np.concatenate(predicted)

    def _settings(self) -> StreamSettings:
        given = {"kernels": self.kernels, "widths": self.widths, "alphas": self.alphas}
        return StreamSettings(
            self.n_components,
            n_landmarks=self.n_landmarks,
            n_folds=self.cv,
            test_share=0.0,
            center=self.center,
            scale=self.scale,
            metric=self.metric,
            seed=self._seed(),
            **{name: tuple(values) for name, values in given.items() if values is not None},
        )

    def _inputs_of(self, X, reset: bool = True):
        """Return checked inputs; those that stay in a file are checked when they are read."""
        if not are_stored(X):
            return self._checked_rows(X, reset=reset)
        if reset:
            self.n_features_in_ = X.shape[1]
        elif X.shape[1] != self.n_features_in_:
            raise ArgumentError(
                "argument X",
                f"{X.shape[1]} columns",
                expected=f"{self.n_features_in_}, as in fit",
                remedy="pass the same columns",
            )
        return _stored(X)

    def _outputs_of(self, X, y):
        """Return checked outputs (n, d)."""
        if are_stored(y):
            self._is_vector = len(y.shape) == 1
            return _stored(y)
        if y is None:
            # scikit-learn says which argument is missing.
            self._checked_rows(X, y=y)
        y = known_outputs(y)
        check_consistent_length(X, y)
        self._is_vector = y.ndim == 1
        return y.reshape(len(y), -1).astype(np.float64)


class _Prepared:
    """New rows as a saved method asks for them."""

    def __init__(self, preparation, rows: np.ndarray) -> None:
        self._preparation, self._rows = preparation, rows

    def test_rows(self) -> np.ndarray:
        """Return the prepared rows (m, k)."""
        return self._preparation.apply(self._rows)


class _Column:
    """A vector of outputs in a file, as a column."""

    def __init__(self, values) -> None:
        self._values, self.shape = values, (len(values), 1)

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, rows) -> np.ndarray:
        return np.asarray(self._values[rows])[:, None]


def _as_rows(Y, name: str):
    """Return outputs (m, d), in a file or not."""
    if are_stored(Y):
        return _stored(Y)
    Y = known_outputs(Y, name)
    return Y.reshape(len(Y), -1)


def _stored(rows):
    """Return rows of a file, of which those with given numbers are read in one go."""
    if isinstance(rows, h5py.Dataset) and rows.file.driver == "sec2":
        rows = StoredRows(rows, partial(UserError, rows.file.filename, remedy="write it again"))
    return _Column(rows) if len(rows.shape) == 1 else rows
