"""Reader of the halves of sequences of letters on both sides of their middle, such as a junction.

The halves of a sequence are rows of different classes: of a junction that begins an intron, the
left half is an exon and the right half an intron.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, Field, Strict, ValidationInfo
from pydantic_core import PydanticCustomError

from workflow_lib.core.settings import Settings
from workflow_lib.core.values import Count, Text
from workflow_lib.tabular.tables import check_sources, wrong_source

if TYPE_CHECKING:
    import numpy as np

    from workflow_lib.data.sequence_records import Record

OF_OTHER_CLASS = "the sequence has a class without halves"


def not_above_length(value: int | None, info: ValidationInfo) -> int | None:
    """Return `value`; raise when it is above the option ``length``."""
    if value is not None and value > info.data.get("length", value):
        raise PydanticCustomError("setting", "a number that is not above length")
    return value


class Options(Settings):
    """Options of the reader ``sequence_halves``."""

    halves: Annotated[dict[Text, tuple[Text, Text]], Field(min_length=1)]
    """Classes of the left and the right half, by the class of the sequence; sequences of other
    classes are left out and counted."""

    length: Count
    """Letters of a half."""

    distance: Annotated[int, Strict(), Field(ge=0)] = 0
    """Letters between a half and the middle that are left out."""

    shortest: Annotated[Count | None, AfterValidator(not_above_length)] = None
    """Where given, halves are cropped: of each, a part at a random position with a random length
    from this to `length` is kept, so that neither position nor length tells the class. null (the
    default): the whole halves."""

    letters: Annotated[str, Field(min_length=2, pattern="^[A-Z]+$")] = "ACGT"
    """The known letters; small letters are the same. Others, such as N for any base, are unknown
    letters, and counted."""

    least_letters: Count = 2
    """Known letters in a row that a half must have; others are left out and counted. The default
    leaves out those in which no known letter follows another."""


def kind_of_inputs(options: Options) -> str:
    """Return ``letters``."""
    return "letters"


def read(options: Options, sources: Sequence[Path], seed: int) -> dict[str, Any]:
    """Return one row per different half; `seed` draws what is cropped.

    The source is a text file of `workflow_lib.data.sequence_records.records_of_lines`.
    ``inputs``, ``items``, ``classes``: as of
    `workflow_lib.data.sequence_records.letter_dataset`; ``groups``: ``sequence`` (n,), the same
    number for the halves of a sequence, and for all of sequences that share a half before it is
    cropped. What is left out, of sequences as of halves, is counted in halves by reason in
    ``exclusions`` of ``report``; ``rows_read`` are halves.

    Raises UserError as `workflow_lib.data.sequence_records.records_of_lines`, and naming a sequence
    that is too short for its halves.
    """
    import numpy as np

    from workflow_lib.data.sequence_records import letter_dataset, records_of_lines, usable_records

    check_sources(sources, "sequence_halves", "the file of the sequences")
    location, known = str(sources[0]), (options.letters, options.least_letters)
    read_records = list(records_of_lines(sources[0]))
    wholes, excluded = usable_records(read_records, *known, location)
    divided = [whole for whole in wholes if whole.label in options.halves]
    halves = [half for whole in divided for half in _halves(whole, options, location)]
    numbers = _groups([half.sequence for half in halves])
    if options.shortest is not None:
        generator = np.random.default_rng(seed)
        halves = [_cropped(half, options.shortest, generator) for half in halves]
    grouped = [half._replace(group=number) for half, number in zip(halves, numbers)]
    kept, excluded_halves = usable_records(grouped, *known, location)
    counts = {reason: 2 * count + excluded_halves[reason] for reason, count in excluded.items()}
    counts[OF_OTHER_CLASS] = 2 * (len(wholes) - len(divided))
    return letter_dataset(
        kept,
        options.letters,
        location,
        2 * len(read_records),
        {"exclusions": counts},
        groups={"sequence": np.array([record.group for record in kept], dtype=np.int64)},
    )


def _halves(whole: Record, options: Options, location: str) -> Iterator[Record]:
    """Yield the left and the right half of a sequence."""
    middle, needed = len(whole.sequence) // 2, options.length + options.distance
    if middle < needed:
        raise wrong_source(
            f"{location}, sequence '{whole.name}'",
            f"{len(whole.sequence)} letters",
            f"at least {2 * needed}: halves of {options.length} letters, {options.distance} from "
            "the middle",
        )
    starts = {"left": middle - needed, "right": middle + options.distance}
    for label, (side, start) in zip(options.halves[whole.label], starts.items()):
        letters = whole.sequence[start : start + options.length]
        yield whole._replace(label=label, name=f"{whole.name}, {side}", sequence=letters)


def _groups(halves: Sequence[str]) -> list[int]:
    """Return a number for each half, the same for those of sequences that share one. The halves of
    a sequence follow one another. Sequences are joined along chains, too."""
    import numpy as np
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    _, codes = np.unique(halves, return_inverse=True)
    left, right = codes[::2], codes[1::2]
    n_codes = codes.max(initial=-1) + 1
    joined = coo_array((np.ones(len(left)), (left, right)), shape=(n_codes, n_codes))
    return connected_components(joined, directed=False)[1][codes].tolist()


def _cropped(half: Record, shortest: int, generator: np.random.Generator) -> Record:
    """Return a part of a half, with a random length and at a random position."""
    whole = len(half.sequence)
    length = int(generator.integers(shortest, whole + 1))
    start = int(generator.integers(whole - length + 1))
    return half._replace(sequence=half.sequence[start : start + length])
