"""Animals with Attributes, both versions, in tiny synthetic files of the same form."""

import json
import shutil
import zipfile
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from reader_samples import change, refusal
from small_archives import write_archive

from workflow_lib.core.artifacts import artifact_digest, write_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.data.reading import read_dataset

CLASSES = "     1\twolf\n     2\tgrizzly+bear\n     3\tbobcat\n"
ATTRIBUTES = "     1\tblack\n     2\tbig\n     3\tswims\n     4\tclaws\n"
MATRIX = " 40.00  30.00   0.00  0.00\n  0.00  60.00  80.00  0.00\n 10.00  10.00  10.00 10.00\n"
VECTORS = {"bobcat": [0.5] * 4, "grizzly+bear": [0, 0.6, 0.8, 0], "wolf": [0.8, 0.6, 0, 0]}

AWA = {
    "grizzly+bear/grizzly+bear_0001.txt": "1.5 2 3\n",
    "grizzly+bear/grizzly+bear_0002.txt": " 0.25\n0\n  -1e-1",
    "bobcat/bobcat_0001.txt": "4 5 6",
    "wolf/wolf_0010.txt": "7 8 9",
    "wolf/wolf_0002.txt": "1 1 1\n",
}
AWA_IN_LATIN_1 = {"bobcat/caf\udce9": "1 2 3", "wolf/b": "4 5 6", "grizzly+bear/c": "7 8 9"}
AWA_ROWS = {
    "bobcat/bobcat_0001": [4, 5, 6],
    "grizzly+bear/grizzly+bear_0001": [1.5, 2, 3],
    "grizzly+bear/grizzly+bear_0002": [0.25, 0, np.float32(-0.1)],
    "wolf/wolf_0002": [1, 1, 1],
    "wolf/wolf_0010": [7, 8, 9],
}

AWA2_ROWS = {
    "wolf_10001.jpg": [1, 2, 3],
    "wolf_10002.jpg": [0.1, 0.5, 0],
    "grizzly+bear_10001.jpg": [3, 2, 1],
    "bobcat_10001.jpg": [1, 0, 0],
}
AWA2 = {
    "AwA2-features.txt": "1.000 2 3\n0.100000 0.5 0\n3 2 1\n1 0 0\n",
    "AwA2-filenames.txt": "\n".join(AWA2_ROWS),
    "AwA2-labels.txt": "1\n1\n2\n3\n",
}
BASE = {
    "classes.txt": CLASSES,
    "predicates.txt": ATTRIBUTES,
    "predicate-matrix-continuous.txt": MATRIX,
}


