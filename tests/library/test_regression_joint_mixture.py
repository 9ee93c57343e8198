"""Mixtures whose weights depend on the inputs: their objective, its gradient, their memberships."""

import numpy as np
import pytest
from each_case import each_case
from scipy.special import log_softmax, logsumexp
from scipy.stats import norm

from workflow_lib.fitting.missing_outputs import impute_mean
from workflow_lib.models.mixtures.mixture import GaussianMixtureModel
from workflow_lib.solvers.gram import gram_matrix
from workflow_lib.solvers.joint_mixture import Components, fit_joint_mixture

FLOOR = 1e-3


def problem(seed=0, n_components=3, n_rows=18, n_weak=0, missing=0.0):
    """Return a Gram matrix, outputs, a mixture fitted to them, and likelihoods of weak labels."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows + n_weak, 2))
    Y = np.column_stack([3.0 * np.sign(X[:n_rows, 0]), X[:n_rows, 1]])
    Y = Y + random.normal(size=Y.shape)
    Y[random.random(Y.shape) < missing] = np.nan
    Y = impute_mean(Y)
    model = GaussianMixtureModel(n_components, "tied_spherical", FLOOR, n_init=1).fit(Y)
    start = Components(model.weights_, model.means_, model.covariances_)
    weak = random.dirichlet(np.ones(len(model.weights_)), size=n_weak) if n_weak else None
    return gram_matrix(X, gamma=0.5), Y, start, weak


def objective(K, Y, means, variance, dual, intercept, alpha, weak=None, weight=1.0):
    """Return J by its formula."""
    log_weights = log_softmax(K @ dual + intercept, axis=1)
    densities = norm.logpdf(Y[:, None], means, np.sqrt(variance)).sum(axis=2)
    total = logsumexp(log_weights[: len(Y)] + densities, axis=1).sum()
    if weak is not None:
        total += weight * logsumexp(log_weights[len(Y) :], b=weak, axis=1).sum()
    return total / len(Y) - 0.5 * alpha * np.trace(dual.T @ K @ dual)


@each_case("seed", range(4))
@each_case("n_components", [1, 3, 12])
@each_case("n_weak", [0, 10])
@each_case("alpha", [1e-4, 1e-2, 10.0])
def test_the_objective_never_falls(seed, n_components, n_weak, alpha):
    K, Y, start, weak = problem(seed, n_components, n_weak=n_weak, missing=0.2)
    for labels in (weak, weak if weak is None else 1.0 * (weak == weak.max(axis=1)[:, None])):
        found = fit_joint_mixture(K, Y, start, FLOOR, alpha, labels, 0.3, 40, 0.0)
        rises = np.diff(found.objectives)
        assert (rises >= -1e-10).all()
        # One component has nothing to learn but its mean and variance, which are known already.
        assert rises.sum() > (1e-6 if n_components > 1 else -1e-12)
        arguments = (found.dual_coefficients, found.intercept, alpha, labels, 0.3)
        _, means, variance = found.components
        assert found.objectives[-1] == pytest.approx(objective(K, Y, means, variance, *arguments))
        assert np.isfinite(found.memberships).all() and np.isfinite(means).all()
        assert variance >= FLOOR


@pytest.mark.parametrize("n_weak", [0, 8])
def test_the_gradient_vanishes_at_the_end(n_weak):
    K, Y, start, weak = problem(2, 3, 15, n_weak)
    alpha = 0.02
    found = fit_joint_mixture(K, Y, start, FLOOR, alpha, weak, 0.5, 5000, 0.0)
    values = [*found.components[1:], found.dual_coefficients, found.intercept]

    def at(position, value):
        changed = [value if number == position else kept for number, kept in enumerate(values)]
        return objective(K, Y, *changed, alpha, weak, 0.5)

    step, size = 1e-5, []
    for position, value in enumerate(map(np.asarray, values)):
        for index in np.ndindex(value.shape):
            change = np.zeros(value.shape)
            change[index] = step
            size.append((at(position, value + change) - at(position, value - change)) / (2 * step))
    assert np.abs(size).max() < 1e-6
    # The start was no maximum of this objective.
    assert found.objectives[-1] > found.objectives[0] + 1e-3


def test_memberships_are_proportional_to_weights_times_densities():
    K, Y, start, weak = problem(1, n_weak=6)
    found = fit_joint_mixture(K, Y, start, FLOOR, 0.01, weak)
    weights = np.exp(log_softmax(K @ found.dual_coefficients + found.intercept, axis=1))
    _, means, variance = found.components
    joint = weights[:18] * norm.pdf(Y[:, None], means, np.sqrt(variance)).prod(axis=2)
    np.testing.assert_allclose(found.memberships, joint / joint.sum(axis=1, keepdims=True))
    joint = weights[18:] * weak
    np.testing.assert_allclose(found.weak_memberships, joint / joint.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("settings", [{"alpha": np.inf}, {"alpha": 0.1, "max_iter": 0}])
def test_without_an_iteration_the_mixture_of_the_outputs_remains(settings):
    K, Y, start, weak = problem(n_weak=5)
    found = fit_joint_mixture(K, Y, start, FLOOR, weak_likelihoods=weak / start.weights, **settings)
    model = GaussianMixtureModel(3, "tied_spherical", FLOOR, n_init=1).fit(Y)
    np.testing.assert_allclose(found.memberships, model.responsibilities(Y), atol=1e-12)
    np.testing.assert_allclose(found.weak_memberships, weak, atol=1e-12)
    np.testing.assert_array_equal(found.components.means, start.means)
    (value,) = found.objectives
    labels = np.log((weak / start.weights) @ start.weights).sum() / len(Y)
    assert value == pytest.approx(model.score_samples(Y).mean() + labels)


def test_a_label_that_says_nothing_changes_nothing():
    K, Y, start, _ = problem(n_weak=4)
    alone = fit_joint_mixture(K[:18, :18], Y, start, FLOOR, 0.1, max_iter=3000, tolerance=0.0)
    nothing = np.full((4, 3), 0.7)
    found = fit_joint_mixture(K, Y, start, FLOOR, 0.1, nothing, 1.0, 3000, 0.0)
    np.testing.assert_allclose(found.memberships, alone.memberships, atol=1e-5)
    assert np.abs(found.dual_coefficients[18:]).max() < 1e-6


def test_the_variance_is_at_least_the_floor_and_memberships_are_then_gradual():
    K, Y, start, _ = problem()
    found = fit_joint_mixture(K, Y, start, 50.0, 0.1)
    assert found.components.variance == 50.0
    assert found.memberships.max() < 0.9
    assert (np.diff(found.objectives) >= -1e-12).all()


def test_a_kernel_that_is_none_is_refused_with_the_remedy():
    K, Y, start, _ = problem()
    with pytest.raises(ValueError, match="Raise alpha"):
        fit_joint_mixture(-K, Y, start, FLOOR, 1e-4)
