"""Learning curves of the test rows beside those of the training rows, for every method."""

from collections.abc import Mapping
from pathlib import Path

from workflow_lib.core.errors import UserError
from workflow_lib.core.result_columns import TRAINING
from workflow_lib.report.labels import method_label, splits_in_words, variant_label
from workflow_lib.report.lines import draw_curve, method_lines
from workflow_lib.report.quantities import QUANTITIES, as_measured_on_test_rows, shown_means
from workflow_lib.report.results import outside_studies, read_scores
from workflow_lib.report.style import WIDTH, scale_sizes
from workflow_lib.report.variants import order_variants

SHOWS = "the error on the test rows beside that on the training rows, against the number of rows"
CAPTION = (
    "The error, or the accuracy, on the test rows (left) and on the training rows that the method "
    "was fitted to (right), against their number. Points are means over the splits, bars their "
    "sample standard deviation. The estimation error is at most the distance between both, and "
    "what more rows do not reduce is at least the level on the training rows; methods that repeat "
    "their training outputs say nothing here: they are named without a line. Stacks and some "
    "others have no error on training rows."
)
READS = {"scores": "results/{experiment}/scores.csv"}
REPEATED = 1e-6
"""An error of training rows that is no more than rounding, relative to the training mean."""

METHOD_FIELDS = ("label", "color", "marker")


def draw(scores: str | Path, *, title: str, shown_methods: Mapping[str, Mapping], metric: str):
    """Return the figure: two panels of equal limits, the same methods in both.

    Methods without an error of the training rows (stacks, methods on landmarks, and those whose
    pre-image is a search for each row) are in the left panel only.

    Raises UserError if no method has one.
    """
    measured, methods = QUANTITIES[metric], shown_methods
    rows = outside_studies(read_scores(scores))
    rows = rows[rows["method"].isin(methods)]
    of_training = as_measured_on_test_rows(rows, TRAINING)
    if of_training.empty:
        raise UserError(
            location="a figure of the kind training_error",
            found=f"no method has an error of its training rows: {', '.join(methods)}",
            expected="one at least, as most methods without landmarks have it",
            remedy="run the experiment again with the present version, or leave the figure out",
        )
    panels = {"test rows": rows, "training rows": of_training}
    cells = {name: shown_means(frame, metric) for name, frame in panels.items()}
    if not measured.higher_is_better:
        name, kept = _without_repeating(cells.pop("training rows"), methods)
        cells[name] = kept
    columns = cells["test rows"].values()
    variants = order_variants((variant for column in columns for variant in column), methods)
    sizes = sorted(cells["test rows"])
    return draw_curve(
        {
            name: method_lines(
                variants,
                [found.get(size, {}) for size in sizes],
                lambda _: sizes,
                methods,
                -1 if measured.higher_is_better else 1,
            )
            for name, found in cells.items()
        },
        size=(WIDTH, 4.4),
        axes=(measured.size_axis, measured.axis.replace(" on test rows", "")),
        scale=lambda axis, _: scale_sizes(axis, sizes, 1.15),
        title=f"{title}\n{splits_in_words(rows['split'].nunique(), rows['n_test'])}",
        is_error=not measured.higher_is_better,
        share_x=False,
        reference=[method_label(measured.reference, methods)],
    )


def _without_repeating(found: Mapping, methods: Mapping[str, Mapping]) -> tuple[str, dict]:
    """Return the title and the cells of the training rows, without the methods that repeat their
    outputs: their rounding would stretch a logarithmic axis over ten decades."""
    learned = {v for each in found.values() for v, (mean, _) in each.items() if mean > REPEATED}
    repeating = [variant for variant in next(iter(found.values())) if variant not in learned]
    if not repeating or not learned:
        return "training rows", dict(found)
    names = ", ".join(variant_label(variant, methods) for variant in repeating)
    kept = {size: {v: each[v] for v in each if v in learned} for size, each in found.items()}
    return f"training rows (0: {names})", kept
