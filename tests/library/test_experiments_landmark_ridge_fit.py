"""Selection and fit on landmarks: with all rows as landmarks, the exact solution."""

from types import SimpleNamespace

import numpy as np
import pytest
from each_case import each_case, in_turn
from small_data import regression_data
from small_pipeline import Stages, assert_same_tree

from workflow_lib.core import stored_rows
from workflow_lib.core.artifacts import read_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.core.stored_rows import StoredRows
from workflow_lib.fitting import fit_data
from workflow_lib.fitting.fitted_features import FittedFeatureRidge
from workflow_lib.fitting.fitted_ridge import kernel_arrays
from workflow_lib.fitting.input_kernels import InputKernel
from workflow_lib.fitting.prepared_inputs import kernel_gamma
from workflow_lib.items.group_names import fold_group
from workflow_lib.solvers.gram import gram_matrix
from workflow_lib.solvers.landmarks import LandmarkFeatures

ALL_ROWS = {"max_gram_rows": 10, "n_landmarks": 100, "seed": 3}
METHODS = {
    "m-krr": {"kind": None},
    "one penalty": {"penalty": "shared"},
    "a penalty per block": {"penalty": "per_block"},
    "an average": {"penalty": "per_block", "combine": "average"},
    "variances per component": {"covariance_type": "spherical", "penalty": "per_block"},
    "full form": {"form": "full", "preimage": "closed_form"},
    "a single Gaussian": {"kind": "gaussian", "preimage": "closed_form"},
}


def stages(folder, landmarks, **options) -> Stages:
    folder.mkdir(exist_ok=True)
    X, Y = regression_data(60, n_clusters=3, spread=2.0)
    return Stages(folder, X, Y, sizes=[8, 30], landmarks=landmarks, **options)


def members_of(item: dict) -> list[dict]:
    return list(item.get("members", {"": item}).values())


@each_case(("name", "scale"), in_turn(METHODS, ["none", "standard"]))
def test_all_rows_as_landmarks_give_the_exact_solution(tmp_path, name, scale):
    options = {"scale": scale, "alphas": [1e-3, 1e-2, np.inf], **METHODS[name]}
    exact = stages(tmp_path / "gram", None, **options).all()
    ours = stages(tmp_path / "landmarks", ALL_ROWS, **options).all()
    expected, found = exact.tree("regression"), ours.tree("regression")
    assert sorted(expected) == sorted(found)
    for key, item in found.items():
        for member, other in zip(members_of(item), members_of(expected[key]), strict=True):
            chosen = [
                name
                for name in ("width", "n_components", "alpha_leading", "alpha_rest")
                if name in other
            ]
            assert [member[name] for name in chosen] == [other[name] for name in chosen]
            assert member["score"] == pytest.approx(other["score"], rel=1e-6)
            for array in ("heldout_outputs", "test_targets"):
                np.testing.assert_allclose(member[array], other[array], atol=2e-5)
            # The small size has a Gram matrix as before.
            assert ("weights" in member) == (item["training_size"] > 10)
            assert ("dual_coefficients" in member) == (item["training_size"] <= 10)
    predictions = ours.tree("predictions")
    for key, item in exact.tree("predictions").items():
        np.testing.assert_allclose(predictions[key]["outputs"], item["outputs"], atol=2e-5)


def test_many_random_features_come_close_to_the_exact_solution(tmp_path):
    options = {"kind": None, "alphas": [1e-2], "widths": [0.3]}
    exact = stages(tmp_path / "gram", None, **options).all().tree("regression")
    landmarks = ALL_ROWS | {"n_landmarks": 400}
    random = {"approximation": "random_features", "landmarks": landmarks}
    ours = stages(tmp_path / "random", **random, **options).all().tree("regression")
    for key, item in exact.items():
        spread = item["test_targets"].std()
        difference = ours[key]["test_targets"] - item["test_targets"]
        assert np.abs(difference).max() < 0.15 * spread
        assert ("directions" in ours[key]) == (item["training_size"] > 10)


@pytest.mark.parametrize("n_landmarks", [2, 100])
def test_the_linear_kernel_of_few_columns_is_exact(tmp_path, n_landmarks):
    options = {"kernel": "linear", "kind": None, "alphas": [1e-3, 1e-2]}
    exact = stages(tmp_path / "gram", None, **options).all().tree("regression")
    landmarks = ALL_ROWS | {"n_landmarks": n_landmarks}
    ours = stages(tmp_path / "ours", landmarks, **options).all().tree("regression")
    key = next(key for key, item in ours.items() if item["training_size"] == 30)
    if n_landmarks == 2:
        # Fewer landmarks than columns: no longer exact, but landmarks of rows.
        assert ours[key]["landmarks"].shape[0] == 2
        assert ours[key]["score"] > exact[key]["score"]
    else:
        assert "landmarks" not in ours[key]
        np.testing.assert_allclose(ours[key]["test_targets"], exact[key]["test_targets"], atol=1e-9)


def test_few_landmarks_are_stored_and_drawn_from_the_seed(tmp_path):
    options = {"penalty": "per_block", "combine": "best"}
    few = ALL_ROWS | {"n_landmarks": 5}
    first = stages(tmp_path / "first", few, **options).all().tree("regression")
    again = stages(tmp_path / "again", few, **options).all().tree("regression")
    assert_same_tree(first, again)
    other = stages(tmp_path / "other", few | {"seed": 4}, **options).all().tree("regression")
    key = next(key for key, item in first.items() if item["training_size"] == 30)
    assert first[key]["n_landmarks"] == 5
    assert first[key]["landmarks"].shape == (5, 4)
    assert not np.allclose(first[key]["landmarks"], other[key]["landmarks"])


