"""The stages of a kernel ridge method, end to end, equal the estimators with the same choices."""

import json

import numpy as np
import pytest
from each_case import each_case
from small_data import regression_data
from small_folds import heldout, refit, score_of
from small_pipeline import Stages, assert_same_tree

from workflow_lib import GaussianMixtureModel, KernelRidgeRegressor, OutputFisherRegressor
from workflow_lib.core.errors import UserError
from workflow_lib.core.seeds import derive_seed
from workflow_lib.fitting.prepared_inputs import prepared_inputs, rbf_gamma
from workflow_lib.inputs.preparation import fit_preparation
from workflow_lib.models.mixtures.gaussian import GaussianModel
from workflow_lib.models.state_spaces.state_space import StateSpaceModel
from workflow_lib.solvers.gram import gram_matrix


def small_inputs(scale="none", missing=0.0, n_rows=70):
    X, Y = regression_data(n_rows, n_clusters=4, spread=2.0)
    if scale == "standard":
        X = X * [1.0, 10.0, 0.1, 100.0] + 3.0
    X[np.random.default_rng(0).random(X.shape) < missing] = np.nan
    return X, Y


def rows_of(stages, size, weak_size=0):
    """Return prepared training, weak and test inputs, and the training outputs."""
    split = stages.tree("split")
    X = stages.X[split["train"][:size]]
    preparation = fit_preparation(X, stages.scale)
    X_weak = stages.X[split["weak"][:weak_size]]
    parts = [preparation.apply(part) for part in (X, X_weak, stages.X[split["test"]])]
    return *parts, stages.Y[split["train"][:size]]


def estimator_of(stages, item, n_columns):
    """Return the estimator with the hyper-parameters that an item reports."""
    size = item["training_size"]
    gamma = rbf_gamma(item["width"], n_columns) if stages.kernel == "rbf" else None
    options = {"kernel": stages.kernel, "gamma": gamma, "center": stages.center}
    if stages.kind is None:
        return KernelRidgeRegressor(alpha=item["alpha_rest"], **options)
    alpha = {"mu": item["alpha_rest"]}
    if stages.kind == "gaussian":
        model = GaussianModel(stages.covariance_type, 0.05)
    else:
        count = item["n_components"]
        seed = derive_seed(stages.seed, size, count, "all")
        model = GaussianMixtureModel(count, stages.covariance_type, n_init=2, random_state=seed)
        alpha["pi"] = item["alpha_leading"]
    if stages.form == "full":
        alpha["sigma"] = item["alpha_rest"]
    if "weak_weight" in item:
        options["weak_weight"] = item["weak_weight"] / (2 * size)
    return OutputFisherRegressor(
        model, form=stages.form, alpha=alpha, preimage=stages.preimage, **options
    )


METHODS = {
    "kernel ridge": {"kind": None, "sizes": [20, 30]},
    "kernel ridge, standard": {"kind": None, "scale": "standard"},
    "kernel ridge, missing": {"kind": None, "missing": 0.1},
    "kernel ridge, linear, uncentred": {"kind": None, "kernel": "linear", "center": False},
    "mixture": {"penalty": "per_block"},
    "mixture, own variances": {"covariance_type": "spherical", "preimage": "closed_form"},
    "mixture, full covariances": {"covariance_type": "full", "penalty": "per_block"},
    "mixture, standard": {"scale": "standard", "penalty": "per_block"},
    "mixture, linear": {"kernel": "linear"},
    "mixture, full form": {"form": "full", "preimage": "gradient"},
    "gaussian": {"kind": "gaussian", "preimage": "closed_form"},
    "gaussian, full form": {"kind": "gaussian", "form": "full", "preimage": "gradient"},
    "weak": {"penalty": "per_block", "weak_sizes": [5, 15], "counts": [2, 3]},
    "weak, shared": {"weak_sizes": [15], "counts": [3], "scale": "standard"},
    "weak, missing": {"weak_sizes": [15], "counts": [3], "missing": 0.1},
}


