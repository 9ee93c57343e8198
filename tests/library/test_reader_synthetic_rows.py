"""The table of many rows: its recipe follows its equations, within the expected memory."""

import json
import tracemalloc

import numpy as np
import pytest

from workflow_lib.data.readers.synthetic_rows import BLOCK_ROWS
from workflow_lib.data.reading import read_dataset
from workflow_lib.solvers.gram import gram_matrix


def rows(seed: int = 0, **options) -> dict:
    return read_dataset("synthetic_rows", options, [], seed)


@pytest.fixture(scope="module")
def table() -> dict:
    """Rows enough that sample moments are near those of the population."""
    return rows(seed=3, n_rows=20_000)


def best_predictions(tree: dict) -> tuple[np.ndarray, np.ndarray]:
    """Return p(c | z) (n, C) and E[y | z] (n, d), which know the latent position of every row."""
    truth = tree["truth"]
    latent, centres = truth["latent"], truth["centres"]
    distances = ((latent[:, None] - centres) ** 2).sum(axis=2)
    chances = np.exp(-(distances - distances.min(axis=1, keepdims=True)) / 2.0)
    chances /= chances.sum(axis=1, keepdims=True)
    outputs = 0.0
    for index, (mean, directions) in enumerate(zip(truth["means"], truth["directions"])):
        inside = mean + (latent - centres[index]) @ directions.T
        outputs = outputs + chances[:, [index]] * inside
    return chances, outputs


def kernel_ridge_predictions(X, T, X_test, width=3.0, alpha=1e-4) -> np.ndarray:
    """Return the predictions of kernel ridge regression with an intercept for `X_test`."""
    gamma = width / (2 * X.shape[1])
    ridge = 2 * len(X) * alpha
    solved = np.linalg.solve(
        gram_matrix(X, None, "rbf", gamma) + ridge * np.eye(len(X)), T - T.mean(axis=0)
    )
    return gram_matrix(X_test, X, "rbf", gamma) @ solved + T.mean(axis=0)


def largest_share_recognised(tree: dict) -> float:
    """Return the largest share of components that can be predicted from latent positions."""
    chances, _ = best_predictions(tree)
    return (chances.argmax(axis=1) == tree["truth"]["component"]).mean()


def relative_error(outputs, predictions) -> float:
    squares = ((outputs - predictions) ** 2).sum(axis=0)
    return float(np.sqrt(squares / ((outputs - outputs.mean(axis=0)) ** 2).sum(axis=0)).mean())


def test_shapes_and_names():
    tree = rows(n_rows=7, n_inputs=3, n_outputs=2, n_components=4, latent_dimension=5)
    assert (tree["inputs"].shape, tree["outputs"].shape) == ((7, 3), (7, 2))
    assert json.loads(tree["names"]["inputs"]) == ["x_1", "x_2", "x_3"]
    assert json.loads(tree["names"]["outputs"]) == ["y_1", "y_2"]
    truth = tree["truth"]
    assert truth["means"].shape == (4, 2)
    assert truth["directions"].shape == (4, 2, 5)
    assert truth["centres"].shape == (4, 5)
    assert (truth["component"].shape, truth["latent"].shape) == ((7,), (7, 5))
    np.testing.assert_array_equal(truth["weights"], np.full(4, 0.25))
    assert tree["report"]["latent_dimension"] == 5


@pytest.mark.parametrize("fewer", [2, BLOCK_ROWS, BLOCK_ROWS + 1])
def test_more_rows_change_none_of_the_first(fewer):
    many, few = rows(n_rows=2 * BLOCK_ROWS + 5), rows(n_rows=fewer)
    for name in ("inputs", "outputs"):
        np.testing.assert_array_equal(few[name], many[name][:fewer])
    np.testing.assert_array_equal(few["truth"]["component"], many["truth"]["component"][:fewer])
    # No row comes twice.
    assert len(np.unique(many["inputs"][:, 0])) == len(many["inputs"])


def test_memory_grows_with_the_rows_only():
    sizes = np.array([10_000, 30_000])
    peaks = []
    for size in sizes:
        tracemalloc.start()
        rows(n_rows=int(size))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    tables = 8 * 120 * sizes
    assert peaks[1] - peaks[0] < 1.5 * (tables[1] - tables[0])


@pytest.mark.parametrize("name", ["inputs", "outputs"])
def test_means_are_0_and_the_mean_variance_is_1(table, name):
    values = table[name]
    np.testing.assert_allclose(values.mean(axis=0), 0.0, atol=6.0 / np.sqrt(len(values)))
    assert values.var(axis=0).mean() == pytest.approx(1.0, rel=0.02)


