"""The stage of output kernel regression equals a search over all grid points, each refitted."""

import itertools

import numpy as np
import pytest
from each_case import each_case
from fit_methods import run_method
from small_data import regression_data
from small_folds import heldout, score_of
from small_pipeline import Stages, assert_same_tree

from workflow_lib import IOKRegressor
from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.fitting.grid_choice import GridChoice
from workflow_lib.fitting.input_kernels import InputKernel
from workflow_lib.fitting.output_decoding import OutputKernel, read_output_kernel
from workflow_lib.fitting.prepared_inputs import prepared_inputs, rbf_gamma
from workflow_lib.inputs.preparation import fit_preparation
from workflow_lib.measures.metrics import heldout_error
from workflow_lib.methods.output_kernel_regression import heldout_predictions
from workflow_lib.models.density import mean_shift
from workflow_lib.models.simplex import project_on_simplex
from workflow_lib.protocol import alignments
from workflow_lib.solvers.alignment import (
    global_alignment_gram,
    lattice_sigma,
    squared_dtw_distances,
)
from workflow_lib.solvers.gram import gram_matrix
from workflow_lib.solvers.output_kernels import clip_spectrum, output_unit
from workflow_lib.solvers.ridge import fit_dual_coefficients, labelled_ridge

WIDTHS = [0.3, 3.0]
ALPHAS = [1e-4, 1e-2, np.inf]
OUTPUT_WIDTHS = {"rbf": [0.5, 2.0], "linear": [], "dtw": [0.5, 2.0], "gak": [0.5, 2.0]}
VECTOR_CASES = [
    ("rbf", "candidates"),
    ("rbf", "minimiser"),
    ("rbf", "mean_shift"),
    ("linear", "candidates"),
    ("linear", "mean"),
]
KEY = "n-{}_w-0_C-selected"


def prepared(folder, Y=None, n_outputs=4, **options):
    """Run the first stages on outputs that are series of `n_outputs` steps."""
    X, outputs = regression_data(70, n_clusters=4, spread=2.0, dimension=n_outputs)
    stages = Stages(folder, X, outputs if Y is None else Y, **options).prepare()
    names = {"series_length": n_outputs, "series_channels": 1}
    tree = {"inputs": X, "outputs": stages.Y, "names": names}
    write_artifact(stages.path("dataset"), tree, "dataset", allow_nan=("outputs",))
    return stages


def with_gaps(Y, share=0.15, seed=3):
    """Return outputs of which a share is missing."""
    return np.where(np.random.default_rng(seed).random(Y.shape) < share, np.nan, Y)


def known_outputs(stages, rows):
    """Return the outputs of some rows, missing ones being the mean of the others."""
    Y = stages.Y[rows]
    return np.where(np.isnan(Y), np.nanmean(Y, axis=0), Y)


def regressed(stages, output_kernel, preimage="candidates", alphas=ALPHAS):
    """Run the stage, after the alignments where it needs them; return its artifact."""
    aligned = None
    if output_kernel in ("dtw", "gak"):
        pytest.importorskip("tslearn")
        aligned = stages.path(output_kernel)
        alignments.run(stages.path("dataset"), aligned, output_kernel, OUTPUT_WIDTHS[output_kernel])
    return run_method(
        "output_kernel_regression",
        stages.path,
        kernel=stages.kernel,
        widths=WIDTHS,
        alphas=alphas,
        output_kernel=output_kernel,
        output_widths=OUTPUT_WIDTHS[output_kernel],
        preimage=preimage,
        center=stages.center,
        metric=stages.metric,
        alignments=aligned,
    )


def grid_of(kernel, output_kernel):
    widths = WIDTHS if kernel == "rbf" else [None]
    return list(itertools.product(widths, OUTPUT_WIDTHS[output_kernel] or [None], ALPHAS))


