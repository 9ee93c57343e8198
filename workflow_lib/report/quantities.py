"""The description of each error: its name, how it is compared and how it is shown.

Everything that compares methods (the lowest mean, the tests, the verdict) works on errors, of which
lower is better. The accuracy of classes is compared as its error rate and shown in percent.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

import pandas as pd

from workflow_lib.core.errors import UserError
from workflow_lib.core.result_columns import FIT, OF_ROWS
from workflow_lib.measures.base import Measure
from workflow_lib.protocol.statistics import mean_and_deviation
from workflow_lib.report.labels import count_of, format_difference, format_error, format_percent
from workflow_lib.report.results import by_size
from workflow_lib.report.variants import Variant
from workflow_lib.tasks.base import Task
from workflow_lib.tasks.found import all_measures, measures_of, task_with, usual_measures

REFERENCE_METHOD = Task.reference
"""The method that the others are compared with where the task names no other."""

_OTHER_SIDE = {"lower": "higher", "higher": "lower", "minimum": "maximum", "maximum": "minimum"}
_OTHER_SIDE |= {"better": "worse"}


@dataclass(frozen=True)
class Quantity:
    """The description of one error.

    ``measure`` is what is measured, and ``task`` the first one whose own measures it is among.
    Scores hold the error itself, which is shown as it is, or an accuracy, of which the error rate
    is compared and which is shown in percent. A correlation or an AUC is compared as 1 minus it,
    and shown as it is. ``better`` says how a better value, as it is shown, compares with a worse
    one, and ``is_per_class`` whether training sizes are examples per class. The properties that
    have no description are those of `Measure` and `Task`; ``name`` is the title.
    """

    measure: Measure
    task: Task
    better: str
    is_per_class: bool = False

    name = property(attrgetter("measure.title"))
    heading = property(attrgetter("measure.heading"))
    is_accuracy = property(attrgetter("measure.is_accuracy"))
    is_percent = property(attrgetter("measure.is_percent"))
    higher_is_better = property(attrgetter("measure.higher_is_better"))
    reference = property(attrgetter("task.reference"))
    part = property(attrgetter("task.part"))
    parts = property(attrgetter("task.parts"))

    @property
    def axis(self) -> str:
        """The label of the axis of a figure."""
        if self.is_percent:
            return f"{self.name.capitalize()} on test rows (%)"
        return f"{self.name} on test rows"

    @property
    def best(self) -> str:
        """The superlative of ``better``."""
        return "highest" if self.higher_is_better else "lowest"

    @property
    def largest(self) -> float:
        """The largest error that is stated: 1 where scores are, of which none counts under 0."""
        return 1.0 if self.higher_is_better else math.inf

    @property
    def worse(self) -> str:
        """How a worse value, as it is shown, compares with a better one."""
        return _OTHER_SIDE[self.better]

    @property
    def error_name(self) -> str:
        """The name of the error, which of a score is 1 minus it."""
        if self.is_accuracy:
            return "error rate"
        return f"1 \u2212 {self.name}" if self.higher_is_better else self.name

    @property
    def column(self) -> str:
        """The heading of a column of the answer."""
        if self.is_percent:
            return f"{self.name} (%)"
        return self.name if self.higher_is_better else "relative error"

    @property
    def size_heading(self) -> str:
        """The heading of a column of training sizes."""
        return "Examples per class" if self.is_per_class else "Training size"

    @property
    def size_axis(self) -> str:
        """The label of a logarithmic axis of training sizes."""
        what = "labelled examples per class" if self.is_per_class else "training rows"
        return f"{what} (log scale)"

    @property
    def size_note(self) -> str:
        """What the n of tables and sentences is, as the beginning of a sentence."""
        what = "number of labelled examples per class" if self.is_per_class else "training size"
        return f"n is the {what}"

    @property
    def difference_name(self) -> str:
        """The name of the quantity that a difference is in."""
        return f"{self.name} (percentage points)" if self.is_percent else self.name

    def size_in_words(self, training_size: int) -> str:
        """Return a training size, as ``50 training rows`` or ``5 examples per class``."""
        if not self.is_per_class:
            return count_of(training_size, "training row")
        return f"{count_of(training_size, 'example')} per class"

    def error(self, value: float) -> float:
        """Return the error, which is compared, of a value in the scores."""
        return 1.0 - value if self.higher_is_better else value

    def shown(self, error: float) -> float:
        """Return an error, or a mean of errors, as it is shown."""
        if not self.higher_is_better:
            return error
        return 100.0 * (1.0 - error) if self.is_percent else 1.0 - error

    def shown_spread(self, deviation: float) -> float:
        """Return a deviation of errors as it is shown."""
        return 100.0 * deviation if self.is_percent else deviation

    def shown_difference(self, difference: float) -> float:
        """Return a difference of errors as it is shown, of scores with the other sign."""
        if not self.higher_is_better:
            return difference
        # A plain minus would make zero a negative zero.
        return 100.0 * (0.0 - difference) if self.is_percent else 0.0 - difference

    def shown_effect(self, effect: float) -> float:
        """Return a difference of errors in units of its spread as it is shown."""
        return 0.0 - effect if self.higher_is_better else effect

    def write(
        self, mean: float, deviation: float, unit: bool = False, decimals: int | None = None
    ) -> str:
        """Return a mean error and its deviation as they are shown; percent with their `unit`.

        Without `decimals`, errors have three and percent one.
        """
        if not self.is_percent:
            return format_error(self.shown(mean), deviation, decimals)
        return format_percent(self.shown(mean), self.shown_spread(deviation), unit, decimals)

    def write_difference(self, difference: float) -> str:
        """Return a difference of errors as it is shown, with its sign."""
        decimals = 1 if self.is_percent else 3
        return format_difference(self.shown_difference(difference), decimals)


QUANTITIES = {
    name: Quantity(
        measure,
        task_with(measure.outputs),
        better="higher" if measure.higher_is_better else "lower",
        is_per_class=bool(measure.selects_by) and task_with(measure.outputs).may_split_per_class,
    )
    for name, measure in all_measures().items()
}
QUANTITIES |= {
    name + OF_ROWS: replace(measured, is_per_class=False)
    for name, measured in QUANTITIES.items()
    if measured.is_per_class
}
"""The columns of ``scores.csv`` that are measured on the test rows, and the description of each.

