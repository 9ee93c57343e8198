"""Euclidean projection on the probability simplex."""

from __future__ import annotations

import numpy as np


def project_on_simplex(weights: np.ndarray) -> np.ndarray:
    """Return the nearest probability vectors to the last axis of `weights`, (..., C).

    Sorting algorithm of Duchi, Shalev-Shwartz, Singer and Chandra (ICML 2008, figure 1), for all
    vectors at once. Clipping and renormalising instead would move a vector further than needed
    and measurably worsens the pre-image.
    """
    n_components = weights.shape[-1]
    # A common shift changes nothing, and keeps the 1 below from drowning in large numbers.
    weights = weights - weights.max(axis=-1, keepdims=True)
    descending = -np.sort(-weights, axis=-1)
    excess = np.cumsum(descending, axis=-1) - 1.0
    rank = np.arange(1, n_components + 1)
    support = np.sum(descending - excess / rank > 0, axis=-1, keepdims=True)
    threshold = np.take_along_axis(excess, support - 1, axis=-1) / support
    return np.maximum(weights - threshold, 0.0)
