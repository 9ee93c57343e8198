"""Tables of classes hold one vector per class, and name faulty classes."""

import json

import numpy as np
import pytest
from each_case import each_case
from reader_samples import refusal

from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.data.class_tables import (
    WITHOUT_ROWS,
    WITHOUT_VECTOR,
    class_dataset_tree,
    usable_classes,
)

NAMES = ["bear", "cat", "wolf"]
LABELS = np.array([2, 0, 1, 1, 2])
VECTORS = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])


def tree(**changed) -> dict:
    arguments = {
        "inputs": np.arange(15.0).reshape(5, 3),
        "labels": LABELS,
        "vectors": VECTORS,
        "class_names": NAMES,
        "input_names": ["a", "b", "c"],
        "vector_names": ["x", "y"],
        "row_names": [f"image {row}" for row in range(5)],
        "location": "somewhere",
    }
    return class_dataset_tree(**{**arguments, **changed})


def refused(**changed) -> str:
    message = refusal(tree, **changed)
    assert message.startswith("somewhere")
    return message


# The tree


def test_outputs_are_the_vectors_of_the_classes(tmp_path):
    pictures = np.arange(5 * 2 * 3 * 3, dtype=np.uint8).reshape(5, 2, 3, 3)
    report = {"exclusions": {"a reason": 2}}
    made = tree(thumbnails=pictures, report=report, rows_read=9)
    write_artifact(tmp_path / "d.h5", made, "dataset")
    back = read_artifact(tmp_path / "d.h5", "dataset")
    assert back["inputs"].dtype == back["outputs"].dtype == np.float64
    np.testing.assert_array_equal(back["inputs"], np.arange(15.0).reshape(5, 3))
    np.testing.assert_array_equal(back["outputs"], [[0, 1], [1, 0], [0.6, 0.8], [0.6, 0.8], [0, 1]])
    assert back["classes"]["labels"].dtype == np.int64
    np.testing.assert_array_equal(back["classes"]["labels"], LABELS)
    np.testing.assert_array_equal(back["classes"]["vectors"], VECTORS)
    assert json.loads(back["names"]["classes"]) == NAMES
    assert json.loads(back["names"]["outputs"]) == ["x", "y"]
    assert json.loads(back["names"]["rows"])[4] == "image 4"
    assert back["images"]["thumbnails"].dtype == np.uint8
    np.testing.assert_array_equal(back["images"]["thumbnails"], pictures)
    assert back["report"]["exclusions"] == {"a reason": 2}
    assert (back["report"]["rows_read"], back["report"]["rows_dropped"]) == (9, 4)
    assert "images" not in tree()
    # A component may be the same in all vectors.
    vectors = np.column_stack([VECTORS[:, 0], np.ones(3)])
    assert tree(vectors=vectors)["report"]["constant_outputs"] == 1


def test_inner_products_are_symmetric_and_finite():
    rows = np.arange(15.0).reshape(5, 3)
    products, names = rows @ rows.T, [f"image {row}" for row in range(5)]
    made = tree(inputs=products, input_names=names, inner_products=True)
    np.testing.assert_array_equal(made["inputs"], products)
    for value in (1e9, np.nan):
        faulty = products.copy()
        faulty[1, 3] = value
        with pytest.raises(ValueError, match="not finite or not symmetric"):
            tree(inputs=faulty, input_names=names, inner_products=True)
    with pytest.raises(ValueError, match="not finite or not symmetric"):
        tree(inner_products=True)


# Faults of the classes


def test_one_class_is_too_few():
    message = refused(labels=np.zeros(5, dtype=int), vectors=VECTORS[:1], class_names=["bear"])
    assert "1 classes can be used (bear)" in message and "at least 2" in message
    assert "0 classes" in refused(
        inputs=np.empty((0, 3)),
        labels=LABELS[:0],
        vectors=VECTORS[:0],
        class_names=[],
        row_names=[],
    )


@each_case(
    ("changed", "words"),
    [
        ({"labels": np.zeros(5, dtype=int)}, "no row belongs to the class cat, wolf"),
        ({"vectors": [[1, 0], [np.nan, 0.8], [0, 1]]}, "of the class cat is NaN or infinite"),
        ({"vectors": [[1, 0], [np.inf, 0.8], [0, 1]]}, "of the class cat is NaN or infinite"),
        ({"vectors": VECTORS[[0, 1, 0]]}, "classes with equal vectors: bear = wolf"),
        ({"vectors": VECTORS[[0, 0, 0]]}, "bear = cat = wolf"),
        # The two zeros are equal.
        ({"vectors": [[1, 0], [0, 1], [-0.0, 1]]}, "cat = wolf"),
    ],
)
def test_classes_that_cannot_be_learned_are_named(changed, words):
    assert words in refused(**changed)


