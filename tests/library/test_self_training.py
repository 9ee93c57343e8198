"""Self-training: pseudo-classes, limiting cases, and the gain with given components."""

import numpy as np
import pytest
from each_case import each_case
from sklearn.metrics.pairwise import rbf_kernel

from workflow_lib.fitting.class_selection import one_hot
from workflow_lib.methods.self_training import KINDS, allowed_classes, pseudo_classes, self_train

N_CLASSES, N_COMPONENTS, N_INPUTS = 8, 4, 6
COMPONENTS = np.arange(N_CLASSES) % N_COMPONENTS
PENALTY = 2e-3


class Rows:
    """Gaussian classes: labelled, weak and test rows, and the classes of the weak rows' components.

    The components are independent of the inputs, as clusters of words are nearly of pictures.
    """

    def __init__(self, seed=0, n_examples=2, n_weak=120, n_test=200):
        generator = np.random.default_rng(seed)
        centres = generator.normal(size=(N_CLASSES, N_INPUTS))
        labelled = np.tile(np.arange(N_CLASSES), n_examples)
        weak, test = generator.integers(N_CLASSES, size=(2, max(n_weak, n_test)))
        self.labels = np.concatenate([labelled, weak[:n_weak], test[:n_test]])
        noise = 0.9 * generator.normal(size=(len(self.labels), N_INPUTS))
        self.X = centres[self.labels] + noise
        self.n_labelled, self.n_known = len(labelled), len(labelled) + n_weak
        self.K = rbf_kernel(self.X[: self.n_known], gamma=0.1)
        self.indicators = one_hot(labelled, N_CLASSES)
        weak_components = COMPONENTS[weak[:n_weak]]
        self.allowed = (weak_components[:, None] == COMPONENTS).astype(float)

    @property
    def weak_indicators(self):
        return one_hot(self.labels[self.n_labelled : self.n_known], N_CLASSES)

    def scores(self, **options):
        """Return the class scores of the test rows after self-training."""
        allowed = options.pop("allowed", self.allowed)
        dual, intercept = self_train(self.K, self.indicators, allowed, PENALTY, **options)
        K_test = rbf_kernel(self.X[self.n_known :], self.X[: self.n_known], gamma=0.1)
        return K_test @ dual + intercept

    def accuracy(self, **options):
        return (self.scores(**options).argmax(axis=1) == self.labels[self.n_known :]).mean()


def weighted_ridge(K, T, weights, alpha, n_labelled, center):
    """Return dual coefficients and intercepts from the stationarity of the weighted problem.

    With f = K a + b the objective 1/(2 n) sum_i w_i ||t_i - f_i||^2 + penalty tr(a' K a) is
    stationary where W (T - K a - b) = 2 n penalty a and 1' W (T - K a - b) = 0.
    """
    W, n_rows = np.diag(weights), len(K)
    A = W @ K + 2.0 * n_labelled * alpha * np.eye(n_rows)
    if not center:
        return np.linalg.solve(A, W @ T), np.zeros(T.shape[1])
    ones = np.ones((n_rows, 1))
    system = np.block([[A, W @ ones], [ones.T @ W @ K, ones.T @ W @ ones]])
    solved = np.linalg.solve(system, np.vstack([W @ T, ones.T @ W @ T]))
    return solved[:-1], solved[-1]


