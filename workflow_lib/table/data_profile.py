"""Facts about a table before any model: missing, repeated and suspicious values, and sizes.

A data profile shows mistakes that no model can fix: outputs hidden among the inputs, rows entered
twice, a table sorted by its output. It is not random, and does not change the table.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from workflow_lib.data.column_kinds import (
    CATEGORY,
    CONSTANT,
    EMPTY,
    KINDS,
    NUMBER,
    ROW_NAME,
    STRINGS,
    ColumnKind,
    column_kinds,
    looks_like_row_id,
)
from workflow_lib.table.leaks import (
    Leak,
    correlations,
    level_leaks,
    numeric_leaks,
    rank_correlation,
)
from workflow_lib.table.replicates import Column, find_replicates, names_samples
from workflow_lib.tabular.row_roles import RowKinds, codes_of, row_kinds, rows_with_inputs
from workflow_lib.tabular.user_table import Table

INPUT_LISTS = ("numbers", "categories", "strings")
"""Options that list columns of inputs."""

INPUT_COLUMNS = ("text", "smiles", "sequence")
"""Options that name a single column of inputs."""

OTHER_COLUMNS = ("row_name", "group", "time", "same_group", "classes")
"""Options that name a single column that is not an input."""

USUAL_SIZES = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
"""Numbers of training rows of a learning curve, in steps of about a factor of two."""

MAX_SIZES = 2
"""Largest number of sizes of a learning curve below its largest size: its end shows whether more
rows would help, and every size costs a fit of each method in each split."""

MAX_SHARE = 0.8
"""Upper bound of the other sizes, as a share of the largest: closer sizes give little new
information."""

MAX_SIZE = 4000
"""Largest number of training rows: the time of kernel methods grows with its third power."""

KEEP, DROP = "keep", "drop"
"""Whether a row with some missing outputs is used."""

TEST_SHARE = 0.2
"""Share of test rows among the labelled rows; in five numbered splits about every row is then a
test row once."""

MIN_TEST_ROWS = 5

MIN_FOLD_ROWS = 5
"""Smallest number of training rows: one for each of the five folds of the selection."""

ORDERED = 0.3
"""Smallest rank correlation of an output with its row number that is reported."""

ORDERED_DEVIATIONS = 4.0
"""Smallest distance of this correlation from 0 in standard deviations, to exclude chance."""

MAX_PAIRS = 5
MAX_OUTPUTS_IN_MATRIX = 30


def data_profile(
    table: Table,
    options: Mapping[str, Any],
    kinds: Mapping[str, ColumnKind] | None = None,
    leaks: Sequence[Leak] | None = None,
    replicates: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return facts about a table as values that JSON can hold.

    `options` are the roles of the columns, as in the options of the reader ``table``; patterns are
    allowed. `kinds`, `leaks` and `replicates` are the results of `column_kinds`, `leaks_of` and
    `replicates_of`, if known.

    Raises UserError when an option names a column that does not exist, or an output is not a
    number.

    All but ``rows`` and the numbers of rows of each kind are facts about the rows with inputs:
    ``file``, ``rows``, ``columns``; ``kinds``: the names of the columns of each kind; ``missing``:
    the share of missing cells of the columns with some; ``constant``, ``empty``, ``row_names``:
    such columns; ``duplicate_rows``: rows that repeat an earlier row in every column;
    ``contradictions``: labelled rows with the same inputs as another labelled row but other
    outputs; ``leaks``: see `workflow_lib.table.leaks` (with ``used``: whether the column is an
    input); ``replicates``: see `replicates_of`, empty without any; ``row_order``: outputs by which
    the rows seem sorted; ``output_correlations``: ``largest`` pairs, and the ``matrix`` of up to 30
    outputs; ``outputs``: number of known values, mean, deviation, least and largest value of each;
    ``rows_labelled``, ``rows_weak``, ``rows_unpaired`` (outputs and no input), ``rows_unlabelled``
    (inputs and no output), ``rows_empty`` (neither), ``rows_partly_labelled``, and
    ``incomplete_rows``: whether these are used; ``n_test`` and ``training_sizes`` of random splits
    of the labelled rows; for classes ``classes``: the number of rows of each.
    """
    columns = resolved(table, options)
    numbers = _rows_by_kind(table, columns)
    table = with_inputs(table, columns)
    kinds = kinds or column_kinds(table)
    outputs = table.matrix(columns["outputs"])
    labelled = kinds_of_rows(table, columns).labelled
    inputs = input_names(columns)
    of_kind = {kind: [name for name in table.names if kinds[name].kind == kind] for kind in KINDS}
    readable = [name for name in table.names if name not in table.unreadable]
    facts = {
        "file": Path(table.location).name,
        "rows": numbers["rows"],
        "columns": len(table.names),
        "kinds": of_kind,
        "missing": {
            name: kinds[name].n_missing / table.n_rows
            for name in table.names
            if kinds[name].n_missing
        },
        "constant": of_kind[CONSTANT],
        "empty": of_kind[EMPTY],
        "row_names": of_kind[ROW_NAME],
        "duplicate_rows": table.n_rows - 1 - int(row_groups(table, readable).max()),
        "contradictions": n_contradictions(table, inputs, columns, labelled),
        "leaks": [
            {**leak._asdict(), "used": leak.column in inputs}
            for leak in (leaks_of(table, columns, kinds) if leaks is None else leaks)
        ],
        "replicates": replicates_of(table, columns, kinds) if replicates is None else replicates,
        "row_order": _sorted_outputs(outputs, columns["outputs"]),
        "output_correlations": _output_correlations(outputs, columns["outputs"]),
        "outputs": _summaries(outputs, columns["outputs"]),
        **numbers,
        "incomplete_rows": columns["incomplete_rows"],
    }
    if columns["classes"]:
        facts["classes"] = dict(
            sorted(Counter(table.strings(columns["classes"])[labelled]).items())
        )
    else:
        n_test = n_test_rows(facts["rows_labelled"])
        facts["n_test"] = n_test
        facts["training_sizes"] = training_sizes(facts["rows_labelled"] - n_test)
    return facts


