"""The stage of ridge regression that couples outputs, end to end."""

import numpy as np
import pytest
from each_case import each_case
from small_data import regression_data
from small_pipeline import Stages, assert_same_tree, without_curves

from workflow_lib.fitting.prepared_inputs import rbf_gamma
from workflow_lib.inputs.preparation import fit_preparation
from workflow_lib.measures.metrics import reference_errors, relative_error
from workflow_lib.papers.blaschko.coupled_outputs import dependence_matrix
from workflow_lib.solvers.gram import gram_matrix
from workflow_lib.solvers.ridge import labelled_ridge

ALPHAS = [1e-4, 1e-2, 0.3, np.inf]
GRIDS = {
    "fitted_rank_ridge": {"rank": [1, 2, 5]},
    "joint_kernel_ridge": {"coupling": [0.0, 0.5, 1.0]},
}


def small_inputs(n_outputs=5, missing=0.0):
    """Return inputs and outputs of two strong directions in different units, some missing."""
    X, Y = regression_data(70, n_clusters=4, spread=2.0)
    generator = np.random.default_rng(3)
    Y = Y[:, :2] @ generator.normal(size=(2, n_outputs))
    Y = (Y + generator.normal(size=Y.shape)) * np.geomspace(0.1, 10.0, n_outputs) + 3.0
    Y[generator.random(Y.shape) < missing] = np.nan
    return X, Y


def run_stage(stages: Stages, regressor: str, grid=None, kernels=None) -> Stages:
    grid = grid or GRIDS[regressor]
    settings = {"regressor": regressor, "dependence": "hsic"}
    return stages.ridge("coupled_ridge", grid=grid, kernels=kernels, **settings)


def stages_of(folder, X, Y, **options):
    settings = {"kind": None, "scale": "standard", "alphas": ALPHAS} | options
    return Stages(folder, X, Y, **settings)


def refit(X, Y, X_new, regressor, width, value, alpha):
    """Return predictions of one fit, by dense systems without eigenbases of the inputs."""
    mean = np.nanmean(Y, axis=0)
    deviations = np.where(np.isnan(Y), 0.0, Y - mean)
    scale = deviations.std(axis=0)
    Z = deviations / scale
    if np.isinf(alpha):
        return np.tile(mean, (len(X_new), 1))
    preparation = fit_preparation(X, "standard")
    rows, gamma = preparation.apply(X), rbf_gamma(width, X.shape[1])
    K, K_new = (
        gram_matrix(rows, gamma=gamma),
        gram_matrix(preparation.apply(X_new), rows, "rbf", gamma),
    )
    H = np.eye(len(X)) - 1.0 / len(X)
    ridge = labelled_ridge(len(X), alpha)
    if regressor == "fitted_rank_ridge":
        A = np.linalg.solve(H @ K @ H + ridge * np.eye(len(X)), Z)
        V = np.linalg.eigh(Z.T @ H @ K @ H @ A)[1][:, ::-1][:, :value]
        A = A @ V @ V.T
    else:
        B = (1.0 - value) * np.eye(Y.shape[1]) + value * dependence_matrix(Z, "hsic")
        system = np.kron(H @ K @ H, B) + ridge * np.eye(Z.size)
        A = np.linalg.solve(system, Z.ravel()).reshape(Z.shape) @ B
    return mean + (K_new - K.mean(axis=0)) @ A * scale


def heldout_loop(X, Y, folds, *point):
    predicted = np.empty_like(Y)
    for fold in range(folds.max() + 1):
        kept, rows = folds != fold, folds == fold
        predicted[rows] = refit(X[kept], Y[kept], X[rows], *point)
    return predicted


@pytest.mark.parametrize("regressor", GRIDS)
@pytest.mark.parametrize(("metric", "missing"), [("arrmse", 0.0), ("rrmse", 0.15)])
def test_choice_and_predictions_equal_those_of_a_plain_loop(tmp_path, regressor, metric, missing):
    X, Y = small_inputs(missing=missing)
    stages = run_stage(stages_of(tmp_path, X, Y, metric=metric, widths=[0.3, 3.0]), regressor)
    split, regression = stages.tree("split"), stages.tree("regression")
    ((key, values),) = GRIDS[regressor].items()
    assert len(regression) == len(stages.sizes)
    for size in stages.sizes:
        rows, folds = split["train"][:size], split["folds"][f"n-{size}"]
        grid = {}
        for width in stages.widths:
            for value in values:
                for alpha in ALPHAS:
                    point = (regressor, width, value, alpha)
                    heldout = heldout_loop(X[rows], Y[rows], folds, *point)
                    errors = np.nansum((Y[rows] - heldout) ** 2, axis=0)
                    score = relative_error(errors, reference_errors(Y[rows], folds), metric)
                    grid[point] = float(score), heldout
        best = min(grid, key=lambda point: grid[point][0])
        item = regression[f"n-{size}_w-0_C-selected"]
        assert (item["width"], item[key], item["alpha_rest"]) == best[1:]
        assert item["score"] == pytest.approx(grid[best][0], rel=1e-9)
        np.testing.assert_allclose(item["heldout_outputs"], grid[best][1], atol=1e-8)
        expected = refit(X[rows], Y[rows], X[split["test"]], *best)
        np.testing.assert_allclose(item["test_targets"], expected, atol=1e-8)


@each_case("grid", [{"rank": [5]}, {"rank": [100]}, {"coupling": [0.0]}])
@each_case("scale", ["none", "standard"])
@each_case("center", [True, False])
def test_full_rank_and_no_coupling_are_kernel_ridge(tmp_path, grid, scale, center):
    X, Y = small_inputs(missing=0.1)
    options = {"scale": scale, "center": center}
    regressor = "fitted_rank_ridge" if "rank" in grid else "joint_kernel_ridge"
    ours = run_stage(stages_of(tmp_path / "coupled", X, Y, **options), regressor, grid)
    ridge = stages_of(tmp_path / "ridge", X, Y, **options).all().tree("regression")
    for name, item in ours.tree("regression").items():
        expected = ridge[name]
        assert item["score"] == pytest.approx(expected["score"], rel=1e-10)
        assert (item["width"], item["alpha_rest"]) == (expected["width"], expected["alpha_rest"])
        for part in ("heldout_outputs", "test_targets"):
            np.testing.assert_allclose(item[part], expected[part], atol=1e-10 * np.nanmax(Y))


def test_kernels_compete_and_the_smallest_of_equal_ranks_is_kept(tmp_path):
    X, Y = small_inputs()
    kernels = ["linear", "rbf", "laplacian"]
    regressor = "fitted_rank_ridge"
    stages = run_stage(stages_of(tmp_path / "a", X, Y), regressor, {"rank": [5, 6, 50]}, kernels)
    again = run_stage(stages_of(tmp_path / "b", X, Y), regressor, {"rank": [5]}, kernels)
    trees = [without_curves(each.tree("regression")) for each in (stages, again)]
    assert_same_tree(*trees)
    assert all(item["kernel"] in kernels for item in again.tree("regression").values())