``accuracy_of_rows`` is the accuracy of an experiment whose training sizes count rows.
"""

_PERCENT = "_percent"

PERCENT = f"accuracy{_PERCENT}"
"""The unit of published accuracies, and of those in the CSV files of tables."""


def errors_by_size(
    scores: pd.DataFrame, quantity: str
) -> dict[int, dict[Variant, dict[int, float]]]:
    """Return training size -> row of a table -> split -> error, as `errors_of` gives them."""
    return by_size(errors_of(scores, quantity))


def errors_of(scores: pd.DataFrame, quantity: str) -> pd.DataFrame:
    """Return the rows of a key of `QUANTITIES`, whose ``value`` is the error.

    There may be none at all where the data lack a measure: splits whose test rows are of one class
    those of rankings, and datasets without losses between classes these losses.

    Raises UserError if another fit does not have it: the measures of classes are not those of other
    outputs.
    """
    measured = QUANTITIES[quantity]
    found = scores[scores["quantity"] == measured.measure.name]
    lacking = scores.merge(found[list(FIT)], how="left", on=list(FIT), indicator=True)
    lacking = lacking[lacking["_merge"] == "left_only"]
    is_of_task = bool(set(scores["quantity"]) & set(measures_of(measured.measure.outputs)))
    if not lacking.empty and not (measured.measure.may_be_absent and is_of_task):
        fit = lacking.iloc[0]
        if not is_of_task:
            raise UserError(
                f"experiment {fit['experiment']}",
                f"{quantity} is to be shown, and its outputs are not {measured.task.predicts}",
                "a metric of the task of its dataset",
                f"correct the key metric of {fit['experiment']} in config/experiments",
            )
        raise UserError(
            f"experiment {fit['experiment']}, scores.csv",
            f"method {fit['method']}, training size {fit['training_size']}, split {fit['split']} "
            f"has no row with the quantity {quantity}",
            "every error for each fit",
            f"rm results/{fit['experiment']}/scores.csv and run the same snakemake command again",
        )
    return found.assign(value=found["value"].map(measured.error))


def errors_shown(errors: Sequence[str], metric: str, measured: Collection[str]) -> list[str]:
    """Return the keys of `QUANTITIES` of the blocks of a table.

    They are those of `errors` that its task has or, if there are none, the usual measures of the
    task that are among those `measured`. The accuracy is that of the `metric`.
    """
    task, of_metric = QUANTITIES[metric].task, QUANTITIES[metric].measure.name
    known = measures_of(*task.further_outputs, task.outputs)
    usual = [
        name
        for name in usual_measures(task.outputs)
        if name in measured or not known[name].may_be_absent
    ]
    shown = [name for name in errors if name in known] or usual
    return [metric if name == of_metric else name for name in shown]


def as_measured_on_test_rows(scores: pd.DataFrame, prefix: str) -> pd.DataFrame:
    """Return the rows whose quantity has a prefix, under the name of the quantity without it.

    So that what reads errors of test rows reads those of training rows; `prefix` is `TRAINING` or
    `CROSS_VALIDATED` of `workflow_lib.core.result_columns`.
    """
    found = scores[scores["quantity"].str.startswith(prefix)]
    return found.assign(quantity=found["quantity"].str.removeprefix(prefix))


def shown_means(
    scores: pd.DataFrame, quantity: str
) -> dict[int, dict[Variant, tuple[float, float]]]:
    """Return training size -> row -> mean and deviation over the splits, as they are shown."""
    measured = QUANTITIES[quantity]
    found: dict[int, dict[Variant, tuple[float, float]]] = {}
    for size, column in errors_by_size(scores, quantity).items():
        for variant, splits in column.items():
            mean, deviation = mean_and_deviation(list(splits.values()))
            shown = measured.shown(mean), measured.shown_spread(deviation)
            found.setdefault(size, {})[variant] = shown
    return found


def error_of_unit(unit: str) -> str:
    """Return the key of `QUANTITIES` for published numbers of a unit.

    Units that are no such key are the aRRMSE, which the paper calls ``RRMSE``.
    """
    name = unit.removesuffix(_PERCENT)
    return name if name in QUANTITIES else "arrmse"


def chance_error(scores: pd.DataFrame) -> float:
    """Return the error rate of the best guess that uses no input.

    Of K classes that are equally frequent it is 1 - 1 / K, where K is the number of training rows
    divided by that of examples per class, the same at every size; else that of predicting the most
    frequent class, the mean over splits.
    """
    guesses = scores.loc[scores["quantity"] == "guess_accuracy", "value"]
    if len(guesses):
        return 1.0 - sum(guesses) / len(guesses)
    return 1.0 - int(scores["training_size"].iloc[0]) / int(scores["n_train"].iloc[0])


def baseline_of(scores: pd.DataFrame, metric: str) -> tuple[float, str]:
    """Return the level that uses no input, as it is shown, and its name.

    It is the error of the training mean, or the accuracy of `chance_error`.
    """
    measured = QUANTITIES[metric]
    error = chance_error(scores) if measured.is_accuracy else 1.0
    return measured.shown(error), measured.task.baseline


def shown_cells(cells: Sequence, metric: str) -> list:
    """Return the cells of a table with the values that are shown, for its CSV file.

    Those of an accuracy are in percent, and differences, effects and marks have the other sign; the
    quantity is then called `PERCENT`, with a prefix in cells of a class or a summary, as in
    ``minimum_accuracy_percent``. All others are unchanged.

    `metric` is the key of `QUANTITIES` for cells whose own quantity is no key, those of
    coordinates.
    """
    return [
        _shown_cell(cell, QUANTITIES.get(cell.quantity) or QUANTITIES[metric]) for cell in cells
    ]


def _shown_cell(cell, quantity: Quantity):
    if not quantity.higher_is_better:
        return cell
    # The lowest of the error rates is the highest of the accuracies.
    kind = "" if cell.quantity in QUANTITIES else _OTHER_SIDE.get(cell.quantity, cell.quantity)
    kind = kind.replace("coordinate", "class")
    name = f"{cell.quantity}{_PERCENT}" if quantity.is_percent else cell.quantity
    return replace(
        cell,
        quantity=f"{kind}_{PERCENT}" if kind else name,
        mean=quantity.shown(cell.mean),
        deviation=quantity.shown_spread(cell.deviation),
        difference=quantity.shown_difference(cell.difference),
        effect=quantity.shown_effect(cell.effect),
        hedges_g=quantity.shown_effect(cell.hedges_g),
        outcome=_OTHER_SIDE.get(cell.outcome, cell.outcome),
    )