@each_case("name", METHODS)
def test_predictions_equal_those_of_the_estimator(tmp_path, name):
    options = {"sizes": [20], **METHODS[name]}
    X, Y = small_inputs(options.get("scale", "none"), options.pop("missing", 0.0))
    stages = Stages(tmp_path, X, Y, **options).all()
    predictions, regression = stages.tree("predictions"), stages.tree("regression")
    assert len(predictions) == len(stages.sizes) * max(1, len(stages.weak_sizes))
    for key, item in predictions.items():
        size, weak_size = item["training_size"], item["weak_size"]
        assert key == f"n-{size}_w-{weak_size}_C-selected"
        X_train, X_weak, X_test, Y_train = rows_of(stages, size, weak_size)
        estimator = estimator_of(stages, item, X_train.shape[1])
        weak = ()
        if weak_size:
            labels = stages.tree("weak_labels")[f"n-{size}"][f"C-{item['n_components']}"]
            weak = (X_weak, labels["memberships"][:weak_size])
        estimator.fit(X_train, Y_train, *weak)
        np.testing.assert_allclose(item["outputs"], estimator.predict(X_test), atol=1e-7)
        assert item["alpha_rest"] in stages.alphas
        if stages.kernel == "rbf":
            assert item["width"] in stages.widths
        # The dual coefficients give the stored predictions of the embedding again.
        stored = regression[key]
        if stages.kind is not None:
            H = estimator.predict_embedding(X_test)
            np.testing.assert_allclose(stored["test_targets"], H, atol=1e-7)
        np.testing.assert_allclose(stored["dual_coefficients"], estimator.dual_coef_, atol=1e-6)
        np.testing.assert_allclose(stored["intercept"], estimator.intercept_, atol=1e-7)


@pytest.mark.parametrize("scale", ["none", "standard"])
def test_score_of_the_choice_is_the_lowest_of_all_refits(tmp_path, scale):
    X, Y = small_inputs(scale)
    stages = Stages(tmp_path, X, Y, kind=None, scale=scale, sizes=[20]).all()
    item = stages.tree("predictions")["n-20_w-0_C-selected"]
    split = stages.tree("split")
    X_train, Y_train = X[split["train"]], Y[split["train"]]
    folds = split["folds"]["n-20"]
    scores = {}
    for width in stages.widths:
        for penalty in stages.alphas:
            predicted = heldout(refit, X_train, Y_train, folds, width, penalty, scale)
            scores[width, penalty] = score_of(Y_train, predicted, folds, "arrmse")
    assert item["score"] == pytest.approx(min(scores.values()), rel=1e-10)
    assert (item["width"], item["alpha_rest"]) == min(scores, key=scores.get)


@pytest.mark.parametrize("kind", [None, "gaussian_mixture"])
def test_metric_of_the_selection_is_the_requested_metric(tmp_path, kind):
    # Outputs of very different units: the pooled metric depends on the first only.
    X, Y = small_inputs()
    Y = Y * [1e4, 1.0, 1.0]
    options = {"kind": kind, "sizes": [20], "alphas": [1e-5, 1e-3, 1e-1]}
    pooled = Stages(tmp_path / "pooled", X, Y, metric="rrmse", **options).all()
    first = Stages(tmp_path / "first", X, Y * [1.0, 0.0, 0.0], metric="arrmse", **options)
    score = pooled.tree("predictions")["n-20_w-0_C-selected"]["score"]
    assert score == pytest.approx(
        first.all().tree("predictions")["n-20_w-0_C-selected"]["score"], rel=1e-3
    )


def test_selected_component_count_is_the_best_of_the_fixed_ones(tmp_path):
    X, Y = small_inputs()
    options = {"sizes": [20], "counts": [1, 2, 4], "penalty": "per_block"}
    fixed = Stages(tmp_path / "fixed", X, Y, components=[1, 2, 4], **options).all()
    selected = Stages(tmp_path / "selected", X, Y, **options).all()
    items = fixed.tree("predictions")
    assert sorted(items) == [f"n-20_w-0_C-{count}" for count in (1, 2, 4)]
    assert [items[name]["components"] for name in sorted(items)] == ["1", "2", "4"]
    scores = {item["n_components"]: item["score"] for item in items.values()}
    choice = selected.tree("predictions")["n-20_w-0_C-selected"]
    assert choice["score"] == pytest.approx(min(scores.values()), rel=1e-12)
    assert choice["n_components"] == min(scores, key=scores.get)


def test_artifacts_are_the_same_bytes_when_computed_again(tmp_path):
    X, Y = small_inputs()
    options = {"weak_sizes": [10], "penalty": "per_block"}
    first = Stages(tmp_path / "first", X, Y, **options).all()
    second = Stages(tmp_path / "second", X, Y, **options).all()
    for name in ("split", "features", "models", "annotated", "weak_labels", "embeddings"):
        assert first.path(name).read_bytes() == second.path(name).read_bytes(), name
    for name in ("regression", "predictions"):
        assert first.path(name).read_bytes() == second.path(name).read_bytes(), name


