"""Thirty rows in four folds, and predictions of rows without their fold, by plain loops."""

import numpy as np

from workflow_lib import KernelRidgeRegressor
from workflow_lib.fitting.prepared_inputs import rbf_gamma
from workflow_lib.inputs.preparation import fit_preparation
from workflow_lib.solvers.gram import gram_matrix
from workflow_lib.solvers.heldout import SeparateGrams, SharedGram
from workflow_lib.solvers.ridge import fit_dual_coefficients, labelled_ridge

ALPHAS = [1e-4, 1e-2, 0.3, np.inf]
N_ROWS, N_FOLDS = 30, 4
FOLDS = np.random.default_rng(0).permutation(np.arange(N_ROWS) % N_FOLDS)


def shared_solver(X, center=True):
    return SharedGram(gram_matrix(X, gamma=0.2), FOLDS, center)


def separate_solver(X, center=True):
    parts = [(X[FOLDS != fold], X[FOLDS == fold]) for fold in range(N_FOLDS)]
    grams = [
        (gram_matrix(kept, gamma=0.2), gram_matrix(heldout, kept, gamma=0.2))
        for kept, heldout in parts
    ]
    return SeparateGrams(grams, FOLDS, center)


def ridge_predictions(X, T, X_new, alpha, center=True):
    """Return the predictions of kernel ridge regression for new inputs."""
    K, ridge = gram_matrix(X, gamma=0.2), labelled_ridge(len(X), alpha)
    dual, intercept = fit_dual_coefficients(K, T, ridge, center)
    return gram_matrix(X_new, X, gamma=0.2) @ dual + intercept


def refit(X, T, X_new, width, alpha, scale="none", center=True):
    """Return predictions of kernel ridge regression, with inputs that its own rows prepare."""
    preparation = fit_preparation(X, scale)
    model = KernelRidgeRegressor(gamma=rbf_gamma(width, X.shape[1]), alpha=alpha, center=center)
    return model.fit(preparation.apply(X), T).predict(preparation.apply(X_new))


def heldout(predict, X, Y, folds, *more, **settings):
    """Return out-of-fold predictions of a function of training inputs and outputs, and others."""
    predicted = None
    for fold in range(folds.max() + 1):
        kept, rows = folds != fold, folds == fold
        found = predict(X[kept], Y[kept], X[rows], *more, **settings)
        if predicted is None:
            predicted = np.empty((len(X), *found.shape[1:]))
        predicted[rows] = found
    return predicted


def component_predictions(X, Y, X_new, alphas, center=True):
    """Return predicted outputs by fits of principal components of `Y`, each with its penalty."""
    mean = Y.mean(axis=0)
    variances, directions = np.linalg.eigh((Y - mean).T @ (Y - mean))
    kept = np.argsort(-variances)[: min(Y.shape[1], len(Y) - 1)]
    predicted = np.tile(mean, (len(X_new), 1))
    for direction, alpha in zip(directions[:, kept].T, alphas, strict=False):
        scores = ((Y - mean) @ direction)[:, None]
        predicted += ridge_predictions(X, scores, X_new, alpha, center) * direction
    return predicted


def heldout_component_predictions(X, Y, alphas, center=True):
    return heldout(component_predictions, X, Y, FOLDS, alphas, center)


def score_of(Y, predicted, folds, metric):
    """Return the relative error of the observed outputs."""
    means = np.empty_like(Y)
    for fold in range(folds.max() + 1):
        means[folds == fold] = np.nanmean(Y[folds != fold], axis=0)
    errors = np.nansum((Y - predicted) ** 2, axis=0)
    reference = np.nansum((Y - means) ** 2, axis=0)
    if metric == "rrmse":
        return np.sqrt(errors.sum() / reference.sum())
    return np.sqrt(errors / reference).mean()
