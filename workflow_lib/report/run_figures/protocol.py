"""The evaluation protocol of a run: which rows are used in which step, from the split to the tests.

The figure shows that the outputs of test rows are used for the score only, and that every fit uses
training rows only. A list below has the numbers of the run.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from workflow_lib.experiments.statistics import EQUALITY_TOLERANCE
from workflow_lib.report.inches import (
    GREY,
    INK,
    LINE,
    draw_arrow,
    draw_box,
    page,
    shortened,
    write,
    write_lines,
)
from workflow_lib.report.labels import count_of
from workflow_lib.report.quantities import QUANTITIES
from workflow_lib.report.results import read_scores
from workflow_lib.report.style import applied_style, save_figure
from workflow_lib.report.tables import CORRECTED_RISK, STUDENT_RISK

if TYPE_CHECKING:
    import pandas as pd

SPLITS = {
    "random": "test rows are drawn at random, anew in every split",
    "grouped": "test rows are whole groups, drawn anew in every split; training rows are of other "
    "groups",
    "chronological": "the latest rows are the test rows of every split, training rows are earlier; "
    "the tests assume random splits and give too small p values",
    "given": "the data define the test rows, the same in every split; p values are too small as "
    "well",
    "per_class": "at random, every class in the same share; sizes are labelled examples per class",
    "stratified": "at random, every class with its share of the test and of the training rows",
}
"""Kind of split -> how its test rows are chosen."""

# All lengths are in inches, downwards from the upper edge.
WIDTH = 10.0
LEFT, RIGHT = 0.3, 9.7
TABLE_TOP = 7.65
ROW = 0.165
COLUMNS = ((LEFT, "left"), (4.45, "left"), (5.75, "right"), (5.95, "left"), (8.15, "left"))
COLUMNS += ((RIGHT, "right"),)
"""Where each column of the list begins or ends."""

TITLE_LETTERS, SIZE_LETTERS, WEAK_LETTERS = 64, 38, 15

PALE = "#767676"
TRAINING = ("#d6e6f2", "#a9cbe4", "#6ba6d0", "#0072B2")
"""Nested training sets, the largest first."""

WEAK, TEST = "#e7c3d6", "#f3cf85"

TRAINING_ARROW, WEAK_ARROW, TEST_ARROW = "#0072B2", "#7d3a60", "#7a5400"

MOST_FOLDS = 6
"""Folds that are drawn; of more there are dots."""

PARTS = ((LEFT, 4.2), (4.65, 1.25), (6.05, 3.4))
"""Place and width of the training, weak and test rows."""

STEPS_TOP, STEPS_HEIGHT, LOWER_TOP = 2.68, 1.9, 4.95


@dataclass(frozen=True)
class Numbers:
    """The numbers of one experiment of a run, from its scores.

    Attributes
    ----------
    title : str
    split : str
        A key of `SPLITS`.
    is_stand_in, is_accuracy, has_ceiling : bool
        ``is_accuracy``: the outputs are classes.
        ``has_ceiling``: a method learns from the outputs of weak rows, to show what they could
        give at most.
    n_splits : int
    training_sizes, weak_sizes, n_test : tuple of int
        All that occur, ascending; weak sizes without zero.
    """

    title: str
    split: str
    is_stand_in: bool
    is_accuracy: bool
    n_splits: int
    training_sizes: tuple[int, ...]
    weak_sizes: tuple[int, ...]
    n_test: tuple[int, ...]
    has_ceiling: bool = False


def run(
    scores: Mapping[str, str | Path],
    experiments: Mapping[str, Mapping],
    n_folds: int,
    output_svg: str | Path,
    output_png: str | Path,
) -> None:
    """Read the scores of all experiments, draw the protocol of the run and write it.

    Parameters
    ----------
    scores : mapping of experiment name to path
        The ``scores.csv`` of every experiment, in the order of the run.
    experiments : mapping of experiment name to mapping
        ``title``, ``split``, ``metric``, ``stand_in_for`` and ``has_ceiling`` (as in `Numbers`).
    n_folds : int
        Folds of the selection.
    output_svg, output_png : path

    Raises
    ------
    UserError
        If a file is damaged.
    """
    numbers = [numbers_of(read_scores(path), experiments[name]) for name, path in scores.items()]
    save_figure(draw_protocol(numbers, n_folds), output_svg, output_png)


def numbers_of(scores: pd.DataFrame, settings: Mapping) -> Numbers:
    """Return the numbers of one experiment, from its scores and its settings (as in `run`)."""
    return Numbers(
        title=settings["title"],
        split=settings.get("split") or "random",
        is_stand_in=bool(settings.get("stand_in_for")),
        is_accuracy=QUANTITIES[settings.get("metric") or "arrmse"].is_accuracy,
        n_splits=scores["split"].nunique(),
        training_sizes=tuple(sorted(set(scores["training_size"]))),
        weak_sizes=tuple(sorted(set(scores["weak_size"]) - {0})),
        n_test=tuple(sorted(set(scores["n_test"]))),
        has_ceiling=bool(settings.get("has_ceiling")),
    )


def protocol_in_words(numbers: Sequence[Numbers], n_folds: int) -> str:
    """Return what the figure shows, for readers who cannot see it."""
    return (
        f"{_run_in_words(numbers)}. The rows of a "
        f"dataset are split into training, weak and test rows. Hyper-parameters are selected by "
        f"{n_folds} folds of the training rows; a final fit on all of them predicts the test rows "
        f"from their inputs, the pre-image maps predictions back to outputs, and only the score "
        f"uses the outputs of test rows. Paired tests compare the scores over the splits."
    )


def splits_in_words(numbers: Sequence[Numbers]) -> str:
    """Return the numbers of splits that occur, as ``5 splits`` or ``5 to 10 splits``."""
    counts = sorted({experiment.n_splits for experiment in numbers})
    if len(counts) > 1:
        return f"{counts[0]} to {counts[-1]} splits"
    return count_of(counts[0], "split")


def _run_in_words(numbers: Sequence[Numbers]) -> str:
    each = " each" if len(numbers) > 1 else ""
    return f"{count_of(len(numbers), 'experiment')}, {splits_in_words(numbers)}{each}"


def draw_protocol(numbers: Sequence[Numbers], n_folds: int):
    """Return the figure of the protocol.

    Parameters
    ----------
    numbers : sequence of Numbers
        Of each experiment, at least one.
    n_folds : int

    Returns
    -------
    matplotlib.figure.Figure
        To be written by `workflow_lib.report.style.save_figure`.
    """
    from matplotlib.figure import Figure

    height = TABLE_TOP + ROW * (len(numbers) + 1) + 0.15
    with applied_style():
        figure = Figure(figsize=(WIDTH, height))
        axis = page(figure)
        title = "Evaluation protocol: the outputs of test rows are used for the score only"
        write(axis, LEFT, 0.25, title, fontsize=11.5)
        line = f"{_run_in_words(numbers)}, {n_folds} folds for the selection; the list below has "
        line += "the numbers" if len(numbers) == 1 else "the numbers of each"
        write(axis, LEFT, 0.5, line, fontsize=9, color=GREY)
        _draw_rows(axis, numbers)
        _draw_steps(axis, numbers, n_folds)
        _draw_tests(axis, numbers)
        _draw_kinds(axis, numbers)
        _draw_table(axis, numbers)
    return figure


def _draw_rows(axis, numbers: Sequence[Numbers]) -> None:
    """Draw the rows of a split, training, weak and test rows, with other splits behind."""
    top, height = 1.0, 0.48
    n_behind = min(max(experiment.n_splits for experiment in numbers), 4) - 1
    if n_behind:
        look = {"fontsize": 8, "color": GREY, "ha": "right"}
        write(axis, RIGHT, 0.68, "one split in front, others behind", **look)
    for behind in range(n_behind, 0, -1):
        for left, width in PARTS:
            shift = 0.055 * behind
            draw_box(axis, left + shift, top - shift, width, height, "white", edge=PALE)
    (training, training_width), (weak, weak_width), (test, test_width) = PARTS
    n_sizes = min(max(len(experiment.training_sizes) for experiment in numbers), len(TRAINING))
    part = training_width / n_sizes
    middle = top + height / 2
    for place in range(n_sizes, 0, -1):
        color, ink = TRAINING[-place], "white" if place == 1 else INK
        draw_box(axis, training, top, part * place, height, color)
        look = {"ha": "center", "fontsize": 8.5, "color": ink}
        name = "size 1" if place == 1 else f"to size {place}"
        write(axis, training + part * (place - 0.5), middle, name, **look)
    draw_box(axis, weak, top, weak_width, height, WEAK, hatch="..")
    draw_box(axis, test, top, test_width, height, TEST, hatch="//")
    has_weak = any(experiment.weak_sizes for experiment in numbers)
    weak_lines = ["Outputs not used."]
    if any(experiment.has_ceiling for experiment in numbers):
        weak_lines = ["Outputs not used", "(but by a ceiling)."]
    nested = ["Sizes are nested: a larger set adds rows to", "a smaller set and replaces none."]
    steps = {
        "Training rows": nested if n_sizes > 1 else ["One size."],
        "Weak rows": weak_lines if has_weak else ["None here."],
        "Test rows": ["The same for every method and every", "training size."],
    }
    for (left, _), (name, lines) in zip(PARTS, steps.items(), strict=True):
        write(axis, left, 1.62, name, weight="bold")
        write_lines(axis, left, 1.8, lines)


def _draw_steps(axis, numbers: Sequence[Numbers], n_folds: int) -> None:
    """Draw the steps from the selection to the tests, and which rows each uses."""
    has_classes = any(experiment.is_accuracy for experiment in numbers)
    has_numbers = not all(experiment.is_accuracy for experiment in numbers)
    lines = ["Everything is fitted", "without the held-out", "fold (white): scaling,"]
    lines += ["mixture, regression."]
    if has_numbers:
        lines += ["Scored on outputs, after", "the pre-image."]
    if has_classes:
        lines += [f"{'Classes: a' if has_numbers else 'Scored by a'} squared error."]
    if any(experiment.is_accuracy and experiment.training_sizes[0] == 1 for experiment in numbers):
        lines += ["(1 per class: fixed)"]
    _step(axis, LEFT, 2.95, f"1  Select: {n_folds} folds", lines, text_from=1.3)
    _draw_folds(axis, LEFT + 0.15, STEPS_TOP + 0.42, n_folds)
    lines = ["on all training rows", "of a size, with the", "selected settings:"]
    lines += ["scaling, mixture and", "regression once more."]
    _step(axis, 3.6, 1.65, "2  Fit once", lines)
    lines = ["each test row from", "its input. The pre-", "image maps what is", "predicted back to"]
    _step(axis, 5.6, 1.7, "3  Predict", [*lines, "outputs."])
    lines = ["relative error, where", "1 is the training mean;"] if has_numbers else []
    if has_classes:
        lines += ["accuracy of classes."]
    lines += ["Predictions are kept,", "so that any other score", "can be computed."]
    _step(axis, 7.65, RIGHT - 7.65, "4  Score", lines)
    middle = STEPS_TOP + STEPS_HEIGHT / 2
    for left, right in ((3.25, 3.6), (5.25, 5.6), (7.3, 7.65)):
        draw_arrow(axis, (left, middle), (right, middle), INK)
    begin = 2.12
    for x in (2.5, 4.1):
        draw_arrow(axis, (x, begin), (x, STEPS_TOP), TRAINING_ARROW)
    if any(experiment.weak_sizes for experiment in numbers):
        x, look = PARTS[1][0] + 0.2, {"fontsize": 8, "color": WEAK_ARROW}
        draw_arrow(axis, (x, begin), (x, STEPS_TOP), WEAK_ARROW, linestyle=(0, (3, 2)))
        write_lines(axis, x + 0.1, 2.28, ["component, in 1 and", "2 of weak methods"], **look)
    for x, text in ((6.45, "inputs only"), (8.6, "outputs")):
        draw_arrow(axis, (x, begin), (x, STEPS_TOP), TEST_ARROW)
        write(axis, x + 0.1, 2.36, text, fontsize=9, color=TEST_ARROW, weight="bold")


def _draw_folds(axis, x: float, y: float, n_folds: int) -> None:
    """Draw the training rows once for each fold, which is white where it is held out."""
    shown = min(n_folds, MOST_FOLDS)
    width, height = 1.0 / shown, 1.25 / shown
    for row in range(shown):
        for column in range(shown):
            color = "white" if row == column else TRAINING[1]
            place = (x + width * column, y + height * row)
            draw_box(axis, *place, width, min(0.75 * height, 0.2), color, edge=TRAINING[-1])
    if n_folds > shown:
        text = f"{shown} of {n_folds} shown"
        write(axis, x + 0.5, y + 1.35, text, fontsize=7.5, color=GREY, ha="center")


def _draw_tests(axis, numbers: Sequence[Numbers]) -> None:
    """Write how methods are compared over the splits."""
    title = f"5  Compare over {splits_in_words(numbers)}"
    lines = [
        "Two methods are compared by the pairs of scores on each split.",
        f"Bold: Student's paired t-test at the risk {STUDENT_RISK:g}, the paper's rule.",
        f"Better or worse: the corrected resampled t-test at the risk {CORRECTED_RISK:g},",
        "which allows for the rows that splits share.",
        "Not distinguishable: where that test is not significant.",
        f"Equal: where no split differs by more than {EQUALITY_TOLERANCE:.0e} of the score.",
    ]
    if max(experiment.n_splits for experiment in numbers) == 1:
        lines = ["With one split nothing can be tested."]
    _step(axis, 5.6, RIGHT - 5.6, title, lines, top=LOWER_TOP, height=1.5)
    draw_arrow(axis, (8.6, STEPS_TOP + STEPS_HEIGHT), (8.6, LOWER_TOP), INK)


def _draw_kinds(axis, numbers: Sequence[Numbers]) -> None:
    """Write how test rows are chosen, by kind of split; kinds of no experiment are pale."""
    write(axis, LEFT, LOWER_TOP + 0.13, "How test rows are chosen", weight="bold")
    y = LOWER_TOP + 0.38
    for kind, words in SPLITS.items():
        count = sum(experiment.split == kind for experiment in numbers)
        frequency = count_of(count, "experiment") if count else "not in this run"
        color = INK if count else PALE
        write(axis, LEFT, y, kind.replace("_", " "), fontsize=8, color=color, weight="bold")
        lines = textwrap.wrap(f"{words} ({frequency})", 62)
        write_lines(axis, LEFT + 1.05, y, lines, fontsize=8, color=color)
        y += LINE * len(lines) + 0.03


def _draw_table(axis, numbers: Sequence[Numbers]) -> None:
    """Write the numbers of every experiment."""
    heads = ("experiment", "split", "splits", "training sizes", "weak rows", "test rows")
    _line_of_table(axis, TABLE_TOP, heads, weight="bold")
    for y in (TABLE_TOP - 0.12, TABLE_TOP + 0.1):
        axis.plot([LEFT, RIGHT], [y, y], color=PALE, linewidth=0.8)
    for number, experiment in enumerate(numbers, start=1):
        mark = " (a stand-in)" if experiment.is_stand_in else ""
        unit = " per class" if experiment.split == "per_class" else ""
        texts = (
            shortened(experiment.title, TITLE_LETTERS - len(mark)) + mark,
            experiment.split.replace("_", " "),
            str(experiment.n_splits),
            shortened(_listed(experiment.training_sizes), SIZE_LETTERS - len(unit)) + unit,
            shortened(_listed(experiment.weak_sizes), WEAK_LETTERS) or "\u2013",
            _range(experiment.n_test),
        )
        _line_of_table(axis, TABLE_TOP + 0.04 + ROW * number, texts)


def _line_of_table(axis, y: float, texts: Sequence[str], **look) -> None:
    """Write one line of the list."""
    for text, (x, side) in zip(texts, COLUMNS, strict=True):
        write(axis, x, y, text, fontsize=8, ha=side, **look)


def _listed(sizes: Sequence[int]) -> str:
    return ", ".join(str(size) for size in sizes)


def _range(counts: Sequence[int]) -> str:
    return str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"


def _step(
    axis,
    left: float,
    width: float,
    title: str,
    lines: Sequence[str],
    top: float = STEPS_TOP,
    height: float = STEPS_HEIGHT,
    text_from: float = 0.12,
) -> None:
    """Draw the frame of a step with its title and its lines, `text_from` right of the frame."""
    draw_box(axis, left, top, width, height, "#fafafa", edge=INK)
    write(axis, left + 0.12, top + 0.2, title, weight="bold")
    write_lines(axis, left + text_from, top + 0.48, lines)
