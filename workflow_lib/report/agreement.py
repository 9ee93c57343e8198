"""How far a number of a run is from the published one, in units of the spread.

Differences are this run minus published, in the unit of the published number, and in spreads

    (ours - published) / sqrt(s_ours^2 + s_published^2)

with the standard deviations over splits of both; where only one of them is known, the difference is
divided by that one. What the paper prints after its numbers is a standard deviation too: "average
performance with the empirical standard deviation" over ten splits (Djerrab et al. 2018, section
6.1). So a spread is the scatter of single splits, not the uncertainty of a mean, which is smaller
by the root of the number of splits; and agreement is not a statistical test.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from workflow_lib.experiments.statistics import EQUALITY_TOLERANCE
from workflow_lib.report.labels import MINUS, MISSING, count_of

WITHIN_ONE = "within one spread"
WITHIN_TWO = "within two spreads"
BEYOND_TWO = "beyond two spreads"
NO_SPREAD = "no spread known"

SPREAD_NOTE = (
    "A spread is the root of the sum of the two squared standard deviations, or the one that is "
    "known where the other is not."
)


class Comparison(NamedTuple):
    """A number of this run and the published number.

    Attributes
    ----------
    label : str
        What was measured, as ``OFER-GMM, n = 50``.
    column : str
        What it was measured on; numbers of one column can be put in order.
    quantity : str
        A key of `workflow_lib.report.quantities.QUANTITIES` or of
        `workflow_lib.report.tables.TIMES`.
    value, deviation : float
        Mean and standard deviation over the splits of this run, in the unit of the published
        number; the deviation is NaN for one split.
    published_value, published_spread : float
        The published mean and standard deviation; the latter is NaN where none is printed.
    """

    label: str
    column: str
    quantity: str
    value: float
    deviation: float
    published_value: float
    published_spread: float

    @property
    def difference(self) -> float:
        """This run minus published, in the unit of the published number."""
        return self._both()[0]

    @property
    def in_spreads(self) -> float:
        """The difference in spreads, NaN where none is known."""
        return self._both()[1]

    @property
    def agreement(self) -> str:
        """The class of the difference, as `agreement` gives it."""
        return agreement(self.in_spreads)

    def _both(self) -> tuple[float, float]:
        return published_difference(
            self.value, self.deviation, self.published_value, self.published_spread
        )


class Tally(NamedTuple):
    """How many comparisons there are, how many lie within one and within two spreads.

    The second count includes the first. ``largest`` is the comparison that is most spreads away
    (the first of equals), or that with the largest difference where no spread is known; None
    without any comparison.
    """

    n_compared: int
    within_one: int
    within_two: int
    largest: Comparison | None


def published_difference(
    value: float, deviation: float, published_value: float, published_spread: float
) -> tuple[float, float]:
    """Return the difference from a published number, and the same in spreads.

    The parameters are those of `Comparison`, the equation is at the head of this module. The
    second number is NaN where neither deviation is known, or where those that are known are zero.
    """
    difference = value - published_value
    spread = math.hypot(*(s for s in (deviation, published_spread) if not math.isnan(s)))
    return difference, difference / spread if spread > 0 else math.nan


def agreement(in_spreads: float) -> str:
    """Return the class of a difference in spreads, bounds included.

    One of `WITHIN_ONE`, `WITHIN_TWO`, `BEYOND_TWO`, and `NO_SPREAD` for NaN.
    """
    if math.isnan(in_spreads):
        return NO_SPREAD
    if abs(in_spreads) <= 1:
        return WITHIN_ONE
    return WITHIN_TWO if abs(in_spreads) <= 2 else BEYOND_TWO


def tally(comparisons: Sequence[Comparison]) -> Tally:
    """Return how many comparisons lie within one and two spreads, and which is the farthest."""
    classes = [comparison.agreement for comparison in comparisons]
    known = [c for c in comparisons if not math.isnan(c.in_spreads)]
    if known:
        largest = max(known, key=lambda c: abs(c.in_spreads))
    else:
        largest = max(comparisons, key=lambda c: abs(c.difference), default=None)
    within_one = classes.count(WITHIN_ONE)
    return Tally(len(classes), within_one, within_one + classes.count(WITHIN_TWO), largest)


def same_order(comparisons: Sequence[Comparison]) -> tuple[int, int]:
    """Return how many pairs are in the same order in this run as in the paper, and of how many.

    A pair is two numbers of one quantity and column that differ in the paper. The count shows
    whether the findings of the paper hold where its numbers do not. Numbers of this run that are
    equal up to rounding have no order.
    """
    groups: dict[tuple[str, str], list[Comparison]] = {}
    for comparison in comparisons:
        groups.setdefault((comparison.quantity, comparison.column), []).append(comparison)
    pairs = [
        (first, second)
        for group in groups.values()
        for first, second in itertools.combinations(group, 2)
        if first.published_value != second.published_value
    ]
    same = [
        (first.value > second.value) == (first.published_value > second.published_value)
        for first, second in pairs
        if not math.isclose(first.value, second.value, rel_tol=EQUALITY_TOLERANCE)
    ]
    return sum(same), len(pairs)


def format_spreads(in_spreads: float) -> str:
    """Return a difference in spreads with its sign, as ``+1.3`` or ``−17``; a dash for NaN."""
    if math.isnan(in_spreads):
        return MISSING
    text = f"{in_spreads:+.1f}" if abs(in_spreads) < 9.95 else f"{in_spreads:+.0f}"
    # What rounds to zero has no sign.
    return "0.0" if text in ("+0.0", "-0.0") else text.replace("-", MINUS)


def agreement_note(differences_in_spreads: Iterable[float]) -> str:
    """Return the sentences under a table that count its agreements, and say what a spread is."""
    classes = [agreement(in_spreads) for in_spreads in differences_in_spreads]
    within_one = classes.count(WITHIN_ONE)
    within_two = within_one + classes.count(WITHIN_TWO)
    compared = count_of(len(classes), "difference")
    return (
        f"Of the {compared} from the published numbers (this run minus published) {within_one} "
        f"{'is' if within_one == 1 else 'are'} within one spread, {within_two} within two. "
        f"{SPREAD_NOTE}"
    )
