"""Lists of kernels: relative penalties, extension beyond edges, and the report of edges."""

import math
from dataclasses import replace

import numpy as np
import pytest
from fit_methods import run_method
from scipy.spatial.distance import cdist
from small_data import regression_data
from small_pipeline import Stages

from workflow_lib.fitting import prepared_inputs as module_of_inputs
from workflow_lib.fitting.input_kernels import InputKernel, KernelGrid, alpha_unit
from workflow_lib.fitting.prepared_inputs import kernel_gamma, prepared_inputs
from workflow_lib.fitting.selection import Choice
from workflow_lib.inputs.preparation import fit_preparation
from workflow_lib.solvers.gram import gram_matrix
from workflow_lib.solvers.kernel_ridge import KernelRidgeRegressor

NAMES = ("linear", "rbf", "laplacian")
WIDTHS = (0.01, 1.0)
ALPHAS = (1e-3, 1e-1, math.inf)


def choice(kernel, alpha_rest, alpha_leading=math.nan):
    return Choice(kernel, None, alpha_leading, alpha_rest, math.nan, False, 0.5, np.zeros((1, 1)))


def grid(names=NAMES, widths=WIDTHS, alphas=ALPHAS, is_relative=True):
    return KernelGrid(names, widths, alphas, n_columns=7, is_relative=is_relative)


def test_every_kernel_takes_its_widths_and_penalties_relative_to_its_size():
    found = grid().all()
    assert list(found) == [
        InputKernel("linear"),
        *(InputKernel(name, width) for name in ("rbf", "laplacian") for width in WIDTHS),
    ]
    assert found[InputKernel("linear")] == pytest.approx([7e-3, 7e-1, math.inf])
    assert found[InputKernel("rbf", 0.01)] == [1e-5, 1e-3, math.inf]
    assert found[InputKernel("laplacian", 1.0)] == list(ALPHAS)
    assert grid(is_relative=False).all()[InputKernel("linear")] == list(ALPHAS)


def test_smooth_rbf_kernels_are_linear_ones_with_the_same_relative_penalty():
    X, Y = regression_data(40)
    X = fit_preparation(X, "standard").apply(X)
    new = X[:5] + 0.3
    predictions = []
    for kernel in (InputKernel("linear"), InputKernel("rbf", 1e-7)):
        gamma = kernel_gamma(*kernel, X.shape[1])
        alpha = 0.01 * alpha_unit(kernel, X.shape[1])
        model = KernelRidgeRegressor(kernel.name, gamma, alpha).fit(X, Y)
        predictions.append(model.predict(new))
    np.testing.assert_allclose(*predictions, rtol=1e-4, atol=1e-4)


def test_laplacian_kernel_is_its_formula():
    generator = np.random.default_rng(0)
    X, Z = generator.normal(size=(5, 3)), generator.normal(size=(4, 3))
    expected = np.exp(-0.7 * cdist(X, Z, "cityblock"))
    np.testing.assert_allclose(gram_matrix(X, Z, "laplacian", 0.7), expected, rtol=1e-15)
    K = gram_matrix(X, None, "laplacian", 0.7)
    np.testing.assert_array_equal(K, K.T)
    with pytest.raises(ValueError, match="gamma must be positive"):
        gram_matrix(X, None, "laplacian", 0.0)


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (choice(InputKernel("rbf", 0.01), math.inf), [0.001, 0.01 / 10**0.5]),
        (choice(InputKernel("rbf", 1.0), math.inf), [10**0.5, 10.0]),
        (choice(InputKernel("linear"), math.inf), []),
    ],
)
def test_widths_are_extended_beyond_the_edge(chosen, expected):
    found = grid().extended([chosen])
    assert sorted(kernel.width for kernel in found) == pytest.approx(expected)
    for kernel, alphas in found.items():
        unit = alpha_unit(kernel, 7)
        assert alphas == pytest.approx(sorted(value * unit for value in ALPHAS))


def test_penalties_are_extended_beyond_the_edge_for_their_kernel():
    kernel = InputKernel("linear")
    found = grid().extended([choice(kernel, 7e-3)])
    lower = [7e-3 / 10, 7e-3 / 10**0.5]
    assert found == {kernel: pytest.approx([*lower, 7e-3, 7e-1, math.inf])}
    # The largest finite penalty lies between others where an infinite one is in the grid.
    assert grid().extended([choice(kernel, 7 * ALPHAS[1])]) == {}
    found = grid(alphas=ALPHAS[:2]).extended([choice(kernel, 7 * ALPHAS[1])])
    assert max(found[kernel]) == pytest.approx(7)