def test_held_out_rows_are_never_used_for_fitting(tmp_path):
    """The predictions of a fold for its rows do not depend on their outputs."""
    few = ALL_ROWS | {"n_landmarks": 5}
    # One grid point, so that selection has no influence.
    options = {"widths": [1.0], "alphas": [1e-2], "counts": [2], "scale": "standard"}
    first = stages(tmp_path / "first", few, **options).all()
    partition = first.tree("split")
    folds = partition["folds"]["n-30"]
    rows = partition["train"][:30][folds == 0]
    changed = stages(tmp_path / "changed", few, **options)
    changed.Y = changed.Y.copy()
    changed.Y[rows] += 100.0
    changed.all()
    key = next(k for k, item in first.tree("regression").items() if item["training_size"] == 30)
    before = first.tree("regression")[key]["heldout_outputs"]
    after = changed.tree("regression")[key]["heldout_outputs"]
    np.testing.assert_array_equal(before[folds == 0], after[folds == 0])
    assert np.abs(before[folds != 0] - after[folds != 0]).max() > 1.0
    assert fold_group(0) in first.tree("features")["n-30"]


@pytest.mark.parametrize(("kind", "passes"), [(None, 3), ("gaussian_mixture", 6)])
def test_rows_are_read_once_for_each_width_and_once_for_heldout_outputs(
    tmp_path, monkeypatch, kind, passes
):
    """The projection of OFER takes a second pass for each width, and its refit one."""
    n_read, values = [], LandmarkFeatures.values
    monkeypatch.setattr(
        LandmarkFeatures, "values", lambda self, X: n_read.append(len(X)) or values(self, X)
    )
    options = {"kind": kind, "widths": [0.5, 1.0]}
    stages(tmp_path, ALL_ROWS | {"n_landmarks": 5}, **options).all()
    assert sum(n_read) == passes * 30


def test_weak_rows_are_refused(tmp_path):
    with pytest.raises(UserError, match="weak rows with more training rows than max_gram_rows"):
        stages(tmp_path / "weak", ALL_ROWS, weak_sizes=[10], penalty="per_block").all()


def regression_bytes(made: Stages, monkeypatch, is_streamed: bool) -> tuple[bytes, set[str]]:
    """Return the regression artifact and the arrays that were streamed, or could have been."""
    found = set()

    def read(path, kind, streamed=()):
        tree = read_artifact(path, kind, streamed if is_streamed else ())
        inputs = tree.get("inputs")
        named = {f"{kind} inputs": inputs} if kind == "dataset" else inputs or {}
        found.update(name for name, rows in named.items() if isinstance(rows, StoredRows))
        return tree

    with monkeypatch.context() as patch:
        patch.setattr(fit_data, "read_artifact", read)
        # Blocks of two rows.
        patch.setattr(stored_rows, "BLOCK_BYTES", 2 * 4 * 8)
        made.regress()
    return made.path("regression").read_bytes(), found


@each_case(
    ("options", "missing"),
    [
        ({"kind": None, "kernel": "linear"}, False),
        ({"kind": None, "kernel": "linear", "scale": "standard"}, True),
        ({"penalty": "per_block"}, True),
        ({"penalty": "per_block", "scale": "standard", "combine": "average"}, False),
    ],
    ids=str,
)
def test_streamed_inputs_give_the_same_bytes(tmp_path, monkeypatch, options, missing):
    made = stages(tmp_path, ALL_ROWS | {"n_landmarks": 5}, **options)
    if missing:
        made.X[::7, 1] = np.nan
    made.all()
    expected, found = regression_bytes(made, monkeypatch, is_streamed=False)
    assert found == set()
    streamed, found = regression_bytes(made, monkeypatch, is_streamed=True)
    assert found == {"dataset inputs", "train", "weak"}
    assert streamed == expected


@pytest.mark.parametrize("landmarks", [None, ALL_ROWS | {"max_gram_rows": 30}])
def test_inputs_stay_in_memory_where_all_rows_have_a_gram_matrix(tmp_path, monkeypatch, landmarks):
    made = stages(tmp_path, landmarks).all()
    _, found = regression_bytes(made, monkeypatch, is_streamed=True)
    assert found == set()


def test_damaged_inputs_are_refused_where_they_are_streamed(tmp_path):
    made = stages(tmp_path, ALL_ROWS, kind=None).prepare()
    row = made.tree("features")["inputs"]["train"][29]
    content = bytearray(made.path("features").read_bytes())
    content[content.index(row.tobytes())] ^= 1
    made.path("features").write_bytes(content)
    with pytest.raises(UserError, match="altered or damaged on the disk"):
        made.regress()


def test_a_model_saved_with_weights_of_features_predicts_as_it_did():
    generator = np.random.default_rng(0)
    landmarks, X = generator.normal(size=(12, 3)), generator.normal(size=(5, 3))
    projection, weights = generator.normal(size=(12, 7)), generator.normal(size=(7, 2))
    kernel = InputKernel("rbf", 0.7)
    arrays = {
        "weights": weights,
        "intercept": np.array([1.0, -2.0]),
        "landmarks": landmarks,
        "projection": projection,
        **kernel_arrays(kernel),
    }
    model = FittedFeatureRidge.from_arrays(arrays)
    again = FittedFeatureRidge.from_arrays(model.to_arrays())
    features = gram_matrix(X, landmarks, "rbf", kernel_gamma(*kernel, 3)) @ projection
    for each in (model, again):
        predicted = each.predict(SimpleNamespace(test_rows=lambda: X))
        np.testing.assert_allclose(predicted, features @ weights + [1.0, -2.0], rtol=1e-10)
