"""Back-translation: what is drawn, what is solved, and what a fold may see."""

import numpy as np
import pytest
from test_methods_contract import SETTINGS, data_for, run

from workflow_lib.core.artifacts import write_artifact
from workflow_lib.fitting.fit_data import FitData, SplitData
from workflow_lib.fitting.fit_spec import FitSpec
from workflow_lib.fitting.input_kernels import InputKernel
from workflow_lib.fitting.kernel_ridge_fit import ridge_of_outputs
from workflow_lib.methods.back_translation import Fitted, Method
from workflow_lib.methods.contract.base import Selection
from workflow_lib.protocol import features_stage
from workflow_lib.solvers.back_translation import JointRidge, drawn_inputs
from workflow_lib.solvers.gram import gram_matrix
from workflow_lib.solvers.ridge import fit_dual_coefficients, labelled_ridge

NAME = "back_translation"
KERNEL, ALPHA, WEIGHTS = InputKernel("rbf", 1.0), 1e-3, [0.1, 1.0]


@pytest.fixture(scope="module")
def problem():
    """Return inputs and outputs of 12 labelled and 30 further rows."""
    random = np.random.default_rng(0)
    return random.normal(size=(42, 4)), random.normal(size=(42, 3)) + 5.0


def joint(problem, center: bool) -> tuple:
    """Return K (12, 12), P (30, 12), the outputs of both kinds of rows, and the regression."""
    inputs, outputs = problem
    K = gram_matrix(inputs[:12], None, "rbf", 0.2)
    P = gram_matrix(inputs[12:], inputs[:12], "rbf", 0.2)
    parts = K, P, outputs[:12], outputs[12:]
    return *parts, JointRidge(K, parts[2], P, parts[3], center)


@pytest.mark.parametrize("center", [True, False])
def test_the_solution_satisfies_its_normal_equations(problem, center):
    K, P, known, further, ridge = joint(problem, center)
    for alpha, weight in ((1e-3, 0.1), (0.1, 3.0)):
        dual, intercept = ridge.solve(alpha, weight)
        residuals = known - K @ dual - intercept
        others = weight * (further - P @ dual - intercept)
        gradient = K @ residuals + P.T @ others - 2 * 12 * alpha * K @ dual
        np.testing.assert_allclose(gradient, 0.0, atol=1e-10)
        if center:
            np.testing.assert_allclose(residuals.sum(axis=0) + others.sum(axis=0), 0, atol=1e-10)
        else:
            np.testing.assert_array_equal(intercept, 0.0)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("alpha", [1e-4, 0.1, np.inf])
def test_the_weight_zero_is_kernel_ridge_regression(problem, alpha, center):
    K, P, known, further, ridge = joint(problem, center)
    dual, intercept = ridge.solve(alpha, 0.0)
    expected, offset = fit_dual_coefficients(K, known, labelled_ridge(12, alpha), center)
    np.testing.assert_allclose(P @ dual + intercept, P @ expected + offset, rtol=1e-10, atol=1e-10)
    if np.isinf(alpha) and center:
        mean = (known.sum(axis=0) + 0.5 * further.sum(axis=0)) / (12 + 15)
        np.testing.assert_allclose(ridge.solve(alpha, 0.5)[1], mean)


def test_a_linear_kernel_loses_nothing_by_coefficients_of_labelled_rows_alone(problem):
    (inputs, outputs), rows = problem, np.arange(42)
    # More columns than labelled rows, which do not span them all.
    inputs = np.hstack([inputs, inputs**2, inputs**3, np.sin(3.0 * inputs)])
    inputs[12:] = drawn_inputs(inputs[:12], outputs[:12], outputs[12:], np.random.default_rng(3))
    weights = np.where(rows < 12, 1.0, 0.3)
    K = gram_matrix(inputs, None, "linear")
    expected, offset = fit_dual_coefficients(K, outputs, 2 * 12 * 0.05 / weights)
    ridge = JointRidge(K[:12, :12], outputs[:12], K[12:, :12], outputs[12:])
    dual, intercept = ridge.solve(0.05, 0.3)
    np.testing.assert_allclose(K[:, :12] @ dual + intercept, K @ expected + offset, atol=1e-10)


def test_without_unpaired_outputs_the_method_is_kernel_ridge_regression(tmp_path):
    data = data_for(NAME)
    items, ridge = run(NAME, tmp_path / "items", data), run("kernel_ridge", tmp_path / "r", data)
    for size in (20, 30):
        name = f"n-{size}_w-0_C-selected"
        without, reference = items[f"{name}_unpaired_size=0"], ridge[name]
        for entry in ("test_targets", "heldout_outputs", "dual_coefficients", "score"):
            np.testing.assert_allclose(without[entry], reference[entry], rtol=1e-10, atol=1e-10)
        assert without["unpaired_weight"] == 0.0
        assert items[name]["score"] <= reference["score"]
        studied = items[f"{name}_unpaired_size=15"]
        np.testing.assert_array_equal(studied["test_targets"], items[name]["test_targets"])


def of_fold(folder, data, fold: int) -> tuple[np.ndarray, np.ndarray, Method, FitData]:
    """Return held-out predictions of a fold for `WEIGHTS`, its rows, the method and its data."""
    run(NAME, folder, data)
    split = SplitData({name: folder / f"{name}.h5" for name in ("dataset", "split", "features")})
    fit = FitData(split, FitSpec(20, unpaired_size=15))
    method = Method("rbf", [1.0], [ALPHA], True, "arrmse", SETTINGS["grid"], 0)
    heldout = method._heldout(fit, KERNEL, ALPHA, WEIGHTS)
    return heldout[:, fit.folds == fold], fit.rows[fit.folds == fold], method, fit


