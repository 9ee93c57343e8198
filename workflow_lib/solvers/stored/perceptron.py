"""Perceptrons as plain arrays: kept without pickle, and used without scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np


def perceptron_tree(perceptron, n_classes: int) -> dict[str, np.ndarray]:
    """Return a fitted perceptron of scikit-learn as a tree of arrays.

    Parameters
    ----------
    perceptron : MLPClassifier
        With one hidden layer of rectified units, fitted to classes that are numbers from 0.
    n_classes : int
        K, including classes without a training row.

    Returns
    -------
    dict
        ``known`` (K,), which classes have a training row; ``hidden_weights`` (q, u) and
        ``hidden_intercept`` (u,); ``output_weights`` (u, k) and ``output_intercept`` (k,), where k
        is the number of known classes, and 1 for two of them: the log odds of the second.
    """
    (hidden, output), intercepts = perceptron.coefs_, perceptron.intercepts_
    return {
        "known": np.isin(np.arange(n_classes), perceptron.classes_),
        "hidden_weights": hidden,
        "hidden_intercept": intercepts[0],
        "output_weights": output,
        "output_intercept": intercepts[1],
    }


def perceptron_probabilities(tree: Mapping[str, np.ndarray], X: np.ndarray) -> np.ndarray:
    """Return the class probabilities (m, K) of rows `X` (m, q), zero for classes without a row.

    The steps are those of scikit-learn, so that the numbers are the same to the last bit.

    Parameters
    ----------
    tree : mapping
        As from `perceptron_tree`.
    X : array (m, q)
        Prepared inputs, none of them missing.
    """
    known = tree["known"]
    probabilities = np.zeros((len(X), len(known)))
    if known.sum() == 1:
        probabilities[:, known] = 1.0
        return probabilities
    hidden = np.maximum(X @ tree["hidden_weights"] + tree["hidden_intercept"], 0.0)
    decisions = hidden @ tree["output_weights"] + tree["output_intercept"]
    if known.sum() == 2:
        from scipy.special import expit

        second = expit(decisions[:, 0])
        probabilities[:, known] = np.column_stack([1 - second, second])
        return probabilities
    shares = np.exp(decisions - decisions.max(axis=1, keepdims=True))
    probabilities[:, known] = shares / shares.sum(axis=1, keepdims=True)
    return probabilities
