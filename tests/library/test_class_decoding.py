"""Decoders of classes agree with explicit searches."""

import numpy as np
import pytest

from workflow_lib.models.class_decoding import (
    candidate_scores,
    component_first_scores,
    nearest_scores,
    output_kernel_scores,
)
from workflow_lib.solvers.gram import gram_matrix

N_ROWS, N_CLASSES, DIMENSION = 30, 7, 4


def numbers(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).normal(size=shape)


def differences(scores):
    """Return scores less that of the first class: what a decision depends on."""
    return scores - scores[:, :1]


def test_euclidean_scores_are_negative_squared_distances():
    outputs, vectors = numbers(N_ROWS, DIMENSION), numbers(N_CLASSES, DIMENSION)
    expected = [[-((y - v) ** 2).sum() for v in vectors] for y in outputs]
    np.testing.assert_allclose(nearest_scores(outputs, vectors), expected, rtol=1e-12)


def test_cosine_scores_are_cosines_around_the_mean_class_vector():
    outputs, vectors = numbers(N_ROWS, DIMENSION), numbers(N_CLASSES, DIMENSION) + 3.0
    mean = vectors.mean(axis=0)
    expected = [
        [
            (y - mean) @ (v - mean) / np.sqrt(((y - mean) ** 2).sum() * ((v - mean) ** 2).sum())
            for v in vectors
        ]
        for y in outputs
    ]
    np.testing.assert_allclose(nearest_scores(outputs, vectors, "cosine"), expected, atol=1e-12)


def test_cosine_scores_of_the_mean_itself_are_zero():
    vectors = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0]])
    scores = nearest_scores(np.zeros((2, 2)), vectors, "cosine")
    np.testing.assert_array_equal(scores, np.zeros((2, 3)))
    assert np.isfinite(nearest_scores(numbers(4, 2), vectors, "cosine")).all()


def test_an_unknown_distance_is_refused():
    with pytest.raises(ValueError, match="distance must be one of"):
        nearest_scores(numbers(2, 3), numbers(2, 3), "manhattan")


@pytest.mark.parametrize("weights", [None, np.array([0.0, 0.5, 2.0, 10.0])])
def test_candidate_scores_are_weighted_squared_distances_but_for_a_constant_a_row(weights):
    predicted, codes = numbers(N_ROWS, DIMENSION), numbers(N_CLASSES, DIMENSION, seed=1)
    used = np.ones(DIMENSION) if weights is None else weights
    distances = (used * (predicted[:, None] - codes) ** 2).sum(axis=2)
    found = candidate_scores(predicted, codes, weights, "euclidean")
    np.testing.assert_allclose(differences(found), -differences(distances), atol=1e-12)


def test_candidate_scores_are_by_default_cosines_around_the_mean_code():
    predicted, codes = numbers(N_ROWS, DIMENSION), numbers(N_CLASSES, DIMENSION, seed=1)
    weights = np.array([0.0, 0.5, 2.0, 10.0])
    found = candidate_scores(predicted, codes, weights)
    for row, class_number in ((0, 0), (3, 2)):
        p = predicted[row] - codes.mean(axis=0)
        c = codes[class_number] - codes.mean(axis=0)
        cosine = (weights * p * c).sum() / np.sqrt((weights * p**2).sum() * (weights * c**2).sum())
        assert found[row, class_number] == pytest.approx(cosine)


def test_output_kernel_scores_are_distances_in_the_feature_space():
    vectors, scores = numbers(N_CLASSES, DIMENSION), numbers(N_ROWS, N_CLASSES)
    gram = gram_matrix(vectors, None, "rbf", 0.3) * 2.0
    features = np.linalg.cholesky(gram)
    predicted = scores @ features
    distances = ((predicted[:, None] - features) ** 2).sum(axis=2)
    found = output_kernel_scores(scores, gram)
    np.testing.assert_allclose(differences(found), -differences(distances), atol=1e-11)


def test_component_first_is_the_best_class_of_the_most_probable_component_that_has_one():
    memberships, scores = numbers(200, 5), numbers(200, N_CLASSES)
    of_class = np.array([0, 2, 2, 4, 0, 4, 4])
    found = component_first_scores(memberships, np.eye(5)[of_class], scores)
    for row in range(200):
        component = max((0, 2, 4), key=lambda j: memberships[row, j])
        classes = [k for k in range(N_CLASSES) if of_class[k] == component]
        assert found[row].argmax() == max(classes, key=lambda k: scores[row, k])
        others = [k for k in range(N_CLASSES) if of_class[k] != component]
        assert found[row, others].max() < found[row, classes].min()
        np.testing.assert_array_equal(found[row, classes], scores[row, classes])
        np.testing.assert_array_equal(
            np.argsort(found[row, others]), np.argsort(scores[row, others])
        )


def test_component_first_decides_between_classes_whose_scores_agree():
    found = component_first_scores(np.array([[0.1, 0.9]]), np.eye(2), np.full((1, 2), 0.3))
    assert found.argmax() == 1


def test_component_first_scores_are_in_the_unit_of_the_scores():
    memberships, scores = numbers(N_ROWS, 2), numbers(N_ROWS, N_CLASSES)
    codes = np.eye(2)[np.arange(N_CLASSES) % 2]
    found = component_first_scores(memberships, codes, scores)
    scaled = component_first_scores(memberships, codes, 1e-6 * scores)
    np.testing.assert_allclose(scaled, 1e-6 * found, rtol=1e-12)
