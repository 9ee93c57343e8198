"""What rows other than the labelled ones were worth: the error without them, on the same splits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pandas as pd

from workflow_lib.experiments.statistics import mean_and_deviation
from workflow_lib.report.labels import method_label
from workflow_lib.report.quantities import errors_by_size
from workflow_lib.report.tables import Difference
from workflow_lib.report.variants import Variant, study_of

WITHOUT = {"unpaired": "unpaired_size=0", "weak": "weak_weight=0"}
"""Kind of rows -> the setting of a study in which a method learns nothing from them."""


@dataclass(frozen=True)
class RowsUsed:
    """Rows of one kind that a method used, and its error without them.

    ``kind`` is a key of `WITHOUT`, ``count`` the number of rows, and ``without`` the comparison of
    the method without these rows minus the same method with them.
    """

    kind: str
    count: int
    method: str
    label: str
    without: Difference


def rows_used(
    scores: pd.DataFrame,
    size: int,
    metric: str,
    methods: Mapping[str, Mapping],
    compared: Callable[[Mapping, Mapping], Difference | None],
) -> list[RowsUsed]:
    """Return what each kind of rows was worth at one training size, by the best method with them.

    Methods that were not run without these rows are left out, and kinds without such a method.
    `scores` hold studies, and `compared` returns the comparison of two columns of errors.
    """
    column = errors_by_size(scores[scores["training_size"] == size], metric).get(size, {})
    found = []
    for kind, setting in WITHOUT.items():
        studied = [
            (mean_and_deviation(list(column[used].values()))[0], used, variant)
            for variant in column
            if variant.setting == setting and (used := variant._replace(setting="")) in column
        ]
        if not studied:
            continue
        _, used, variant = min(studied)
        count, difference = _count(kind, used, column), compared(column[variant], column[used])
        if count and difference is not None:
            label = method_label(used.method, methods)
            found.append(RowsUsed(kind, count, used.method, label, difference))
    return found


def _count(kind: str, used: Variant, column: Mapping[Variant, Mapping]) -> int:
    """Return the number of rows that a method used."""
    if kind == "weak":
        return used.weak_size
    study = study_of(WITHOUT[kind])[0]
    settings = [
        study_of(variant.setting) for variant in column if variant._replace(setting="") == used
    ]
    return max((int(value) for name, value in settings if name == study), default=0)
