"""Fits to rows that are read in blocks."""

from dataclasses import replace

import h5py
import numpy as np
import pandas as pd
import pytest

from workflow_lib import LandmarkRegressorCV, open_columns
from workflow_lib.fitting import streamed_fit
from workflow_lib.fitting.fold_targets import TargetColumns, decoded_at
from workflow_lib.fitting.streamed_fit import StreamPlan, StreamSettings, added
from workflow_lib.methods.contract.saved_method import SavedMethod
from workflow_lib.solvers.device_sums import device_namespace
from workflow_lib.solvers.gram import gram_matrix

N_ROWS = 400
OUTPUTS = StreamSettings(
    kernels=("rbf",), widths=(0.1, 1.0), alphas=(1e-6, 1e-4, 1e-2), n_landmarks=30, n_folds=3
)
MIXTURE = replace(OUTPUTS, n_components=3)
SETTINGS = {"outputs": OUTPUTS, "mixture": MIXTURE, "linear": replace(OUTPUTS, kernels=("linear",))}


def problem(n_rows=N_ROWS):
    generator = np.random.default_rng(3)
    X = generator.normal(size=(n_rows, 4)) * [1, 10, 0.1, 1] + 50
    Z = (X - 50) / [1, 10, 0.1, 1]
    Y = np.column_stack([np.sin(2 * Z[:, 0]) + Z[:, 1], Z[:, 2] * Z[:, 3], np.sign(Z[:, 0])])
    return X, 1000 + Y + 0.1 * generator.normal(size=Y.shape)


X, Y = problem()


def fitted(plan, borders=(0, N_ROWS), X=X, Y=Y):
    blocks = [range(*pair) for pair in zip(borders[:-1], borders[1:], strict=True)]
    solutions = plan.solved(added([plan.sums(X, Y, rows) for rows in blocks]))
    errors = None
    if plan.models:
        errors = sum(plan.errors(solutions, X, Y, rows) for rows in blocks)
    return plan.fitted(solutions, errors), solutions, errors


class Rows:
    def __init__(self, plan, X):
        self.rows = plan.preparation.apply(X)

    def test_rows(self):
        return self.rows


@pytest.mark.parametrize("name", SETTINGS)
def test_predictions_of_test_rows_have_the_errors_that_are_stated(name):
    plan = StreamPlan.made(X, Y, SETTINGS[name])
    method, solutions, _ = fitted(plan)
    inputs, outputs, predicted = plan.test_predictions(solutions, method.point, X, Y, N_ROWS)
    assert (inputs == X[SETTINGS[name].folds(N_ROWS) == 3]).all()
    errors = np.sqrt(((outputs - predicted) ** 2).mean(axis=0))
    np.testing.assert_allclose(errors, method.test_errors, rtol=1e-8)


@pytest.mark.parametrize("name", SETTINGS)
def test_blocks_do_not_change_the_result(name):
    plan = StreamPlan.made(X, Y, SETTINGS[name])
    methods = [
        fitted(plan, borders)[0]
        for borders in ((0, N_ROWS), (0, 151, N_ROWS), (*range(0, N_ROWS, 50), N_ROWS))
    ]
    # A plan that was stored gives the same to the last bit.
    methods.append(fitted(StreamPlan.from_tree(plan.to_tree()))[0])
    predictions = [SavedMethod(method.tree).predict(Rows(plan, X)) for method in methods]
    for method, predicted in zip(methods[1:], predictions[1:], strict=True):
        assert method.choice == methods[0].choice or np.isclose(
            method.choice.score, methods[0].choice.score, rtol=1e-10
        )
        np.testing.assert_allclose(predicted, predictions[0], rtol=1e-10)
        np.testing.assert_allclose(method.test_errors, methods[0].test_errors, rtol=1e-9)
    assert (predictions[-1] == predictions[0]).all()


def test_heldout_and_test_errors_are_those_of_fits_without_these_rows():
    plan = StreamPlan.made(X, Y, OUTPUTS)
    method, solutions, _ = fitted(plan)
    folds, alphas = OUTPUTS.folds(N_ROWS), plan._alphas(plan.kernel)
    values = plan.features.transform(plan.preparation.apply(X))
    for fold in range(OUTPUTS.n_folds + 1):
        known = (folds != fold) & (folds < OUTPUTS.n_folds)
        means = values[known].mean(axis=0), Y[known].mean(axis=0)
        Z, T = values[known] - means[0], Y[known] - means[1]
        for alpha, errors in zip(alphas[:-1], solutions.errors[fold], strict=False):
            ridge = 2 * known.sum() * alpha * np.eye(Z.shape[1])
            weights = np.linalg.solve(Z.T @ Z + ridge, Z.T @ T)
            predicted = (values[folds == fold] - means[0]) @ weights + means[1]
            expected = ((Y[folds == fold] - predicted) ** 2).sum(axis=0)
            np.testing.assert_allclose(errors, expected, rtol=1e-7)
        mean_errors = ((Y[folds == fold] - means[1]) ** 2).sum(axis=0)
        np.testing.assert_allclose(solutions.errors[fold, -1], mean_errors, rtol=1e-10)
    index = alphas.index(method.choice.alpha_rest)
    n_test = np.count_nonzero(folds == OUTPUTS.n_folds)
    assert n_test == 40
    expected = np.sqrt(solutions.errors[-1, index] / n_test)
    np.testing.assert_allclose(method.test_errors, expected)