def inputs_of(stages, train, others):
    """Return the inputs of training and other rows as the training rows prepare them."""
    preparation = fit_preparation(stages.X[train], stages.scale)
    return preparation.apply(stages.X[train]), preparation.apply(stages.X[others])


def estimated(stages, train, others, point, output_kernel, preimage):
    """Return the predictions of the estimator with one grid point, for Gaussian and linear."""
    width, output_width, alpha = point
    X_train, X_others = inputs_of(stages, train, others)
    Y = known_outputs(stages, train)
    model = IOKRegressor(
        stages.kernel,
        rbf_gamma(width, X_train.shape[1]),
        alpha,
        stages.center,
        output_kernel,
        None if output_width is None else 1.0 / (output_width * output_unit(Y)) ** 2,
        "gradient" if preimage == "minimiser" else "candidates",
    )
    if preimage in ("mean", "mean_shift"):
        weights = project_on_simplex(model.fit(X_train, Y).predict_weights(X_others))
        means = weights @ Y
        return means if preimage == "mean" else mean_shift(weights, Y, model.output_gamma, means)
    return model.fit(X_train, Y).predict(X_others)


def aligned(stages, train, others, point, output_kernel, preimage):
    """Return the predictions with one grid point for kernels on series, from their definitions."""
    width, output_width, alpha = point
    X_train, X_others = inputs_of(stages, train, others)
    gamma = rbf_gamma(width, X_train.shape[1])
    ridge = labelled_ridge(len(train), alpha)
    dual, intercept = fit_dual_coefficients(
        gram_matrix(X_train, None, stages.kernel, gamma), np.eye(len(train)), ridge, stages.center
    )
    weights = gram_matrix(X_others, X_train, stages.kernel, gamma) @ dual + intercept
    series = stages.Y[train][:, :, None]
    scale = output_width * output_unit(stages.Y[train])
    if output_kernel == "dtw":
        gram = clip_spectrum(np.exp(-squared_dtw_distances(series) / scale**2))
    else:
        gram = global_alignment_gram(series, lattice_sigma(scale))
    scores = np.diag(gram) - 2 * weights @ gram
    return stages.Y[train][scores.argmin(axis=1)]


def predicted_rows(stages, train, others, point, output_kernel, preimage):
    predict = aligned if output_kernel in ("dtw", "gak") else estimated
    return predict(stages, train, others, point, output_kernel, preimage)


def without_fold(stages, rows, folds, *settings):
    """Return the predictions of the rows, each without its fold."""
    return heldout(
        lambda train, _, others: predicted_rows(stages, train, others, *settings), rows, rows, folds
    )


def searched(stages, rows, folds, output_kernel, preimage="candidates"):
    """Return the error of every grid point, each fold being fitted anew."""
    points = grid_of(stages.kernel, output_kernel)
    predicted = (
        without_fold(stages, rows, folds, each, output_kernel, preimage) for each in points
    )
    return np.array([score_of(stages.Y[rows], each, folds, "arrmse") for each in predicted])


def chosen_point(item):
    return item.get("width"), item.get("output_width"), item["alpha_rest"]


SEARCHES = ("minimiser", "mean_shift")
"""Pre-images that are approximated in selection, and only there."""


