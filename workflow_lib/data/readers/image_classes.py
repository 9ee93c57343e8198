"""Reader of classes of images, such as Caltech-101: from features of an image to its class.

Features are computed once for a collection of images
(`workflow_lib.protocol.image_features_stage`), and this reader combines them with class vectors,
the semantic description of the classes (Djerrab et al. 2018, section 6.5). Its inputs are inner
products between images: each kind of features is scaled to unit length, and the inner products are
averaged over the kinds.

Some kinds of features need a codebook, which is learned from classes that the experiment does not
use, those of `codebook_classes`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, Field, Strict

from workflow_lib.core.errors import UserError, unknown_name
from workflow_lib.core.settings import Settings
from workflow_lib.core.values import without_repeats
from workflow_lib.tabular.tables import check_sources

if TYPE_CHECKING:
    from workflow_lib.data.class_tables import DescribedVectors

WEIGHTS = ".pth"
"""End of the name of a source with the weights of a network, which only its features need."""

THUMBNAILS = "thumbnails"
"""Kind of the features that are not inputs but small pictures for figures."""

INTRODUCTIONS = "introductions"
"""Name of the introductions of Wikipedia pages among the features."""

OTHER_NAMES = "images whose names the option members does not match"
LEFT_OUT = "classes left out by the option left_out_classes"
CODEBOOK = "classes that only the codebook was learned from"

Name = Annotated[str, Field(min_length=1)]


class Options(Settings):
    """Options of the reader ``image_classes``."""

    members: Name = "*"
    """Pattern of the names of the images that are rows, such as `image_00[0-3][0-9].jpg` for the
    first 39 of each class: ``*``, ``?`` and ``[...]``, upper and lower case differ. All by
    default."""

    user_supplied: Annotated[tuple[Name, ...], AfterValidator(without_repeats)] = ()
    """Files that you supply yourself, relative to the folder of the run, for archives without a
    published checksum: they follow the sources. None by default."""

    wikipedia: dict[Name, Name] = {}
    """Title of the page of each class in the English Wikipedia, for `texts` and `lsa`: the
    introductions are fetched once, by `prepare`, and follow all other files. None by default; then
    the texts are one of the files."""

    text_names: dict[Name, Name] = {}
    """Names in the texts of classes that have another name there, such as `car_side: side of a
    car`. None by default: names are compared without regard to case, `_`, `-` and spaces."""

    features: Annotated[
        tuple[Literal["dense-sift-fisher", "dense-sift-fisher-all", "hog", "vgg19-fc7"], ...],
        Field(min_length=1),
        AfterValidator(without_repeats),
    ] = ("dense-sift-fisher", "hog")
    """Kinds of features whose inner products are averaged. The default needs no network and no
    further file: local descriptors of small patches, and the outline of the whole image. The
    mixture of `dense-sift-fisher` is fitted to 600 images of `codebook_classes`, that of
    `dense-sift-fisher-all` to all of them."""

    vectors: Literal["names", "texts", "lsa"] = "names"
    """Source of the class vectors: `names` (the default, which needs the fewest files: the mean of
    the word vectors of the name), `texts` (the mean of the word vectors of a text about the class,
    weighted by TF-IDF, as in the paper) or `lsa` (latent semantic analysis of the texts, without
    word vectors). The sources are the images, then the word vectors (not for `lsa`), then the texts
    (not for `names`)."""

    left_out_classes: Annotated[tuple[Name, ...], AfterValidator(without_repeats)] = ()
    """Classes that are used neither for rows nor for the codebook, such as a class with the
    pictures of another. Names that no image has are ignored: features may lack these classes."""

    codebook_classes: Annotated[tuple[Name, ...], AfterValidator(without_repeats)] | None = None
    """Classes that are only used to learn the codebook of the features and are not rows. The
    default, null, stands for all classes without a class vector."""

    lsa_dimension: Annotated[int, Strict(), Field(ge=1)] = 50
    """Length of the class vectors for `vectors: lsa`, at most the number of texts; the default is
    that of the word vectors of the paper."""


def read(
    options: Options, sources: Sequence[Path], seed: int, features: Mapping[str, Path] | None = None
) -> dict[str, Any]:
    """Return one row per image, in the order of the features; `seed` is not used.

    ``inputs`` (n, n): the mean over the kinds of features of the inner products of rows of unit
    length, between 1 and -1; an image without any features of a kind, such as an image of a single
    colour, has 0 for that kind. ``thumbnails``: small versions of the images. The class of a row is
    that of its image. Classes that are left out, of the codebook or without a class vector are
    counted in ``exclusions`` of ``report``, as are the images that could not be read and those that
    ``members`` does not match; ``excluded_names`` lists all but the last.

    `sources` are the images, which are not opened, and then the files that ``vectors`` needs;
    weights of a network (``.pth``), anywhere after the images, are ignored. `features` are
    "image_features" artifacts of one collection: all kinds in `options`, and "thumbnails".

    Raises UserError for another number of sources, codebook classes that do not exist, features of
    different images, and as `workflow_lib.data.class_tables.class_dataset_tree`. Raises ValueError
    when a kind of features was not given.
    """
    import numpy as np

    from workflow_lib.core.artifacts import read_artifact
    from workflow_lib.data.class_tables import class_dataset_tree, usable_classes

    features = features or {}
    introductions = [features[INTRODUCTIONS]] if INTRODUCTIONS in features else []
    sources = [*sources, *_user_supplied(options), *introductions]
    for kind in (*options.features, THUMBNAILS):
        if kind not in features:
            raise ValueError(f"The features '{kind}' were not given, only {list(features)}.")
    thumbnails = read_artifact(features[THUMBNAILS], "image_features")
    images = json.loads(thumbnails["names"]["rows"])
    classes_of_images = json.loads(thumbnails["names"]["classes"])
    found, labels = np.unique(classes_of_images, return_inverse=True)
    class_names = found.tolist()
    described = _described(options, sources, class_names)
    files = [name.rpartition("/")[2] for name in images]
    matching = np.flatnonzero([fnmatchcase(name, options.members) for name in files])
    usable = usable_classes(
        labels[matching],
        described.vectors,
        class_names,
        {LEFT_OUT: options.left_out_classes, CODEBOOK: options.codebook_classes or ()},
    )
    chosen = matching[usable.rows]
    products = np.zeros((len(chosen), len(chosen)))
    for kind in options.features:
        tree = read_artifact(features[kind], "image_features")
        if tree["names"] != thumbnails["names"]:
            raise UserError(
                location=f"{features[kind]} with {features[THUMBNAILS]}",
                found="the two files hold features of different images",
                expected="the same images in the same order",
                remedy="rm both files and run the same snakemake command again",
            )
        rows = tree["features"][chosen]
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        rows = rows / np.where(lengths > 0, lengths, 1.0)
        products += rows @ rows.T / len(options.features)
    names = [images[row] for row in chosen]
    usable.report["exclusions"][OTHER_NAMES] = len(images) - len(matching)
    # The report names these classes even if the features were computed without them.
    usable.report["exclusions"][LEFT_OUT] = len(options.left_out_classes)
    if options.left_out_classes:
        usable.report["excluded_names"][LEFT_OUT] = ", ".join(sorted(options.left_out_classes))
    read_before = thumbnails["report"]
    return class_dataset_tree(
        # Products of matrices may be asymmetric in the last digit.
        (products + products.T) / 2,
        usable.labels,
        usable.vectors,
        usable.names,
        names,
        described.names,
        names,
        location=str(sources[0]),
        thumbnails=thumbnails["features"][chosen],
        report={
            **described.report,
            **{
                key: {**read_before.get(key, {}), **usable.report[key]}
                for key in ("exclusions", "excluded_names")
            },
        },
        rows_read=read_before["rows_read"],
        inner_products=True,
    )


def codebook_classes(
    options: Options, sources: Sequence[Path], class_names: Sequence[str]
) -> list[str]:
    """Return those of all classes of a collection that a codebook may be learned from, sorted.

    They are those of the option ``codebook_classes`` or, where it is null, the classes without a
    class vector; never those of ``left_out_classes``. None of them is a row of the dataset.

    The `sources` are those of `read`. Raises UserError for another number of sources, and for
    codebook classes that do not exist.
    """
    import numpy as np

    class_names = sorted(class_names)
    without = _described(options, sources, class_names).vectors
    named = options.codebook_classes
    if named is None:
        named = [n for n, none in zip(class_names, np.isnan(without).any(axis=1)) if none]
    return sorted(set(named) - set(options.left_out_classes))


def _described(
    options: Options, sources: Sequence[Path], class_names: Sequence[str]
) -> DescribedVectors:
    """Return the vectors (C, d) of all classes of the collection, NaN for those without one."""
    import numpy as np

    from workflow_lib.data.class_tables import described_vectors

    wanted = {
        "names": ["word vectors"],
        "texts": ["word vectors", "texts about the classes"],
        "lsa": ["texts about the classes"],
    }[options.vectors]
    sources = [source for source in sources if source.suffix != WEIGHTS]
    check_sources(sources, "image_classes", "the images", *(f"the {part}" for part in wanted))
    for name in options.codebook_classes or ():
        if name not in class_names and name not in options.left_out_classes:
            location = f"{sources[0]}, option codebook_classes"
            raise unknown_name(location, "class", name, class_names)
    files = dict(zip(wanted, sources[1:]))
    # The document frequencies are those in the texts of the classes that are rows.
    unused = {*options.left_out_classes, *(options.codebook_classes or ())}
    used = [index for index, name in enumerate(class_names) if name not in unused]
    for name in options.text_names:
        if name not in class_names and name not in unused:
            raise unknown_name(f"{sources[0]}, option text_names", "class", name, class_names)
    found = described_vectors(
        options.vectors,
        [class_names[index] for index in used],
        files.get("word vectors"),
        files.get("texts about the classes"),
        options.lsa_dimension,
        {name: other for name, other in options.text_names.items() if name not in unused},
    )
    vectors = np.full((len(class_names), found.vectors.shape[1]), np.nan)
    vectors[used] = found.vectors
    return found._replace(vectors=vectors)


def _user_supplied(options: Options) -> list[Path]:
    """Return the paths of the files that the user supplies; refuse missing files."""
    missing = [name for name in options.user_supplied if not Path(name).exists()]
    if missing:
        raise UserError(
            location="option user_supplied of a dataset with the reader 'image_classes'",
            found=f"no file or folder {', '.join(missing)}",
            expected="every file that is named there",
            remedy="place them there; the configuration of the dataset says where to find them",
        )
    return [Path(name) for name in options.user_supplied]
