"""The image features stage: one row of numbers for every image of a collection.

It runs once for a collection and a kind of features, before any split: no kind learns from labels,
and the only learned part, the codebook of the Fisher vectors, is learned from images of classes
that the experiment does not use.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.core.errors import UserError, unknown_name
from workflow_lib.core.imports import import_closure
from workflow_lib.core.seeds import derive_seed
from workflow_lib.inputs.fisher_vectors import FisherVectors
from workflow_lib.inputs.images import hog, thumbnails
from workflow_lib.inputs.images.dense_sift import N_NUMBERS, dense_sift
from workflow_lib.inputs.images.hog import hog_features
from workflow_lib.inputs.images.thumbnails import thumbnail
from workflow_lib.inputs.images.vgg19 import Vgg19Features
from workflow_lib.items.images import (
    LEFT_OUT_CLASSES,
    REASONS,
    ImageEntry,
    OpenedImage,
    empty_class_folders,
    image_entries,
    open_images,
)
from workflow_lib.models.mixtures.mixture import GaussianMixtureModel
from workflow_lib.models.mixtures.online_mixture import OnlineGaussianMixtureModel

DENSE_SIFT_FISHER = "dense-sift-fisher"
DENSE_SIFT_FISHER_ALL = "dense-sift-fisher-all"
WITH_CODEBOOK = (DENSE_SIFT_FISHER, DENSE_SIFT_FISHER_ALL)
HOG = "hog"
THUMBNAILS = "thumbnails"
VGG19 = "vgg19-fc7"
KINDS = (*WITH_CODEBOOK, HOG, THUMBNAILS, VGG19)

PART_KIND = "image_features_part"

NO_IMAGE = "a class folder without an image that can be read"

# Images per part. Each part is saved as soon as it is finished.
PART_SIZE = 256

PROGRESS_STEP = 200

# The codebook. More descriptors or components cost time and gain little with few images.
N_CODEBOOK_IMAGES = 600
N_CODEBOOK_DESCRIPTORS = 60_000
N_PROJECTED = 60
N_COMPONENTS = 48

# The last principal components have a small variance, and the floor, which is relative to the mean
# variance, must be below it.
VARIANCE_FLOOR = 1e-3

# More iterations cost time and raise the likelihood of the descriptors; in one comparison they did
# not make the Fisher vectors more informative about the classes.
MAX_ITERATIONS = 15
TOLERANCE = 1e-3

Extractor = Callable[[Iterator[np.ndarray]], np.ndarray]


def run(
    source: Path,
    output: Path,
    kind: str,
    left_out_classes: Sequence[str],
    codebook_classes: Sequence[str],
    seed: int,
    parts: Path,
    weights: Path | None = None,
    members: str = "*",
) -> None:
    """Compute one kind of features of all images and write the "image_features" artifact.

    It holds ``features`` (n, q): float64, of ``thumbnails`` uint8 (n, 48, 48, 3); ``names`` with
    the JSON lists ``rows`` (``class/file``) and ``classes`` (the class of each row); and
    ``report``: ``rows_read`` (images in the collection, of all classes that are not left out),
    ``exclusions`` and ``excluded_names`` (the numbers and names of the images that could not be
    read, by reason, and of the classes without a readable image). Rows are the readable images,
    sorted by class and file: the same for every kind.

    Finished parts are kept as artifacts in the folder `parts`, from which an interrupted run
    continues; they are removed when the output is written. A part is used only if it was computed
    from the same images, settings, code and versions.

    Raises UserError when the collection cannot be read or none of its images can; when classes of
    the codebook are missing, unknown, or have no descriptors; when an optional dependency or the
    weights are missing. Raises ValueError if `kind` is unknown.

    Parameters
    ----------
    source : path
        The collection (`workflow_lib.items.images`).
    output : path
    kind : {"dense-sift-fisher", "dense-sift-fisher-all", "hog", "thumbnails", "vgg19-fc7"}
        ``dense-sift-fisher``: improved Fisher vectors of dense RootSIFT descriptors, reduced to
        60 principal components with their 2 positions, under 48 diagonal Gaussians that EM fits to
        some images; ``dense-sift-fisher-all``: that are learned from all, in batches.
    left_out_classes : sequence of str
        Classes whose images are not used at all. The folder ``BACKGROUND_Google`` of Caltech-101,
        which is not a class, is always left out.
    codebook_classes : sequence of str
        Classes that the experiment does not use, from whose images alone the principal components
        and the Gaussians are learned. Their images are rows as well, so that the rows of all kinds
        are the same. Not used by the other kinds.
    seed : int
        Seeds the sample of descriptors and the start of the mixture.
    parts : path
    weights : path or None, default=None
        The published weights of VGG19, for ``vgg19-fc7`` only.
    members : str, default="*"
        Pattern of the file names of the images; other files are ignored, also for the codebook, so
        that a larger archive gives the same features.
    """
    source, output, parts = Path(source), Path(output), Path(parts)
    weights = None if weights is None else Path(weights)
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {KINDS}; found {kind!r}.")
    left_out = sorted({*LEFT_OUT_CLASSES, *left_out_classes})
    entries = [
        entry
        for entry in image_entries(source, left_out)
        if fnmatchcase(entry.name.rpartition("/")[2], members)
    ]
    if not entries:
        raise UserError(
            location=f"{source}, option members",
            found=f"no image whose name matches '{members}'",
            expected="a pattern such as image_*.jpg that some names match",
            remedy="fix members in the options of the dataset",
        )
    used = sorted(set(codebook_classes) - set(left_out)) if kind in WITH_CODEBOOK else []
    settings = _settings(source, kind, left_out, used, seed, weights, members)
    if kind in WITH_CODEBOOK:
        _check_codebook_classes(source, used, entries)
    extract = _extractor(kind, source, entries, used, seed, parts, settings, weights)

    batches = [entries[begin : begin + PART_SIZE] for begin in range(0, len(entries), PART_SIZE)]
    files = [parts / f"part-{number:05d}.h5" for number in range(len(batches))]
    reasons = [_reasons_of(file, settings) for file in files]
    missing = [number for number, known in enumerate(reasons) if known is None]
    n_missing = sum(len(batches[number]) for number in missing)
    if n_missing < len(entries):
        print(f"{len(entries) - n_missing} images are taken from {parts}", flush=True)
    progress = _Progress(n_missing)
    # One pass for all missing parts: each pass reads a compressed archive from its beginning.
    opened = open_images(source, chain.from_iterable(batches[number] for number in missing))
    for number in missing:
        read = islice(opened, len(batches[number]))
        reasons[number] = _write_part(files[number], read, extract, progress, settings)
    progress.close()
    _write_output(source, output, entries, list(chain.from_iterable(reasons)), files, left_out)
    for file in [*files, parts / "codebook.h5"]:
        file.unlink(missing_ok=True)
        # Incomplete files of a run that was killed.
        for unfinished in parts.glob(f".{file.name}.*.tmp"):
            unfinished.unlink(missing_ok=True)
    # Files in the folder that this stage did not write are kept.
    with suppress(OSError):
        parts.rmdir()


# Parts


def _settings(
    source: Path,
    kind: str,
    left_out: Sequence[str],
    codebook_classes: Sequence[str],
    seed: int,
    weights: Path | None,
    members: str,
) -> str:
    """Return everything that a part depends on, as one text."""
    from importlib.metadata import version

    root = Path(__file__).parents[2]
    code = hashlib.sha256()
    for file in import_closure(root, [__name__]):
        code.update(Path(file).read_bytes())
    learned = {"codebook_classes": codebook_classes, "seed": seed} if codebook_classes else {}
    with_weights = kind == VGG19 and weights is not None and weights.is_file()
    return json.dumps(
        {
            "images": _digest(source),
            "kind": kind,
            "left_out_classes": left_out,
            "members": members,
            "weights": _digest(weights) if with_weights else "",
            "code": code.hexdigest(),
            "versions": [version("numpy"), version("scipy"), version("pillow")],
            "part_size": PART_SIZE,
            **learned,
        },
        sort_keys=True,
    )


def _digest(path: Path) -> str:
    """Return the SHA-256 of a file, or of the names and contents of all files in a folder."""
    if path.is_file():
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    digest = hashlib.sha256()
    for file in sorted(file for file in path.rglob("*") if file.is_file()):
        digest.update(os.fsencode(file.relative_to(path)) + b"\0" + _digest(file).encode() + b"\n")
    return digest.hexdigest()


def _kept(file: Path, settings: str) -> dict[str, Any] | None:
    """Return a part of an earlier run, or None where it cannot be used."""
    if not file.is_file():
        return None
    try:
        tree = read_artifact(file, PART_KIND)
    except UserError:
        # A damaged part is computed again.
        return None
    return tree if tree.get("settings") == settings else None


def _reasons_of(file: Path, settings: str) -> list[str] | None:
    tree = _kept(file, settings)
    return None if tree is None else json.loads(tree["reasons"])


def _write_part(
    file: Path,
    opened: Iterator[OpenedImage],
    extract: Extractor,
    progress: _Progress,
    settings: str,
) -> list[str]:
    """Compute the features of some images, keep them, and return why images could not be read."""
    reasons: list[str] = []

    def readable() -> Iterator[np.ndarray]:
        for image in opened:
            reasons.append(image.reason)
            if image.pixels is not None:
                yield image.pixels
            progress.step()

    features = extract(readable())
    tree = {"features": features, "reasons": json.dumps(reasons), "settings": settings}
    write_artifact(file, tree, PART_KIND)
    return reasons


def _write_output(
    source: Path,
    output: Path,
    entries: Sequence[ImageEntry],
    reasons: Sequence[str],
    files: Sequence[Path],
    left_out: Sequence[str],
) -> None:
    rows = [entry for entry, reason in zip(entries, reasons) if not reason]
    excluded: dict[str, list[str]] = {reason: [] for reason in (*REASONS, NO_IMAGE)}
    for entry, reason in zip(entries, reasons):
        if reason:
            excluded[reason].append("/".join(entry))
    without = {entry.class_name for entry in entries} - {entry.class_name for entry in rows}
    excluded[NO_IMAGE] = sorted({*without, *empty_class_folders(source, left_out)})
    if not rows:
        raise UserError(
            location=str(source),
            found="none of its images can be read: "
            + ", ".join(f"{len(names)} for {reason}" for reason, names in excluded.items()),
            expected="images",
            remedy="download the collection again",
        )
    features, filled = None, 0
    for file in files:
        part = read_artifact(file, PART_KIND)["features"]
        if features is None:
            features = np.empty((len(rows), *part.shape[1:]), dtype=part.dtype)
        features[filled : filled + len(part)] = part
        filled += len(part)
    tree = {
        "features": features,
        "names": {
            "rows": json.dumps(["/".join(entry) for entry in rows]),
            "classes": json.dumps([entry.class_name for entry in rows]),
        },
        "report": {
            "rows_read": len(entries),
            "exclusions": {reason: len(names) for reason, names in excluded.items()},
            "excluded_names": {
                reason: ", ".join(names) for reason, names in excluded.items() if names
            },
        },
    }
    write_artifact(output, tree, "image_features", inputs=[source] if source.is_file() else [])


class _Progress:
    """Prints the number of processed images, and the rate."""

    def __init__(self, n_images: int) -> None:
        self.n_images = n_images
        self.seen = 0
        self.began = time.perf_counter()

    def step(self) -> None:
        self.seen += 1
        if self.seen % PROGRESS_STEP == 0:
            print(f"{self.seen} of {self.n_images} images, {self._rate()}", flush=True)

    def close(self) -> None:
        if self.seen:
            print(f"{self.seen} images in all, {self._rate()}", flush=True)

    def _rate(self) -> str:
        seconds = time.perf_counter() - self.began
        return f"{self.seen / max(seconds, 1e-9):.1f} images per second"


# Features


def _extractor(
    kind: str,
    source: Path,
    entries: Sequence[ImageEntry],
    codebook_classes: Sequence[str],
    seed: int,
    parts: Path,
    settings: str,
    weights: Path | None,
) -> Extractor:
    """Return the function from images to their features (n, ...)."""
    if kind == HOG:
        return lambda images: _stacked(map(hog_features, images), (hog.N_FEATURES,), np.float64)
    if kind == THUMBNAILS:
        shape = (thumbnails.SIDE, thumbnails.SIDE, 3)
        return lambda images: _stacked(map(thumbnail, images), shape, np.uint8)
    if kind == VGG19:
        if weights is None:
            raise UserError(
                location=f"the image features {VGG19}",
                found="no weights of the network",
                expected="the file of the published weights among the sources of the dataset",
                remedy="list a source whose file name ends with .pth",
            )
        return Vgg19Features(weights).transform
    codebook = _kept(parts / "codebook.h5", settings)
    if codebook is None:
        is_of_all = kind == DENSE_SIFT_FISHER_ALL
        learned = _learned_codebook(source, entries, codebook_classes, seed, is_of_all)
        write_artifact(parts / "codebook.h5", learned | {"settings": settings}, PART_KIND)
        # Read back, as a continued run does: the rounding of products depends on the memory order
        # of the arrays, and the features must not depend on whether a run was interrupted.
        codebook = read_artifact(parts / "codebook.h5", PART_KIND)
    model = GaussianMixtureModel(len(codebook["weights"]), "diag", VARIANCE_FLOOR)
    model.weights_, model.means_ = codebook["weights"], codebook["means"]
    model.covariances_ = codebook["covariances"]
    vectors = FisherVectors(model)

    def fisher_vector(image: np.ndarray) -> np.ndarray:
        return vectors.transform([_projected(*dense_sift(image), codebook)])[0]

    return lambda images: _stacked(map(fisher_vector, images), (vectors.n_features,), np.float64)


def _stacked(rows: Iterator[np.ndarray], shape: tuple[int, ...], dtype: type) -> np.ndarray:
    # Without rows the array keeps its other axes.
    return np.array(list(rows), dtype=dtype).reshape(-1, *shape)


# The codebook


def _check_codebook_classes(
    source: Path, codebook_classes: Sequence[str], entries: Sequence[ImageEntry]
) -> None:
    if not codebook_classes:
        raise UserError(
            location=f"{source}, option codebook_classes",
            found="no class to learn the codebook of the image features from",
            expected="classes that the experiment does not use: its own classes contain test rows",
            remedy="name such classes, or choose other image features, such as hog",
        )
    names = {entry.class_name for entry in entries}
    for name in codebook_classes:
        if name not in names:
            raise unknown_name(f"{source}, option codebook_classes", "class", name, names)


def _learned_codebook(
    source: Path, entries: Sequence[ImageEntry], classes: Sequence[str], seed: int, is_of_all: bool
) -> dict[str, np.ndarray]:
    """Return the principal components and the Gaussians of descriptors of images of `classes`. They
    are learned from descriptors of some images by EM, or of all in batches."""
    began = time.perf_counter()
    candidates = [entry for entry in entries if entry.class_name in classes]
    generator = np.random.default_rng(derive_seed(seed, "codebook-sample"))
    most = len(candidates) if is_of_all else N_CODEBOOK_IMAGES
    chosen = np.sort(generator.permutation(len(candidates))[:most])
    n_each = -(-N_CODEBOOK_DESCRIPTORS // N_CODEBOOK_IMAGES)
    descriptors, positions = [np.empty((0, N_NUMBERS))], [np.empty((0, 2))]
    for image in open_images(source, [candidates[number] for number in chosen]):
        if image.pixels is None:
            continue
        all_descriptors, all_positions = dense_sift(image.pixels)
        drawn = np.sort(generator.permutation(len(all_descriptors))[:n_each])
        descriptors.append(all_descriptors[drawn])
        positions.append(all_positions[drawn])
    sample = np.concatenate(descriptors)
    if len(sample) < 2:
        raise UserError(
            location=f"{source}, option codebook_classes",
            found=f"{len(chosen)} images without enough descriptors",
            expected="images that can be read and are not of one colour",
            remedy="name more classes",
        )
    some = np.sort(generator.permutation(len(sample))[:N_CODEBOOK_DESCRIPTORS])
    codebook = _principal_components(sample[some] if is_of_all else sample)
    model_seed = derive_seed(seed, "codebook-mixture")
    rows = _ProjectedRows(sample, np.concatenate(positions), codebook)
    if is_of_all:
        model: GaussianMixtureModel = OnlineGaussianMixtureModel(
            N_COMPONENTS, "diag", variance_floor=VARIANCE_FLOOR, random_state=model_seed
        ).fit(rows)
    else:
        model = GaussianMixtureModel(
            N_COMPONENTS,
            "diag",
            VARIANCE_FLOOR,
            n_init=1,
            max_iter=MAX_ITERATIONS,
            tol=TOLERANCE,
            random_state=model_seed,
        ).fit(rows[:])
    what = "batches" if is_of_all else "iterations"
    print(
        f"codebook of {model.n_components_} Gaussians from {len(sample)} patches of {len(chosen)} "
        f"images of {len(classes)} classes, {len(model.log_likelihoods_)} {what}, "
        f"{time.perf_counter() - began:.0f} s",
        flush=True,
    )
    return codebook | {
        "weights": model.weights_,
        "means": model.means_,
        "covariances": model.covariances_,
    }


class _ProjectedRows:
    """Descriptors (m, 128) in principal components, with their positions, made where sliced."""

    def __init__(self, descriptors: np.ndarray, positions: np.ndarray, codebook: dict) -> None:
        self._parts, self._codebook = (descriptors, positions), codebook
        self.shape = len(descriptors), len(codebook["components"]) + positions.shape[1]

    def __getitem__(self, rows: slice) -> np.ndarray:
        descriptors, positions = (part[rows] for part in self._parts)
        return _projected(descriptors.astype(np.float64), positions, self._codebook)


def _principal_components(sample: np.ndarray) -> dict[str, np.ndarray]:
    """Return the mean (128,) and the leading principal components (60, 128) of descriptors."""
    sample = sample.astype(np.float64)
    mean = sample.mean(axis=0)
    centred = sample - mean
    _, vectors = np.linalg.eigh(centred.T @ centred)
    components = vectors[:, ::-1][:, :N_PROJECTED].T
    # The sign of an eigenvector is arbitrary: its largest entry is made positive.
    largest = np.abs(components).argmax(axis=1)
    signs = np.sign(components[np.arange(len(components)), largest])
    return {"mean": mean, "components": components * signs[:, None]}


def _projected(descriptors: np.ndarray, positions: np.ndarray, codebook: dict) -> np.ndarray:
    """Return the descriptors in principal components, and their positions from the centre."""
    projected = (descriptors - codebook["mean"]) @ codebook["components"].T
    return np.hstack([projected, positions - 0.5])
