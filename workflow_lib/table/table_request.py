"""The request of a user to `new`: the file, and the roles of its columns.

Values are as typed on a command line; unknown, missing or contradictory keys are refused with the
names that the user wrote.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from workflow_lib.core.errors import UserError, unknown_name
from workflow_lib.core.optional_packages import is_installed, not_installed
from workflow_lib.core.values import WITHOUT_BRACES, possible_name
from workflow_lib.inputs.encoder_names import GAMMA_POISSON, N_GRAMS, ONE_HOT, encoder_names
from workflow_lib.tabular.column_lists import as_named, columns_of_list, unquoted, without_brackets
from workflow_lib.tabular.dates import DAY_FIRST, ORDERS
from workflow_lib.tabular.tables import MISSING_VALUES
from workflow_lib.tabular.written_numbers import DECIMAL_MARKS

if TYPE_CHECKING:
    from workflow_lib.tabular.user_table import Table

COMMAND = "snakemake new"
"""The location of the keys of a request, for messages."""

LISTS = ("outputs", "inputs", "exclude", "categories", "bags")
"""Keys whose value is a list of columns: names or patterns, separated by commas."""

COLUMNS = (
    "text",
    "smiles",
    "sequence",
    "bag",
    "group",
    "time",
    "same_group",
    "classes",
    "row_name",
)
"""Keys whose value is the name of a column."""

OF_CLASSES = ("class_vectors", "class_tree", "class_costs")
"""Keys with the path of a file about the classes."""

FILES = (*OF_CLASSES, "gram")
"""Keys whose value is the path of a further file."""

SETTINGS = (
    "methods",
    "splits",
    "delimiter",
    "sheet",
    "missing",
    "not_missing",
    "decimal",
    "date_order",
    "series",
    "encode",
    "spectra",
)
"""Keys that name neither columns nor files."""

REQUEST_KEYS = ("name", "data", *LISTS, *COLUMNS, *FILES, *SETTINGS)
"""Every key of a request."""

DELIMITER_NAMES = {
    "tab": "\t",
    "\\t": "\t",
    "comma": ",",
    "semicolon": ";",
    "bar": "|",
    "space": " ",
}
"""Delimiters by their names: some of the characters have a meaning in shells."""

NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")

RESERVED_NAMES = ("datasets", "figures", "tables", "timings", "images", "reports")
"""Folders of results/ that are not experiments."""

CONTRADICTIONS = (
    ("classes", "outputs", "either a class is predicted, or numbers"),
    ("classes", "series", "a class is not a series"),
    ("classes", "time", "every class has its share of the test rows, which the latest rows lack"),
    ("classes", "same_group", "weak rows are for numeric outputs"),
    ("series", "same_group", "weak rows are for outputs that are not series"),
    ("group", "time", "rows are split either by groups or by time"),
    *(
        ("gram", key, "the kernel values replace all inputs")
        for key in ("inputs", "exclude", "categories", "encode", "spectra", "text", "smiles")
    ),
    *(
        ("bags", key, "counts of words are the only inputs of their methods")
        for key in ("inputs", "categories", "encode", "text", "smiles", "gram", "sequence")
    ),
    *(
        ("sequence", key, "sequences are the only inputs of their methods")
        for key in ("inputs", "exclude", "categories", "encode", "text", "smiles", "gram")
    ),
    *(
        ("bag", key, "bags are predicted from the numbers of their rows alone")
        for key in ("categories", "encode", "spectra", "text", "smiles", "gram", "sequence", "bags")
    ),
    ("bag", "outputs", "methods of bags predict classes"),
    ("bag", "group", "the rows of a bag are never divided, and bags are split singly"),
    ("bag", "row_name", "the rows of predictions are bags, and have their names"),
    ("bag", "class_vectors", "classes of bags are equally far from each other"),
    ("sequence", "outputs", "methods of sequences predict classes"),
    ("bags", "outputs", "methods of bags predict classes"),
    *(
        ("encode", key, "inputs with a text or molecules are compared by their inner products")
        for key in ("text", "smiles")
    ),
)
"""Pairs of keys that exclude each other, and why."""

_YES, _NO = ("true", "yes", "1"), ("false", "no", "0")


class RequestedColumns(NamedTuple):
    """The columns that a request names.

    Lists are in the order of the table; ``inputs`` is None for all columns without another role,
    and ``insisted`` holds those of them that were named in full, not by a pattern. ``single`` has
    for each of `COLUMNS` the name of the column, or None, and ``encode`` for columns of names the
    requested encoder.
    """

    outputs: list[str]
    categories: list[str]
    exclude: list[str]
    bags: list[str]
    inputs: list[str] | None
    insisted: set[str]
    single: dict[str, str | None]
    encode: dict[str, str]


def checked_request(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the request with texts stripped, and without empty values.

    ``series`` becomes a bool, ``splits`` a number, ``delimiter`` and ``decimal`` a character,
    ``methods``, ``missing`` and ``not_missing`` lists of texts, and ``encode`` a mapping from names
    or patterns to encoders.

    Raises UserError for a key that does not exist (with the most similar key), an invalid name,
    missing keys, or two keys that exclude each other.
    """
    for key in request:
        if key not in REQUEST_KEYS:
            raise unknown_name(COMMAND, "key", str(key), REQUEST_KEYS)
    checked = {key: _plain(value) for key, value in request.items()}
    if "delimiter" in request:
        checked["delimiter"] = _delimiter(request["delimiter"])
    for key in (*FILES, *SETTINGS):
        if isinstance(checked.get(key), str):
            checked[key] = unquoted(checked[key])
    checked = {key: value for key, value in checked.items() if value not in ("", [])}
    for key, example in (("name", "assay"), ("data", "assay.csv")):
        if not isinstance(checked.get(key), str):
            raise UserError(
                location=COMMAND,
                found=f"the key {key} is missing or a list",
                expected=f"a single value, for example {key}={example}",
                remedy=f"add {key}=...",
            )
    _check_name(checked["name"])
    for key in (*COLUMNS, *FILES):
        if isinstance(checked.get(key), list):
            found = f"a list of {len(checked[key])}"
            raise wrong_key(key, found, "a single name", "keep one of the names")
    series = str(checked.pop("series", "false")).lower()
    if series not in (*_YES, *_NO):
        raise wrong_key("series", f"'{series}'", "true or false", "write series=true")
    if series in _YES:
        checked["series"] = True
    for key in ("methods", "missing", "not_missing"):
        if key in checked:
            items = checked[key]
            if isinstance(items, str):
                # Brackets around a single text are part of it.
                items = (without_brackets(items) if "," in items else items).split(",")
            checked[key] = [item.strip() for item in items if item.strip()]
    if "decimal" in checked:
        mark = {"point": ".", "comma": ","}.get(checked["decimal"], checked["decimal"])
        if mark not in DECIMAL_MARKS:
            raise wrong_key("decimal", f"'{mark}'", "point or comma", "write decimal=comma")
        checked["decimal"] = mark
    if checked.get("date_order", DAY_FIRST) not in ORDERS:
        found = f"'{checked['date_order']}'"
        raise wrong_key("date_order", found, " or ".join(ORDERS), f"write date_order={DAY_FIRST}")
    if "encode" in checked:
        checked["encode"] = _encoders(checked["encode"])
    if "splits" in checked:
        checked["splits"] = _number_of_splits(checked["splits"])
    if "outputs" not in checked and "classes" not in checked:
        raise UserError(
            location=COMMAND,
            found="nothing to predict: neither outputs nor classes is given",
            expected='the columns to predict, for example outputs="y1,y2" or outputs="y*", or the '
            "column of a class, for example classes=species",
            remedy="add outputs=... or classes=...",
        )
    for first, second, reason in CONTRADICTIONS:
        if first in checked and second in checked:
            raise UserError(
                location=COMMAND,
                found=f"both {first} and {second} are given",
                expected=f"one of the two: {reason}",
                remedy=f"leave out {first} or {second}",
            )
    for key in OF_CLASSES if "classes" not in checked else ():
        if key not in checked:
            continue
        raise UserError(
            location=COMMAND,
            found=f"{key} without classes",
            expected="the column that holds the class of each row",
            remedy=f"add classes=..., or leave out {key}",
        )
    for key in ("data", *FILES):
        if set("{}") & set(checked.get(key, "")):
            raise wrong_key(key, f"'{checked[key]}' holds a brace", *WITHOUT_BRACES)
    for key in FILES:
        if key in checked and not Path(checked[key]).is_file():
            found = f"there is no file '{checked[key]}'"
            raise wrong_key(key, found, "the path of a table", "fix the path")
    return checked


