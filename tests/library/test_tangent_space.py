"""Covariances as points of the tangent space at their mean."""

import numpy as np
import pytest
from scipy.linalg import logm, sqrtm
from sklearn.base import clone

from workflow_lib.inputs.tangent_space import TangentSpace
from workflow_lib.solvers.stored.estimator import estimator_bytes, estimator_from_bytes


def covariances(n_rows=12, p=4, seed=0):
    roots = np.random.default_rng(seed).normal(size=(n_rows, p, p + 3))
    return roots @ roots.swapaxes(1, 2) / (p + 3)


def triangles(matrices):
    return matrices[(slice(None), *np.tril_indices(matrices.shape[1]))]


def test_lengths_are_the_distances_from_the_mean():
    found = TangentSpace(shrinkage=0.0).fit(triangles(covariances()))
    inverse_root = np.linalg.inv(sqrtm(found.mean_))
    for matrix, coordinates in zip(covariances(), found.transform(triangles(covariances()))):
        logarithm = logm(inverse_root @ matrix @ inverse_root)
        np.testing.assert_allclose(np.linalg.norm(coordinates), np.linalg.norm(logarithm))


def test_coordinates_of_the_training_rows_sum_to_zero():
    coordinates = TangentSpace(shrinkage=0.0).fit_transform(triangles(covariances()))
    np.testing.assert_allclose(coordinates.mean(axis=0), 0.0, atol=1e-5)


def test_a_change_of_basis_leaves_the_gram_matrix():
    mixing = np.random.default_rng(1).normal(size=(4, 4))
    mixed = mixing @ covariances() @ mixing.T
    grams = []
    for matrices in (covariances(), mixed):
        settings = {"shrinkage": 0.0, "tolerance": 1e-24, "n_iterations": 200}
        learner = TangentSpace(**settings).fit(triangles(matrices[:8]))
        coordinates = learner.transform(triangles(matrices))
        grams.append(coordinates @ coordinates.T)
    np.testing.assert_allclose(grams[1], grams[0], atol=1e-8)


def test_coordinates_are_whitened_fisher_scores_to_first_order():
    learner = TangentSpace(shrinkage=0.0).fit(triangles(covariances()))
    change = np.random.default_rng(2).normal(size=(4, 4))
    change = 1e-5 * (change + change.T)
    inverse = np.linalg.inv(learner.mean_)
    # The score of a normal law of mean zero is M^-1 (C - M) M^-1 / 2, and its squared length under
    # the inverse of the Fisher information is tr(M^-1 (C - M) M^-1 (C - M)) / 2.
    score_length = np.trace(inverse @ change @ inverse @ change)
    coordinates = learner.transform(triangles((learner.mean_ + change)[None]))[0]
    np.testing.assert_allclose(coordinates @ coordinates, score_length, rtol=1e-3)


def test_series_are_their_covariances_and_the_learner_is_stored():
    series = np.random.default_rng(3).normal(size=(9, 20, 3))
    centred = series - series.mean(axis=1, keepdims=True)
    expected = TangentSpace().fit_transform(
        triangles(np.einsum("ntp,ntq->npq", centred, centred) / 20)
    )
    learner = TangentSpace(of_series=True, n_channels=3)
    found = clone(learner).fit(series.reshape(9, -1))
    np.testing.assert_allclose(found.transform(series.reshape(9, -1)), expected, atol=1e-12)
    again = estimator_from_bytes(estimator_bytes(found))
    np.testing.assert_array_equal(again.transform(series.reshape(9, -1)), expected)


def test_fewer_steps_than_channels_need_shrinkage():
    series = np.random.default_rng(4).normal(size=(5, 3 * 6))
    TangentSpace(of_series=True, n_channels=6).fit(series)
    with pytest.raises(ValueError, match="row 0 is not positive definite .* raise shrinkage"):
        TangentSpace(of_series=True, n_channels=6, shrinkage=0.0).fit(series)


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (TangentSpace(), "not the lower triangle"),
        (TangentSpace(of_series=True), "no series"),
        (TangentSpace(of_series=True, n_channels=3), "no series"),
    ],
)
def test_other_numbers_of_columns_are_refused(learner, message):
    with pytest.raises(ValueError, match=message):
        learner.fit(np.ones((4, 7)))
