"""The stage of kernel ridge regression on classes, end to end."""

from itertools import product, starmap
from pathlib import Path

import numpy as np
import pytest
from fit_methods import run_method
from small_classes import ClassRows
from small_folds import heldout, refit
from small_pipeline import assert_same_tree

from workflow_lib import KernelRidgeRegressor
from workflow_lib.core.artifacts import read_artifact
from workflow_lib.fitting.class_selection import (
    heldout_class_scores,
    one_hot,
    scaled_squared_error,
    squared_error,
)
from workflow_lib.fitting.input_kernels import InputKernel, alpha_unit
from workflow_lib.fitting.prepared_inputs import kernel_gamma, prepared_inputs, rbf_gamma
from workflow_lib.inputs.preparation import fit_preparation
from workflow_lib.models.class_decoders import CLASS_DECODERS
from workflow_lib.models.class_decoding import nearest_scores
from workflow_lib.models.forward import ForwardEmbedding
from workflow_lib.solvers.iokr import IOKRegressor

N_CLASSES, DIMENSION, N_INPUTS, ROWS_PER_CLASS, N_TEST = 6, 3, 4, 24, 8
EXAMPLES = [1, 3, 5]
WIDTHS = [0.2, 2.0]
ALPHAS = [1e-3, 1e-2, 0.3]
ONE_EXAMPLE = {
    "width": 0.7,
    "alpha": 0.02,
    "output_width": 0.9,
    "n_components": 3,
    "block_weight": 0.4,
    "weak_weight": 0.25,
}


def class_vectors():
    """Return vectors of three clusters of two classes."""
    generator = np.random.default_rng(5)
    centres = 3.0 * generator.normal(size=(3, DIMENSION))
    return np.repeat(centres, 2, axis=0) + 0.4 * generator.normal(size=(N_CLASSES, DIMENSION))


def class_inputs(labels):
    """Return noisy inputs that depend on the class vector."""
    generator = np.random.default_rng(6)
    X = class_vectors()[labels] @ generator.normal(size=(DIMENSION, N_INPUTS))
    return np.tanh(X / 3.0) + 0.5 * generator.normal(size=X.shape)


def striped_inputs(labels):
    """Return inputs in stripes, one per cluster of classes, long in a direction without effect.

    A few examples leave most of a stripe unknown; weak rows fill it.
    """
    generator = np.random.default_rng(8)
    position = generator.uniform(-3.0, 3.0, size=len(labels))
    stripe, side = labels // 2 - 1.0, labels % 2 - 0.5
    return np.column_stack(
        [position, stripe, side, np.zeros(len(labels))]
    ) + 0.15 * generator.normal(size=(len(labels), N_INPUTS))


class Classes(ClassRows):
    """Tiny classes, their split, and the artifacts that the stage reads."""

    def __init__(
        self, folder: Path, examples=EXAMPLES, weak_sizes=(), scale="none", inputs=class_inputs
    ):
        labels = np.repeat(np.arange(N_CLASSES), ROWS_PER_CLASS)
        rows = np.random.default_rng(3).permuted(
            np.arange(len(labels)).reshape(N_CLASSES, ROWS_PER_CLASS), axis=1
        )
        most = max(examples)
        weak = np.random.default_rng(4).permutation(rows[:, N_TEST + most :].ravel())
        split = {
            "test": rows[:, :N_TEST].ravel(),
            "train": rows[:, N_TEST : N_TEST + most].T.ravel(),
            "weak": weak,
            "sizes": np.array(examples) * N_CLASSES,
            "examples": np.array(examples),
            "weak_sizes": np.array(weak_sizes, dtype=int),
            "folds": {
                f"n-{N_CLASSES * count}": np.concatenate(
                    [(np.arange(N_CLASSES) + index) % 3 for index in range(count)]
                )
                for count in examples
            },
        }
        losses = {"class_cost": 1.0 - np.eye(N_CLASSES)}
        arguments = inputs(labels), labels, class_vectors(), split, scale
        super().__init__(folder, *arguments, losses=losses)
        self.annotate([2, 3])

    def run(self, decoder: str, **options) -> dict:
        """Run the stage and return its items."""
        settings = {
            "models": self.path("models"),
            "weak_labels": None,
            "kernel": "rbf",
            "widths": WIDTHS,
            "alphas": ALPHAS,
            "output_widths": [0.3, 1.0, 3.0],
            "components": "selected",
            "component_counts": [2, 3],
            "block_weights": [0.0, 0.3, 3.0],
            "weak_weights": [],
            "weak": False,
            "center": True,
            "one_example": ONE_EXAMPLE,
        } | options
        return run_method("class_ridge", self.path, decoder=decoder, **settings)

    def run_weak(self, decoder: str, **options) -> dict:
        weak = {"weak": True, "weak_labels": self.path("weak_labels"), "weak_weights": [0.1, 1.0]}
        return self.run(decoder, **(weak | options))


