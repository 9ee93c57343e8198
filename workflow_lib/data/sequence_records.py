"""Sequences of letters with classes: which of them can be used, and the dataset of their letters.

Readers make records of their files. `usable_records` leaves out what would be in training and test
rows at once or cannot be learned from, and counts it by reason; `letter_dataset` makes the dataset.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from workflow_lib.data.class_tables import class_dataset_tree
from workflow_lib.tabular.tables import read_text, wrong_source

REPEATED = "the sequence of an earlier row of its class"
TWO_CLASSES = "a sequence with two classes"
TOO_SHORT = "too few known letters in a row"
OF_TEST_ROW = "the sequence of a test row"

TRAINING, TEST = 0, 1
"""Roles of the rows in the group ``fixed``."""


class Record(NamedTuple):
    """A sequence of capital letters with its class."""

    label: str
    name: str
    sequence: str
    role: int = TRAINING
    """In datasets with a given test set."""

    group: int = 0
    """Number of the group of rows that belong together, in datasets that have groups."""


def records_of_lines(path: Path) -> Iterator[Record]:
    """Yield the records of a text file of lines of a class, a name and a sequence, with commas.

    It is the form of the sequences of DNA in the repository of the University of California,
    Irvine.

    Raises UserError naming the file and the line: a line without three parts, without a class or a
    sequence, or with another sign than a letter in the sequence.
    """
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        if not line.strip():
            continue
        location, parts = f"{path}, line {number}", [part.strip() for part in line.split(",")]
        if len(parts) != 3 or not parts[0] or not parts[2]:
            raise wrong_source(
                location,
                f"'{line[:60]}'",
                "a class, a name and a sequence, with commas between them",
            )
        label, name, sequence = parts
        yield Record(label, name, checked_letters(sequence, location))


def checked_letters(sequence: str, location: str) -> str:
    """Return a sequence in capital letters; `UserError` for another sign than a letter."""
    if not (sequence.isascii() and sequence.isalpha()):
        raise wrong_source(
            location, f"the sequence '{sequence[:60]}'", "a sequence of letters from A to Z"
        )
    return sequence.upper()


def usable_records(
    records: Sequence[Record], letters: str, least: int, location: str
) -> tuple[list[Record], dict[str, int]]:
    """Return the records that can be used, and the number of others by reason.

    Left out are all records of a sequence with two classes, those with fewer than `least` known
    letters in a row, and of training rows those whose sequence is that of an earlier training row
    or of a test row. A given test set keeps its repeated sequences.

    Raises UserError, with the `location` of the files, if none can be used.
    """
    classes_of: dict[str, set[str]] = {}
    for record in records:
        classes_of.setdefault(record.sequence, set()).add(record.label)
    tested = {record.sequence for record in records if record.role == TEST}
    known = re.compile(f"[{letters}]{{{least}}}")
    reasons = (REPEATED, TWO_CLASSES, TOO_SHORT, *([OF_TEST_ROW] if tested else []))
    excluded, kept, seen = Counter(dict.fromkeys(reasons, 0)), [], set()
    for record in records:
        trains = record.role != TEST
        if len(classes_of[record.sequence]) > 1:
            excluded[TWO_CLASSES] += 1
        elif trains and record.sequence in tested:
            excluded[OF_TEST_ROW] += 1
        elif trains and record.sequence in seen:
            excluded[REPEATED] += 1
        elif not known.search(record.sequence):
            excluded[TOO_SHORT] += 1
        else:
            kept.append(record)
            seen.add(record.sequence)
    if not kept:
        raise wrong_source(
            location, "no sequence can be used", "sequences of known letters with a class"
        )
    return kept, dict(excluded)


def letter_dataset(
    records: Sequence[Record],
    letters: str,
    location: str,
    rows_read: int,
    report: Mapping[str, Any],
    **groups: Any,
) -> dict[str, Any]:
    """Return the "dataset" artifact of the letters of records, as `records_dataset`.

    ``inputs`` are the rows of `workflow_lib.items.kinds.letters`, ``unknown_letters`` in the report
    is the number of letters that are none of `letters`.
    """
    from workflow_lib.items.kinds.letters import UNKNOWN, pack

    items = pack([record.sequence for record in records], letters)
    inputs, groups["items"] = items["inputs"], items["items"]
    names = [f"letter_{index + 1}" for index in range(inputs.shape[1])]
    report = {**report, "unknown_letters": int((inputs == UNKNOWN).sum())}
    groups["names"] = {"letters": letters}
    return records_dataset(records, inputs, names, location, rows_read, report, **groups)


def records_dataset(
    records: Sequence[Record],
    inputs: Any,
    input_names: Sequence[str],
    location: str,
    rows_read: int,
    report: Mapping[str, Any],
    **groups: Any,
) -> dict[str, Any]:
    """Return the "dataset" artifact of records with any inputs (n, q).

    ``classes`` and the arguments: see `workflow_lib.data.class_tables.class_dataset_tree`; the
    class vectors are the unit vectors.
    """
    import numpy as np

    class_names = sorted({record.label for record in records})
    return class_dataset_tree(
        inputs,
        np.array([class_names.index(record.label) for record in records]),
        np.eye(len(class_names)),
        class_names,
        input_names,
        class_names,
        [record.name for record in records],
        location=location,
        rows_read=rows_read,
        report=report,
        **groups,
    )
