"""Any scikit-learn estimator as the regression of several outputs, or as a classifier."""

import inspect

import numpy as np

TAKE_WEIGHTS = "Ridge, KernelRidge, ExtraTreesRegressor or HistGradientBoostingRegressor"
"""Regressors of scikit-learn whose `fit` takes weights of rows, as messages name them."""


def takes_weights(estimator) -> bool:
    """Return whether the `fit` of an estimator, or of its class, takes ``sample_weight``."""
    return "sample_weight" in inspect.signature(estimator.fit).parameters


def predicts_several_outputs(estimator) -> bool:
    """Return whether an estimator says that it fits several outputs at once."""
    from sklearn.utils import get_tags

    try:
        return bool(get_tags(estimator).target_tags.multi_output)
    except (AttributeError, TypeError, ValueError):
        return False


def fit_outputs(
    estimator,
    X: np.ndarray,
    Y: np.ndarray,
    weights: np.ndarray | None = None,
    output_scale: str = "none",
):
    """Return a fitted clone of a regressor; one of single outputs is fitted once per output.

    Parameters
    ----------
    estimator : scikit-learn regressor
    X : array (n, q)
    Y : array (n, d)
    weights : array (n,) or None, default=None
        Weights of the rows, for a regressor whose `fit` takes ``sample_weight``.
    output_scale : {"none", "center", "standard"}, default="none"
        With ``standard`` the regressor is fitted to outputs of mean 0 and variance 1, so that none
        decides by its unit, and a penalty means the same for each; its predictions have the units
        of `Y`.
    """
    from sklearn.base import clone
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.multioutput import MultiOutputRegressor
    from sklearn.preprocessing import StandardScaler

    given = {} if weights is None else {"sample_weight": weights}
    regressor = clone(estimator)
    if Y.shape[1] > 1 and not predicts_several_outputs(estimator):
        regressor = MultiOutputRegressor(regressor)
    if output_scale == "standard":
        regressor = TransformedTargetRegressor(
            regressor, transformer=StandardScaler(), check_inverse=False
        )
    return regressor.fit(X, Y if Y.shape[1] > 1 else Y[:, 0], **given)


def fit_embeddings(
    estimator,
    X: np.ndarray,
    H: np.ndarray,
    X_weak: np.ndarray,
    weak_targets: np.ndarray,
    weak_weight: float,
    rest=None,
) -> dict:
    """Return a clone of a regressor for the block `pi`, which weak rows join, and for the rest.

    With squared errors, the first minimises the last two terms of eq. (14) times 2 l, with
    lambda_2 = `weak_weight` / (2 l) and l labelled rows.

    Returns a dict: ``pi`` and ``rest``: regressors of `fit_outputs`.

    Parameters
    ----------
    estimator : scikit-learn regressor
        Its `fit` takes ``sample_weight``.
    X : array (l, q)
        Inputs of the labelled rows.
    H : array (l, m)
        Their embeddings; the block `pi` comes first.
    X_weak : array (w, q)
    weak_targets : array (w, C)
        Memberships of the weak rows divided by the weights of the components.
    weak_weight : float
        Weight of a weak row; that of a labelled one is 1.
    rest : fitted regressor, optional
        That of the rest, which no weak row changes, of a call with another `weak_weight`.
    """
    n_components = weak_targets.shape[1]
    joined = np.vstack([H[:, :n_components], weak_targets])
    weights = np.repeat([1.0, weak_weight], [len(X), len(X_weak)])
    return {
        "pi": fit_outputs(estimator, np.vstack([X, X_weak]), joined, weights),
        "rest": fit_outputs(estimator, X, H[:, n_components:]) if rest is None else rest,
    }


def predict_outputs(fitted, X: np.ndarray) -> np.ndarray:
    """Return the outputs (n, d) that a regressor predicts, or those of `fit_embeddings`."""
    if isinstance(fitted, dict):
        return np.hstack([predict_outputs(part, X) for part in fitted.values()])
    return np.asarray(fitted.predict(X), dtype=np.float64).reshape(len(X), -1)


def n_used_inputs(fitted) -> int | None:
    """Return how many inputs have a coefficient other than zero; None of what is not linear.

    Parameters
    ----------
    fitted : regressor of `fit_outputs`
    """
    fitted = getattr(fitted, "regressor_", fitted)
    parts = getattr(fitted, "estimators_", [fitted])
    coefficients = [getattr(part, "coef_", None) for part in parts]
    if any(not isinstance(each, np.ndarray) for each in coefficients):
        return None
    return int((np.vstack(coefficients) != 0.0).any(axis=0).sum())


def class_scores(fitted, X: np.ndarray, n_classes: int) -> np.ndarray:
    """Return scores (n, K) of the classes by a fitted classifier, higher is better.

    Probabilities where the classifier has them, else decision values, else the indicators of the
    predicted classes. A class without a training row scores zero, or less than all others.

    Parameters
    ----------
    fitted : scikit-learn classifier
        Fitted to numbers of classes below `n_classes`.
    X : array (n, q)
    n_classes : int
    """
    known = np.asarray(fitted.classes_, dtype=np.intp)
    if hasattr(fitted, "predict_proba"):
        scores = np.zeros((len(X), n_classes))
        scores[:, known] = fitted.predict_proba(X)
        return scores
    if hasattr(fitted, "decision_function"):
        values = np.asarray(fitted.decision_function(X), dtype=np.float64)
        if values.ndim == 1:
            values = np.column_stack([-values, values])
        lowest = np.minimum(values.min(axis=1, keepdims=True), -1.0)
        scores = np.repeat(lowest, n_classes, axis=1)
        scores[:, known] = values
        return scores
    return np.eye(n_classes)[np.asarray(fitted.predict(X), dtype=np.intp).ravel()]
