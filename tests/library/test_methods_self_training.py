"""The stage of self-training, end to end, against each fold by hand."""

from pathlib import Path

import numpy as np
import pytest
from fit_methods import run_method
from sklearn.metrics.pairwise import rbf_kernel
from small_classes import ClassRows
from small_folds import heldout, refit

from workflow_lib.fitting.class_selection import one_hot, scaled_squared_error
from workflow_lib.fitting.input_kernels import InputKernel, alpha_unit
from workflow_lib.fitting.prepared_inputs import rbf_gamma
from workflow_lib.inputs.preparation import fit_preparation
from workflow_lib.methods.self_training import allowed_classes, self_train
from workflow_lib.protocol import splitting

N_CLASSES, N_INPUTS, DIMENSION, ROWS_PER_CLASS, N_FOLDS = 8, 5, 2, 34, 3
WEAK_SIZES, COUNTS = [20, 100], [2, 4]
GRID = {"widths": [0.5, 4.0], "alphas": [1e-4, 1e-2]}
FIXED = {"width": 1.5, "alpha": 3e-3, "n_components": 2}


class Classes(ClassRows):
    """Tiny classes whose vectors are in four clusters, their artifacts, and the stage."""

    def __init__(self, folder: Path, scale="none", examples=(2, 4), label_kind="one-hot", seed=0):
        generator = np.random.default_rng(seed)
        labels = generator.permutation(np.repeat(np.arange(N_CLASSES), ROWS_PER_CLASS))
        corners = 6.0 * np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
        noise = 0.3 * generator.normal(size=(N_CLASSES, DIMENSION))
        vectors = corners[np.arange(N_CLASSES) % 4] + noise
        centres = 1.1 * generator.normal(size=(N_CLASSES, N_INPUTS))
        X = centres[labels] + generator.normal(size=(len(labels), N_INPUTS))
        sizes = examples, WEAK_SIZES, 0.3, N_FOLDS, 5
        split = splitting.split_rows(len(X), *sizes, labels=labels)
        super().__init__(folder, X, labels, vectors, split, scale)
        self.annotate(COUNTS, label_kind)

    def run(self, **options) -> dict:
        """Run the stage and return its items."""
        settings = {
            "pseudo_classes": "soft",
            "kernel": "rbf",
            "components": "selected",
            "component_counts": COUNTS,
            "center": True,
            "one_example": FIXED,
        }
        annotated = {name: self.path(name) for name in ("models", "weak_labels")}
        return run_method("self_training", self.path, **annotated, **(settings | GRID | options))

    def prepared(self, kept, *others):
        preparation = fit_preparation(kept, self.scale)
        return [preparation.apply(rows) for rows in (kept, *others)]

    def labelled_score(self, size, width, alpha, center):
        """Return the error of the class scores of held-out rows without weak rows."""
        X, labels, folds = self.training(size)
        indicators = one_hot(labels, N_CLASSES)
        scores = heldout(refit, X, indicators, folds, width, alpha, self.scale, center)
        return ((scores - indicators) ** 2).sum()

    def self_trained(self, X, labels, others, allowed, width, alpha, **options):
        """Return the class scores of other rows after self-training."""
        weak = self.X[self.split["weak"][: len(allowed)]]
        kept, weak, others = self.prepared(X, weak, others)
        rows, gamma = np.vstack([kept, weak]), rbf_gamma(width, N_INPUTS)
        dual, intercept = self_train(
            rbf_kernel(rows, gamma=gamma), one_hot(labels, N_CLASSES), allowed, alpha, **options
        )
        return rbf_kernel(others, rows, gamma=gamma) @ dual + intercept

    def allowed(self, size, count, weak_size):
        model, vectors = self.mixture(size, count)
        return allowed_classes(
            self.weak(size, count, weak_size)[1], model.responsibilities(vectors)
        )


def name_of(size, weak_size, components="selected"):
    return f"n-{size}_w-{weak_size}_C-{components}"


@pytest.mark.parametrize("scale", ["none", "standard"])
@pytest.mark.parametrize("kind, center", [("soft", True), ("hard", False)])
def test_scores_and_choice_equal_those_of_each_fold_by_hand(tmp_path, kind, center, scale):
    classes = Classes(tmp_path, scale)
    items = classes.run(pseudo_classes=kind, center=center)
    sizes = classes.split["sizes"].tolist()
    assert sizes == [16, 32]
    assert items.keys() == {name_of(size, weak) for size in sizes for weak in WEAK_SIZES}
    for size in sizes:
        points = [(width, alpha) for width in GRID["widths"] for alpha in GRID["alphas"]]
        best = min(points, key=lambda point: classes.labelled_score(size, *point, center))
        X, labels, folds = classes.training(size)
        for weak_size in WEAK_SIZES:
            item = items[name_of(size, weak_size)]
            assert (item["width"], item["alpha_rest"]) == best
            assert item["n_components"] == max(COUNTS)
            allowed = classes.allowed(size, max(COUNTS), weak_size)
            options = {"kind": kind, "center": center}
            scores = heldout(classes.self_trained, X, labels, folds, allowed, *best, **options)
            np.testing.assert_allclose(item["heldout_outputs"], scores, atol=1e-8)
            assert item["score"] == pytest.approx(scaled_squared_error(scores, labels), rel=1e-8)
            tests = classes.X[classes.split["test"]]
            expected = classes.self_trained(X, labels, tests, allowed, *best, **options)
            np.testing.assert_allclose(item["test_targets"], expected, atol=1e-8)