def name_of(size, weak_size=0, components="selected"):
    return f"n-{size}_w-{weak_size}_C-{components}"


def weak_refit(X, T, X_weak, T_weak, X_new, width, alpha, weak_weight):
    """Return predictions of eq. (14), from the normal equations of its weighted squares."""
    rows = np.vstack([X, X_weak])
    gamma = rbf_gamma(width, N_INPUTS)

    def gram(A, B):
        return np.exp(-gamma * ((A[:, None] - B) ** 2).sum(axis=2))

    weights = np.concatenate([np.ones(len(X)), np.full(len(X_weak), weak_weight)])
    K, n = gram(rows, rows), len(rows)
    # sum_i w_i ||t_i - K_i a - b||^2 + 2 l penalty a'K a, set to zero in a and b.
    system = np.zeros((n + 1, n + 1))
    system[:n, :n] = K * weights @ K + 2.0 * len(X) * alpha * K
    system[:n, n] = K @ weights
    system[n, :n], system[n, n] = K @ weights, weights.sum()
    targets = weights[:, None] * np.vstack([T, T_weak])
    right = np.vstack([K @ targets, targets.sum(axis=0)])
    solution = np.linalg.lstsq(system, right, rcond=1e-15)[0]
    return gram(X_new, rows) @ solution[:n] + solution[n]


def indicator_choice(X, labels, folds, scale="none", center=True):
    """Return width, penalty and out-of-fold scores of the class indicators, by a plain loop."""
    Z = one_hot(labels, N_CLASSES)
    best = None
    for width, alpha in product(WIDTHS, ALPHAS):
        scores = heldout(refit, X, Z, folds, width, alpha, scale, center)
        error = ((scores - Z) ** 2).sum()
        if best is None or error < best[0]:
            best = error, width, alpha, scores
    return best


@pytest.fixture(scope="module")
def classes(tmp_path_factory):
    return Classes(tmp_path_factory.mktemp("classes"), weak_sizes=[20, 50])


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("scale", ["none", "standard"])
def test_one_hot_scores_equal_those_of_a_plain_loop(tmp_path, scale, center):
    classes = Classes(tmp_path, examples=[3, 5], scale=scale)
    regression = classes.run("one_hot", models=None, center=center)
    assert list(regression) == [name_of(18), name_of(30)]
    for size in (18, 30):
        X, labels, folds = classes.training(size)
        _, width, alpha, scores = indicator_choice(X, labels, folds, scale, center)
        item = regression[name_of(size)]
        assert (item["width"], item["alpha_rest"]) == (width, alpha)
        assert item["score"] == pytest.approx(scaled_squared_error(scores, labels), rel=1e-8)
        np.testing.assert_allclose(item["heldout_outputs"], scores, atol=1e-9)
        Z = one_hot(labels, N_CLASSES)
        expected = refit(X, Z, classes.tests, width, alpha, scale, center)
        np.testing.assert_allclose(item["test_targets"], expected, atol=1e-9)


def test_a_regression_of_class_vectors_is_a_decoding_of_the_one_hot_scores(classes):
    item = classes.run("one_hot", widths=[0.5], alphas=[0.01])[name_of(18)]
    X, labels, _ = classes.training(18)
    outputs = refit(X, classes.vectors[labels], classes.tests, 0.5, 0.01)
    np.testing.assert_allclose(item["test_targets"] @ classes.vectors, outputs, atol=1e-10)