def test_held_out_outputs_and_inputs_of_unpaired_rows_are_not_used(tmp_path):
    data = data_for(NAME)
    before, rows = of_fold(tmp_path / "first", data, 1)[:2]
    after = of_fold(tmp_path / "outputs", data.changed(rows, "Y"), 1)[0]
    np.testing.assert_array_equal(before, after)
    unpaired = data.split["unpaired"]
    after = of_fold(tmp_path / "inputs", data.changed(unpaired, "X", "lagged_values"), 1)[0]
    np.testing.assert_array_equal(before, after)
    after = of_fold(tmp_path / "unpaired", data.changed(unpaired[:1], "Y"), 1)[0]
    assert (np.abs(before - after) > 1e-6).any()


def test_what_unpaired_outputs_changed_is_saved_and_restored(tmp_path):
    method, fit = of_fold(tmp_path, data_for(NAME), 0)[2:]
    chosen, _ = ridge_of_outputs(fit, method)
    entries = {
        "kernel": chosen[1].kernel.name,
        "width": chosen[1].kernel.width,
        "unpaired_weight": 0.3,
    }
    fitted = method.fit(fit, Selection(None, entries, fitting=chosen))
    predicted = fitted.predict(fit.test)
    assert np.abs(predicted - chosen[0].fitted(chosen[1]).predict(fit.test)).max() > 1e-3
    restored = method.restored(fit, entries | fitted.entries())
    for other in (restored, Fitted.from_arrays(fitted.to_arrays())):
        np.testing.assert_array_equal(other.predict(fit.test), predicted)


def test_inputs_known_by_their_inner_products_are_drawn_in_their_span(tmp_path):
    data, heldout = data_for(NAME), {}
    for scale, inputs in (("none", data.X), ("products", data.X @ data.X.T)):
        names = ("dataset", "split", "features")
        paths = {name: tmp_path / f"{scale}-{name}.h5" for name in names}
        write_artifact(paths["dataset"], {"inputs": inputs, "outputs": data.Y}, "dataset")
        write_artifact(paths["split"], data.split, "split")
        features_stage.run(*paths.values(), scale, "rbf", "none")
        fit = FitData(SplitData(paths), FitSpec(20, unpaired_size=15))
        method = Method("rbf", [1.0], [ALPHA], True, "arrmse", {}, 0)
        # A row known by its products counts as one column.
        width = 1.0 if scale == "none" else 1.0 / data.X.shape[1]
        for kernel in (InputKernel("linear"), InputKernel("rbf", width)):
            found = method._heldout(fit, kernel, ALPHA, WEIGHTS)
            heldout.setdefault(kernel.name, []).append(found)
    for of_rows, of_products in heldout.values():
        np.testing.assert_allclose(of_rows, of_products, atol=1e-6)


def test_drawn_inputs_have_the_mean_and_the_noise_of_inputs_given_an_output():
    random = np.random.default_rng(1)
    outputs = random.normal(size=(4040, 1))
    inputs = outputs @ [[2.0, -1.0, 0.5]] + random.normal(size=(4040, 3)) * [0.5, 1.0, 2.0]
    found = drawn_inputs(inputs[:40], outputs[:40], outputs[40:], np.random.default_rng(2))
    np.testing.assert_allclose(found.std(axis=0), inputs.std(axis=0), rtol=0.2)
    slopes = np.linalg.lstsq(outputs[40:], found, rcond=None)[0][0]
    np.testing.assert_allclose(slopes, [2.0, -1.0, 0.5], atol=0.5)
    again = drawn_inputs(inputs[:40], outputs[:40], outputs[40:], np.random.default_rng(2))
    np.testing.assert_array_equal(found, again)


def test_it_gains_where_inputs_and_many_outputs_share_few_factors():
    """Inputs are easily predicted from twenty outputs, and outputs not from five inputs."""
    errors = []
    for seed in range(10):
        random = np.random.default_rng(seed)
        factors = random.normal(size=(612, 2))
        outputs = factors @ random.normal(size=(2, 20)) + 0.5 * random.normal(size=(612, 20))
        inputs = factors @ random.normal(size=(2, 5)) + 0.5 * random.normal(size=(612, 5))
        train, further, test = slice(12), slice(12, 312), slice(312, 612)
        drawn = drawn_inputs(inputs[train], outputs[train], outputs[further], random)
        K, P, K_test = (
            gram_matrix(rows, inputs[train], "linear")
            for rows in (inputs[train], drawn, inputs[test])
        )
        ridge = JointRidge(K, outputs[train], P, outputs[further])
        # The best penalty of each on the test rows, so that a bad choice is no reason.
        solutions = {
            weight: [ridge.solve(alpha, weight) for alpha in np.logspace(-5, 2, 15)]
            for weight in (0.0, 0.3)
        }
        errors.append(
            [
                min(np.mean((outputs[test] - K_test @ dual - b) ** 2) for dual, b in found)
                for found in solutions.values()
            ]
        )
    without, joined = np.array(errors).T
    assert joined.mean() < 0.9 * without.mean() and (joined < without).sum() >= 8
