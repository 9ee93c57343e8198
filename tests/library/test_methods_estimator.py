"""Any scikit-learn estimator as a method: equal to the estimator by hand, and its refusals."""

import itertools

import numpy as np
import pytest
from configuration_example import EMBEDDED
from each_case import each_case
from fit_methods import run_method
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.cross_decomposition import PLSRegression
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
)
from sklearn.linear_model import ElasticNet, LogisticRegression, MultiTaskElasticNet
from sklearn.neighbors import KNeighborsRegressor
from small_data import regression_data
from small_folds import heldout
from small_pipeline import Stages
from test_methods_class_ridge import Classes

from workflow_lib import KernelRidgeRegressor, OutputFisherRegressor
from workflow_lib.core.errors import UserError
from workflow_lib.fitting.class_selection import scaled_squared_error
from workflow_lib.inputs.preparation import fit_preparation
from workflow_lib.measures.metrics import heldout_error
from workflow_lib.methods.keys.estimator import Parameters
from workflow_lib.models.storage import model_from_tree
from workflow_lib.protocol import preimages
from workflow_lib.solvers.any_estimator import fit_outputs, predict_outputs

PLS = "sklearn.cross_decomposition.PLSRegression"
RIDGE = "sklearn.linear_model.Ridge"
FILE = "config/methods/mine.yaml"
KEYS = {name: EMBEDDED[name] for name in ("label", "summary", "color", "marker")}
KEYS |= {"regressor": "estimator", "estimator": PLS}


class FailsWithoutSomeRow(RegressorMixin, BaseEstimator):
    """The training mean; fails unless some row has a first input below a limit."""

    def __init__(self, limit=0.0):
        self.limit = limit

    def fit(self, X, Y):
        if X[:, 0].min() > self.limit:
            raise ValueError("a row is missing")
        self.mean_ = np.mean(Y, axis=0)
        return self

    def predict(self, X):
        return np.tile(self.mean_, (len(X), 1))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def run(stages, name, settings=None, grid=None, **options):
    """Run the method and return its items."""
    return run_method(
        "estimator",
        stages.path,
        estimator=name,
        settings=settings or {},
        grid=grid or {},
        metric="arrmse",
        seed=7,
        method_file=FILE,
        **options,
    )


def stages_of(folder, missing=0.0, **options):
    X, Y = regression_data(70)
    Y[np.random.default_rng(3).random(Y.shape) < missing] = np.nan
    return Stages(folder, X, Y, **options)


def by_hand(stages, size, fit):
    """Return out-of-fold and test predictions of a function of training rows and other inputs."""
    split = stages.tree("split")
    rows, folds = split["train"][:size], split["folds"][f"n-{size}"]
    X, Y, test = stages.X[rows], stages.Y[rows], stages.X[split["test"]]

    def predicted(X, Y, others):
        preparation = fit_preparation(X, stages.scale)
        known = np.where(np.isnan(Y), np.nanmean(Y, axis=0), Y)
        return fit(preparation.apply(X), known, preparation.apply(others))

    known = heldout(predicted, X, Y, folds)
    return known, predicted(X, Y, test), heldout_error(Y, known, folds, "arrmse")


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_a_grid_is_searched_by_refits_over_the_folds(tmp_path, missing):
    stages = stages_of(tmp_path, missing, scale="standard").prepare()
    items = run(stages, PLS, {"scale": False}, {"n_components": [1, 2, 4]})
    for size in stages.sizes:
        item, found = items[f"n-{size}_w-0_C-selected"], {}
        for count in (1, 2, 4):
            found[count] = by_hand(
                stages,
                size,
                lambda X, Y, Z, k=count: PLSRegression(k, scale=False).fit(X, Y).predict(Z),
            )
        best = min(found, key=lambda count: found[count][2])
        assert item["estimator__n_components"] == best
        for name, expected in zip(("heldout_outputs", "test_targets"), found[best], strict=False):
            np.testing.assert_allclose(item[name], expected, rtol=1e-10)
        assert item["score"] == pytest.approx(found[best][2])


