"""The evaluation protocol of a run: which rows are used in which step, from the split to the tests.

The figure shows that the outputs of test rows are used for the score only, and that every fit uses
training rows only.
"""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from workflow_lib.protocol.statistics import EQUALITY_TOLERANCE
from workflow_lib.report.inches import (
    GREY,
    INK,
    LINE,
    draw_arrow,
    draw_box,
    page,
    write,
    write_lines,
)
from workflow_lib.report.labels import count_of, range_in_words
from workflow_lib.report.quantities import QUANTITIES
from workflow_lib.report.results import read_scores
from workflow_lib.report.style import WIDTH, applied_style, save_figure
from workflow_lib.report.tables import CORRECTED_RISK, STUDENT_RISK

# All lengths are in inches, downwards from the upper edge.
LEFT, RIGHT = 0.2, WIDTH - 0.2

PALE = "#767676"
TRAINING = ("#d6e6f2", "#a9cbe4", "#6ba6d0", "#0072B2")
"""Nested training sets, the largest first."""

WEAK, TEST = "#e7c3d6", "#f3cf85"

MAX_FOLDS = 6
"""Folds that are drawn."""

PARTS = ((LEFT, 2.45), (2.85, 0.95), (4.1, RIGHT - 4.1))
"""Position and width of the training, weak and test rows."""

STEPS_TOP, GAP = 2.2, 0.2
"""Where the first step begins, and the distance between two steps."""

LETTERS, LETTERS_BESIDE_FOLDS = 88, 66
"""Letters of a line of a step."""


@dataclass(frozen=True)
class Numbers:
    """The numbers of one experiment of a run, from its scores.

    ``is_accuracy`` says that the outputs are classes, and ``has_ceiling`` that a method learns from
    the outputs of weak rows, to show what they could give at most. The sizes are all that occur,
    ascending; weak sizes without zero.
    """

    is_accuracy: bool
    n_splits: int
    training_sizes: tuple[int, ...]
    weak_sizes: tuple[int, ...]
    has_ceiling: bool = False


@dataclass(frozen=True)
class Step:
    """A step: its title, the colors and names of what it uses, and its text in lines."""

    title: str
    uses: Mapping[str, str]
    lines: Sequence[str]
    least_height: float = 0.0

    @property
    def height(self) -> float:
        """The height of its frame."""
        return max(0.5 + LINE * len(self.lines), self.least_height)


def run(
    scores: Mapping[str, str | Path],
    experiments: Mapping[str, Mapping],
    n_folds: int,
    output_svg: str | Path,
    output_png: str | Path,
) -> None:
    """Read the scores of all experiments, draw the protocol of the run and write it.

    `experiments` hold ``metric`` and ``has_ceiling`` (as in `Numbers`) of each, and the selection
    has `n_folds` folds.
    """
    numbers = [numbers_of(read_scores(path), experiments[name]) for name, path in scores.items()]
    save_figure(draw_protocol(numbers, n_folds), output_svg, output_png)


