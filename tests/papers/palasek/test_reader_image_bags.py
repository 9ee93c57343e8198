"""Bags of patches of images, and their Fisher vectors in a fit."""

import json

import numpy as np
import pytest
from bag_samples import SETTINGS
from reader_samples import excluded, refusal
from small_archives import write_archive
from test_images import encoded, picture

from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.data.reading import kind_of_inputs, read_dataset
from workflow_lib.items.kinds.bags import pack, unpack
from workflow_lib.papers.palasek.methods.fisher_vector_network import Fitted
from workflow_lib.protocol import regression
from workflow_lib.protocol.splitting import split_rows

OPTIONS = {"local_features": "colour-patches", "patch": 4, "step": 4, "patches_per_image": 6}


def write_images(folder, n_images=6):
    """Write images of two classes, one of them dark, with a repeated and a broken one."""
    files = {
        f"{name}/{number}.png": encoded(picture(16, 20, 10 * index + number) // (1 + index))
        for index, name in enumerate(("day", "night"))
        for number in range(n_images)
    }
    files |= {"day/again.png": files["day/1.png"], "night/broken.png": b"no image"}
    return write_archive(folder / "images.tar", files, "w")


def read(path, seed=0, **options):
    return read_dataset("image_bags", OPTIONS | options, [path], seed)


def test_every_image_is_a_bag_of_its_patches(tmp_path):
    path = write_images(tmp_path)
    tree = read(path, patches_per_image=None)
    assert excluded(tree)["the image of an earlier row of its class"] == 1
    assert kind_of_inputs("image_bags", OPTIONS) == "bags"
    assert tree["inputs"].shape == (12, 96)
    row = json.loads(tree["names"]["rows"]).index("night/2.png")
    (bag,) = unpack(tree, [row])
    pixels = picture(16, 20, 12) // 2
    assert bag.shape == (4 * 5, 48)
    # Patches in rows of the grid; red, then green, then blue.
    expected = pixels[4:8, 8:12].transpose(2, 0, 1).ravel() / 255
    np.testing.assert_allclose(bag[1 * 5 + 2], expected)
    own = slice(*tree["bags"]["begins"][row : row + 2])
    np.testing.assert_allclose(tree["bags"]["positions"][own][7], [10 / 20, 6 / 16])


def test_patches_are_drawn_by_the_seed_and_the_name_of_the_image(tmp_path):
    path = write_images(tmp_path)
    drawn, all_of_them = read(path), read(path, patches_per_image=None)
    assert (np.diff(drawn["bags"]["begins"]) == 6).all()
    for few, many in zip(unpack(drawn), unpack(all_of_them)):
        indices = [np.flatnonzero((many == patch).all(axis=1))[0] for patch in few]
        assert indices == sorted(indices)
    night = read(path, classes=["night"] + ["day"])
    np.testing.assert_array_equal(night["bags"]["values"], drawn["bags"]["values"])
    assert (read(path, seed=1)["bags"]["values"] != drawn["bags"]["values"]).any()


def test_images_are_scaled_and_described_by_sift(tmp_path):
    tree = read(
        write_images(tmp_path), local_features="dense-sift", patch=16, step=8, longer_side=40
    )
    (bag,) = unpack(tree, [0])
    # A grid of 3 rows and 4 columns fits into 32 x 40 pixels, of which 6 patches are drawn.
    assert bag.shape == (6, 128)
    np.testing.assert_allclose(np.linalg.norm(bag, axis=1), 1.0, atol=0.02)


def test_what_gives_no_patch_is_refused(tmp_path):
    path = write_images(tmp_path)
    assert "key patch: 18 pixels. Expected for dense-sift" in refusal(
        read, path, local_features="dense-sift", patch=18
    )
    assert "no image can be used" in refusal(read, path, patch=17)
    assert "'dawn'" in refusal(read, path, classes=["dawn"])


def fitted(folder, changed=lambda tree, split: None, n_classes=3, sizes=(3, 5), **settings):
    """Return the artifact of a network on bags of some classes, with weak rows."""
    random = np.random.default_rng(0)
    labels = np.arange(60) % n_classes
    bags = [random.normal(2.0 * np.eye(3)[label] @ np.eye(3, 5), 1.0, (7, 5)) for label in labels]
    tree = {"inputs": np.empty((60, 0)), "outputs": np.eye(3)[labels], "names": {}}
    tree["classes"] = {"labels": labels, "vectors": np.eye(3)}
    split = split_rows(60, list(sizes), [12], 0.25, 3, 7, labels=labels)
    changed(bags, split)
    tree |= pack(bags)
    folder.mkdir()
    write_artifact(folder / "dataset.h5", tree, "dataset")
    write_artifact(folder / "split.h5", split, "split")
    paths = {name: folder / f"{name}.h5" for name in ("dataset", "split")}
    results = folder / "regression.h5", folder / "regression.json"
    regression.run("fisher_vector_network", paths, SETTINGS | settings, *results)
    return read_artifact(results[0], "regression"), labels, split, bags


PSEUDO = {"grid": SETTINGS["grid"] | {"pseudo_weight": [0.3]}}


@pytest.mark.parametrize("training", [{}, {"n_epochs": 3}, PSEUDO, PSEUDO | {"n_epochs": 1}])
def test_networks_classify_bags_with_and_without_unlabelled_ones(tmp_path, training):
    tree, labels, split, bags = fitted(tmp_path / "run", **training)
    assert sorted({(item["training_size"], item["weak_size"]) for item in tree.values()}) == [
        *((9, 0), (9, 12), (15, 0), (15, 12))
    ]
    for item in tree.values():
        assert (item["test_targets"].argmax(axis=1) == labels[split["test"]]).mean() > 0.8
        restored = Fitted.from_arrays(item["network"])
        found = restored.scores([bags[row] for row in split["test"]])
        np.testing.assert_allclose(found, item["test_targets"], atol=1e-12)


def test_unlabelled_bags_are_used_where_asked_for_and_test_bags_never(tmp_path):
    def other_weak(bags, split):
        for row in split["weak"]:
            bags[row] = bags[row][::-1] * [1, 1, 1, 3, 3]

    def other_test(bags, split):
        for row in split["test"][1:]:
            bags[row] = bags[row] + 5.0

    first = fitted(tmp_path / "first")[0]
    weak = fitted(tmp_path / "weak", other_weak)[0]
    test = fitted(tmp_path / "test", other_test)[0]
    labelled = fitted(tmp_path / "labelled", unlabelled=False)[0]
    pseudo = fitted(tmp_path / "pseudo", **PSEUDO)[0]
    assert {item["weak_size"] for item in labelled.values()} == {0}
    for name, item in first.items():
        same = item["weak_size"] == 0
        assert (item["test_targets"] == pseudo[name]["test_targets"]).all() == same
        assert (item["test_targets"] == weak[name]["test_targets"]).all() == same
        np.testing.assert_array_equal(item["heldout_outputs"], test[name]["heldout_outputs"])
        np.testing.assert_array_equal(item["test_targets"][0], test[name]["test_targets"][0])


def test_one_bag_of_each_of_two_classes_is_enough(tmp_path):
    tree, labels, split, _ = fitted(tmp_path / "run", n_classes=2, sizes=[1])
    for item in tree.values():
        assert item["training_size"] == 2 and np.isfinite(item["test_targets"]).all()
        # There is nothing to select by, so that the first value of each list is taken.
        assert item["penalty"] == 0.01 and "heldout_outputs" not in item


def test_the_last_epoch_is_the_result(tmp_path):
    tree, _, split, _ = fitted(tmp_path / "run", n_epochs=3, by_epoch=True)
    for item in tree.values():
        by_epoch = item["test_targets_by_epoch"]
        assert by_epoch.shape == (4, len(split["test"]), 3)
        np.testing.assert_allclose(by_epoch[-1], item["test_targets"], rtol=1e-5, atol=1e-6)
        assert (by_epoch[0] != by_epoch[1]).any()
        n_batches = -(-item["training_size"] // 4)
        assert item["updates_by_epoch"].tolist() == [0, *(n_batches * np.arange(1, 4))]


def test_a_held_out_bag_changes_its_own_scores_only(tmp_path):
    # Two equal points: bags are held out, and both runs choose the same.
    grid = {"grid": SETTINGS["grid"] | {"penalty": [0.01, 0.01]}, "n_epochs": 1}

    def other_row(bags, split):
        bags[split["train"][0]] = bags[split["train"][0]] * -3.0

    (first, _, split, _), (other, *_) = (
        fitted(tmp_path / name, change, **grid)
        for name, change in (("first", lambda bags, split: None), ("other", other_row))
    )
    for name, item in first.items():
        folds = split["folds"][f"n-{item['training_size']}"]
        same = (folds == folds[0]) & (np.arange(len(folds)) > 0)
        found, expected = other[name]["heldout_outputs"], item["heldout_outputs"]
        np.testing.assert_array_equal(found[same], expected[same])
        assert (found[0] != expected[0]).any() and (
            found[folds != folds[0]] != expected[folds != folds[0]]
        ).any()


def test_fixed_numbers_of_components_are_run_one_by_one(tmp_path):
    tree = fitted(tmp_path / "run", components=[1, 3], sizes=[5])[0]
    found = {(item["components"], item["weak_size"]): item["network"] for item in tree.values()}
    assert {key: len(network["alpha"]) for key, network in found.items()} == {
        (count, weak): int(count) for count in ("1", "3") for weak in (0, 12)
    }
