"""The ranges of the outputs of a table, as far as its rows show them.

A wrong bound excludes true outputs, while a missing bound only makes intervals slightly too wide.
A bound therefore needs many rows: where none of n rows is beyond it, fewer than 3 / n of all rows
are, with a confidence of 95 % (Hanley and Lippman-Hand, JAMA 249, 1983).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from workflow_lib.tabular.user_table import Table

MIN_ROWS = 30
"""Smallest number of known values for a bound."""

MIN_WHOLE = 10
"""Smallest number of known values, all whole, from which on this is not considered chance."""

MIN_VALUES_AT_BOUND = 2
"""Smallest number of values equal to an upper bound: in a column that was scaled to [0, 1] a single
value is, and new values can be above it."""

SHARE_AT_BOUND = 0.1
"""The same for whole numbers, as a share of the values: few ones among zeros may be counts, of
which a two has not yet occurred."""

UPPER_BOUNDS = (1.0, 100.0)
"""For shares, and for percentages."""

_SHARE = re.compile(
    r"%|(?:^|[^a-z])(?:percent(?:age)?|pct|share|fraction|proportion|probability|prob)(?:[^a-z]|$)"
)


def proposed_ranges(table: Table, outputs: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the range of each output that has one: ``least``, ``largest``, ``whole``.

    - ``least`` 0: no value is negative, and the least value is no farther from 0 than from the
      largest value: otherwise no interval would reach 0.
    - ``largest`` 1 or 100: all values are between 0 and this bound, and some are equal to it, or
      the name of the column says that it is a share and the largest value is above half of the
      bound. If both are possible, the smaller.
    - ``whole``: all values are whole numbers.
    """
    found = {name: _range(name, table.numbers(name)) for name in outputs}
    return {name: limits for name, limits in found.items() if limits}


def _range(name: str, values: np.ndarray) -> dict[str, Any]:
    values = values[~np.isnan(values)]
    limits: dict[str, Any] = {}
    is_whole = len(values) >= MIN_WHOLE and bool((values == np.rint(values)).all())
    if len(values) >= MIN_ROWS and values.min() >= 0 and values.min() <= np.ptp(values):
        limits["least"] = 0
        fewest = max(MIN_VALUES_AT_BOUND, SHARE_AT_BOUND * len(values) if is_whole else 0)
        is_share = _SHARE.search(name.lower()) is not None
        for bound in UPPER_BOUNDS:
            at_bound = np.count_nonzero(values == bound)
            is_near = is_share and values.max() > bound / 2
            if values.max() <= bound and (at_bound >= fewest or is_near):
                limits["largest"] = int(bound)
                break
    if is_whole:
        limits["whole"] = True
    return limits


def in_words(limits: Mapping[str, Any], n_known: int) -> str:
    """Return why an output has a range, as a sentence without its full stop."""
    parts = []
    if "largest" in limits:
        parts.append(f"none of {n_known} values is outside of 0 to {limits['largest']}")
    elif "least" in limits:
        parts.append(f"none of {n_known} values is negative")
    if limits.get("whole"):
        parts.append("all are whole numbers" if parts else f"all {n_known} are whole numbers")
    return ", ".join(parts)
