"""Settings of a user table that are given on the command line."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote, unquote

from pydantic import BeforeValidator, Field

from workflow_lib.core.errors import UserError
from workflow_lib.core.settings import Settings
from workflow_lib.core.values import Name
from workflow_lib.tabular.column_lists import unquoted


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
    """Path of the table: CSV, TSV, a workbook, Parquet, HDF5 or ARFF, by its ending."""

    outputs: Typed | None = None
    """Columns to predict: names or patterns such as `y*`, separated by commas. Required unless
    `classes` is given."""

    inputs: Typed | None = None
    """Columns to predict from; null (the default): all without another role."""

    exclude: Typed | None = None
    """Columns that are not used; none by default."""

    text: Typed | None = None
    """Column with texts; null (the default): the column with the longest texts, if they have at
    least four words."""

    smiles: Typed | None = None
    """Column with molecules, written as SMILES; null (the default): a column with such a name, or
    whose values resemble SMILES."""

    sequence: Typed | None = None
    """Column with sequences of letters (DNA, RNA, proteins), of any lengths, to predict `classes`
    from them alone; of a FASTA file `sequence`. None by default."""

    bag: Typed | None = None
    """Column that names the bag of each row, such as the patient of a cell, to predict the class
    of the bag, `classes`, from its rows; a bag without a class is unlabelled. None by default."""

    bags: Typed | None = None
    """Columns that count the words of a bag (visual words of an image, words of a text), to predict
    `classes` from them alone: names or patterns such as `word_*`. None by default."""

    categories: Typed | None = None
    """Columns whose values are categories, even if they look like numbers; by default texts with
    few different values."""

    encode: Typed | None = None
    """How columns of names become inputs, as `title=target,place=gamma-poisson`: `one-hot`,
    `n-grams`, `target` or `gamma-poisson`; patterns are allowed. By default one-hot for categories
    and n-grams for texts with many different values."""

    spectra: Typed | None = None
    """What is done to spectra among the inputs: `derivative`, `normal_variate`, `both` or `none`.
    By default the derivative where the inputs look like spectra."""

    gram: Typed | None = None
    """Path of a table of kernel values between all rows, instead of input columns."""

    group: Typed | None = None
    """Column of groups of rows that belong together: whole groups are test rows. None by
    default."""

    time: Typed | None = None
    """Column of a date or number: the latest rows are test rows. None by default."""

    same_group: Typed | None = None
    """Column that says which rows belong to the same group; rows without outputs then join the
    training as weakly labelled rows. None by default."""

    classes: Typed | None = None
    """Column of a class to predict, instead of `outputs`. None by default."""

    class_vectors: Typed | None = None
    """Path of a table with the class in the first column and its vector in the others. None by
    default: all classes are equally far from each other."""

    class_tree: Typed | None = None
    """Path of a table with the columns `parent` and `child`: a tree whose leaves are the classes,
    in which the path length to a wrong class is its loss. None by default."""

    class_costs: Typed | None = None
    """Path of a table of the costs of wrong classes: a line for each true class, a column for each
    predicted one. None by default."""

    series: Typed | None = None
    """`true` where the outputs are the steps of a time series, in the order of the columns."""

    row_name: Typed | None = None
    """Column that names the rows; by default a column of texts that differ in every row."""

    methods: Typed | None = None
    """Methods to compare, separated by commas; names with `-` before them are left out of the usual
    methods (`-ofer-density,-m-rf`). By default the usual methods that can run."""

    splits: Typed | None = None
    """Number of splits into training and test rows; by default as many as fit into five minutes, up
    to 10."""

    delimiter: Typed | None = None
    """The character between two cells, or `tab`, `comma`, `semicolon`, `bar`, `space`; by default
    detected from the header."""

    sheet: Typed | None = None
    """Sheet of a workbook; by default the first that is neither hidden nor empty."""

    missing: Typed | None = None
    """Marks of missing values in addition to the usual ones, separated by commas, such as
    `-999,unknown`; none by default."""

    not_missing: Typed | None = None
    """Usual marks of missing values that are values in this table, separated by commas, such as
    `NA` for North America; none by default."""

    decimal: Typed | None = None
    """`point` or `comma`: the decimal mark of columns in which 12,572 may have either; by default
    that of the other columns."""

    date_order: Typed | None = None
    """`day-first` or `month-first`: the order in the dates of `time` such as 1/02/2024; by default
    as a day after the 12th shows."""


class Request(TableRequest):
    """The settings of a table, for `snakemake new` or `snakemake learn`; those here are of `learn`
    alone."""

    components: Typed | None = None
    """Number of components of a mixture of the outputs, for OFER; null (the default): kernel ridge
    regression of the outputs."""

    landmarks: Typed | None = None
    """Number of landmarks; 1000 by default. Time grows with its square."""

    blocks: Typed | None = None
    """Number of blocks of rows, each a job; 1 by default."""


_TYPED = {*Request.model_fields, "rows", "keep"}


def typed_values(arguments: Sequence[str], command: Sequence[str] = ()) -> dict[str, str]:
    """Return the values of a request, of ``rows`` and of ``keep``, as texts that were typed.

    Snakemake reads a value as YAML, where `Sugar #2` is `Sugar` and `1158.80` is 1158.8. It takes a
    value that begins with ``#`` for nothing, and stops; such a value is typed with a backslash
    before it, which is removed here. Quotes that the shell has left around a value are removed from
    paths and names; those around names of columns are read with the table.

    Raises UserError for a key that is given twice, and for ``--config`` that is: only the last one
    would count.

    Parameters
    ----------
    arguments : sequence of str
        Each ``KEY=VALUE`` after ``--config``. Empty values and other keys are left out.
    command : sequence of str, default=()
        The words of the whole command.
    """
    pairs = [argument.partition("=")[::2] for argument in arguments]
    counts = Counter(key for key, _ in pairs)
    counts["--config"] = sum(word in ("--config", "-C") for word in command)
    for key, count in counts.items():
        if count > 1:
            raise UserError(
                "the command",
                f"{key} is given {count} times",
                "every key once, all of them after one --config",
                'write several columns in one value: outputs="y1,y2"',
            )
    values = {key: value for key, value in pairs if key in _TYPED and value}
    values |= {key: unquoted(values[key]) for key in ("name", "data", "rows") if key in values}
    return {key: value[value.startswith("\\#") :] for key, value in values.items()}


def encoded(arguments: Sequence[str]) -> list[str]:
    """Return ``KEY=VALUE`` whose typed values hold only signs that no shell and no YAML changes.

    Snakemake writes them into the commands of its jobs.
    """
    pairs = [argument.partition("=")[::2] for argument in arguments]
    return [f"{key}={quote(value) if key in _TYPED else value}" for key, value in pairs]


def decoded(arguments: Sequence[str]) -> list[str]:
    """Return the ``KEY=VALUE`` from which `encoded` made `arguments`."""
    pairs = [argument.partition("=")[::2] for argument in arguments]
    return [f"{key}={unquote(value) if key in _TYPED else value}" for key, value in pairs]


def result_name(rows: str | Path) -> str:
    """Return the name of the predictions for a file of new rows, without its ending ``.csv``.

    It is different for every file: the path from the working folder without ``.csv``, with all
    other endings; outside of that folder the file's name and a digest of its folder.
    """
    path = Path(os.path.relpath(rows))
    name = path.as_posix().removesuffix(".csv")
    if path.parts[0] != os.pardir:
        return name
    digest = hashlib.sha256(os.fsencode(os.path.abspath(path.parent))).hexdigest()
    return f"{os.path.basename(name)}-{digest[:8]}"
