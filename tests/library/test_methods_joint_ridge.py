"""Joint learning of regression and mixture: what it is without an iteration, and what it learns."""

import numpy as np
import pytest
from fit_methods import run_method
from small_data import regression_data
from small_pipeline import Stages, assert_same_tree

from workflow_lib.fitting.fit_data import FitData
from workflow_lib.fitting.input_kernels import InputKernel
from workflow_lib.methods.joint_ridge import Joint, JointTargets, Method
from workflow_lib.models.fisher import FisherEmbedding
from workflow_lib.models.storage import model_from_tree, scaling_from_tree
from workflow_lib.protocol.regression import split_data

FLOOR = 0.05


def stages_in(folder, weak=False, missing=0.0, **options) -> Stages:
    """Return the stages of a mixture method with a penalty per block, up to the models."""
    X, Y = regression_data(90)
    Y[np.random.default_rng(3).random(Y.shape) < missing] = np.nan
    values = {
        "weak_sizes": [20] if weak else [],
        "scale": "standard",
        "output_scale": "standard",
        "penalty": "per_block",
        "combine": "average",
    }
    stages = Stages(folder, X, Y, **(values | options)).prepare()
    stages.model()
    return stages


def joint(stages, alphas=(np.inf,), floors=(FLOOR,)) -> dict:
    """Run joint learning on the artifacts of the stages; return its tree."""
    arguments = stages.arguments()
    names = ("models", "weak_labels", *Method.__dataclass_fields__)
    kept = {name: value for name, value in arguments.items() if name in names}
    kept["grid"] = {"joint_alpha": list(alphas), "variance_floor": list(floors)}
    return run_method("joint_ridge", lambda name: own_path(stages, name), **kept)


def own_path(stages, name):
    shared = ("dataset", "split", "features")
    return stages.path(name) if name in shared else stages.folder / f"joint-{name}.h5"


@pytest.mark.parametrize("combine", ["best", "average"])
@pytest.mark.parametrize("weak", [False, True])
def test_without_an_iteration_it_is_ofer(tmp_path, weak, combine):
    stages = stages_in(tmp_path, weak, missing=0.1, combine=combine)
    stages.regress()
    ofer, predicted = stages.tree("regression"), stages.tree("predictions")
    found = joint(stages)
    assert found.keys() == ofer.keys()
    for name, item in found.items():
        own = ("test_targets", "training_targets", "members", "dual_coefficients", "intercept")
        own += ("validation_curves",)
        same = [key for key in ofer[name] if key not in own]
        for key in same:
            if isinstance(item[key], np.ndarray):
                np.testing.assert_allclose(item[key], ofer[name][key], rtol=1e-7, atol=1e-9)
            elif isinstance(item[key], str):
                assert item[key] == ofer[name][key]
            else:
                assert item[key] == pytest.approx(ofer[name][key], rel=1e-9)
        members = item.get("members", {"": item}).values()
        outputs = np.mean([member["test_targets"] for member in members], axis=0)
        np.testing.assert_allclose(outputs, predicted[name]["outputs"], rtol=1e-7, atol=1e-9)


def test_the_score_is_never_worse_where_the_mixture_of_outputs_competes(tmp_path):
    stages = stages_in(tmp_path, combine="best")
    ofer = stages.regress().tree("regression")
    found = joint(stages, [1e-3, 1e-1, np.inf], [FLOOR, 0.5])
    for name, item in found.items():
        assert item["score"] <= ofer[name]["score"] * (1 + 1e-9)
    assert any(item["score"] < ofer[name]["score"] * (1 - 1e-6) for name, item in found.items())


def targets_in(stages, **spec):
    method = Method(
        "selected", [1, 3], "average", "rbf", [1.0], [1e-2], False, [], [True], {}, True, "arrmse"
    )
    names = ("dataset", "split", "features", "models")
    split = split_data(method, {name: stages.path(name) for name in names})
    data = FitData(split, method.specs(split)[-1])
    return data, JointTargets(data, InputKernel("rbf", 1.0), [FLOOR], [])


@pytest.mark.parametrize("floor", [FLOOR, 1.0])
@pytest.mark.parametrize("alpha", [1e-3, np.inf])
def test_the_preimage_of_the_embedding_is_the_output_whatever_the_memberships(
    tmp_path, alpha, floor
):
    data, targets = targets_in(stages_in(tmp_path))
    for count in (1, 3):
        embedding, embedded = targets.of_all_rows(
            Joint(count, floor, InputKernel("rbf", 1.0), alpha)
        )
        stored = data.split.stored_model(data.size, count, None)
        scaling = scaling_from_tree(stored)
        for preimage in ("closed_form", "projected"):
            outputs = embedding.inverse_transform(embedded, preimage)
            outputs = scaling.inverse_transform(outputs)
            np.testing.assert_allclose(outputs, data.targets(), atol=1e-9)
        is_fixed = count == 1 or (np.isinf(alpha) and floor == FLOOR)
        posterior = FisherEmbedding(model_from_tree(stored)).transform(
            scaling.apply(data.targets())
        )
        assert np.allclose(embedded[:, :count], posterior[:, :count], atol=1e-9) == is_fixed


def test_a_fold_does_not_see_the_rows_that_it_holds_out(tmp_path):
    stages = stages_in(tmp_path / "first")
    data, targets = targets_in(stages)
    held = data.split.partition["train"][: data.size][data.folds == 0]
    X, Y = stages.X.copy(), stages.Y.copy()
    X[held], Y[held] = X[held] + 1.0, Y[held] - 3.0
    others = Stages(tmp_path / "second", X, Y, [20, 30], [], "standard", output_scale="standard")
    others.prepare().model()
    changed = targets_in(others)[1]
    joint = Joint(3, FLOOR, InputKernel("rbf", 1.0), 1e-3)
    first, second = (each.learned(joint, 0).mixture for each in (targets, changed))
    np.testing.assert_array_equal(first.memberships, second.memberships)
    np.testing.assert_array_equal(first.components.means, second.components.means)
    assert_same_tree({"A": first.dual_coefficients}, {"A": second.dual_coefficients})
    first, second = (each.learned(joint, 1).mixture for each in (targets, changed))
    assert not np.array_equal(first.memberships, second.memberships)