@pytest.mark.parametrize(("n_components", "latent_dimension"), [(1, 1), (1, 4), (20, 2)])
def test_the_units_do_not_depend_on_the_options(n_components, latent_dimension):
    options = {"n_components": n_components, "latent_dimension": latent_dimension}
    tree = rows(4, n_rows=20_000, noise=0.6, input_noise=0.4, **options)
    for name in ("inputs", "outputs"):
        assert tree[name].var(axis=0).mean() == pytest.approx(1.0, rel=0.03)


def test_outputs_are_a_mixture_whose_components_have_few_directions(table):
    truth = table["truth"]
    counts = np.bincount(truth["component"], minlength=10)
    np.testing.assert_allclose(counts, len(table["outputs"]) / 10, rtol=0.1)
    for index, directions in enumerate(truth["directions"]):
        outputs = table["outputs"][truth["component"] == index]
        variances = np.linalg.eigvalsh(np.cov(outputs.T))
        model = directions @ directions.T + 0.25**2 * np.eye(60)
        np.testing.assert_allclose(variances[-4:], np.linalg.eigvalsh(model)[-4:], rtol=0.15)
        # The other 56 directions are noise.
        assert variances[:-4].mean() == pytest.approx(0.25**2, rel=0.05)
        tolerance = 6 * np.sqrt(np.diag(model) / len(outputs))
        assert (np.abs(outputs.mean(axis=0) - truth["means"][index]) < tolerance).all()


def test_latent_positions_are_normal_around_the_centre_of_their_component(table):
    truth = table["truth"]
    location = truth["latent"] - truth["centres"][truth["component"]]
    np.testing.assert_allclose(location.mean(axis=0), 0.0, atol=0.05)
    np.testing.assert_allclose(np.cov(location.T), np.eye(4), atol=0.05)


def test_outputs_are_best_predicted_by_the_formula(table):
    _, predicted = best_predictions(table)
    residuals = table["outputs"] - predicted
    # E[y | z] leaves residuals that no function of z explains: here, that it does not itself.
    slopes = (residuals * predicted).sum(axis=0) / (predicted**2).sum(axis=0)
    np.testing.assert_allclose(slopes, 0.0, atol=0.05)
    assert 0.3 < relative_error(table["outputs"], predicted) < 0.8


@pytest.mark.parametrize(
    ("name", "option", "noise"), [("inputs", "input_noise", 0.1), ("outputs", "noise", 0.25)]
)
def test_noise_is_the_stated_share_of_every_column(table, name, option, noise):
    exact = rows(seed=3, n_rows=20_000, **{option: 0.0})[name]
    residuals = table[name] - np.sqrt(1.0 - noise**2) * exact
    np.testing.assert_allclose(residuals.std(axis=0), noise, rtol=0.03)
    correlations = (residuals * exact).mean(axis=0) / (noise * exact.std(axis=0))
    np.testing.assert_allclose(correlations, 0.0, atol=0.04)


def test_inputs_lie_on_a_curved_surface_of_the_latent_dimension():
    inputs = rows(seed=3, n_rows=20_000, latent_dimension=2, input_noise=0.0)["inputs"]
    shares = []
    for row in inputs[:20]:
        near = inputs[((inputs - row) ** 2).sum(axis=1).argsort()[:50]]
        variances = np.linalg.svd(near - near.mean(axis=0), compute_uv=False) ** 2
        shares.append(variances[:2].sum() / variances.sum())
    assert np.median(shares) > 0.99
    variances = np.linalg.eigvalsh(np.cov(inputs.T))
    assert variances[-2:].sum() < 0.9 * variances.sum()


@pytest.mark.parametrize("seed", range(4))
def test_components_overlap(seed):
    assert 0.7 < largest_share_recognised(rows(seed, n_rows=4000)) < 0.97


def test_more_rows_improve_kernel_ridge_regression(table):
    X, Y = table["inputs"], table["outputs"]
    test, truth = X[-2000:], Y[-2000:]
    _, best = best_predictions(table)
    errors = [
        relative_error(truth, kernel_ridge_predictions(X[:size], Y[:size], test))
        for size in (200, 800, 2400)
    ]
    assert errors[1] < 0.95 * errors[0]
    assert errors[2] < 0.98 * errors[1]
    # And still more rows would improve it further.
    assert errors[2] > 1.03 * relative_error(truth, best[-2000:])
