"""Joint kernel support: the optimum, the density at nu = 1, and the stage by brute force."""

from itertools import product

import numpy as np
import pytest
from configuration_example import DATASET, EXPERIMENT
from fit_methods import run_method
from scipy.optimize import minimize
from scipy.stats import multivariate_normal
from sklearn.metrics.pairwise import rbf_kernel
from small_data import regression_data
from small_pipeline import Stages
from test_methods_classifiers import N_CLASSES, Classes

from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.fitting.class_selection import scaled_squared_error
from workflow_lib.fitting.prepared_inputs import rbf_gamma
from workflow_lib.measures.metrics import heldout_error
from workflow_lib.methods.contract.method_file import parameters_of
from workflow_lib.models.density import mean_shift
from workflow_lib.papers.blaschko.joint_support import fit_joint_support, weights_at
from workflow_lib.protocol import features_stage
from workflow_lib.run import capabilities
from workflow_lib.run.models import DatasetSettings, ExperimentSettings
from workflow_lib.run.named_settings import validated
from workflow_lib.solvers.output_kernels import output_unit

METHOD = "joint_kernel_support"
GRID = {"nu": [0.3, 1.0], "width": [0.3, 3.0], "output_width": [0.5, 2.0]}
SETTINGS = {"kernel": "rbf", "grid": GRID, "one_example": {}, "metric": "arrmse"}
POINTS = list(product(GRID["width"], GRID["output_width"], GRID["nu"]))


def pairs(n_rows=40, seed=0):
    generator = np.random.default_rng(seed)
    X, Y = generator.normal(size=(n_rows, 3)), generator.normal(size=(n_rows, 2))
    return X, Y, rbf_kernel(X, gamma=0.3), rbf_kernel(Y, gamma=0.5)


