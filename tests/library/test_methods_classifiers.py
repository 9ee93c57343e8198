"""The stage of classifiers equals scikit-learn's classifiers with the same choice."""

from pathlib import Path

import numpy as np
import pytest
from fit_methods import run_method
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC
from small_classes import ClassRows
from small_folds import heldout

from workflow_lib.fitting.class_selection import squared_error
from workflow_lib.fitting.prepared_inputs import rbf_gamma
from workflow_lib.inputs.preparation import fit_preparation
from workflow_lib.methods.contract.base import method_modules
from workflow_lib.protocol import splitting
from workflow_lib.solvers.classifiers import class_probabilities, fit_perceptron

N_CLASSES, N_INPUTS, ROWS_PER_CLASS, N_FOLDS, SEED = 4, 3, 18, 3, 7
SVM = "support_vector_machine"
GRID = {
    "width": [0.3, 3.0],
    "cost": [0.5, 20.0],
    "l2_penalty": [0.01, 30.0],
    "max_features": [0.34, 1.0],
    "n_trees": 15,
}
FIXED = {"width": 0.9, "cost": 4.0, "l2_penalty": 2.0, "max_features": 0.67}
PARAMETERS = {
    SVM: ("width", "cost"),
    "perceptron": ("l2_penalty",),
    "random_forest_classifier": ("max_features",),
}


class Classes(ClassRows):
    """Tiny classes that overlap, their split and features, and the stage."""

    def __init__(self, folder: Path, scale="none", examples=(3, 6), products=False):
        generator = np.random.default_rng(0)
        labels = generator.permutation(np.repeat(np.arange(N_CLASSES), ROWS_PER_CLASS))
        centres = 1.3 * generator.normal(size=(N_CLASSES, N_INPUTS))
        X = centres[labels] + generator.normal(size=(len(labels), N_INPUTS))
        vectors = generator.normal(size=(N_CLASSES, 2))
        split = splitting.split_rows(len(X), examples, [], 0.4, N_FOLDS, 5, labels=labels)
        super().__init__(folder, X, labels, vectors, split, scale, products)

    def run(self, classifier: str, **options) -> dict:
        """Run the stage and return its items."""
        settings = {"kernel": "rbf", "grid": GRID, "one_example": FIXED, "seed": SEED} | options
        fields = method_modules()[classifier].settings
        taken = {name: value for name, value in settings.items() if name in fields}
        return run_method(classifier, self.path, **taken)

    def prepared(self, kept, others):
        preparation = fit_preparation(kept, self.scale)
        return preparation.apply(kept), preparation.apply(others)

    def expected(self, size, scores_of):
        """Return out-of-fold and test scores of a function of training rows, labels and others."""
        X, labels, folds = self.training(size)

        def predict(kept, labels, others):
            kept, others = self.prepared(kept, others)
            return scores_of(kept, labels, others)

        tests = predict(X, labels, self.tests)
        return labels, heldout(predict, X, labels, folds), tests


def machine_scores(width, cost):
    def scores_of(X, labels, others):
        scores = np.empty((len(others), N_CLASSES))
        for label in range(N_CLASSES):
            machine = SVC(C=cost, gamma=rbf_gamma(width, N_INPUTS)).fit(X, labels == label)
            scores[:, label] = machine.decision_function(others)
        return scores

    return scores_of


def perceptron_scores(alpha):
    def scores_of(X, labels, others):
        return class_probabilities(fit_perceptron(X, labels, alpha, SEED), others, N_CLASSES)

    return scores_of


@pytest.mark.parametrize("scale", ["none", "standard"])
@pytest.mark.parametrize("classifier", [SVM, "perceptron"])
def test_scores_and_choice_equal_those_of_each_fold_by_hand(tmp_path, classifier, scale):
    classes = Classes(tmp_path, scale)
    items = classes.run(classifier)
    sizes = classes.split["sizes"].tolist()
    assert sizes == [12, 24] and len(items) == 2
    points = {
        SVM: [((w, c), machine_scores(w, c)) for w in GRID["width"] for c in GRID["cost"]],
        "perceptron": [((a,), perceptron_scores(a)) for a in GRID["l2_penalty"]],
    }[classifier]
    for size in sizes:
        item = items[f"n-{size}_w-0_C-selected"]
        found = {}
        for point, scores_of in points:
            labels, known, tests = classes.expected(size, scores_of)
            # Decision values are 1 and -1 where the margin is met, probabilities 1 and 0.
            indicators = (known + 1.0) / 2.0 if classifier == SVM else known
            found[point] = squared_error(indicators, labels), known, tests
        best = min(found, key=lambda point: found[point][0])
        assert tuple(item[name] for name in PARAMETERS[classifier]) == best
        score, known, tests = found[best]
        # The machines stop at a tolerance, in the library as in the reference.
        assert item["score"] == pytest.approx(score, rel=1e-4)
        np.testing.assert_allclose(item["heldout_outputs"], known, atol=1e-3)
        np.testing.assert_allclose(item["test_targets"], tests, atol=1e-3)


