"""Reader of a user table: named columns of any kind become inputs and outputs.

Rows are of four kinds. *Labelled* rows have a value in at least one input and one output. *Weak*
rows have no output, but a value in the column ``same_group``: they resemble the labelled rows with
the same value. *Unpaired* rows have outputs and no input: methods may learn from their outputs
alone. *Unlabelled* rows are all others; they are counted and left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from pydantic import Field, StrictBool

from workflow_lib.core.errors import UserError, unknown_name
from workflow_lib.core.settings import Settings
from workflow_lib.tabular.tables import MISSING_VALUES, dataset_tree, listed

if TYPE_CHECKING:
    import numpy as np

    from workflow_lib.tabular.row_roles import RowKinds
    from workflow_lib.tabular.user_table import Table

TEXTS = ("categories", "strings", "text", "smiles", "sequence")
"""Options of inputs that are not numbers."""

Name = Annotated[str, Field(min_length=1)]


class Range(Settings):
    """The range of an output, in the reader ``table``."""

    least: float | None = None
    """The smallest possible value; null: no such bound."""

    largest: float | None = None
    """The largest possible value; null: no such bound."""

    whole: StrictBool = False
    """Whether all values are whole numbers."""


class Options(Settings):
    """Options of the reader ``table``. Columns are given by names or patterns such as ``x_*``."""

    file: Name
    """The table, relative to the folder of the run: .csv, .tsv, .txt (also with .gz), .parquet, .h5
    or .hdf5."""

    outputs: tuple[Name, ...] = ()
    """Columns of numbers to predict; empty only where `classes` is given."""

    numbers: tuple[Name, ...] = ()
    """Columns of numbers to predict from."""

    bags: StrictBool = False
    """Whether each of `numbers` counts a word of a bag, such as a text, an image or a basket,
    instead of all other inputs, to predict `classes` by methods of bags. Rows that repeat a bag are
    left out but the first, and all rows of a bag with two classes, or without a word."""

    missing_indicators: tuple[Name, ...] = ()
    """Columns among `numbers` that get a further input of 0 and 1 that indicates whether they are
    missing; none by default. Of columns that are missing in the same rows one suffices."""

    spectra: Literal["none", "derivative", "normal_variate", "both"] = "none"
    """What is done to spectra, runs of at least 11 `numbers` whose names differ by a rising or
    falling number alone: `derivative` takes their first derivative (Savitzky-Golay, 11 channels),
    `normal_variate` gives every row of a spectrum the mean 0 and the deviation 1, and `both` the
    second, then the first. Each row is changed by itself, as new rows are."""

    categories: tuple[Name, ...] = ()
    """Columns with few different texts to predict from: one input per text."""

    strings: tuple[Name, ...] = ()
    """Columns with many different short texts to predict from, compared by their n-grams of
    characters."""

    encode: dict[Name, Name] = {}
    """For columns of `categories` or `strings`, or patterns of them, another encoder than that of
    their list: `one-hot` (that of categories), `n-grams` (that of strings), `target` (smoothed
    means of the outputs, cross-fitted on the training rows) or `gamma-poisson` (activations of
    topics of n-grams; needs the extra `encoders`). The last two not besides `text` or `smiles`."""

    text: Name | None = None
    """A column of texts, of which the words are counted."""

    smiles: Name | None = None
    """A column of molecules, as SMILES."""

    sequence: Name | None = None
    """A column of sequences of letters of any lengths, instead of all other inputs, to predict
    `classes` by methods of sequences. Rows that repeat a sequence are left out but the first, and
    all rows of a sequence with two classes, or without two known letters in a row."""

    letters: Annotated[str, Field(min_length=2, pattern="^[A-Z]+$")] = "ACGT"
    """The known letters of `sequence`; small letters are the same, and others are unknown."""

    gram: Name | None = None
    """File of a square table of kernel values between all rows of `file`, in their order, instead
    of all other inputs; a header is optional."""

    row_name: Name | None = None
    """Column that names the rows; null: their lines do."""

    group: Name | None = None
    """Column of groups of rows that a grouped split never separates."""

    time: Name | None = None
    """Column with the time of each row, for a chronological split: numbers, or dates such as
    2024-05-31 (the time of day may follow)."""

    same_group: Name | None = None
    """Column that relates rows without outputs to labelled rows with the same value; such rows are
    weak rows."""

    classes: Name | None = None
    """Column of the class to predict, instead of `outputs`."""

    class_vectors: Name | None = None
    """File of a table with a vector for every class: its first column names the class. Null: all
    classes are equally far from each other."""

    incomplete_rows: Literal["keep", "drop"] = "keep"
    """Use of rows that lack some of their outputs: `keep` (the default: in training, missing values
    are replaced by the mean of the output, and errors count the known values only) or `drop` (such
    a row counts as a row without outputs: it is not used, or weak where it has a group)."""

    ranges: dict[Name, Range] = {}
    """For outputs, or patterns of them, the range of possible values, as `y1: {least: 0, largest:
    100, whole: true}`, each of which may be left out: it limits prediction intervals."""

    number_formats: dict[Name, Name] = {}
    """For columns of numbers that are not written as usual, how the number 1234.5 is written there:
    `"1.234,5"`, `"1'234.5"`, `"$1,234.5"` or `"1234,5 mg"`. In these columns a minus may have any
    form, numbers in brackets are negative, and Fortran's exponents (1.5D+03) are read."""

    date_order: Literal["day-first", "month-first"] | None = None
    """The order of day and month in the dates of `time` that are written as 31/05/2024; null: as a
    day after the 12th shows."""

    missing_values: tuple[str, ...] = MISSING_VALUES
    """Cells that count as missing, in addition to empty cells."""

    delimiter: Annotated[str, Field(min_length=1, max_length=1)] | None = None
    """The character between two cells of a text file; null: detected from the header."""

    sheet: str | None = None
    """Sheet of a workbook; null: the first that is neither hidden nor empty."""


