"""The interval of an accuracy that the number of test rows allows."""

from __future__ import annotations


def accuracy_interval(
    accuracy: float, n_test: float, confidence: float = 0.95
) -> tuple[float, float]:
    """Return the exact binomial interval of an accuracy (Clopper and Pearson 1934).

    Of n independent test rows, k = n `accuracy` are right, under the binomial law of the true
    accuracy. The interval holds those true accuracies under which neither as many right rows as k
    nor as few have a probability below (1 - `confidence`) / 2; it then holds the true one with at
    least `confidence`. Its limits are the quantiles of the beta distributions (k, n - k + 1) and
    (k + 1, n - k), also for a k that is no whole number, of a mean accuracy.

    Raises ValueError for an accuracy or a confidence outside 0 to 1, or fewer than one test row.

    Parameters
    ----------
    accuracy : float
        Share of right rows.
    n_test : float
        Test rows n.
    confidence : float, default=0.95

    Examples
    --------
    >>> [round(limit, 3) for limit in accuracy_interval(0.9, 100)]
    [0.824, 0.951]
    """
    from scipy.stats import beta

    if not (0.0 <= accuracy <= 1.0 and 0.0 < confidence < 1.0 and n_test >= 1):
        raise ValueError(
            f"accuracy={accuracy}, n_test={n_test}, confidence={confidence}; expected shares "
            "between 0 and 1, and at least one row."
        )
    right, tail = accuracy * n_test, 0.5 * (1.0 - confidence)
    low = beta.ppf(tail, right, n_test - right + 1.0) if right > 0 else 0.0
    high = beta.ppf(1.0 - tail, right + 1.0, n_test - right) if right < n_test else 1.0
    return float(low), float(high)
