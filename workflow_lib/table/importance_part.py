"""The importance of inputs as a section of an HTML page."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from workflow_lib.protocol.importance_table import RISK, importance_frame, main_rows
from workflow_lib.report.labels import MISSING, count_of, format_p_value, join_words
from workflow_lib.report.render import Section, html_markup, section
from workflow_lib.report.run_figures.importance import importance_in_words, signed_error
from workflow_lib.report.table_markup import Block, Layout

MAX_ROWS = 20
"""Inputs of each output in the table."""

MAX_FOLDED = 6
"""Outputs with a block of their own."""

CAPTION = (
    "Bars: mean increase of the error over the splits; lines: standard deviation. Columns that "
    "correlate are permuted together."
)

EFFECTS = (
    "The prediction of test rows when an input takes each of the values of the axis in turn; the "
    "columns of a group take those of real rows together. Each input is shown for the output that "
    "it matters to most."
)


def importance_section(tree: Mapping, location: str, effects: Mapping | None = None) -> Section:
    """Return the importance of the inputs for each output, from the "importance" artifact.

    `effects` is the figure of effects as `workflow_lib.report.render.figure_part` returns it.
    """
    frame = importance_frame(tree, location)
    grouped = main_rows(frame)["columns"].str.contains("; ").sum()
    n_rows, n_repeats = int(tree["n_rows"]), int(tree["n_repeats"])
    sentences = [
        importance_in_words(main_rows(frame)),
        f"Each input was permuted {count_of(n_repeats, 'time')} between {n_rows} test rows of each "
        f"split, which the method had not learned from; all that was encoded from a column moves "
        f"together. {_groups_sentence(tree, int(grouped))}",
        "An input whose importance is zero is not needed by this method: it may have no effect, or "
        "one that others show as well. An importance is no causal effect.",
    ]
    outputs = list(dict.fromkeys(frame["output"]))
    blocks = [
        Block(output if len(outputs) > 1 else "", _rows(frame[frame["output"] == output]))
        for output in outputs[:MAX_FOLDED]
    ]
    notes = [
        "p: the corrected resampled t-test of the increase against zero (two-sided), adjusted by "
        f"Holm's method for all inputs of an output; below {RISK:g} an input matters."
    ]
    if len(outputs) > MAX_FOLDED or (frame.groupby("output").size() > MAX_ROWS).any():
        notes.append(
            f"The first {MAX_ROWS} inputs of the first {MAX_FOLDED} outputs; `ofer explain` with "
            "the saved model writes all."
        )
    heads = ["Increase of the error", "Error", "Permuted", "Adjusted p", "Columns"]
    layout = Layout("What permuting an input does to the error", "Input", heads, blocks, notes)
    return section(
        "importance",
        "Which inputs matter",
        "sentences_and_table.html",
        sentences=sentences,
        figure=effects,
        figure_anchor="figure-answer-effects",
        table=html_markup(layout),
        folded="All outputs and inputs" if len(frame) > MAX_ROWS else "",
    )


def _rows(frame: pd.DataFrame) -> list[tuple[str, list[str]]]:
    return [
        (
            row.input,
            [
                signed_error(row.importance, row.deviation),
                f"{row.error:.3f}",
                f"{row.permuted_error:.3f}",
                format_p_value(row.p_adjusted).removeprefix("p = "),
                str(row.columns.count("; ") + 1) if row.columns else MISSING,
            ],
        )
        for row in frame.head(MAX_ROWS).itertuples()
    ]


def _groups_sentence(tree: Mapping, n_groups: int) -> str:
    """Return how many groups of columns there are, and what they have in common."""
    if not n_groups:
        return f"No two columns correlate above {float(tree['limit']):g}."
    n_windows = int(tree["n_windows"])
    alike = []
    if n_groups > n_windows:
        alike.append(
            f"columns with an absolute rank correlation of at least {float(tree['limit']):g} with "
            "each other"
        )
    if n_windows:
        alike.append(
            f"neighbouring channels with a mean one of at least {float(tree['window_limit']):.2g}"
        )
    groups = "1 group was" if n_groups == 1 else f"{n_groups} groups were"
    return (
        f"Where columns correlate, one of them alone seems not to matter, because the method reads "
        f"its value off the others. Therefore {groups} permuted together: {join_words(alike)}."
    )
