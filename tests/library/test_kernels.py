"""Gram matrices equal their definitions, are positive semi-definite, and name bad inputs."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel

from workflow_lib.solvers.gram import gram_matrix


def inputs(n_rows=12, seed=0):
    return np.random.default_rng(seed).normal(size=(n_rows, 5))


def fingerprints(n_rows=12, seed=0):
    return (np.random.default_rng(seed).random((n_rows, 9)) < 0.4).astype(float)


@pytest.mark.parametrize("gamma", [1e-3, 0.3, 10.0])
def test_rbf_and_linear_equal_those_of_scikit_learn(gamma):
    X, Z = inputs(), inputs(7, seed=1)
    np.testing.assert_allclose(
        gram_matrix(X, Z, "rbf", gamma), rbf_kernel(X, Z, gamma), rtol=1e-11, atol=1e-300
    )
    np.testing.assert_allclose(gram_matrix(X, Z, "linear"), linear_kernel(X, Z), rtol=1e-13)


def test_default_gamma_is_one_over_the_number_of_inputs():
    X = inputs()
    np.testing.assert_array_equal(gram_matrix(X), gram_matrix(X, gamma=1 / 5))
    np.testing.assert_allclose(gram_matrix(X), rbf_kernel(X), rtol=1e-12)


def test_rbf_keeps_its_digits_far_from_the_origin():
    X = inputs()
    np.testing.assert_allclose(
        gram_matrix(X + 1e6, gamma=0.5), gram_matrix(X, gamma=0.5), rtol=1e-8
    )


def test_tanimoto_is_the_ratio_of_common_and_united_bits():
    X, Z = fingerprints(), fingerprints(7, seed=1)
    expected = np.array([[np.minimum(x, z).sum() / np.maximum(x, z).sum() for z in Z] for x in X])
    np.testing.assert_allclose(gram_matrix(X, Z, "tanimoto"), expected, rtol=1e-13)


def test_tanimoto_of_empty_fingerprints():
    X = np.vstack([fingerprints(3), np.zeros((2, 9))])
    X[0, 0] = X[1, 0] = X[2, 0] = 1
    gram = gram_matrix(X, None, "tanimoto")
    np.testing.assert_array_equal(gram[3:, 3:], np.ones((2, 2)))
    np.testing.assert_array_equal(gram[3:, :3], np.zeros((2, 3)))


@pytest.mark.parametrize("kernel", ["rbf", "linear", "tanimoto"])
def test_gram_matrices_are_symmetric_and_positive_semi_definite(kernel):
    X = np.abs(np.vstack([inputs(30), inputs(3), np.zeros((2, 5))]))
    gram = gram_matrix(X, None, kernel)
    np.testing.assert_array_equal(gram, gram.T)
    assert np.linalg.eigvalsh(gram).min() >= -1e-10
    np.testing.assert_allclose(gram, gram_matrix(X, X, kernel), atol=1e-14)


def test_precomputed_matrices_pass_through_as_float64():
    K = np.arange(6, dtype=np.float32).reshape(2, 3)
    result = gram_matrix(K, None, "precomputed")
    assert result.dtype == np.float64
    np.testing.assert_array_equal(result, K)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "tanimoto"])
def test_inputs_are_not_changed(kernel):
    X = np.abs(inputs())
    before = X.copy()
    gram_matrix(X, None, kernel)
    np.testing.assert_array_equal(X, before)


def test_negative_tanimoto_features_name_the_row():
    X = fingerprints()
    X[4, 2] = -1
    with pytest.raises(ValueError, match="Negative values in data: row 4.*counts or bits"):
        gram_matrix(X, None, "tanimoto")
    with pytest.raises(ValueError, match="Negative values in data: row 4"):
        gram_matrix(fingerprints(), X, "tanimoto")


def test_wrong_choices_are_named():
    with pytest.raises(ValueError, match="kernel must be one of .*found 'laplace'"):
        gram_matrix(inputs(), kernel="laplace")
    for gamma in (0.0, -1.0, np.nan):
        with pytest.raises(ValueError, match="gamma must be positive"):
            gram_matrix(inputs(), gamma=gamma)