def test_an_estimator_of_one_output_is_fitted_for_each_with_the_seed(tmp_path):
    stages = stages_of(tmp_path, sizes=[20]).prepare()
    settings = {"n_estimators": 4, "subsample": 0.5}
    name = "sklearn.ensemble.GradientBoostingRegressor"
    (item,) = run(stages, name, settings).values()

    def fit(X, Y, Z):
        columns = [
            GradientBoostingRegressor(random_state=7, **settings).fit(X, y).predict(Z) for y in Y.T
        ]
        return np.column_stack(columns)

    np.testing.assert_allclose(item["test_targets"], by_hand(stages, 20, fit)[1])


@pytest.mark.parametrize("combine", ["best", "average"])
def test_with_a_model_kernel_ridge_is_ofer_itself(tmp_path, combine):
    """With one penalty and tied variance this is kernel ridge regression of the outputs."""
    stages = stages_of(tmp_path, sizes=[30], preimage="closed_form").prepare().model()
    (item,) = run(
        stages,
        "workflow_lib.KernelRidgeRegressor",
        {"kernel": "linear"},
        {"n_components": [1, 3], "alpha": [1e-3, 1e-1]},
        component_counts=[1, 3],
        combine=combine,
        embeddings=stages.path("embeddings"),
        models=stages.path("models"),
    ).values()
    preimages.run(
        *(stages.path(name) for name in ("regression", "models", "predictions")),
        stages.folder / "preimages.json",
        *("reduced", "constrained", "closed_form", None),
    )
    (found,) = stages.tree("predictions").values()
    expected = {
        alpha: by_hand(
            stages,
            30,
            lambda X, Y, Z, a=alpha: KernelRidgeRegressor("linear", alpha=a).fit(X, Y).predict(Z),
        )
        for alpha in (1e-3, 1e-1)
    }
    known, predicted, score = min(expected.values(), key=lambda values: values[2])
    np.testing.assert_allclose(item["heldout_outputs"], known, atol=1e-8)
    np.testing.assert_allclose(found["outputs"], predicted, atol=1e-8)
    assert item["score"] == pytest.approx(score)
    assert ("members" in item) == (combine == "average")


def weak_stages(folder):
    """Return 20 labelled and 15 weak rows, with mixtures of 2 and 3 components."""
    stages = stages_of(folder, sizes=[20], weak_sizes=[15], counts=[2, 3], preimage="closed_form")
    return stages.prepare().model()


def run_weak(stages, name, settings, grid, **options):
    """Run the method with weak rows; return its only item and the predictions."""
    names = {"models": "annotated", "embeddings": "embeddings", "weak_labels": "weak_labels"}
    artifacts = {key: stages.path(name) for key, name in names.items()}
    (item,) = run(stages, name, settings, grid, weak=True, **artifacts, **options).values()
    predictions = (stages.path(name) for name in ("regression", "annotated", "predictions"))
    decoding = ("reduced", "constrained", stages.preimage, None)
    preimages.run(*predictions, stages.folder / "preimages.json", *decoding)
    (found,) = stages.tree("predictions").values()
    return item, found["outputs"]


class Stored:
    """A model whose fit is one that was stored."""

    outputs_are_series = False

    def __init__(self, tree):
        self.model = model_from_tree(tree)

    def __sklearn_clone__(self):
        return self

    def fit(self, Y):
        return self.model


def test_units_of_outputs_do_not_decide_an_estimator():
    X, Y = regression_data(40)
    units = np.array([1024.0, 1.0, 1.0 / 1024])
    for estimator in (
        ExtraTreesRegressor(4, random_state=0),
        ElasticNet(alpha=0.1),
        MultiTaskElasticNet(alpha=0.1),
        HistGradientBoostingRegressor(max_iter=3),
        KNeighborsRegressor(),
    ):
        expected = predict_outputs(fit_outputs(estimator, X, Y, output_scale="standard"), X)
        scaled = fit_outputs(estimator, X, Y * units, output_scale="standard")
        np.testing.assert_allclose(predict_outputs(scaled, X), expected * units, rtol=1e-9)
    one = fit_outputs(ElasticNet(), X, Y[:, :1], output_scale="standard")
    assert predict_outputs(one, X).shape == (40, 1)


