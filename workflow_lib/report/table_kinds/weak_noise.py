"""The error against the share of wrong labels of weak rows."""

import pandas as pd

from workflow_lib.report.study_layout import study_cells, study_layout
from workflow_lib.report.table_markup import Layout
from workflow_lib.report.table_text import TableOptions
from workflow_lib.report.tables import STUDY_COLUMNS, Cell

SHOWS = "the study of the share of wrong labels of weak rows"
READS = {"scores": "results/{experiment}/scores.csv"}
SHOWS_ERRORS = True
REQUIRES = {"studies_weak_noise": {True}, "has_weak_sizes": {True}}
BECAUSE = "a table or figure of kind weak_noise needs studies.weak_noise and weak_sizes"
COLUMNS = STUDY_COLUMNS

NOTE = (
    "A wrong label names another component, drawn at random. Everything else, the weight of "
    "the weak rows included, is selected at each share."
)


def cells(scores: pd.DataFrame, options: TableOptions) -> list[Cell]:
    """Return the cells by method and value, then what is selected."""
    return study_cells(scores, "weak_noise", options)


def layout(cells: list[Cell], options: TableOptions) -> Layout:
    """Return the layout with a row for each value and a column for each method."""
    # A share of zero is the same as what is not varied.
    unvaried = "" if any(cell.value == 0 for cell in cells) else "no wrong labels"
    return study_layout(cells, options, "Share of wrong labels", unvaried, NOTE)