def cosines_around_the_mean(predicted, codes, weights=1.0):
    """Return the cosines between predictions and codes, around the mean code, by plain sums."""
    p, c = predicted - codes.mean(axis=0), codes - codes.mean(axis=0)
    lengths = np.sqrt((weights * p**2).sum(axis=1))[:, None] * np.sqrt((weights * c**2).sum(axis=1))
    return (weights * p) @ c.T / lengths


def block_cosines(scores, predicted, memberships, weight):
    """Return `cosines_around_the_mean` of concatenated indicators and memberships."""
    codes = np.hstack([np.eye(N_CLASSES), memberships])
    weights = np.repeat([1.0, weight], [N_CLASSES, memberships.shape[1]])
    return cosines_around_the_mean(np.hstack([scores, predicted]), codes, weights)


def test_candidates_are_at_the_smallest_angles_to_the_predicted_fisher_embedding(classes):
    item = classes.run(
        "candidates", widths=[0.5], alphas=[0.01], component_counts=[3], block_weights=[0.3]
    )[name_of(18)]
    X, labels, folds = classes.training(18)
    embedding, vectors = classes.mixture(18, 3)
    codes = ForwardEmbedding(embedding).transform(vectors)
    weights = np.array([0.3] * 3 + [1.0] * DIMENSION)

    def cosines(predicted):
        return cosines_around_the_mean(predicted, codes, weights)

    def compared(scores):
        return scores - scores[:, :1]

    expected = cosines(refit(X, codes[labels], classes.tests, 0.5, 0.01))
    np.testing.assert_allclose(compared(item["test_targets"]), compared(expected), atol=1e-9)
    predicted = heldout(refit, X, codes[labels], folds, 0.5, 0.01)
    np.testing.assert_allclose(
        compared(item["heldout_outputs"]), compared(cosines(predicted)), atol=1e-8
    )
    assert item["score"] == pytest.approx(
        scaled_squared_error(cosines(predicted), labels), rel=1e-8
    )


def test_output_kernel_finds_the_classes_of_output_kernel_regression(classes):
    item = classes.run("output_kernel", models=None, output_widths=[0.8])[name_of(30)]
    X, labels, _ = classes.training(30)
    pairs = [
        ((classes.vectors[a] - classes.vectors[b]) ** 2).sum()
        for a in range(N_CLASSES)
        for b in range(a)
    ]
    reference = IOKRegressor(
        gamma=rbf_gamma(item["width"], N_INPUTS),
        alpha=item["alpha_rest"],
        output_gamma=1.0 / (0.8**2 * np.median(pairs)),
        preimage="candidates",
    ).fit(X, classes.vectors[labels])
    expected = reference.predict(classes.tests, candidates=classes.vectors)
    found = classes.vectors[item["test_targets"].argmax(axis=1)]
    np.testing.assert_array_equal(found, expected)
    assert item["output_width"] == 0.8


@pytest.mark.parametrize("decoder", ["output_kernel", "candidates"])
def test_parameters_of_a_decoder_are_those_of_the_least_error_among_single_runs(classes, decoder):
    widths, counts, weights = [0.3, 1.0, 3.0], [2, 3], [0.0, 0.3, 3.0]
    if decoder == "output_kernel":
        grid = [{"output_widths": [width]} for width in widths]
    else:
        grid = [
            {"component_counts": [count], "block_weights": [weight]}
            for count, weight in product(counts, weights)
        ]
    chosen = classes.run(decoder)
    singles = [classes.run(decoder, **point) for point in grid]
    for size in (18, 30):
        best = min((single[name_of(size)] for single in singles), key=lambda item: item["score"])
        assert_same_tree(chosen[name_of(size)], best)
    assert len({single[name_of(30)]["score"] for single in singles}) > 1


