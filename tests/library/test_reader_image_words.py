"""Bags of visual words: images that are left out or drawn, descriptors, codebooks, and features."""

import json

import numpy as np
import pytest
from reader_samples import acquired, catalogue, excluded, refusal
from small_archives import write_archive
from test_images import encoded, picture

from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.data.reading import read_dataset
from workflow_lib.fitting.prepared_inputs import prepared_inputs
from workflow_lib.inputs.bag_shares import WordHistogram, WordPyramid
from workflow_lib.inputs.images.visual_words import Images
from workflow_lib.items.kinds.base import items_in
from workflow_lib.protocol import features_stage
from workflow_lib.protocol.splitting import split_rows

OPTIONS = {"members": "all/*/*/*.png", "classes": ["ant", "bee"], "n_words": 5}
N_WORDS = OPTIONS["n_words"]


def images(n_images=6):
    """Return files of two classes in two folders each, and of a third class."""
    files = {
        f"all/{folder}/{name}/{number}.png": encoded(picture(32, 40, seed=100 * index + number))
        for index, name in enumerate(("ant", "bee", "cat"))
        for number in range(n_images)
        for folder in (("train", "test")[number % 2],)
    }
    files["all/train/ant/again.png"] = files["all/test/ant/1.png"]
    files["all/train/bee/doubtful.png"] = files["all/test/cat/1.png"]
    files["all/train/bee/broken.png"] = b"no image"
    return files | {"results/ant/0.png": encoded(picture())}


def write_images(folder, **changes):
    return write_archive(folder / "images.tar", images(**changes), "w")


def read(path, seed=0, **options):
    return read_dataset("image_words", OPTIONS | options, [path], seed)


@pytest.fixture
def dataset(tmp_path):
    write_artifact(tmp_path / "dataset.h5", read(write_images(tmp_path)), "dataset")
    return tmp_path / "dataset.h5"


def test_repeated_and_doubtful_images_are_left_out(tmp_path):
    tree = read(write_images(tmp_path))
    assert excluded(tree) == {
        "the image of an earlier row of its class": 1,
        "an image with two classes": 1,
        "a file that is no image": 1,
    }
    assert tree["report"]["rows_read"] == 15 and len(tree["outputs"]) == 12
    names = json.loads(tree["names"]["rows"])
    assert names[0] == "ant/all/test/ant/1.png" and "bee/all/train/bee/0.png" in names
    assert tree["classes"]["labels"].tolist() == [0] * 6 + [1] * 6
    assert tree["items"] == {"kind": "counts", "n_words": N_WORDS}


def test_drawn_images_do_not_depend_on_other_classes(tmp_path):
    path = write_images(tmp_path)
    tree = read(path, images_per_class=3)
    assert excluded(tree)["images that were not drawn"] == 6
    names = json.loads(tree["names"]["rows"])
    assert [name[:3] for name in names] == ["ant"] * 3 + ["bee"] * 3
    more = json.loads(read(path, classes=["bee", "cat"], images_per_class=3)["names"]["rows"])
    assert names[3:] == more[:3]
    assert json.loads(read(path, seed=1, images_per_class=3)["names"]["rows"]) != names


def test_descriptors_know_their_part_of_the_image(tmp_path):
    files = images()
    half = picture(32, 32, seed=1)
    half[:, :16] = 100
    files["all/train/ant/0.png"] = encoded(half)
    tree = read(write_archive(tmp_path / "images.tar", files, "w"), step=16)
    described = tree["descriptors"]
    row = json.loads(tree["names"]["rows"]).index("ant/all/train/ant/0.png")
    own = slice(*described["begins"][row : row + 2])
    assert described["parts"][own].tolist() == [0, 1, 2, 3]
    assert (described["values"][own].max(axis=1) > 0).tolist() == [False, True, False, True]
    lengths = np.linalg.norm(described["values"][own] / 255.0, axis=1)
    np.testing.assert_allclose(lengths, [0, 1, 0, 1], atol=0.03)


def test_words_are_the_nearest_of_the_codebook(dataset):
    described = read_artifact(dataset, "dataset")["descriptors"]
    rows = np.array([7, 2])
    words = Images(described, np.arange(4)).codebook(seed=1)
    assert words.shape == (N_WORDS, 128)
    counts = Images(described, rows).counts(words)
    expected = np.zeros((2, 4, N_WORDS), dtype=int)
    for bag, row in zip(expected, rows):
        for index in range(*described["begins"][row : row + 2]):
            away = np.linalg.norm(described["values"][index] - words.astype(float), axis=1)
            bag[described["parts"][index], away.argmin()] += 1
    np.testing.assert_array_equal(counts, expected.reshape(2, -1))
    assert counts.dtype == np.uint8
    with pytest.raises(ValueError, match="different descriptors"):
        Images(described | {"n_words": 10_000}, rows).codebook(seed=1)


def split_of(labels):
    return split_rows(len(labels), [4, 6], [2], 4, 2, 0)


