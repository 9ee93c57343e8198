"""The closed-form pre-image of the reduced embedding, eq. (7) and (10) of the OFER paper.

(That of series, Algorithm 1, is in `workflow_lib.models.state_spaces.scores`.)

Given responsibilities q_j = pi_j h1_j, the pre-image is affine in the summed mu block h:

    y = gain h + offset,    gain = (sum_j q_j Sigma_j^-1)^-1,
                            offset = gain sum_j q_j Sigma_j^-1 mu_j.

Selection scores every pair of penalties of the two blocks with this split.
"""

import numpy as np

from workflow_lib.models.forward import ForwardEmbedding
from workflow_lib.models.simplex import project_on_simplex

# A vote total this close to zero (relative to the components' own precisions) cannot be divided by.
MIN_VOTE = 1e-12

# Numbers in one block of systems, which stay in the cache of a processor.
BLOCK_SIZE = 2**17


def decoder(
    embedding: ForwardEmbedding, pi_block: np.ndarray, projected: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return offset and gain of the pre-image for predicted leading blocks.

    The pre-image is offset + gain times `ForwardEmbedding.remaining_block`.

    Parameters
    ----------
    embedding : ForwardEmbedding
    pi_block : array (..., C), or (..., T d) for series
        Predicted leading blocks (`ForwardEmbedding.leading_columns`); only its leading axes count
        where the embedding has none.
    projected : bool
        Project the predicted responsibilities on the simplex first, which keeps the votes of
        eq. (10) from crossing zero.

    Returns
    -------
    offset : array (..., d)
    gain : array (..., 1) for spherical covariances, (..., d) for diagonal ones, (..., d, d) for
        full ones; apply it with `apply_gain`.
    """
    if hasattr(embedding.scores, "decoder"):
        return embedding.scores.decoder(pi_block, projected)
    return weighted_vote(embedding, _responsibilities(embedding, pi_block, projected))


def _responsibilities(embedding, pi_block, projected) -> np.ndarray:
    """Return the responsibilities (..., C) that enter the vote."""
    if "pi" not in embedding.blocks:
        return np.ones((*pi_block.shape[:-1], 1))
    q = pi_block * embedding.model.weights_
    return project_on_simplex(q) if projected else q


def weighted_vote(embedding: ForwardEmbedding, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return offset and gain for responsibilities `q` (..., C), which need not be probabilities."""
    model = embedding.model
    if model.covariance_type == "full":
        votes, weighted_means = _matrix_votes(embedding, q)
        gain = _inverse(votes)
        return np.einsum("...de,...e->...d", gain, weighted_means), gain
    votes, weighted_means = _votes(model, q)
    gain = 1.0 / votes
    return gain * weighted_means, gain


def _matrix_votes(embedding: ForwardEmbedding, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return sum_j q_j Sigma_j^-1 (..., d, d) and sum_j q_j Sigma_j^-1 mu_j (..., d)."""
    means = embedding.model.means_
    n_components, dimension = means.shape
    precision = np.stack([p.dense(dimension) for p in embedding.scores.precisions])
    votes = q @ precision.reshape(n_components, -1)
    weighted_means = q @ np.einsum("cde,ce->cd", precision, means)
    return votes.reshape(*q.shape[:-1], dimension, dimension), weighted_means


def _votes(model, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return sum_j q_j / s_j and sum_j q_j mu_j / s_j for diagonal covariances."""
    precision = 1.0 / np.asarray(model.covariances_, dtype=np.float64)
    if model.covariance_type != "diag":
        precision = np.broadcast_to(precision, (len(model.means_),))[:, None]
    votes = q @ precision
    smallest = MIN_VOTE * precision.min(axis=0)
    votes = np.where(np.abs(votes) < smallest, smallest, votes)
    return votes, q @ (precision * model.means_)


def _inverse(votes: np.ndarray) -> np.ndarray:
    """Return the inverses of symmetric matrices (..., d, d), which may be indefinite."""
    try:
        return np.linalg.inv(votes)
    except np.linalg.LinAlgError:
        # Votes that cancel out exactly, for example where every predicted weight is zero.
        return np.linalg.pinv(votes, hermitian=True)


def apply_gain(gain: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Return a gain of `decoder` applied to vectors (..., d)."""
    if gain.ndim == vectors.ndim + 1:
        return np.einsum("...de,...e->...d", gain, vectors)
    return gain * vectors


def closed_form_preimage(embedding: ForwardEmbedding, H: np.ndarray, projected: bool) -> np.ndarray:
    """Return the outputs (n, d) of embeddings `H` (n, m) by eq. (7) or (10).

    The full form uses its first two blocks. Kinds of models with a closed form of their own, such
    as that of series (n, T, p), use it.
    """
    if hasattr(embedding.scores, "closed_form"):
        return embedding.scores.closed_form(H, embedding.blocks, projected)
    q = _responsibilities(embedding, H[:, embedding.blocks.get("pi", slice(0, 1))], projected)
    mean_block = embedding.remaining_block(H)
    if embedding.model.covariance_type == "full":
        return _matrix_preimage(embedding, q, mean_block)
    # In one array: many rows would spend their time on making new ones.
    votes, outputs = _votes(embedding.model, q)
    outputs += mean_block
    outputs /= votes
    return outputs


def _matrix_preimage(embedding: ForwardEmbedding, q, mean_block) -> np.ndarray:
    """Return the outputs (n, d) for full covariances, a system of d unknowns for each row."""
    if "pi" not in embedding.blocks:
        # The system is the same for all rows.
        offset, gain = weighted_vote(embedding, np.ones((1, 1)))
        return offset + mean_block @ gain[0].T
    outputs = np.empty_like(mean_block)
    step = max(1, BLOCK_SIZE // mean_block.shape[1] ** 2)
    for start in range(0, len(q), step):
        rows = slice(start, start + step)
        votes, weighted_means = _matrix_votes(embedding, q[rows])
        right = (weighted_means + mean_block[rows])[..., None]
        try:
            outputs[rows] = np.linalg.solve(votes, right)[..., 0]
        except np.linalg.LinAlgError:
            outputs[rows] = (_inverse(votes) @ right)[..., 0]
    return outputs