@each_case(
    ("changed", "words"),
    [
        ({"labels": LABELS[:4]}, "5 and 4 rows of inputs and labels"),
        ({"row_names": ["a"]}, "5 and 1 rows of inputs and row names"),
        ({"input_names": ["a"]}, "3 and 1 columns of inputs"),
        ({"class_names": NAMES[:2]}, "3 and 2 class vectors"),
        ({"vector_names": ["x"]}, "2 and 1 components"),
        ({"class_names": ["bear", "wolf", "cat"]}, "not sorted"),
        ({"class_names": ["bear", "cat", "cat"]}, "not different"),
        ({"labels": np.array([0, 1, 2, 3, 0])}, "labels that are not numbers"),
        ({"labels": np.array([0, 1, 2, -2, 0])}, "labels that are not numbers"),
        ({"labels": LABELS.astype(float)}, "labels that are not numbers"),
        ({"thumbnails": np.zeros((5, 2, 2, 3))}, "thumbnails float64"),
        ({"thumbnails": np.zeros((4, 2, 2, 3), np.uint8)}, r"thumbnails uint8 \(4, 2, 2, 3\)"),
        ({"thumbnails": np.zeros((5, 2, 2), np.uint8)}, "thumbnails uint8"),
    ],
)
def test_what_does_not_fit_is_refused(changed, words):
    with pytest.raises(ValueError, match=words):
        tree(**changed)


# Classes that can be learned


def test_usable_classes_are_numbered_by_name():
    names = ["wolf", "bear", "dodo", "cat", "yeti"]
    labels = np.array([0, 3, 4, 1, 3, 0])
    vectors = np.array([[0.0, 1.0], [1.0, 0.0], [0.5, 0.5], [0.6, 0.8], [np.nan, np.nan]])
    usable = usable_classes(labels, vectors, names)
    assert usable.names == ["bear", "cat", "wolf"]
    np.testing.assert_array_equal(usable.rows, [0, 1, 3, 4, 5])
    np.testing.assert_array_equal(usable.labels, [2, 1, 0, 1, 2])
    np.testing.assert_array_equal(usable.vectors, VECTORS)
    assert usable.labels.dtype == usable.rows.dtype == np.int64
    assert usable.report["exclusions"] == {WITHOUT_ROWS: 1, WITHOUT_VECTOR: 1}
    assert usable.report["excluded_names"] == {WITHOUT_ROWS: "dodo", WITHOUT_VECTOR: "yeti"}
    for row, label in zip(usable.rows, usable.labels):
        assert usable.names[label] == names[labels[row]]


def test_a_class_is_left_out_for_the_first_reason_that_holds():
    vectors = VECTORS.copy()
    vectors[1] = np.nan
    left_out = {"unwanted": ["wolf", "cat"], "of the codebook": ["cat"]}
    usable = usable_classes(LABELS, vectors, NAMES, left_out)
    assert usable.names == ["bear"]
    assert usable.report["exclusions"] == {
        "unwanted": 2,
        "of the codebook": 0,
        WITHOUT_ROWS: 0,
        WITHOUT_VECTOR: 0,
    }
    assert usable.report["excluded_names"] == {"unwanted": "cat, wolf"}


def test_all_classes_may_be_left_out():
    usable = usable_classes(LABELS, np.full((3, 2), np.nan), NAMES)
    assert (usable.names, len(usable.rows), usable.vectors.shape) == ([], 0, (0, 2))


def test_usable_classes_refuse_what_does_not_fit():
    with pytest.raises(ValueError, match="3 vectors for the class names"):
        usable_classes(LABELS, VECTORS, NAMES[:2])
    with pytest.raises(ValueError, match="3 vectors for the class names"):
        usable_classes(LABELS, VECTORS, ["bear", "cat", "cat"])
    with pytest.raises(ValueError, match="labels from 0 to 3"):
        usable_classes(np.array([0, 3]), VECTORS, NAMES)