def assert_of_a_search(stages, output_kernel, preimage):
    """Assert that choice and predictions are those of a search, each fold being fitted anew."""
    tree, split = regressed(stages, output_kernel, preimage), stages.tree("split")
    rtol, atol = (5e-3, 1e-5) if preimage in SEARCHES else (1e-9, 1e-9)
    points = grid_of(stages.kernel, output_kernel)
    for size in stages.sizes:
        item, rows = tree[KEY.format(size)], split["train"][:size]
        folds, point = split["folds"][f"n-{size}"], chosen_point(item)
        scores = searched(stages, rows, folds, output_kernel, preimage)
        assert item["score"] == pytest.approx(scores.min(), rel=rtol)
        equal = np.isclose(scores, scores.min(), rtol=rtol)
        if preimage in SEARCHES:
            assert equal[points.index(point)]
            assert not np.isin(item["test_targets"], stages.Y[rows]).any()
        else:
            # Nearest candidates are often the same for neighbouring grid points; the first is kept.
            assert point == points[int(np.flatnonzero(equal)[0])]
        expected = predicted_rows(stages, rows, split["test"], point, output_kernel, preimage)
        np.testing.assert_allclose(item["test_targets"], expected, rtol=0, atol=atol)
        expected = without_fold(stages, rows, folds, point, output_kernel, preimage)
        np.testing.assert_allclose(item["heldout_outputs"], expected, rtol=0, atol=atol)
        error = heldout_error(stages.Y[rows], item["heldout_outputs"], folds, "arrmse")
        assert item["score"] == pytest.approx(error, rel=rtol)


@each_case(
    ("output_kernel", "preimage"),
    [
        ("rbf", "candidates"),
        ("linear", "candidates"),
        ("linear", "mean"),
        ("dtw", "candidates"),
        ("gak", "candidates"),
    ],
)
@each_case(
    ("kernel", "scale", "center"),
    [("rbf", "none", True), ("linear", "standard", True), ("rbf", "standard", False)],
)
def test_choice_and_predictions_equal_a_search(
    tmp_path, output_kernel, preimage, kernel, scale, center
):
    stages = prepared(tmp_path, kernel=kernel, scale=scale, center=center)
    assert_of_a_search(stages, output_kernel, preimage)


@pytest.mark.parametrize("preimage", SEARCHES)
@pytest.mark.parametrize(("scale", "center"), [("none", True), ("standard", False)])
def test_searches_predict_as_defined_and_are_selected_by_nearly_their_error(
    tmp_path, preimage, scale, center
):
    assert_of_a_search(prepared(tmp_path, scale=scale, center=center), "rbf", preimage)


@pytest.mark.parametrize(("output_kernel", "preimage"), VECTOR_CASES)
def test_missing_outputs_take_the_mean_of_the_current_rows(tmp_path, output_kernel, preimage):
    Y = with_gaps(regression_data(70, n_clusters=4, spread=2.0, dimension=4)[1])
    stages = prepared(tmp_path, Y)
    assert np.isnan(stages.Y[stages.tree("split")["train"][:20]]).any()
    assert_of_a_search(stages, output_kernel, preimage)


@pytest.mark.parametrize(("output_kernel", "preimage"), VECTOR_CASES)
def test_outputs_of_a_fold_do_not_touch_its_own_predictions(tmp_path, output_kernel, preimage):
    stages = prepared(tmp_path, with_gaps(regression_data(70, dimension=4)[1]), scale="standard")
    split, size = stages.tree("split"), 30
    rows, folds = split["train"][:size], split["folds"]["n-30"]
    inputs = prepared_inputs(stages.tree("features"), folds, size)
    output_width = None if output_kernel == "linear" else 0.5
    choice = GridChoice(InputKernel("rbf", 1.0), 1e-3, {"output_width": output_width}, (0, 0), 0.0)

    def predictions(outputs):
        kernel = OutputKernel(output_kernel, outputs)
        return heldout_predictions(inputs, kernel, rows, choice, preimage, True)

    changed = stages.Y.copy()
    changed[rows[folds == 2]] = 100 * np.random.default_rng(5).normal(size=(sum(folds == 2), 4))
    before, after = predictions(stages.Y), predictions(changed)
    np.testing.assert_array_equal(before[folds == 2], after[folds == 2])
    assert (before[folds != 2] != after[folds != 2]).any()