def missing_marks(request: Mapping[str, Any]) -> list[str]:
    """Return the cells that count as missing, by a checked request."""
    marks = dict.fromkeys([*MISSING_VALUES, *request.get("missing", ())])
    return [mark for mark in marks if mark not in request.get("not_missing", ())]


def wrong_key(key: str, found: str, expected: str, remedy: str) -> UserError:
    """Return the error for a key of a request with another value than `expected`."""
    return UserError(f"{COMMAND}, key {key}", found, expected, remedy)


def _check_name(name: str) -> None:
    """Refuse a name that cannot be that of an experiment and of its folder of results."""
    # Imported here, because pydantic takes longer to load than all else.
    from workflow_lib.core.values import MAX_NAME_LENGTH

    if not NAME.fullmatch(name) or len(name) > MAX_NAME_LENGTH:
        raise wrong_key(
            "name",
            f"'{name}' cannot be a name",
            "lower-case letters, digits, '-' and '_', beginning with a letter or digit, of "
            f"{MAX_NAME_LENGTH} characters at most",
            f"write name={possible_name(name)[:MAX_NAME_LENGTH] or 'assay'}",
        )
    if name in RESERVED_NAMES:
        raise wrong_key(
            "name",
            f"'{name}' is taken: results/{name} is a folder of its own",
            f"a name other than {', '.join(RESERVED_NAMES)}",
            f"write name=my-{name}",
        )


