"""Outputs that are swapped among training rows, in the split and in every stage that reads them."""

import json

import numpy as np
import pytest
from fit_methods import run_method
from small_data import regression_data
from small_pipeline import Stages, assert_same_tree

from workflow_lib.core.artifacts import write_artifact
from workflow_lib.fitting.wrong_labels import swapped_rows
from workflow_lib.protocol.evaluation import run_scores
from workflow_lib.run.models import ExperimentSettings
from workflow_lib.run.named_settings import validated

SIZES = [10, 20, 50, 100]


@pytest.mark.parametrize(
    ("share", "numbers"),
    # Of 10 rows one cannot be swapped alone: two are, and none of the next ten.
    [(0.1, [2, 2, 5, 10]), (0.3, [3, 6, 15, 30]), (0.5, [5, 10, 25, 50]), (1.0, SIZES)],
)
def test_the_share_is_swapped_at_every_size_among_its_own_rows(share, numbers):
    for seed in range(5):
        codes = np.concatenate([np.random.default_rng(seed).permutation(10) for _ in range(10)])
        indices = swapped_rows(codes, SIZES, share, seed)
        for size, number in zip(SIZES, numbers, strict=True):
            np.testing.assert_array_equal(np.sort(indices[:size]), np.arange(size))
            assert (indices[:size] != np.arange(size)).sum() == number
        # Only the last of a cycle may meet a first one of its class.
        assert (codes[indices] != codes).sum() >= numbers[-1] - len(SIZES)


def test_swaps_are_drawn_anew_by_the_seed_and_larger_shares_contain_smaller_ones():
    codes = np.arange(100)
    few, many = (swapped_rows(codes, [100], share, 3) for share in (0.2, 0.6))
    assert set(np.flatnonzero(few != codes)) < set(np.flatnonzero(many != codes))
    assert (few != swapped_rows(codes, [100], 0.2, 4)).any()
    np.testing.assert_array_equal(few, swapped_rows(codes, [100], 0.2, 3))
    np.testing.assert_array_equal(swapped_rows(codes, [100], 0.0, 3), codes)


def test_a_class_of_most_rows_is_swapped_as_far_as_others_are_there():
    codes = np.repeat([0, 1], [90, 10])
    wrong = codes[swapped_rows(codes, [100], 1.0, 0)] != codes
    assert wrong[codes == 1].all()
    assert wrong.sum() == 20
    assert (np.repeat(5, 8)[swapped_rows(np.repeat(5, 8), [8], 1.0, 0)] == 5).all()


def scores_of(stages):
    files = [stages.folder / f"{name}.csv" for name in ("scores", "choices", "coordinates")]
    split, predictions = stages.path("split"), stages.path("predictions")
    named = stages.folder / "named.h5"
    names = {"names": {"outputs": json.dumps(["a", "b", "c"])}}
    write_artifact(named, stages.tree("dataset") | names, "dataset")
    run_scores(named, [split], {"m": [predictions]}, *files, "small", "data")
    return files[0].read_text(encoding="utf-8")


def test_every_stage_has_the_outputs_of_a_dataset_in_which_they_are_swapped(tmp_path):
    X, Y = regression_data(70, n_clusters=4, spread=2.0)
    options = {"sizes": [20, 30], "weak_sizes": [10], "scale": "standard"}
    swapped = Stages(tmp_path / "swapped", X, Y, wrong_labels=0.5, **options).all()
    split = swapped.tree("split")
    changed = Y.copy()
    changed[split["train"]] = Y[split["output_rows"]]
    assert (changed != Y).any(axis=1).sum() == 15
    written = Stages(tmp_path / "written", X, changed, **options).all()
    plain = Stages(tmp_path / "plain", X, Y, **options).all()
    rows = split.pop("output_rows")
    assert_same_tree(split, written.tree("split"))
    assert "output_rows" not in plain.tree("split")
    for name in ("models", "annotated", "weak_labels", "embeddings", "regression", "predictions"):
        assert_same_tree(swapped.tree(name), written.tree(name), name)
    assert scores_of(swapped) == scores_of(written) != scores_of(plain)
    assert set(rows) == set(split["train"])


def test_candidate_outputs_are_the_swapped_ones(tmp_path):
    X, Y = regression_data(70, n_clusters=4, spread=2.0)
    trees = []
    for name, outputs, share in (("swapped", Y, 0.5), ("written", Y.copy(), 0.0)):
        stages = Stages(tmp_path / name, X, outputs, wrong_labels=share).prepare()
        if share:
            split = stages.tree("split")
        else:
            outputs[split["train"]] = Y[split["output_rows"]]
            stages.prepare()
        settings = {"kernel": "rbf", "widths": [1.0], "alphas": [0.01], "output_kernel": "rbf"}
        settings |= {"output_widths": [1.0], "preimage": "candidates", "center": True}
        arguments = settings | {"metric": "arrmse"}
        trees.append(run_method("output_kernel_regression", stages.path, **arguments))
    assert_same_tree(*trees)


@pytest.mark.parametrize("share", [-0.1, 1.2])
def test_the_configuration_refuses_shares_that_are_none(share):
    settings = {"title": "Any", "dataset": "any", "wrong_labels": share}
    _, errors = validated(ExperimentSettings, settings, "x.yaml")
    (message,) = map(str, errors)
    assert message.startswith(f"x.yaml, key wrong_labels: found {share}. Expected a number ")
