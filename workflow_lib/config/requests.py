"""What a user asks for on the command line about a table of their own."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from workflow_lib.config.base import Settings
from workflow_lib.config.values import Name


def as_typed(value: Any) -> Any:
    """Return a value of ``--config`` as the text that was typed: Snakemake reads 3 as a number."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    # outputs='[y1, y2]' arrives as a list.
    return ",".join(map(str, value)) if isinstance(value, list) else value


Typed = Annotated[str, BeforeValidator(as_typed), Field(min_length=1)]


class TableRequest(Settings):
    """The settings of `snakemake new` for a table, each as `KEY=VALUE` after `--config`."""

    name: Name
    """Name of the table in the files and folders of the workflow."""

    data: Typed
    """Path of the table: CSV, TSV, Parquet or HDF5, by its ending."""

    outputs: Typed | None = None
    """Columns to predict: names or patterns such as `y*`, separated by commas. May be left out only
    where `classes` is given."""

    inputs: Typed | None = None
    """Columns to predict from; null (the default): all that have no other part."""

    exclude: Typed | None = None
    """Columns that have no part at all; none by default."""

    text: Typed | None = None
    """Column with a text; null (the default): the longest texts, if there are any of four words."""

    smiles: Typed | None = None
    """Column with molecules, written as SMILES; null (the default): a column that is named so, or
    reads like molecules."""

    categories: Typed | None = None
    """Columns whose values are names, also where they look like numbers; by default texts with few
    different values."""

    gram: Typed | None = None
    """Path of a table of kernel values between all rows, instead of input columns."""

    group: Typed | None = None
    """Column of what belongs together: whole groups test. None by default."""

    time: Typed | None = None
    """Column of a date or number: the latest rows test. None by default."""

    same_group: Typed | None = None
    """Column that says which rows belong to the same group; rows without outputs then join the
    training as weak labels. None by default."""

    classes: Typed | None = None
    """Column of a class to predict, instead of `outputs`. None by default."""

    class_vectors: Typed | None = None
    """Path of a table with the class in the first column and its vector in the others. None by
    default: classes without a meaning."""

    series: Typed | None = None
    """`true` where the outputs are the steps of a time series, in the order of the columns."""

    row_name: Typed | None = None
    """Column that names the rows; by default a column of texts that differ in every row."""

    methods: Typed | None = None
    """Methods to compare, separated by commas: names alone choose, and names with `-` before them
    leave out of the usual ones (`-ofer-density,-m-rf`). By default the usual ones that can run."""

    splits: Typed | None = None
    """How often the rows are split into training and test rows; by default up to 10, as many as
    fit into five minutes."""

    delimiter: Typed | None = None
    """The character between two cells, or `tab`, `comma`, `semicolon`, `bar`, `space`; by default
    found in the header."""

    missing: Typed | None = None
    """Marks of missing values beside the usual ones, separated by commas, such as `-999,unknown`;
    none by default."""
