"""Reader of FASTA files whose headers name the class of each sequence."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, Field, Strict
from pydantic_core import PydanticCustomError

from workflow_lib.core.errors import UserError, unknown_name
from workflow_lib.core.settings import Settings
from workflow_lib.core.values import Text
from workflow_lib.tabular.fasta_text import fasta_entries
from workflow_lib.tabular.tables import check_sources, listed_names, read_text

if TYPE_CHECKING:
    from workflow_lib.data.sequence_records import Record

AMINO_ACIDS = "ACDEFGHIKLMNPQRSTVWY"

ROLES = ("training", "test")


def with_one_group(pattern: str) -> str:
    """Return a regular expression; raise when it is none, or has not exactly one group."""
    try:
        n_groups = re.compile(pattern).groups
    except re.error as error:
        raise PydanticCustomError(
            "setting", "a regular expression ({fault})", {"fault": str(error)}
        ) from error
    if n_groups != 1:
        raise PydanticCustomError("setting", "a regular expression with one group (...), the class")
    return pattern


def both_or_none(roles: tuple[str, ...]) -> tuple[str, ...]:
    """Return the roles of files; raise when one of the two is missing."""
    if roles and set(roles) != set(ROLES):
        raise PydanticCustomError("setting", "training and test, each for at least one file")
    return roles


class Options(Settings):
    """Options of the reader ``fasta``."""

    class_pattern: Annotated[Text, AfterValidator(with_one_group)] = r"^(\S+)"
    """Regular expression that finds the class in a header (the line after `>`) by its only group.
    The default takes what is before the first space; `\\|([^|]+)$` takes the last field between
    bars."""

    class_names: dict[Text, Text] = {}
    """Names of classes, by what `class_pattern` finds; classes that get the same name are one
    class. By default a class is named as the headers name it."""

    roles: Annotated[tuple[Literal[ROLES], ...], AfterValidator(both_or_none)] = ()
    """What each of the sources is for: `training` or `test` (for `split: given`), in their order.
    By default there is no given test set."""

    letters: Annotated[str, Field(min_length=2, pattern="^[A-Z]+$")] = AMINO_ACIDS
    """The known letters, by default those of the twenty amino acids; small letters are the same.
    Others, such as X for any of them, are unknown letters, and counted."""

    least_letters: Annotated[int, Strict(), Field(ge=1)] = 2
    """Known letters in a row that a sequence must have; others are left out and counted. The
    default leaves out sequences of one letter, in which no letter follows another."""


def kind_of_inputs(options: Options) -> str:
    """Return ``letters``."""
    return "letters"


def read(options: Options, sources: Sequence[Path], seed: int) -> dict[str, Any]:
    """Return one row per sequence; `seed` is not used.

    The sources are text files in which a header, `>` and a text, is followed by lines of letters.
    ``inputs``, ``items``, ``classes``: as of
    `workflow_lib.data.sequence_records.letter_dataset`; ``fixed``, with `roles` of the options:
    ``role`` (n,) int64, 0 for training rows and 1 for test rows. What is left out
    (`workflow_lib.data.sequence_records.usable_records`) is counted by reason in ``exclusions``
    of ``report``.

    Raises UserError naming the file and the line: letters before the first header, a header without
    a class or without letters, another sign than a letter in a sequence; when each sequence has a
    class of its own, so that headers name no classes; when a class of `class_names` does not exist,
    or one of the test sequences has no training sequence.
    """
    import numpy as np

    from workflow_lib.data.sequence_records import letter_dataset, usable_records

    roles = options.roles or ("training",) * max(len(sources), 1)
    check_sources(sources, "fasta", *(f"a file of {role} sequences" for role in roles))
    location = ", ".join(map(str, sources))
    records = [
        record
        for path, role in zip(sources, roles)
        for record in _records(path, options, ROLES.index(role))
    ]
    found = sorted({record.label for record in records})
    if len(found) == len(records) > 2:
        raise UserError(
            location=location,
            found=f"each of the {len(records)} sequences has a class of its own: "
            f"{listed_names(found, 3)}",
            expected="headers that name the class of each sequence",
            remedy="set the option class_pattern to what finds the class in a header, or write the "
            "classes into the headers",
        )
    for label in options.class_names:
        if label not in found:
            raise unknown_name(f"{location}, option class_names", "class", label, found)
    named = [
        record._replace(label=options.class_names.get(record.label, record.label))
        for record in records
    ]
    kept, excluded = usable_records(named, options.letters, options.least_letters, location)
    groups = {}
    if options.roles:
        _check_roles(kept, location)
        groups["fixed"] = {"role": np.array([record.role for record in kept], dtype=np.int64)}
    report = {"exclusions": excluded}
    return letter_dataset(kept, options.letters, location, len(records), report, **groups)


def _check_roles(records: Sequence[Record], location: str) -> None:
    """Refuse a given test set of which a class has no training sequence, or without sequences."""
    classes = [{each.label for each in records if each.role == role} for role in (0, 1)]
    unlearned = sorted(classes[1] - classes[0])
    if unlearned or not classes[1]:
        raise UserError(
            location=location,
            found=f"no training sequence of the class {listed_names(unlearned)}"
            if unlearned
            else "no test sequence that can be used",
            expected="test sequences, and training sequences of each of their classes",
            remedy="add such sequences, or give the files other roles",
        )


def _records(path: Path, options: Options, role: int) -> Iterator[Record]:
    """Yield the records of a file, with the classes as in the headers."""
    from workflow_lib.data.sequence_records import Record, checked_letters

    for number, header, sequence in fasta_entries(read_text(path), str(path)):
        location = f"{path}, line {number}"
        match = re.search(options.class_pattern, header)
        label = match.group(1) if match else None
        if not label:
            raise UserError(
                location=location,
                found=f"no class in the header '>{header[:60]}'",
                expected=f"a class that the option class_pattern finds: {options.class_pattern}",
                remedy="write the class into the header, or change class_pattern",
            )
        # A header that is only a class does not tell rows apart.
        name = header if header != label else f"{path.name}, line {number}"
        yield Record(label, name, checked_letters(sequence, location), role)