def resolved(table: Table, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of each option: a list of names, or a single name or None."""
    columns: dict[str, Any] = {}
    for option in ("outputs", *INPUT_LISTS):
        columns[option] = table.matching(tuple(options.get(option) or ()), option)
    for option in (*INPUT_COLUMNS, *OTHER_COLUMNS):
        name = options.get(option)
        columns[option] = table.matching((name,), option)[0] if name else None
    columns["incomplete_rows"] = options.get("incomplete_rows", KEEP)
    return columns


def input_names(columns: Mapping[str, Any]) -> list[str]:
    """Return the columns of the inputs, from the result of `resolved`."""
    names = [name for option in INPUT_LISTS for name in columns[option]]
    return names + [columns[option] for option in INPUT_COLUMNS if columns[option]]


def kinds_of_rows(table: Table, columns: Mapping[str, Any]) -> RowKinds:
    """Return the kinds of the rows, from the result of `resolved`.

    Known is a class, or at least one output (all, where ``incomplete_rows`` is `DROP`).
    """
    if columns["classes"]:
        known = table.strings(columns["classes"]) != ""
    else:
        values = ~np.isnan(table.matrix(columns["outputs"]))
        known = values.all(axis=1) if columns["incomplete_rows"] == DROP else values.any(axis=1)
    return row_kinds(table, known, *_numbers_and_texts(columns), columns["same_group"])


def with_inputs(table: Table, columns: Mapping[str, Any]) -> Table:
    """Return the table of the rows that have a value in an input column."""
    kept = rows_with_inputs(table, *_numbers_and_texts(columns))
    return table if kept.all() else table.selected(kept)


def _numbers_and_texts(columns: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Return the columns of inputs that are numbers, and the others."""
    numbers = columns["numbers"]
    return numbers, [name for name in input_names(columns) if name not in numbers]


def _rows_by_kind(table: Table, columns: Mapping[str, Any]) -> dict[str, int]:
    labelled, weak, unpaired = kinds_of_rows(table, columns)
    has_inputs = rows_with_inputs(table, *_numbers_and_texts(columns))
    known = ~np.isnan(table.matrix(columns["outputs"]))
    others = ~labelled & ~weak & ~unpaired & ~known.any(axis=1)
    return {
        "rows": table.n_rows,
        "rows_labelled": int(labelled.sum()),
        "rows_weak": int(weak.sum()),
        "rows_unpaired": int(unpaired.sum()),
        "rows_unlabelled": int((others & has_inputs).sum()),
        "rows_empty": int((others & ~has_inputs).sum()),
        "rows_partly_labelled": int((known.any(axis=1) & ~known.all(axis=1)).sum()),
    }


def n_test_rows(n_labelled: int) -> int:
    """Return the number of test rows: `TEST_SHARE` of the labelled, at least `MIN_TEST_ROWS`."""
    return max(round(TEST_SHARE * n_labelled), MIN_TEST_ROWS)


def training_sizes(n_pool: int) -> list[int]:
    """Return the training sizes of a learning curve over a pool of `n_pool` rows.

    The `MAX_SIZES` largest of `USUAL_SIZES` up to `MAX_SHARE` of the pool, and the whole pool
    (at most `MAX_SIZE` rows); none when the pool cannot fill the folds.
    """
    if n_pool < MIN_FOLD_ROWS:
        return []
    largest = min(n_pool, MAX_SIZE)
    below = [size for size in USUAL_SIZES if size <= MAX_SHARE * largest]
    return below[-MAX_SIZES:] + [largest]


def row_groups(table: Table, names: Sequence[str]) -> np.ndarray:
    """Return a number (n,) for each row, from 0, the same for rows equal in the columns `names`."""
    import pandas

    frame = pandas.DataFrame(
        {
            name: table.numbers(name) if table.is_numeric(name) else table.strings(name)
            for name in names
        }
    )
    return frame.groupby(list(frame), sort=False, dropna=False).ngroup().to_numpy()


def n_contradictions(
    table: Table, inputs: Sequence[str], columns: Mapping[str, Any], labelled: np.ndarray
) -> int:
    """Return how many labelled rows share their inputs with a row of other outputs (or class)."""
    if not inputs or not labelled.any():
        return 0
    targets = [columns["classes"]] if columns["classes"] else columns["outputs"]
    groups = row_groups(table, inputs)[labelled]
    different = np.unique(np.column_stack([groups, row_groups(table, targets)[labelled]]), axis=0)
    return int((np.bincount(different[:, 0])[groups] > 1).sum())


def leaks_of(
    table: Table, columns: Mapping[str, Any], kinds: Mapping[str, ColumnKind]
) -> list[Leak]:
    """Return the columns that determine an output or the class (`workflow_lib.table.leaks`).

    Columns that are left out of the inputs are checked too, so that a copy of an output is reported
    even if no method uses it.
    """
    taken = set(columns["outputs"]) | {columns[option] for option in OTHER_COLUMNS}
    free = [name for name in table.names if name not in taken]
    levels = {name: table.strings(name) for name in free if kinds[name].kind in (CATEGORY, STRINGS)}
    numbers = [name for name in free if kinds[name].kind == NUMBER]
    if columns["classes"]:
        classes = table.strings(columns["classes"])
        known = classes != ""
        codes = np.where(known, np.unique(classes, return_inverse=True)[1], np.nan)
        # A number that encodes the class has about as few values as there are classes.
        few = [
            name for name in numbers if kinds[name].n_distinct <= 2 * len(np.unique(codes[known]))
        ]
        levels |= {name: table.numbers(name) for name in few}
        return level_leaks(levels, codes[:, None], [columns["classes"]])
    outputs = table.matrix(columns["outputs"])
    return [
        *numeric_leaks(table.matrix(numbers), outputs, numbers, columns["outputs"]),
        *level_leaks(levels, outputs, columns["outputs"]),
    ]


def replicates_of(
    table: Table, columns: Mapping[str, Any], kinds: Mapping[str, ColumnKind]
) -> dict[str, Any]:
    """Return the labelled rows that share all outputs (`workflow_lib.table.replicates`).

    Empty without such rows. Otherwise the result of `find_replicates`; ``what`` they share, outputs
    or class; ``used``: which of the columns are inputs; and ``kept_together``: whether the column
    ``group`` keeps the rows of every sample together.
    """
    rows = table.selected(kinds_of_rows(table, columns).labelled)
    classes, group = columns["classes"], columns["group"]
    if rows.n_rows < 2:
        return {}
    if classes:
        outputs = codes_of(rows.strings(classes))[0][:, None].astype(np.float64)
    else:
        outputs = rows.matrix(columns["outputs"])
    taken = {
        *columns["outputs"],
        *(columns[option] for option in ("classes", "time", "same_group")),
    }
    known = {
        name: _column(rows, name, kinds[name])
        for name in rows.names
        if name not in taken and kinds[name].kind not in (CONSTANT, EMPTY)
    }
    found = find_replicates(outputs, rows.matrix(columns["numbers"]), known, bool(classes))
    if found is None:
        return {}
    facts, samples = found
    return facts | {
        "what": "class" if classes else "outputs",
        "used": [name for name in input_names(columns) if name in facts["columns"]],
        "kept_together": group in known and names_samples(known[group].codes, samples, 2),
    }


def _column(rows: Table, name: str, kind: ColumnKind) -> Column:
    """Return a column that may name the samples."""
    is_identity = looks_like_row_id(name)
    if not rows.is_numeric(name):
        texts = rows.strings(name)
        return Column(codes_of(texts)[0], texts, 1 - is_identity, False)
    values = rows.numbers(name)
    is_missing, is_whole = np.isnan(values), bool((values == np.floor(values)).all())
    codes = np.where(is_missing, -1, np.unique(values, return_inverse=True)[1])
    return Column(codes, values, 0 if is_identity else 3 - is_whole, not is_identity)


def _sorted_outputs(outputs: np.ndarray, names: Sequence[str]) -> list[dict[str, Any]]:
    found = []
    for name, values in zip(names, outputs.T):
        rows = np.flatnonzero(~np.isnan(values))
        if len(rows) < MIN_TEST_ROWS:
            continue
        value = rank_correlation(rows.astype(np.float64), values[rows])
        if abs(value) >= ORDERED and abs(value) * math.sqrt(len(rows) - 1) >= ORDERED_DEVIATIONS:
            found.append({"output": name, "correlation": value})
    return found


def _output_correlations(outputs: np.ndarray, names: Sequence[str]) -> dict[str, Any]:
    values = correlations(outputs, outputs)
    first, second = np.triu_indices(len(names), k=1)
    order = np.argsort(-np.abs(values[first, second]), kind="stable")[:MAX_PAIRS]
    largest = [
        {
            "first": names[first[pair]],
            "second": names[second[pair]],
            "correlation": float(values[first[pair], second[pair]]),
        }
        for pair in order
    ]
    shown = len(names) <= MAX_OUTPUTS_IN_MATRIX
    return {"largest": largest, "matrix": values.tolist() if shown else None}


def _summaries(outputs: np.ndarray, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    summaries = {}
    for name, column in zip(names, outputs.T):
        values = column[~np.isnan(column)]
        summary: dict[str, Any] = {"n_known": len(values)}
        if len(values):
            # Divided by the largest, because sums of huge numbers can overflow.
            unit = float(np.abs(values).max()) or 1.0
            summary |= {
                "mean": float((values / unit).mean()) * unit,
                "deviation": float((values / unit).std()) * unit,
                "least": float(values.min()),
                "largest": float(values.max()),
            }
        summaries[name] = summary
    return summaries
