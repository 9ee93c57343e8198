"""Euclidean projection on the probability simplex."""

import numpy as np


def project_on_simplex(weights: np.ndarray) -> np.ndarray:
    """Return the nearest probability vectors to the last axis of `weights`, (..., C).

    The nearest vector is max(w - t, 0) with the threshold t that makes its sum one (Duchi,
    Shalev-Shwartz, Singer & Chandra, ICML 2008). Over any set S of coordinates the sum of w - t is
    at most one, so t >= (sum_S w - 1) / |S|, with equality for the support; the support holds the
    largest coordinates, so t is the largest of these bounds over the k largest, k = 1..C. Clipping
    and renormalising instead would move a vector further than needed and measurably worsens the
    pre-image.
    """
    n_components = weights.shape[-1]
    # A common shift changes nothing, and keeps the 1 below from drowning in large numbers.
    weights = weights - weights.max(axis=-1, keepdims=True)
    descending = np.sort(weights, axis=-1)[..., ::-1]
    bounds = (np.cumsum(descending, axis=-1) - 1.0) / np.arange(1, n_components + 1)
    return np.maximum(weights - bounds.max(axis=-1, keepdims=True), 0.0)