def numbers_of(scores: pd.DataFrame, settings: Mapping) -> Numbers:
    """Return the numbers of one experiment, from its scores and its settings (as in `run`)."""
    return Numbers(
        is_accuracy=QUANTITIES[settings.get("metric") or "arrmse"].is_accuracy,
        n_splits=scores["split"].nunique(),
        training_sizes=tuple(sorted(set(scores["training_size"]))),
        weak_sizes=tuple(sorted(set(scores["weak_size"]) - {0})),
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
    counts = {experiment.n_splits for experiment in numbers}
    return "1 split" if counts == {1} else f"{range_in_words(counts)} splits"


def _run_in_words(numbers: Sequence[Numbers]) -> str:
    each = " each" if len(numbers) > 1 else ""
    return f"{count_of(len(numbers), 'experiment')}, {splits_in_words(numbers)}{each}"


def draw_protocol(numbers: Sequence[Numbers], n_folds: int):
    """Return the figure of the protocol, from the numbers of one experiment at least."""
    from matplotlib.figure import Figure

    steps = list(_steps(numbers, n_folds))
    height = STEPS_TOP + sum(step.height + GAP for step in steps)
    with applied_style():
        figure = Figure(figsize=(WIDTH, height))
        axis = page(figure)
        title = "Evaluation protocol: the outputs of test rows are used for the score only"
        write(axis, LEFT, 0.2, title, fontsize=10.5)
        write(axis, LEFT, 0.42, f"{_run_in_words(numbers)}, {n_folds} folds", color=GREY)
        _draw_rows(axis, numbers)
        top = STEPS_TOP
        for number, step in enumerate(steps):
            if number:
                draw_arrow(axis, (WIDTH / 2, top - GAP), (WIDTH / 2, top), INK)
            _draw_step(axis, step, top)
            top += step.height + GAP
        _draw_folds(axis, 5.0, STEPS_TOP + 0.42, n_folds)
    return figure


def _draw_rows(axis, numbers: Sequence[Numbers]) -> None:
    top, height = 0.98, 0.4
    n_behind = min(max(experiment.n_splits for experiment in numbers), 4) - 1
    if n_behind:
        appearance = {"fontsize": 8, "color": GREY, "ha": "right"}
        write(axis, RIGHT, 0.68, "one split in front, others behind", **appearance)
    for behind in range(n_behind, 0, -1):
        for left, width in PARTS:
            shift = 0.05 * behind
            draw_box(axis, left + shift, top - shift, width, height, "white", edge=PALE)
    (training, training_width), (weak, weak_width), (test, test_width) = PARTS
    n_sizes = min(max(len(experiment.training_sizes) for experiment in numbers), len(TRAINING))
    part = training_width / n_sizes
    middle = top + height / 2
    for index in range(n_sizes, 0, -1):
        color, ink = TRAINING[-index], "white" if index == 1 else INK
        draw_box(axis, training, top, part * index, height, color)
        appearance = {"ha": "center", "fontsize": 8.5, "color": ink}
        name = "size 1" if index == 1 else f"to {index}"
        write(axis, training + part * (index - 0.5), middle, name, **appearance)
    draw_box(axis, weak, top, weak_width, height, WEAK, hatch="..")
    draw_box(axis, test, top, test_width, height, TEST, hatch="//")
    weak_lines = ["outputs not used"]
    if any(experiment.has_ceiling for experiment in numbers):
        weak_lines = ["outputs not used", "(but by a ceiling)"]
    nested = ["a larger set adds rows to a", "smaller one, and replaces none"]
    texts = {
        "Training rows": nested if n_sizes > 1 else ["one size"],
        "Weak rows": weak_lines if _has_weak(numbers) else ["none here"],
        "Test rows": ["the same for every method", "and training size"],
    }
    for (left, _), (name, lines) in zip(PARTS, texts.items(), strict=True):
        write(axis, left, 1.54, name, weight="bold")
        write_lines(axis, left, 1.72, lines)


def _has_weak(numbers: Sequence[Numbers]) -> bool:
    return any(experiment.weak_sizes for experiment in numbers)


def _steps(numbers: Sequence[Numbers], n_folds: int) -> Iterator[Step]:
    has_classes = any(experiment.is_accuracy for experiment in numbers)
    has_numbers = not all(experiment.is_accuracy for experiment in numbers)
    learned = {"training rows": TRAINING[2]}
    if _has_weak(numbers):
        learned["weak rows, no outputs"] = WEAK
    text = "Everything is fitted without the held-out fold (white): scaling, mixture, regression."
    if has_numbers:
        text += " Scored on outputs, after the pre-image."
    if has_classes:
        text += f" {'Classes: a' if has_numbers else 'Scored by a'} squared error."
    if any(experiment.is_accuracy and experiment.training_sizes[0] == 1 for experiment in numbers):
        text += " (1 per class: fixed)"
    lines = textwrap.wrap(text, LETTERS_BESIDE_FOLDS)
    yield Step(f"1  Select: {n_folds} folds", learned, lines, least_height=1.5)
    text = "Scaling, mixture and regression once more, on all training rows of a size."
    yield Step("2  Fit once", learned, [text])
    text = "The pre-image maps what is predicted back to outputs."
    yield Step("3  Predict", {"inputs of test rows": TEST}, [text])
    text = "Relative error, where 1 is the training mean. " if has_numbers else ""
    text += "Accuracy of classes. " if has_classes else ""
    text += "Predictions are kept, so that any other score can be computed."
    lines = textwrap.wrap(text, LETTERS)
    yield Step("4  Score", {"outputs of test rows": TEST}, lines)
    lines = [
        "Two methods are compared by the pairs of scores on each split.",
        f"Bold: Student's paired t-test at the risk {STUDENT_RISK:g}, the paper's rule.",
        f"Better or worse: the corrected resampled t-test at the risk {CORRECTED_RISK:g}, which "
        "allows for",
        "the rows that splits share. Not distinguishable: where that test is not significant.",
        f"Equal: where no split differs by more than {EQUALITY_TOLERANCE:.0e} of the score.",
    ]
    if max(experiment.n_splits for experiment in numbers) == 1:
        lines = ["With one split nothing can be tested."]
    yield Step(f"5  Compare over {splits_in_words(numbers)}", {}, lines)


def _draw_step(axis, step: Step, top: float) -> None:
    draw_box(axis, LEFT, top, RIGHT - LEFT, step.height, "#fafafa", edge=INK)
    write(axis, LEFT + 0.12, top + 0.2, step.title, weight="bold")
    x = LEFT + 2.1
    for name, color in step.uses.items():
        hatch = {WEAK: "..", TEST: "//"}.get(color)
        draw_box(axis, x, top + 0.11, 0.26, 0.18, color, hatch=hatch)
        write(axis, x + 0.34, top + 0.2, name)
        x += 1.6
    write_lines(axis, LEFT + 0.12, top + 0.45, step.lines)


def _draw_folds(axis, x: float, y: float, n_folds: int) -> None:
    """Draw the training rows once for each fold, which is white where it is held out."""
    shown = min(n_folds, MAX_FOLDS)
    width, height = 1.0 / shown, 0.9 / shown
    for row in range(shown):
        for column in range(shown):
            color = "white" if row == column else TRAINING[1]
            location = (x + width * column, y + height * row)
            draw_box(axis, *location, width, min(0.75 * height, 0.2), color, edge=TRAINING[-1])
    if n_folds > shown:
        text = f"{shown} of {n_folds} shown"
        write(axis, x + 0.5, y + 0.98, text, fontsize=8, color=GREY, ha="center")