def kind_of_inputs(options: Options) -> str:
    """Return ``letters`` of a column of sequences, ``counts`` of words in bags, or ``numbers``."""
    if options.sequence:
        return "letters"
    return "counts" if options.bags else "numbers"


def read(options: Options, sources: Sequence[Path], seed: int) -> dict[str, Any]:
    """Return the labelled, weak and unpaired rows of a table; `sources` and `seed` are not used.

    ``inputs`` and ``lagged_values``: the columns encoded by
    `workflow_lib.data.table_encoding.TableEncoding`, or the kernel values (n, n) between the
    rows. ``outputs`` (n, d): NaN where missing; weak rows have none. In addition to the tree of
    `workflow_lib.tabular.tables.dataset_tree`:

    ``encoding``
        the tree of the encoding, needed for later rows.
    ``column_origins``
        ``properties`` and ``groups`` (q,) of the dense columns
        (`workflow_lib.inputs.column_origins`), where several encode a column of the table or are
        of one group.
    ``learned_columns``
        only where folds learn the codes of columns of names: ``described``, for each of the m
        columns its name, encoder and levels, as JSON; and ``codes`` (n, m), the level of each row.
    ``rows``
        ``line`` (n,) int64, the line of each row in the file, and ``name``, n texts.
    ``weak_groups``
        with `same_group`: ``codes`` (n,) int64, -1 for rows without a group, and ``names``, the
        text of each code.
    ``groups``, ``order``
        with `group` and `time`: see `dataset_tree`. All values of a row are known at its time, and
        rows have no other relations: each has a company of its own.
    ``unpaired``
        only where rows have outputs and no input: their ``outputs`` (m, d), ``line`` (m,), with
        `group` the code of the ``group`` (m,), -1 where no labelled or weak row has it, and with
        `time` the ``time`` (m,). All other arrays are those of the n labelled and weak rows.
    ``classes``
        with `classes`: see `workflow_lib.data.class_tables.class_dataset_tree`. Without class
        vectors, they are unit vectors: 1 for the class and 0 for the others.

    ``report`` also holds ``rows_labelled``, ``rows_weak``, ``rows_unlabelled``, ``rows_unpaired``
    (where there are any; of classes they are left out) and ``rows_incomplete`` (rows that lack some
    outputs, kept or not), and for kernel values
    ``least_eigenvalue`` relative to the largest, ``clipped_eigenvalues`` (their number) and
    ``largest_change`` (of a value), which depend on the inputs of all rows but not on outputs.
    ``rows`` and the texts of groups are JSON in arrays of bytes. ``series_length`` in ``names`` is
    d, for outputs that are steps of a series.

    Raises UserError naming the file and the line or the option at fault: too few labelled rows, an
    output that is constant or not numeric, a column that is used twice, no input, unpaired rows
    that are copies of labelled rows (`workflow_lib.tabular.row_roles.check_unpaired`), and as
    `workflow_lib.tabular.table_file.read_table`.
    """
    from workflow_lib.tabular.table_file import read_table

    table = read_table(options.file, options.missing_values, options.delimiter, sheet=options.sheet)
    return dataset_of(table, options)


