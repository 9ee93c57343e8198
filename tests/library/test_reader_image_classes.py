"""Classes of images: inner products of features, and one class vector from words for each class."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from reader_samples import refusal

from workflow_lib.core.artifacts import write_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.data.readers.image_classes import codebook_classes
from workflow_lib.data.reading import checked_options, read_dataset

IMAGES = [
    "Faces/image_1.jpg",
    "Faces/image_2.jpg",
    "Faces_easy/image_1.jpg",
    "ant/image_1.jpg",
    "ant/image_3.jpg",
    "gerenuk/image_1.jpg",
    "sea_horse/image_1.jpg",
    "yin_yang/image_1.jpg",
]
CLASSES = [name.partition("/")[0] for name in IMAGES]
ALL_CLASSES = sorted(set(CLASSES))
WORDS = {"faces": [3, 4], "easy": [1, 1], "ant": [0, 2], "sea": [1, 0], "horse": [1, -2]}
SENTENCES = {
    "Faces": ["A face.", "Faces have eyes."],
    "ant": "An ant is a small insect.",
    "gerenuk": "The gerenuk has a small face.",
    "sea horse": "",
}

generator = np.random.default_rng(2)
HOG = generator.normal(size=(8, 3))
FISHER = generator.normal(size=(8, 5))
THUMBNAILS = generator.integers(0, 256, size=(8, 4, 4, 3)).astype(np.uint8)


def write_features(path: Path, features: np.ndarray, images=IMAGES) -> Path:
    tree = {
        "features": features,
        "names": {
            "rows": json.dumps(list(images)),
            "classes": json.dumps([name.partition("/")[0] for name in images]),
        },
        "report": {
            "rows_read": len(images) + 2,
            "exclusions": {"no image": 2, "truncated": 0},
            "excluded_names": {"no image": "ant/x.jpg, ant/y.jpg"},
        },
    }
    write_artifact(path, tree, "image_features")
    return path


def write_all_features(folder: Path) -> dict[str, Path]:
    return {
        "hog": write_features(folder / "hog.h5", HOG),
        "dense-sift-fisher": write_features(folder / "fisher.h5", FISHER),
        "thumbnails": write_features(folder / "thumbnails.h5", THUMBNAILS),
    }


def write_words_and_texts(folder: Path) -> dict[str, Path]:
    """Write the files that class vectors are made from; the images are never opened."""
    paths = {name: folder / f"{name}.json" for name in ("words", "texts")}
    content = {"words": list(WORDS), "vectors": list(WORDS.values())}
    paths["words"].write_text(json.dumps(content))
    paths["texts"].write_text(json.dumps(SENTENCES))
    return {"images": folder / "images.tar", **paths}


@pytest.fixture
def features(tmp_path) -> dict[str, Path]:
    return write_all_features(tmp_path)


@pytest.fixture
def files(tmp_path) -> dict[str, Path]:
    return write_words_and_texts(tmp_path)


def sources_of(files: dict[str, Path], vectors: str) -> list[Path]:
    names = {"names": ["words"], "texts": ["words", "texts"], "lsa": ["texts"]}[vectors]
    return [files["images"], *(files[name] for name in names)]


def read(artifacts, files, vectors: str = "names", **options) -> dict:
    sources = sources_of(files, vectors)
    return read_dataset(
        "image_classes", {"vectors": vectors, **options}, sources, seed=0, features=artifacts
    )


refused = partial(refusal, read)


def classes_of(tree: dict) -> list[str]:
    return json.loads(tree["names"]["classes"])


# Rows, inputs and classes


def test_inputs_are_mean_cosines_of_the_images(features, files):
    tree = read(features, files)
    rows = [IMAGES.index(name) for name in json.loads(tree["names"]["rows"])]
    assert rows == [0, 1, 2, 3, 4, 6]
    for i, first in enumerate(rows):
        for j, second in enumerate(rows):
            cosines = [
                kind[first]
                @ kind[second]
                / np.sqrt((kind[first] @ kind[first]) * (kind[second] @ kind[second]))
                for kind in (HOG, FISHER)
            ]
            assert tree["inputs"][i, j] == pytest.approx(np.mean(cosines), abs=1e-14)
    np.testing.assert_array_equal(tree["inputs"], tree["inputs"].T)
    np.testing.assert_allclose(np.diag(tree["inputs"]), 1, rtol=1e-14)
    np.testing.assert_array_equal(tree["images"]["thumbnails"], THUMBNAILS[rows])
    assert tree["names"]["inputs"] == tree["names"]["rows"]


def test_user_supplied_files_follow_the_sources(features, files):
    supplied = [str(path) for path in sources_of(files, "texts")[1:]]
    files["images"].write_bytes(b"")
    expected = read(features, files, "texts")
    options = {"vectors": "texts", "user_supplied": [str(files["images"]), *supplied]}
    tree = read_dataset("image_classes", options, [], seed=0, features=features)
    np.testing.assert_array_equal(tree["inputs"], expected["inputs"])
    np.testing.assert_array_equal(tree["outputs"], expected["outputs"])


def test_introductions_of_wikipedia_are_the_texts(features, files):
    expected = read(features, files, "texts")
    path = files["texts"].rename(files["texts"].with_name("introductions.json"))
    tree = read_dataset(
        "image_classes",
        {"vectors": "texts", "wikipedia": {"ant": "Ant"}},
        sources_of(files, "names"),
        seed=0,
        features=features | {"introductions": path},
    )
    np.testing.assert_array_equal(tree["outputs"], expected["outputs"])


def test_files_that_were_not_supplied_are_named(features, files):
    text = refused(features, files, user_supplied=["resources/caltech101/no-such.zip"])
    assert "no file or folder resources/caltech101/no-such.zip" in text
    assert "place them there" in text


def test_one_kind_of_features_may_do(features, files):
    del features["dense-sift-fisher"]
    tree = read(features, files, features=["hog"])
    rows = HOG[[0, 1, 2, 3, 4, 6]]
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    np.testing.assert_allclose(tree["inputs"], rows @ rows.T, rtol=0, atol=1e-14)
    # An image without features has no inner products.
    write_features(features["hog"], HOG * (np.arange(8) != 3)[:, None])
    np.testing.assert_array_equal(read(features, files, features=["hog"])["inputs"][3], 0)


def test_classes_are_those_with_a_vector(features, files):
    tree = read(features, files)
    assert classes_of(tree) == ["Faces", "Faces_easy", "ant", "sea_horse"]
    np.testing.assert_array_equal(tree["classes"]["labels"], [0, 0, 1, 2, 2, 3])
    means = np.array([[3, 4], [2, 2.5], [0, 2], [1, -1]])
    expected = means / np.linalg.norm(means, axis=1, keepdims=True)
    np.testing.assert_allclose(tree["classes"]["vectors"], expected, rtol=1e-15)
    report = tree["report"]
    assert report["exclusions"]["classes without a class vector"] == 2
    assert report["excluded_names"]["classes without a class vector"] == "gerenuk, yin_yang"
    # Images that could not be read stay counted.
    assert (report["exclusions"]["no image"], report["exclusions"]["truncated"]) == (2, 0)
    assert report["excluded_names"]["no image"] == "ant/x.jpg, ant/y.jpg"
    assert (report["rows_read"], report["rows_dropped"]) == (10, 4)


def test_classes_can_be_left_out(features, files):
    tree = read(features, files, left_out_classes=["Faces_easy", "BACKGROUND_Google"])
    assert classes_of(tree) == ["Faces", "ant", "sea_horse"]
    reason = "classes left out by the option left_out_classes"
    assert tree["report"]["exclusions"][reason] == 2
    assert tree["report"]["excluded_names"][reason] == "BACKGROUND_Google, Faces_easy"
    whole = read(features, files)
    kept = [0, 1, 3, 4, 5]
    np.testing.assert_allclose(
        tree["inputs"], whole["inputs"][np.ix_(kept, kept)], rtol=0, atol=1e-14
    )


def test_images_can_be_left_out_by_their_names(features, files):
    tree = read(features, files, members="image_[12].jpg")
    rows = [IMAGES.index(name) for name in json.loads(tree["names"]["rows"])]
    assert rows == [0, 1, 2, 3, 6]
    np.testing.assert_array_equal(tree["images"]["thumbnails"], THUMBNAILS[rows])
    kept = [0, 1, 2, 3, 5]
    np.testing.assert_allclose(
        tree["inputs"], read(features, files)["inputs"][np.ix_(kept, kept)], rtol=0, atol=1e-14
    )
    np.testing.assert_array_equal(tree["classes"]["labels"], [0, 0, 1, 2, 3])
    reason = "images whose names the option members does not match"
    assert tree["report"]["exclusions"][reason] == 1
    assert reason not in tree["report"]["excluded_names"]
    assert "0 classes can be used" in refused(features, files, members="IMAGE_*")
    tree = read(features, files, members="*[2-9].jpg", left_out_classes=["sea_horse"])
    assert classes_of(tree) == ["Faces", "ant"]
    assert (
        tree["report"]["excluded_names"]["classes without rows"] == "Faces_easy, gerenuk, yin_yang"
    )


def test_features_of_classes_that_are_left_out_change_nothing(features, files, tmp_path):
    options = {"left_out_classes": ["Faces_easy"], "features": ["hog"]}
    expected = read(features, files, **options)
    kept = [row for row, name in enumerate(CLASSES) if name != "Faces_easy"]
    names = [IMAGES[row] for row in kept]
    fewer = {
        "hog": write_features(tmp_path / "h.h5", HOG[kept], names),
        "thumbnails": write_features(tmp_path / "t.h5", THUMBNAILS[kept], names),
    }
    tree = read(fewer, files, **options)
    np.testing.assert_array_equal(tree["inputs"], expected["inputs"])
    assert tree["report"]["exclusions"] == expected["report"]["exclusions"]


def test_the_order_of_the_kinds_changes_nothing(features, files):
    first, second = (
        read(features, files, features=kinds)["inputs"]
        for kinds in (["hog", "dense-sift-fisher"], ["dense-sift-fisher", "hog"])
    )
    np.testing.assert_array_equal(first, second)


def test_weights_of_a_network_are_passed_over(features, files, tmp_path):
    images, words = sources_of(files, "names")
    sources = [images, tmp_path / "vgg19-dcbb9e9d.pth", words]
    tree = read_dataset("image_classes", {}, sources, seed=0, features=features)
    np.testing.assert_array_equal(tree["outputs"], read(features, files)["outputs"])


# Class vectors


def test_class_vectors_may_come_from_texts(features, files):
    tree = read(features, files, vectors="texts")
    # The gerenuk's text has no word with a vector, that of the sea horse no word at all.
    assert classes_of(tree) == ["Faces", "ant"]
    np.testing.assert_allclose(tree["classes"]["vectors"], [[0.6, 0.8], [0, 1]], rtol=1e-15)
    assert tree["report"]["class_texts"]["texts"] == 3


def test_class_vectors_may_come_from_texts_alone(features, files):
    tree = read(features, files, vectors="lsa", lsa_dimension=3)
    assert classes_of(tree) == ["Faces", "ant", "gerenuk"]
    similarity = tree["classes"]["vectors"] @ tree["classes"]["vectors"].T
    np.testing.assert_allclose(np.diag(similarity), 1, rtol=1e-14)
    # "face" is common to the first and the third, "small" to the second and the third.
    assert similarity[0, 1] < 1e-12 < 0.01 < min(similarity[0, 2], similarity[1, 2])
    assert json.loads(tree["names"]["outputs"]) == [f"dimension_{column}" for column in range(3)]
    narrow = read(features, files, vectors="lsa", lsa_dimension=2)
    assert narrow["outputs"].shape == (5, 2)


def test_classes_may_have_other_names_in_the_texts(features, files):
    texts = {"insect": SENTENCES["ant"], "front of a face": SENTENCES["Faces"]}
    files["texts"].write_text(json.dumps(texts))
    names = {"ant": "insect", "Faces": "front of a face", "gerenuk": "Gerenuk"}
    tree = read(
        features, files, "texts", text_names=names, codebook_classes=["gerenuk", "yin_yang"]
    )
    assert classes_of(tree) == ["Faces", "ant"]
    np.testing.assert_allclose(tree["classes"]["vectors"], [[0.6, 0.8], [0, 1]], rtol=1e-15)
    message = refused(features, files, vectors="texts", text_names={"ants": "insect"})
    assert "option text_names: there is no class named 'ants'" in message
    assert "write 'ant'" in message
    message = refused(features, files, vectors="texts", text_names={"ant": "insects"})
    assert "there is no text named 'insects'" in message


def test_texts_of_other_classes_have_no_weight(features, files):
    tree = read(features, files, vectors="lsa", lsa_dimension=2, codebook_classes=["gerenuk"])
    # The two remaining texts have nothing in common.
    np.testing.assert_allclose(
        tree["classes"]["vectors"] @ tree["classes"]["vectors"].T, np.eye(2), atol=1e-12
    )


# Codebooks


def of_codebook(files, vectors: str = "names", **options) -> list[str]:
    typed = checked_options("image_classes", {"vectors": vectors, **options})
    return codebook_classes(typed, sources_of(files, vectors), list(reversed(ALL_CLASSES)))


def test_a_codebook_is_learned_from_classes_without_a_vector(files):
    assert of_codebook(files) == ["gerenuk", "yin_yang"]
    assert of_codebook(files, left_out_classes=["gerenuk"]) == ["yin_yang"]
    # A class that contains pictures of another must not have an influence through the codebook.
    assert of_codebook(files, vectors="lsa", left_out_classes=["Faces_easy"]) == [
        "sea_horse",
        "yin_yang",
    ]
    assert of_codebook(files, codebook_classes=["yin_yang", "ant"]) == ["ant", "yin_yang"]
    assert of_codebook(files, codebook_classes=["ant"], left_out_classes=["ant"]) == []


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"left_out_classes": ["Faces_easy"]},
        {"vectors": "texts"},
        {"vectors": "lsa", "lsa_dimension": 2},
        {"codebook_classes": ["ant", "gerenuk"]},
        {"codebook_classes": ["ant"], "left_out_classes": ["ant", "gerenuk"]},
    ],
)
def test_no_class_of_the_codebook_has_rows(features, files, options):
    tree = read(features, files, **options)
    assert not set(of_codebook(files, **options)) & set(classes_of(tree))


def test_classes_of_the_codebook_are_named(features, files):
    tree = read(features, files, codebook_classes=["ant", "gerenuk"])
    assert classes_of(tree) == ["Faces", "Faces_easy", "sea_horse"]
    reason = "classes that only the codebook was learned from"
    assert tree["report"]["exclusions"][reason] == 2
    assert tree["report"]["excluded_names"][reason] == "ant, gerenuk"
    assert tree["report"]["excluded_names"]["classes without a class vector"] == "yin_yang"
    message = refused(features, files, codebook_classes=["gerenuks"])
    assert "option codebook_classes: there is no class named 'gerenuks'" in message
    assert "write 'gerenuk'" in message
    with pytest.raises(UserError, match="no class named 'gerenuks'"):
        of_codebook(files, codebook_classes=["gerenuks"])


# Faults


@pytest.mark.parametrize(
    ("vectors", "n_sources", "words"),
    [
        ("names", 3, "2: the images, then the word vectors"),
        ("texts", 2, "3: the images, then the word vectors, then the texts about the classes"),
        ("lsa", 1, "2: the images, then the texts about the classes"),
    ],
)
def test_the_number_of_sources(features, files, vectors, n_sources, words):
    sources = list(files.values())[:n_sources]
    message = refusal(read_dataset, "image_classes", {"vectors": vectors}, sources, 0, features)
    assert f"{n_sources} source files. Expected {words}" in message


def test_features_of_different_images(features, files, tmp_path):
    for images in (IMAGES[:-1], [*IMAGES[:-1], "yin_yang/image_2.jpg"]):
        path = write_features(tmp_path / "other.h5", HOG[: len(images)], images)
        message = refused({**features, "hog": path}, files)
        assert f"{path} with {features['thumbnails']}: the two files hold features of" in message


@pytest.mark.parametrize("missing", ["hog", "thumbnails"])
def test_features_that_were_not_given(features, files, missing):
    del features[missing]
    with pytest.raises(ValueError, match=f"The features '{missing}' were not given"):
        read(features, files)
    with pytest.raises(ValueError, match="'dense-sift-fisher' were not given, only \\[\\]"):
        read_dataset("image_classes", {}, sources_of(files, "names"), seed=0)


def test_too_few_classes(features, files):
    message = refused(features, files, left_out_classes=["Faces", "Faces_easy", "ant"])
    assert f"{files['images']}: 1 classes can be used (sea_horse)" in message
    files["words"].write_text('{"words": ["stone"], "vectors": [[1, 2]]}')
    assert "0 classes can be used" in refused(features, files)
