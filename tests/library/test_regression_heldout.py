"""Held-out predictions from one decomposition equal explicit refits without each fold."""

import numpy as np
import pytest
from each_case import each_case

from workflow_lib.fitting.prepared_inputs import PreparedRows
from workflow_lib.solvers import heldout
from workflow_lib.solvers.gram import gram_matrix
from workflow_lib.solvers.heldout import Decomposition, SeparateGrams, SharedGram, fold_rows
from workflow_lib.solvers.ridge import fit_dual_coefficients, labelled_ridge, weak_ridge
from workflow_lib.solvers.weak import WeakGrams

ALPHAS = [1e-4, 1e-3, 1e-2, 0.3, 10.0, 1e4, np.inf]
N_ROWS, N_WEAK = 31, 12


def folds_of(sizes):
    folds = np.repeat(np.arange(len(sizes)), sizes)
    return np.random.default_rng(0).permutation(folds)


FOLDS = {
    "balanced": folds_of([8, 8, 8, 7]),
    "uneven": folds_of([1, 3, 20, 7]),
    "single rows": folds_of([1] * N_ROWS),
    "two": folds_of([15, 16]),
}


def inputs(n_rows=N_ROWS, seed=0):
    return np.random.default_rng(seed).normal(size=(n_rows, 4))


def targets_of(folds, different_sizes=False):
    """Targets that differ from fold to fold, with large garbage in the held-out rows."""
    generator = np.random.default_rng(1)
    result = []
    for fold in range(folds.max() + 1):
        size = 2 + fold % 3 if different_sizes else 3
        target = generator.normal(size=(len(folds), size)) + 5.0
        target[folds == fold] = 1e9
        result.append(target)
    return result


def refit(K, K_heldout, known, ridge, center, weights=None):
    dual, intercept = fit_dual_coefficients(K, known, ridge, center, weights)
    return K_heldout @ dual + intercept


@each_case("name", FOLDS)
@each_case("center", [True, False])
@each_case("kernel", ["rbf", "linear"])
def test_shared_gram_equals_refits(name, center, kernel):
    folds = FOLDS[name]
    K = gram_matrix(inputs(), None, kernel)
    targets = targets_of(folds, different_sizes=True)
    ours = SharedGram(K, folds, center).predict(targets, ALPHAS)
    for rows, target, predictions in zip(fold_rows(folds), targets, ours, strict=True):
        kept = np.setdiff1d(np.arange(N_ROWS), rows)
        for alpha, prediction in zip(ALPHAS, predictions, strict=True):
            ridge = labelled_ridge(len(kept), alpha)
            expected = refit(
                K[np.ix_(kept, kept)], K[np.ix_(rows, kept)], target[kept], ridge, center
            )
            np.testing.assert_allclose(prediction, expected, atol=1e-10)


@each_case("name", FOLDS)
@each_case("center", [True, False])
def test_separate_grams_equal_refits(name, center):
    folds = FOLDS[name]
    targets = targets_of(folds, different_sizes=True)
    grams = []
    for fold in range(folds.max() + 1):
        X = inputs() * (1 + 0.1 * fold)
        kept, rows = X[folds != fold], X[folds == fold]
        grams.append((gram_matrix(kept), gram_matrix(rows, kept)))
    ours = SeparateGrams(grams, folds, center).predict(targets, ALPHAS)
    for fold, (K, K_heldout) in enumerate(grams):
        known = targets[fold][folds != fold]
        for alpha, prediction in zip(ALPHAS, ours[fold], strict=True):
            expected = refit(K, K_heldout, known, labelled_ridge(len(known), alpha), center)
            np.testing.assert_allclose(prediction, expected, atol=1e-10)


@pytest.mark.filterwarnings("error")
def test_a_nearly_constant_kernel_keeps_its_digits():
    # As narrow penalties of a wide kernel do, of which the linear kernel is the limit.
    folds, width = FOLDS["balanced"], 1e-8
    X, targets = inputs(), targets_of(FOLDS["balanced"])
    pairs = [(X[folds != fold], X[folds == fold]) for fold in range(folds.max() + 1)]
    wide = [
        (gram_matrix(kept, gamma=width), gram_matrix(rows, kept, gamma=width))
        for kept, rows in pairs
    ]
    linear = [(kept @ kept.T, rows @ kept.T) for kept, rows in pairs]
    alphas = [1e-3, 0.1]
    found = SeparateGrams(wide, folds).predict(targets, [2 * width * alpha for alpha in alphas])
    expected = SeparateGrams(linear, folds).predict(targets, alphas)
    for ours, others in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, others, atol=2e-3)