def dataset_of(table: Table, options: Options) -> dict[str, Any]:
    """Return the tree of `read` for a table."""
    import numpy as np

    from workflow_lib.tabular.row_roles import check_labelled, check_unpaired

    for name in options.number_formats:
        table.named(name, "number_formats")
    table = table.with_formats(options.number_formats)
    columns = _columns(table, options)
    if options.sequence is not None or options.bags:
        return _item_tree(table, options, columns)
    if options.classes is not None:
        return _class_tree(table, options, columns)
    outputs = table.matrix(columns["outputs"])
    missing = np.isnan(outputs)
    incomplete = missing.any(axis=1) & ~missing.all(axis=1)
    if options.incomplete_rows == "drop":
        outputs[incomplete] = np.nan
    kinds = _row_kinds(table, ~np.isnan(outputs).all(axis=1), options, columns)
    labelled, weak, unpaired = kinds
    check_labelled(table, int(labelled.sum()), "output", int(unpaired.sum()))
    check_unpaired(table, outputs, kinds)
    kept = np.flatnonzero(labelled | weak)
    rows = table.selected(kept)
    ranges = _ranges(table, outputs, columns["outputs"], options)
    inputs = _inputs(table, kept, options, columns)
    groups = inputs.groups | _described_rows(rows, labelled[kept], options)
    if unpaired.any():
        groups["unpaired"] = _unpaired_tree(table, unpaired, outputs, rows, options)
    tree = dataset_tree(
        inputs.values,
        outputs[kept],
        inputs.columns,
        columns["outputs"],
        location=table.location,
        rows_read=table.n_rows,
        allow_missing_outputs=True,
        weak_rows=weak[kept],
        names={"series_length": outputs.shape[1], "series_channels": 1, **ranges, **inputs.names},
        report=inputs.report | _counts(table, kinds) | {"rows_incomplete": int(incomplete.sum())},
        **groups,
    )
    tree["report"]["rows_dropped"] -= int(unpaired.sum())
    return tree


