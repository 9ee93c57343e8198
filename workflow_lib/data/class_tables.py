"""Datasets of classes: class vectors, usable classes, and the checks of readers.

A class is a symbol, such as the name of an animal, and its vector describes it: the outputs of a
row are the vector of its class (Djerrab et al. 2018, section 6.5). `described_vectors` makes the
vectors from words, `usable_classes` leaves out the classes that cannot be learned, and
`class_dataset_tree` makes the dataset.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from workflow_lib.core.errors import UserError
from workflow_lib.tabular.tables import dataset_tree, exclusion_report, listed

WITHOUT_ROWS = "classes without rows"
WITHOUT_VECTOR = "classes without a class vector"


class DescribedVectors(NamedTuple):
    """Class vectors that are made from words."""

    vectors: np.ndarray
    """Class vectors (C, d) of unit length, rows of NaN for classes without a vector."""

    names: list[str]
    """Names of the d components."""

    report: dict[str, Any]
    """For texts ``class_texts``: see `workflow_lib.inputs.class_vectors.text_report`."""


def described_vectors(
    kind: str,
    class_names: Sequence[str],
    word_vectors: Path | None,
    texts: Path | None,
    lsa_dimension: int = 50,
    text_names: Mapping[str, str] | None = None,
) -> DescribedVectors:
    """Return the class vectors made from names or texts (`workflow_lib.inputs.class_vectors`).

    By `kind`, they are for ``names`` the mean word vector of the name; for ``texts`` that of a text
    about the class, weighted by TF-IDF, as in the paper; and for ``lsa`` those of latent semantic
    analysis of the texts, of the length `lsa_dimension`, without word vectors. The document
    frequencies are those in the texts of `class_names` only. `text_names` are the names in `texts`
    of classes that have another name there.

    Raises UserError when a file cannot be read, and as
    `workflow_lib.data.class_texts.read_class_texts`.
    """
    from workflow_lib.data.class_texts import read_class_texts
    from workflow_lib.inputs import class_vectors
    from workflow_lib.inputs.word_vectors import read_word_vectors

    report, described = {}, list(range(len(class_names)))
    if kind == "names":
        words = read_word_vectors(word_vectors, class_vectors.wanted_name_words(class_names))
        found = class_vectors.name_vectors(class_names, words)
    else:
        by_name = read_class_texts(texts, class_names, text_names)
        described = [index for index, name in enumerate(class_names) if name in by_name]
        known = [by_name[class_names[index]] for index in described]
        if kind == "texts":
            words = read_word_vectors(word_vectors, class_vectors.wanted_text_words(known))
            found = class_vectors.text_vectors(known, words)
            report = {"class_texts": class_vectors.text_report(known, words)}
        else:
            found = class_vectors.lsa_vectors(known, lsa_dimension)
            report = {"class_texts": class_vectors.text_report(known)}
    vectors = np.full((len(class_names), found.shape[1]), np.nan)
    vectors[described] = found
    names = [f"dimension_{column}" for column in range(found.shape[1])]
    return DescribedVectors(vectors, names, report)


class UsableClasses(NamedTuple):
    """The classes that have rows and a vector, numbered in the order of their names."""

    rows: np.ndarray
    """Numbers (m,) int64 of the rows of these classes among all rows, ascending."""

    labels: np.ndarray
    """Numbers (m,) int64 of the classes of these rows."""

    vectors: np.ndarray
    """Class vectors (K, d) float64."""

    names: list[str]
    """The K names, sorted."""

    report: dict[str, dict[str, Any]]
    """``exclusions``: number of classes left out, by reason; ``excluded_names``: their names."""


def usable_classes(
    labels: np.ndarray,
    vectors: np.ndarray,
    class_names: Sequence[str],
    left_out: Mapping[str, Collection[str]] | None = None,
) -> UsableClasses:
    """Return the classes that can be learned, and their rows.

    Raises ValueError when a name is repeated or a label has no class.

    Parameters
    ----------
    labels : int array (n,)
        Positions in `class_names` of the classes of all rows.
    vectors : array (C, d)
        Class vectors; a row that holds NaN is a class without a vector.
    class_names : sequence of C str
        In any order, each once.
    left_out : mapping of reason to names, default=None
        Classes to leave out in addition to those without a row and those without a vector. A class
        is counted under the first reason that applies, in this order.
    """
    labels, vectors = np.asarray(labels), np.asarray(vectors, dtype=np.float64)
    if len(vectors) != len(class_names) or len(set(class_names)) < len(class_names):
        raise ValueError(f"{len(vectors)} vectors for the class names {list(class_names)}.")
    if labels.size and not (0 <= labels.min() and labels.max() < len(class_names)):
        raise ValueError(f"labels from {labels.min()} to {labels.max()}.")
    reasons = {reason: set(names) for reason, names in (left_out or {}).items()}
    counts = np.bincount(labels, minlength=len(class_names))
    reasons[WITHOUT_ROWS] = {name for name, count in zip(class_names, counts) if not count}
    without_vector = np.isnan(vectors).any(axis=1)
    reasons[WITHOUT_VECTOR] = {name for name, none in zip(class_names, without_vector) if none}

    excluded, left = {}, set(class_names)
    for reason, names in reasons.items():
        excluded[reason] = sorted(left & names)
        left -= names
    kept = sorted((class_names.index(name) for name in left), key=class_names.__getitem__)
    numbers = np.full(len(class_names), -1, dtype=np.int64)
    numbers[kept] = np.arange(len(kept))
    rows = np.flatnonzero(numbers[labels] >= 0)
    return UsableClasses(
        rows,
        numbers[labels[rows]],
        vectors[kept],
        [class_names[position] for position in kept],
        exclusion_report(excluded),
    )


def class_dataset_tree(
    inputs: np.ndarray,
    labels: np.ndarray,
    vectors: np.ndarray,
    class_names: Sequence[str],
    input_names: Sequence[str],
    vector_names: Sequence[str],
    row_names: Sequence[str],
    location: str,
    thumbnails: np.ndarray | None = None,
    report: Mapping[str, Any] | None = None,
    rows_read: int | None = None,
    inner_products: bool = False,
    **groups: Any,
) -> dict[str, Any]:
    """Check a table of classes and return it as the tree of a "dataset" artifact.

    Returns a dict: the tree of `workflow_lib.tabular.tables.dataset_tree`, with ``outputs`` (n, d)
    float64, the vector of the class of each row, NaN for unlabelled ones; ``classes``: ``labels``
    (n,) int64 and ``vectors`` (K, d) float64; ``classes`` and ``rows`` in ``names``, JSON lists;
    and, for rows with pictures, ``images``: ``thumbnails``. A component of the vectors may be
    constant.

    Raises UserError for fewer than two classes, a class without a row, class vectors that are not
    finite or equal, naming the classes; and as `dataset_tree`. Raises ValueError when lengths or
    shapes are inconsistent, a label has no class, the names are not sorted or not distinct, or
    inner products are not finite or not symmetric.

    Parameters
    ----------
    inputs : array or sparse matrix (n, q)
        A row per example, or inner products (n, n) between all rows.
    labels : int array (n,)
        Number of the class of each row, from 0; -1 for an unlabelled row, which is a weak row
        without a weak label.
    vectors : array (K, d)
        Class vectors, in any unit.
    class_names : sequence of K str
        Sorted, each once.
    input_names, vector_names, row_names : sequences of q, d and n str
        For inner products the input names are the row names.
    location : str
        The file or the reader, for the messages.
    thumbnails : uint8 array (n, height, width, 3), default=None
        Small pictures of the rows in red, green and blue, for figures; None where there are none.
    report : mapping, default=None
        Further entries of the report, such as ``exclusions``.
    rows_read : int, default=None
        Rows before some were left out; n when None.
    inner_products : bool, default=False
        Whether the inputs are inner products, which must be finite and exactly symmetric.
    **groups : mappings
        Further groups of the tree, as for `dataset_tree`.
    """
    labels = np.asarray(labels)
    vectors = np.ascontiguousarray(vectors, dtype=np.float64)
    lengths = {
        "rows of inputs and labels": (inputs.shape[0], len(labels)),
        "rows of inputs and row names": (inputs.shape[0], len(row_names)),
        "columns of inputs and input names": (inputs.shape[1], len(input_names)),
        "class vectors and class names": (len(vectors), len(class_names)),
        "components of class vectors and their names": (vectors.shape[1], len(vector_names)),
    }
    for what, (found, wanted) in lengths.items():
        if found != wanted:
            raise ValueError(f"{location}: {found} and {wanted} {what}.")
    if list(class_names) != sorted(set(class_names)):
        raise ValueError(f"{location}: class names that are not sorted or not different.")
    if labels.dtype.kind not in "iu" or np.any((labels < -1) | (labels >= len(vectors))):
        raise ValueError(f"{location}: labels that are not numbers of the {len(vectors)} classes.")
    if inner_products and not (np.isfinite(inputs).all() and np.array_equal(inputs, inputs.T)):
        raise ValueError(f"{location}: inner products that are not finite or not symmetric.")
    if thumbnails is not None:
        form = (len(labels), *thumbnails.shape[1:3], 3)
        if thumbnails.dtype != np.uint8 or thumbnails.ndim != 4 or thumbnails.shape != form:
            raise ValueError(f"{location}: thumbnails {thumbnails.dtype} {thumbnails.shape}.")
        groups["images"] = {"thumbnails": np.ascontiguousarray(thumbnails)}
    _check_classes(labels, vectors, class_names, location)
    labels = labels.astype(np.int64)
    is_unlabelled = labels < 0
    return dataset_tree(
        inputs,
        np.where(is_unlabelled[:, None], np.nan, vectors[labels]),
        input_names,
        vector_names,
        location=location,
        rows_read=rows_read,
        allow_constant_outputs=True,
        allow_missing_outputs=bool(is_unlabelled.any()),
        weak_rows=is_unlabelled,
        names={
            **groups.pop("names", {}),
            "classes": json.dumps(list(class_names), ensure_ascii=False),
            "rows": json.dumps(list(row_names), ensure_ascii=False),
        },
        classes={"labels": labels, "vectors": vectors},
        report=dict(report or {}),
        **groups,
    )


def _check_classes(
    labels: np.ndarray, vectors: np.ndarray, class_names: Sequence[str], location: str
) -> None:
    """Refuse classes that cannot be learned."""
    if len(vectors) < 2:
        raise UserError(
            location=location,
            found=f"{len(vectors)} classes can be used" + "".join(f" ({n})" for n in class_names),
            expected="at least 2 classes that have rows and a class vector",
            remedy="leave out fewer classes, or check that the files belong together",
        )
    empty = [name for number, name in enumerate(class_names) if number not in labels]
    if empty:
        raise UserError(
            location=location,
            found=f"no row belongs to the class {listed(empty)}",
            expected="at least one row of every class",
            remedy="add rows of these classes, or leave them out",
        )
    faulty = [name for name, vector in zip(class_names, vectors) if not np.isfinite(vector).all()]
    if faulty:
        raise UserError(
            location=location,
            found=f"the vector of the class {listed(faulty)} is NaN or infinite",
            expected="finite numbers",
            remedy="fix the sources of the class vectors, or leave these classes out",
        )
    same: dict[bytes, list[str]] = {}
    for name, vector in zip(class_names, vectors):
        # Adding zero turns -0.0 into 0.0.
        same.setdefault((vector + 0.0).tobytes(), []).append(name)
    repeated = [" = ".join(names) for names in same.values() if len(names) > 1]
    if repeated:
        raise UserError(
            location=location,
            found=f"classes with equal vectors: {listed(repeated)}",
            expected="a vector of its own for every class, which distinguishes it from the others",
            remedy="leave out all but one of them, or choose other class vectors",
        )
