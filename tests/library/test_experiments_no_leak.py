"""Nothing that was fitted without some rows changes when those rows change."""

import numpy as np
import pytest
from small_data import regression_data
from small_pipeline import Stages, assert_same_tree

STANDARD = {"scale": "standard", "penalty": "per_block", "sizes": [20, 30]}
FITTED = ("split", "models", "embeddings")


def small_inputs(missing=0.1):
    X, Y = regression_data(70, n_clusters=4, spread=2.0)
    X[np.random.default_rng(0).random(X.shape) < missing] = np.nan
    return X, Y


def pair(tmp_path, change, weak_sizes=(), **options):
    """Run all stages twice, the second time after `change(X, Y, split)` altered some rows."""
    settings = STANDARD | options | {"weak_sizes": list(weak_sizes)}
    first = Stages(tmp_path / "first", *small_inputs(), **settings).all()
    X, Y = small_inputs()
    change(X, Y, first.tree("split"))
    assert (Y != first.Y).any() or not np.array_equal(X, first.X, equal_nan=True)
    second = Stages(tmp_path / "second", X, Y, **settings).all()
    return first, second


def regression_without_tests(stages):
    return {
        key: {name: value for name, value in item.items() if name != "test_targets"}
        for key, item in stages.tree("regression").items()
    }


def preparations(stages):
    return {name: value for name, value in stages.tree("features").items() if name != "inputs"}


def wild(shape, seed=5):
    return 100 * np.random.default_rng(seed).normal(size=shape)


@pytest.mark.parametrize("kind", [None, "gaussian", "gaussian_mixture"])
def test_outputs_of_test_rows_change_nothing_at_all(tmp_path, kind):
    def change(X, Y, split):
        Y[split["test"]] = wild((12, 3))

    first, second = pair(tmp_path, change, kind=kind)
    names = ["split", "features", "regression", "predictions"]
    for name in names if kind is None else [*names, "models", "embeddings"]:
        assert_same_tree(first.tree(name), second.tree(name))


def test_inputs_of_test_rows_change_their_own_predictions_only(tmp_path):
    def change(X, Y, split):
        X[split["test"][3:]] = wild((9, 4))

    first, second = pair(tmp_path, change)
    for name in FITTED:
        assert_same_tree(first.tree(name), second.tree(name))
    assert_same_tree(preparations(first), preparations(second))
    assert_same_tree(regression_without_tests(first), regression_without_tests(second))
    predictions = first.tree("predictions"), second.tree("predictions")
    for key in predictions[0]:
        before, after = (tree[key]["outputs"] for tree in predictions)
        np.testing.assert_allclose(before[:3], after[:3], atol=1e-9)
        assert (before[3:] != after[3:]).any()


def test_rows_of_larger_training_sets_do_not_touch_smaller_ones(tmp_path):
    def change(X, Y, split):
        X[split["train"][20:]] = wild((10, 4))
        Y[split["train"][20:]] = wild((10, 3))

    first, second = pair(tmp_path, change)
    for name in ("models", "embeddings"):
        assert_same_tree(first.tree(name)["n-20"], second.tree(name)["n-20"])
    assert_same_tree(preparations(first)["n-20"], preparations(second)["n-20"])
    key = "n-20_w-0_C-selected"
    assert_same_tree(first.tree("predictions")[key], second.tree("predictions")[key])


def test_rows_held_out_by_a_fold_do_not_touch_what_the_fold_learns(tmp_path):
    def change(X, Y, split):
        heldout = split["train"][:30][split["folds"]["n-30"] == 2]
        X[heldout], Y[heldout] = wild((len(heldout), 4)), wild((len(heldout), 3))

    first, second = pair(tmp_path, change)
    for count in ("C-1", "C-3"):
        for name in ("models", "embeddings"):
            before, after = (stages.tree(name)["n-30"][count] for stages in (first, second))
            assert_same_tree(before["fold-2"], after["fold-2"])
            for fold in ("fold-0", "all"):
                with pytest.raises(AssertionError):
                    assert_same_tree(before[fold], after[fold])
    before, after = preparations(first)["n-30"], preparations(second)["n-30"]
    assert_same_tree(before["fold-2"], after["fold-2"])
    assert (before["fold-1"]["offset"] != after["fold-1"]["offset"]).any()


def test_outputs_of_weak_rows_count_through_their_component_only(tmp_path):
    probe = Stages(
        tmp_path / "probe", *small_inputs(), **STANDARD | {"weak_sizes": [15], "counts": [3]}
    ).all()
    split = probe.tree("split")
    annotated = probe.tree("annotated")

    def change(X, Y, split):
        # Every weak output moves to where its component still has the highest responsibility.
        largest = annotated["n-30"]["C-3"]["all"]["means"]
        labels = probe.tree("weak_labels")["n-30"]["C-3"]["memberships"].argmax(axis=1)
        Y[split["weak"]] = largest[labels]

    assert len(split["weak"]) > 15
    first, second = pair(tmp_path, change, weak_sizes=[15], counts=[3], sizes=[30])
    assert_same_tree(first.tree("weak_labels"), second.tree("weak_labels"))
    for name in ("models", "annotated", "embeddings", "regression", "predictions"):
        assert_same_tree(first.tree(name), second.tree(name))


def test_weak_rows_outside_the_weak_set_do_not_count(tmp_path):
    def change(X, Y, split):
        X[split["weak"][15:]] = wild((len(split["weak"]) - 15, 4))
        Y[split["weak"][15:]] = wild((len(split["weak"]) - 15, 3))

    first, second = pair(tmp_path, change, weak_sizes=[5, 15])
    assert_same_tree(first.tree("predictions"), second.tree("predictions"))


def test_weak_rows_do_not_touch_methods_without_them(tmp_path):
    def change(X, Y, split):
        X[split["weak"]], Y[split["weak"]] = (wild((len(split["weak"]), n)) for n in (4, 3))

    first, second = pair(tmp_path, change)
    assert_same_tree(first.tree("predictions"), second.tree("predictions"))
