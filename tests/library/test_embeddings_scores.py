"""Derivatives of the Fisher scores; blocks and forms of embeddings."""

import numpy as np
import pytest
from each_case import each_case
from small_data import COVARIANCE_TYPES, clustered_outputs, fitted_model, numerical_jacobian

from workflow_lib.models.fisher import FisherEmbedding
from workflow_lib.models.identity import IdentityEmbedding

MODELS = [
    pytest.param(
        covariance_type, n_components, id=f"{covariance_type}-{n_components or 'gaussian'}"
    )
    for covariance_type in COVARIANCE_TYPES
    for n_components in (None, 1, 3)
]


@each_case(("covariance_type", "n_components"), MODELS)
def test_reduced_scores_sum_the_means_over_components(covariance_type, n_components):
    Y = clustered_outputs(spread=1.5)
    model = fitted_model(covariance_type, n_components, Y)
    reduced, full = FisherEmbedding(model), FisherEmbedding(model, "full")
    scores, full_scores = reduced.transform(Y), full.transform(Y)
    np.testing.assert_allclose(
        scores[:, reduced.blocks["mu"]], full.remaining_block(full_scores), atol=1e-12
    )
    if n_components:
        np.testing.assert_array_equal(
            scores[:, reduced.blocks["pi"]], full_scores[:, full.blocks["pi"]]
        )


@each_case(("covariance_type", "n_components"), MODELS)
@each_case(
    ("form", "covariance_block"),
    [("reduced", "constrained"), ("full", "constrained"), ("full", "matrix")],
)
def test_normal_equations_are_products_of_the_derivatives_of_the_embedding(
    covariance_type, n_components, form, covariance_block
):
    Y = clustered_outputs(spread=1.5)
    embedding = FisherEmbedding(
        fitted_model(covariance_type, n_components, Y), form, covariance_block
    )
    # Any residual will do; predicted sigma blocks need not be symmetric.
    residual = np.random.default_rng(0).normal(size=(5, embedding.n_features))
    jacobian = np.stack(
        [numerical_jacobian(lambda z: embedding.transform(z[None])[0], y) for y in Y[:5]]
    )
    normal, gradient = embedding.scores.normal_equations(Y[:5], residual, form)
    expected = np.einsum("nmd,nme->nde", jacobian, jacobian)
    np.testing.assert_allclose(normal, expected, atol=1e-6 * np.abs(expected).max())
    expected = np.einsum("nmd,nm->nd", jacobian, residual)
    np.testing.assert_allclose(gradient, expected, atol=1e-6 * np.abs(expected).max())


@each_case(
    ("form", "n_components", "covariance_type", "block", "expected"),
    [
        ("reduced", 3, "spherical", "constrained", {"pi": 3, "mu": 2}),
        ("reduced", None, "full", "constrained", {"mu": 2}),
        ("full", 3, "spherical", "constrained", {"pi": 3, "mu": 6, "sigma": 3}),
        ("full", 3, "tied_spherical", "constrained", {"pi": 3, "mu": 6, "sigma": 3}),
        ("full", 3, "diag", "constrained", {"pi": 3, "mu": 6, "sigma": 6}),
        ("full", 3, "full", "constrained", {"pi": 3, "mu": 6, "sigma": 12}),
        ("full", 3, "spherical", "matrix", {"pi": 3, "mu": 6, "sigma": 12}),
        ("full", None, "spherical", "matrix", {"mu": 2, "sigma": 4}),
    ],
)
def test_blocks_come_in_order_and_fill_the_embedding(
    form, n_components, covariance_type, block, expected
):
    Y = clustered_outputs(dimension=2)
    embedding = FisherEmbedding(fitted_model(covariance_type, n_components, Y), form, block)
    assert list(embedding.blocks) == list(expected)
    begin = 0
    for name, size in expected.items():
        assert embedding.blocks[name] == slice(begin, begin + size)
        begin += size
    assert embedding.n_features == begin
    assert embedding.transform(Y).shape == (len(Y), begin)


def test_weighted_pi_block_is_the_responsibilities():
    Y = clustered_outputs(spread=1.0)
    model = fitted_model("spherical", Y=Y)
    embedding = FisherEmbedding(model)
    pi = embedding.transform(Y)[:, embedding.blocks["pi"]]
    np.testing.assert_allclose(pi * model.weights_, model.responsibilities(Y), atol=1e-14)


def test_wrong_choices_and_shapes_are_named():
    model = fitted_model("spherical")
    with pytest.raises(ValueError, match="form must be one of .*found 'short'"):
        FisherEmbedding(model, form="short")
    with pytest.raises(ValueError, match="covariance_block must be one of .*found 'trace'"):
        FisherEmbedding(model, covariance_block="trace")
    with pytest.raises(ValueError, match="Y has 2 columns; the model was fitted to 3"):
        FisherEmbedding(model).transform(np.zeros((4, 2)))
    with pytest.raises(ValueError, match="must be finite; row 0"):
        FisherEmbedding(model).transform(np.full((4, 3), np.nan))


def test_identity_embedding_does_not_change_outputs():
    Y = clustered_outputs()
    embedding = IdentityEmbedding(3)
    assert embedding.blocks == {"output": slice(0, 3)}
    assert embedding.n_features == 3
    np.testing.assert_array_equal(embedding.inverse_transform(embedding.transform(Y)), Y)