def test_timings_name_the_items_and_the_parts(tmp_path):
    stages = Stages(tmp_path, *small_inputs(), kind=None).all()
    seconds = json.loads((tmp_path / "regression.json").read_text())
    assert seconds.keys() == stages.tree("predictions").keys()
    for parts in seconds.values():
        assert sorted(parts) == ["fit_seconds", "prediction_seconds", "selection_seconds"]
        assert min(parts.values()) >= 0
    assert json.loads((tmp_path / "preimages.json").read_text()).keys() == seconds.keys()


@pytest.mark.parametrize("kind", [None, "gaussian", "gaussian_mixture"])
@pytest.mark.filterwarnings("ignore:.*components were asked for")
def test_constant_outputs_are_predicted_as_they_are(tmp_path, kind):
    X, Y = small_inputs()
    stages = Stages(tmp_path, X, np.full_like(Y, 0.1), kind=kind).all()
    for item in stages.tree("predictions").values():
        np.testing.assert_allclose(item["outputs"], 0.1, rtol=1e-9)
        assert item["score"] == np.inf


@pytest.mark.filterwarnings("ignore:.*components were asked for")
def test_few_distinct_outputs_and_one_column(tmp_path):
    X, _ = small_inputs()
    Y = (X[:, :1] > 0).astype(float)
    stages = Stages(tmp_path, X, Y, counts=[2, 6], penalty="per_block").all()
    for item in stages.tree("predictions").values():
        assert item["outputs"].shape == (12, 1)
        assert item["score"] < 0.9


def test_infinite_penalty_of_weak_rows_weighs_them_as_the_selection_did(tmp_path):
    X, Y = small_inputs()
    options = {"counts": [3], "weak_sizes": [15], "sizes": [20], "weak_weights": [0.1]}
    infinite = Stages(tmp_path / "infinite", X, Y, alphas=[np.inf], **options).all()
    large = Stages(tmp_path / "large", X, Y, alphas=[1e9], **options).all()
    first, second = infinite.tree("regression"), large.tree("regression")
    for key, item in first.items():
        np.testing.assert_allclose(item["test_targets"], second[key]["test_targets"], atol=1e-6)
        assert item["score"] == pytest.approx(second[key]["score"], rel=1e-6)


def test_weak_rows_with_missing_inputs_are_filled_by_each_fold(tmp_path):
    # Only weak rows lack values: the filling is still fitted in each fold.
    X, Y = small_inputs()
    stages = Stages(tmp_path, X, Y, weak_sizes=[15], counts=[3], sizes=[20]).prepare()
    stages.X[stages.tree("split")["weak"], 0] = np.nan
    stages.all()
    features, folds = stages.tree("features"), stages.tree("split")["folds"]["n-20"]
    assert features["n-20"]["learns"]
    filled = [X[-1, 0] for X, _ in prepared_inputs(features, folds, 20).fold_rows(15)]
    assert len(set(filled)) == 4


@pytest.mark.parametrize("weak_sizes", [[], [5, 15]])
def test_a_gram_matrix_as_inputs_gives_the_predictions_of_its_kernel(tmp_path, weak_sizes):
    X, Y = small_inputs()
    options = {"weak_sizes": weak_sizes, "counts": [2, 3], "penalty": "per_block"}
    width = 0.3
    gram = gram_matrix(X, None, "rbf", rbf_gamma(width, X.shape[1]))
    from_inputs = Stages(tmp_path / "inputs", X, Y, widths=[width], **options).all()
    from_gram = Stages(tmp_path / "gram", gram, Y, kernel="precomputed", **options).all()
    expected = from_inputs.tree("predictions")
    for name, item in from_gram.tree("predictions").items():
        np.testing.assert_allclose(item["outputs"], expected[name]["outputs"], atol=1e-8)


def test_inputs_that_are_no_gram_matrix_are_reported(tmp_path):
    X, Y = small_inputs()
    with pytest.raises(UserError, match="not a symmetric matrix"):
        Stages(tmp_path, X, Y, kernel="precomputed").prepare()


