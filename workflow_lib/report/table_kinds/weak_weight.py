"""The error against the weight of weak rows."""

import pandas as pd

from workflow_lib.report.study_layout import study_cells, study_layout
from workflow_lib.report.table_markup import Layout
from workflow_lib.report.table_text import TableOptions
from workflow_lib.report.tables import STUDY_COLUMNS, Cell

SHOWS = "the study of the weight of weak rows, as Table 15"
READS = {"scores": "results/{experiment}/scores.csv"}
SHOWS_ERRORS = True
REQUIRES = {"studies_weak_weight": {True}, "has_weak_sizes": {True}}
BECAUSE = "a table or figure of kind weak_weight needs studies.weak_weight and weak_sizes"
COLUMNS = STUDY_COLUMNS

NOTE = (
    "\u03bb\u2082 is the weight of weak rows in equation (14); zero leaves them out. The "
    "selected weight is chosen in each split, by cross-validation on the training rows."
)


def cells(scores: pd.DataFrame, options: TableOptions) -> list[Cell]:
    """Return the cells by method and value, then what is selected."""
    return study_cells(scores, "weak_weight", options)


def layout(cells: list[Cell], options: TableOptions) -> Layout:
    """Return the layout with a row for each value and a column for each method."""
    return study_layout(cells, options, "\u03bb\u2082", "selected", NOTE)
