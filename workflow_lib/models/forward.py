"""The Fisher embedding of outputs under a generative model, without the way back.

Apart from `FisherEmbedding`, so that stages that only embed do not depend on the pre-images.
"""

import numpy as np

from workflow_lib.core.parameters import check_choice
from workflow_lib.core.plugins import OUTPUT_MODELS
from workflow_lib.models.storage import kind_of

FORMS = ("reduced", "full")
COVARIANCE_BLOCKS = ("constrained", "matrix")


class ForwardEmbedding:
    """phi(y) = M grad_theta log p_theta(y), eq. (1) and section 4 of the OFER paper.

    Parameters and attributes are those of `FisherEmbedding`.
    """

    safe_to_load = True

    def __init__(self, model, form: str = "reduced", covariance_block: str = "constrained") -> None:
        check_choice("form", form, FORMS)
        check_choice("covariance_block", covariance_block, COVARIANCE_BLOCKS)
        kind = kind_of(model)
        if hasattr(model, "_check_is_fitted"):
            model._check_is_fitted()
        self.model = model
        self.form = form
        self.covariance_block = covariance_block
        self.scores = OUTPUT_MODELS.load(kind).scores(model, form, covariance_block)

    @property
    def blocks(self) -> dict[str, slice]:
        """Columns of each block, in order."""
        blocks, begin = {}, 0
        for name, size in self.scores.block_sizes().items():
            blocks[name] = slice(begin, begin + size)
            begin += size
        return blocks

    @property
    def n_features(self) -> int:
        """Number of columns of the embedding."""
        return max(block.stop for block in self.blocks.values())

    def transform(self, Y) -> np.ndarray:
        """Return the embeddings (n, m) of outputs `Y` (n, d), or series (n, T, p) or (n, T p).

        Raises ValueError if `Y` is not finite or has another number of columns (or steps) than the
        model.
        """
        return self.scores.transform(Y)

    @property
    def leading_columns(self) -> slice | None:
        """Columns of the blocks that hold the structure: `pi`, or `initial` and `state` of series.

        The pre-image is affine in the rest once they are given. None for a single Gaussian, whose
        embedding has no such block.
        """
        if not self.scores.leading:
            return None
        return slice(0, self.blocks[self.scores.leading[-1]].stop)

    def remaining_block(self, H: np.ndarray) -> np.ndarray:
        """Return what follows the leading columns of `H` (..., m), as an array (..., d).

        For mixtures the mu block, summed over components; for series the observation block in
        units of the outputs.
        """
        return self.scores.remaining_block(H, self.blocks)

    @property
    def shares_variance(self) -> bool:
        """Whether all components share one variance, so that the mu block is affine in the output.

        Given the memberships q it is h = (y - q M) / sigma^2, with the means M (C, d).
        """
        return "pi" in self.blocks and self.model.covariance_type == "tied_spherical"

    def mean_block_of_outputs(self, Y: np.ndarray, memberships: np.ndarray) -> np.ndarray:
        """Return that block (..., d) for outputs `Y` (..., d) and memberships (..., C)."""
        return (Y - memberships @ self.model.means_) / self.model.covariances_