@pytest.mark.parametrize(
    ("best", "n_rows", "expected"),
    [(3.2e-6, 50, 3.2e-6), (1e-12, 50, 1e-8), (1e-12, 2000, 1e-6), (1e-2, 50, 1e-3)],
)
def test_smaller_penalties_follow_while_the_smallest_is_chosen(best, n_rows, expected):
    """Down to one at which held-out predictions could lose digits."""
    kernel, unit = InputKernel("linear"), 7.0
    searched = KernelGrid(NAMES[:1], WIDTHS, ALPHAS, 7, is_relative=True, n_rows=n_rows)

    def select(alphas):
        nearest = min(alphas[kernel], key=lambda alpha: abs(math.log(alpha / unit / best)))
        error = 0.1 + abs(math.log(nearest / unit / best))
        return {None: replace(choice(kernel, nearest), score=error)}

    found, extension = searched.search(select, extends=True)
    assert found[None].alpha_rest / unit == pytest.approx(expected, rel=0.02)
    assert ("lowest" in searched.edges_of(found[None], extension)) == (best == 1e-12)
    assert searched.search(select, extends=False)[0][None].alpha_rest >= 7e-3


def test_edges_are_reported_after_the_extension():
    smallest = choice(InputKernel("rbf", 0.01), 1e-5)
    assert grid().edges_of(smallest, {}) == "lowest width, lowest alpha"
    extension = grid().extended([smallest])
    assert grid().edges_of(smallest, extension) == ""
    beyond = min(extension, key=lambda kernel: kernel.width)
    edges = grid().edges_of(choice(beyond, max(extension[beyond])), extension)
    assert edges == "lowest width"
    # What is given as a single value was not chosen.
    single = grid(widths=[1.0], alphas=[0.1])
    assert single.edges_of(choice(InputKernel("rbf", 1.0), 0.1), {}) == ""
    assert single.extended([choice(InputKernel("rbf", 1.0), 0.1)]) == {}


def linear_problem(tmp_path):
    """Outputs that are linear in the inputs, which narrow kernels cannot follow."""
    generator = np.random.default_rng(5)
    X = generator.normal(size=(70, 6))
    Y = X @ generator.normal(size=(6, 3)) + 0.1 * generator.normal(size=(70, 3))
    return Stages(tmp_path, X, Y, kind=None, scale="standard", sizes=[20, 40]).prepare()


def run_stage(stages, kernels, widths):
    settings = {"kernels": kernels, "widths": widths, "alphas": list(ALPHAS)}
    run_method("kernel_ridge", stages.path, **stages.arguments() | settings)
    return stages.tree("regression")


@pytest.mark.parametrize("most_kept", [0, 2**20])
def test_widths_of_a_laplacian_kernel_share_distances(tmp_path, monkeypatch, most_kept):
    """Their Gram matrices are identical, whether distances are kept in memory or not."""
    monkeypatch.setattr(module_of_inputs, "MAX_NUMBERS_KEPT", most_kept)
    stages = linear_problem(tmp_path)
    size = 20
    folds = stages.tree("split")["folds"][f"n-{size}"]
    inputs = prepared_inputs(stages.tree("features"), folds, size)
    found, computed = [], module_of_inputs.absolute_distances
    monkeypatch.setattr(
        module_of_inputs, "absolute_distances", lambda *rows: found.append(1) or computed(*rows)
    )
    for width in WIDTHS:
        grams = list(inputs.fold_grams("laplacian", width))
        for (K, K_heldout), (rows, others) in zip(grams, inputs.fold_rows(), strict=True):
            gamma = kernel_gamma("laplacian", width, rows.shape[1])
            np.testing.assert_array_equal(K, gram_matrix(rows, None, "laplacian", gamma))
            np.testing.assert_array_equal(K_heldout, gram_matrix(others, rows, "laplacian", gamma))
        rows, test = inputs.refit_rows()
        np.testing.assert_array_equal(
            inputs.test_gram("laplacian", width), gram_matrix(test, rows, "laplacian", gamma)
        )
    every = 2 * len(grams) + 1
    assert len(found) == (every if most_kept else every * len(WIDTHS))


def test_the_stage_chooses_the_kernel_and_repeats_its_predictions(tmp_path):
    stages = linear_problem(tmp_path)
    split = stages.tree("split")
    for item in run_stage(stages, NAMES, [1.0, 10.0]).values():
        size = int(item["training_size"])
        assert item["kernel"] == "linear"
        rows, folds = split["train"][:size], split["folds"][f"n-{size}"]
        inputs = prepared_inputs(stages.tree("features"), folds, size)
        X, X_test = inputs.refit_rows()
        model = KernelRidgeRegressor("linear", alpha=item["alpha_rest"]).fit(X, stages.Y[rows])
        np.testing.assert_allclose(item["test_targets"], model.predict(X_test), atol=1e-9)


def test_the_stage_extends_a_grid_of_widths_that_are_too_narrow(tmp_path, capsys):
    stages = linear_problem(tmp_path)
    for item in run_stage(stages, ["rbf"], [1.0, 10.0]).values():
        assert item["width"] < 1.0
        assert "lowest width" in item["edges"]
    assert "edges lowest width" in capsys.readouterr().out
