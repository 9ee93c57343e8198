"""The stage of least squares on lagged values equals scikit-learn's regression."""

import numpy as np
import pytest
from fit_methods import predict_outputs, run_method
from sklearn.linear_model import LinearRegression
from small_data import regression_data
from small_folds import heldout, score_of
from small_pipeline import assert_same_tree

from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.methods.least_squares import least_squares
from workflow_lib.protocol import features_stage, splitting

SIZES = [20, 30]


def small_data():
    """Return inputs (70, 4), outputs (70, 3) and lagged values (70, 2) they follow."""
    X, Y = regression_data(70)
    generator = np.random.default_rng(5)
    lagged_values = Y @ generator.normal(size=(3, 2)) + generator.normal(size=(70, 2))
    return X, Y, lagged_values * [1.0, 100.0] + 30.0


def run_stages(folder, X, Y, lagged, lagged_values="separate", metric="arrmse", weights=None):
    """Run all stages of the method; return the trees of its artifacts by name."""
    paths = {
        name: folder / f"{name}.h5"
        for name in ("dataset", "split", "features", "regression", "predictions")
    }
    tree = {"inputs": X, "outputs": Y, "names": {"series_channels": 1}}
    tree |= {"lagged_values": {"values": lagged}}
    write_artifact(paths["dataset"], tree, "dataset", allow_nan=("outputs",))
    source = (paths["dataset"], paths["split"])
    splitting.run(*source, SIZES, [], test_size=12, n_folds=4, seed=7, experiment="small")
    if weights is not None:
        split = read_artifact(paths["split"], "split") | {"row_weights": weights}
        write_artifact(paths["split"], split, "split")
    features_stage.run(*source, paths["features"], "standard", "rbf", lagged_values)
    run_method("least_squares", paths.get, metric=metric)
    predict_outputs(paths.get)
    return {name: read_artifact(path, name) for name, path in paths.items()}


def filled(Y):
    """Return outputs, missing ones as the means of these rows."""
    return np.where(np.isnan(Y), np.nanmean(Y, axis=0), Y)


@pytest.mark.parametrize(
    ("lagged_values", "missing"), [("separate", 0.0), ("added", 0.0), ("separate", 0.2)]
)
@pytest.mark.parametrize("metric", ["arrmse", "rrmse"])
def test_predictions_and_score_equal_those_of_scikit_learn(
    tmp_path, lagged_values, missing, metric
):
    X, Y, values = small_data()
    Y[np.random.default_rng(6).random(Y.shape) < missing] = np.nan
    trees = run_stages(tmp_path, X, Y, values, lagged_values, metric)
    split = trees["split"]
    for size in SIZES:
        rows, folds = split["train"][:size], split["folds"][f"n-{size}"]
        item = trees["regression"][f"n-{size}_w-0_C-selected"]
        model = LinearRegression().fit(values[rows], filled(Y[rows]))
        np.testing.assert_allclose(item["coefficients"], model.coef_.T, rtol=1e-9)
        np.testing.assert_allclose(item["intercept"], model.intercept_, rtol=1e-9)
        expected = model.predict(values[split["test"]])
        np.testing.assert_allclose(item["test_targets"], expected, rtol=1e-9)
        # Missing outputs take the mean of the rows that a fold trains on.
        known = heldout(
            lambda X, Y, X_new: LinearRegression().fit(X, filled(Y)).predict(X_new),
            *(values[rows], Y[rows], folds),
        )
        np.testing.assert_allclose(item["heldout_outputs"], known, rtol=1e-9)
        score = score_of(Y[rows], known, folds, metric)
        assert item["score"] == pytest.approx(score, rel=1e-9)
        assert missing or item["score"] < 0.95


def test_inputs_change_nothing(tmp_path):
    X, Y, values = small_data()
    first = run_stages(tmp_path / "first", X, Y, values)
    second = run_stages(tmp_path / "second", -X, Y, values)
    assert_same_tree(first["regression"], second["regression"])


def test_features_without_lagged_values_are_reported(tmp_path):
    with pytest.raises(UserError, match="no lagged values") as caught:
        run_stages(tmp_path, *small_data(), lagged_values="none")
    assert caught.value.location == str(tmp_path / "features.h5")
    assert "inputs.lagged_values: separate or added" in caught.value.remedy
    assert not (tmp_path / "regression.h5").exists()
    X, Y, _ = small_data()
    with pytest.raises(UserError, match="no lagged values"):
        run_stages(tmp_path, X, Y, np.empty((70, 0)))


# Least squares.


def test_the_solution_of_least_norm_is_taken():
    generator = np.random.default_rng(0)
    P, Y = generator.normal(size=(20, 2)), generator.normal(size=(20, 3))
    single, intercept = least_squares(P, Y)
    repeated, same_intercept = least_squares(P[:, [0, 1, 1]], Y)
    np.testing.assert_allclose(repeated, single[[0, 1, 1]] * [[1], [0.5], [0.5]], atol=1e-12)
    np.testing.assert_allclose(same_intercept, intercept, atol=1e-12)
    # More values than rows: every training row is fitted exactly.
    wide = generator.normal(size=(20, 50))
    coefficients, intercept = least_squares(wide, Y)
    np.testing.assert_allclose(wide @ coefficients + intercept, Y, atol=1e-10)


def test_constant_values_count_for_nothing():
    generator = np.random.default_rng(0)
    P, Y = generator.normal(size=(20, 2)), generator.normal(size=(20, 3)) + 100.0
    expected, intercept = least_squares(P, Y)
    coefficients, same_intercept = least_squares(np.column_stack([P, np.full(20, 0.1)]), Y)
    np.testing.assert_allclose(coefficients, np.vstack([expected, np.zeros((1, 3))]), atol=1e-12)
    np.testing.assert_allclose(same_intercept, intercept, rtol=1e-12)
    coefficients, intercept = least_squares(np.full((20, 1), 0.1), Y)
    np.testing.assert_array_equal(coefficients, 0.0)
    np.testing.assert_allclose(intercept, Y.mean(axis=0))


def test_missing_outputs_take_weighted_means_in_selection_as_in_the_fit(tmp_path):
    X, Y, values = small_data()
    generator = np.random.default_rng(6)
    Y[generator.random(Y.shape) < 0.2] = np.nan
    weights = generator.uniform(0.1, 10.0, size=max(SIZES))
    trees = run_stages(tmp_path, X, Y, values, weights=weights)
    rows, folds = trees["split"]["train"], trees["split"]["folds"][f"n-{max(SIZES)}"]

    def predict(values, outputs_and_weights, new):
        Y, weights = outputs_and_weights[:, :-1], outputs_and_weights[:, -1:]
        means = np.nansum(weights * Y, axis=0) / (weights * ~np.isnan(Y)).sum(axis=0)
        filled_outputs = np.where(np.isnan(Y), means, Y)
        return LinearRegression().fit(values, filled_outputs).predict(new)

    known = np.column_stack([Y[rows], weights])
    item = trees["regression"][f"n-{max(SIZES)}_w-0_C-selected"]
    expected = score_of(Y[rows], heldout(predict, values[rows], known, folds), folds, "arrmse")
    assert item["score"] == pytest.approx(expected, rel=1e-9)
    fitted = predict(values[rows], known, values[trees["split"]["test"]])
    np.testing.assert_allclose(item["test_targets"], fitted, rtol=1e-9)
