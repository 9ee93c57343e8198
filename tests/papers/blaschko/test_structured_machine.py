"""The structured machine equals other solvers, and its gap bounds the distance to the optimum."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.svm import LinearSVC

from workflow_lib.papers.blaschko.structured_machine import (
    centre,
    class_scores,
    fit_structured_machine,
    uncentred,
)

N_CLASSES = 4
ZERO_ONE = 1.0 - np.eye(N_CLASSES)
H = np.eye(N_CLASSES) - 1.0 / N_CLASSES


def problem(n=40, n_inputs=5, seed=0):
    """Return inputs of classes that overlap, and the classes."""
    generator = np.random.default_rng(seed)
    labels = np.arange(n) % N_CLASSES
    centres = generator.normal(size=(N_CLASSES, n_inputs))
    return centres[labels] + generator.normal(size=(n, n_inputs)), labels


def similarity_and_losses(seed=1):
    generator = np.random.default_rng(seed)
    root = generator.normal(size=(N_CLASSES, N_CLASSES))
    losses = generator.uniform(0.5, 4.0, (N_CLASSES, N_CLASSES))
    np.fill_diagonal(losses, 0.0)
    return root @ root.T, losses


def less_row_means(scores):
    return scores - scores.mean(axis=1, keepdims=True)


@pytest.mark.parametrize("cost", [0.03, 1.0])
def test_with_the_zero_one_loss_it_is_the_machine_of_crammer_and_singer(cost):
    X, labels = problem()
    gram = X @ X.T
    peer = LinearSVC(
        C=cost, multi_class="crammer_singer", fit_intercept=False, tol=1e-8, max_iter=10**6
    ).fit(X, labels)
    theirs = X @ peer.coef_.T
    violations = ZERO_ONE[labels] + theirs - theirs[np.arange(len(X)), labels][:, None]
    optimum = 0.5 * (peer.coef_**2).sum() + cost * violations.max(axis=1).sum()
    arguments = gram, labels, ZERO_ONE, np.eye(N_CLASSES), cost
    exact = fit_structured_machine(*arguments, tolerance=1e-7, most_passes=10**5)
    assert exact.objective == pytest.approx(optimum, rel=1e-6)
    found = less_row_means(exact.scores(gram))
    np.testing.assert_allclose(found, less_row_means(theirs), atol=1e-3)
    for most_passes in (0, 1, 3, 10, 30):
        early = fit_structured_machine(*arguments, tolerance=0.0, most_passes=most_passes)
        gap = early.gap * early.objective
        dual_objective = early.objective - gap
        assert early.passes == most_passes
        assert early.objective - optimum >= -1e-6 and optimum - dual_objective >= -1e-6
        assert gap >= max(early.objective - optimum, optimum - dual_objective) - 1e-9


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
def test_it_is_the_solution_of_the_quadratic_programme(rescaling):
    X, labels = problem(8, 2)
    similarity, losses = similarity_and_losses()
    cost = 0.7
    features = np.einsum("id,yk->iydk", X, np.linalg.cholesky(similarity)).reshape(8, 4, -1)
    factors = np.ones((8, 4)) if rescaling == "margin" else losses[labels]

    def objective(values):
        return 0.5 * values[:-8] @ values[:-8] + cost * values[-8:].sum()

    def slack(values):
        scores = features @ values[:-8]
        own = scores[np.arange(8), labels][:, None]
        return (values[-8:, None] - losses[labels] + factors * (own - scores)).ravel()

    start = np.append(np.zeros(features.shape[2]), losses[labels].max(axis=1))
    constraints = {"type": "ineq", "fun": slack}
    options = {"ftol": 1e-13, "maxiter": 1000}
    programme = minimize(objective, start, method="SLSQP", constraints=constraints, options=options)
    machine = fit_structured_machine(
        X @ X.T, labels, losses, similarity, cost, rescaling, 1e-9, 10**5
    )
    assert programme.success
    assert machine.objective == pytest.approx(programme.fun, rel=1e-6)
    expected = less_row_means(features @ programme.x[:-8])
    np.testing.assert_allclose(less_row_means(machine.scores(X @ X.T)), expected, atol=1e-4)


def test_a_machine_of_another_cost_is_a_start():
    X, labels = problem()
    similarity, losses = similarity_and_losses()
    fixed = X @ X.T, labels, losses, similarity
    lower = fit_structured_machine(*fixed, 0.5)
    cold = fit_structured_machine(*fixed, 1.0)
    warm = fit_structured_machine(*fixed, 1.0, start=lower.weights)
    assert warm.passes < cold.passes
    assert warm.objective == pytest.approx(cold.objective, rel=2e-3)


def test_centred_rows_need_only_an_intercept():
    X, labels = problem()
    new = problem(7, seed=3)[0] + 1.0
    machine = fit_structured_machine(
        (X - X.mean(axis=0)) @ (X - X.mean(axis=0)).T, labels, ZERO_ONE, np.eye(N_CLASSES), 1.0
    )
    gram = X @ X.T
    means = centre(gram)
    np.testing.assert_allclose(gram, (X - X.mean(axis=0)) @ (X - X.mean(axis=0)).T, atol=1e-12)
    coefficients, intercept = uncentred(machine.coefficients, means)
    expected = machine.scores((new - X.mean(axis=0)) @ (X - X.mean(axis=0)).T)
    found = class_scores(new @ X.T, coefficients, machine.known, intercept)
    np.testing.assert_allclose(found, expected, atol=1e-10)


def test_a_class_without_a_row_has_the_lowest_score_and_does_not_compete():
    X, labels = problem()
    kept = labels != 2
    similarity, losses = similarity_and_losses()
    X, labels = X[kept], labels[kept]
    machine = fit_structured_machine(X @ X.T, labels, losses, similarity, 1.0)
    assert not machine.dual[:, 2].any() and machine.known.tolist() == [True, True, False, True]
    scores = machine.scores(X @ X.T)
    assert (scores[:, 2] <= scores.min(axis=1)).all()
    alone = fit_structured_machine(X @ X.T, np.zeros(len(X), dtype=int), losses, similarity, 1.0)
    assert alone.passes == 0 and alone.gap == 0.0 and not alone.coefficients.any()


def test_an_unknown_rescaling_is_refused():
    with pytest.raises(ValueError, match="rescaling"):
        fit_structured_machine(np.eye(2), np.arange(2), ZERO_ONE, np.eye(4), 1.0, "slck")
