"""The stage of kernel canonical correlation analysis, end to end."""

from itertools import product

import numpy as np
import pytest
from fit_methods import predict_outputs, run_method
from small_data import regression_data
from small_pipeline import Stages, assert_same_tree

from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.fitting.prepared_inputs import rbf_gamma
from workflow_lib.inputs.preparation import fit_preparation
from workflow_lib.measures.metrics import heldout_error
from workflow_lib.measures.pearson_correlation import mean_correlation
from workflow_lib.papers.blaschko.canonical_correlation import output_basis, projected_outputs
from workflow_lib.papers.blaschko.coupled_outputs import SpectralRidge
from workflow_lib.papers.blaschko.pairwise_graphs import laplacian_of
from workflow_lib.solvers.gram import gram_matrix
from workflow_lib.solvers.laplacian import deformation, deformed_grams, graph_laplacian

ALPHAS = [1e-4, 1e-2, np.inf]
GRID = {
    "laplacian_weight": [0.0, 0.3],
    "neighbours": [4],
    "output_penalty": [0.0, 0.5, np.inf],
    "output_laplacian_weight": [0.0],
    "n_directions": [1, 2, 9],
    "projection_penalty": [0.0, 1.0],
}


def small_inputs(missing=0.0):
    """Return inputs and outputs in different units, some of the outputs missing."""
    X, Y = regression_data(70, n_clusters=4, spread=2.0)
    Y = Y * np.array([0.1, 1.0, 10.0]) + 3.0
    Y[np.random.default_rng(3).random(Y.shape) < missing] = np.nan
    return X, Y


def run_stage(stages: Stages, criterion="error", unpaired=None, kernels=None, **grid) -> dict:
    """Run the stage and the pre-images after it; return the tree of its artifact."""
    stages.prepare()
    if unpaired is not None:
        split = read_artifact(stages.path("split"), "split")
        write_artifact(stages.path("split"), split | unpaired, "split")
    tree = run_method(
        "canonical_correlation",
        stages.path,
        kernel=stages.kernel,
        kernels=kernels,
        widths=stages.widths,
        alphas=stages.alphas,
        grid=GRID | grid,
        criterion=criterion,
        center=stages.center,
        metric=stages.metric,
        seed=1,
    )
    predict_outputs(stages.path)
    return tree


def stages_of(folder, X, Y, **options):
    settings = {"kind": None, "scale": "standard", "alphas": ALPHAS, "weak_sizes": [8]}
    return Stages(folder, X, Y, **(settings | {"sizes": [20], "widths": [0.5]} | options))


def refit(X, Y, X_unlabelled, X_new, alpha, weight, penalty, k, share):
    """Return predictions of one fit."""
    mean = np.nanmean(Y, axis=0)
    Z = np.where(np.isnan(Y), 0.0, Y - mean)
    scale = Z.std(axis=0)
    preparation = fit_preparation(X, "standard")
    rows = preparation.apply(np.vstack([X, X_unlabelled]))
    gamma = rbf_gamma(0.5, X.shape[1])
    K, K_new = (gram_matrix(each, rows, "rbf", gamma) for each in (rows, preparation.apply(X_new)))
    gram, gram_new = deformed_grams(
        K, K_new, deformation(graph_laplacian(K, 4) @ K, weight, len(X))
    )
    couple = projected_outputs([output_basis(Z / scale, penalty)], [k], [share])
    ((predicted,),) = SpectralRidge(gram, Z / scale).predict(gram_new, [alpha], couple)
    return mean + predicted * scale