@each_case("name", ["balanced", "uneven"])
@each_case("center", [True, False])
@each_case("kernel", ["rbf", "linear"])
@each_case("shared", [True, False])
def test_weak_grams_equal_refits(name, center, kernel, shared):
    folds = FOLDS[name]
    X, X_weak = inputs(), inputs(N_WEAK, seed=3)
    targets = targets_of(folds)
    generator = np.random.default_rng(4)
    weak_targets = [generator.normal(size=(N_WEAK, 3)) - 2.0 for _ in targets]
    candidates = [(alpha, weight) for alpha in ALPHAS for weight in (1e-3, 0.3, 1.0, 5.0)]
    grams = []
    for fold in range(folds.max() + 1):
        scale = 1.0 if shared else 1 + 0.1 * fold
        rows = scale * np.vstack([X[folds != fold], X_weak])
        grams.append(
            (gram_matrix(rows, None, kernel), gram_matrix(scale * X[folds == fold], rows, kernel))
        )
    ours = WeakGrams(grams, N_WEAK, folds, center, shared).predict(
        targets, weak_targets, candidates
    )
    for fold, (K, K_heldout) in enumerate(grams):
        known = targets[fold][folds != fold]
        both = np.vstack([known, weak_targets[fold]])
        n_known = len(known)
        for (alpha, weight), prediction in zip(candidates, ours[fold], strict=True):
            ridge = np.full(len(both), labelled_ridge(n_known, alpha))
            ridge[n_known:] = weak_ridge(alpha, weight / (2 * n_known))
            weights = np.concatenate([np.ones(n_known), np.full(N_WEAK, weight)])
            expected = refit(K, K_heldout, both, ridge, center, weights)
            np.testing.assert_allclose(prediction, expected, atol=1e-10)


def test_the_decomposition_of_weak_rows_can_be_passed_on():
    folds, X_weak = FOLDS["balanced"], inputs(N_WEAK, seed=3)
    targets = targets_of(folds)
    weak_targets = [np.ones((N_WEAK, 3))] * 4
    rows = [np.vstack([inputs()[folds != fold], X_weak]) for fold in range(4)]
    grams = [
        (gram_matrix(rows[fold]), gram_matrix(inputs()[folds == fold], rows[fold]))
        for fold in range(4)
    ]
    first = WeakGrams(grams, N_WEAK, folds, shared=True)
    assert WeakGrams(grams, N_WEAK, folds).decomposition is None
    second = WeakGrams(grams, N_WEAK, folds, shared=True, decomposition=first.decomposition)
    assert second.decomposition is first.decomposition
    for ours, expected in zip(
        second.predict(targets, weak_targets, [(0.01, 1.0)]),
        first.predict(targets, weak_targets, [(0.01, 1.0)]),
        strict=True,
    ):
        np.testing.assert_array_equal(ours, expected)


def test_single_rows_with_the_same_targets_are_solved_together():
    folds = FOLDS["single rows"]
    target = np.random.default_rng(1).normal(size=(N_ROWS, 3)) + 5.0
    for center in (True, False):
        solver = SharedGram(gram_matrix(inputs()), folds, center)
        together = solver.predict([target] * N_ROWS, ALPHAS)
        one_by_one = solver.predict([target.copy() for _ in range(N_ROWS)], ALPHAS)
        for ours, expected in zip(together, one_by_one, strict=True):
            np.testing.assert_allclose(ours, expected, rtol=1e-9)


def test_a_gram_matrix_is_overwritten_only_when_it_may_be():
    folds, targets = FOLDS["balanced"], targets_of(FOLDS["balanced"])
    K = gram_matrix(inputs())
    kept = K.copy()
    expected = SharedGram(K, folds).predict(targets, ALPHAS)
    np.testing.assert_array_equal(K, kept)
    for ours, other in zip(
        SharedGram(K, folds, overwrite=True).predict(targets, ALPHAS), expected, strict=True
    ):
        np.testing.assert_array_equal(ours, other)


def test_a_constant_gram_matrix_predicts_the_mean():
    folds, targets = FOLDS["balanced"], targets_of(FOLDS["balanced"])
    for K in (np.zeros((N_ROWS, N_ROWS)), np.ones((N_ROWS, N_ROWS))):
        for rows, target, ours in zip(
            fold_rows(folds), targets, SharedGram(K, folds).predict(targets, [1.0]), strict=True
        ):
            mean = np.delete(target, rows, axis=0).mean(axis=0)
            np.testing.assert_allclose(ours[0], np.tile(mean, (len(rows), 1)), rtol=1e-12)


