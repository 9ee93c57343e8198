"""The error and time tables of one experiment, cell by cell, with the published numbers."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from workflow_lib.protocol.statistics import (
    PairedTest,
    corrected_resampled_t_test,
    effect_sizes,
    mean_and_deviation,
    paired_t_test,
)
from workflow_lib.report.agreement import published_difference
from workflow_lib.report.quantities import (
    QUANTITIES,
    REFERENCE_METHOD,
    error_of_unit,
    errors_by_size,
)
from workflow_lib.report.results import (
    Published,
    by_size,
    most_test_rows,
    outside_studies,
    rows_of_sizes,
    write_frame,
)
from workflow_lib.report.variants import SELECTED, Variant, order_variants
from workflow_lib.tasks.found import usual_measures

STUDENT_RISK = 1e-3
"""The risk of the paper's rule for bold numbers."""

CORRECTED_RISK = 0.05
"""The risk of the corrected resampled t-test against the reference method."""

TIMES = {
    "training": "Training time (one fit at the chosen settings)",
    "selection": "Selection time (the whole cross-validation)",
    "test": "Test time (prediction and pre-image of all test rows)",
}
"""The blocks of a time table: name -> heading."""

ERRORS = usual_measures("numbers")
"""The errors that an error table shows by default."""


_ROW = ("method", "components", "weak_size", "training_size", "n_splits", "n_test")
_ROW += ("mean", "deviation")
_TESTED = ("bold", "opponent", "p_student")
_COMPARED = ("difference", "n_nonzero", "effect", "hedges_g", "p_reference_student")
_COMPARED += ("p_reference_corrected", "largest_relative_difference", "mark")
_PUBLISHED = tuple(f"published_{name}" for name in ("value", "spread", "table", "difference"))
_PUBLISHED += ("published_difference_in_spreads",)

ERROR_COLUMNS = ("quantity", *_ROW, *_TESTED, *_COMPARED, *_PUBLISHED)
COORDINATE_COLUMNS = ("quantity", "coordinate", "name", *_ROW, *_TESTED, *_COMPARED)
STUDY_COLUMNS = ("study", "quantity", "value", *_ROW, *_COMPARED)
"""The columns of the CSV files of tables of errors and times, of coordinates and of studies."""


@dataclass(frozen=True)
class Cell:
    """One cell of a table.

    Attributes
    ----------
    quantity : str
        A key of `workflow_lib.report.quantities.QUANTITIES` or of `TIMES`; of coordinates
        ``coordinate`` or a key of `workflow_lib.report.coordinate_tables.SUMMARIES`.
    method, components, weak_size, training_size
        Row and column. ``components`` is ``selected`` or a fixed number.
    n_splits, n_test : int
        Number of splits in the mean; test rows of each (the largest where they differ).
    mean, deviation : float
        Over splits; the deviation (divisor n - 1) is NaN for one split. Seconds for times, the
        error rate for an accuracy.
    bold : bool
        Lowest mean of its column and better than every other row at the risk `STUDENT_RISK`
        by the paired Student t-test.
    opponent, p_student : str, float
        For the lowest mean of a column, the row with the largest p value against it; for another
        row, that with the lowest mean; and the p value of that comparison. NaN without a test.
    difference, n_nonzero, effect : float, int, float
        This row minus the reference method on the same splits: mean, number of splits that
        differ, and mean in units of the spread of the differences.
    hedges_g : float
        The same mean in units of the spread of the scores, with Hedges' correction
        (`workflow_lib.protocol.statistics.EffectSizes.of_scores`).
    p_reference_student, p_reference_corrected : float
        The two tests of that difference.
    largest_relative_difference : float
        Largest difference from the reference method in a split, relative to the larger error.
    outcome : str
        That of `Difference`; empty without a comparison.
    published_value, published_spread, published_table
        The published number of this row and column as it was printed, an accuracy in percent; NaN
        and empty where there is none.
    published_difference, published_difference_in_spreads : float
        This run minus published in the unit of the published number, and the same in spreads
        (`workflow_lib.report.agreement.published_difference`). NaN where there is no published
        number or the two are not comparable, and for seconds, which depend on the machine.
    coordinate, name : int or None, str
        Number (from 0) and name of the output coordinate; None and empty for a summary and for
        other tables.
    study : str
        The study of weak labels, such as ``weak_weight``; empty for other tables.
    value : float or None
        The value that the study fixed; None outside of it, where everything is selected.
    """

    quantity: str
    method: str
    components: str
    weak_size: int
    training_size: int
    n_splits: int
    n_test: int
    mean: float
    deviation: float
    bold: bool = False
    opponent: str = ""
    p_student: float = math.nan
    difference: float = math.nan
    n_nonzero: int | None = None
    effect: float = math.nan
    hedges_g: float = math.nan
    p_reference_student: float = math.nan
    p_reference_corrected: float = math.nan
    largest_relative_difference: float = math.nan
    outcome: str = ""
    published_value: float = math.nan
    published_spread: float = math.nan
    published_table: str = ""
    published_difference: float = math.nan
    published_difference_in_spreads: float = math.nan
    coordinate: int | None = None
    name: str = ""
    study: str = ""
    value: float | None = None

    @property
    def variant(self) -> Variant:
        """The table row of this cell."""
        return Variant(self.method, self.components, self.weak_size)

    @property
    def mark(self) -> str:
        """``lower`` or ``higher`` where the corrected test finds a difference, else empty."""
        return self.outcome if self.outcome in ("lower", "higher") else ""