@pytest.mark.parametrize("criterion", ["error", "correlation"])
@pytest.mark.parametrize(("metric", "missing"), [("arrmse", 0.0), ("rrmse", 0.15)])
def test_choice_and_predictions_equal_those_of_a_plain_loop(tmp_path, criterion, metric, missing):
    X, Y = small_inputs(missing)
    stages = stages_of(tmp_path, X, Y, metric=metric)
    tree = run_stage(stages, criterion)
    split = stages.tree("split")
    rows, folds = split["train"], split["folds"]["n-20"]
    names = ("alpha_rest", *(name for name in GRID if name not in NOT_IN_LOOP))
    assert {item["weak_size"] for item in tree.values()} == {0, 8}
    for item in tree.values():
        X_unlabelled = X[split["weak"][: item["weak_size"]]]
        scores, heldouts = {}, {}
        for point in product(ALPHAS, *(GRID[name] for name in names[1:])):
            heldout, correlations = np.empty((20, 3)), []
            for fold in range(folds.max() + 1):
                kept, out = rows[folds != fold], rows[folds == fold]
                predicted = refit(X[kept], Y[kept], X_unlabelled, X[out], *point)
                heldout[folds == fold] = predicted
                correlations.append(mean_correlation(Y[out], predicted))
            error = heldout_error(Y[rows], heldout, folds, metric)
            scores[point] = error if criterion == "error" else 1.0 - np.mean(correlations)
            heldouts[point] = heldout
        chosen = tuple(item[name] for name in names)
        assert scores[chosen] == pytest.approx(min(scores.values()), rel=1e-8)
        np.testing.assert_allclose(item["heldout_outputs"], heldouts[chosen], atol=1e-7)
        error = heldout_error(Y[rows], item["heldout_outputs"], folds, metric)
        assert item["score"] == pytest.approx(error)
        expected = refit(X[rows], Y[rows], X_unlabelled, X[split["test"]], *chosen)
        np.testing.assert_allclose(item["test_targets"], expected, atol=1e-7)


NOT_IN_LOOP = ("neighbours", "output_laplacian_weight")


def test_weight_zero_needs_no_unlabelled_inputs(tmp_path):
    X, Y = small_inputs()
    stages = stages_of(tmp_path / "both", X, Y)
    with_weights = run_stage(stages, laplacian_weight=[0.0, 1e-12])
    plain = run_stage(stages_of(tmp_path / "plain", X, Y), laplacian_weight=[0.0])
    ((_, expected),) = plain.items()
    for item in with_weights.values():
        # Of equal points the first is kept: the weight 0.
        assert item["laplacian_weight"] == 0.0
        for name in ("test_targets", "heldout_outputs", "score", "dual_coefficients"):
            np.testing.assert_array_equal(item[name], expected[name])


@pytest.mark.parametrize("criterion", ["error", "permutation"])
def test_weights_are_in_units_of_the_kernel_like_penalties(tmp_path, criterion):
    X, Y = small_inputs()
    values = {"alphas": [0.01], "kernel": "linear"}
    settings = {"laplacian_weight": [0.3], "n_directions": [3], "projection_penalty": [1.0]}
    relative = run_stage(
        stages_of(tmp_path, X, Y, **values), criterion, kernels=["linear"], **settings
    )
    n_columns = X.shape[1]
    values["alphas"] = [0.01 * n_columns]
    settings["laplacian_weight"] = [0.3 / n_columns]
    absolute = run_stage(stages_of(tmp_path / "absolute", X, Y, **values), criterion, **settings)
    for name, item in relative.items():
        assert item["laplacian_weight"] == 0.3 / n_columns
        np.testing.assert_array_equal(item["test_targets"], absolute[name]["test_targets"])


def test_permuted_rows_choose_the_penalties(tmp_path):
    X, Y = small_inputs()
    stages = stages_of(tmp_path, X, Y, kernel="rbf")
    tree = run_stage(stages, "permutation")
    names = ("alpha_rest", "laplacian_weight", "output_penalty")
    for item in tree.values():
        point = {name: [item[name]] for name in names[1:]}
        # Given these, the folds choose the rest by the error.
        again = stages_of(tmp_path / f"w-{item['weak_size']}", X, Y, alphas=[item["alpha_rest"]])
        same = (
            run_stage(again, **point)[f"n-20_w-{item['weak_size']}_C-selected"]
            if item["laplacian_weight"]
            else next(iter(run_stage(again, **point).values()))
        )
        for name in ("n_directions", "projection_penalty", "score", "test_targets"):
            np.testing.assert_array_equal(item[name], same[name])
        assert np.isfinite(item["alpha_rest"])


