"""The exponential of log probabilities relative to the largest one, without slow numbers."""

import numpy as np

MIN_LOG = -600.0
"""Of less, the exponential is 0: it is below 1e-260, beside a largest value of 1."""


def exp_in_place(logs: np.ndarray) -> np.ndarray:
    """Return exp(logs), which replaces `logs`; exactly 0 for logs below `MIN_LOG`.

    numpy takes twenty times as long where results underflow, and products with numbers below 1e-308
    (subnormal ones) take twice as long.

    Parameters
    ----------
    logs : float64 array
        Relative to the largest of those that are compared, so at most 0.
    """
    is_kept = logs >= MIN_LOG
    if is_kept.all():
        return np.exp(logs, out=logs)
    np.maximum(logs, MIN_LOG, out=logs)
    np.exp(logs, out=logs)
    return np.multiply(logs, is_kept, out=logs)
