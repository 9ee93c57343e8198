"""Iterative fits that stop at a limit before they reach their tolerance."""

from __future__ import annotations

import warnings

GAP_AT_LIMIT = "gap_at_limit"
"""The entry of an item whose fit stopped at its limit: its duality gap."""


def gap_at_limit(gap: float, tolerance: float) -> dict[str, float]:
    """Return the entry `GAP_AT_LIMIT` of a fit, none where its gap is within the tolerance."""
    return {GAP_AT_LIMIT: gap} if gap > tolerance else {}


def warn_at_limit(what: str, gap: float, tolerance: float, limit: str) -> None:
    """Warn, as scikit-learn does, of a fit with a duality gap above its tolerance.

    scikit-learn is imported only then: it takes seconds.
    """
    from sklearn.exceptions import ConvergenceWarning

    warnings.warn(
        f"{what}: the duality gap is {gap:.2g} after {limit}, above {tolerance:.2g}, so that the "
        "solution may be far from the best. Scale the inputs, or lower the cost (raise the "
        "penalty).",
        ConvergenceWarning,
        stacklevel=4,
    )