@pytest.mark.parametrize("nu", [0.02, 0.2, 0.55, 0.9])
def test_weights_are_those_of_the_quadratic_programme(nu):
    *_, K, L = pairs()
    J, most = K * L, 1.0 / (nu * len(K))
    alpha = fit_joint_support(K, L, nu)
    assert alpha.sum() == pytest.approx(1.0)
    assert alpha.min() >= 0.0 and alpha.max() <= most * (1 + 1e-9)
    # The conditions of the optimum: one level rho of the score at the weights between the bounds.
    scores, is_free = J @ alpha, (alpha > 1e-9) & (alpha < most * (1 - 1e-9))
    rho = np.median(scores[is_free])
    np.testing.assert_allclose(scores[is_free], rho, atol=1e-5)
    assert (scores[alpha <= 1e-9] >= rho - 1e-5).all()
    assert (scores[alpha >= most * (1 - 1e-9)] <= rho + 1e-5).all()
    solved = minimize(
        lambda a: a @ J @ a,
        np.full(len(K), 1.0 / len(K)),
        jac=lambda a: 2.0 * J @ a,
        bounds=[(0.0, most)] * len(K),
        constraints={"type": "eq", "fun": lambda a: a.sum() - 1.0, "jac": np.ones_like},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert solved.success
    np.testing.assert_allclose(alpha, solved.x, atol=1e-4)
    assert alpha @ J @ alpha == pytest.approx(solved.fun, rel=1e-6)


def test_at_one_the_score_is_the_density_of_parzen():
    X, Y, K, L = pairs()
    alpha = fit_joint_support(K, L, 1.0)
    x, y = np.array([0.3, -0.2, 1.0]), np.array([0.5, 0.1])
    score = alpha @ (rbf_kernel(X, x[None], gamma=0.3) * rbf_kernel(Y, y[None], gamma=0.5))[:, 0]
    variances = [1.0 / (2 * 0.3)] * 3 + [1.0 / (2 * 0.5)] * 2
    normal = multivariate_normal(np.zeros(5), np.diag(variances))
    density = normal.pdf(np.hstack([X - x, Y - y])).mean()
    assert score == pytest.approx(density / normal.pdf(np.zeros(5)), rel=1e-12)
    # The weights of smaller values tend to it.
    np.testing.assert_allclose(fit_joint_support(K, L, 1.0 - 1e-9), alpha, rtol=1e-6)


@pytest.mark.parametrize("nu", [0.0, -0.1, 1.1, np.nan])
def test_other_values_of_nu_are_refused(nu):
    with pytest.raises(ValueError, match="nu must be above 0 and at most 1"):
        fit_joint_support(np.eye(2), np.eye(2), nu)


def test_one_row_and_rows_of_one_class_have_weights():
    assert fit_joint_support(np.eye(1), np.eye(1), 0.3) == pytest.approx([1.0])
    alpha = fit_joint_support(np.eye(4), np.ones((4, 4)), 0.5)
    np.testing.assert_allclose(alpha, 0.25, atol=1e-6)


def test_inputs_far_from_all_others_have_the_weights_of_no_input():
    alpha = np.array([0.2, 0.3, 0.5])
    K = np.array([[0.0, 0.0, 0.0], [1e-300, 3e-300, 0.0], [0.5, 1.0, 1.0]])
    expected = [alpha, [2 / 11, 9 / 11, 0.0], [0.1 / 0.9, 0.3 / 0.9, 0.5 / 0.9]]
    np.testing.assert_allclose(weights_at(alpha, K), expected, rtol=1e-12)
    hidden = weights_at(np.array([0.0, 0.4, 0.6]), np.array([[1.0, 0.0, 0.0]]))
    np.testing.assert_allclose(hidden, [[0.0, 0.4, 0.6]])


def class_scores(vectors, width, output_width, nu):
    """Return the function that predicts class scores, written out."""
    gamma = (output_width * output_unit(vectors)) ** -2

    def scores_of(X, labels, others):
        K = rbf_kernel(X, gamma=rbf_gamma(width, X.shape[1]))
        alpha = fit_joint_support(K, rbf_kernel(vectors[labels], gamma=gamma), nu)
        to_others = rbf_kernel(others, X, gamma=rbf_gamma(width, X.shape[1]))
        scores = np.zeros((len(others), N_CLASSES))
        for index, weight in enumerate(alpha):
            of_classes = rbf_kernel(vectors, vectors[labels[index]][None], gamma=gamma)[:, 0]
            scores += weight * to_others[:, index][:, None] * of_classes
        return scores / scores.sum(axis=1)[:, None]

    return scores_of


@pytest.mark.parametrize("row_errors", ["mean", "median"])
@pytest.mark.parametrize("scale", ["none", "standard"])
def test_classes_and_choice_equal_those_of_each_fold_by_hand(tmp_path, scale, row_errors):
    classes = Classes(tmp_path, scale)
    vectors = read_artifact(classes.path("dataset"), "dataset")["classes"]["vectors"]
    settings = SETTINGS | {"preimage": "mean_shift", "row_errors": row_errors}
    items = run_method(METHOD, classes.path, **settings)
    for size in classes.split["sizes"].tolist():
        found = {}
        for point in POINTS:
            labels, heldout, tests = classes.expected(size, class_scores(vectors, *point))
            found[point] = scaled_squared_error(heldout, labels, row_errors), heldout, tests
        best = min(found, key=lambda point: found[point][0])
        item = items[f"n-{size}_w-0_C-selected"]
        assert tuple(item[name] for name in ("width", "output_width", "nu")) == best
        score, heldout, tests = found[best]
        # The machines stop at a tolerance, in the library as in the reference.
        assert item["score"] == pytest.approx(score, rel=1e-5)
        np.testing.assert_allclose(item["heldout_outputs"], heldout, rtol=1e-4)
        np.testing.assert_allclose(item["test_targets"], tests, rtol=1e-4)
        assert "training_targets" in item


def test_with_one_example_fixed_values_are_used(tmp_path):
    fixed = {"nu": 0.7, "width": 0.9, "output_width": 0.8}
    settings = SETTINGS | {"preimage": "candidates", "row_errors": "mean", "one_example": fixed}
    items = run_method(METHOD, Classes(tmp_path, examples=(1, 3)).path, **settings)
    item = items[f"n-{N_CLASSES}_w-0_C-selected"]
    assert {name: item[name] for name in fixed} == fixed
    assert "score" not in item
    assert items[f"n-{3 * N_CLASSES}_w-0_C-selected"]["score"] < 1.0


@pytest.mark.parametrize("preimage", ["candidates", "mean_shift"])
def test_outputs_and_choice_equal_those_of_each_fold_by_hand(tmp_path, preimage):
    X, Y = regression_data(70, n_clusters=4, spread=2.0)
    stages = Stages(tmp_path, X, Y, sizes=[30]).prepare()
    settings = SETTINGS | {"preimage": preimage, "row_errors": "mean"}
    (item,) = run_method(METHOD, stages.path, **settings).values()
    split = stages.tree("split")
    rows, folds = split["train"], split["folds"]["n-30"]

    def predicted(point, kept, others, **limits):
        width, output_width, nu = point
        gamma = (output_width * output_unit(Y[kept])) ** -2
        K = rbf_kernel(X[kept], gamma=rbf_gamma(width, X.shape[1]))
        L = rbf_kernel(Y[kept], gamma=gamma)
        alpha = fit_joint_support(K, L, nu)
        weights = alpha * rbf_kernel(X[others], X[kept], gamma=rbf_gamma(width, X.shape[1]))
        if preimage == "candidates":
            return Y[kept][(weights @ L).argmax(axis=1)]
        weights /= weights.sum(axis=1)[:, None]
        return mean_shift(weights, Y[kept], gamma, weights @ Y[kept], **limits)

    found = {}
    for point in POINTS:
        heldout = np.empty((30, Y.shape[1]))
        for fold in range(4):
            arguments = point, rows[folds != fold], rows[folds == fold]
            heldout[folds == fold] = predicted(*arguments, max_iter=15, tolerance=1e-3)
        found[point] = heldout_error(Y[rows], heldout, folds, "arrmse")
    best = min(found, key=found.get)
    assert tuple(item[name] for name in ("width", "output_width", "nu")) == best
    assert item["score"] == pytest.approx(found[best], rel=1e-5)
    expected = predicted(best, rows, split["test"])
    np.testing.assert_allclose(item["test_targets"], expected, rtol=1e-4, atol=1e-6)
    for fold in range(4):
        expected = predicted(best, rows[folds != fold], rows[folds == fold])
        heldout = item["heldout_outputs"][folds == fold]
        np.testing.assert_allclose(heldout, expected, rtol=1e-4, atol=1e-6)
    assert ("training_targets" in item) == (preimage == "candidates")


FILE = {"label": "Pairs", "summary": "Pairs.", "color": "#000000", "marker": "o"}
FILE |= {"regressor": METHOD, "preimage": "candidates", "grid": GRID}


@pytest.mark.parametrize("nu", [0, -0.2, 1.5])
def test_the_configuration_refuses_other_values_of_nu(nu):
    _, errors = validated(
        parameters_of(METHOD), FILE | {"grid": GRID | {"nu": [0.5, nu]}}, "x.yaml"
    )
    (message,) = map(str, errors)
    assert message.startswith(f"x.yaml, key grid.nu[1]: found {nu}. Expected a number ")


def test_gram_matrices_are_refused_because_they_may_be_negative():
    method, errors = validated(parameters_of(METHOD), FILE, "x.yaml")
    assert errors == []
    experiment = ExperimentSettings(**EXPERIMENT)
    gram = DatasetSettings(**DATASET | {"inputs": {"kernel": "precomputed", "scale": "none"}})
    assert "not negative" in " ".join(capabilities.check(method, None, gram, experiment))
    assert capabilities.check(method, None, DatasetSettings(**DATASET), experiment) == []


@pytest.mark.parametrize("row_errors", ["mean", "median"])
def test_fixed_values_are_used_where_no_point_is_better_than_equal_scores(tmp_path, row_errors):
    fixed = {"nu": 0.7, "width": 0.9, "output_width": 0.8}
    settings = SETTINGS | {"preimage": "candidates", "row_errors": row_errors}
    classes = Classes(tmp_path, examples=(2,))
    # Each row is near rows of another class alone.
    split, labels = classes.split, classes.labels
    tree = read_artifact(classes.path("dataset"), "dataset")
    tree["inputs"] = (
        9.0
        * np.eye(N_CLASSES)[
            (labels + np.isin(np.arange(len(labels)), split["train"][:N_CLASSES])) % N_CLASSES
        ]
    )
    write_artifact(classes.path("dataset"), tree, "dataset")
    features_stage.run(*classes.source, classes.path("features"), "none", "rbf", "none")
    (item,) = run_method(METHOD, classes.path, **settings | {"one_example": fixed}).values()
    assert {name: item[name] for name in fixed} == fixed
    assert item["score"] >= 1.0