def test_a_block_without_weak_rows_and_with_the_same_penalty_is_a_decoding_of_the_scores(classes):
    options = {"widths": [0.5], "alphas": [0.01], "component_counts": [3]}
    item = classes.run("class_block", block_weights=[0.7], **options)[name_of(18)]
    model, vectors = classes.mixture(18, 3)
    Q = model.responsibilities(vectors)
    X, labels, _ = classes.training(18)
    scores = refit(X, one_hot(labels, N_CLASSES), classes.tests, 0.5, 0.01)
    np.testing.assert_allclose(item["test_memberships"], scores @ Q, atol=1e-10)
    expected = block_cosines(scores, scores @ Q, Q, 0.7)
    np.testing.assert_allclose(item["test_targets"], expected, atol=1e-9)
    assert (item["alpha_rest"], item["alpha_leading"], item["block_weight"]) == (0.01, 0.01, 0.7)
    assert "weak_weight" not in item


def test_a_membership_block_of_no_weight_leaves_the_one_hot_decision(classes):
    options = {"one_example": ONE_EXAMPLE | {"block_weight": 0.0}, "block_weights": [0.0]}
    block, indicators = classes.run("class_block", **options), classes.run("one_hot")
    for name, item in block.items():
        scores = indicators[name]["test_targets"]
        expected = cosines_around_the_mean(scores, np.eye(N_CLASSES))
        np.testing.assert_allclose(item["test_targets"], expected, atol=1e-9)
        decided = item["test_targets"].argmax(axis=1)
        np.testing.assert_array_equal(decided, scores.argmax(axis=1))


def test_the_membership_block_has_the_penalty_of_its_own_least_squared_error(classes):
    item = classes.run("class_block", component_counts=[3])[name_of(30)]
    X, labels, folds = classes.training(30)
    model, vectors = classes.mixture(30, 3)
    targets = model.responsibilities(vectors)[labels]

    def error(alpha):
        predicted = heldout(refit, X, targets, folds, item["width"], alpha)
        return ((predicted - targets) ** 2).sum()

    errors = [error(alpha) for alpha in ALPHAS]
    assert item["alpha_leading"] == ALPHAS[int(np.argmin(errors))]
    expected = refit(X, targets, classes.tests, item["width"], item["alpha_leading"])
    np.testing.assert_allclose(item["test_memberships"], expected, atol=1e-9)


@pytest.mark.parametrize("weak_size", [20, 40])
@pytest.mark.parametrize("scale", ["none", "standard"])
def test_weak_rows_join_the_membership_block_as_in_a_plain_weighted_regression(
    tmp_path, scale, weak_size
):
    classes = Classes(tmp_path, examples=[3], weak_sizes=[20, 40], scale=scale)
    regression = classes.run_weak("class_block", component_counts=[3], block_weights=[0.7])
    assert regression.keys() == {name_of(18, 20), name_of(18, 40)}
    item = regression[name_of(18, weak_size)]
    X, labels, folds = classes.training(18)
    model, vectors = classes.mixture(18, 3)
    Q = model.responsibilities(vectors)
    targets = Q[labels]
    X_weak, weak_targets = classes.weak(18, 3, weak_size)

    def predict(X, targets, X_new, *point):
        preparation = fit_preparation(X, scale)
        rows = preparation.apply(X), targets, preparation.apply(X_weak), weak_targets
        return weak_refit(*rows, preparation.apply(X_new), item["width"], *point)

    by_point = {
        point: heldout(predict, X, targets, folds, *point) for point in product(ALPHAS, [0.1, 1.0])
    }
    best = min(by_point, key=lambda point: ((by_point[point] - targets) ** 2).sum())
    assert (item["alpha_leading"], item["weak_weight"]) == best
    expected = predict(X, targets, classes.tests, *best)
    np.testing.assert_allclose(item["test_memberships"], expected, atol=1e-6)
    _, width, alpha, scores = indicator_choice(X, labels, folds, scale)
    assert (item["width"], item["alpha_rest"]) == (width, alpha)
    decoded = block_cosines(scores, by_point[best], Q, 0.7)
    np.testing.assert_allclose(item["heldout_outputs"], decoded, atol=1e-6)
    assert item["score"] == pytest.approx(scaled_squared_error(decoded, labels), rel=1e-5)


