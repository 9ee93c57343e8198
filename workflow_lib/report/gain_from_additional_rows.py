"""What rows other than the labelled ones were worth: the error without them, on the same splits."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pandas as pd

from workflow_lib.protocol.statistics import mean_and_deviation
from workflow_lib.report.labels import learns_from_inputs, method_label
from workflow_lib.report.quantities import errors_by_size
from workflow_lib.report.tables import Difference
from workflow_lib.report.variants import Variant, study_of

WITHOUT = {"unpaired": "unpaired_size=0", "weak": "weak_weight=0"}
"""Kind of rows -> the setting of a study in which a method learns nothing from them."""


@dataclass(frozen=True)
class RowsUsed:
    """Rows of one kind that a method used, and its error without them.

    ``kind`` is a key of `WITHOUT` or ``unlabelled``, ``count`` the number of rows, and ``without``
    the comparison of the method without these rows minus the same method with them. ``in_splits``
    is the mean number that was used in a split: copies of test rows, rows of test groups and later
    rows are left out.
    """

    kind: str
    count: int
    in_splits: float
    method: str
    label: str
    without: Difference


def rows_used(
    scores: pd.DataFrame,
    size: int,
    metric: str,
    methods: Mapping[str, Mapping],
    compared: Callable[[Mapping, Mapping], Difference | None],
    choices: pd.DataFrame | None = None,
) -> list[RowsUsed]:
    """Return what each kind of rows was worth at one training size, by the best method with them.

    Methods that were not run without these rows are left out, and kinds without such a method.
    `scores` hold studies, `compared` returns the comparison of two columns of errors, and `choices`
    are those of the same fits.
    """
    column = errors_by_size(scores[scores["training_size"] == size], metric).get(size, {})
    found = []
    for kind in (*WITHOUT, "unlabelled"):
        pairs = [
            (mean_and_deviation(list(column[used].values()))[0], used, without)
            for without in column
            if (used := _with_rows(kind, without, column, methods)) is not None
        ]
        if not pairs:
            continue
        _, used, without = min(pairs)
        count, difference = _count(kind, used, column), compared(column[without], column[used])
        if count and difference is not None:
            in_splits = count
            if kind == "unpaired" and choices is not None:
                in_splits = _unpaired_in_splits(size, choices, count)
            label = method_label(used.method, methods)
            found.append(RowsUsed(kind, count, in_splits, used.method, label, difference))
    return found


def _with_rows(
    kind: str, without: Variant, column: Mapping[Variant, Mapping], methods: Mapping[str, Mapping]
) -> Variant | None:
    """Return the variant of the same method with all rows of a kind; None for other variants."""
    if without.setting != WITHOUT.get(kind, ""):
        return None
    others = [row for row in column if row[:2] == without[:2] and not row.setting]
    used = max(others, key=lambda row: row.weak_size, default=None)
    if kind == "unlabelled":
        is_of_inputs = learns_from_inputs(methods.get(without.method, {}))
        return used if is_of_inputs and without.weak_size == 0 and used != without else None
    return used


def _count(kind: str, used: Variant, column: Mapping[Variant, Mapping]) -> int:
    """Return the number of rows that a method used; of outputs without inputs, all have as many."""
    if kind != "unpaired":
        return used.weak_size
    study = study_of(WITHOUT[kind])[0]
    settings = [study_of(variant.setting) for variant in column]
    return max((int(value) for name, value in settings if name == study), default=0)


def _unpaired_in_splits(size: int, choices: pd.DataFrame, count: int) -> float:
    """Return the mean over splits of the outputs without inputs that were used, else `count`."""
    rows = choices[(choices["training_size"] == size) & (choices["name"] == "unpaired_size")]
    rows = rows[rows["setting"] == ""]
    used = rows["value"].astype(float).groupby(rows["split"]).max()
    return float(used.mean()) if len(used) else count