def test_a_fold_with_a_single_training_row_predicts_its_target():
    grams = [(np.array([[2.0]]), np.array([[1.0]]))] * 2
    targets = np.array([[1.0], [5.0]])
    solver = SeparateGrams(grams, np.array([0, 1]))
    first, second = solver.predict([targets] * 2, [1e-3, 1.0])
    assert (first == 5.0).all()
    assert (second == 1.0).all()


def relative_difference(found, expected, index):
    """The norm of the differences over that of the predictions of all folds, for one penalty.

    The predictions of large penalties without an intercept are small; targets have variance one.
    """
    found, expected = (
        np.concatenate([fold[index].ravel() for fold in each]) for each in (found, expected)
    )
    norm = max(np.linalg.norm(expected), np.sqrt(expected.size))
    return np.linalg.norm(found - expected) / norm


@each_case("name", FOLDS)
@each_case("center", [True, False])
@each_case("kernel", ["rbf", "linear"])
def test_float32_predicts_as_float64_to_two_digits(name, center, kernel):
    folds = FOLDS[name]
    K = gram_matrix(inputs(), None, kernel)
    targets = targets_of(folds)
    expected = SharedGram(K, folds, center).predict(targets, ALPHAS)
    found = SharedGram(K, folds, center, precision="float32").predict(targets, ALPHAS)
    assert all(fold.dtype == np.float64 for fold in found)
    for index in range(len(ALPHAS)):
        assert relative_difference(found, expected, index) < 1e-2


def test_float32_works_in_float32():
    folds, targets = FOLDS["balanced"], targets_of(FOLDS["balanced"])
    K = gram_matrix(inputs())
    expected = SharedGram(K, folds).predict(targets, [0.01])
    found = SharedGram(K, folds, precision="float32").predict(targets, [0.01])
    assert 1e-9 < relative_difference(found, expected, 0) < 1e-5


def test_float32_predicts_single_rows_together_as_one_by_one():
    folds = FOLDS["single rows"]
    target = np.random.default_rng(1).normal(size=(N_ROWS, 3)) + 5.0
    alphas = [1e-9, *ALPHAS]
    for center in (True, False):
        K = gram_matrix(inputs(), None, "linear")
        expected = SharedGram(K, folds, center).predict([target] * N_ROWS, alphas)
        solver = SharedGram(K, folds, center, precision="float32")
        together = solver.predict([target] * N_ROWS, alphas)
        one_by_one = solver.predict([target.copy() for _ in range(N_ROWS)], alphas)
        for found in (together, one_by_one):
            for index in range(len(alphas)):
                assert relative_difference(found, expected, index) < 1e-2


# Two distinct penalties at most are solved by inverses in folds of two sizes, more by decomposing.
@each_case("tiny", [[1e-8], [1e-8, 1e-7], [1e-9, 1e-8, 1e-7, 1e-6, 1e-5]])
@each_case("center", [True, False])
@each_case("overwrite", [True, False])
def test_ridges_that_are_too_small_for_float32_are_solved_in_float64(
    tiny, center, overwrite, monkeypatch
):
    folds, targets = FOLDS["balanced"], targets_of(FOLDS["balanced"])
    alphas = [0.1, *tiny, 1.0]
    gram = gram_matrix(inputs(), None, "linear")
    expected = SharedGram(gram, folds, center).predict(targets, alphas)

    def found():
        solver = SharedGram(gram.copy(), folds, center, overwrite, precision="float32")
        return [solver.predict(targets, alphas) for _ in range(2)]

    for predictions in found():
        for index in range(1, 1 + len(tiny)):
            assert relative_difference(predictions, expected, index) < 1e-6
        for index in (0, -1):
            assert relative_difference(predictions, expected, index) < 1e-2
    monkeypatch.setattr(heldout, "MIN_RELATIVE_RIDGE_FLOAT32", 0.0)
    # The error that this avoids.
    assert relative_difference(found()[0], expected, 1) > 1e-2


def test_a_fault_of_float32_is_solved_in_float64(monkeypatch):
    folds, targets = FOLDS["balanced"], targets_of(FOLDS["balanced"])
    K = gram_matrix(inputs(), None, "linear")
    expected = SharedGram(K, folds).predict(targets, [1e-6])

    def fails(self, ridge):
        raise heldout.LinAlgError("not positive definite")

    monkeypatch.setattr(heldout.RoughDecomposition, "inverse", fails)
    found = SharedGram(K, folds, precision="float32").predict(targets, [1e-6])
    assert relative_difference(found, expected, 0) < 1e-6