@dataclass(frozen=True)
class Difference:
    """The comparison of two methods on the same splits, first minus second.

    ``difference`` is the mean, ``relative`` the same relative to the mean error of the second, and
    ``effect`` in units of the spread of the differences: infinite where they are all equal and not
    zero, NaN for one split. ``n_splits`` counts the splits that both have and ``n_nonzero`` those
    on which they differ, at most by ``largest_relative_difference``, relative to the larger error.
    ``p_student`` and ``p_corrected`` are the two-sided p values of Student's paired t-test and of
    the corrected resampled t-test, NaN where ``effect`` is not finite. ``outcome`` is ``equal``
    where every split gives the same error up to rounding, ``untested`` for one split, ``lower`` or
    ``higher`` where the corrected test is significant at `CORRECTED_RISK`, and ``open`` otherwise.
    ``note`` says why a value is special.
    """

    difference: float
    relative: float
    n_splits: int
    n_nonzero: int
    effect: float
    p_student: float
    p_corrected: float
    largest_relative_difference: float
    outcome: str
    note: str = ""


def difference(
    first: Mapping[int, float], second: Mapping[int, float], n_train: int, n_test: int
) -> Difference | None:
    """Return the comparison ``first - second`` on the splits that both have, None without any.

    Both map splits to errors; `n_train` and `n_test` are the rows of a split, for the corrected
    test.
    """
    splits = common_splits(first, second)
    if not splits:
        return None
    ours, theirs = ([errors[split] for split in splits] for errors in (first, second))
    student = paired_t_test(ours, theirs)
    corrected = corrected_resampled_t_test(ours, theirs, n_train, n_test).p_value
    other_mean = mean_and_deviation(theirs)[0]
    outcome = "open"
    if student.n_nonzero == 0:
        outcome = "equal"
    elif student.n_splits == 1:
        outcome = "untested"
    elif corrected < CORRECTED_RISK:
        outcome = "lower" if student.mean_difference < 0 else "higher"
    return Difference(
        difference=student.mean_difference,
        relative=student.mean_difference / other_mean if other_mean else math.nan,
        n_splits=student.n_splits,
        n_nonzero=student.n_nonzero,
        effect=student.effect,
        p_student=student.p_value,
        p_corrected=corrected,
        largest_relative_difference=max(
            abs(a - b) / (max(abs(a), abs(b)) or 1.0) for a, b in zip(ours, theirs)
        ),
        outcome=outcome,
        note=student.note,
    )


