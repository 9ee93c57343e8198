"""Samples of the files of the readers of this paper, and options that they refuse."""

from pathlib import Path

import test_readers_fasta
import test_readers_labelled_sequences
import test_readers_sequence_halves
from reader_samples import Sample


def of_labelled_sequences(folder: Path) -> Sample:
    path = test_readers_labelled_sequences.write_lines(folder)
    return Sample({"word_length": 2}, (path,), (path,))


def of_fasta(folder: Path) -> Sample:
    paths = test_readers_fasta.write_files(folder)
    return Sample({"roles": ["training", "test"]}, paths, paths)


def of_sequence_halves(folder: Path) -> Sample:
    path = test_readers_sequence_halves.write_lines(folder)
    options = test_readers_sequence_halves.OPTIONS | {"shortest": 3}
    return Sample(options, (path,), (path,), is_drawn=True)


SAMPLES = {
    "labelled_sequences": of_labelled_sequences,
    "fasta": of_fasta,
    "sequence_halves": of_sequence_halves,
}
OF_FILES = tuple(SAMPLES)
IMPOSSIBLE = {
    "labelled_sequences": [
        *({"inputs": "signs"}, {"word_length": 0}),
        *({"letters": letters} for letters in ("A", "ac", "A-C")),
    ],
    "fasta": [
        *({"class_pattern": pattern} for pattern in ("", "a(", "a", "(a)(b)")),
        *({"roles": roles} for roles in (["training"], ["test", "weak"])),
        *({"class_names": {"1": ""}}, {"letters": "A-C"}, {"least_letters": 0}),
    ],
    "sequence_halves": [
        {"halves": {"EI": ["exon"]}},
        *(test_readers_sequence_halves.OPTIONS | case for case in ({"shortest": 5},)),
        *(
            {"halves": {"EI": ["exon", "intron"]}, "length": 4, name: value}
            for name, value in {"distance": -1, "letters": "A", "least_letters": 0}.items()
        ),
    ],
}
