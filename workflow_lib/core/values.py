"""Types of the values that configuration files hold, with the limits of each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator, Strict, WithJsonSchema
from pydantic_core import PydanticCustomError

COLOR = r"^#[0-9A-Fa-f]{6}$"
SHA256 = r"^[0-9a-f]{64}$"
ADDRESS = r"^https?://[^\s/]+/\S+$"
RELATIVE_PATH = r"^[A-Za-z0-9_][A-Za-z0-9_.+-]*(/[A-Za-z0-9_][A-Za-z0-9_.+-]*)*$"
MEMBERS = r"^[A-Za-z0-9_*?\[][A-Za-z0-9_.*?\[\]+-]*(/[A-Za-z0-9_*?\[][A-Za-z0-9_.*?\[\]+-]*)*$"
NAME = r"^[a-z0-9][a-z0-9_-]*$"

NO_FORMULA = r"^[^$]+$"

MAX_NAME_LENGTH = 60
"""Characters; the name of a file has at most 255 and includes up to three names."""

MAX_COUNT = 1_000_000_000
"""Of counts; a larger number is a mistake, and might not fit the machine's integers."""

MAX_REPEATS = 1000
"""Of the splits of an experiment."""

ALL = "all"
"""The training size of all rows that are not test rows; as in `protocol.splitting`."""

CLASS_VECTORS = "class_vectors"
"""As a tree of classes, instead of a file: the average linkage of the class vectors."""

WITHOUT_BRACES = (
    "a path without { and }, which Snakemake takes for the mark of a wildcard",
    "rename the file or the folder",
)
"""What is expected of the path of a file that jobs read, and the remedy."""

PATTERNS_IN_WORDS = {
    COLOR: "a colour written '#RRGGBB'",
    SHA256: "a SHA-256: 64 characters out of 0-9 and a-f",
    ADDRESS: "an address that begins with https:// or http://",
    RELATIVE_PATH: "a relative path without spaces, for example 'mulan-mtr/edm.arff'",
    MEMBERS: "a pattern of names in an archive without spaces, for example 'data/*/text.txt'",
    NO_FORMULA: "a text that is not empty, without '$', which begins a formula in figures",
    NAME: "a name of lower-case letters, digits, '-' and '_' that begins with a letter or digit",
}

TRAINING_SIZE_IN_WORDS = f"a whole number from 1, or {ALL}"

TEST_SIZE_IN_WORDS = "a fraction between 0 and 1, or a whole number of rows from 1"


def possible_name(text: str) -> str:
    """Return the valid name that is most similar to `text`, "" if there is none."""
    return re.sub(r"[^a-z0-9_-]+", "-", text.lower()).strip("-_")


def strictly_increasing(values: tuple) -> tuple:
    """Return `values`; raise when a value is not larger than the previous one."""
    if any(later <= earlier for earlier, later in zip(values, values[1:], strict=False)):
        raise PydanticCustomError("setting", "numbers in strictly increasing order")
    return values


def check_training_size(value: Any) -> int | str:
    """Return `value` when it is a whole number from 1, or `ALL`; raise otherwise."""
    whole = isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MAX_COUNT
    if not whole and value != ALL:
        raise PydanticCustomError("setting", TRAINING_SIZE_IN_WORDS)
    return value


def increasing_then_all(values: tuple) -> tuple:
    """Return `values`; raise when they are not strictly increasing, with `ALL` only at the end."""
    if ALL in values[:-1]:
        raise PydanticCustomError("setting", f"'{ALL}' once, as the last of the sizes")
    strictly_increasing(numbers_of(values))
    return values


def numbers_of(sizes: Sequence[int | str]) -> tuple[int, ...]:
    """Return the training sizes that are numbers, without `ALL`."""
    return tuple(size for size in sizes if size != ALL)


def without_repeats(values: tuple) -> tuple:
    """Return `values`; raise when a value is repeated."""
    if len(set(values)) < len(values):
        raise PydanticCustomError("setting", "a list without repeated values")
    return values


def named_once(items: tuple) -> tuple:
    """Return `items` (tables or figures); raise when two of them share a name."""
    if len({item.name for item in items}) < len(items):
        expected = "items of different names (an item without a name has that of its kind)"
        raise PydanticCustomError("setting", expected)
    return items


def different_file_names(sources: tuple) -> tuple:
    """Return `sources`; raise when two of them have the same file name, even in other folders."""
    names = [source.path.rpartition("/")[2] for source in sources]
    if len(set(names)) < len(names):
        raise PydanticCustomError("setting", "paths whose last parts (the file names) differ")
    return sources


def check_test_size(value: Any) -> int | float:
    """Return `value` when it is a fraction in (0, 1) or a whole number from 1; raise otherwise."""
    whole = isinstance(value, int) and not isinstance(value, bool) and value >= 1
    fraction = isinstance(value, float) and 0 < value < 1
    if not (whole or fraction):
        raise PydanticCustomError("setting", TEST_SIZE_IN_WORDS)
    return value


_FLAGS = {"true": True, "false": False}

Text = Annotated[str, Field(min_length=1)]
TextInFigures = Annotated[str, Field(pattern=NO_FORMULA)]
Name = Annotated[str, Field(pattern=NAME, max_length=MAX_NAME_LENGTH)]
Flag = Annotated[bool, Strict()]
# Snakemake leaves `--config KEY=false` a text.
TypedFlag = Annotated[bool, Strict(), BeforeValidator(lambda v: _FLAGS.get(str(v).lower(), v))]
Count = Annotated[int, Strict(), Field(ge=1, le=MAX_COUNT)]
Repeats = Annotated[int, Strict(), Field(ge=1, le=MAX_REPEATS)]
Positive = Annotated[float, Strict(), Field(gt=0, allow_inf_nan=False)]
PositiveOrInfinite = Annotated[float, Strict(), Field(gt=0)]
NotNegative = Annotated[float, Strict(), Field(ge=0, allow_inf_nan=False)]
Share = Annotated[float, Strict(), Field(ge=0, le=1)]
Fraction = Annotated[float, Strict(), Field(gt=0, le=1)]
TestSize = Annotated[
    int | float,
    PlainValidator(check_test_size),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 1},
                {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
            ]
        }
    ),
]
Factors = Annotated[
    tuple[NotNegative, ...], Field(min_length=1), AfterValidator(strictly_increasing)
]
Sizes = Annotated[tuple[Count, ...], AfterValidator(strictly_increasing)]
SomeSizes = Annotated[tuple[Count, ...], Field(min_length=1), AfterValidator(strictly_increasing)]
TrainingSizes = Annotated[
    tuple[
        Annotated[
            int | str,
            PlainValidator(check_training_size),
            WithJsonSchema(
                {"anyOf": [{"type": "integer", "minimum": 1, "maximum": MAX_COUNT}, {"const": ALL}]}
            ),
        ],
        ...,
    ],
    Field(min_length=1),
    AfterValidator(increasing_then_all),
]
SomeNames = Annotated[tuple[Name, ...], Field(min_length=1), AfterValidator(without_repeats)]