def error_table(
    scores: pd.DataFrame,
    *,
    method_order: Iterable[str] = (),
    reference: str = REFERENCE_METHOD,
    published: Sequence[Published] = (),
    errors: Sequence[str] = ERRORS,
    is_comparable: bool = False,
) -> list[Cell]:
    """Return the cells of the error table: `errors` in order, rows by variant, columns by size.

    `errors` are keys of `workflow_lib.report.quantities.QUANTITIES`. Published errors are added to
    the error that they were measured in (`error_of_unit`); the differences from them are given
    only where the data are those of the paper or made by its recipe (`is_comparable`). Studies of
    weak labels are left out.
    """
    scores = outside_studies(scores)
    published_cells = _published_cells(published)
    options = {"n_test": most_test_rows(scores), "reference": reference}
    n_train = rows_of_sizes(scores)
    cells = []
    for quantity in errors:
        for size, column in errors_by_size(scores, quantity).items():
            options |= {"size": size, "n_train": n_train[size]}
            for variant in order_variants(column, method_order):
                more = column_comparison(column, variant)
                printed = published_cells.get((quantity, variant, size), {})
                cell = compared_cell(quantity, column, variant, **options, **more, **printed)
                if printed and is_comparable:
                    cell = _with_difference(cell)
                cells.append(cell)
    return cells


def _with_difference(cell: Cell) -> Cell:
    measured = QUANTITIES[cell.quantity]
    ours = measured.shown(cell.mean), measured.shown_spread(cell.deviation)
    found = published_difference(*ours, cell.published_value, cell.published_spread)
    return replace(cell, published_difference=found[0], published_difference_in_spreads=found[1])


def compared_cell(
    quantity: str,
    column: Mapping[Variant, Mapping[int, float]],
    variant: Variant,
    *,
    size: int,
    n_train: int,
    n_test: Mapping[tuple[Variant, int], int],
    reference: str,
    **more,
) -> Cell:
    """Return the cell of one row of a column, compared with the reference; `more` are its fields.

    `column` holds the error of every row in every split, and `n_test` the numbers of test rows by
    row and training size.
    """
    tested = n_test[variant, size]
    compared = reference_comparison(column, variant, reference, n_train, tested)
    return _cell(quantity, variant, size, column[variant], tested, **compared, **more)


def _cell(
    quantity: str, variant: Variant, size: int, values: Mapping[int, float], n_test: int, **more
) -> Cell:
    summary = len(values), n_test, *mean_and_deviation(list(values.values()))
    return Cell(quantity, *variant[:3], size, *summary, **more)


def time_table(
    timings: pd.DataFrame, *, method_order: Iterable[str] = (), published: Sequence[Published] = ()
) -> list[Cell]:
    """Return the cells of the time table, in seconds: training, selection and test.

    Of the published rows with unit ``s``, a column whose name contains "training" is a training
    time and any other a test time. Times are not tested. Studies of weak labels are left out.
    """
    timings = outside_studies(timings)
    published_cells = _published_cells(published)
    seconds = {
        "training": timings["fit_seconds"],
        "selection": timings["selection_seconds"],
        "test": timings["prediction_seconds"] + timings["preimage_seconds"],
    }
    n_test = most_test_rows(timings)
    return [
        _cell(
            *(quantity, variant, size, column[variant], n_test[variant, size]),
            **published_cells.get((quantity, variant, size), {}),
        )
        for quantity in TIMES
        for size, column in by_size(timings.assign(value=seconds[quantity])).items()
        for variant in order_variants(column, method_order)
    ]


def write_cells(path: str | Path, cells: Sequence | pd.DataFrame, names: Sequence[str]) -> None:
    """Write these attributes of cells, or columns of a frame, as CSV; NaN and None are left empty.

    There is one row for each cell.
    """
    if isinstance(cells, pd.DataFrame):
        return write_frame(path, cells[list(names)])
    values = {name: [getattr(cell, name) for cell in cells] for name in names}
    frame = pd.DataFrame({name: _column(column) for name, column in values.items()})
    write_frame(path, frame)


def _column(values: Sequence) -> pd.Series:
    """Return values as they are written: whole numbers and truth values without a point."""
    is_whole = {type(value) for value in values} <= {int, bool, type(None)}
    return pd.Series(values, dtype="Int64" if is_whole else None)


def common_splits(first: Mapping[int, float], second: Mapping[int, float]) -> list[int]:
    """Return the splits that both have, ascending."""
    return sorted(first.keys() & second.keys())