def test_weak_rows_help_where_one_example_does_not_determine_the_component(tmp_path):
    classes = Classes(tmp_path, examples=[1], weak_sizes=[90], inputs=striped_inputs)
    options = {"widths": [16.0], "alphas": [1e-3], "block_weights": [1.0], "one_example": {}}
    options["component_counts"] = [3]
    few = classes.run("class_block", **options)[name_of(6)]
    many = classes.run_weak("class_block", weak_weights=[1.0], **options)[name_of(6, 90)]
    model, vectors = classes.mixture(6, 3)
    of_class = model.responsibilities(vectors).argmax(axis=1)
    of_tests = of_class[classes.labels[classes.split["test"]]]

    def share_of_components(item):
        return (item["test_memberships"].argmax(axis=1) == of_tests).mean()

    assert share_of_components(many) > 0.9 > 0.8 > share_of_components(few)
    assert classes.accuracy(many) > classes.accuracy(few) + 0.1


def test_component_first_finds_a_class_of_the_most_probable_component(classes):
    for items in (
        classes.run("class_block_component_first"),
        classes.run_weak("class_block_component_first"),
    ):
        for item in items.values():
            model, vectors = classes.mixture(item["training_size"], item["n_components"])
            of_class = model.responsibilities(vectors).argmax(axis=1)
            masked = item["test_memberships"].copy()
            masked[:, np.setdiff1d(np.arange(masked.shape[1]), of_class)] = -np.inf
            found = item["test_targets"].argmax(axis=1)
            np.testing.assert_array_equal(of_class[found], masked.argmax(axis=1))


@pytest.mark.parametrize("decoder", CLASS_DECODERS)
def test_with_one_example_per_class_nothing_is_selected(classes, decoder):
    single = {
        "widths": [0.7],
        "alphas": [0.02],
        "output_widths": [0.9],
        "component_counts": [3],
        "block_weights": [0.4],
        "one_example": {},
    }
    fixed = classes.run(decoder)[name_of(6)]
    expected = classes.run(decoder, **single)[name_of(6)]
    assert_same_tree(fixed, expected)
    assert "score" not in fixed
    assert fixed["heldout_outputs"].shape == (6, N_CLASSES)
    assert (fixed["width"], fixed["alpha_rest"]) == (0.7, 0.02)
    for name in ("output_width", "n_components", "block_weight"):
        assert fixed.get(name, ONE_EXAMPLE[name]) == ONE_EXAMPLE[name]


def test_the_weight_of_weak_rows_is_fixed_with_one_example_per_class_and_selected_with_more(
    classes,
):
    regression = classes.run_weak("class_block")
    assert regression[name_of(6, 50)]["weak_weight"] == ONE_EXAMPLE["weak_weight"]
    assert regression[name_of(6, 50)]["alpha_leading"] == ONE_EXAMPLE["alpha"]
    assert regression[name_of(30, 50)]["weak_weight"] in (0.1, 1.0)


@pytest.mark.parametrize("decoder", ["candidates", "class_block"])
def test_fixed_component_counts_are_items_of_their_own(classes, decoder):
    fixed = classes.run(decoder, components=[2, 3])
    assert len(fixed) == 2 * len(EXAMPLES)
    for size, count in product((6, 18, 30), (2, 3)):
        item = fixed[name_of(size, components=count)]
        assert (item["components"], item["n_components"]) == (str(count), count)
        if size > 6:
            alone = classes.run(decoder, component_counts=[count])[name_of(size)]
            assert_same_tree(item | {"components": "selected"}, alone)


def test_decoders_without_a_mixture_have_no_fixed_component_counts(classes):
    items = classes.run("one_hot", models=None, components=[2, 3])
    assert items.keys() == {name_of(size) for size in (6, 18, 30)}


def test_a_linear_kernel_has_no_width(classes):
    item = classes.run("one_hot", kernel="linear", models=None)[name_of(18)]
    assert "width" not in item
    X, labels, _ = classes.training(18)
    model = KernelRidgeRegressor(kernel="linear", alpha=item["alpha_rest"])
    expected = model.fit(X, one_hot(labels, N_CLASSES)).predict(classes.tests)
    np.testing.assert_allclose(item["test_targets"], expected, atol=1e-9)