def test_float32_heeds_neither_the_scale_of_a_gram_matrix_nor_the_mean_of_the_targets():
    folds, targets = FOLDS["balanced"], targets_of(FOLDS["balanced"])
    K = gram_matrix(inputs())
    expected = SharedGram(K, folds).predict(targets, [0.1])
    for scale in (1e-60, 1e60):
        found = SharedGram(scale * K, folds, precision="float32").predict(targets, [0.1 * scale])
        assert relative_difference(found, expected, 0) < 1e-5
    far = [target + 1e7 for target in targets]
    found = SharedGram(K, folds, precision="float32").predict(far, [0.1])
    for ours, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours - 1e7, other, atol=1e-4)


def test_float32_of_a_gram_matrix_with_negative_or_no_eigenvalues():
    folds, targets = FOLDS["balanced"], targets_of(FOLDS["balanced"])
    direction = inputs()[:, 0] - inputs()[:, 0].mean()
    K = np.eye(N_ROWS) - 2.5 * np.outer(direction, direction) / (direction @ direction)
    assert not heldout.RoughDecomposition(K, center=True).valid
    for matrix in (K, np.zeros_like(K), np.ones_like(K)):
        expected = SharedGram(matrix, folds).predict(targets, [0.1])
        found = SharedGram(matrix, folds, precision="float32").predict(targets, [0.1])
        assert relative_difference(found, expected, 0) < 1e-5


def test_float32_leaves_a_gram_matrix_as_it_is_unless_it_may_be_overwritten():
    folds, targets = FOLDS["balanced"], targets_of(FOLDS["balanced"])
    for center in (True, False):
        K = gram_matrix(inputs(), None, "linear")
        kept = K.copy()
        SharedGram(K, folds, center, precision="float32").predict(targets, [1e-8, 0.1])
        np.testing.assert_array_equal(K, kept)


def test_float64_is_the_default_and_others_are_unknown():
    folds, targets = FOLDS["balanced"], targets_of(FOLDS["balanced"])
    K = gram_matrix(inputs())
    default = SharedGram(K, folds).predict(targets, ALPHAS)
    given = SharedGram(K, folds, precision="float64").predict(targets, ALPHAS)
    for ours, expected in zip(given, default, strict=True):
        np.testing.assert_array_equal(ours, expected)
    with pytest.raises(ValueError, match="precision must be one of .*found 'float16'"):
        SharedGram(K, folds, precision="float16")


def test_prepared_inputs_pass_the_precision_on():
    folds, targets = FOLDS["balanced"], targets_of(FOLDS["balanced"])

    class Inputs(PreparedRows):
        def __init__(self):
            self.folds, self.learns = folds, False

        def training_gram(self, kernel, width, weak_size=0):
            return gram_matrix(inputs(), None, kernel)

    for precision in ("float64", "float32"):
        found = Inputs().heldout_solver("rbf", None, True, precision).predict(targets, [0.1])
        expected = SharedGram(gram_matrix(inputs()), folds, precision=precision)
        np.testing.assert_array_equal(found[0], expected.predict(targets, [0.1])[0])


def test_tiny_ridges_are_warned_about():
    folds = FOLDS["balanced"]
    with pytest.warns(RuntimeWarning, match="its scores are not reliable"):
        SharedGram(gram_matrix(inputs()), folds).predict(targets_of(folds), [1e-16])


def test_decomposition_rebuilds_the_matrix_and_clips_rounding():
    X = np.vstack([inputs(5)] * 3)
    decomposition = Decomposition(gram_matrix(X, None, "linear"))
    s, Q = decomposition.eigenvalues, decomposition.eigenvectors
    assert s.min() >= 0
    np.testing.assert_allclose((Q * s) @ Q.T, X @ X.T, atol=1e-12)


def test_rows_of_each_fold():
    rows = fold_rows(np.array([1, 0, 2, 0, 1]))
    assert [list(fold) for fold in rows] == [[1, 3], [0, 4], [2]]


def test_an_invalid_kernel_is_reported_with_the_remedy():
    folds = FOLDS["balanced"]
    targets = targets_of(folds)
    rows = [np.vstack([inputs()[folds != fold], inputs(N_WEAK, seed=3)]) for fold in range(4)]
    grams = [
        (-gram_matrix(rows[fold], None, "linear"), gram_matrix(inputs()[folds == fold], rows[fold]))
        for fold in range(4)
    ]
    solver = WeakGrams(grams, N_WEAK, folds)
    with pytest.raises(ValueError, match="Raise alpha, .* kernel is positive semi-definite"):
        solver.predict(targets, [np.ones((N_WEAK, 3))] * 4, [(1e-6, 1.0)])
