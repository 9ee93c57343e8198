"""The Fisher embedding of outputs under a generative model, without the way back.

Apart from `FisherEmbedding`, so that stages that only embed do not depend on the pre-images.
"""

from __future__ import annotations

import numpy as np

from workflow_lib.embeddings.mixture import MixtureScores
from workflow_lib.embeddings.state_space import StateSpaceScores
from workflow_lib.parameters import as_output_matrix

FORMS = ("reduced", "full")
COVARIANCE_BLOCKS = ("constrained", "matrix")


class ForwardEmbedding:
    """phi(y) = M grad_theta log p_theta(y), eq. (1) and section 4 of the OFER paper.

    Parameters and attributes are those of `FisherEmbedding`.
    """

    def __init__(self, model, form: str = "reduced", covariance_block: str = "constrained") -> None:
        check_choice("form", form, FORMS)
        check_choice("covariance_block", covariance_block, COVARIANCE_BLOCKS)
        self.model = model
        self.form = form
        self.covariance_block = covariance_block
        if not model.outputs_are_series:
            self.scores = MixtureScores(model, self._sigma_shape())
        elif form == "reduced":
            self.scores = StateSpaceScores(model)
        else:
            raise ValueError(
                "Series have no full form: its pre-image would have no closed form. Use "
                "form='reduced'."
            )

    def _sigma_shape(self) -> str:
        if self.covariance_block == "matrix" or self.model.covariance_type == "full":
            return "matrix"
        return "diagonal" if self.model.covariance_type == "diag" else "trace"

    @property
    def blocks(self) -> dict[str, slice]:
        """Columns of each block, in order."""
        blocks, begin = {}, 0
        for name, size in self._block_sizes().items():
            blocks[name] = slice(begin, begin + size)
            begin += size
        return blocks

    def _block_sizes(self) -> dict[str, int]:
        if self.model.outputs_are_series:
            return self.scores.block_sizes()
        n_components, dimension = self.scores.n_components, self.scores.dimension
        sizes = {"pi": n_components} if self.model.has_component_block else {}
        if self.form == "reduced":
            sizes["mu"] = dimension
        else:
            sizes["mu"] = n_components * dimension
            sizes["sigma"] = n_components * self.scores.sigma_size
        return sizes

    @property
    def n_features(self) -> int:
        """Number of columns of the embedding."""
        return max(block.stop for block in self.blocks.values())

    def transform(self, Y) -> np.ndarray:
        """Return the embeddings (n, m) of outputs `Y` (n, d), or series (n, T, p) or (n, T p).

        Raises
        ------
        ValueError
            If `Y` is not finite or has another number of columns (or steps) than the model.
        """
        if self.model.outputs_are_series:
            return self.scores.reduced(Y)
        Y = as_output_matrix(Y)
        if Y.shape[1] != self.scores.dimension:
            raise ValueError(
                f"Y has {Y.shape[1]} columns; the model was fitted to {self.scores.dimension}."
            )
        return self.scores.reduced(Y) if self.form == "reduced" else self.scores.full(Y)

    @property
    def leading_columns(self) -> slice | None:
        """Columns of the blocks that hold the structure: `pi`, or `initial` and `state` of series.

        The pre-image is affine in the rest once they are given. None for a single Gaussian, whose
        embedding has no such block.
        """
        if self.model.outputs_are_series:
            return slice(0, self.blocks["state"].stop)
        return self.blocks.get("pi")

    def remaining_block(self, H: np.ndarray) -> np.ndarray:
        """Return what follows the leading columns of `H` (..., m), as an array (..., d).

        For mixtures `summed_mean_block`; for series the observation block in units of the outputs,
        R h2 = z - C m.
        """
        if self.model.outputs_are_series:
            return self.scores.residuals(H[..., self.blocks["observation"]])
        return self.summed_mean_block(H)

    @property
    def shares_variance(self) -> bool:
        """Whether all components share one variance, so that the mu block is affine in the output.

        Given the memberships q it is h = (y - q M) / sigma^2, with the means M (C, d).
        """
        return "pi" in self.blocks and self.model.covariance_type == "tied_spherical"

    def mean_block_of_outputs(self, Y: np.ndarray, memberships: np.ndarray) -> np.ndarray:
        """Return that block (..., d) for outputs `Y` (..., d) and memberships (..., C)."""
        return (Y - memberships @ self.model.means_) / self.model.covariances_

    def summed_mean_block(self, H: np.ndarray) -> np.ndarray:
        """Return the mu block of `H` (..., m), summed over components: an array (..., d)."""
        mean_block = H[..., self.blocks["mu"]]
        if self.form == "reduced":
            return mean_block
        shape = (*H.shape[:-1], self.scores.n_components, self.scores.dimension)
        return mean_block.reshape(shape).sum(axis=-2)


def check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    """Raise ValueError unless `value` is one of `choices`."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {choices}; found {value!r}.")
