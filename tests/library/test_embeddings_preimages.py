"""Pre-images: exact on exact embeddings, and minimisers of eq. (3) on predicted ones."""

from functools import cache

import numpy as np
import pytest
from each_case import each_case
from scipy.optimize import minimize
from small_data import COVARIANCE_TYPES, clustered_outputs, fitted_model

from workflow_lib.models import gradient
from workflow_lib.models.fisher import FisherEmbedding
from workflow_lib.models.gradient import minimise_distance

EMBEDDINGS = [
    pytest.param(
        covariance_type,
        n_components,
        form,
        block,
        id=f"{covariance_type}-{n_components or 'gaussian'}-{form}-{block}",
    )
    for covariance_type in COVARIANCE_TYPES
    for n_components in (None, 1, 4)
    for form, block in (("reduced", "constrained"), ("full", "constrained"), ("full", "matrix"))
    # Full covariances have the matrix as their constrained block.
    if (covariance_type, block) != ("full", "matrix")
]


@cache
def make(covariance_type, n_components, form, block, spread=2.0):
    Y = clustered_outputs(spread=spread)
    return FisherEmbedding(fitted_model(covariance_type, n_components, Y), form, block), Y


def losses(embedding, Y, H):
    return ((embedding.transform(Y) - H) ** 2).sum(axis=1)


def noisy(H, seed=0, size=0.3):
    generator = np.random.default_rng(seed)
    return H + size * H.std(axis=0) * generator.normal(size=H.shape)


@pytest.mark.parametrize("covariance_type", COVARIANCE_TYPES)
def test_closed_form_solves_equation_10(covariance_type):
    # sum_j q_j Sigma_j^-1 (y - mu_j) = h, written with explicit matrices.
    embedding, Y = make(covariance_type, 3, "reduced", "constrained")
    H = noisy(embedding.transform(Y))
    model = embedding.model
    precisions = [precision.dense(3) for precision in embedding.scores.precisions]
    for y, h in zip(embedding.inverse_transform(H), H):
        q = h[embedding.blocks["pi"]] * model.weights_
        left = sum(q[j] * precisions[j] @ (y - model.means_[j]) for j in range(3))
        np.testing.assert_allclose(left, h[embedding.blocks["mu"]], atol=1e-8)


@pytest.mark.parametrize("covariance_type", COVARIANCE_TYPES)
def test_projected_preimage_is_bounded_where_the_closed_form_is_unstable(covariance_type):
    embedding, Y = make(covariance_type, 3, "reduced", "constrained")
    H = embedding.transform(Y)
    # Predicted responsibilities that nearly cancel in the denominator of eq. (10).
    H[:, embedding.blocks["pi"]] = np.array([1e-9, -1e-9, 1e-10]) / embedding.model.weights_
    exploded = embedding.inverse_transform(H, "closed_form")
    projected = embedding.inverse_transform(H, "projected")
    assert np.abs(exploded).max() > 1e4
    assert np.abs(projected).max() < 1e3


@each_case("covariance_type", COVARIANCE_TYPES)
@each_case("preimage", ["closed_form", "projected", "gradient"])
def test_memberships_that_are_exactly_zero_give_finite_outputs(covariance_type, preimage):
    embedding, _ = make(covariance_type, 3, "reduced", "constrained")
    back = embedding.inverse_transform(np.zeros((2, embedding.n_features)), preimage)
    assert np.isfinite(back).all()


@each_case(("covariance_type", "n_components", "form", "block"), EMBEDDINGS)
@each_case("start", ["mean", "closed_form"])
def test_gradient_search_never_ends_above_its_start(
    covariance_type, n_components, form, block, start
):
    embedding, Y = make(covariance_type, n_components, form, block)
    H = noisy(embedding.transform(Y))[:20]
    found = embedding.inverse_transform(H, "gradient", start=start)
    if start == "mean":
        begin = np.tile(embedding.model.weights_ @ embedding.model.means_, (20, 1))
    else:
        begin = embedding.inverse_transform(H, "projected")
    assert (losses(embedding, found, H) <= losses(embedding, begin, H)).all()