def test_errors_after_the_preimage_are_those_of_decoded_rows():
    plan = StreamPlan.made(X, Y, MIXTURE)
    _, solutions, errors = fitted(plan)
    folds = MIXTURE.folds(N_ROWS)
    values = plan.features.values(plan.preparation.apply(X))
    n_penalties = len(plan._alphas(plan.kernel))
    for fold in range(MIXTURE.n_folds + 1):
        rows = folds == fold
        weights, intercepts = solutions.weights[str(fold)], solutions.intercepts[str(fold)]
        predicted = np.einsum("nm,mpd->pnd", values[rows], weights) + intercepts[:, None]
        targets = plan._fold_targets(fold, Y[rows])
        columns = TargetColumns({None: [targets]}, has_weak_rows=False)
        for index in (0, 6, n_penalties**2 - 1):
            for number, projected in enumerate((True, False)):
                split = columns.split(None, 0, predicted)
                decoded = decoded_at(targets, split, index, projected, "per_block")
                expected = ((Y[rows] - decoded) ** 2).sum(axis=0)
                found = errors[fold, number * n_penalties**2 + index]
                np.testing.assert_allclose(found, expected, rtol=1e-8)
        # With equal penalties and without the projection, the outputs themselves are regressed.
        shared = [n_penalties**2 + index * (n_penalties + 1) for index in range(n_penalties)]
        np.testing.assert_allclose(errors[fold, shared], solutions.errors[fold], rtol=1e-6)


def test_nothing_that_sees_outputs_learns_from_rows_that_are_held_out():
    plan = StreamPlan.made(X, Y, MIXTURE)
    solutions = fitted(plan)[1]
    folds = MIXTURE.folds(N_ROWS)
    for fold in (0, MIXTURE.n_folds):
        changed = Y.copy()
        changed[folds == fold] = np.random.default_rng(0).normal(5, 9, Y[folds == fold].shape)
        other = StreamPlan.made(X, changed, MIXTURE)
        for key, values in plan.models[fold].items():
            np.testing.assert_array_equal(other.models[fold][key], values)
        # The kernel is chosen on rows of all folds, but for the test rows.
        other = replace(other, kernel=plan.kernel, origin=plan.origin, _features=None)
        found = fitted(other, Y=changed)[1].weights[str(fold)]
        np.testing.assert_allclose(found, solutions.weights[str(fold)], rtol=1e-6, atol=1e-9)
    tests = X[folds == MIXTURE.n_folds]
    assert not (tests[:, None] == plan.sample).all(axis=2).any()


def test_landmarks_that_are_all_rows_give_kernel_ridge_regression():
    settings = replace(OUTPUTS, n_landmarks=N_ROWS, widths=(1.0,), test_share=0.0)
    plan = StreamPlan.made(X, Y, settings)
    method = fitted(plan)[0]
    rows = plan.preparation.apply(X)
    K = gram_matrix(rows, None, "rbf", 1.0 / 8.0)
    H = np.eye(N_ROWS) - 1.0 / N_ROWS
    ridge = 2 * N_ROWS * method.choice.alpha_rest * np.eye(N_ROWS)
    expected = H @ K @ H @ np.linalg.solve(H @ K @ H + ridge, Y - Y.mean(axis=0))
    predicted = SavedMethod(method.tree).predict(Rows(plan, X))
    np.testing.assert_allclose(predicted, expected + Y.mean(axis=0), rtol=1e-6)
    assert np.isnan(method.test_score)


