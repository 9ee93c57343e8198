"""Fisher vectors of sets of descriptors: ours and scikit-image's, under the same mixture.

Ours computes the vectors of all sets in one call; scikit-image only offers one set per call. The
larger the sets, the more time both spend in the same four products of matrices: two for the
responsibilities of all components, two for the sums over each set.

An output of this project is a set of one descriptor: its Fisher vector is its scaled Fisher score.
The Fisher embedding of outputs, without root and length, is compared with the same function.

The conventions differ, and are matched as follows. scikit-image puts the derivatives with respect
to the weights first, which ours leaves out; its derivatives with respect to the deviations have the
opposite sign; it scales the whole vector to unit length. So its first numbers are dropped, the last
block changes sign, and the rest is scaled to unit length. Both take signed square roots
("improved").
"""

from collections.abc import Sequence

import numpy as np

from benchmarks.measuring import (
    Measurement,
    at_least,
    compared,
    each,
    largest_difference,
    where_installed,
)
from benchmarks.problems import N_OUTPUTS
from workflow_lib.inputs.fisher_vectors import FisherVectors
from workflow_lib.models.fisher import FisherEmbedding
from workflow_lib.models.mixtures.mixture import GaussianMixtureModel

TITLE = "Fisher vectors"

SET_NUMBERS = {1: 500, 20: 200, 200: 50, 2000: 10}
"""Number of sets by the descriptors of each."""
QUICK_SIZES = (1, 20)
OUTPUT_NUMBERS = (200, 2000)
QUICK_OUTPUT_NUMBERS = (200,)
DIMENSION = 64
COMPONENTS = 32
# As in the selection with a mixture.
OUTPUT_COMPONENTS = 10
MIXTURE_ROWS = 2000

GAIN = 10
EQUAL = 1e-6

PEER_CALL = "scikit-image fisher_vector, a call a set"


def measurements(quick: bool) -> list[Measurement]:
    """Return what is measured: sets of several sizes, and outputs."""
    sizes = QUICK_SIZES if quick else SET_NUMBERS
    numbers = QUICK_OUTPUT_NUMBERS if quick else OUTPUT_NUMBERS
    wanted = each("fisher_vectors", n=sizes) + each("outputs", n=numbers)
    return where_installed("skimage", wanted)


def descriptors(n: int, seed: int, dimension: int = DIMENSION) -> np.ndarray:
    """Return `n` descriptors around ten centres, the same for all seeds."""
    centres = 2.0 * np.random.default_rng(0).standard_normal((10, dimension))
    generator = np.random.default_rng(seed)
    return centres[generator.integers(len(centres), size=n)] + generator.standard_normal(
        (n, dimension)
    )


def fitted_mixture(
    n_components: int = COMPONENTS, dimension: int = DIMENSION
) -> GaussianMixtureModel:
    """Return the mixture that both sides use."""
    model = GaussianMixtureModel(n_components, "diag", n_init=1, max_iter=20, random_state=0)
    return model.fit(descriptors(MIXTURE_ROWS, 1, dimension))


def peer_mixture(model: GaussianMixtureModel):
    """Return scikit-learn's mixture with the same parameters."""
    from sklearn.mixture import GaussianMixture

    peer = GaussianMixture(model.n_components_, covariance_type="diag")
    peer.weights_, peer.means_ = model.weights_, model.means_
    peer.covariances_ = model.covariances_
    peer.precisions_cholesky_ = 1.0 / np.sqrt(model.covariances_)
    return peer


def peer_vectors(sets: Sequence[np.ndarray], peer, improved: bool = True) -> np.ndarray:
    """Return scikit-image's Fisher vectors (n, C + 2 C d) of the sets."""
    from skimage.feature import fisher_vector

    return np.array([fisher_vector(members, peer, improved=improved) for members in sets])


def in_our_conventions(vectors: np.ndarray, model: GaussianMixtureModel) -> np.ndarray:
    """Return scikit-image's vectors as ours would be: an array (n, 2 C d)."""
    scores = vectors[:, len(model.weights_) :] * np.repeat([1.0, -1.0], model.means_.size)
    return scores / np.linalg.norm(scores, axis=1, keepdims=True)


def output_embedding(model: GaussianMixtureModel) -> FisherEmbedding:
    """Return the embedding with the scores of the weights, means and variances."""
    return FisherEmbedding(model, form="full", covariance_block="constrained")


def in_the_peers_conventions(embedded: np.ndarray, embedding: FisherEmbedding) -> np.ndarray:
    """Return embedded outputs as scikit-image's vectors without root and length: (n, C + 2 C d)."""
    model, blocks = embedding.model, embedding.blocks
    roots, shape = np.sqrt(model.weights_), (-1, *model.means_.shape)
    by_weight = (embedded[:, blocks["pi"]] - 1.0) * roots
    by_mean = embedded[:, blocks["mu"]].reshape(shape)
    by_mean = by_mean * np.sqrt(model.covariances_) / roots[:, None]
    by_variance = embedded[:, blocks["sigma"]].reshape(shape)
    by_variance = -by_variance * model.covariances_ / (np.sqrt(2.0) * roots[:, None])
    parts = by_weight, by_mean, by_variance
    return np.hstack([part.reshape(len(embedded), -1) for part in parts])


def fisher_vectors(n: int) -> list[dict[str, str]]:
    """Time the Fisher vectors of sets of `n` descriptors each."""
    sets = [descriptors(n, 10 + index) for index in range(SET_NUMBERS[n])]
    model = fitted_mixture()
    vectors, theirs = FisherVectors(model), peer_mixture(model)
    peer_vectors(sets[:1], theirs)
    return compared(
        n,
        DIMENSION,
        {
            "Fisher vectors": lambda: vectors.transform(sets),
            PEER_CALL: lambda: peer_vectors(sets, theirs),
        },
        at_least(GAIN, EQUAL) if n == 1 else None,
        gain=True,
        agreement=lambda ours, found: largest_difference(ours, in_our_conventions(found, model)),
        note=f"n is descriptors a set; {len(sets)} sets, {COMPONENTS} components",
    )


def outputs(n: int) -> list[dict[str, str]]:
    """Time the Fisher vectors and the Fisher embedding of single outputs."""
    rows = descriptors(n, 10, N_OUTPUTS)
    sets = rows[:, None]
    model = fitted_mixture(OUTPUT_COMPONENTS, N_OUTPUTS)
    vectors, embedding = FisherVectors(model), output_embedding(model)
    theirs = peer_mixture(model)
    peer_vectors(sets[:1], theirs)

    def difference(ours: np.ndarray, found: np.ndarray) -> float:
        matched = in_the_peers_conventions(ours, embedding)
        return float(np.abs(found - matched).max() / np.abs(matched).max())

    goal, note = at_least(GAIN, EQUAL), f"n is outputs; {OUTPUT_COMPONENTS} components"
    return compared(
        n,
        N_OUTPUTS,
        {
            "Fisher vectors of single outputs": lambda: vectors.transform(sets),
            PEER_CALL: lambda: peer_vectors(sets, theirs),
        },
        goal,
        agreement=lambda ours, found: largest_difference(ours, in_our_conventions(found, model)),
        note=note,
    ) + compared(
        n,
        N_OUTPUTS,
        {
            "Fisher embedding of outputs": lambda: embedding.transform(rows),
            f"{PEER_CALL}, without root and length": lambda: peer_vectors(
                sets, theirs, improved=False
            ),
        },
        goal,
        agreement=difference,
        note=note,
    )