def write_files(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def write_zip(path: Path, files: dict[str, str], inner: str) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.mkdir(inner)
        for name, text in files.items():
            archive.writestr(f"{inner}/{name}", text)
    return path


@pytest.fixture
def awa(tmp_path) -> Path:
    """Write the older set, unpacked."""
    write_files(tmp_path / "awa" / "Animals_with_Attributes", BASE)
    write_files(tmp_path / "awa" / "Animals_with_Attributes" / "Features" / "vgg19", AWA)
    return tmp_path / "awa"


@pytest.fixture
def awa2(tmp_path) -> Path:
    """Write the newer set, unpacked."""
    write_files(tmp_path / "awa2", BASE)
    write_files(tmp_path / "awa2" / "Features" / "ResNet101", AWA2)
    return tmp_path / "awa2"


@pytest.fixture(params=["awa", "awa2"])
def either(request) -> Path:
    return request.getfixturevalue(request.param)


def read(folder: Path, sources=(), **options) -> dict:
    reader = folder.name
    return read_dataset(
        reader, {"folder": str(folder), "dimension": 3, **options}, list(sources), seed=0
    )


refused = partial(refusal, read)


def the_file(folder: Path, name: str) -> Path:
    (path,) = folder.glob(f"**/{name}")
    return path


def changed(folder: Path, name: str, old: str, new: str) -> Path:
    path = the_file(folder, name)
    change(path, old, new)
    return path


def digest(tree: dict, path: Path) -> str:
    write_artifact(path, tree, "dataset")
    return artifact_digest(path)


# Rows and classes


def assert_classes(tree: dict, labels: list[int]) -> None:
    assert json.loads(tree["names"]["classes"]) == list(VECTORS)
    np.testing.assert_array_equal(tree["classes"]["labels"], labels)
    np.testing.assert_allclose(tree["classes"]["vectors"], list(VECTORS.values()), rtol=1e-15)


def test_awa_rows_are_the_files_sorted(awa):
    tree = read(awa)
    assert json.loads(tree["names"]["rows"]) == list(AWA_ROWS)
    np.testing.assert_array_equal(tree["inputs"], list(AWA_ROWS.values()))
    assert_classes(tree, [0, 1, 1, 2, 2])
    assert json.loads(tree["names"]["outputs"]) == ["black", "big", "swims", "claws"]
    assert tree["report"]["unknown_attributes"] == 0


def test_awa2_rows_are_the_lines_of_its_files(awa2):
    tree = read(awa2)
    assert json.loads(tree["names"]["rows"]) == list(AWA2_ROWS)
    expected = np.array(list(AWA2_ROWS.values()), dtype=np.float32)
    np.testing.assert_array_equal(tree["inputs"], expected)
    assert_classes(tree, [2, 2, 1, 0])
    assert (tree["report"]["rows_read"], tree["report"]["rows_dropped"]) == (4, 0)


def test_unknown_attributes_take_the_mean_of_the_other_classes(awa):
    changed(awa, "predicate-matrix-continuous.txt", "80.00", "-1.00")
    tree = read(awa)
    assert tree["report"]["unknown_attributes"] == 1
    expected = np.array([0, 60, 5, 0]) / np.sqrt(60**2 + 5**2)
    np.testing.assert_allclose(tree["classes"]["vectors"][1], expected, rtol=1e-15)


def test_classes_without_images_are_left_out_and_named(either):
    if either.name == "awa":
        shutil.rmtree(either / "Animals_with_Attributes/Features/vgg19/bobcat")
    else:
        changed(either, "AwA2-labels.txt", "2\n3\n", "2\n2\n")
        changed(either, "AwA2-filenames.txt", "bobcat", "photograph")
    tree = read(either)
    assert json.loads(tree["names"]["classes"]) == ["grizzly+bear", "wolf"]
    assert tree["report"]["exclusions"]["classes without rows"] == 1
    assert tree["report"]["excluded_names"] == {"classes without rows": "bobcat"}


# Class vectors from words


def write_words(folder: Path, name: str = "glove.6B.50d.txt") -> None:
    (folder / name).write_text("wolf 1 0\ngrizzly 0 1\nbear 3 1\nfur 0 5\n")


def test_class_vectors_may_come_from_names(either):
    write_words(either)
    the_file(either, "predicate-matrix-continuous.txt").unlink()
    the_file(either, "predicates.txt").unlink()
    tree = read(either, vectors="names")
    assert json.loads(tree["names"]["classes"]) == ["grizzly+bear", "wolf"]
    np.testing.assert_allclose(
        tree["classes"]["vectors"], [np.array([3, 2]) / np.sqrt(13), [1, 0]], rtol=1e-15
    )
    # Rows of the class without a vector are gone, those of the others keep their features.
    rows = AWA_ROWS if either.name == "awa" else AWA2_ROWS
    kept = {row: values for row, values in rows.items() if not row.startswith("bobcat")}
    assert json.loads(tree["names"]["rows"]) == list(kept)
    expected = np.array(list(kept.values()), dtype=np.float32)
    np.testing.assert_array_equal(tree["inputs"], expected)
    assert tree["report"]["rows_dropped"] == 1
    assert tree["report"]["excluded_names"] == {"classes without a class vector": "bobcat"}


def test_class_vectors_may_come_from_texts(awa, tmp_path):
    write_words(awa, "words.txt")
    sources = [tmp_path / "animals.json"]
    texts = {"wolf": "wolf", "Grizzly Bear": "bear, fur", "bobcat": "fur fur"}
    sources[0].write_text(json.dumps(texts))
    options = {"vectors": "texts", "word_vectors": "words.txt", "texts": "animals.json"}
    tree = read(awa, sources, **options)
    np.testing.assert_allclose(np.linalg.norm(tree["classes"]["vectors"], axis=1), 1, rtol=1e-15)
    np.testing.assert_allclose(tree["classes"]["vectors"][[0, 2]], [[0, 1], [1, 0]], atol=1e-15)
    assert tree["report"]["class_texts"]["texts"] == 3


def test_missing_words_and_texts_are_explained(awa):
    message = refused(awa, vectors="names")
    assert "option word_vectors: there is no glove.6B.50d.txt among the sources" in message
    assert str(awa / "glove.6B.50d.txt") in message
    write_words(awa)
    assert "option texts: there is no texts" in refused(awa, vectors="texts")


# Archives


def test_archives_hold_the_same_as_folders(either, tmp_path):
    expected = digest(read(either), tmp_path / "folder.h5")
    packed = tmp_path / "packed" / either.name
    packed.mkdir(parents=True)
    inner = "Animals_with_Attributes"
    if either.name == "awa":
        # The order in an archive is arbitrary.
        features = {f"{inner}/Features/vgg19/{name}": AWA[name] for name in reversed(AWA)}
        write_archive(packed / "AwA-features-vgg19.tar.bz2", features, "w:bz2")
        base = {f"{inner}/{name}": text for name, text in BASE.items()}
        write_archive(packed / "AwA-base.tar.bz2", base, "w:bz2")
    else:
        write_zip(packed / "AwA2-features.zip", AWA2, f"{inner}/Features/ResNet101")
        write_zip(packed / "AwA2-base.zip", BASE, inner)
    assert digest(read(packed), tmp_path / "packed.h5") == expected
    # As sources they may lie anywhere, and nothing is unpacked.
    sources = list(packed.iterdir())
    assert digest(read(tmp_path / "absent" / either.name, sources), tmp_path / "s.h5") == expected
    assert len(list(packed.iterdir())) == 2


def packed_awa2(awa2: Path, files: dict[str, str]) -> Path:
    """Put the features of the newer set into an archive."""
    shutil.rmtree(awa2 / "Features")
    return write_zip(awa2 / "AwA2-features.zip", files, "Features/ResNet101")


def test_damaged_zip_archives_are_named(awa2):
    path = packed_awa2(awa2, {**AWA2, "AwA2-features.txt": "1 2 3\n0.5 2 3\n" * 2})
    with zipfile.ZipFile(path) as archive:
        start = archive.getinfo("Features/ResNet101/AwA2-features.txt").header_offset
    content = bytearray(path.read_bytes())
    # A byte of the compressed contents, behind the header and the name.
    content[start + 30 + len("Features/ResNet101/AwA2-features.txt") + 4] ^= 0xFF
    path.write_bytes(bytes(content))
    message = refused(awa2)
    assert f"{path}: it cannot be read, is damaged or not a text file" in message
    assert "https://cvml.ista.ac.at/AwA2/" in message
    path.write_bytes(bytes(content[: len(content) // 2]))
    assert f"{path}: it cannot be read, is damaged or not a text file" in refused(awa2)


def test_archives_without_the_files_or_with_two_are_named(awa, awa2):
    path = packed_awa2(awa2, {"AwA2-filenames.txt": ""})
    assert f"{path}: no member of the archive matches AwA2-labels.txt" in refused(awa2)
    write_zip(path, {**AWA2, "old/AwA2-labels.txt": "1\n"}, "Features/ResNet101")
    message = refused(awa2)
    assert f"{path}, member AwA2-labels.txt: the archive holds two files of this name" in message
    shutil.rmtree(awa / "Animals_with_Attributes" / "Features")
    path = write_archive(awa / "AwA-features-vgg19.tar.bz2", {"readme.txt": ""}, "w:bz2")
    assert f"{path}: no member of the archive matches Features/vgg19" in refused(awa)


# Missing, repeated and malformed files


@pytest.mark.parametrize(
    ("name", "missing", "archive"),
    [
        ("awa", "classes.txt", "AwA-base.tar.bz2"),
        ("awa2", "predicates.txt", "AwA2-base.zip"),
        ("awa2", "AwA2-labels.txt", "AwA2-features.zip"),
    ],
)
def test_missing_files_are_named_with_where_they_come_from(name, missing, archive, request):
    folder = request.getfixturevalue(name)
    the_file(folder, missing).unlink()
    message = refused(folder)
    assert f"there is no {missing}, and no {archive} that holds it" in message
    assert f"in the folder {folder} (option folder)" in message
    assert f"fetch {archive} from https://cvml.ista.ac.at/AwA2/" in message


def test_a_missing_folder(awa, tmp_path):
    shutil.rmtree(awa / "Animals_with_Attributes" / "Features")
    assert "there is no Features/vgg19/*/*.txt, and no AwA-features-vgg19.tar.bz2" in refused(awa)
    assert "there is no classes.txt" in refused(tmp_path / "absent" / "awa")


def test_two_forms_of_one_file(awa, awa2):
    path = write_zip(awa2 / "AwA2-base.zip", BASE, "base")
    message = refused(awa2)
    assert f"classes.txt is both in {awa2 / 'classes.txt'} and in {path}" in message
    path.unlink()
    write_files(awa2 / "copy", {"classes.txt": CLASSES})
    message = refused(awa2)
    assert f"both in {awa2 / 'classes.txt'} and in {awa2 / 'copy' / 'classes.txt'}" in message
    path = write_archive(awa / "AwA-features-vgg19.tar.bz2", {"readme.txt": ""}, "w:bz2")
    message = refused(awa)
    assert "Features/vgg19/*/*.txt is both in " in message and f"and in {path}" in message


@pytest.mark.parametrize(
    ("name", "old", "new", "words"),
    [
        ("classes.txt", "2\tgrizzly", "2 grizzly", "line 2: '2 grizzly+bear'. Expected the number"),
        ("classes.txt", "2\tgrizzly", "x\tgrizzly", "line 2: 'x"),
        ("classes.txt", "2\tgrizzly", "9" * 5000 + "\tgrizzly", "line 2: '999"),
        ("classes.txt", "2\tgrizzly+bear", "2\t", "line 2: '2'"),
        ("classes.txt", "     3\t", "     2\t", "line 3: the number 2 of a class is repeated"),
        ("classes.txt", "bobcat", "Grizzly bear", "line 3: the name 'Grizzly bear' of a class"),
        ("classes.txt", "     3\t", "     5\t", "a class with the number 3 has no name"),
        ("classes.txt", "     1\t", "     0\t", "a class with the number 1 has no name"),
        ("predicates.txt", "big", "black", "line 2: the name 'black' of an attribute"),
        ("predicate-matrix-continuous.txt", " 80.00", " high", "line 2, column 3: 'high' is not"),
        ("predicate-matrix-continuous.txt", " 80.00", " -2", "line 2, column 3: the attribute -2"),
        ("predicate-matrix-continuous.txt", " 80.00", "", "line 2: 3 numbers. Expected 4"),
        ("predicate-matrix-continuous.txt", " 10.00  10.00  10.00 10.00\n", "", "2 lines."),
    ],
)
def test_faults_of_the_files_of_classes(awa, awa2, name, old, new, words):
    for folder in (awa, awa2):
        path = changed(folder, name, old, new)
        message = refused(folder)
        assert words in message and path.name in message
        assert str(path) in message or f"the file {name}" in message


def test_an_attribute_must_be_known_for_some_class(awa):
    path = the_file(awa, "predicate-matrix-continuous.txt")
    path.write_text("1 -1 2 3\n4 -1 5 6\n7 -1.0 8 9\n")
    assert "column 2: the attribute 'big' is unknown for every class" in refused(awa)


def test_classes_that_cannot_be_distinguished(awa):
    path = the_file(awa, "predicate-matrix-continuous.txt")
    path.write_text("1 2 3 4\n2 4 6 8\n1 1 1 1\n")
    assert "classes with equal vectors: grizzly+bear = wolf" in refused(awa)
    path.write_text("1 2 3 4\n0 0 0 0\n1 1 1 1\n")
    tree = read(awa)
    assert tree["report"]["excluded_names"] == {"classes without a class vector": "grizzly+bear"}


def test_names_in_another_encoding(awa2):
    path = the_file(awa2, "classes.txt")
    path.write_bytes(CLASSES.replace("wolf", "wölf").encode("latin-1"))
    assert f"{path}, line 1: the line is not UTF-8 text" in refused(awa2)
    path.write_bytes(b"")
    assert "the file classes.txt: a class with the number 1 has no name" in refused(awa2)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1 2", ": 2 numbers. Expected 3 numbers"),
        ("1 2 3\n4", ": 4 numbers or more. Expected 3 numbers"),
        ("", ": 0 numbers. Expected 3 numbers"),
        ("1\n\n2 x", ", line 3, column 2: 'x' is not a finite number"),
        ("1 inf 3", ", line 1, column 2: 'inf' is not a finite number"),
        ("1 1e39 3", ", line 1, column 2: '1e39' is not a finite number"),
        ("1 2 \x00", ", line 1, column 3: '"),
    ],
)
def test_faults_of_an_image_of_awa(awa, text, words):
    path = the_file(awa, "bobcat_0001.txt")
    path.write_text(text)
    assert f"{path}{words}" in refused(awa)


def test_images_of_an_unknown_class(awa):
    features = awa / "Animals_with_Attributes" / "Features" / "vgg19"
    (features / "bobcat").rename(features / "lynx")
    message = refused(awa)
    assert f"{features / 'lynx' / 'bobcat_0001.txt'}: its folder 'lynx' is not a class" in message
    assert "one of: wolf, grizzly+bear, bobcat" in message


def test_names_that_are_no_utf_8_are_kept_readable(awa, tmp_path):
    shutil.rmtree(awa / "Animals_with_Attributes" / "Features")
    members = {f"Features/vgg19/{name}.txt": text for name, text in AWA_IN_LATIN_1.items()}
    write_archive(awa / "AwA-features-vgg19.tar.bz2", members, "w:bz2")
    tree = read(awa)
    assert json.loads(tree["names"]["rows"])[0] == r"bobcat/caf\xe9"
    write_artifact(tmp_path / "dataset.h5", tree, "dataset")


def test_an_image_that_an_archive_holds_twice(awa):
    shutil.rmtree(awa / "Animals_with_Attributes" / "Features")
    members = [(f"{folder}/Features/vgg19/wolf/a.txt", "1 2 3") for folder in ("a", "b")]
    path = write_archive(awa / "AwA-features-vgg19.tar.bz2", members, "w:bz2")
    message = refused(awa)
    assert f"{path}, member Features/vgg19/wolf/a.txt: the image is repeated" in message


@pytest.mark.parametrize(
    ("name", "old", "new", "words"),
    [
        ("AwA2-labels.txt", "2\n3", "2\n4", "line 4: '4' is not the number of a class with a name"),
        ("AwA2-labels.txt", "2\n3", "2\n" + "3" * 5000, "is not the number of a class with a name"),
        ("AwA2-labels.txt", "2\n3", "0\n3", "line 3: '0' is not the number of a class"),
        ("AwA2-labels.txt", "2\n3", "two\n3", "line 3: 'two' is not the number of a class"),
        ("AwA2-labels.txt", "2\n3", "3\n2", "line 3: the image 'grizzly+bear_10001.jpg' has the"),
        ("AwA2-labels.txt", "2\n3\n", "2\n", "AwA2-filenames.txt and AwA2-labels.txt: 4 lines"),
        ("AwA2-filenames.txt", "wolf_10002", "wolf_10001", "line 2: the image 'wolf_10001.jpg'"),
        ("AwA2-filenames.txt", "wolf_10002.jpg\n", "", "line 2: the image 'grizzly+bear_10001"),
        ("AwA2-filenames.txt", "\nbobcat_10001.jpg", "", "3 lines and 4 lines"),
        ("AwA2-features.txt", "3 2 1", "3 2", "line 3: 2 numbers. Expected 3 numbers"),
        ("AwA2-features.txt", "3 2 1", "3 2 1 1", "line 3: 4 numbers. Expected 3 numbers"),
        ("AwA2-features.txt", "3 2 1", "3 2,5 1", "line 3, column 2: '2,5' is not a finite"),
        ("AwA2-features.txt", "3 2 1\n", "\n", "3 lines and 4 lines. Expected one line for"),
        ("AwA2-features.txt", "3 2 1\n", "3 2 1\n9 9 9\n", "5 lines and 4 lines"),
    ],
)
def test_faults_of_the_lines_of_awa2(awa2, name, old, new, words):
    changed(awa2, name, old, new)
    message = refused(awa2)
    assert words in message and "AwA2-" in message


def test_names_of_images_need_not_tell_their_class(awa2):
    the_file(awa2, "AwA2-filenames.txt").write_text("a\nlynx_1.jpg\nc\nd_1.jpg\n")
    assert json.loads(read(awa2)["names"]["rows"]) == ["a", "lynx_1.jpg", "c", "d_1.jpg"]


def test_the_published_length_is_the_default(either):
    length = 4096 if either.name == "awa" else 2048
    with pytest.raises(UserError, match=f"3 numbers. Expected {length}"):
        read_dataset(either.name, {"folder": str(either)}, [], seed=0)


def test_the_published_files_of_classes(awa2, mirror):
    for name in BASE:
        the_file(awa2, name).unlink()
    names = mirror("awa2-meta/classes.txt").read_text().split()[1::2]
    labels = [names.index(name) + 1 for name in ("wolf", "grizzly+bear", "bobcat")]
    the_file(awa2, "AwA2-labels.txt").write_text("{0}\n{0}\n{1}\n{2}\n".format(*labels))
    tree = read(awa2, [mirror(f"awa2-meta/{name}") for name in BASE])
    assert json.loads(tree["names"]["classes"]) == ["bobcat", "grizzly+bear", "wolf"]
    assert tree["classes"]["vectors"].shape == (3, 85)
    assert tree["report"]["exclusions"]["classes without rows"] == 47
    assert tree["report"]["unknown_attributes"] == 0
    outputs = json.loads(tree["names"]["outputs"])
    wolf = dict(zip(outputs, tree["classes"]["vectors"][2]))
    assert wolf["fierce"] > wolf["horns"]
