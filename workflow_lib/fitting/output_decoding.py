"""From weights on training outputs to predicted outputs, under one output kernel.

Output kernel regression predicts weights a_i(x) of the training outputs; the output predicted from
them is the one nearest to sum_i a_i(x) psi(y_i) in the feature space of the output kernel. Where
the weights are projected on the simplex first, they are those of a density of the outputs (see
`workflow_lib.models.density`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from workflow_lib.core.artifacts import read_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.fitting.missing_outputs import impute_mean
from workflow_lib.fitting.output_series import output_series
from workflow_lib.models.density import mean_shift
from workflow_lib.models.simplex import project_on_simplex
from workflow_lib.solvers.alignment import global_alignment_gram, lattice_sigma
from workflow_lib.solvers.gram import gram_matrix
from workflow_lib.solvers.output_kernels import (
    ascend_rbf_scores,
    clip_spectrum,
    minimise_rbf_distance,
    nearest_candidates,
    output_unit,
)

DENSITY_PREIMAGES = ("mean", "mean_shift")
"""Pre-images of weights that were projected on the simplex."""

# Mean shift in selection, which compares many predictions: errors differ from those of the full
# search by a part in a hundred where the kernel is narrow, and not in four digits elsewhere.
QUICK_SEARCH = {"max_iter": 15, "tolerance": 1e-3}


def preimage_weights(weights: np.ndarray, preimage: str) -> np.ndarray:
    """Return the weights (..., l) that a pre-image starts from: projected for those of a density.

    They do not depend on the output kernel, so that all its widths share them.
    """
    return project_on_simplex(weights) if preimage in DENSITY_PREIMAGES else weights


@dataclass(frozen=True)
class OutputDecoder:
    """The training outputs of a fold, or of the refit, and the output kernel between them.

    Attributes
    ----------
    outputs : array (l, d)
        Training outputs, missing ones filled with their mean; they are the candidates.
    gram : array (l, l)
        Output kernel between them.
    gamma : float or None
        Inverse squared width where the kernel is Gaussian; None where it is another one.
    """

    outputs: np.ndarray
    gram: np.ndarray
    gamma: float | None

    def decode(self, weights: np.ndarray, preimage: str, quick: bool = False) -> np.ndarray:
        """Return the predicted outputs (n, d) of weights (n, l).

        Parameters
        ----------
        weights : array (n, l)
            As `preimage_weights` returns them.
        preimage : {"candidates", "minimiser", "mean", "mean_shift"}
            ``candidates``: the training output nearest in the feature space. ``minimiser``
            (Gaussian kernel): the local optimum above it. ``mean``: the weighted mean, which is
            optimal for the linear kernel. ``mean_shift`` (Gaussian kernel, non-negative weights):
            the local optimum above the weighted mean.
        quick : bool, default=False
            Search approximately, for selection.
        """
        if preimage in DENSITY_PREIMAGES:
            means = weights @ self.outputs
            if preimage == "mean":
                return means
            limits = QUICK_SEARCH if quick else {}
            return mean_shift(weights, self.outputs, self.gamma, means, **limits)
        nearest = nearest_candidates(weights, self.gram, np.diagonal(self.gram))
        candidates = self.outputs[nearest]
        if preimage == "candidates":
            return candidates
        search = ascend_rbf_scores if quick else minimise_rbf_distance
        return search(weights, self.outputs, self.gamma, candidates)


class OutputKernel:
    """An output kernel whose width is learned from the training outputs of the fit.

    Parameters
    ----------
    name : {"rbf", "linear", "dtw", "gak"}
        ``rbf``: exp(-||y - y'||^2 / scale^2). ``linear``: y'y'. ``dtw``: exp(-DTW^2 / scale^2),
        no kernel, so that the spectrum of each Gram matrix is clipped. ``gak``: the global
        alignment kernel with sigma = `lattice_sigma` (scale).
    outputs : array (N, d)
        Outputs of the whole dataset, NaN where missing; every method says which rows it uses.
    series : array (N, T, p) or None
        The same as series, for ``gak``.
    alignments : mapping or None
        Tree of the "alignments" artifact of the dataset, for ``dtw`` and ``gak``. It only spares
        computing: a value of sigma that it does not hold is computed from the given rows.
    """

    def __init__(
        self,
        name: str,
        outputs: np.ndarray,
        series: np.ndarray | None = None,
        alignments: Mapping | None = None,
    ) -> None:
        self.name = name
        self.outputs = outputs
        self._series = series
        self._alignments = alignments

    def decoder(self, rows: np.ndarray, width: float | None) -> OutputDecoder:
        """Return the decoder of the training outputs in `rows` (l,), row numbers of the dataset.

        `width` is the scale in units of `output_unit` of these rows; None for ``linear``.
        """
        outputs = impute_mean(self.outputs[rows])
        if self.name == "linear":
            return OutputDecoder(outputs, gram_matrix(outputs, None, "linear"), None)
        scale = width * output_unit(outputs)
        if self.name == "rbf":
            gamma = 1.0 / scale**2
            return OutputDecoder(outputs, gram_matrix(outputs, None, "rbf", gamma), gamma)
        gram = self._dtw_gram if self.name == "dtw" else self._global_alignment_gram
        return OutputDecoder(outputs, gram(rows, scale), None)

    def _dtw_gram(self, rows, scale):
        distances = self._alignments["squared_distances"][np.ix_(rows, rows)]
        return clip_spectrum(np.exp(-distances / scale**2))

    def _global_alignment_gram(self, rows, scale):
        sigma = lattice_sigma(scale)
        cached = np.flatnonzero(self._alignments["sigmas"] == sigma)
        if not len(cached):
            return global_alignment_gram(self._series[rows], sigma)
        return self._alignments["grams"][f"sigma-{cached[0]}"][np.ix_(rows, rows)]


def read_output_kernel(name: str, dataset: Path, alignments: Path) -> OutputKernel:
    """Return an output kernel with stored alignments, ``dtw`` or ``gak``, on a dataset's rows.

    Raises UserError if the artifact of alignments is of another output kernel.
    """
    tree = read_artifact(dataset, "dataset")
    cached = read_artifact(alignments, "alignments")
    if cached["kernel"] != name:
        raise UserError(
            location=str(alignments),
            found=f"alignments of the output kernel {cached['kernel']}",
            expected=f"those of {name}",
            remedy=f"rm {alignments} and run the same snakemake command again",
        )
    return OutputKernel(name, tree["outputs"], output_series(tree, dataset), cached)