def test_fixed_component_counts_are_run_one_by_one(tmp_path):
    classes = Classes(tmp_path, examples=(2,))
    selected, fixed = classes.run(), classes.run(components=COUNTS)
    names = {name_of(16, weak, count) for weak in WEAK_SIZES for count in COUNTS}
    assert fixed.keys() == names
    for weak_size in WEAK_SIZES:
        of_count = {count: fixed[name_of(16, weak_size, count)] for count in COUNTS}
        assert all(item["n_components"] == count for count, item in of_count.items())
        largest = selected[name_of(16, weak_size)]["test_targets"]
        np.testing.assert_array_equal(of_count[max(COUNTS)]["test_targets"], largest)
        assert not np.allclose(of_count[min(COUNTS)]["test_targets"], largest)


def test_with_one_example_per_class_nothing_is_selected(tmp_path):
    classes = Classes(tmp_path, examples=(1, 4))
    items = classes.run()
    X, labels, _ = classes.training(N_CLASSES)
    tests = classes.X[classes.split["test"]]
    for weak_size in WEAK_SIZES:
        item = items[name_of(N_CLASSES, weak_size)]
        point = (item["width"], item["alpha_rest"], item["n_components"])
        assert point == (FIXED["width"], FIXED["alpha"], FIXED["n_components"])
        assert "score" not in item
        allowed = classes.allowed(N_CLASSES, FIXED["n_components"], weak_size)
        expected = classes.self_trained(X, labels, tests, allowed, FIXED["width"], FIXED["alpha"])
        np.testing.assert_allclose(item["test_targets"], expected, atol=1e-8)
        others = items[name_of(4 * N_CLASSES, weak_size)]
        assert others["width"] in GRID["widths"] and others["n_components"] == max(COUNTS)
        assert np.isfinite(others["score"])
    by_count = classes.run(components=COUNTS)
    assert by_count[name_of(N_CLASSES, 20, 4)]["n_components"] == 4


def test_values_that_are_not_fixed_are_the_first_and_the_largest_count(tmp_path):
    classes = Classes(tmp_path, examples=(1,))
    item = classes.run(one_example={})[name_of(N_CLASSES, 20)]
    point = (item["width"], item["alpha_rest"], item["n_components"])
    assert point == (GRID["widths"][0], GRID["alphas"][0], max(COUNTS))


def test_soft_labels_of_clear_clusters_agree_with_one_hot_labels(tmp_path):
    (tmp_path / "one-hot").mkdir()
    (tmp_path / "soft").mkdir()
    one_hot_items = Classes(tmp_path / "one-hot").run()
    soft_items = Classes(tmp_path / "soft", label_kind="soft").run()
    for name, item in one_hot_items.items():
        np.testing.assert_array_equal(item["test_targets"], soft_items[name]["test_targets"])


@pytest.mark.parametrize("kind", ["hard", "soft"])
def test_more_weak_rows_find_more_classes(tmp_path, kind):
    gains = []
    for seed in range(4):
        folder = tmp_path / str(seed)
        folder.mkdir()
        classes = Classes(folder, examples=(1,), seed=seed)
        items = classes.run(pseudo_classes=kind, one_example=FIXED | {"n_components": 4})
        few, many = (items[name_of(N_CLASSES, weak_size)] for weak_size in WEAK_SIZES)
        gains.append(classes.accuracy(many) - classes.accuracy(few))
    assert np.mean(gains) > 0.0


def test_a_kernel_is_chosen_from_a_list_and_edges_are_reported(tmp_path):
    classes = Classes(tmp_path, "standard", examples=(1, 4))
    items = classes.run(kernels=["linear", "laplacian"], alphas=[1e-9, 1e-8])
    for weak_size in WEAK_SIZES:
        fixed = items[name_of(N_CLASSES, weak_size)]
        assert (fixed["kernel"], fixed["width"]) == ("laplacian", FIXED["width"])
        assert fixed["alpha_rest"] == FIXED["alpha"] and "edges" not in fixed
        chosen = items[name_of(4 * N_CLASSES, weak_size)]
        unit = alpha_unit(InputKernel(chosen["kernel"], chosen.get("width")), N_INPUTS)
        assert chosen["alpha_rest"] == pytest.approx(1e-7 * unit)
        assert "highest alpha" in chosen["edges"]