@each_case("center", [True, False])
@each_case("kind", KINDS)
@each_case("options", [{"weight": 0.0}, {"rounds": 0}])
def test_without_weight_or_rounds_weak_rows_are_ignored(options, kind, center):
    rows = Rows()
    n = rows.n_labelled
    dual, intercept = self_train(
        rows.K, rows.indicators, rows.allowed, PENALTY, kind=kind, center=center, **options
    )
    expected = weighted_ridge(rows.K[:n, :n], rows.indicators, np.ones(n), PENALTY, n, center)
    np.testing.assert_allclose(dual[:n], expected[0], rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(intercept, expected[1], rtol=1e-8, atol=1e-10)
    assert not dual[n:].any()
    alone = self_train(rows.K[:n, :n], rows.indicators, rows.allowed[:0], PENALTY, center=center)
    np.testing.assert_array_equal(dual[:n], alone[0])
    np.testing.assert_array_equal(intercept, alone[1])


def test_a_small_weight_is_nearly_none():
    rows = Rows()
    np.testing.assert_allclose(
        rows.scores(weight=1e-8), rows.scores(weight=0.0), rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_weak_rows_whose_class_alone_is_allowed_are_labelled_rows_with_a_weight(kind, center):
    rows = Rows(n_weak=40)
    allowed = rows.weak_indicators
    dual, intercept = self_train(
        rows.K, rows.indicators, allowed, PENALTY, weight=0.3, kind=kind, center=center
    )
    weights = np.append(np.ones(rows.n_labelled), np.full(40, 0.3))
    targets = np.vstack([rows.indicators, allowed])
    expected = weighted_ridge(rows.K, targets, weights, PENALTY, rows.n_labelled, center)
    np.testing.assert_allclose(dual, expected[0], rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(intercept, expected[1], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_every_round_regresses_the_pseudo_classes_of_the_round_before(kind):
    rows = Rows(n_weak=30)
    n = rows.n_labelled
    weights = np.append(np.ones(n), np.full(30, 0.5))
    dual, intercept = weighted_ridge(
        rows.K[:n, :n], rows.indicators, np.ones(n), PENALTY, n, center=True
    )
    scores = rows.K[n:, :n] @ dual + intercept
    for rounds in (1, 2, 3):
        targets = np.vstack([rows.indicators, pseudo_classes(scores, rows.allowed, kind)])
        expected = weighted_ridge(rows.K, targets, weights, PENALTY, n, center=True)
        found = self_train(rows.K, rows.indicators, rows.allowed, PENALTY, rounds=rounds, kind=kind)
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(found[1], expected[1], rtol=1e-7, atol=1e-9)
        scores = (rows.K @ expected[0] + expected[1])[n:]


def test_an_infinite_penalty_predicts_the_mean_indicator():
    rows = Rows(n_weak=30)
    dual, intercept = self_train(
        rows.K, rows.indicators, rows.weak_indicators, np.inf, weight=0.5, kind="hard"
    )
    counts = rows.indicators.sum(axis=0) + 0.5 * rows.weak_indicators.sum(axis=0)
    assert not dual.any()
    np.testing.assert_allclose(intercept, counts / counts.sum(), rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_class_scores_of_a_row_sum_to_one_with_an_intercept(kind):
    scores = Rows().scores(kind=kind)
    np.testing.assert_allclose(scores.sum(axis=1), 1.0, rtol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_the_order_of_classes_and_of_weak_rows_does_not_count(kind):
    rows = Rows(n_weak=50)
    dual, intercept = self_train(rows.K, rows.indicators, rows.allowed, PENALTY, kind=kind)
    generator = np.random.default_rng(3)
    classes, weak = generator.permutation(N_CLASSES), generator.permutation(50)
    order = np.append(np.arange(rows.n_labelled), rows.n_labelled + weak)
    permuted, permuted_intercept = self_train(
        rows.K[np.ix_(order, order)],
        rows.indicators[:, classes],
        rows.allowed[np.ix_(weak, classes)],
        PENALTY,
        kind=kind,
    )
    np.testing.assert_allclose(permuted, dual[np.ix_(order, classes)], rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(permuted_intercept, intercept[classes], rtol=1e-6, atol=1e-8)


def test_weak_labels_help_and_self_training_without_them_does_not():
    def accuracies(**options):
        return np.array([Rows(seed).accuracy(**options) for seed in range(10)])

    none = accuracies(weight=0.0)
    everything = np.ones((120, N_CLASSES))
    unlabelled = accuracies(allowed=everything)
    for kind in KINDS:
        gain = accuracies(kind=kind) - none
        # Paired over draws: the mean gain is more than three of its standard errors.
        assert gain.mean() > 3.0 * gain.std(ddof=1) / np.sqrt(len(gain))
        assert gain.mean() > 0.04
        assert accuracies(kind=kind).mean() > unlabelled.mean()
    full = np.array(
        [(rows := Rows(seed)).accuracy(allowed=rows.weak_indicators) for seed in range(10)]
    )
    assert full.mean() > accuracies(kind="soft").mean()


def random_scores(seed=0, n_rows=40):
    generator = np.random.default_rng(seed)
    allowed = (generator.random((n_rows, N_CLASSES)) < 0.5).astype(float)
    allowed[np.arange(n_rows), generator.integers(N_CLASSES, size=n_rows)] = 1.0
    return generator.normal(size=(n_rows, N_CLASSES)) / 3.0, allowed


def test_hard_pseudo_classes_are_the_best_allowed_class():
    scores, allowed = random_scores()
    found = pseudo_classes(scores, allowed, "hard")
    for row, row_scores, row_allowed in zip(found, scores, allowed):
        competing = np.flatnonzero(row_allowed)
        best = competing[row_scores[competing].argmax()]
        np.testing.assert_array_equal(row, np.eye(N_CLASSES)[best])


@each_case("factor", [0.5, 3.0, 20.0])
@each_case("offset", [-50.0, 0.0, 7.0])
def test_soft_pseudo_classes_are_the_nearest_shares_of_the_allowed_classes(factor, offset):
    scores, allowed = random_scores()
    scores += offset
    found = pseudo_classes(scores, allowed, "soft", factor)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    assert (found >= 0.0).all() and (found[allowed == 0.0] == 0.0).all()
    # p is the projection of s on a convex set if and only if (s - p)'(e - p) <= 0 for its corners.
    difference = factor * scores - found
    products = difference - (difference * found).sum(axis=1, keepdims=True)
    assert (products[allowed > 0.0] <= 1e-12 * max(1.0, factor * abs(offset))).all()


def test_soft_pseudo_classes_become_hard_with_the_factor():
    scores, allowed = random_scores()
    hard = pseudo_classes(scores, allowed, "hard")
    assert not np.allclose(pseudo_classes(scores, allowed, "soft", 3.0), hard)
    np.testing.assert_array_equal(pseudo_classes(scores, allowed, "soft", 1e6), hard)


def test_equal_scores_are_spread_evenly():
    allowed = np.array([[1.0, 0.0, 1.0, 1.0]])
    expected = [[1 / 3, 0.0, 1 / 3, 1 / 3]]
    np.testing.assert_allclose(pseudo_classes(np.zeros((1, 4)), allowed, "soft"), expected)


def test_unknown_kinds_are_refused():
    with pytest.raises(ValueError, match="'medium'; expected one of .*hard.*soft"):
        pseudo_classes(np.zeros((1, 2)), np.ones((1, 2)), "medium")


def test_certain_memberships_allow_the_classes_of_the_labelled_component():
    labels = np.eye(N_COMPONENTS)[[2, 0, 3]]
    found = allowed_classes(labels, np.eye(N_COMPONENTS)[COMPONENTS])
    np.testing.assert_array_equal(found, [COMPONENTS == 2, COMPONENTS == 0, COMPONENTS == 3])


def test_a_class_is_allowed_wherever_its_most_probable_component_is():
    generator = np.random.default_rng(0)
    for sharpness in (0.3, 3.0, 300.0):
        logarithms = sharpness * generator.normal(size=(20, 6))
        Q = np.exp(logarithms - logarithms.max(axis=1, keepdims=True))
        Q /= Q.sum(axis=1, keepdims=True)
        classes = generator.integers(20, size=50)
        for labels in (np.eye(6)[Q[classes].argmax(axis=1)], Q[classes]):
            allowed = allowed_classes(labels, Q)
            assert set(np.unique(allowed)) <= {0.0, 1.0}
            assert (allowed[np.arange(50), classes] == 1.0).all()


def test_a_class_of_many_components_is_allowed_by_its_most_probable_component():
    flat = np.full(20, 0.04)
    flat[3] += 1.0 - flat.sum()
    # Much less than that of the neighbouring class, but no other component is more probable.
    Q = np.vstack([np.eye(20)[3], np.full(20, 0.05) + 1e-3 * (np.eye(20)[3] - 0.05), flat])
    assert Q[1].argmax() == 3 and Q[1, 3] < 0.06
    np.testing.assert_array_equal(allowed_classes(np.eye(20)[[3]], Q), [[1, 1, 1]])


def test_classes_between_components_are_allowed_by_each_of_them():
    Q = np.array([[0.95, 0.05], [0.6, 0.4], [0.02, 0.98]])
    np.testing.assert_array_equal(allowed_classes(np.eye(2), Q), [[1, 1, 0], [0, 1, 1]])
    uniform = np.full((1, 2), 0.5)
    np.testing.assert_array_equal(allowed_classes(uniform, Q), [[1, 1, 1]])


def test_a_component_without_its_own_class_allows_the_nearest_classes():
    Q = np.array([[0.7, 0.3, 0.0], [0.999, 0.001, 0.0]])
    np.testing.assert_array_equal(allowed_classes(np.eye(3)[[1]], Q), [[1, 0]])
    # Nothing agrees with the third component, so that it gives no information.
    np.testing.assert_array_equal(allowed_classes(np.eye(3)[[2]], Q), [[1, 1]])
