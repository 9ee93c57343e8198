"""Equal weights of groups of inputs, where the folds say so."""

import numpy as np
import pytest

from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.fitting import row_features
from workflow_lib.fitting.group_weights import MAX_ROWS, heldout_error_of
from workflow_lib.inputs.column_origins import ColumnOrigins
from workflow_lib.protocol import features_stage, splitting
from workflow_lib.solvers.ridge import labelled_ridge


def written(folder, columns_that_matter, classes=False, seed=0):
    """Write 120 rows of 20 channels of noise and two numbers; return the dataset and a split."""
    generator = np.random.default_rng(seed)
    X = generator.standard_normal((120, 22))
    outputs = X[:, columns_that_matter] @ np.ones((len(columns_that_matter), 2))
    outputs += 0.3 * generator.standard_normal(outputs.shape)
    origins = ColumnOrigins.of([(1, 1)] * 20 + [(1, 0)] * 2)
    tree = {"inputs": X, "outputs": outputs, "column_origins": vars(origins)}
    if classes:
        labels = (outputs[:, 0] > 0).astype(int)
        tree |= {"classes": {"labels": labels, "vectors": np.eye(2)}}
    else:
        outputs[:5, 1] = np.nan
    write_artifact(folder / "d.h5", tree, "dataset", allow_nan=("outputs",))
    splitting.run(
        dataset=folder / "d.h5",
        output=folder / "s.h5",
        training_sizes=[60],
        weak_sizes=[0],
        test_size=40,
        n_folds=4,
        seed=1,
        experiment="made",
        kind="random",
    )
    return tree


def features(folder):
    files = {name: folder / f"{name[0]}.h5" for name in ("dataset", "split")}
    features_stage.run(
        **files, output=folder / "f.h5", scale="standard", kernel="rbf", lagged_values="none"
    )
    return read_artifact(folder / "f.h5", "features")["n-60"]


@pytest.mark.parametrize("classes", [False, True])
def test_groups_have_equal_weights_where_few_numbers_say_the_most(tmp_path, classes):
    written(tmp_path, [20, 21], classes)
    group = features(tmp_path)
    for part in ("all", "fold-0", "fold-3"):
        squares = group[part]["weights"] ** 2
        assert squares[:20].sum() == pytest.approx(squares[20:].sum())
        assert squares.mean() == pytest.approx(1.0)


def test_numbers_have_equal_weights_where_the_larger_group_says_the_most(tmp_path):
    written(tmp_path, range(20))
    np.testing.assert_allclose(features(tmp_path)["all"]["weights"], 1.0)


def test_the_test_rows_do_not_count(tmp_path):
    tree = written(tmp_path, [20, 21])
    weights = features(tmp_path)["all"]["weights"]
    test = read_artifact(tmp_path / "s.h5", "split")["test"]
    tree["outputs"][test] = np.random.default_rng(5).standard_normal((len(test), 2))
    write_artifact(tmp_path / "d.h5", tree, "dataset", allow_nan=("outputs",))
    np.testing.assert_array_equal(features(tmp_path)["all"]["weights"], weights)


def test_the_error_is_that_of_ridge_regression_in_every_fold():
    generator = np.random.default_rng(3)
    X, folds = generator.standard_normal((40, 3)), np.arange(40) % 4
    Y = X @ generator.standard_normal((3, 2)) + generator.standard_normal((40, 2))
    rows_by_fold = [(X[folds != fold], X[folds == fold]) for fold in range(4)]
    found = heldout_error_of(rows_by_fold, Y, folds, "rrmse")
    errors = []
    for alpha in 10.0 ** np.arange(-6, 2):
        total = reference = 0.0
        for fold, (train, heldout) in enumerate(rows_by_fold):
            known, mean = Y[folds != fold], Y[folds != fold].mean(axis=0)
            centred = train - train.mean(axis=0)
            A = centred.T @ centred / 3 + labelled_ridge(len(train), alpha) * np.eye(3)
            B = np.linalg.solve(A, centred.T @ (known - mean) / 3)
            total += ((Y[folds == fold] - mean - (heldout - train.mean(axis=0)) @ B) ** 2).sum()
            reference += ((Y[folds == fold] - mean) ** 2).sum()
        errors.append(np.sqrt(total / reference))
    assert found <= min(errors) * (1 + 1e-9)
    assert found == pytest.approx(min(errors), rel=0.05)


def test_of_many_rows_some_of_every_fold_are_compared():
    """Folds of a chronological split are blocks of consecutive rows."""
    generator = np.random.default_rng(7)
    n = 2 * MAX_ROWS + 3
    X, folds = generator.standard_normal((n, 62)), np.repeat(np.arange(3), [n - 800, 400, 400])
    targets = np.sin(X[:, 60:]) + 0.3 * generator.standard_normal((n, 2))
    origins = ColumnOrigins.of([(1, 1)] * 60 + [(1, 0)] * 2)
    known_by_fold = {fold: (X, folds != fold, origins) for fold in range(3)}
    known_by_fold[None] = X, np.ones(n, dtype=bool), origins
    for equal_groups, outputs in ((True, targets), (False, X[:, :60] @ np.ones((60, 2)))):
        found = row_features.have_equal_weights(known_by_fold, outputs, folds, "arrmse")
        assert found == equal_groups
