"""Kernel ridge regression and OFER with their selection inside, as the workflow runs them."""

from __future__ import annotations

from functools import partial
from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from workflow_lib.core.errors import ArgumentError
from workflow_lib.core.parameters import check_choice, check_each, check_kind, checks
from workflow_lib.estimators.array_run import OUTPUT_SCALE, ArrayRun, FittedMethod, method_keys
from workflow_lib.estimators.method_estimator import (
    OF_ALL,
    OF_REGRESSORS,
    MethodClassifier,
    MethodRegressor,
)
from workflow_lib.fitting.output_models import ModelSettings
from workflow_lib.fitting.prepared_inputs import kernel_gamma
from workflow_lib.inputs.preparation import InputPreparation
from workflow_lib.items.group_names import components_group, fold_group, size_group
from workflow_lib.models.covariance import COVARIANCE_TYPES
from workflow_lib.models.storage import model_from_tree

KERNELS = ("linear", "rbf", "laplacian")


OF_KERNELS = checks(each_positive="widths", each_penalty="alphas", flag="center") | {
    "kernels": partial(check_each, partial(check_choice, choices=KERNELS))
}


def _check_counts(name: str, values: Any) -> None:
    """Raise ValueError unless `values` are a whole number, several, or None."""
    check = partial(check_kind, "whole")
    check(name, values) if isinstance(values, Integral) else check_each(check, name, values)


class OfKernels:
    """What estimators say of a choice of kernels and penalties."""

    def _grid_keys(self, name: str) -> dict[str, Any]:
        """Return the keys of a method, with the kernels and the grid that were asked for."""
        keys = method_keys(name)
        grid = {"width": self.widths, "alpha": self.alphas}
        given = {
            key: tuple(map(float, values)) for key, values in grid.items() if values is not None
        }
        keys["grid"] = keys["grid"] | given
        if self.kernels is not None:
            keys["kernel"] = tuple(dict.fromkeys(self.kernels))
        return keys | {"center": self.center}

    def _set_choice(self) -> None:
        """Set what was chosen for the one fit that there is."""
        (chosen,) = self._method.choices
        self.kernel_, self.alpha_ = chosen["kernel"], chosen["alpha_rest"]
        self.width_ = chosen.get("width")
        stored = self._inputs[size_group(self._n_rows)][fold_group(None)]
        n_columns = InputPreparation.from_tree(stored).n_columns
        self.gamma_ = kernel_gamma(self.kernel_, self.width_, n_columns)
        self.best_params_ = {
            "kernel": self.kernel_,
            "alpha": self.alpha_,
            **({} if self.width_ is None else {"width": self.width_}),
        }