def features(folder, dataset):
    path = folder / "features.h5"
    features_stage.run(dataset, folder / "split.h5", path, "none", "linear", "none", seed=3)
    return read_artifact(path, "features")


def test_each_fold_learns_its_words_from_its_training_images(tmp_path, dataset):
    tree = read_artifact(dataset, "dataset")
    split = split_of(tree["classes"]["labels"])
    write_artifact(tmp_path / "split.h5", split, "split")
    found = features(tmp_path, dataset)
    refit, first = found["n-6"]["all"], found["n-6"]["fold-0"]
    assert refit["words"].shape == (N_WORDS, 128) and "words" not in first
    assert [refit["codes"][role].shape for role in ("train", "weak", "test")] == [
        (count, 4 * N_WORDS) for count in (6, 2, 4)
    ]
    folds = split["folds"]["n-6"]
    prepared = prepared_inputs(found, folds, 6)
    (kept, heldout), *_ = prepared.fold_rows()
    np.testing.assert_array_equal(kept, first["codes"]["train"][folds != 0])
    np.testing.assert_array_equal(prepared.refit_rows()[1], refit["codes"]["test"])
    # The images of the fold, of weak and of test rows change nothing but their own counts.
    others = [*split["train"][:6][folds == 0], *split["train"][6:], *split["weak"], *split["test"]]
    described = tree["descriptors"]
    for row in others:
        own = slice(*described["begins"][row : row + 2])
        described["values"][own] = described["values"][own][:, ::-1]
    write_artifact(dataset, tree, "dataset")
    changed = features(tmp_path, dataset)["n-6"]["fold-0"]["codes"]["train"]
    np.testing.assert_array_equal(changed[folds != 0], first["codes"]["train"][folds != 0])
    assert (changed[folds == 0] != first["codes"]["train"][folds == 0]).any()


COUNTS = np.array([[1, 0, 2, 1], [0, 4, 0, 0], [3, 1, 1, 1], [0, 0, 0, 0]], dtype=float)


def test_histograms_and_pyramids_are_standardised_shares():
    whole = np.array([[0.75, 0.25], [0, 1], [4 / 6, 2 / 6], [0, 0]])
    deviation = whole.std(axis=0)
    expected = (whole - whole.mean(axis=0)) / deviation
    histogram = WordHistogram(n_words=2).fit(COUNTS)
    np.testing.assert_allclose(histogram.transform(COUNTS), expected)
    pyramid = WordPyramid(n_words=2).fit_transform(COUNTS)
    np.testing.assert_allclose(pyramid[:, :2], expected)
    # Both levels have the same total variance.
    np.testing.assert_allclose(pyramid.var(axis=0), [1, 1, 0.5, 0.5, 0.5, 0.5])


def test_rows_that_are_no_bags_are_refused():
    histogram = WordHistogram(n_words=2).fit(COUNTS)
    with pytest.raises(ValueError, match="Row 1 has a negative count"):
        histogram.transform(COUNTS - [[0], [4], [0], [0]])
    with pytest.raises(ValueError, match="3 counts: expected 2"):
        items_in(COUNTS[:, :3], {"kind": "counts", "n_words": 2})
    with pytest.raises(ValueError, match="parts"):
        WordPyramid(n_words=4).fit(COUNTS)


def test_classes_and_numbers_of_images_are_checked(tmp_path):
    path = write_images(tmp_path)
    assert "'dog'" in refusal(read, path, classes=["ant", "dog"])
    assert "6 different images of the class ant" in refusal(read, path, images_per_class=7)
    assert "whose path ends as none/*/*.png" in refusal(read, path, members="none/*/*.png")
    absent = str(tmp_path / "absent")
    options = OPTIONS | {"collection": absent}
    assert absent in refusal(read_dataset, "image_words", options, [], 0)
    options |= {"collection": str(path)}
    assert len(read_dataset("image_words", options, [], 0)["outputs"]) == 12


@pytest.mark.parametrize("name", ["graz-bikes", "graz-people"])
def test_photographs_of_graz_are_supplied_by_the_user(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    settings = catalogue(name)
    message = refusal(read_dataset, "image_words", settings["options"], [], 0)
    assert "no file or folder resources/graz-02. Expected a folder or an archive" in message
    assert settings["positive_class"] in settings["options"]["classes"]


@pytest.mark.parametrize("name", ["scenes-natural", "scenes-artificial"])
def test_the_real_scenes(name, mirror, tmp_path):
    sources = acquired(name, mirror, tmp_path)
    options = catalogue(name)["options"] | {"images_per_class": 2}
    tree = read_dataset("image_words", options, sources, 1)
    assert tree["descriptors"]["values"].shape == (8 * 961, 128)
    expected = {"scenes-natural": [1, 0], "scenes-artificial": [0, 2]}
    assert list(tree["report"]["exclusions"].values())[:2] == expected[name]
