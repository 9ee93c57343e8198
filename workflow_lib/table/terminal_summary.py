"""The end of `answer` on the terminal: the headline, where the report is, and what is next."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

WIDTH = 98

HOLDS_ROWS = "The model holds the training rows: give it only to those who may have them."
"""What is said wherever the file of a saved model is named."""


def answer_lines(name: str, answer: str | Path, report: str | Path) -> list[str]:
    """Return the last lines of `snakemake answer`.

    `name` is the user's table, and `answer` the JSON that `workflow_lib.table.leaderboard.run`
    wrote; the first of its ``sentences`` is the headline of the report. Nothing is returned where
    it cannot be read: a fault of a file is reported by the job that needs it.
    """
    try:
        headline = json.loads(Path(answer).read_text(encoding="utf-8"))["sentences"][0]
    except (OSError, ValueError, LookupError, TypeError):
        return []
    return [
        *headline_lines(headline),
        f"Report: {report}",
        f"Model: {Path(answer).with_name('model.h5')}",
        HOLDS_ROWS,
        "To predict new rows, in a table with the same input columns:",
        f"  snakemake --cores 2 predict --config name={name} rows=new_rows.csv",
    ]


def headline_lines(text: str) -> list[str]:
    """Return the headline of an answer, or another text, in lines of a terminal."""
    return textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)