def test_the_kernel_is_chosen_with_a_penalty_relative_to_it(tmp_path):
    classes = Classes(tmp_path, scale="standard", examples=[5])
    kernels, alphas = ["linear", "rbf", "laplacian"], [1e-2, 1e-1, 1.0]
    lists = {"kernels": kernels, "widths": [0.1, 1.0], "alphas": alphas}
    item = classes.run("one_hot", models=None, **lists)[name_of(30)]
    _, labels, folds = classes.training(30)
    features = read_artifact(classes.path("features"), "features")
    inputs = prepared_inputs(features, folds, 30)
    kernel = InputKernel(item["kernel"], item.get("width"))

    def error(kernel, alpha):
        alpha = alpha * alpha_unit(kernel, N_INPUTS)
        args = (inputs, labels, N_CLASSES, kernel, [alpha], True)
        return squared_error(heldout_class_scores(*args)[0], labels), kernel, alpha

    grid = [InputKernel("linear"), *starmap(InputKernel, product(kernels[1:], [0.1, 1.0]))]
    best = min(starmap(error, product(grid, alphas)))
    assert (kernel, item["alpha_rest"]) == best[1:] and "edges" not in item
    X, X_test = inputs.refit_rows()
    model = KernelRidgeRegressor(
        kernel.name, kernel_gamma(*kernel, N_INPUTS), alpha=item["alpha_rest"]
    ).fit(X, one_hot(labels, N_CLASSES))
    np.testing.assert_allclose(item["test_targets"], model.predict(X_test), atol=1e-9)


def test_grids_are_extended_and_what_lies_on_an_edge_then_is_reported(classes):
    item = classes.run("one_hot", kernels=["rbf"], widths=[100.0, 200.0])[name_of(30)]
    assert item["width"] == pytest.approx(100.0 / 10**0.5)
    assert item["edges"] == "lowest alpha"
    # Kernels of these widths have the size 1, so that penalties are what they are relative to it.
    options = {"kernels": ["rbf"], "widths": [1.0, 2.0], "alphas": [1e-9, 1e-8]}
    for run, weak_size in ((classes.run, 0), (classes.run_weak, 50)):
        item = run("class_block", component_counts=[3], **options)[name_of(30, weak_size)]
        assert (item["alpha_rest"], item["alpha_leading"]) == pytest.approx((1e-7, 1e-7))
        assert item["edges"].endswith("highest alpha, highest leading alpha")


@pytest.mark.parametrize(
    ("kernels", "expected"), [(["linear", "laplacian", "rbf"], "laplacian"), (["linear"], "linear")]
)
def test_the_first_kernel_that_is_not_linear_is_used_for_one_example_per_class(
    classes, kernels, expected
):
    item = classes.run("class_block", kernels=kernels)[name_of(6)]
    unit = alpha_unit(InputKernel(expected, ONE_EXAMPLE["width"]), N_INPUTS)
    assert item["kernel"] == expected
    assert item["alpha_rest"] == item["alpha_leading"] == ONE_EXAMPLE["alpha"] * unit
    assert item.get("width", ONE_EXAMPLE["width"]) == ONE_EXAMPLE["width"]
    assert not {"edges", "score"} & item.keys()


def test_unknown_decoders_and_weak_rows_without_a_membership_block_are_refused(classes):
    with pytest.raises(ValueError, match="decoder must be one of"):
        classes.run("nearest")
    with pytest.raises(ValueError, match="weak rows join the decoders"):
        classes.run_weak("candidates")


def test_nearest_class_vectors_are_found_from_the_one_hot_scores_too(classes):
    item = classes.run("one_hot", widths=[0.5], alphas=[0.01])[name_of(30)]
    X, labels, _ = classes.training(30)
    outputs = refit(X, classes.vectors[labels], classes.tests, 0.5, 0.01)
    for distance in ("euclidean", "cosine"):
        found = nearest_scores(item["test_targets"] @ classes.vectors, classes.vectors, distance)
        expected = nearest_scores(outputs, classes.vectors, distance)
        np.testing.assert_allclose(found, expected, atol=1e-9)
