"""Reader of Animals with Attributes: from VGG19 features of an image to the animal that it shows.

The files must be downloaded by hand from the page `ADDRESS` and its older version, and put, packed
or unpacked, into the folder of the option ``folder``:

``AwA-features-vgg19.tar.bz2``, or the folder ``Features/vgg19``
    a text file per image, ``Features/vgg19/CLASS/CLASS_0001.txt``, with the 4096 numbers of the
    layer fc7 of VGG19, which are the inputs of Djerrab et al. (2018, section 6.5).
``AwA-base.tar.bz2``, or its files ``classes.txt``, ``predicates.txt`` and
``predicate-matrix-continuous.txt``
    the numbered names of the classes (``grizzly+bear``) and of the attributes, and a number for
    each attribute of each class: how strongly people associate the two, from 0 to 100, or -1 where
    that is not known.

With the option ``vectors: names`` or ``texts`` the class vectors come from word vectors instead of
the attributes, as in the paper, and the last two files are not needed. Nothing is unpacked to the
disk.

The reader ``awa2`` also uses `class_information`, `animals_dataset` and the functions for files.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, Literal, NamedTuple

from pydantic import Field, Strict

from workflow_lib.core.archive_members import matching_members, path_from_pattern
from workflow_lib.core.archives import begins_as_zip, opened_zip, printable_name, readable
from workflow_lib.core.errors import UserError
from workflow_lib.core.settings import Settings
from workflow_lib.tabular.tables import (
    FETCH_AGAIN,
    lines_of,
    listed,
    numbers_of,
    utf8_text,
    wrong_source,
)

if TYPE_CHECKING:
    import numpy as np

ADDRESS = "https://cvml.ista.ac.at/AwA2/"

FEATURES = "Features/vgg19/*/*.txt"
FEATURES_ARCHIVE = "AwA-features-vgg19.tar.bz2"
BASE_ARCHIVE = "AwA-base.tar.bz2"
CLASSES = "classes.txt"
ATTRIBUTES = "predicates.txt"
MATRIX = "predicate-matrix-continuous.txt"

UNKNOWN = -1.0
"""Mark of an unknown attribute of a class."""


class Options(Settings):
    """Options of the reader ``awa``."""

    vectors: Literal["attributes", "names", "texts"] = "attributes"
    """Source of the class vectors: `attributes` (the default, which needs no further file), `names`
    (the mean of the word vectors of the name) or `texts` (the mean of the word vectors of a text
    about the class, weighted by TF-IDF, as in the paper). Vectors have unit length."""

    word_vectors: Annotated[str, Field(min_length=1)] = "glove.6B.50d.txt"
    """File of word vectors, for `names` and `texts`: its name among the sources or in the folder.
    The default is that of the 50-dimensional vectors of the paper."""

    texts: Annotated[str, Field(min_length=1)] = "texts"
    """Folder or file of the texts about the classes, for `texts`: its name among the sources or in
    the folder. The default is a folder with one file per class."""

    folder: Annotated[str, Field(min_length=1)] = "resources/awa"
    """Folder of the files that are not among the sources, relative to the folder of the run."""

    dimension: Annotated[int, Strict(), Field(ge=1)] = 4096
    """Number of features in the file of each image; the default is the length of fc7."""


class ClassInformation(NamedTuple):
    """Names and vectors of the classes, in the order of their numbers."""

    names: list[str]
    """The name of class 1, of class 2, ..."""

    vectors: np.ndarray
    """Class vectors (C, d), rows of NaN for classes without a vector."""

    vector_names: list[str]
    """Names of the d components."""

    report: dict[str, Any]
    """``unknown_attributes``: number of unknown attributes of classes; or ``class_texts``."""


class FoundFile(NamedTuple):
    """A file in a folder or in an archive, to be read before the next one is requested."""

    path: Path
    """The file, or the archive that holds it."""

    location: str
    """Its location, for messages."""

    name: str
    """Its path from the beginning of the pattern on."""

    stream: BinaryIO


def read(options: Options, sources: Sequence[Path], seed: int) -> dict[str, Any]:
    """Return one row per image, sorted by class and file; `seed` is not used.

    ``inputs`` (n, 4096): the features. The class of a row is the folder of its file. Classes
    without images or without a vector are left out and counted in ``exclusions`` of ``report``;
    ``excluded_names`` lists them.

    Files are searched by name among `sources` and in ``folder`` of `options`.

    Raises UserError for files that are missing or exist in two forms; naming the file, the line and
    the column that cannot be read; for folders without a class, and as `class_information`.
    """
    folder = Path(options.folder)
    classes = class_information(options, folder, sources, BASE_ARCHIVE)
    number_of = {name: number for number, name in enumerate(classes.names)}
    images: dict[tuple[str, str], np.ndarray] = {}
    for file in find_files(folder, sources, FEATURES_ARCHIVE, FEATURES):
        *_, class_name, name = PurePosixPath(printable_name(file.name)).parts
        if class_name not in number_of:
            raise UserError(
                location=file.location,
                found=f"its folder '{class_name}' is not a class of {CLASSES}",
                expected=f"one of: {listed(classes.names)}",
                remedy=f"check that the features and {CLASSES} belong together",
            )
        key = (class_name, name.removesuffix(".txt"))
        if key in images:
            raise wrong_source(file.location, "the image is repeated", "one file for every image")
        images[key] = _numbers_of_file(file, options.dimension)
    keys = sorted(images)
    return animals_dataset(
        options,
        sources,
        classes,
        [images[key] for key in keys],
        [number_of[class_name] for class_name, _ in keys],
        [f"{class_name}/{name}" for class_name, name in keys],
    )


def animals_dataset(
    options: Options,
    sources: Sequence[Path],
    classes: ClassInformation,
    features: Sequence[np.ndarray],
    labels: Sequence[int],
    names: Sequence[str],
) -> dict[str, Any]:
    """Return the dataset of images (n) of known classes, without classes that cannot be used.

    `features` are n arrays in single precision, `labels` positions among the names of `classes`.
    """
    import numpy as np

    from workflow_lib.data.class_tables import class_dataset_tree, usable_classes

    usable = usable_classes(np.array(labels, dtype=np.int64), classes.vectors, classes.names)
    rows = [features[row] for row in usable.rows]
    return class_dataset_tree(
        # No second array of all numbers, in single precision, is needed.
        np.array(rows, dtype=np.float64).reshape(-1, options.dimension),
        usable.labels,
        usable.vectors,
        usable.names,
        [f"feature_{column}" for column in range(options.dimension)],
        classes.vector_names,
        [names[row] for row in usable.rows],
        location=", ".join(map(str, sources)) or str(Path(options.folder)),
        report={**usable.report, **classes.report},
        rows_read=len(labels),
    )


def _numbers_of_file(file: FoundFile, dimension: int) -> np.ndarray:
    """Return all numbers (dimension,) float32 of a file, on any number of lines."""
    import numpy as np

    parts, n_read = [np.empty(0, dtype=np.float32)], 0
    for location, line in _filled_lines(file):
        parts.append(line_of_numbers(line, location))
        n_read += len(parts[-1])
        if n_read > dimension:
            break
    values = np.concatenate(parts)
    if n_read != dimension:
        raise UserError(
            location=file.location,
            found=f"{n_read} numbers" + (" or more" if n_read > dimension else ""),
            expected=f"{dimension} numbers",
            remedy="fetch the features again, or set the option dimension to their number",
        )
    return values


# Class-level files


def class_information(
    options: Options, folder: Path, sources: Sequence[Path], archive: str
) -> ClassInformation:
    """Return the names and the vectors of the classes, from the files of the base package.

    An attribute that is -1 for a class is replaced by its mean over the other classes, and the
    attributes of a class are then scaled to unit length.

    Raises UserError for missing files; naming the file, the line and the column that cannot be
    read; for two classes with the same name, numbers of classes that are not 1, 2, ..., a matrix of
    attributes of another size, and an attribute that is not known for any class.
    """
    from workflow_lib.data.class_tables import described_vectors

    names = _numbered_names(only_file(folder, sources, archive, CLASSES), CLASSES, "a class")
    if options.vectors == "attributes":
        lines = only_file(folder, sources, archive, ATTRIBUTES)
        attributes = _numbered_names(lines, ATTRIBUTES, "an attribute")
        lines = only_file(folder, sources, archive, MATRIX)
        vectors, n_unknown = _attribute_vectors(lines, names, attributes)
        return ClassInformation(names, vectors, attributes, {"unknown_attributes": n_unknown})
    texts = None
    word_vectors = _named(folder, sources, options.word_vectors, "word_vectors")
    if options.vectors == "texts":
        texts = _named(folder, sources, options.texts, "texts")
    return ClassInformation(names, *described_vectors(options.vectors, names, word_vectors, texts))


def _numbered_names(lines: Iterable[tuple[str, bytes]], file: str, kind: str) -> list[str]:
    """Return the names in lines such as ``  1<tab>antelope``, by their numbers."""
    names: dict[int, str] = {}
    different: set[str] = set()
    for location, line in lines:
        number, _, name = map(str.strip, text_of(line, location).partition("\t"))
        if not (number.isascii() and number.isdigit() and len(number) <= 9 and name):
            raise wrong_source(
                location,
                f"'{text_of(line, location)[:60]}'",
                f"the number of {kind}, a tab and its name",
            )
        plain = " ".join(name.replace("+", " ").replace("_", " ").casefold().split())
        if int(number) in names or plain in different:
            what = f"number {number}" if int(number) in names else f"name '{name}'"
            raise wrong_source(
                location,
                f"the {what} of {kind} is repeated",
                "a different number and name in every line",
            )
        names[int(number)] = name
        different.add(plain)
    missing = [number for number in range(1, len(names) + 1) if number not in names]
    if missing or not names:
        raise wrong_source(
            f"the file {file}",
            f"{kind} with the number {listed(missing or [1])} has no name",
            "numbers that run from 1 without a gap",
        )
    return [names[number] for number in sorted(names)]


def _attribute_vectors(
    lines: Iterable[tuple[str, bytes]], names: Sequence[str], attributes: Sequence[str]
) -> tuple[np.ndarray, int]:
    """Return the class vectors (C, d) of unit length, and the number of unknown attributes."""
    import numpy as np

    from workflow_lib.inputs.class_vectors import unit_rows

    rows = []
    for location, line in lines:
        # In double precision, because these numbers are few.
        row = line_of_numbers(line, location, np.float64)
        if len(row) != len(attributes):
            raise wrong_source(
                location,
                f"{len(row)} numbers",
                f"{len(attributes)}, one for every attribute of {ATTRIBUTES}",
            )
        wrong = np.flatnonzero((row < 0) & (row != UNKNOWN))
        if wrong.size:
            raise wrong_source(
                f"{location}, column {wrong[0] + 1}",
                f"the attribute {row[wrong[0]]:g}",
                "a number that is not negative, or -1 where it is unknown",
            )
        rows.append(row)
    if len(rows) != len(names):
        raise wrong_source(
            f"the file {MATRIX}",
            f"{len(rows)} lines",
            f"{len(names)}, one for every class of {CLASSES}",
        )
    matrix = np.array(rows)
    unknown = matrix == UNKNOWN
    if unknown.all(axis=0).any():
        column = int(unknown.all(axis=0).argmax())
        raise wrong_source(
            f"the file {MATRIX}, column {column + 1}",
            f"the attribute '{attributes[column]}' is unknown for every class",
            "at least one class for which it is known",
        )
    known_mean = np.where(unknown, 0.0, matrix).sum(axis=0) / (~unknown).sum(axis=0)
    return unit_rows(np.where(unknown, known_mean, matrix)), int(unknown.sum())


# Files in folders and archives


def find_files(
    folder: Path, sources: Sequence[Path], archive: str, pattern: str
) -> Iterator[FoundFile]:
    """Yield the files that match `pattern`, such as ``Features/vgg19/*/*.txt``.

    They are the source with the last name in `pattern`, the files anywhere below `folder`, or those
    in the `archive` (tar or zip, by name) among `sources` or in `folder`, in only one of these
    locations. Files of a folder are sorted, those of an archive are in its order.

    Raises UserError when there is no such file, when there are two instead of one, and for damaged
    files.
    """
    name = PurePosixPath(pattern).name
    unpacked = [path for path in sources if path.name == name]
    unpacked = unpacked or sorted(path for path in folder.glob(f"**/{pattern}") if path.is_file())
    packed = next((path for path in sources if path.name == archive), folder / archive)
    locations = [*(unpacked[:1] if "*" in name else unpacked)]
    locations += [packed] if packed.is_file() else []
    if len(locations) > 1:
        raise UserError(
            location=f"the files of {folder}",
            found=f"{pattern} is both in {locations[0]} and in {locations[1]}",
            expected="one of the two",
            remedy="remove the other, or move it away",
        )
    if not locations:
        raise UserError(
            location=f"the files of {folder}",
            found=f"there is no {pattern}, and no {archive} that holds it",
            expected=f"one of the two among the sources or in the folder {folder} (option folder)",
            remedy=f"fetch {archive} from {ADDRESS} and put it there",
        )
    if not unpacked:
        yield from _packed_files(packed, pattern)
    for path in unpacked:
        with _readable(path), path.open("rb") as stream:
            found = path_from_pattern(path.as_posix(), pattern) or name
            yield FoundFile(path, str(path), found, stream)


