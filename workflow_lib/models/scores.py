"""What the Fisher scores of every kind of generative models offer."""

from abc import ABC, abstractmethod

import numpy as np


class Scores(ABC):
    """The scores of a fitted model in one form of the embedding.

    Kinds whose pre-image is not the weighted vote of
    `workflow_lib.models.closed_form` also have ``decoder`` and ``closed_form``, as described
    there. Kinds with a posterior pre-image have ``output_density``, which returns p_theta of the
    outputs (of all steps of series) as the weights (C,), means (C, d), covariances and covariance
    type of a Gaussian mixture.

    Attributes
    ----------
    leading : tuple of str
        The blocks that hold the structure; the pre-image is affine in the others once these are
        given. Empty where there are none.
    """

    safe_to_load = True

    leading: tuple[str, ...] = ()

    @abstractmethod
    def block_sizes(self) -> dict[str, int]:
        """Return the number of columns of each block, in order."""

    @abstractmethod
    def transform(self, Y) -> np.ndarray:
        """Return the embeddings (n, m) of outputs.

        Raises ValueError if `Y` is not finite or has another shape than the outputs of fit.
        """

    @abstractmethod
    def remaining_block(self, H: np.ndarray, blocks: dict[str, slice]) -> np.ndarray:
        """Return what follows the leading columns of `H` (..., m), as an array (..., d).

        Parameters
        ----------
        H : array (..., m)
        blocks : dict of slice
            Columns of each block.
        """