def test_with_weak_rows_it_is_the_estimator_of_the_library(tmp_path):
    stages = weak_stages(tmp_path)
    grid = {"n_components": [2, 3], "min_samples_leaf": [1, 4], "weak_weight": [0.1, 1.0]}
    item, outputs = run_weak(
        *(stages, "sklearn.ensemble.ExtraTreesRegressor", {"n_estimators": 5}, grid),
        component_counts=[2, 3],
        weak_weights=grid["weak_weight"],
    )
    split = stages.tree("split")
    rows, weak, folds = split["train"][:20], split["weak"][:15], split["folds"]["n-20"]
    labels = stages.tree("weak_labels")["n-20"]

    def library(count, leaf, weak_weight, fold):
        known = rows if fold is None else rows[folds != fold]
        stored = stages.tree("annotated")["n-20"][f"C-{count}"]
        return OutputFisherRegressor(
            Stored(stored["all" if fold is None else f"fold-{fold}"]),
            regressor=ExtraTreesRegressor(5, min_samples_leaf=leaf, random_state=7),
            weak_weight=weak_weight / (2 * len(known)),
            preimage="closed_form",
        ).fit(
            *(stages.X[known], stages.Y[known], stages.X[weak]),
            labels[f"C-{count}"]["memberships"][:15],
        )

    scores = {}
    for candidate in itertools.product(*grid.values()):
        known = np.empty((20, stages.Y.shape[1]))
        for fold in range(folds.max() + 1):
            others = stages.X[rows[folds == fold]]
            known[folds == fold] = library(*candidate, fold).predict(others)
        scores[candidate] = heldout_error(stages.Y[rows], known, folds, "arrmse"), known
    best = min(scores, key=lambda candidate: scores[candidate][0])
    names = ("n_components", "estimator__min_samples_leaf", "weak_weight")
    assert tuple(item[name] for name in names) == best
    np.testing.assert_allclose(item["heldout_outputs"], scores[best][1], atol=1e-10)
    expected = library(*best, None).predict(stages.X[split["test"]])
    np.testing.assert_allclose(outputs, expected, atol=1e-10)
    assert item["weak_size"] == 15


def test_weighted_kernel_ridge_with_weak_rows_is_that_of_equation_14(tmp_path):
    """scikit-learn's has no intercept, and its penalty is that of the whole system."""
    stages = weak_stages(tmp_path)
    item, outputs = run_weak(
        *(stages, "sklearn.kernel_ridge.KernelRidge", {"kernel": "linear", "alpha": 2 * 20 * 0.01}),
        {"n_components": [3]},
        component_counts=[3],
        weak_weights=[0.3],
    )
    stages.kernel, stages.center, stages.counts = "linear", False, [3]
    stages.alphas, stages.weak_weights = [0.01], [0.3]
    (expected,) = stages.regress().tree("predictions").values()
    np.testing.assert_allclose(outputs, expected["outputs"], atol=1e-8)


def test_a_classifier_predicts_scores_of_the_classes(tmp_path):
    classes = Classes(tmp_path, examples=(1, 4))
    grid = {"C": [0.01, 1.0]}
    items = run(classes, "sklearn.linear_model.LogisticRegression", {}, grid).values()
    one, four = sorted(items, key=lambda item: item["training_size"])
    # With one example per class nothing can be selected.
    assert one["estimator__C"] == 0.01 and "score" not in one
    X, labels, folds = classes.training(four["training_size"])
    scores = {}
    for cost in grid["C"]:
        heldout = np.zeros_like(four["heldout_outputs"])
        for fold in range(folds.max() + 1):
            kept = folds != fold
            fitted = LogisticRegression(C=cost).fit(X[kept], labels[kept])
            heldout[np.ix_(~kept, fitted.classes_)] = fitted.predict_proba(X[~kept])
        scores[cost] = scaled_squared_error(heldout, labels), heldout
    best = min(scores, key=lambda cost: scores[cost][0])
    assert four["estimator__C"] == best and four["score"] == pytest.approx(scores[best][0])
    np.testing.assert_allclose(four["heldout_outputs"], scores[best][1], atol=1e-6)


