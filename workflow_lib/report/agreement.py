"""How far a number of a run is from the published one, in units of the spread.

Differences are this run minus published, in the unit of the published number, and in spreads

    (ours - published) / sqrt(s_ours^2 + s_published^2)

with the standard deviations over splits of both; where only one of them is known, the difference is
divided by that one. What the paper prints after its numbers is a standard deviation too: "average
performance with the empirical standard deviation" over ten splits (Djerrab et al. 2018, section
6.1). So a spread is the scatter of single splits, not the uncertainty of a mean, which is smaller
by the root of the number of splits; and agreement is not a statistical test.
"""

import itertools
import math
from collections.abc import Iterable, Sequence

import pandas as pd

from workflow_lib.protocol.statistics import EQUALITY_TOLERANCE
from workflow_lib.report.labels import MISSING, count_of, format_signed

COLUMNS = ["label", "column", "quantity", "value", "deviation"]
COLUMNS += ["published_value", "published_spread"]
"""What is known of a number of this run and a published one: what was measured, as ``OFER-GMM, n =
50``, and on what (numbers of one column can be put in order); the key of
`workflow_lib.report.quantities.QUANTITIES` or `workflow_lib.report.tables.TIMES`; mean and standard
deviation over the splits of this run, in the unit of the published number; and the published ones.
A deviation or spread that is not known is NaN."""

SPREAD_NOTE = (
    "A spread is the root of the sum of the two squared standard deviations, or the one that is "
    "known where the other is not."
)


def comparisons(rows: Iterable[Sequence]) -> pd.DataFrame:
    """Return rows with the columns `COLUMNS`, and their ``difference`` and ``in_spreads``."""
    rows = [(*row, *published_difference(*row[3:])) for row in rows]
    return pd.DataFrame(rows, columns=[*COLUMNS, "difference", "in_spreads"])


def published_difference(
    value: float, deviation: float, published_value: float, published_spread: float
) -> tuple[float, float]:
    """Return the difference from a published number, and the same in spreads.

    The parameters are those of `COLUMNS`, the equation is at the head of this module. The second
    number is NaN where neither deviation is known, or where those that are known are zero.
    """
    difference = value - published_value
    spread = math.hypot(*(s for s in (deviation, published_spread) if not math.isnan(s)))
    return difference, difference / spread if spread > 0 else math.nan


def count_within(in_spreads: pd.Series, n_spreads: float) -> int:
    """Return how many differences are at most so many spreads; those without a spread are not."""
    return int((in_spreads.abs() <= n_spreads).sum())


def largest_of(found: pd.DataFrame) -> pd.Series:
    """Return the row that is most spreads away, the first of equals.

    Where no spread is known it is that with the largest difference.
    """
    known = found["in_spreads"].notna().any()
    return found.loc[found["in_spreads" if known else "difference"].abs().idxmax()]


def same_order(found: pd.DataFrame) -> tuple[int, int]:
    """Return how many pairs are in the same order in this run as in the paper, and of how many.

    A pair is two numbers of one quantity and column that differ in the paper. The count shows
    whether the findings of the paper hold where its numbers do not. Numbers of this run that are
    equal up to rounding have no order.
    """
    pairs = [
        (first, second)
        for _, group in found.groupby(["quantity", "column"])
        for first, second in itertools.combinations(group.itertuples(), 2)
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
    return MISSING if math.isnan(in_spreads) else format_signed(in_spreads)


def agreement_note(in_spreads: pd.Series) -> str:
    """Return the sentences under a table that count its agreements, and say what a spread is."""
    within_one, compared = count_within(in_spreads, 1), count_of(len(in_spreads), "difference")
    return (
        f"Of the {compared} from the published numbers (this run minus published) {within_one} "
        f"{'is' if within_one == 1 else 'are'} within one spread, {count_within(in_spreads, 2)} "
        f"within two. {SPREAD_NOTE}"
    )
