"""The stage of regression with k-support norms, end to end."""

import numpy as np
import pytest
from fit_methods import run_method
from small_data import regression_data
from small_pipeline import Stages

from workflow_lib.core.artifacts import write_artifact
from workflow_lib.fitting.missing_outputs import impute_mean
from workflow_lib.inputs.preparation import fit_preparation
from workflow_lib.measures.metrics import MIN_GAIN, heldout_error
from workflow_lib.methods.contract.method_file import parameters_of
from workflow_lib.papers.blaschko.k_support import NORMS, KSupportRegression
from workflow_lib.papers.blaschko.methods import k_support
from workflow_lib.protocol import output_predictions
from workflow_lib.run.capabilities import unmet

ALPHAS = [1e-3, 0.03, 0.5]
SIZE = 30


def prepared_stages(folder, missing=0.1):
    X, Y = regression_data(60)
    X = np.column_stack([X, np.random.default_rng(2).normal(size=(60, 3)), np.ones(60)])
    Y[np.random.default_rng(3).random(Y.shape) < missing] = np.nan
    return Stages(folder, X, Y, sizes=[SIZE], scale="standard", kernel="linear").prepare()


def item_of(stages, norm, ks):
    grid = {"k": ks, "alpha": ALPHAS}
    tree = run_method("k_support", stages.path, norm=norm, grid=grid, center=True, metric="arrmse")
    (item,) = tree.values()
    return item


@pytest.mark.parametrize("norm", NORMS)
def test_the_best_of_the_grid_and_its_predictions(tmp_path, monkeypatch, norm):
    for name in ("SELECTION_TOLERANCE", "REFIT_TOLERANCE"):
        monkeypatch.setattr(k_support, name, 1e-6)
    stages = prepared_stages(tmp_path)
    item = item_of(stages, norm, [1, 2])
    split = stages.tree("split")
    X, Y = (values[split["train"][:SIZE]] for values in (stages.X, stages.Y))
    folds = split["folds"][f"n-{SIZE}"]
    largest = 3 if norm == "spectral" else 7
    found = {}
    for k in (1, 2):
        heldout = np.empty((len(ALPHAS), *Y.shape))
        for fold in range(4):
            known = folds != fold
            preparation = fit_preparation(X[known], "standard")
            targets = impute_mean(Y, known)[known]
            regression = KSupportRegression(preparation.apply(X[known]), targets, norm)
            alphas = [7.0 * k / largest * alpha for alpha in ALPHAS]
            W, b = regression.path(k, alphas, 1e-6)
            heldout[:, ~known] = preparation.apply(X[~known]) @ W + b[:, None]
        for alpha, predicted in zip(alphas, heldout, strict=True):
            found[k, alpha] = heldout_error(Y, predicted, folds, "arrmse"), predicted
    least = min(error for error, _ in found.values())
    # Without any theta of 1 twice the penalty with twice the k is the same: the first counts.
    k, alpha = next(at for at in found if found[at][0] <= least * (1.0 + MIN_GAIN))
    assert item["k"] == k and item["alpha_rest"] == pytest.approx(alpha)
    curves = item["validation_curves"]
    for each, error in curves["linear"]["k"]:
        assert error == pytest.approx(min(found[at][0] for at in found if at[0] == each), rel=1e-5)
    for index, (penalty, error) in enumerate(curves["linear"]["alpha_rest"]):
        assert penalty == ALPHAS[index]
        relative = {at: at[1] * largest / (7.0 * at[0]) for at in found}
        same = [found[at][0] for at in found if relative[at] == pytest.approx(penalty)]
        assert error == pytest.approx(min(same), rel=1e-5)
    chosen = curves["chosen"]["linear"]
    assert chosen["k"] == [k] and 7.0 * k / largest * chosen["alpha_rest"] == pytest.approx([alpha])
    assert item["score"] == pytest.approx(found[k, alpha][0], abs=1e-4)
    np.testing.assert_allclose(item["heldout_outputs"], found[k, alpha][1], atol=0.01)
    preparation = fit_preparation(X, "standard")
    regression = KSupportRegression(preparation.apply(X), impute_mean(Y), norm)
    (W,), (b,) = regression.path(k, [alpha], 1e-6)
    np.testing.assert_array_equal(item["weights"], W)
    expected = preparation.apply(stages.X[split["test"]]) @ W + b
    np.testing.assert_allclose(item["test_targets"], expected)


@pytest.mark.parametrize("norm", NORMS)
def test_a_k_above_the_largest_is_ridge_regression(tmp_path, capsys, norm):
    stages = prepared_stages(tmp_path)
    item = item_of(stages, norm, [10, 100])
    largest = 3 if norm == "spectral" else 7
    assert item["k"] == largest
    assert f"k = 10, 100 with 30 training rows is above {largest}" in capsys.readouterr().out
    stages.kind, stages.alphas = None, [7.0 * alpha for alpha in ALPHAS]
    (ridge,) = stages.regress().tree("regression").values()
    assert item["alpha_rest"] == pytest.approx(ridge["alpha_rest"])
    for name in ("test_targets", "heldout_outputs", "score"):
        np.testing.assert_allclose(item[name], ridge[name], rtol=1e-8, atol=1e-8)


def test_inputs_that_are_no_columns_of_numbers_are_refused():
    of_scale = parameters_of("k_support").needs_of_data[1]
    for scale in ("tf-idf", "products"):
        assert unmet([of_scale], {"scale": scale, "regressor": "k_support"})
    assert not unmet([of_scale], {"scale": "standard"})


def test_of_classes_the_one_with_the_nearest_vector_is_predicted(tmp_path):
    labels = np.arange(60) % 3
    X = regression_data(60)[0]
    X[:, :2] += 4.0 * np.eye(3)[labels][:, :2]
    stages = Stages(tmp_path, X, np.eye(3)[labels], sizes=[SIZE], scale="standard").prepare()
    classes = {"labels": labels, "vectors": np.eye(3)}
    path, predictions = stages.path("dataset"), stages.path("predictions")
    write_artifact(path, stages.tree("dataset") | {"classes": classes}, "dataset")
    item = item_of(stages, "rows", [1, 2])
    files = stages.path("regression"), predictions, tmp_path / "seconds.json"
    output_predictions.run(*files, dataset=path)
    (predicted,) = stages.tree("predictions").values()
    np.testing.assert_array_equal(predicted["classes"], item["test_targets"].argmax(axis=1))
    assert (predicted["classes"] == labels[stages.tree("split")["test"]]).mean() > 0.8
