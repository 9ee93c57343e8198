"""The synthetic problems of the benchmarks; the same seed always gives the same problem."""

from typing import NamedTuple

import numpy as np

N_INPUTS = 20
N_OUTPUTS = 60
N_FOLDS = 5
# Dimensions of the inputs that the outputs depend on.
N_LATENT = 3
N_CLUSTERS = 6
NOISE = 0.5


class Problem(NamedTuple):
    """Inputs (n, 20), outputs (n, 60), and five folds (n,) of equal size where n allows it."""

    inputs: np.ndarray
    outputs: np.ndarray
    folds: np.ndarray


def smooth_problem(n: int, seed: int = 0) -> Problem:
    """Return `n` rows whose outputs form clusters around a smooth function of the inputs.

    With z = tanh(W x), the cluster is the one whose score V z is largest, and the output is its
    mean plus B z plus noise of standard deviation 0.5; all matrices are normal.
    """
    generator = np.random.default_rng(seed)
    inputs = generator.standard_normal((n, N_INPUTS))
    latent = np.tanh(
        inputs @ generator.standard_normal((N_INPUTS, N_LATENT)) / np.sqrt(N_INPUTS / N_LATENT)
    )
    clusters = (latent @ generator.standard_normal((N_LATENT, N_CLUSTERS))).argmax(axis=1)
    means = generator.standard_normal((N_CLUSTERS, N_OUTPUTS))
    smooth = latent @ generator.standard_normal((N_LATENT, N_OUTPUTS))
    noise = NOISE * generator.standard_normal((n, N_OUTPUTS))
    folds = generator.permutation(np.arange(n) % N_FOLDS)
    return Problem(inputs, means[clusters] + smooth + noise, folds)