@pytest.mark.parametrize(
    ("output_kernel", "preimage"),
    [
        ("rbf", "minimiser"),
        ("rbf", "mean_shift"),
        ("linear", "candidates"),
        ("linear", "mean"),
        ("dtw", "candidates"),
        ("gak", "candidates"),
    ],
)
def test_outputs_outside_the_training_rows_change_nothing_at_all(tmp_path, output_kernel, preimage):
    first = prepared(tmp_path / "first")
    Y = first.Y.copy()
    others = np.setdiff1d(np.arange(len(Y)), first.tree("split")["train"][:30])
    # So far away that no sigma that the training rows need is precomputed.
    Y[others] = 1e4 * np.random.default_rng(5).normal(size=(40, 4))
    second = prepared(tmp_path / "second", Y)
    trees = [regressed(stages, output_kernel, preimage) for stages in (first, second)]
    assert_same_tree(*trees)
    if output_kernel == "gak":
        computed = [read_artifact(s.path("gak"), "alignments")["sigmas"] for s in (first, second)]
        assert not set(computed[0]) & set(computed[1])


def test_rows_of_larger_training_sets_do_not_touch_smaller_ones(tmp_path):
    first = prepared(tmp_path / "first")
    Y = first.Y.copy()
    Y[first.tree("split")["train"][20:]] = 100.0
    second = prepared(tmp_path / "second", Y)
    trees = [regressed(stages, "dtw")[KEY.format(20)] for stages in (first, second)]
    assert_same_tree(*trees)


@pytest.mark.parametrize("output_kernel", ["dtw", "gak"])
def test_precomputed_kernels_equal_those_computed_from_the_rows_alone(tmp_path, output_kernel):
    stages = prepared(tmp_path)
    regressed(stages, output_kernel)
    ahead = read_artifact(stages.path(output_kernel), "alignments")
    series, rows = stages.Y[:, :, None], np.array([40, 3, 17, 60, 5])
    gram = OutputKernel(output_kernel, stages.Y, series, ahead).decoder(rows, 0.5).gram
    scale = 0.5 * output_unit(stages.Y[rows])
    if output_kernel == "dtw":
        similarities = np.exp(-squared_dtw_distances(series[rows]) / scale**2)
        np.testing.assert_array_equal(gram, clip_spectrum(similarities))
        assert np.linalg.eigvalsh(gram).min() > -1e-12
    else:
        assert lattice_sigma(scale) in ahead["sigmas"]
        np.testing.assert_array_equal(
            gram, global_alignment_gram(series[rows], lattice_sigma(scale))
        )
        nothing = {"sigmas": np.empty(0), "grams": {}}
        without = OutputKernel("gak", stages.Y, series, nothing).decoder(rows, 0.5).gram
        np.testing.assert_array_equal(gram, without)


def test_infinite_penalty_alone_predicts_one_output_for_all(tmp_path):
    stages = prepared(tmp_path)
    for preimage in ("candidates", "minimiser", "mean_shift"):
        for item in regressed(stages, "rbf", preimage, [np.inf]).values():
            assert item["alpha_rest"] == np.inf
            predictions = item["test_targets"]
            np.testing.assert_allclose(predictions, predictions[:1].repeat(12, axis=0))


@pytest.mark.parametrize(
    ("output_kernel", "preimage"), [("rbf", "minimiser"), ("rbf", "mean_shift"), ("linear", "mean")]
)
def test_constant_outputs_are_predicted_as_they_are(tmp_path, output_kernel, preimage):
    stages = prepared(tmp_path, np.full((70, 4), 0.1))
    for item in regressed(stages, output_kernel, preimage).values():
        np.testing.assert_allclose(item["test_targets"], 0.1, rtol=1e-12)
        assert item["score"] == np.inf


def test_alignments_of_another_kernel_are_refused(tmp_path):
    pytest.importorskip("tslearn")
    stages = prepared(tmp_path)
    alignments.run(stages.path("dataset"), stages.path("gak"), "dtw", [1.0])
    with pytest.raises(UserError, match="alignments of the output kernel dtw.*those of gak"):
        read_output_kernel("gak", stages.path("dataset"), stages.path("gak"))
