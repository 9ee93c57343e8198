"""Samples of the files of the readers of this paper, and options that they refuse."""

from pathlib import Path

import pytest
import test_graphs
import test_reader_pasted_objects
import test_readers_haxby
import test_readers_smiles
from reader_samples import Sample


def of_labelled_graphs(folder: Path) -> Sample:
    path = test_graphs.written(folder)
    return Sample({}, (path,), (path,))


def of_smiles(folder: Path) -> Sample:
    pytest.importorskip("rdkit")
    path = test_readers_smiles.written(folder)
    return Sample(test_readers_smiles.OPTIONS, (path,), (path,))


def of_pasted_objects(folder: Path) -> Sample:
    sources = test_reader_pasted_objects.write_images(folder)
    return Sample(test_reader_pasted_objects.OPTIONS, sources, sources, is_drawn=True)


def of_haxby(folder: Path) -> Sample:
    path = test_readers_haxby.archive(folder)
    return Sample(sources=(path,), files=(path,))


SAMPLES = {
    "labelled_graphs": of_labelled_graphs,
    "smiles": of_smiles,
    "pasted_objects": of_pasted_objects,
    "haxby": of_haxby,
}
OF_FILES = tuple(SAMPLES)
IMPOSSIBLE = {
    "labelled_graphs": [{"node_numbers": -1}],
    "smiles": [{"outputs": []}, {"outputs": ["y"], "n_bits": 0}],
    "pasted_objects": [
        {name: value for name, value in options.items() if name not in case} | case
        for options in (test_reader_pasted_objects.OPTIONS,)
        for case in (
            *({"scene_classes": []}, {"codebook_images": 0}, {"n_words": 1}, {"step": 0}),
            *({"patches": sizes} for sizes in ([], [8, 8], [4], [18])),
            *({"crop": box} for box in ([0.5, 0, 0.5, 1], [0, 0, 1, 1.5])),
            *({"widths": widths} for widths in ([0.0, 0.5], [0.6, 0.5])),
            {"codebook_classes": ["ant", "car"]},
        )
    ],
}
