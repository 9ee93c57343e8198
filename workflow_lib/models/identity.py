"""The embedding that leaves outputs as they are: methods without a generative model."""

import numpy as np


class IdentityEmbedding:
    """phi(y) = y, with the interface of `FisherEmbedding` and one block, ``output``.

    Parameters
    ----------
    dimension : int
        Number of outputs d.
    """

    safe_to_load = True

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension
        self.blocks = {"output": slice(0, dimension)}
        self.n_features = dimension

    def transform(self, Y) -> np.ndarray:
        """Return the outputs (n, d) themselves, as float64."""
        return np.asarray(Y, dtype=np.float64)

    def inverse_transform(self, H, preimage=None, start=None) -> np.ndarray:
        """Return `H` (n, d); there is only one pre-image."""
        return np.asarray(H, dtype=np.float64)