@each_case(("covariance_type", "n_components", "form", "block"), EMBEDDINGS)
def test_gradient_vanishes_where_the_search_ends(covariance_type, n_components, form, block):
    embedding, Y = make(covariance_type, n_components, form, block)
    H = noisy(embedding.transform(Y))[:10]

    def normal_equations(rows, residual):
        return embedding.scores.normal_equations(rows, residual, form)

    begin = embedding.inverse_transform(H, "projected")
    found = minimise_distance(embedding.transform, normal_equations, H, begin, max_iter=2000)
    residual = embedding.transform(found) - H
    normal, gradient = normal_equations(found, residual)
    slope = np.linalg.norm(gradient, axis=1)
    lengths = np.sqrt(np.trace(normal, axis1=1, axis2=2))
    scale = lengths * (np.linalg.norm(residual, axis=1) + 1e-9)
    assert (slope <= 1e-4 * scale).all()
    # The default number of steps ends close to it.
    stopped = losses(embedding, embedding.inverse_transform(H, "gradient"), H)
    assert (stopped <= losses(embedding, found, H) * 1.01 + 1e-9).all()


@each_case("covariance_type", COVARIANCE_TYPES)
@each_case("form", ["reduced", "full"])
def test_a_second_solver_finds_no_lower_loss_from_the_same_start(covariance_type, form):
    embedding, Y = make(covariance_type, 3, form, "constrained")
    H = noisy(embedding.transform(Y))[:6]
    begin = embedding.inverse_transform(H, "projected")
    ours = losses(embedding, embedding.inverse_transform(H, "gradient"), H)
    for row, h in enumerate(H):
        theirs = minimize(
            lambda y, h=h: float(((embedding.transform(y[None])[0] - h) ** 2).sum()),
            begin[row],
            method="BFGS",
        )
        assert ours[row] <= theirs.fun * (1 + 1e-6) + 1e-9


def test_rows_handled_in_parts_give_the_same_result(monkeypatch):
    embedding, Y = make("spherical", 3, "full", "matrix")
    H = noisy(embedding.transform(Y))
    together = embedding.inverse_transform(H, "gradient")
    monkeypatch.setattr(gradient, "MAX_BLOCK", 100)
    in_parts = embedding.inverse_transform(H, "gradient")
    np.testing.assert_allclose(in_parts, together, atol=1e-9)


def test_search_survives_normal_equations_that_become_singular():
    # Only y0 + y1 matters and the minimum is degenerate, so the damping falls for many steps.
    def transform(Y):
        return (Y.sum(axis=1, keepdims=True)) ** 3

    def normal_equations(Y, residual):
        slopes = np.repeat(3 * Y.sum(axis=1, keepdims=True) ** 2, 2, axis=1)
        return slopes[:, :, None] * slopes[:, None, :], slopes * residual

    start = np.array([[1.0, 2.0], [0.5, -0.1]])
    found = minimise_distance(transform, normal_equations, np.zeros((2, 1)), start)
    assert np.abs(found.sum(axis=1)).max() < 1e-3


def test_gradient_search_does_not_change_its_arguments():
    embedding, Y = make("spherical", 3, "full", "constrained")
    H = noisy(embedding.transform(Y))
    before = H.copy()
    embedding.inverse_transform(H, "gradient", start="mean")
    np.testing.assert_array_equal(H, before)


def test_wrong_choices_and_shapes_are_named():
    embedding, Y = make("spherical", 3, "reduced", "constrained")
    H = embedding.transform(Y)
    with pytest.raises(ValueError, match="preimage must be one of .*found 'exact'"):
        embedding.inverse_transform(H, "exact")
    with pytest.raises(ValueError, match="start must be one of .*found 'median'"):
        embedding.inverse_transform(H, "gradient", start="median")
    with pytest.raises(ValueError, match=r"H must have the shape \(n, 6\); found \(60, 5\)"):
        embedding.inverse_transform(H[:, :5])