def series_inputs(n_rows=70):
    """Return inputs and series (n, 4 x 2) in flat rows, centred at 3."""
    generator = np.random.default_rng(4)
    X = generator.normal(size=(n_rows, 4))
    steps = np.repeat(X[:, None, :2], 4, axis=1) + 0.5 * generator.normal(size=(n_rows, 4, 2))
    return X, steps.cumsum(axis=1).reshape(n_rows, 8) + 3.0


SERIES = {
    "kind": "state_space",
    "covariance_type": "spherical",
    "preimage": "closed_form",
    "counts": [1, 2],
    "output_scale": "center",
    "n_channels": 2,
    "sizes": [30],
}


@pytest.mark.parametrize("penalty", ["shared", "per_block"])
def test_series_equal_the_estimator(tmp_path, penalty):
    X, Y = series_inputs()
    stages = Stages(tmp_path, X, Y, penalty=penalty, **SERIES).all()
    (item,) = stages.tree("regression").values()
    (predicted,) = stages.tree("predictions").values()
    X_train, _, X_test, Y_train = rows_of(stages, 30)
    offset = Y_train.mean(axis=0)
    seed = derive_seed(stages.seed, 30, item["n_components"], "all")
    model = StateSpaceModel(
        item["n_components"], n_init=2, random_state=seed, observation_dim=2, prior_variance=0.05
    )
    path, residual = item["alpha_leading"], item["alpha_rest"]
    estimator = OutputFisherRegressor(
        model,
        gamma=rbf_gamma(item["width"], 4),
        alpha={"initial": path, "state": path, "observation": residual},
        preimage="closed_form",
    ).fit(X_train, Y_train - offset)
    expected = estimator.predict(X_test).reshape(12, 8) + offset
    np.testing.assert_allclose(predicted["outputs"], expected, atol=1e-8)


def test_units_of_the_outputs_change_nothing_where_they_are_scaled(tmp_path):
    # Powers of two, so that rounding does not differ.
    X, Y = small_inputs()
    units = 2.0 ** np.arange(Y.shape[1])
    options = {"sizes": [30], "output_scale": "standard", "penalty": "per_block", "counts": [3]}
    first = Stages(tmp_path / "first", X, Y, **options).all()
    second = Stages(tmp_path / "second", X, Y * units, **options).all()
    (item,), (other,) = first.tree("predictions").values(), second.tree("predictions").values()
    assert other["score"] == pytest.approx(item["score"], rel=1e-9)
    np.testing.assert_allclose(other["outputs"] / units, item["outputs"], rtol=1e-9, atol=1e-9)


# Annotation.


def test_annotated_components_keep_their_meaning_in_every_fold(tmp_path):
    X, Y = regression_data(80, n_clusters=3, spread=30.0)
    stages = Stages(tmp_path, X, Y, weak_sizes=[10], counts=[3]).prepare().model()
    annotated = stages.tree("annotated")
    assert_same_tree(annotated["n-30"]["C-3"]["all"], stages.tree("models")["n-30"]["C-3"]["all"])
    reference = annotated["n-30"]["C-3"]["all"]["means"]
    for fold in range(4):
        means = annotated["n-30"]["C-3"][f"fold-{fold}"]["means"]
        distances = np.linalg.norm(means[:, None] - reference[None], axis=2)
        np.testing.assert_array_equal(distances.argmin(axis=1), np.arange(3))
    split = stages.tree("split")
    memberships = stages.tree("weak_labels")["n-30"]["C-3"]["memberships"]
    assert memberships.shape == (len(split["weak"]), 3)
    nearest = np.linalg.norm(Y[split["weak"]][:, None] - reference, axis=2).argmin(axis=1)
    np.testing.assert_array_equal(memberships.argmax(axis=1), nearest)


def test_the_grid_in_float32_chooses_the_same_and_is_fitted_in_float64(tmp_path):
    X, Y = regression_data(40, n_clusters=3, spread=2.0)
    found = {}
    for precision in ("float64", "float32"):
        folder = tmp_path / precision
        folder.mkdir()
        found[precision] = Stages(folder, X, Y, precision=precision).all().tree("regression")
    for key, item in found["float32"].items():
        other = found["float64"][key]
        for name in ("width", "n_components", "alpha_rest"):
            assert item[name] == other[name]
        assert item["score"] == pytest.approx(other["score"], rel=1e-3)
        # The grids differ in their digits, the fits in none.
        np.testing.assert_array_equal(item["dual_coefficients"], other["dual_coefficients"])
    scores = [[item["score"] for item in tree.values()] for tree in found.values()]
    assert scores[0] != scores[1]
