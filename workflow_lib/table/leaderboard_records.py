"""The records of a leaderboard: its rows, and how they compare with each other.

All numbers are errors, of which lower is better; an accuracy counts as its error rate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from workflow_lib.protocol.statistics import mean_and_deviation
from workflow_lib.report.gain_from_additional_rows import RowsUsed
from workflow_lib.report.quantities import QUANTITIES
from workflow_lib.report.tables import Difference
from workflow_lib.report.variants import Variant
from workflow_lib.table.error_parts import ErrorParts

CLAIM_LEVEL = 0.9
"""Share of the tables on which the error on new rows lies within the range that is stated."""


@dataclass(frozen=True)
class Row:
    """One method of a leaderboard.

    ``is_complete`` says whether it has every split that any row has, ``is_ceiling`` whether it
    learns from outputs that are not known in use, and ``is_bold`` whether it is better than every
    other row by the paper's rule. ``why_not_saved`` is the reason why it cannot be saved to predict
    new rows, empty for most. ``plain_name`` says what the label means. ``versus_best`` is None for
    the winner, and ``versus_mean`` for the training mean itself and where there is none.
    ``seconds`` are means over splits: ``training`` is the whole selection with one fit at the
    chosen settings, of a stack with those of its members, and ``prediction`` that of all test
    rows, pre-images included.
    """

    variant: Variant
    label: str
    mean: float
    deviation: float
    n_splits: int
    is_complete: bool
    is_ceiling: bool
    is_bold: bool
    seconds: dict[str, float] | None
    versus_mean: Difference | None
    why_not_saved: str
    versus_best: Difference | None = None
    plain_name: str | None = None

    @property
    def can_win(self) -> bool:
        """Whether it may be the winner, which is saved and used to predict."""
        return self.is_complete and not self.is_ceiling and not self.why_not_saved

    @property
    def total_seconds(self) -> float:
        """Seconds of training and prediction, NaN where they were not measured."""
        return sum(self.seconds.values()) if self.seconds else math.nan


@dataclass(frozen=True)
class Baseline:
    """What a method must beat; ``variant`` is its row, None where it was not run but is known."""

    label: str
    variant: Variant | None
    error: float


@dataclass(frozen=True)
class Learning:
    """The error of a row at the largest training size minus that at the one before."""

    row: Row
    from_size: int
    difference: Difference


@dataclass(frozen=True)
class Choice:
    """The optimism from choosing the winner by its own test errors.

    ``winner_error`` is the lowest mean of ``n_methods`` methods, the training mean left out,
    ``errors`` are those of each split by the method chosen without it, and ``gap`` is the distance
    of the lowest mean to the next.
    """

    n_methods: int
    winner_error: float
    errors: list[float]
    gap: float

    @property
    def mean(self) -> float:
        """The mean of ``errors``."""
        return mean_and_deviation(self.errors)[0]


@dataclass(frozen=True)
class Expected:
    """The error of the winner to expect on new rows.

    ``mean`` and ``deviation`` are over the splits, and ``ends`` those of the range that holds the
    error on as many new rows as a split has test rows in `CLAIM_LEVEL` of all tables; not a number
    with one split.
    """

    mean: float
    deviation: float
    ends: tuple[float, float]


def expected_error(
    errors: Sequence[float], n_train: int, n_test: int, largest: float = math.inf
) -> Expected:
    """Return the error to expect on new rows, from those of J splits; none is above `largest`.

    Of n = n_train + n_test rows, tests on m = n_test that are drawn without replacement vary by
    v / m (1 - m / n), with v the variance of a single row's loss. Errors on m new rows vary by
    v / m around an expectation that is known up to v / n, so that with the deviation s of splits

        mean +- t s sqrt((n + m) / (n - m) + 1 / J)

    holds them, with t the quantile of Student's distribution with J - 1 degrees of freedom.
    """
    mean, deviation = mean_and_deviation(errors)
    if len(errors) < 2:
        return Expected(mean, deviation, (math.nan, math.nan))
    # Loading it takes longer than all else of this module.
    from scipy.special import stdtrit

    factor = (n_train + 2 * n_test) / n_train + 1.0 / len(errors)
    half = stdtrit(len(errors) - 1, 0.5 + CLAIM_LEVEL / 2) * deviation * math.sqrt(factor)
    return Expected(mean, deviation, (max(mean - half, 0.0), min(mean + half, largest)))


@dataclass(frozen=True)
class Equivalence:
    """A method that is the reference method by theory, or measured to be equal to it.

    ``n_differing`` of ``n_splits`` splits differ by more than rounding, at most by
    ``largest_relative_difference``.
    """

    method: str
    label: str
    other: str
    other_label: str
    by_theory: bool
    measured: bool
    n_differing: int
    n_splits: int
    largest_relative_difference: float


@dataclass(frozen=True)
class Leaderboard:
    """All methods of one experiment at its largest training size, the winner first.

    ``split_errors`` are those of the winner.
    ``training_size`` counts examples per class for classes, ``n_train`` rows. ``choice`` and
    ``learning`` are None where there is one training size, one split or one method, and
    ``versus_reference`` is the best OFER row with its comparison with the reference method.
    ``error_parts`` are those of `workflow_lib.table.error_parts.error_parts`. ``rows_used`` says
    what weak rows and outputs without inputs were worth.
    """

    metric: str
    training_size: int
    n_train: int
    n_test: int
    n_splits: int
    rows: list[Row]
    baseline: Baseline | None
    choice: Choice | None
    split_errors: list[float]
    equivalences: list[Equivalence]
    learning: Learning | None = None
    error_parts: ErrorParts | None = None
    versus_reference: tuple[Row, Difference] | None = None
    rows_used: list[RowsUsed] = field(default_factory=list)

    @property
    def winner(self) -> Row:
        """The row that is saved and used to predict."""
        return self.rows[0]

    @property
    def expected(self) -> Expected:
        """The error of the winner to expect on new rows.

        That of the winner chosen on the other splits, unless it was not chosen by its error.
        """
        is_chosen = self.choice is not None and not self.is_mean(self.winner)
        errors = self.choice.errors if is_chosen else self.split_errors
        return expected_error(errors, self.n_train, self.n_test, QUANTITIES[self.metric].largest)

    @property
    def reference(self) -> Row | None:
        """The row of the reference method of the metric without weak rows, None without it."""
        key = QUANTITIES[self.metric].reference, 0
        rows = (row for row in self.rows if (row.variant.method, row.variant.weak_size) == key)
        return next(rows, None)

    def is_mean(self, row: Row) -> bool:
        """Return whether a row is the training mean."""
        return self.baseline is not None and row.variant == self.baseline.variant

    @property
    def best_method(self) -> Row | None:
        """The best row that is not the training mean."""
        return next((row for row in self.rows if row.can_win and not self.is_mean(row)), None)

    @property
    def next_best(self) -> Row | None:
        """The best row that is neither the winner, nor equal to it, nor the training mean."""
        rows = (row for row in self.rows[1:] if row.can_win and not self.is_mean(row))
        return next((row for row in rows if row.versus_best.outcome != "equal"), None)

    @property
    def beats_mean(self) -> bool | None:
        """Whether the winner is better than the training mean by the corrected test.

        None where nothing was tested: with one split and a lower error, or without a mean.
        """
        if self.is_mean(self.winner):
            return False
        comparison = self.winner.versus_mean
        if comparison is None or (comparison.outcome == "untested" and comparison.difference < 0):
            return None
        return comparison.outcome == "lower"

    @property
    def tied(self) -> list[Row]:
        """The rows that no test distinguishes from the winner, those equal to it included."""
        rows = [row for row in self.rows[1:] if row.can_win]
        return [row for row in rows if row.versus_best.outcome in ("equal", "open")]

    @property
    def cheapest(self) -> Row | None:
        """The row that takes the fewest seconds among the winner and `tied`, if all are known."""
        rows = [self.winner, *self.tied]
        if any(math.isnan(row.total_seconds) for row in rows):
            return None
        return min(rows, key=lambda row: row.total_seconds)
