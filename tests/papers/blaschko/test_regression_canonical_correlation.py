"""Kernel canonical correlation analysis: its eigenproblem, and ridge regression at its ends."""

import numpy as np
import pytest
from scipy.linalg import eigh
from sklearn.cross_decomposition import CCA

from workflow_lib.papers.blaschko.canonical_correlation import (
    canonical_directions,
    output_basis,
    output_roughness,
    projected_outputs,
    spectral_gain,
)
from workflow_lib.papers.blaschko.coupled_outputs import SpectralRidge, fitted_ranks
from workflow_lib.solvers.gram import gram_matrix
from workflow_lib.solvers.heldout import Decomposition
from workflow_lib.solvers.laplacian import (
    deformation,
    deformed_grams,
    fit_laplacian_ridge,
    graph_laplacian,
)
from workflow_lib.solvers.ridge import labelled_ridge

N_PAIRED, N_INPUTS, N_OUTPUTS, N_OTHERS = 14, 9, 6, 5
ALPHA, WEIGHT, NEIGHBOURS = 0.03, 2.0, 3
RIDGE = labelled_ridge(N_PAIRED, ALPHA)


def small_data(n_outputs=3):
    """Return inputs, paired ones first, other inputs, paired outputs and unpaired ones."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(N_PAIRED + N_INPUTS, 4))
    Y = np.tanh(X[:N_PAIRED] @ generator.normal(size=(4, n_outputs)))
    Y += 0.3 * generator.normal(size=Y.shape)
    others = generator.normal(size=(N_OTHERS, 4))
    return X, others, Y - Y.mean(axis=0), generator.normal(size=(N_OUTPUTS, n_outputs))


def smoothed(X, others, kernel="rbf"):
    """Return the deformed Gram matrices of the paired inputs, and of others against them."""
    K, K_others = gram_matrix(X, None, kernel, 0.3), gram_matrix(others, X, kernel, 0.3)
    Z = deformation(graph_laplacian(K, NEIGHBOURS) @ K, WEIGHT, N_PAIRED)
    return deformed_grams(K, K_others, Z)


def eigenbasis(gram, Y):
    decomposition = Decomposition(gram, center=True)
    return decomposition.eigenvalues, decomposition.eigenvectors.T @ Y, decomposition.eigenvectors


def prediction(gram, others, Y, basis, k, share, alpha=ALPHA):
    couple = projected_outputs([basis], [k], [share])
    ((predicted,),) = SpectralRidge(gram, Y).predict(others, [alpha], couple)
    return predicted


@pytest.mark.parametrize("penalty", [0.0, 0.2])
def test_directions_solve_the_eigenproblem_of_paired_and_unpaired_rows(penalty):
    X, others, Y, unpaired = small_data()
    roughness = output_roughness(np.vstack([Y, unpaired]), NEIGHBOURS)
    basis = output_basis(Y, penalty, roughness, WEIGHT)
    s, T, Q = eigenbasis(smoothed(X, others)[0], Y)
    correlations, A = canonical_directions(s, T, RIDGE, basis)
    # Eq. (4.12), with all inputs in the expansion of the function.
    K = gram_matrix(X, None, "rbf", 0.3)
    L = graph_laplacian(K, NEIGHBOURS)
    H = np.eye(N_PAIRED) - 1.0 / N_PAIRED
    centred = H @ K[:N_PAIRED]
    of_inputs = centred.T @ centred + RIDGE * (K + WEIGHT * K @ L @ K)
    of_outputs = Y.T @ Y + N_PAIRED * penalty * (np.eye(3) + WEIGHT * roughness)
    n_inputs = len(K)
    left, right = np.zeros((n_inputs + 3,) * 2), np.zeros((n_inputs + 3,) * 2)
    left[:n_inputs, n_inputs:] = centred.T @ Y
    right[:n_inputs, :n_inputs], right[n_inputs:, n_inputs:] = of_inputs, of_outputs
    values, vectors = eigh(left + left.T, right)
    np.testing.assert_allclose(correlations, values[::-1][:3], rtol=1e-8)
    ours = Q @ (s[:, None] * (T / (s + RIDGE)[:, None] @ A))
    expected = centred @ vectors[:n_inputs, ::-1][:, :3] * np.sqrt(2.0)
    np.testing.assert_allclose(np.abs(ours), np.abs(expected), atol=1e-7)


def test_without_penalties_it_is_canonical_correlation_analysis():
    X, others, Y, _ = small_data()
    X = X[:N_PAIRED]
    gram, gram_others = gram_matrix(X, kernel="linear"), gram_matrix(others, X, "linear")
    s, T, _ = eigenbasis(gram, Y)
    basis = output_basis(Y, 0.0)
    correlations, _ = canonical_directions(s, T, 1e-7, basis)
    centred = X - X.mean(axis=0)
    _, expected, turned = np.linalg.svd(np.linalg.qr(centred)[0].T @ np.linalg.qr(Y)[0])
    np.testing.assert_allclose(correlations, expected, rtol=1e-6)
    first = CCA(n_components=1, max_iter=5000, tol=1e-12).fit(X, Y)
    scores = [each.ravel() for each in first.transform(X, Y)]
    assert correlations[0] == pytest.approx(np.corrcoef(*scores)[0, 1], rel=1e-6)
    # Least squares on the first two variates of the inputs.
    variates = centred @ np.linalg.lstsq(centred, np.linalg.qr(Y)[0] @ turned[:2].T, rcond=None)[0]
    weights = np.linalg.lstsq(centred, variates, rcond=None)[0]
    new = (others - X.mean(axis=0)) @ weights
    expected = new @ np.linalg.lstsq(variates, Y, rcond=None)[0]
    ours = prediction(gram, gram_others, Y, basis, 2, 0.0, alpha=1e-9)
    np.testing.assert_allclose(ours, expected, atol=1e-5)


@pytest.mark.parametrize("penalty", [0.0, 0.5, np.inf])
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_all_directions_are_laplacian_ridge_regression(n_outputs, penalty):
    X, others, Y, _ = small_data(n_outputs)
    gram, gram_others = smoothed(X, others)
    ours = prediction(gram, gram_others, Y, output_basis(Y, penalty), n_outputs, 1.0)
    dual, intercept = fit_laplacian_ridge(gram_matrix(X, gamma=0.3), Y, NEIGHBOURS, WEIGHT, RIDGE)
    expected = gram_matrix(others, X, gamma=0.3) @ dual + intercept
    np.testing.assert_allclose(ours, expected, atol=1e-9)


def test_directions_of_covariance_are_fitted_values_of_reduced_rank():
    X, others, Y, _ = small_data()
    gram, gram_others = smoothed(X, others)
    for k in (1, 2):
        ours = prediction(gram, gram_others, Y, output_basis(Y, np.inf), k, 1.0)
        ((expected,),) = SpectralRidge(gram, Y).predict(gram_others, [ALPHA], fitted_ranks([k]))
        np.testing.assert_allclose(ours, expected, atol=1e-10)


def test_outputs_that_sum_to_one_have_one_direction_less():
    X, _, _, _ = small_data()
    Y = np.eye(3)[np.arange(N_PAIRED) % 3]
    Y -= Y.mean(axis=0)
    gram = gram_matrix(X[:N_PAIRED], gamma=0.3)
    s, T, _ = eigenbasis(gram, Y)
    correlations, A = canonical_directions(s, T, RIDGE, output_basis(Y, 0.0))
    assert len(correlations) == 2
    predicted = prediction(gram, gram, Y, output_basis(Y, 0.0), 3, 0.0)
    np.testing.assert_allclose(predicted.sum(axis=1), 0.0, atol=1e-10)


def test_constant_outputs_have_no_direction():
    X, others, Y, _ = small_data()
    gram, gram_others = smoothed(X, others)
    for penalty in (0.0, 1.0, np.inf):
        ours = prediction(gram, gram_others, 0.0 * Y, output_basis(0.0 * Y, penalty), 2, 0.0)
        np.testing.assert_array_equal(ours, 0.0)


def test_correlations_are_compared_with_those_of_permuted_rows():
    X, others, Y, _ = small_data()
    s, T, Q = eigenbasis(smoothed(X, others)[0], Y)
    basis = output_basis(Y, 0.1)
    order = np.random.default_rng(1).permutation(N_PAIRED)
    permuted = Q.T @ Y[order]
    first, second = (canonical_directions(s, rows, RIDGE, basis)[0] for rows in (T, permuted))
    (gain,) = spectral_gain(s, T, permuted, RIDGE, [basis])
    assert gain == pytest.approx(np.linalg.norm(first - second))
    assert spectral_gain(s, T, T, RIDGE, [basis]) == [0.0]
    assert spectral_gain(s, T, permuted, np.inf, [basis]) == [0.0]
