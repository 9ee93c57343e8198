"""How much of a test error more rows may lower, and how much richer features, in one sentence.

The error E(f) of a fit f on new rows is E(f*) + (E(f) - E(f*)), with f* the best function of its
class: what remains with any number of rows (noise and approximation error), and the estimation
error. A fit that minimises the squared error over its class has on its own rows at most the error
of f* and on new rows at least that, in expectation. So E(f*) lies between the training error and
the test error, and their difference bounds the estimation error from above.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from workflow_lib.core.result_columns import CROSS_VALIDATED, TRAINING
from workflow_lib.protocol.statistics import mean_and_deviation
from workflow_lib.report.labels import format_share, is_ceiling, join_words, variant_label
from workflow_lib.report.quantities import QUANTITIES, as_measured_on_test_rows, errors_by_size
from workflow_lib.report.results import outside_studies, rows_of_sizes
from workflow_lib.report.tables import difference
from workflow_lib.report.variants import Variant

TRAINING_MEAN = "m-mean"
"""The method that is the training mean, where the settings of the methods name no regressor."""

INTERPOLATES = 0.1
"""A training error below this part of the test error bounds nothing: training rows are repeated."""

SMALL_GAP, LARGE_GAP = 1 / 3, 1 / 2
"""Shares of the test error that may be estimation error: below the first, other inputs or methods
are named as what may help; from the second on, and with a curve that falls, more rows."""

BEYOND_FOLDS = 0.05
"""A test error that is above the cross-validated one by more than this part of it is noted."""

ERROR_NAMES = {
    name: each.measure.plain_name for name, each in QUANTITIES.items() if each.measure.plain_name
}
"""What an error is called in sentences, by the key of `QUANTITIES`."""


@dataclass(frozen=True)
class ErrorParts:
    """The mean errors of a method over the splits, on its training rows and on the test rows.

    ``training`` is that of the fit on the rows that it was fitted to; ``cross_validated`` that of
    predictions of them without the fold of each, NaN where it is not known. ``falls`` says whether
    the test error is lower than at the training size before, by the corrected test.
    """

    variant: Variant
    label: str
    training: float
    cross_validated: float
    test: float
    falls: bool

    @property
    def gap(self) -> float:
        """The largest estimation error as a share of the test error; below 0 for none."""
        return (self.test - self.training) / self.test if self.test else 0.0

    @property
    def beyond_folds(self) -> float:
        """What of the test error cross-validation does not show, as a share; NaN if not known."""
        return (self.test - self.cross_validated) / self.test if self.test else 0.0


def is_training_mean(method: str, methods: Mapping[str, Mapping]) -> bool:
    """Return whether a method is the training mean."""
    regressor = methods.get(method, {}).get("regressor")
    return regressor == "training_mean" or (not regressor and method == TRAINING_MEAN)


def error_parts(
    scores: pd.DataFrame, methods: Mapping[str, Mapping], metric: str
) -> ErrorParts | None:
    """Return the errors at the largest training size of the best method that has all of them.

    Its training error and its test error are known in every split, and it is neither the training
    mean nor one that learns from outputs that are not known in use. None without such a method.
    """
    scores = outside_studies(scores)
    columns = errors_by_size(scores, metric)
    size, tested = list(columns.items())[-1]
    splits = set().union(*tested.values())
    of_training, of_folds = (
        errors_by_size(as_measured_on_test_rows(scores, prefix), metric).get(size, {})
        for prefix in (TRAINING, CROSS_VALIDATED)
    )
    found = {
        variant: _mean(errors)
        for variant, errors in tested.items()
        if set(errors) == set(of_training.get(variant, ())) == splits
        and not is_training_mean(variant.method, methods)
        and not is_ceiling(variant.method, methods)
    }
    if not found:
        return None
    best = min(found, key=lambda variant: (found[variant], variant))
    earlier = [other for other in columns if other < size and best in columns[other]]
    falls = False
    if earlier:
        n_train = rows_of_sizes(scores)[earlier[-1]]
        step = difference(
            tested[best], columns[earlier[-1]][best], n_train, int(scores["n_test"].max())
        )
        falls = step is not None and step.outcome == "lower"
    has_folds = set(of_folds.get(best, ())) == splits
    return ErrorParts(
        best,
        variant_label(best, methods),
        _mean(of_training[best]),
        _mean(of_folds[best]) if has_folds else math.nan,
        found[best],
        falls,
    )


def _mean(errors: Mapping[int, float]) -> float:
    return mean_and_deviation(list(errors.values()))[0]


def error_parts_sentence(parts: ErrorParts, metric: str) -> str:
    """Return how much of the test error may be estimation error, and what that suggests.

    The bounds need a fit that minimises the squared error over a class of functions; for other
    methods they are a rule of thumb.
    """
    measured = QUANTITIES[metric]
    numbers = {
        "on its own training rows": parts.training,
        "cross-validated": parts.cross_validated,
        "on the test rows": parts.test,
    }
    name = ERROR_NAMES.get(metric, "error")
    listed = join_words(
        [
            f"{measured.write(error, math.nan, unit=True)} {where}"
            for where, error in numbers.items()
            if not math.isnan(error)
        ]
    )
    text = f"The {name} of {parts.label} is {listed}"
    if parts.gap <= 0:
        return (
            f"{text}: no estimation error is seen; noise or approximation error is left, which "
            f"richer features or another method may lower."
        )
    if parts.training < INTERPOLATES * parts.test:
        return (
            f"{text}: it nearly repeats its training rows, so that this does not tell estimation "
            f"error (more rows) from approximation error (richer features)."
        )
    text += (
        f": at most {format_share(parts.gap)} of the error is estimation error, which more rows "
        f"lower; the rest is noise or approximation error, which only richer features or another "
        f"method may lower"
    )
    if parts.gap < SMALL_GAP:
        text += ". Unless what is left is noise, richer features promise more than more rows"
    elif parts.gap >= LARGE_GAP and parts.falls:
        text += ". As the error still falls, more rows promise more than richer features"
    else:
        text += ". Which of both would help more is open"
    if parts.beyond_folds > BEYOND_FOLDS:
        text += (
            f"; {format_share(parts.beyond_folds)} of the error is not seen in cross-validation, "
            f"because the best settings were chosen by it or the test rows differ"
        )
    return f"{text}."
