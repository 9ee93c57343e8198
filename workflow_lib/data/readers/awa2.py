"""Reader of Animals with Attributes 2: from ResNet101 features of an image to the animal it shows.

The successor of Animals with Attributes: the same 50 classes and attributes, but other images, all
of which may be redistributed (Xian, Lampert, Schiele and Akata 2019). Download the files from
`workflow_lib.data.readers.awa.ADDRESS` and put them, packed or unpacked, into the folder of the
option ``folder``:

``AwA2-features.zip``, or the files in its folder ``Features/ResNet101``
    ``AwA2-features.txt``: a line per image with 2048 numbers of the last layer before the classes;
    ``AwA2-filenames.txt``: the names of the images, such as ``grizzly+bear_10001.jpg``, and
    ``AwA2-labels.txt``: the numbers of their classes, counted from 1, both in the same order.
``AwA2-base.zip``, or its files ``classes.txt``, ``predicates.txt`` and
``predicate-matrix-continuous.txt``
    as for the reader ``awa``, with the same options for class vectors from names or texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, Strict

from workflow_lib.core.errors import UserError
from workflow_lib.data.readers import awa
from workflow_lib.data.readers.awa import (
    CLASSES,
    animals_dataset,
    class_information,
    line_of_numbers,
    only_file,
    text_of,
)
from workflow_lib.tabular.tables import wrong_source

if TYPE_CHECKING:
    import numpy as np

FEATURES_ARCHIVE = "AwA2-features.zip"
BASE_ARCHIVE = "AwA2-base.zip"
FEATURES = "AwA2-features.txt"
FILE_NAMES = "AwA2-filenames.txt"
LABELS = "AwA2-labels.txt"


class Options(awa.Options):
    """Options of the reader ``awa2``."""

    folder: Annotated[str, Field(min_length=1)] = "resources/awa2"
    """Folder of the files that are not among the sources, relative to the folder of the run."""

    dimension: Annotated[int, Strict(), Field(ge=1)] = 2048
    """Number of features in each line; the default is the published length."""


def read(options: Options, sources: Sequence[Path], seed: int) -> dict[str, Any]:
    """Return one row per image, in the order of the files; `seed` is not used.

    ``inputs`` (n, 2048): the features. Classes without images or without a vector are left out and
    counted in ``exclusions`` of ``report``; ``excluded_names`` lists them.

    Files are searched by name among `sources` and in ``folder`` of `options`.

    Raises UserError for files that are missing or exist in two forms; naming the file, the line and
    the column that cannot be read; for numbers of classes without a name, files of different
    lengths, a file name of another class than that of the label; and as
    `workflow_lib.data.readers.awa.class_information`.
    """
    folder = Path(options.folder)
    classes = class_information(options, folder, sources, BASE_ARCHIVE)
    labels = _labels(only_file(folder, sources, FEATURES_ARCHIVE, LABELS), len(classes.names))
    names = _file_names(
        only_file(folder, sources, FEATURES_ARCHIVE, FILE_NAMES), labels, classes.names
    )
    features = _features(
        only_file(folder, sources, FEATURES_ARCHIVE, FEATURES), len(labels), options.dimension
    )
    return animals_dataset(options, sources, classes, features, labels, names)


def _labels(lines: Iterable[tuple[str, bytes]], n_classes: int) -> list[int]:
    """Return the classes of the images as positions among the names, from 0."""
    labels = []
    for location, line in lines:
        text = text_of(line, location)
        is_number = text.isascii() and text.isdigit() and len(text) <= 9
        if not (is_number and 1 <= int(text) <= n_classes):
            raise UserError(
                location=location,
                found=f"'{text}' is not the number of a class with a name in {CLASSES}",
                expected=f"a number from 1 to {n_classes}",
                remedy=f"check that the features and {CLASSES} belong together",
            )
        labels.append(int(text) - 1)
    return labels


def _file_names(
    lines: Iterable[tuple[str, bytes]], labels: Sequence[int], class_names: Sequence[str]
) -> list[str]:
    """Return the names of the images, checked against their labels where they name the class."""
    known = set(class_names)
    names: dict[str, None] = {}
    for location, line in lines:
        name = text_of(line, location)
        if name in names:
            raise wrong_source(
                location, f"the image '{name}' is repeated", "another image in every line"
            )
        if len(names) < len(labels):
            named, label = name.rpartition("_")[0], class_names[labels[len(names)]]
            if named in known and named != label:
                raise wrong_source(
                    location,
                    f"the image '{name}' has the label '{label}'",
                    f"the label '{named}' in the same line of {LABELS}, in the same order",
                )
        names[name] = None
    if len(names) != len(labels):
        raise _other_length(FILE_NAMES, len(names), len(labels))
    return list(names)


def _features(lines: Iterable[tuple[str, bytes]], n_rows: int, dimension: int) -> np.ndarray:
    """Return the features (n_rows, dimension) float32."""
    import numpy as np

    features = np.empty((n_rows, dimension), dtype=np.float32)
    n_read = 0
    for location, line in lines:
        values = line_of_numbers(line, location)
        if len(values) != dimension:
            raise UserError(
                location=location,
                found=f"{len(values)} numbers",
                expected=f"{dimension} numbers",
                remedy="fetch the features again, or set the option dimension to their number",
            )
        if n_read < n_rows:
            features[n_read] = values
        n_read += 1
    if n_read != n_rows:
        raise _other_length(FEATURES, n_read, n_rows)
    return features


def _other_length(file: str, found: int, expected: int) -> UserError:
    return wrong_source(
        f"the files {file} and {LABELS}",
        f"{found} lines and {expected} lines",
        "one line for every image in both",
    )
