"""The errors of each output, or of each class, as a table of an HTML page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from workflow_lib.protocol.output_errors import output_errors
from workflow_lib.report.calibration_splits import splits_of
from workflow_lib.report.labels import (
    MINUS,
    PLUS_MINUS,
    count_of,
    format_error,
    format_in_unit,
    range_in_words,
)
from workflow_lib.report.table_markup import Block, Layout

OUTPUTS = {
    "relative_error": "Relative error",
    "r_squared": "R\u00b2",
    "rmse": "Root mean squared error",
    "rmse_of_training_mean": "That of the training mean",
}
CLASSES = {"recall": "Recall", "precision": "Precision", "f1": "F1"}

ABOUT_OUTPUTS = (
    "The root mean squared error is in the unit of the output. The relative error is its ratio to "
    "that of the training mean, which needs no inputs; R\u00b2 is the share of the variance of the "
    "test rows that is explained."
)
ABOUT_CLASSES = (
    "Recall: share of the rows of the class for which it is predicted; precision: share of right "
    "ones among the rows for which it is predicted; F1: their harmonic mean."
)


def outputs_layout(
    calibration: Mapping, names: Sequence[str], label: str
) -> tuple[Layout | None, str]:
    """Return the table of the errors of each output or class, and the range of one measure in
    words, under which a long table is folded. There is no table where there are neither.

    `calibration` is the tree of a "calibration" artifact, and `label` that of its method. Outputs
    without a name have numbers from 1. The measures are those of
    `workflow_lib.protocol.output_errors.output_errors`.
    """
    splits = splits_of(calibration)
    if not splits:
        return None, ""
    is_of_classes = "true_classes" in splits[0]
    if not is_of_classes:
        d = splits[0]["truth"].shape[1]
        names = [*names, *(f"output {n + 1}" for n in range(len(names), d))][:d]
    if not len(names):
        return None, ""
    title, measures, about = (
        ("Each class", CLASSES, ABOUT_CLASSES)
        if is_of_classes
        else ("Each output", OUTPUTS, ABOUT_OUTPUTS)
    )
    rows = []
    frame = output_errors(splits, names)
    for row in frame.to_dict("records"):
        texts = []
        for measure in measures:
            write = format_in_unit if measure.startswith("rmse") else format_error
            text = write(row[measure], row[f"{measure}_deviation"])
            texts.append(text.replace("-", MINUS) if row[measure] < 0 else text)
        rows.append((str(row[title.split()[1]]), [*texts, str(row["n_rows"])]))
    n_test = range_in_words([len(split["rows"]) for split in splits])
    measure, name = ("f1", "F1") if is_of_classes else ("r_squared", "R\u00b2")
    words = f"All {len(rows)} {'classes' if is_of_classes else 'outputs'}"
    if frame[measure].notna().any():
        low, middle, high = (
            f"{value:.2f}".replace("-", MINUS) for value in frame[measure].quantile([0, 0.5, 1])
        )
        words += f": {name} from {low} to {high}, median {middle}"
    layout = Layout(
        f"{title}, with {label}",
        title.split()[1].capitalize(),
        [*measures.values(), "Distinct test rows"],
        [Block("", rows)],
        [
            f"Mean {PLUS_MINUS} standard deviation over {count_of(len(splits), 'split')} with "
            f"{n_test} test rows each. {about}"
        ],
    )
    return layout, words