def test_kernels_of_machines_compete(tmp_path):
    classes = Classes(tmp_path, "standard")
    alone = {name: classes.run(SVM, kernels=[name]) for name in ("linear", "rbf")}
    both = classes.run(SVM, kernels=["linear", "rbf"])
    for name, item in both.items():
        scores = {kernel: items[name]["score"] for kernel, items in alone.items()}
        assert item["kernel"] == min(scores, key=scores.get)
        assert item["score"] == min(scores.values())
        expected = alone[item["kernel"]][name]
        np.testing.assert_array_equal(item["test_targets"], expected["test_targets"])
        assert ("width" in item) == ("width" in expected)
    # The cost of the linear kernel is divided by the number of inputs.
    plain = classes.run(SVM, kernel="linear", grid=GRID | {"cost": [2.0]})
    relative = classes.run(SVM, kernels=["linear"], grid=GRID | {"cost": [2.0 * N_INPUTS]})
    for name, item in plain.items():
        np.testing.assert_array_equal(relative[name]["test_targets"], item["test_targets"])


def test_forests_are_selected_out_of_bag(tmp_path):
    classes = Classes(tmp_path, "standard")
    items = classes.run("random_forest_classifier")
    for size in (12, 24):
        item, rows = items[f"n-{size}_w-0_C-selected"], classes.split["train"][:size]
        X, tests = classes.prepared(classes.X[rows], classes.X[classes.split["test"]])
        labels, forests = classes.labels[rows], {}
        for share in GRID["max_features"]:
            forest = RandomForestClassifier(
                GRID["n_trees"], max_features=share, random_state=SEED, oob_score=True
            )
            forests[share] = forest.fit(X, labels)
        scores = {
            share: squared_error(forest.oob_decision_function_, labels)
            for share, forest in forests.items()
        }
        best = min(scores, key=scores.get)
        assert item["max_features"] == best
        assert item["score"] == pytest.approx(scores[best], rel=1e-12)
        forest = forests[best]
        expected = forest.oob_decision_function_
        np.testing.assert_allclose(item["heldout_outputs"], expected, rtol=1e-12)
        np.testing.assert_allclose(item["test_targets"], forest.predict_proba(tests), rtol=1e-12)


@pytest.mark.parametrize("classifier", PARAMETERS)
def test_with_one_example_per_class_nothing_is_selected(tmp_path, classifier):
    classes = Classes(tmp_path, examples=(1, 4))
    items = classes.run(classifier)
    assert len(items) == 2
    one, four = (items[f"n-{count * N_CLASSES}_w-0_C-selected"] for count in (1, 4))
    for name in PARAMETERS[classifier]:
        assert one[name] == FIXED[name] and four[name] in GRID[name]
    assert "score" not in one and np.isfinite(four["score"])
    single = {name: [FIXED[name]] for name in PARAMETERS[classifier]}
    selected_from_one = classes.run(classifier, grid=single | {"n_trees": GRID["n_trees"]})
    alone = selected_from_one[f"n-{N_CLASSES}_w-0_C-selected"]
    np.testing.assert_array_equal(one["test_targets"], alone["test_targets"])


@pytest.mark.parametrize("classifier", PARAMETERS)
def test_values_that_are_not_fixed_are_the_first_of_the_grid(tmp_path, classifier):
    classes = Classes(tmp_path, examples=(1,))
    (item,) = classes.run(classifier, one_example={}).values()
    for name in PARAMETERS[classifier]:
        assert item[name] == GRID[name][0]


@pytest.mark.parametrize("classifier", [SVM, "perceptron"])
def test_a_held_out_class_without_another_example_has_the_lowest_score(tmp_path, classifier):
    classes = Classes(tmp_path, examples=(1,))
    (item,) = classes.run(classifier).values()
    labels = classes.labels[classes.split["train"][:N_CLASSES]]
    own = item["heldout_outputs"][np.arange(N_CLASSES), labels]
    np.testing.assert_array_equal(own, item["heldout_outputs"].min(axis=1))


def test_machines_need_inner_products_only(tmp_path):
    (tmp_path / "rows").mkdir()
    (tmp_path / "products").mkdir()
    rows = Classes(tmp_path / "rows").run(SVM, kernel="linear")
    products = Classes(tmp_path / "products", products=True).run(SVM, kernel="linear")
    for name, item in rows.items():
        assert "width" not in item and item["cost"] == products[name]["cost"]
        expected = products[name]["test_targets"]
        np.testing.assert_allclose(item["test_targets"], expected, atol=1e-6)


def test_the_kernel_of_texts_and_products_has_the_width_of_one_column(tmp_path):
    classes = Classes(tmp_path, products=True, examples=(5,))
    (item,) = classes.run(SVM, grid=GRID | {"width": [0.4], "cost": [3.0]}).values()
    rows = classes.split["train"]
    X, tests, labels = classes.X[rows], classes.X[classes.split["test"]], classes.labels[rows]
    gamma = rbf_gamma(0.4, 1)
    for label in range(N_CLASSES):
        machine = SVC(C=3.0, kernel="precomputed").fit(rbf_kernel(X, gamma=gamma), labels == label)
        expected = machine.decision_function(rbf_kernel(tests, X, gamma=gamma))
        np.testing.assert_allclose(item["test_targets"][:, label], expected, atol=1e-6)