def only_file(
    folder: Path, sources: Sequence[Path], archive: str, name: str
) -> Iterator[tuple[str, bytes]]:
    """Yield the non-blank lines of the only file of this name, each with its location.

    Raises UserError as `find_files`, and when the archive holds two files of this name.
    """
    first = None
    for file in find_files(folder, sources, archive, name):
        if first is not None:
            raise UserError(
                location=file.location,
                found="the archive holds two files of this name",
                expected="one",
                remedy=f"fetch it again from {ADDRESS}",
            )
        first = file
        yield from _filled_lines(file)


def _filled_lines(file: FoundFile) -> Iterator[tuple[str, bytes]]:
    with _readable(file.path):
        for number, line in enumerate(lines_of(file.stream, file.location), start=1):
            if line.strip():
                yield f"{file.location}, line {number}", line


def _named(folder: Path, sources: Sequence[Path], name: str, option: str) -> Path:
    """Return the path of the file or folder that an option names."""
    path = next((path for path in sources if path.name == name), folder / name)
    if not path.exists():
        raise UserError(
            location=f"option {option}",
            found=f"there is no {name} among the sources, and no {path}",
            expected="an existing file or folder",
            remedy="put it there, or choose vectors: attributes, which needs none",
        )
    return path


def _packed_files(path: Path, pattern: str) -> Iterator[FoundFile]:
    if not begins_as_zip(path):
        for name, content in matching_members(path, pattern):
            yield FoundFile(path, f"{path}, member {name}", name, io.BytesIO(content))
        return
    found = False
    with _readable(path), opened_zip(path) as archive:
        for member in archive.infolist():
            name = path_from_pattern(member.filename, pattern)
            if name is not None and not member.is_dir():
                found = True
                with archive.open(member) as stream:
                    yield FoundFile(path, f"{path}, member {name}", name, stream)
    if not found:
        raise UserError(
            location=str(path),
            found=f"no member of the archive matches {pattern}",
            expected="an archive that holds such files, in any folder",
            remedy=f"fetch it again from {ADDRESS}",
        )


def _readable(path: Path) -> AbstractContextManager[None]:
    return readable(path, "a text file, a tar or a zip archive", f"fetch it again from {ADDRESS}")


# Lines


def text_of(line: bytes, location: str) -> str:
    """Return the stripped text of a line; refuse a line that is not UTF-8."""
    text = utf8_text(line, location, FETCH_AGAIN, has_lines=False)
    return text.removeprefix("\ufeff").strip()


def line_of_numbers(line: bytes, location: str, precision: type | None = None) -> np.ndarray:
    """Return the numbers of a line, separated by white space, in single precision by default.

    Raises UserError as `workflow_lib.tabular.tables.numbers_of`.
    """
    import numpy as np

    texts = line.decode("ascii", "replace").split()
    return numbers_of(texts, location, FETCH_AGAIN, precision or np.float32)