def requested_columns(request: Mapping[str, Any], table: Table) -> RequestedColumns:
    """Return the columns that a checked request names.

    Raises UserError for a column that does not exist, a pattern that matches none, and a column
    with two roles. A pattern of ``inputs`` or ``exclude`` may match columns with another role.
    """
    single = {
        key: table.named(as_named(request[key], table.names), key) if key in request else None
        for key in COLUMNS
    }
    lists, exact = {}, {}
    for key in LISTS:
        items = columns_of_list(request.get(key, []), table.names)
        lists[key] = table.matching(items, key) if items else []
        exact[key] = {item for item in items if item in table.names}
    # Names in full have precedence over patterns of outputs.
    uses: dict[str, list[str]] = {}
    for key in LISTS:
        for name in exact[key]:
            uses.setdefault(name, []).append(key)
    for key, name in single.items():
        if name is not None:
            uses.setdefault(name, []).append(key)
    for name, keys in uses.items():
        # A category, a text or SMILES is an input as well; all other roles exclude each other.
        together = set(keys) - (
            {"inputs"} if keys[-1] in ("categories", "text", "smiles", "sequence") else set()
        )
        if len(together) > 1:
            raise UserError(
                location=COMMAND,
                found=f"the column '{name}' is named for {' and '.join(sorted(together))}",
                expected="one role for every column",
                remedy="take it out of one of them",
            )
    taken = {name for name, keys in uses.items() if set(keys) - {"inputs", "exclude", "outputs"}}
    outputs = [name for name in lists["outputs"] if name not in taken - exact["outputs"]]
    if request.get("outputs") and not outputs:
        found = "every column that it matches has another role"
        raise wrong_key("outputs", found, "at least one column to predict", "fix outputs")
    of_categories = [name for name in lists["categories"] if name not in outputs]
    # A pattern of counts of words may match columns with another role, too.
    others = {*lists["exclude"], *single.values()}
    words = [name for name in lists["bags"] if name not in others]
    if "bags" in request and not words:
        found = "every column that it matches has another role"
        raise wrong_key("bags", found, "columns that count words", "fix bags")
    return RequestedColumns(
        outputs=outputs,
        categories=of_categories,
        exclude=[name for name in lists["exclude"] if name not in outputs],
        bags=words,
        inputs=[name for name in lists["inputs"] if name not in outputs]
        if "inputs" in request
        else None,
        insisted=exact["inputs"],
        single=single,
        encode=_encoded_columns(request, table, {*outputs, *single.values()}),
    )


