"""Fisher vectors of sets of descriptors and Fisher scores of outputs, beside scikit-image.

Ours takes all sets in one call, scikit-image one set per call, under the same mixture. Its vectors
begin with the derivatives with respect to the weights, which ours leaves out, those with respect to
the deviations have the opposite sign, and the whole has unit length: its first numbers are dropped,
the last block changes sign, and the rest is scaled to unit length before they are compared.
"""

from importlib.util import find_spec

import numpy as np

from benchmarks.measuring import Measurement, at_least, compared, each, largest_difference
from workflow_lib import FisherEmbedding, GaussianMixtureModel
from workflow_lib.inputs.fisher_vectors import FisherVectors

SETS = {1: 500, 20: 200, 200: 50, 2000: 10}
"""Number of sets by the descriptors of each."""
GAIN, EQUAL = 10, 1e-6
PEER = "scikit-image fisher_vector, a call a set"


def measurements(quick: bool) -> list[Measurement]:
    """Return what is measured: sets of several sizes, and outputs; nothing without the peer."""
    if find_spec("skimage") is None:
        return []
    return each("fisher_vectors", n=(1, 20) if quick else SETS) + each(
        "outputs", n=(200,) if quick else (200, 2000)
    )


def problem(n_components: int, dimension: int):
    """Return rows around ten centres, a mixture of them, and the same as scikit-learn's."""
    from sklearn.mixture import GaussianMixture

    random = np.random.default_rng(0)
    centres = 2.0 * random.standard_normal((10, dimension))
    rows = centres[random.integers(10, size=20_000)] + random.standard_normal((20_000, dimension))
    model = GaussianMixtureModel(n_components, "diag", n_init=1, max_iter=20, random_state=0)
    model.fit(rows[:2000])
    peer = GaussianMixture(model.n_components_, covariance_type="diag")
    peer.weights_, peer.means_, peer.covariances_ = model.weights_, model.means_, model.covariances_
    peer.precisions_cholesky_ = 1.0 / np.sqrt(model.covariances_)
    return rows, model, peer


def peer_vectors(sets, peer, improved: bool = True) -> np.ndarray:
    """Return the vectors (n, 2 C d) of scikit-image, with our sign of the deviations."""
    from skimage.feature import fisher_vector

    found = np.array([fisher_vector(members, peer, improved=improved) for members in sets])
    return found[:, len(peer.weights_) :] * np.repeat([1.0, -1.0], peer.means_.size)


def of_unit_length(vectors: np.ndarray) -> np.ndarray:
    """Return the vectors (n, q), each divided by its length."""
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def fisher_vectors(n: int, components: int = 32, dimension: int = 64) -> list[dict[str, str]]:
    """Time the Fisher vectors of sets of `n` descriptors each."""
    rows, model, peer = problem(components, dimension)
    sets = rows[: n * SETS[n]].reshape(-1, n, dimension)
    vectors = FisherVectors(model)
    return compared(
        n,
        dimension,
        {
            "Fisher vectors": lambda: vectors.transform(sets),
            PEER: lambda: peer_vectors(sets, peer),
        },
        at_least(GAIN, EQUAL) if n == 1 else None,
        gain=True,
        agreement=lambda ours, theirs: largest_difference(ours, of_unit_length(theirs)),
        note=f"n is descriptors a set; {len(sets)} sets, {components} components",
    )


def outputs(n: int, components: int = 10, dimension: int = 60) -> list[dict[str, str]]:
    """Time the Fisher embedding of `n` outputs, without root and length."""
    rows, model, peer = problem(components, dimension)
    embedding = FisherEmbedding(model, form="full", covariance_block="constrained")
    deviations, roots = np.sqrt(model.covariances_), np.sqrt(model.weights_)[:, None]

    def difference(ours: np.ndarray, theirs: np.ndarray) -> float:
        by_mean, by_variance = (
            ours[:, embedding.blocks[block]].reshape(-1, *deviations.shape)
            for block in ("mu", "sigma")
        )
        blocks = by_mean * deviations, by_variance * deviations**2 / np.sqrt(2.0)
        matched = np.hstack([(block / roots).reshape(len(ours), -1) for block in blocks])
        return float(np.abs(matched - theirs).max() / np.abs(theirs).max())

    return compared(
        n,
        dimension,
        {
            "Fisher embedding of outputs": lambda: embedding.transform(rows[:n]),
            f"{PEER}, without root and length": lambda: peer_vectors(rows[:n, None], peer, False),
        },
        at_least(GAIN, EQUAL),
        agreement=difference,
        note=f"n is outputs; {components} components",
    )
