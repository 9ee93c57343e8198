"""Decoding of classes: from predicted vectors, embeddings or class scores to scores of the classes.

Every decoder returns scores (n, K), higher is better; the predicted class is the first of the
highest. Where the target of a row is a code of its class, one code per row of C (K, m), kernel
ridge regression with one kernel and one penalty predicts s(x)'C, with s(x) (K,) its predictions of
the indicators of the classes. So with one penalty all methods of this kind are decodings of the
same scores: regression of class vectors decodes s'V, that of a Fisher embedding s'C, output kernel
regression K s with K the output kernel of the classes.
"""

import numpy as np

from workflow_lib.core.parameters import check_choice
from workflow_lib.models.covariance import squared_distances

DISTANCES = ("euclidean", "cosine")
"""Ways to compare a predicted class vector with those of the classes."""


def nearest_scores(
    outputs: np.ndarray, vectors: np.ndarray, distance: str = "euclidean"
) -> np.ndarray:
    """Return how near predicted class vectors are to those of the classes, an array (n, K).

    Raises ValueError if `distance` is unknown.

    Parameters
    ----------
    outputs : array (n, d)
        Predicted class vectors y.
    vectors : array (K, d)
        Class vectors v_k; their mean is m.
    distance : {"euclidean", "cosine"}, default="euclidean"
        ``euclidean``: -||y - v_k||^2. ``cosine``: the cosine of the angle between y - m and
        v_k - m. Ridge regression shrinks predictions towards the mean, where classes with vectors
        near the mean win the nearest-vector search too often; the angle around the mean does not
        see the shrinkage. It is 0 where a vector is the mean itself.
    """
    check_choice("distance", distance, DISTANCES)
    if distance == "euclidean":
        return -squared_distances(outputs, vectors)
    centre = vectors.mean(axis=0)
    return _directions(outputs - centre) @ _directions(vectors - centre).T


def candidate_scores(
    predicted: np.ndarray,
    codes: np.ndarray,
    weights: np.ndarray | None = None,
    distance: str = "cosine",
) -> np.ndarray:
    """Return how near predicted embeddings p are to the codes c of the classes, an array (n, K).

    With W = diag(weights) the embeddings are those of W^(1/2) p and W^(1/2) c, compared as by
    `nearest_scores`. The angle around the mean code is the default: from few examples every
    prediction is near the mean, and by the distance the class with the code nearest to the mean
    would win every row.

    Parameters
    ----------
    predicted : array (n, m)
    codes : array (K, m)
    weights : array (m,) or None, default=None
        Weight, not negative, of each coordinate; None means 1.
    distance : {"euclidean", "cosine"}, default="cosine"
    """
    roots = 1.0 if weights is None else np.sqrt(weights)
    return nearest_scores(predicted * roots, codes * roots, distance)


def output_kernel_scores(one_hot_scores: np.ndarray, output_gram: np.ndarray) -> np.ndarray:
    """Return the scores (n, K) of the exact search of output kernel regression over the classes.

    2 s'K_k - K_kk, which is -||sum_j s_j psi(v_j) - psi(v_k)||^2 up to a constant a row, psi the
    features of the output kernel (Brouard, Szafranski & d'Alche-Buc 2016).

    Parameters
    ----------
    one_hot_scores : array (n, K)
        Predicted indicators s of the classes.
    output_gram : array (K, K)
        Output kernel K between the classes.
    """
    return 2.0 * (one_hot_scores @ output_gram) - np.diagonal(output_gram)


def component_first_scores(
    memberships: np.ndarray, class_memberships: np.ndarray, scores: np.ndarray
) -> np.ndarray:
    """Return class scores (n, K) that let only classes of the most probable component win.

    A class is of the component with its highest membership; components without any class cannot be
    the most probable one. The scores of all other classes are lowered by a little more than the
    range of the row's scores, so that each is below all that compete.

    Parameters
    ----------
    memberships : array (n, C)
        Predicted memberships of the rows; they need not be probabilities.
    class_memberships : array (K, C)
        Memberships of the class vectors.
    scores : array (n, K)
        Class scores.
    """
    of_class = class_memberships.argmax(axis=1)
    inhabited = np.unique(of_class)
    likeliest = inhabited[memberships[:, inhabited].argmax(axis=1)]
    spread = np.ptp(scores, axis=1)[:, None]
    # Added to the range, so that the lowest that competes is not met; 1 where all scores agree.
    gap = np.where(spread > 0.0, spread / scores.shape[1], 1.0)
    return np.where(of_class == likeliest[:, None], scores, scores - spread - gap)


def least_loss_scores(scores: np.ndarray, losses: np.ndarray) -> np.ndarray:
    """Return minus the expected loss (n, K) of each class, under scores as probabilities.

    The probabilities p are the point of the simplex nearest to the scores, and the expected loss of
    class k is sum_j p_j L_jk.

    Parameters
    ----------
    scores : array (n, K)
    losses : array (K, K)
        L, of the true class j and the predicted class k.
    """
    return -(on_simplex(scores) @ losses)


def on_simplex(points: np.ndarray) -> np.ndarray:
    """Return the nearest points (n, K) with coordinates from 0 that sum to 1.

    They are max(x - t, 0), with t from the sorted coordinates (Duchi, Shalev-Shwartz, Singer and
    Chandra 2008, Fig. 1).
    """
    falling = -np.sort(-points, axis=1)
    counts = np.arange(1, points.shape[1] + 1)
    thresholds = (np.cumsum(falling, axis=1) - 1.0) / counts
    last = (falling > thresholds).sum(axis=1) - 1
    return np.maximum(points - thresholds[np.arange(len(points)), last][:, None], 0.0)


def decoded_scores(
    decoder: str,
    indicators: np.ndarray,
    memberships: np.ndarray | None,
    codes: np.ndarray | None,
    weights: np.ndarray | None,
) -> np.ndarray:
    """Return the class scores (n, K) that a decoder of class indicators finds.

    Raises ValueError if `decoder` is unknown.

    Parameters
    ----------
    decoder : {"one_hot", "least_loss", "output_kernel", "candidates", "class_block", \
            "class_block_component_first"}
        As in `workflow_lib.methods.class_ridge.run`.
    indicators : array (n, K)
        Predicted indicators of the classes.
    memberships : array (n, C) or None
        Predicted memberships, for the last two decoders.
    codes : array or None
        None for ``one_hot``; the losses between the classes (K, K) for ``least_loss``; the output
        kernel between the classes (K, K) for ``output_kernel``;
        the embeddings (K, m) of the classes for ``candidates``; else their memberships (K, C).
    weights : array or None
        Weight of each coordinate of the embeddings (m,), or of the indicators followed by the
        memberships (K + C,); None for the first two decoders.
    """
    if decoder == "one_hot":
        return indicators
    if decoder == "least_loss":
        return least_loss_scores(indicators, codes)
    if decoder == "output_kernel":
        return output_kernel_scores(indicators, codes)
    if decoder == "candidates":
        return candidate_scores(indicators @ codes, codes, weights)
    check_choice("decoder", decoder, ("class_block", "class_block_component_first"))
    predicted = np.hstack([indicators, memberships])
    scores = candidate_scores(predicted, np.hstack([np.eye(len(codes)), codes]), weights)
    if decoder == "class_block":
        return scores
    return component_first_scores(memberships, codes, scores)


def _directions(vectors: np.ndarray) -> np.ndarray:
    """Return the vectors (n, d) at unit length; zero stays zero."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0.0, lengths, 1.0)