class KernelRidgeRegressorCV(OfKernels, MethodRegressor):
    """Kernel ridge regression of all outputs, with kernel, width and penalty by cross-validation.

    Minimises alpha ||h||^2 + 1/(2 n) sum_i ||y_i - h(x_i) - b||^2, eq. (13) of Djerrab, Garcia,
    Sangnier & d'Alche-Buc (2018) with the outputs themselves as targets: the method ``m-krr`` of
    the workflow, run by the same code. Every grid point predicts the held-out rows of each fold in
    closed form, from one eigendecomposition of the centred Gram matrix for each kernel; the least
    relative error of all held-out rows wins. Inputs are standardised on the training rows of each
    fold, which also fill missing inputs by their means. With weights w_i the loss is
    1/(2 sum w) sum_i w_i ||y_i - h(x_i) - b||^2, and all means, deviations and errors are weighted.

    Parameters
    ----------
    kernels : sequence of {"linear", "rbf", "laplacian"} or None, default=None
        Kernels that compete; None for all three, because none is best on all tables.
    widths : sequence of float or None, default=None
        gamma of the kernels with a width, in units of 1 / (2 p) for ``rbf`` and 1 / p for
        ``laplacian`` with p inputs that vary. None for those of the method: 1e-4 to 10.
    alphas : sequence of float or None, default=None
        Penalties lambda_0, in units of the size of each kernel: p for ``linear``, min(1, width)
        for the others. None for those of the method: 1e-6 to 1, and infinity, the training mean.
        Where a chosen value lies on an edge, the grid is extended there.
    combine : {"best", "bootstrap"}, default="best"
        The best grid point, or the mean of the fits that bootstrap samples of the held-out rows
        choose, which has less variance with few rows (``m-krr-bagged``).
    center : bool, default=True
        Fit an unpenalised intercept.
    scale : {"standard", "none"}, default="standard"
        Whether inputs are standardised, or only missing ones filled.
    metric : {"arrmse", "rrmse"}, default="arrmse"
        The error that selection minimises: the mean over outputs of their relative errors, or the
        relative error of all outputs together.
    cv : int or splitter of scikit-learn, default=5
        Number of folds, or folds that hold out every row once; also a list of (train, test).
    random_state : int, Generator, RandomState or None, default=1
        Of the draws, from which the folds come too. With the seed of `compare` both draw the same.

    Attributes
    ----------
    kernel_, width_, alpha_ : str, float or None, float
        What was chosen; alpha is lambda_0 itself: the system solved is (K + 2 n alpha I), with
        weights (K + 2 sum(w) alpha diag(1 / w)).
    gamma_ : float or None
        The inverse squared width (``rbf``) or inverse width of the kernel on prepared inputs.
    best_params_ : dict
        The same as one mapping.
    cv_error_ : float
        Relative error of the held-out rows under it.
    cv_curves_ : dict
        Least error for each value of each parameter, arrays (k, 2), by kernel and parameter.
    heldout_predictions_ : array (n,) or (n, d)
        What is predicted of each row by a fit without its fold; of a row of weight zero, which no
        fit learns from, by the fit to all others.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from workflow_lib import KernelRidgeRegressorCV
    >>> X, Y = load_linnerud(return_X_y=True)
    >>> model = KernelRidgeRegressorCV(kernels=["linear"]).fit(X, Y)
    >>> model.kernel_, model.predict(X[:2]).shape
    ('linear', (2, 3))
    """

    allowed: ClassVar = OF_REGRESSORS | OF_KERNELS | checks(combine=("best", "bootstrap"))

    def __init__(
        self,
        kernels=None,
        widths=None,
        alphas=None,
        combine="best",
        center=True,
        scale="standard",
        metric="arrmse",
        cv=5,
        random_state=1,
    ):
        self.kernels = kernels
        self.widths = widths
        self.alphas = alphas
        self.combine = combine
        self.center = center
        self.scale = scale
        self.metric = metric
        self.cv = cv
        self.random_state = random_state

    def fit(self, X, y, groups=None, sample_weight=None):
        """Choose by cross-validation, and fit to all rows.

        Parameters
        ----------
        X : array (n, q)
            Inputs, NaN where missing.
        y : array (n,) or (n, d)
            Outputs; with several, NaN where missing.
        groups : array (n,) or None
            Rows of one group are held out together.
        sample_weight : array (n,), float or None
            Weights of the rows, not negative, of which only the ratios count; None for equal ones.
            A whole weight is as many copies of the row in one fold, and a row of weight zero is
            left out. The bootstrap samples of ``combine="bootstrap"`` draw rows with equal chances
            all the same, and weight their errors. With more rows than a Gram matrix in memory
            allows, there are no weights.

        Raises
        ------
        ValueError
            If there is one row, inputs are infinite, shapes differ, a row has no output, weights
            are negative, missing or all zero, or a parameter has no meaning.
        """
        self._fit_outputs(X, y, groups, sample_weight=sample_weight)
        self._set_choice()
        return self

    def _fitted(self, run: ArrayRun) -> FittedMethod:
        name = "m-krr-bagged" if self.combine == "bootstrap" else "m-krr"
        return run.fitted(name, self._grid_keys(name))