def _encoders(value: str | Sequence[str]) -> dict[str, str]:
    """Return the encoder of each name or pattern in ``NAME=ENCODER,...``; names may hold commas."""
    known, found, name = [ONE_HOT, N_GRAMS, *encoder_names()], {}, ""
    for piece in value if isinstance(value, list) else value.split(","):
        name += f",{piece}" if name else piece
        column, equals, encoder = (part.strip() for part in name.rpartition("="))
        if equals and column:
            if encoder not in known:
                raise unknown_name(f"{COMMAND}, key encode", "encoder", encoder, known)
            if encoder == GAMMA_POISSON and not is_installed("skrub"):
                raise not_installed("skrub", f"{COMMAND}, key encode", None, "choose n-grams")
            found[column], name = encoder, ""
    if name.strip():
        raise wrong_key(
            "encode",
            f"'{name.strip()}'",
            "NAME=ENCODER, separated by commas",
            "write encode=x=target",
        )
    return found


def _encoded_columns(
    request: Mapping[str, Any], table: Table, others: set[str | None]
) -> dict[str, str]:
    """Return the encoder of each column that ``encode`` names; a name in full has precedence."""
    encoders: dict[str, str] = {}
    requested = request.get("encode", {}).items()
    for pattern, encoder in sorted(requested, key=lambda pair: pair[0] in table.names):
        chosen = [name for name in table.matching([pattern], "encode") if name not in others]
        if not chosen:
            found = f"the column '{pattern}' has another role"
            raise wrong_key(
                "encode", found, "a column to predict from", "take it out of one of them"
            )
        encoders |= dict.fromkeys(chosen, encoder)
    return encoders


def _number_of_splits(value: Any) -> int:
    try:
        number = int(value)
    except (TypeError, ValueError):
        number = 0
    from workflow_lib.core.values import MAX_REPEATS

    if not 1 <= number <= MAX_REPEATS:
        raise wrong_key(
            "splits",
            f"'{value}'",
            f"the number of splits of the rows, a whole number from 1 to {MAX_REPEATS}",
            "write splits=10, or leave it out",
        )
    return number


def _delimiter(value: Any) -> str:
    text = str(value or "")
    text = DELIMITER_NAMES.get(text.strip().lower(), text if len(text) == 1 else text.strip())
    if len(text) > 1:
        raise wrong_key(
            "delimiter",
            f"'{text}'",
            "the character between two cells, or one of the words "
            + ", ".join(name for name in DELIMITER_NAMES if name.isalpha()),
            "write delimiter=tab, for example, or leave it out: the usual delimiters are detected "
            "from the header",
        )
    return text


def _plain(value: Any) -> str | list[str]:
    """Return a value as text, or a list of texts: the command line reads some as numbers."""
    if value is None:
        return ""
    if isinstance(value, Mapping):
        # Of a request that was checked before.
        return [f"{name}={item}" for name, item in value.items()]
    if isinstance(value, (list, tuple)):
        return [str(item).strip() for item in value if str(item).strip()]
    return str(value).strip()