def test_outputs_without_inputs_change_the_graph_of_the_outputs_only(tmp_path):
    X, Y = small_inputs()
    settings = {"output_penalty": [0.5], "output_laplacian_weight": [3.0], "n_directions": [1]}
    unpaired = {"unpaired_sizes": np.array([15])}
    for weight in (0.0, 3.0):
        settings["output_laplacian_weight"] = [weight]
        trees = []
        for number in range(2):
            stages = stages_of(tmp_path / f"{weight}-{number}", X, Y.copy())
            weak = stages.prepare().tree("split")["weak"]
            stages.Y[weak[-15:]] *= -3.0 * number + 1.0
            trees.append(
                run_stage(stages, unpaired=unpaired | {"unpaired": weak[-15:]}, **settings)
            )
        if weight:
            for name, item in trees[0].items():
                assert np.abs(item["test_targets"] - trees[1][name]["test_targets"]).max() > 1e-3
        else:
            assert_same_tree(*trees)


def test_infinite_penalty_predicts_the_training_mean(tmp_path):
    X, Y = small_inputs()
    stages = stages_of(tmp_path, X, Y, alphas=[np.inf])
    for item in run_stage(stages).values():
        assert item["score"] == pytest.approx(1.0)
        mean = Y[stages.tree("split")["train"]].mean(axis=0)
        np.testing.assert_allclose(item["test_targets"], np.tile(mean, (12, 1)), atol=1e-12)


def test_an_infinite_penalty_of_the_outputs_may_be_chosen(tmp_path):
    stages = stages_of(tmp_path, *small_inputs())
    for item in run_stage(stages, output_penalty=[np.inf]).values():
        assert np.isinf(item["output_penalty"])
    for item in stages.tree("predictions").values():
        assert np.isinf(item["output_penalty"])


def test_outputs_of_test_and_unlabelled_rows_change_no_permutation(tmp_path):
    X, Y = small_inputs(missing=0.1)
    first = stages_of(tmp_path / "first", X, Y.copy())
    tree = run_stage(first, "permutation")
    split = first.tree("split")
    Y[split["test"]], Y[split["weak"]] = 100.0, -100.0
    assert_same_tree(tree, run_stage(stages_of(tmp_path / "second", X, Y), "permutation"))


@pytest.mark.parametrize("neighbours", [0, 3])
def test_graph_of_a_fold_holds_its_training_and_the_unlabelled_rows_only(
    tmp_path, monkeypatch, neighbours
):
    sizes = set()

    def spy(K, n_neighbours):
        sizes.add((len(K), n_neighbours))
        return laplacian_of(K, n_neighbours)

    monkeypatch.setattr(
        "workflow_lib.papers.blaschko.methods.canonical_correlation.laplacian_of", spy
    )
    settings = {"laplacian_weight": [0.3], "neighbours": [neighbours]}
    run_stage(stages_of(tmp_path, *small_inputs()), **settings)
    # Four folds hold out five of twenty rows each; the refit has them all.
    assert sizes == {(size, neighbours) for size in (15, 15 + 8, 20, 20 + 8)}


@pytest.mark.parametrize("kernel", ["tanimoto", "precomputed"])
def test_other_kernels(tmp_path, kernel):
    X, Y = small_inputs()
    X = gram_matrix(X, kernel="linear") if kernel == "precomputed" else np.abs(X)
    for item in run_stage(stages_of(tmp_path, X, Y, kernel=kernel, scale="none")).values():
        assert "width" not in item
        assert np.isfinite(item["test_targets"]).all()