def _class_tree(
    table: Table, options: Options, columns: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """Return the tree of a table whose rows belong to classes."""
    import numpy as np

    from workflow_lib.data.class_tables import class_dataset_tree, usable_classes
    from workflow_lib.tabular.row_roles import check_labelled

    texts = table.strings(options.classes)
    kinds = _row_kinds(table, texts != "", options, columns)
    labelled = np.flatnonzero(kinds.labelled)
    check_labelled(table, len(labelled), "class", int(kinds.unpaired.sum()))
    found = sorted(set(texts[labelled]))
    if options.class_vectors is None:
        names, vectors, components = found, np.eye(len(found)), found
    else:
        names, vectors, components = _class_vectors(options, found)
    numbers = {name: number for number, name in enumerate(names)}
    usable = usable_classes(np.array([numbers[text] for text in texts[labelled]]), vectors, names)
    kept = labelled[usable.rows]
    check_labelled(table, len(kept), "class that has a vector")
    rows = table.selected(kept)
    inputs = _inputs(table, kept, options, columns)
    counts = _counts(table, kinds)
    return class_dataset_tree(
        inputs.values,
        usable.labels,
        usable.vectors,
        usable.names,
        inputs.columns,
        components,
        _row_names(rows, options),
        location=table.location,
        report=inputs.report | usable.report | counts,
        rows_read=table.n_rows,
        names=inputs.names,
        **inputs.groups,
        **_described_rows(rows, np.ones(len(kept), dtype=bool), options),
    )


def _item_tree(
    table: Table, options: Options, columns: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """Return the tree of a table of sequences or bags that belong to classes."""
    from workflow_lib.data.table_bags import with_usable_bags
    from workflow_lib.data.table_sequences import with_usable_sequences

    (classes,) = columns["classes"]
    if options.bags:
        usable, excluded = with_usable_bags(table, columns["numbers"], classes)
    else:
        named = columns["sequence"][0], classes, options.letters
        usable, excluded = with_usable_sequences(table, *named)
    tree = _class_tree(usable, options, columns)
    n_left_out, report = sum(excluded.values()), tree["report"]
    for count in ("rows_read", "rows_dropped"):
        report[count] += n_left_out
    report["exclusions"] = {**report["exclusions"], **excluded}
    return tree


# Columns


def _columns(table: Table, options: Options) -> dict[str, list[str]]:
    """Return the columns of each option; refuse options that contradict each other."""
    location = f"{table.location}, options of the reader 'table'"
    if (options.classes is None) == (not options.outputs):
        raise UserError(
            location=location,
            found="both outputs and classes" if options.outputs else "neither outputs nor classes",
            expected="outputs (columns of numbers) or classes (a column of texts)",
            remedy="name columns to predict" if not options.outputs else "remove one of the two",
        )
    needs = (
        ("class_vectors", "classes"),
        ("same_group", "outputs"),
        ("ranges", "outputs"),
        ("sequence", "classes"),
        ("bags", "classes"),
        ("bags", "numbers"),
    )
    for option, other in needs:
        if getattr(options, option) and not getattr(options, other):
            raise UserError(
                location=location,
                found=f"{option} without {other}",
                expected=f"{option} only where {other} is given",
                remedy=f"remove {option}",
            )
    columns = {
        option: table.matching(getattr(options, option), option)
        for option in ("outputs", "numbers", "categories", "strings", "missing_indicators")
    }
    others = [name for name in columns["missing_indicators"] if name not in columns["numbers"]]
    if others:
        raise UserError(
            location=f"{location}, key missing_indicators",
            found=f"columns that are not among numbers: {listed(others)}",
            expected="columns of numbers to predict from",
            remedy="add them to numbers, or take them out of missing_indicators",
        )
    columns["encode"] = _encoders(table, options, [*columns["categories"], *columns["strings"]])
    for option in (
        "text",
        "smiles",
        "sequence",
        "classes",
        "row_name",
        "group",
        "time",
        "same_group",
    ):
        name = getattr(options, option)
        columns[option] = [] if name is None else [_one_column(table, name, option)]
    inputs = ("numbers", "categories", "strings", "text", "smiles", "sequence")
    used: dict[str, str] = {}
    # A column that relates rows may be an input as well, but never an output.
    for option in ("outputs", "classes", "group", "time", "same_group", "row_name", *inputs):
        for name in columns[option]:
            if name in used:
                raise UserError(
                    location=location,
                    found=f"the column '{name}' is in {used[name]} and in {option}",
                    expected="every column in at most one of them",
                    remedy="take it out of one of the two",
                )
            if option in ("outputs", "classes", *inputs):
                used[name] = option
    named = [option for option in inputs if columns[option]]
    if (options.gram is None) == (not named):
        raise UserError(
            location=location,
            found=f"gram together with {', '.join(named)}" if named else "no inputs are named",
            expected="columns in numbers, categories, strings, text or smiles; gram; or sequence",
            remedy="remove gram or these columns" if named else "name columns to predict from",
        )
    of_inputs = [*named, *(["missing_indicators"] if columns["missing_indicators"] else [])]
    for option, alone in (("sequence", "sequence"), ("bags", "numbers")):
        others = [name for name in of_inputs if name != alone]
        if getattr(options, option) and others:
            raise UserError(
                location=location,
                found=f"{option} together with {', '.join(others)}",
                expected=f"no other inputs beside those of {option}",
                remedy=f"remove {option} or these columns",
            )
    return columns


def _encoders(table: Table, options: Options, names: Sequence[str]) -> dict[str, str]:
    """Return the encoder of each column that `encode` names, among columns of names."""
    if not options.encode:
        return {}
    from workflow_lib.inputs.encoder_names import N_GRAMS, ONE_HOT, encoder_names

    location, known = f"{table.location}, options of the reader 'table'", [ONE_HOT, N_GRAMS]
    known += encoder_names()
    encoders: dict[str, str] = {}
    for pattern, encoder in options.encode.items():
        if encoder not in known:
            raise unknown_name(f"{location}, encode.{pattern}", "encoder", encoder, known)
        chosen = [name for name in table.matching([pattern], "encode") if name in names]
        if not chosen:
            raise UserError(
                location=f"{location}, key encode",
                found=f"'{pattern}', which is neither in categories nor in strings",
                expected="columns of names to predict from",
                remedy="add it to categories, or take it out of encode",
            )
        encoders |= dict.fromkeys(chosen, encoder)
    return encoders


def _one_column(table: Table, name: str, option: str) -> str:
    names = table.matching([name], option)
    if len(names) > 1:
        raise UserError(
            location=f"{table.location}, option {option}",
            found=f"'{name}' matches {len(names)} columns: {listed(names)}",
            expected="one column",
            remedy="write the name of the intended column",
        )
    return names[0]


# Outputs


def _ranges(
    table: Table, outputs: np.ndarray, names: Sequence[str], options: Options
) -> dict[str, str]:
    """Return the entry ``ranges`` of the names: JSON, an object per output; refuse wrong ranges."""
    import numpy as np

    if not options.ranges:
        return {}
    found: dict[str, Range] = {}
    for key, limits in options.ranges.items():
        location = f"{table.location}, options of the reader 'table', ranges.{key}"
        least = -np.inf if limits.least is None else limits.least
        largest = np.inf if limits.largest is None else limits.largest
        if not least < largest:
            raise UserError(
                location=location,
                found=f"least {least:g}, largest {largest:g}",
                expected="a largest value above the least value",
                remedy="fix the two, or remove one",
            )
        chosen = [name for name in table.matching([key], "ranges") if name in names]
        if not chosen:
            raise UserError(
                location=location,
                found=f"'{key}' is not an output",
                expected=f"one of the outputs: {listed(names)}",
                remedy="name an output, or remove the range",
            )
        for name in chosen:
            found[name] = limits
            values = outputs[:, list(names).index(name)]
            fractional = limits.whole & (values != np.rint(values)) & ~np.isnan(values)
            for row in np.flatnonzero((values < least) | (values > largest) | fractional):
                raise UserError(
                    location=table.where(row, name),
                    found=f"the value {values[row]:g}",
                    expected=f"a {'whole ' * limits.whole}number from {least:g} to {largest:g}, by "
                    f"ranges.{key} in the options of the dataset",
                    remedy="fix the value, or the range of this output, or remove the range",
                )
    each = [
        found[name].model_dump(exclude_defaults=True) if name in found else {} for name in names
    ]
    return {"ranges": json.dumps(each)}


def _class_vectors(
    options: Options, found: Sequence[str]
) -> tuple[list[str], np.ndarray, list[str]]:
    """Return names and vectors of all classes, NaN for those without, and names of components."""
    import numpy as np

    from workflow_lib.tabular.cell_texts import known_spelling
    from workflow_lib.tabular.table_file import read_table

    table = read_table(options.class_vectors, options.missing_values)
    key, *components = table.names
    if not components:
        raise UserError(
            location=table.location,
            found=f"one column, '{key}'",
            expected="the class in the first column, and its vector in the others",
            remedy="add the components of the vectors",
        )
    names = known_spelling(table.keys(key, "class"), found)
    vectors = table.matrix(components, complete=True)
    without = [name for name in found if name not in names]
    vectors = np.vstack([vectors, np.full((len(without), len(components)), np.nan)])
    return names + without, vectors, components


# Inputs


class _Inputs(NamedTuple):
    """Inputs of the rows, and their entries of the tree."""

    values: Any
    columns: list[str]
    groups: dict[str, Any]
    names: dict[str, str]
    report: dict[str, Any]


def _inputs(
    table: Table, kept: np.ndarray, options: Options, columns: Mapping[str, Sequence[str]]
) -> _Inputs:
    """Return the inputs of the rows `kept`, counted from 0."""
    import numpy as np

    from workflow_lib.core.json_text import json_bytes
    from workflow_lib.data.table_encoding import TableEncoding
    from workflow_lib.items.kinds import counts, letters
    from workflow_lib.tabular.kernel_table import read_kernel_table

    rows = table.selected(kept)
    encoding = TableEncoding.fit(
        rows,
        columns["numbers"],
        columns["categories"],
        columns["strings"],
        *(next(iter(columns[option]), None) for option in ("text", "smiles")),
        columns["missing_indicators"],
        columns["encode"],
        next(iter(columns["sequence"]), None),
        options.letters,
        options.bags,
        options.spectra,
    )
    groups: dict[str, Any] = {"encoding": encoding.tree()}
    if options.gram is not None:
        values, report = read_kernel_table(Path(options.gram), table.n_rows, kept)
        return _Inputs(values, _row_names(rows, options), groups, {}, report)
    if encoding.sequence is not None:
        groups["items"] = letters.items_group(options.letters)
    origins = encoding.origins
    if len(np.unique(origins.properties)) < len(origins.properties) or origins.has_groups:
        groups["column_origins"] = vars(origins)
    encoded = encoding.encode(rows)
    if options.bags:
        groups["items"] = counts.pack(encoded.inputs, len(columns["numbers"]))["items"]
    names = {} if encoding.sequence is None else {"letters": options.letters}
    if encoded.lagged_values is not None:
        groups["lagged_values"] = {"values": encoded.lagged_values}
        names["lagged_values"] = json.dumps(encoded.lagged_names, ensure_ascii=False)
    if encoding.learned:
        groups["learned_columns"] = {
            "described": json_bytes(
                [[name, of, levels.all_texts] for name, (of, levels) in encoding.learned.items()]
            ),
            "codes": np.column_stack(
                [
                    levels.indices(encoded.texts[name])
                    for name, (_, levels) in encoding.learned.items()
                ]
            ),
        }
    return _Inputs(encoded.inputs, encoded.names, groups, names, {})


# Rows


def _described_rows(rows: Table, labelled: np.ndarray, options: Options) -> dict[str, Any]:
    """Return the groups of the tree that describe the rows; `labelled` is a mask of them."""
    import numpy as np

    from workflow_lib.core.json_text import json_bytes
    from workflow_lib.tabular.row_roles import codes_of, group_codes, row_times

    groups: dict[str, Any] = {
        "rows": {"line": rows.lines.copy(), "name": json_bytes(_row_names(rows, options))}
    }
    if options.same_group is not None:
        codes, names = codes_of(rows.strings(options.same_group))
        groups["weak_groups"] = {"codes": codes, "names": json_bytes(names)}
    if options.group is not None:
        codes, names = group_codes(rows, options.group, labelled)
        # Weak rows are never test rows: each one without a group gets a group of its own.
        alone = np.flatnonzero(codes < 0)
        codes[alone] = len(names) + np.arange(len(alone))
        groups["groups"] = {"group": codes}
    if options.time is not None:
        times = row_times(rows, options.time, options.date_order)
        company = np.arange(rows.n_rows)
        groups["order"] = {"time": times, "begin": times, "end": times, "company": company}
    return groups


def _row_kinds(
    table: Table, is_known: np.ndarray, options: Options, columns: Mapping[str, Sequence[str]]
) -> RowKinds:
    """Return the kinds of the rows; with kernel values every row has an input."""
    from workflow_lib.tabular.row_roles import row_kinds

    texts = [name for option in TEXTS for name in columns[option]]
    return row_kinds(table, is_known, columns["numbers"], texts, options.same_group)


def _unpaired_tree(
    table: Table, unpaired: np.ndarray, outputs: np.ndarray, others: Table, options: Options
) -> dict[str, np.ndarray]:
    """Return the group of the rows `unpaired` (a mask); `others` are the labelled and weak rows."""
    import numpy as np

    from workflow_lib.tabular.row_roles import codes_of, row_times

    rows = table.selected(unpaired)
    tree = {"outputs": outputs[unpaired], "line": rows.lines.copy()}
    if options.group is not None:
        numbers = {
            name: code for code, name in enumerate(codes_of(others.strings(options.group))[1])
        }
        tree["group"] = np.array([numbers.get(name, -1) for name in rows.strings(options.group)])
    if options.time is not None:
        tree["time"] = row_times(rows, options.time, options.date_order)
    return tree


def _row_names(rows: Table, options: Options) -> list[str]:
    """Return the name of each row, or its line in the file without a name."""
    names = [""] * rows.n_rows if options.row_name is None else rows.strings(options.row_name)
    lines = [rows.where(row).rpartition(", ")[2] for row in range(rows.n_rows)]
    return [name or line for name, line in zip(names, lines)]


def _counts(table: Table, kinds: RowKinds) -> dict[str, int]:
    n_labelled, n_weak, n_unpaired = (int(mask.sum()) for mask in kinds)
    counts = {
        "rows_labelled": n_labelled,
        "rows_weak": n_weak,
        "rows_unlabelled": table.n_rows - n_labelled - n_weak - n_unpaired,
    }
    return counts | ({"rows_unpaired": n_unpaired} if n_unpaired else {})