def test_a_grid_point_that_fails_is_left_out_and_reported(tmp_path, capsys):
    stages = stages_of(tmp_path, sizes=[20]).prepare()
    n_inputs = stages.X.shape[1]
    (item,) = run(stages, PLS, {}, {"n_components": [1, n_inputs + 1]}).values()
    assert item["estimator__n_components"] == 1
    printed = capsys.readouterr().out
    assert f"left out: PLSRegression(n_components={n_inputs + 1}) with 20 training rows" in printed


def test_an_estimator_that_fails_in_one_fold_is_refused_by_its_file(tmp_path):
    stages = stages_of(tmp_path, sizes=[20]).prepare()
    split = stages.tree("split")
    first_inputs = np.sort(stages.X[split["train"][:20], 0])
    name = "test_methods_estimator.FailsWithoutSomeRow"
    with pytest.raises(
        UserError, match="mine.yaml, keys estimator.*failed in fold .*a row is miss"
    ):
        # Only the fold that holds out the row with the least first input lacks it.
        run(stages, name, {"limit": float(first_inputs[:2].mean())})


def test_keys_of_an_argument_that_is_named_like_one_of_the_model():
    grid = {"n_components": [3], "estimator__n_components": [1, 2]}
    embedded = Parameters(**KEYS, model="mixture", form="reduced", grid=grid)
    assert embedded.points() == [{"n_components": 1}, {"n_components": 2}]
    assert embedded.grid_values("n_components") == (3,)
    assert Parameters(**KEYS, grid={"n_components": [3]}).grid_values("n_components") == ()


@each_case(
    ("keys", "key", "words"),
    [
        (
            {"estimator": "no_such_package.Ridge"},
            "estimator",
            "install the package no_such_package",
        ),
        ({"estimator": "sklearn.linear_model.Rigde"}, "estimator", "has no Rigde"),
        ({"estimator": "pathlib.Path"}, "estimator", "is no scikit-learn estimator"),
        ({"settings": {"n_component": 2}}, "settings.n_component", "write 'n_components'"),
        ({"grid": {"depth": [2]}}, "grid.depth", "has no argument 'depth'"),
        (
            {"settings": {"n_components": 2}, "grid": {"n_components": [1]}},
            "settings.n_components",
            "stands in settings and in grid",
        ),
        ({"grid": {"n_components": [1, "two"]}}, "grid.n_components", "refuses"),
        ({"weak": True}, "weak", "sample_weight a regressor whose fit takes it, such as Ridge"),
        (
            {"weak": True, "estimator": RIDGE, "grid": {"weak_weight": [0.1, 0]}},
            "grid.weak_weight",
            "0 is no weight of a weak row",
        ),
    ],
)
def test_what_cannot_work_is_found_before_anything_runs(keys, key, words):
    ((found_key, *message),) = Parameters(**KEYS | keys).faults()
    assert found_key == key
    assert words in " ".join(message)


def test_good_files_have_no_faults_and_know_their_tasks():
    assert Parameters(**KEYS, grid={"n_components": [1, 2]}).faults() == []
    regressor = Parameters(**KEYS)
    assert not regressor.reasons_against("series") and not regressor.predicts_scores("classes")
    classifier = Parameters(**KEYS | {"estimator": "sklearn.svm.SVC"})
    assert classifier.predicts_scores("classes") and not classifier.reasons_against("classes")
    assert "predicts classes" in classifier.reasons_against("regression")[0]
    with_model = Parameters(**KEYS | {"estimator": "sklearn.svm.SVC"}, model="mixture")
    assert "model and decoder must be null" in with_model.reasons_against("classes")[0]


def test_modules_of_the_library_that_are_named_are_known_to_the_rules():
    process = "workflow_lib.solvers.gaussian_process.WidthPerInputGaussianProcess"
    assert Parameters(**KEYS | {"estimator": process}).library_modules() == [
        "solvers.gaussian_process"
    ]
    assert Parameters(**KEYS).library_modules() == []
