"""Fisher vectors of sets of descriptors: ours and scikit-image's, under the same mixture.

The conventions differ, and are matched as follows. scikit-image puts the derivatives in the weights
in front, which ours leaves out; its derivatives in the deviations have the other sign; its length
is that of the whole vector. So its first numbers are dropped, the last block changes sign, and what
remains is scaled to unit length. Both take signed square roots ("improved").
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.measuring import Measurement, at_least, interleaved, is_installed, row
from workflow_lib.embeddings.fisher_vectors import FisherVectors
from workflow_lib.generative.mixture import GaussianMixtureModel

PEER = "skimage"
SIZES = (200, 500, 1000, 2000)
QUICK_SIZES = (200, 500)
N_SETS = 20
DIMENSION = 64
COMPONENTS = 32
MIXTURE_ROWS = 2000

GAIN = 10
EQUAL = 1e-6


def measurements(quick: bool) -> list[Measurement]:
    """Return what is measured: sets of several sizes."""
    return [Measurement("fisher_vectors", {"n": n}) for n in (QUICK_SIZES if quick else SIZES)]


def descriptors(n: int, seed: int, dimension: int = DIMENSION) -> np.ndarray:
    """Return `n` descriptors around ten centres, which all seeds share."""
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


def peer_vectors(sets: Sequence[np.ndarray], peer) -> np.ndarray:
    """Return scikit-image's Fisher vectors (n, C + 2 C d) of the sets."""
    from skimage.feature import fisher_vector

    return np.array([fisher_vector(members, peer, improved=True) for members in sets])


def in_our_conventions(vectors: np.ndarray, model: GaussianMixtureModel) -> np.ndarray:
    """Return scikit-image's vectors as ours would be: an array (n, 2 C d)."""
    scores = vectors[:, len(model.weights_) :] * np.repeat([1.0, -1.0], model.means_.size)
    return scores / np.linalg.norm(scores, axis=1, keepdims=True)


def fisher_vectors(n: int) -> list[dict[str, str]]:
    """Time the Fisher vectors of 20 sets of `n` descriptors each."""
    sets = [descriptors(n, 10 + index) for index in range(N_SETS)]
    model = fitted_mixture()
    vectors, theirs = FisherVectors(model), peer_mixture(model)
    calls = {"ours": lambda: vectors.transform(sets)}
    if is_installed(PEER):
        peer_vectors(sets[:1], theirs)
        calls["peer"] = lambda: peer_vectors(sets, theirs)
    timings = interleaved(calls)
    difference = None
    if "peer" in timings:
        matched = in_our_conventions(timings["peer"].result, model)
        difference = float(np.abs(timings["ours"].result - matched).max())
    return [
        row(
            n,
            DIMENSION,
            "Fisher vectors",
            timings["ours"],
            "scikit-image fisher_vector",
            timings.get("peer"),
            at_least(GAIN, EQUAL),
            agreement=difference,
            note=f"n is descriptors a set; {len(sets)} sets, {COMPONENTS} components"
            + ("" if "peer" in timings else "; scikit-image is not installed: left out"),
        )
    ]
