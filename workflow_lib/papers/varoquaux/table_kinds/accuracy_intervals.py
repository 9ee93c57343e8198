"""The accuracy of each method with the interval that its number of test rows allows."""

from __future__ import annotations

import pandas as pd

from workflow_lib.protocol.statistics import mean_and_deviation
from workflow_lib.report.labels import MISSING, method_label, variant_label
from workflow_lib.report.quantities import QUANTITIES, errors_by_size
from workflow_lib.report.results import outside_studies
from workflow_lib.report.table_markup import Block, Layout
from workflow_lib.report.table_text import TableOptions
from workflow_lib.report.variants import Variant, order_variants
from workflow_lib.uncertainty.accuracy_interval import accuracy_interval

SHOWS = "the accuracy of each method with the binomial interval of one test set"
READS = {"scores": "results/{experiment}/scores.csv"}
REQUIRES = {"task": {"classes"}}
BECAUSE = "a table of kind accuracy_intervals shows the law of accuracies, and the task is {task}"
COLUMNS = (
    *("quantity", "method", "components", "weak_size", "training_size", "n_splits", "n_test"),
    *("mean", "low", "high", "deviation", "binomial_deviation"),
)
NOTE = (
    "In brackets: the 95 % interval of the binomial law (Clopper and Pearson) for one test set of "
    "this number of rows, of which the mean share is right. Accuracies of two methods on the same "
    "rows differ by less than that: {reference} is compared with others in pairs, in the table of "
    "errors."
)


def cells(scores: pd.DataFrame, options: TableOptions) -> pd.DataFrame:
    """Return the mean accuracy over the splits by training size and method, and its interval.

    ``deviation`` is that over the splits, of training sets and test rows; ``binomial_deviation``
    that of the share of right rows among ``n_test`` rows. All are shares.
    """
    scores, rows = outside_studies(scores), []
    measured = QUANTITIES[options.metric]
    n_test = int(scores["n_test"].min())
    for size, column in errors_by_size(scores, options.metric).items():
        for variant, errors in column.items():
            error, deviation = mean_and_deviation(list(errors.values()))
            accuracy = min(max(1.0 - error, 0.0), 1.0)
            interval = accuracy_interval(accuracy, n_test)
            binomial = (accuracy * (1.0 - accuracy) / n_test) ** 0.5
            row = (measured.name, *variant[:3], size, len(errors), n_test)
            rows.append((*row, accuracy, *interval, deviation, binomial))
    return pd.DataFrame(rows, columns=COLUMNS)


def layout(cells: pd.DataFrame, options: TableOptions) -> Layout:
    """Return the layout with a row for each method and a column for each training size."""
    sizes, found = sorted(set(cells["training_size"])), {}
    for row in cells.itertuples():
        variant = Variant(row.method, row.components, row.weak_size)
        numbers = (f"{100 * share:.1f}" for share in (row.mean, row.low, row.high))
        found[variant, row.training_size] = "{} [{}, {}]".format(*numbers)
    laid_out = [
        (variant_label(row, options.methods), [found.get((row, size), MISSING) for size in sizes])
        for row in order_variants([row for row, _ in found], options.methods)
    ]
    return Layout(
        title=options.title,
        row_heading="Method",
        heads=[f"n = {size}" for size in sizes],
        blocks=[Block(QUANTITIES[options.metric].heading, laid_out)],
        notes=[
            f"{cells['n_test'].min()} test rows.",
            NOTE.format(reference=method_label(options.reference, options.methods)),
        ],
    )
