"""The stack is the best convex combination of its members' held-out predictions."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from fit_methods import predict_outputs, run_method
from small_data import regression_data
from small_pipeline import Stages

from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.measures.metrics import reference_errors, relative_error, squared_error_sums
from workflow_lib.methods import stack
from workflow_lib.solvers.stacking import output_weights

SIZES = [20, 30]
SEED = 5
STAGES = {
    "regression": {"selection_seconds": 1.0, "fit_seconds": 2.0, "prediction_seconds": 4.0},
    "preimages": {"preimage_seconds": 8.0},
}


def item_of(size):
    return f"n-{size}_w-0_C-selected"


def prepared(folder, X=None, Y=None, **options):
    """Return the stages of a dataset, of which split and features are there."""
    small_X, small_Y = regression_data(70)
    X, Y = small_X if X is None else X, small_Y if Y is None else Y
    return Stages(folder, X, Y, sizes=SIZES, **options).prepare()


def noisy(outputs, noise, seed):
    generator = np.random.default_rng([seed, len(outputs)])
    return outputs + noise * generator.normal(size=outputs.shape)


def member(stages, name, noise, seed, sizes=SIZES):
    """Write the artifacts of a member whose predictions miss by noise; return their paths."""
    split = stages.tree("split")
    complete = np.nan_to_num(stages.Y)
    regression, predictions = {}, {}
    for size in sizes:
        scalars = {"training_size": size, "weak_size": 0, "components": "selected"}
        of_training = noisy(complete[split["train"][:size]], noise, seed)
        of_test = noisy(np.zeros((len(split["test"]), complete.shape[1])), noise, seed + 100)
        regression[item_of(size)] = scalars | {"heldout_outputs": of_training}
        predictions[item_of(size)] = scalars | {"outputs": of_test}
    return write_member(stages, name, regression, predictions)


def write_member(stages, name, regression, predictions):
    folder = stages.folder / name
    paths = {kind: folder / f"{kind}.h5" for kind in ("regression", "predictions")}
    write_artifact(paths["regression"], regression, "regression")
    write_artifact(paths["predictions"], predictions, "predictions")
    paths["timings"] = [folder / f"{stage}.json" for stage in STAGES]
    for path, seconds in zip(paths["timings"], STAGES.values(), strict=True):
        path.write_text(json.dumps({item: seconds for item in regression}))
    return paths


def files_of(members):
    """Return the regressions, predictions and timings of members, each in a list."""
    kinds = [[paths[kind] for paths in members] for kind in ("regression", "predictions")]
    return [*kinds, [path for paths in members for path in paths["timings"]]]


def run_stack(stages, members, member_sizes=None, metric="arrmse", **options):
    """Run the stack and the pre-images after it; return the tree of its regression artifact."""
    names = ("regressions", "predictions", "member_timings")
    run_method(
        "stack",
        stages.path,
        **dict(zip(names, files_of(members.values()), strict=True)),
        members=list(members),
        member_sizes=member_sizes or {},
        metric=metric,
        seed=SEED,
        **options,
    )
    predict_outputs(stages.path)
    return stages.tree("regression")


def weights_of(item):
    return np.array([value for name, value in item.items() if name.startswith("weight_")])


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("metric", ["arrmse", "rrmse"])
def test_weights_predictions_and_score_are_those_of_the_held_out_rows(tmp_path, metric, missing):
    _, Y = regression_data(70)
    Y = Y * [1.0, 10.0, 0.1]
    Y[np.random.default_rng(8).random(Y.shape) < missing] = np.nan
    stages = prepared(tmp_path, Y=Y)
    noises = {"first": 1.0, "second": [0.5, 20.0, 0.2], "third": 2.0}
    members = {
        name: member(stages, name, noise, seed) for seed, (name, noise) in enumerate(noises.items())
    }
    tree = run_stack(stages, members, metric=metric)
    split = stages.tree("split")
    trees = {
        name: read_artifact(paths["regression"], "regression") for name, paths in members.items()
    }
    tested = {
        name: read_artifact(paths["predictions"], "predictions") for name, paths in members.items()
    }
    assert tree.keys() == {item_of(size) for size in SIZES}
    for size in SIZES:
        known, item = Y[split["train"][:size]], tree[item_of(size)]
        heldout = [part[item_of(size)]["heldout_outputs"] for part in trees.values()]
        weights = item["member_weights"]
        np.testing.assert_array_equal(weights, output_weights(heldout, known, SEED))
        np.testing.assert_allclose(weights.sum(axis=0), 1.0, rtol=1e-12)
        np.testing.assert_allclose(weights_of(item), weights.mean(axis=1), rtol=1e-12)
        assert len(np.unique(weights.round(3), axis=1).T) > 1
        expected = sum(w * part for w, part in zip(weights, heldout))
        np.testing.assert_allclose(item["heldout_outputs"], expected, rtol=1e-12)
        folds = split["folds"][f"n-{size}"]
        score = relative_error(
            squared_error_sums(known, expected), reference_errors(known, folds), metric
        )
        assert item["score"] == pytest.approx(float(score), rel=1e-12)
        of_test = [part[item_of(size)]["outputs"] for part in tested.values()]
        expected = sum(w * part for w, part in zip(weights, of_test))
        np.testing.assert_allclose(item["test_targets"], expected, rtol=1e-12, atol=1e-12)


def test_seconds_are_sums_over_members(tmp_path):
    stages = prepared(tmp_path)
    members = {name: member(stages, name, 1.0, seed) for seed, name in enumerate(("m-a", "m-b"))}
    tree = run_stack(stages, members, {"m-b": 30})
    seconds = json.loads((tmp_path / "regression.json").read_text())
    assert seconds.keys() == tree.keys()
    for size, n_members in ((20, 1), (30, 2)):
        spent = seconds[item_of(size)]
        assert sorted(spent) == ["fit_seconds", "prediction_seconds", "selection_seconds"]
        # The stack adds its own seconds.
        assert spent["selection_seconds"] > n_members * 1.0
        assert spent["fit_seconds"] >= n_members * 2.0
        assert spent["prediction_seconds"] > n_members * (4.0 + 8.0)
        assert spent["prediction_seconds"] < n_members * (4.0 + 8.0) + 1.0


def test_members_take_part_from_their_smallest_size_on(tmp_path):
    stages = prepared(tmp_path)
    first = member(stages, "first", 1.0, 0)
    # It has no item of the smaller size at all, and none is needed.
    late = member(stages, "late", 0.5, 1, sizes=[30])
    tree = run_stack(stages, {"first": first, "late": late}, {"late": 30})
    assert tree[item_of(20)]["weight_late"] == 0.0
    assert tree[item_of(20)]["weight_first"] == 1.0
    assert tree[item_of(30)]["weight_late"] > 0.5
    alone = run_stack(stages, {"first": first})
    for name in ("test_targets", "heldout_outputs", "score"):
        np.testing.assert_array_equal(tree[item_of(20)][name], alone[item_of(20)][name])


def test_members_learn_from_the_kinds_of_rows_that_the_stack_names(tmp_path):
    stages = prepared(tmp_path, weak_sizes=[8])
    plain = member(stages, "plain", 1.0, 0)
    items = {"weak": "n-{}_w-8_C-selected", "unpaired": "n-{}_w-0_C-selected_unpaired_size=0"}
    members = {"plain": plain}
    for seed, (name, item) in enumerate(items.items(), 1):
        trees = []
        for kind in ("regression", "predictions"):
            tree, other = (
                read_artifact(paths[kind], kind)
                for paths in (plain, member(stages, name, 0.2, seed))
            )
            trees.append(tree | {item.format(size): other[item_of(size)] for size in SIZES})
        members[name] = write_member(stages, name, *trees)

    first = SIZES[0]
    item = run_stack(stages, members)[item_of(first)]
    assert item["weight_plain"] == 1.0
    item = run_stack(stages, members, unpaired=False)[item_of(first)]
    assert item["weight_unpaired"] > 0.5 and item["weight_weak"] == 0.0
    tree = run_stack(stages, members, weak_members=["weak"])
    assert tree.keys() == {items["weak"].format(size) for size in SIZES}
    assert tree[items["weak"].format(first)]["weight_weak"] > 0.5


def test_a_study_of_the_largest_size_is_without_outputs_that_lack_inputs():
    method = stack.Method(["a"], {}, "arrmse", SEED)
    split = SimpleNamespace(sizes=SIZES, weak_sizes=[], unpaired_sizes=[6, 15])
    largest, without = item_of(SIZES[-1]), f"{item_of(SIZES[-1])}_unpaired_size=0"
    *_, last, study = method.specs(split)
    assert [last.name, study.name] == [largest, without]
    assert method.member_item("a", {largest: {}, without: {}}, study) == without
    # A member that learns from other rows has no such item.
    assert method.member_item("a", {largest: {}}, study) == largest
    split.unpaired_sizes = []
    assert len(method.specs(split)) == len(SIZES)


# Messages


def test_a_member_without_the_item_is_reported(tmp_path):
    stages = prepared(tmp_path)
    late = member(stages, "late", 0.5, 1, sizes=[30])
    with pytest.raises(UserError, match="the member late holds no item n-20") as caught:
        run_stack(stages, {"late": late})
    assert caught.value.location == str(late["regression"])
    assert "components: selected" in caught.value.remedy
    assert not stages.path("regression").exists()


def test_a_member_without_predictions_of_its_training_rows_is_reported(tmp_path):
    stages = prepared(tmp_path)
    paths = member(stages, "weak", 1.0, 0)
    regression = read_artifact(paths["regression"], "regression")
    for item in regression.values():
        del item["heldout_outputs"]
    write_artifact(paths["regression"], regression, "regression")
    with pytest.raises(UserError, match="member weak holds no heldout_outp") as caught:
        run_stack(stages, {"weak": paths})
    assert str(paths["regression"]) in caught.value.location
    assert f"rm {paths['regression']}" in caught.value.remedy


def test_a_size_without_members_is_reported(tmp_path):
    stages = prepared(tmp_path)
    members = {"late": member(stages, "late", 1.0, 0)}
    with pytest.raises(UserError, match=r"no member takes part at training size 20 .*late 30"):
        run_stack(stages, members, {"late": 30})
