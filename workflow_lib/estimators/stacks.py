"""The stacks that the workflow recommends, as scikit-learn estimators."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from workflow_lib.core.parameters import check_each, checks
from workflow_lib.estimators.array_run import ArrayRun, FittedMethod
from workflow_lib.estimators.method_estimator import (
    OF_ALL,
    OF_REGRESSORS,
    MethodClassifier,
    MethodRegressor,
)
from workflow_lib.items.group_names import chosen_entries


def _check_member(name: str, member: Any) -> None:
    """Raise ValueError unless `member` is a text; whether there is such a method is seen later."""
    if not isinstance(member, str):
        raise ValueError(f"{name} must be names of methods, or None; found {member!r}.")


OF_STACKS = checks(jobs_or_none="n_jobs") | {"members": partial(check_each, _check_member)}


class OfMembers:
    """What both stacks do: members are fitted, then their combination."""

    stack: ClassVar[str]
    """The method of the workflow."""

    def _fitted(self, run: ArrayRun) -> FittedMethod:
        stack, members = run.fitted_stack(self.stack, self.members, self.n_jobs)
        self._members = members
        self.members_ = list(members)
        self.weights_ = stack.entries["member_weights"]
        self.best_params_ = {
            name: [chosen_entries(choice) for choice in member.choices]
            for name, member in members.items()
        }
        return stack


class StackRegressor(OfMembers, TransformerMixin, MethodRegressor):
    """The stack of methods that the workflow recommends: a convex combination for each output.

    Members predict every row by a fit without its fold; the weights w >= 0 with sum 1 minimise the
    squared error of sum_k w_k h_k over these predictions, in standard deviations of each output
    (stacked regression: Wolpert 1992, Breiman 1996), averaged over bootstrap samples of the rows
    and between weights that all outputs share and those of each output alone. It is the method
    ``ofer-stack``, run by the same code. It takes no ``sample_weight``, because most members are
    fitted without weights of rows.

    Parameters
    ----------
    members : sequence of str or None, default=None
        Names of methods, as in the catalogue of the documentation. None for those of the workflow:
        kernel ridge regression, the same bagged, OFER, linear ridge regression, a random forest,
        extremely randomised trees, with 100 to 1,500 rows a density of the outputs, and with
        `Y_unpaired` the two methods that learn from outputs alone.
    scale, metric, cv, random_state
        As of `KernelRidgeRegressorCV`.
    n_jobs : int or None, default=None
        Members that are fitted at the same time; None for 1, -1 for as many as there are
        processors. The predictions do not depend on it, but for rounding.

    Attributes
    ----------
    members_ : list of str
        Those that were fitted.
    weights_ : array (k, d)
        Their weights, for each output.
    best_params_ : dict
        What was chosen for each member, once or for each number of components that it averages.
    cv_error_ : float
        Relative error of the stack of held-out rows; a little too good, as the weights are fitted
        to the same rows.
    heldout_predictions_ : array (n,) or (n, d)
        The stack of the predictions of each row by fits without its fold.

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from workflow_lib import StackRegressor
    >>> X, Y = load_linnerud(return_X_y=True)
    >>> model = StackRegressor(members=["m-krr", "ridge"]).fit(X, Y)
    >>> model.members_, model.weights_.shape
    (['m-krr', 'ridge'], (2, 3))
    """

    stack = "ofer-stack"
    allowed: ClassVar = OF_REGRESSORS | OF_STACKS

    def __init__(
        self, members=None, scale="standard", metric="arrmse", cv=5, n_jobs=None, random_state=1
    ):
        self.members = members
        self.scale = scale
        self.metric = metric
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X, y, Y_unpaired=None, groups=None):
        """Fit the members and their weights.

        Parameters
        ----------
        X, y, groups
            As of `KernelRidgeRegressorCV.fit`.
        Y_unpaired : array (m,) or (m, d), or None
            Outputs without inputs, for the members that learn from them.

        Raises
        ------
        ValueError
            As `KernelRidgeRegressorCV.fit`; and for members that do not exist, or cannot learn
            from these rows.
        """
        self._fit_outputs(X, y, groups, Y_unpaired=Y_unpaired)
        return self

    def transform(self, X) -> np.ndarray:
        """Return what each of `members_` predicts, side by side (m, k d), for inputs `X` (m, q)."""
        check_is_fitted(self)
        return np.hstack([self._predicted(X, member) for member in self._members.values()])

    def get_feature_names_out(self, input_features=None) -> np.ndarray:
        """Return the names of the columns of `transform`: member and number of the output."""
        check_is_fitted(self)
        outputs = range(self.weights_.shape[1])
        names = [f"{member}_{output}" for member in self.members_ for output in outputs]
        return np.array(names, dtype=object)


class StackClassifier(OfMembers, MethodClassifier):
    """The stack of methods for classes: one pool of calibrated probabilities.

    The scores that each row gets from every member by a fit without its fold are calibrated by a
    temperature; the weights w >= 0 with sum 1 of the pool sum_k w_k p_k have the least log loss of
    these rows. It is the method ``class-stack`` of the workflow, run by the same code; with few
    rows `KernelRidgeClassifierCV` is faster by far, and takes ``sample_weight``; the stack takes
    none, because most members are fitted without weights of rows.

    Parameters
    ----------
    members : sequence of str or None, default=None
        Names of methods, as in the catalogue of the documentation. None for those of the workflow:
        kernel ridge regression, support vector machines, logistic regression, two kinds of forests
        and gradient boosting.
    scale, cv, n_jobs, random_state
        As of `StackRegressor`.

    Attributes
    ----------
    classes_ : array (K,)
    members_, best_params_
        As of `StackRegressor`.
    weights_ : array (k,)
        The weights of the members.
    cv_error_ : float
        Squared error of the pooled probabilities of held-out rows; a little too good, as the
        weights are fitted to the same rows.
    heldout_predictions_ : array (n, K)
        Logarithms of these probabilities.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from workflow_lib import StackClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = StackClassifier(members=["class-krr", "logistic-regression"]).fit(X[::3], y[::3])
    >>> model.predict_proba(X[:2]).shape
    (2, 3)
    """

    stack = "class-stack"
    allowed: ClassVar = OF_ALL | OF_STACKS

    def __init__(self, members=None, scale="standard", cv=5, n_jobs=None, random_state=1):
        self.members = members
        self.scale = scale
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state

    def predict_proba(self, X) -> np.ndarray:
        """Return the probabilities (m, K) of the classes for inputs `X` (m, q)."""
        probabilities = np.exp(self._predicted(X))
        return probabilities / probabilities.sum(axis=1, keepdims=True)