def test_files_and_arrays_give_the_same_model(tmp_path):
    outputs = Y.copy()
    outputs[[3, 77], 1] = np.nan
    names = [*"abcd", *"xyz"]
    pd.DataFrame(np.hstack([X, outputs]), columns=names).to_parquet(
        tmp_path / "t.parquet", row_group_size=90
    )
    table = open_columns(tmp_path / "t.parquet")
    keys = {"kernels": ["rbf"], "widths": [1.0], "alphas": [1e-4, 1e-3], "n_landmarks": 20, "cv": 3}
    with h5py.File(tmp_path / "t.h5", "w") as file:
        file["X"], file["Y"] = X, outputs
        for n_components in (None, 2):
            model = LandmarkRegressorCV(n_components, **keys).fit(X, outputs)
            assert model.n_rows_ == N_ROWS - 2
            for inputs, targets in (
                (table.columns(list("abcd")), table.columns(list("xyz"))),
                (file["X"], file["Y"]),
            ):
                other = LandmarkRegressorCV(n_components, **keys).fit(inputs, targets)
                assert (other.predict(inputs) == model.predict(X)).all()
                assert other.best_params_ == model.best_params_
        one = LandmarkRegressorCV(**keys).fit(file["X"], file["Y"][:, 0])
        assert one.predict(X[:5]).shape == (5,)


def test_the_choice_learns_and_its_error_is_that_of_new_rows():
    X, Y = problem(3000)
    new = slice(2000, None)
    for n_components in (None, 4):
        model = LandmarkRegressorCV(n_components, n_landmarks=150).fit(X[:2000], Y[:2000])
        assert model.kernel_ in ("rbf", "laplacian")
        errors = np.sqrt(((model.predict(X[new]) - Y[new]) ** 2).mean(axis=0))
        relative = np.mean(errors / Y[new].std(axis=0))
        assert relative == pytest.approx(model.cv_error_, rel=0.1)
        assert relative < 0.5


def test_outputs_without_inputs_move_the_mixture_alone():
    unpaired = Y[:50] + 300
    model = LandmarkRegressorCV(2, n_landmarks=20, alphas=[1e-3]).fit(X, Y, Y_unpaired=unpaired)
    other = LandmarkRegressorCV(2, n_landmarks=20, alphas=[1e-3]).fit(X, Y)
    assert (model.predict(X) != other.predict(X)).any()
    assert (model.landmarks_ == other.landmarks_).all()


@pytest.mark.parametrize("kernel", ["linear", "rbf", "laplacian"])
@pytest.mark.parametrize("width", [1e-6, 1.0])
def test_sums_of_another_device_are_those_of_the_processor(kernel, width, monkeypatch):
    # NumPy stands for a device: torch has the same functions.
    monkeypatch.setattr(streamed_fit, "device_namespace", lambda device: device and (np, "cpu"))
    n_landmarks = 3 if kernel == "linear" else 30
    settings = replace(
        MIXTURE, kernels=(kernel,), widths=(width,), n_landmarks=n_landmarks, center=width == 1.0
    )
    plan = StreamPlan.made(X, Y, settings)
    for blocks in ([range(N_ROWS)], [range(190), range(190, N_ROWS)]):
        ours = added([plan.sums(X, Y, rows) for rows in blocks])
        others = added([plan.sums(X, Y, rows, "cuda") for rows in blocks])
        for fold, expected in enumerate(ours):
            for name, values in vars(expected).items():
                found = getattr(others[fold], name)
                if name == "squares":
                    found, values = np.tril(found), np.tril(values)
                scale = np.abs(values).max() + 1e-300
                np.testing.assert_allclose(found / scale, values / scale, atol=1e-12)


def test_a_device_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="device 'cuda:99'"):
        LandmarkRegressorCV(device="cuda:99").fit(X, Y)
    assert device_namespace(None) is None


def test_rows_without_inputs_teach_the_mixture_alone():
    inputs = X.copy()
    inputs[:60] = np.nan
    outputs = Y.copy()
    outputs[:30] += 300
    for settings in (OUTPUTS, MIXTURE):
        found = fitted(StreamPlan.made(inputs, outputs, settings), X=inputs, Y=outputs)
        expected = fitted(StreamPlan.made(inputs, Y, settings), X=inputs)
        assert found[0].n_rows == N_ROWS - 60
        np.testing.assert_array_equal(found[1].errors, expected[1].errors)
        assert (found[0].test_score == expected[0].test_score) == (settings is OUTPUTS)


def test_faults_name_the_argument(tmp_path):
    infinite = Y.copy()
    infinite[4, 1] = np.inf
    with h5py.File(tmp_path / "rows.h5", "w") as file:
        file["X"], file["Y"] = X, infinite
        cases = {
            r"row 5, column 2": lambda: LandmarkRegressorCV().fit(file["X"], file["Y"]),
            "1 sample": lambda: LandmarkRegressorCV().fit(X[:1], Y[:1]),
            "a mixture|n_components": lambda: LandmarkRegressorCV().fit(X, Y, Y_unpaired=Y),
            "3 columns": lambda: LandmarkRegressorCV(2).fit(X, Y, Y_unpaired=Y[:, :2]),
            "400, 10": lambda: LandmarkRegressorCV().fit(file["X"], file["X"][:10]),
        }
        for message, call in cases.items():
            with pytest.raises(ValueError, match=message):
                call()