def paired_on_common_splits(
    first: Mapping[int, float], second: Mapping[int, float]
) -> PairedTest | None:
    """Return the paired Student t-test on the splits that both have, None without any."""
    splits = common_splits(first, second)
    if not splits:
        return None
    return paired_t_test([first[s] for s in splits], [second[s] for s in splits])


def is_equal(
    column: Mapping[Variant, Mapping[int, float]], first: Variant, second: Variant
) -> bool:
    """Return whether two rows of a column have the same errors, up to rounding, and splits."""
    if column[first].keys() != column[second].keys():
        return False
    test = paired_on_common_splits(column[first], column[second])
    return test is not None and test.n_nonzero == 0


def reference_variant(
    variants: Iterable[Variant], variant: Variant, reference: str
) -> Variant | None:
    """Return the row that `variant` is compared with: the reference method without weak rows.

    Its component setting is that of `variant` if it has such a row, else the selected one.
    """
    candidates = {v.components: v for v in variants if v.method == reference and v.weak_size == 0}
    return candidates.get(variant.components) or candidates.get(SELECTED)


def column_comparison(column: Mapping[Variant, Mapping[int, float]], variant: Variant) -> dict:
    """Return ``bold``, ``opponent`` and ``p_student`` of one row of a column, as in `Cell`.

    `column` holds the error of every row in every split. The result is empty for a column with one
    row, and where there is no test.
    """
    others = sorted(v for v in column if v != variant)
    if not others:
        return {}
    means = {v: mean_and_deviation(list(column[v].values()))[0] for v in column}
    # The name breaks ties, so that the same file always gives the same opponent.
    best = min(means, key=lambda v: (means[v], v))
    if variant != best:
        test = paired_on_common_splits(column[variant], column[best])
        return {
            "opponent": _variant_name(best),
            "p_student": math.nan if test is None else test.p_value,
        }
    tests = {v: paired_on_common_splits(column[variant], column[v]) for v in others}
    bold = all(
        test is not None and test.p_value < STUDENT_RISK and test.mean_difference < 0
        for test in tests.values()
    )
    tested = {v: t for v, t in tests.items() if t is not None and not math.isnan(t.p_value)}
    if not tested:
        return {}
    closest = max(tested, key=lambda v: (tested[v].p_value, v))
    return {"bold": bold, "opponent": _variant_name(closest), "p_student": tested[closest].p_value}


def reference_comparison(
    column: Mapping[Variant, Mapping[int, float]],
    variant: Variant,
    reference: str,
    n_train: int,
    n_test: int,
) -> dict:
    """Return the fields of `Cell` that compare one row of a column with the reference method.

    They are empty for that method itself, and where the two share no split. `n_train` and `n_test`
    are the numbers of rows, for the corrected test.
    """
    other = reference_variant(column, variant, reference)
    if other is None or other == variant:
        return {}
    found = difference(column[variant], column[other], n_train, n_test)
    if found is None:
        return {}
    splits = common_splits(column[variant], column[other])
    scores = [[column[row][split] for split in splits] for row in (variant, other)]
    fields = ("difference", "n_nonzero", "effect", "largest_relative_difference", "outcome")
    return {name: getattr(found, name) for name in fields} | {
        "hedges_g": effect_sizes(*scores).of_scores,
        "p_reference_student": found.p_student,
        "p_reference_corrected": found.p_corrected,
    }


def _published_cells(published: Sequence[Published]) -> dict[tuple, dict]:
    """Return (quantity, variant, training size) -> the published fields of a cell."""
    cells = {}
    for number in published:
        if number.unit == "s":
            quantity = "training" if "training" in number.column.casefold() else "test"
        else:
            quantity = error_of_unit(number.unit)
        variant = Variant(number.method, number.components, number.weak_size)
        cells[quantity, variant, number.training_size] = {
            "published_value": number.value,
            "published_spread": number.spread,
            "published_table": number.table,
        }
    return cells


def _variant_name(variant: Variant) -> str:
    """Return a row's name for a CSV field: ``method/components/weak size``."""
    return f"{variant.method}/{variant.components}/{variant.weak_size}"
