"""Joint kernel support as a binary machine: its quadratic program, and stochastic training."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils.estimator_checks import check_estimator

from workflow_lib.fitting.prepared_inputs import rbf_gamma
from workflow_lib.papers.blaschko.joint_support_regressor import JointSupportRegressor
from workflow_lib.papers.blaschko.mirrored_support import (
    fit_mirrored_support,
    fit_stochastic_support,
    largest_penalty,
)
from workflow_lib.solvers.landmarks import LandmarkFeatures
from workflow_lib.solvers.output_kernels import output_unit


def pairs(n_rows=60, seed=0):
    """Return inputs, outputs and their Gram matrices."""
    generator = np.random.default_rng(seed)
    X, Y = generator.normal(size=(n_rows, 3)), generator.normal(size=(n_rows, 2))
    return X, Y, rbf_kernel(X, gamma=0.3), rbf_kernel(Y, gamma=0.5)


def features():
    X, Y, K, L = pairs()
    Z, E = (
        LandmarkFeatures(rows, "rbf", gamma).transform(rows) for rows, gamma in ((X, 0.3), (Y, 0.5))
    )
    return Z, E, K * L


def least_objective(J, penalty):
    """Return the optimum of the primal problem by its dual, a quadratic program in a box."""
    n = len(J)
    solved = minimize(
        lambda a: a @ J @ a / (2 * penalty * n**2) - a.mean(),
        np.full(n, 0.5),
        jac=lambda a: J @ a / (penalty * n**2) - 1.0 / n,
        bounds=[(0.0, 1.0)] * n,
        method="L-BFGS-B",
        options={"ftol": 1e-15, "gtol": 1e-12, "maxiter": 10_000},
    )
    return -solved.fun, solved.x


@pytest.mark.parametrize("part", [1.0, 0.5, 0.1])
def test_its_weights_are_those_of_the_quadratic_program(part):
    Z, E, J = features()
    penalty = part * largest_penalty(Z, E)
    _, a = least_objective(J, penalty)
    alpha, nu = fit_mirrored_support(J, penalty)
    assert nu == pytest.approx(a.mean(), abs=1e-5)
    np.testing.assert_allclose(alpha, a / a.sum(), atol=1e-5)
    assert (nu > 1 - 1e-9) == (part == 1.0)


@pytest.mark.parametrize("part", [1.0, 0.3, 0.1])
def test_stochastic_training_converges_to_the_least_objective(part):
    Z, E, J = features()
    penalty = part * largest_penalty(Z, E)
    least, _ = least_objective(J, penalty)
    distances = []
    for tolerance in (0.03, 0.001):
        found = fit_stochastic_support(Z, E, penalty, np.random.default_rng(1), tolerance)
        hinges = np.maximum(1.0 - ((Z @ found.weights) * E).sum(axis=1), 0.0)
        objective = 0.5 * penalty * (found.weights**2).sum() + hinges.mean()
        assert found.objective == pytest.approx(objective, rel=1e-9)
        # The gap bounds the distance, up to the accuracy of the features.
        assert -1e-7 <= found.objective - least <= found.gap + 1e-7
        assert found.gap <= tolerance * found.objective
        distances.append(found.objective - least)
    assert distances[1] <= 0.001 * least


def test_a_search_that_stops_too_early_warns():
    Z, E, _ = features()
    with pytest.warns(ConvergenceWarning, match="60 pairs"):
        penalty = 0.01 * largest_penalty(Z, E)
        found = fit_stochastic_support(Z, E, penalty, np.random.default_rng(0), 1e-4, 2)
    assert found.n_passes == 2 and found.gap > 1e-4 * found.objective


@pytest.mark.parametrize("training", ["exact", "stochastic"])
def test_the_output_of_the_highest_score_is_predicted(training):
    X, _, K, _ = pairs()
    Y = np.random.default_rng(3).integers(0, 2, (60, 3)).astype(float)
    model = JointSupportRegressor(2.0, 0.8, 0.5, training, tolerance=1e-3, random_state=0)
    model.fit(X, Y)
    others = np.random.default_rng(4).normal(size=(20, 3))
    gamma = rbf_gamma(2.0, 3)
    width = (0.8 * output_unit(model.candidates_)) ** -2
    J = rbf_kernel(X, gamma=gamma) * rbf_kernel(Y, gamma=width)
    alpha, _ = fit_mirrored_support(J, 0.5 * J.mean(axis=1).max())
    scores = rbf_kernel(others, X, gamma=gamma) @ (
        alpha[:, None] * rbf_kernel(Y, model.candidates_, gamma=width)
    )
    found = model.scores(others)
    factor = (found * scores).sum() / (scores**2).sum()
    np.testing.assert_allclose(found, factor * scores, atol=0.02 * found.max())
    np.testing.assert_array_equal(model.predict(others), model.candidates_[found.argmax(axis=1)])


def test_it_is_an_estimator_of_scikit_learn():
    check_estimator(JointSupportRegressor(n_landmarks=20))