class KernelRidgeClassifierCV(OfKernels, MethodClassifier):
    """Kernel ridge regression of class indicators, chosen by cross-validation.

    The scores are h(x) + b with the least alpha ||h||^2 + 1/(2 n) sum_i ||e_i - h(x_i) - b||^2 for
    the indicators e_i of the classes: the method ``class-krr``, which the workflow recommends for
    classes, run by the same code. The kernel, its width and the penalty are those with the least
    squared error of the held-out scores, never the least number of wrong classes, which is equal
    for many. The folds hold out about as many rows of each class. Weights of the rows are those of
    `KernelRidgeRegressorCV`.

    Parameters
    ----------
    kernels, widths, alphas, center, scale, cv, random_state
        As of `KernelRidgeRegressorCV`.

    Attributes
    ----------
    classes_ : array (K,)
    kernel_, width_, alpha_, gamma_, best_params_, cv_curves_
        As of `KernelRidgeRegressorCV`.
    cv_error_ : float
        Squared error of the held-out scores; NaN with one row of each class, where nothing can be
        chosen.
    heldout_predictions_ : array (n, K)
        Scores of each row by a fit without its fold, as of `KernelRidgeRegressorCV`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from workflow_lib import KernelRidgeClassifierCV
    >>> X, y = load_iris(return_X_y=True)
    >>> KernelRidgeClassifierCV().fit(X[::3], y[::3]).decision_function(X[:2]).shape
    (2, 3)
    """

    allowed: ClassVar = OF_ALL | OF_KERNELS

    def __init__(
        self,
        kernels=None,
        widths=None,
        alphas=None,
        center=True,
        scale="standard",
        cv=5,
        random_state=1,
    ):
        self.kernels = kernels
        self.widths = widths
        self.alphas = alphas
        self.center = center
        self.scale = scale
        self.cv = cv
        self.random_state = random_state

    def fit(self, X, y, groups=None, sample_weight=None):
        """Choose by cross-validation, and fit to all rows.

        Parameters
        ----------
        X, groups, sample_weight
            As of `KernelRidgeRegressorCV.fit`; a class whose rows all have weight zero is none.
        y : array (n,)
            Classes: numbers or texts.

        Raises
        ------
        ValueError
            If there is one row or one class, inputs are infinite, `y` is continuous, weights are
            negative, missing or all zero, or a parameter has no meaning.
        """
        self._fit_classes(X, y, groups, sample_weight)
        self._set_choice()
        return self

    def decision_function(self, X) -> np.ndarray:
        """Return the scores (m, K), or with two classes their difference (m,)."""
        scores = self._predicted(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def _fitted(self, run: ArrayRun) -> FittedMethod:
        return run.fitted("class-krr", self._grid_keys("class-krr"))


class OutputFisherRegressorCV(OfKernels, MethodRegressor):
    """Output Fisher Embedding Regression, chosen by cross-validation in the output space.

    Mixtures of several sizes are fitted to the outputs, which are embedded as Fisher scores; these
    are regressed by eq. (13) of Djerrab, Garcia, Sangnier & d'Alche-Buc (2018), with a penalty for
    the memberships (``pi``) and one for the rest (``mu``), and the pre-image returns outputs. For
    each number of components the kernel, its width and both penalties have the least relative error
    of held-out rows, after the pre-image and under mixtures that have not seen them. It is the
    method ``ofer-gmm`` of the workflow, and with weak rows ``wofer-gmm``, run by the same code. It
    takes no ``sample_weight``, because the mixtures are fitted without weights.

    Parameters
    ----------
    n_components : int, sequence of int or None, default=None
        Numbers of components; those above 0.6 times the rows are left out. None for
        (3, 6, 10, 20), and with weak rows for the number of their memberships.
    combine : {"average", "best"}, default="average"
        Whether the predictions of all numbers are averaged, or the best number is chosen.
    penalty : {"per_block", "shared"}, default="per_block"
        Whether both blocks have a penalty of their own. With a shared one, a tied variance and
        ``closed_form`` this is kernel ridge regression of the outputs.
    preimage : {"projected", "closed_form"}, default="projected"
        Whether predicted memberships are projected on the simplex before eq. (10).
    covariance_type : str, default="tied_spherical"
        As of `GaussianMixtureModel`; a tied variance cannot collapse onto a row.
    variance_floor, n_init : float, int, default=0.05, 5
        As of `GaussianMixtureModel`.
    kernels, widths, alphas, center, scale, metric, cv, random_state
        As of `KernelRidgeRegressorCV`; None for those of the method: the kernel ``laplacian`` with
        the widths 0.1 and 1, since with more kernels its selection overfits the folds.
    weak_weights : sequence of float or None, default=None
        Weights of a weak row relative to a labelled one, which compete: lambda_2 of eq. (14) times
        2 n. None for 1 and 0.3.

    Attributes
    ----------
    n_components_ : list of int
        The numbers that are averaged, or the one that was chosen.
    alpha_ : dict
        lambda_0 of the blocks, ``{"pi": ..., "mu": ...}``, by number of components.
    kernel_, width_ : dict
        The same of kernels and widths.
    best_params_ : dict
        All that was chosen, by number of components.
    models_ : dict
        The mixture fitted to all outputs, standardised, by number of components; column c of
        `weak_responsibilities` stands for its component c.
    cv_error_, cv_curves_, heldout_predictions_
        As of `KernelRidgeRegressorCV`.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from workflow_lib import OutputFisherRegressorCV
    >>> X, Y = load_linnerud(return_X_y=True)
    >>> model = OutputFisherRegressorCV(n_components=[2, 3]).fit(X, Y)
    >>> model.n_components_, model.predict(X[:2]).shape
    ([2, 3], (2, 3))
    """

    allowed: ClassVar = (
        OF_REGRESSORS
        | OF_KERNELS
        | {"n_components": _check_counts}
        | checks(
            combine=("average", "best"),
            penalty=("per_block", "shared"),
            preimage=("projected", "closed_form"),
            covariance_type=COVARIANCE_TYPES,
            not_negative="variance_floor",
            whole="n_init",
            each_positive="weak_weights",
        )
    )

    def __init__(
        self,
        n_components=None,
        combine="average",
        penalty="per_block",
        preimage="projected",
        covariance_type="tied_spherical",
        variance_floor=0.05,
        n_init=5,
        kernels=None,
        widths=None,
        alphas=None,
        weak_weights=None,
        center=True,
        scale="standard",
        metric="arrmse",
        cv=5,
        random_state=1,
    ):
        self.n_components = n_components
        self.combine = combine
        self.penalty = penalty
        self.preimage = preimage
        self.covariance_type = covariance_type
        self.variance_floor = variance_floor
        self.n_init = n_init
        self.kernels = kernels
        self.widths = widths
        self.alphas = alphas
        self.weak_weights = weak_weights
        self.center = center
        self.scale = scale
        self.metric = metric
        self.cv = cv
        self.random_state = random_state

    def fit(self, X, Y, X_weak=None, weak_responsibilities=None, Y_unpaired=None, groups=None):
        """Choose by cross-validation, and fit to all rows.

        Parameters
        ----------
        X, Y, groups
            As of `KernelRidgeRegressorCV.fit`.
        X_weak : array (w, q) or None
            Inputs of weak rows.
        weak_responsibilities : array (w, C) or None
            Their memberships of the components of the mixture of C components in `models_`, which
            is the same with and without weak rows. The mixtures of the folds are made of the
            training rows of the fold, with their memberships under this one.
        Y_unpaired : array (m,) or (m, d), or None
            Outputs without inputs; the mixtures of all folds learn from them too.

        Raises
        ------
        ValueError
            If there is one row, inputs are infinite, shapes differ, a row has no output, weak rows
            have no memberships or these are no probabilities of C components, or a parameter has
            no meaning.
        """
        self._fit_outputs(X, Y, groups, X_weak, weak_responsibilities, Y_unpaired)
        choices = {chosen["n_components"]: chosen for chosen in self._method.choices}
        self.n_components_ = list(choices)
        self.kernel_ = {count: chosen["kernel"] for count, chosen in choices.items()}
        self.width_ = {count: chosen.get("width") for count, chosen in choices.items()}
        self.alpha_ = {
            count: {"pi": chosen["alpha_leading"], "mu": chosen["alpha_rest"]}
            for count, chosen in choices.items()
        }
        names = ("kernel", "width", "alpha_leading", "alpha_rest", "weak_weight", "projected")
        self.best_params_ = {
            count: {name: chosen[name] for name in names if name in chosen}
            for count, chosen in choices.items()
        }
        of_size = self._method.tree["models"][size_group(self._n_rows)]
        self.models_ = {
            count: model_from_tree(of_size[components_group(count)][fold_group(None)])
            for count in choices
        }
        return self

    def _fitted(self, run: ArrayRun) -> FittedMethod:
        name = "ofer-gmm" if run.memberships is None else "wofer-gmm"
        keys = self._grid_keys(name)
        counts = keys["grid"]["n_components"]
        if run.memberships is not None:
            counts = [run.memberships.shape[1]]
        if self.n_components is not None:
            counts = np.unique(self.n_components).tolist()
        if run.memberships is not None and counts != [run.memberships.shape[1]]:
            raise ArgumentError(
                "argument weak_responsibilities",
                f"{run.memberships.shape[1]} columns, for n_components={self.n_components}",
                expected="a column for each component of the only number",
                remedy=f"set n_components={run.memberships.shape[1]}",
            )
        keys["grid"]["n_components"] = tuple(counts)
        if self.weak_weights is not None and run.memberships is not None:
            keys["grid"]["weak_weight"] = tuple(map(float, self.weak_weights))
        if self.preimage == "closed_form":
            keys["grid"].pop("projection", None)
        keys |= {"combine": self.combine, "penalty": self.penalty, "preimage": self.preimage}
        of_mixture = self.covariance_type, self.variance_floor, self.n_init
        model = ModelSettings("gaussian_mixture", *of_mixture, tuple(counts), OUTPUT_SCALE)
        return run.fitted(name, keys, model, unpaired=run.unpaired)
