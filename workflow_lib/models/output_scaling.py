"""The units in which a generative model sees the outputs, learned from its training rows.

A spherical component compares outputs by their plain distance, so columns in large units would
decide alone; a state-space model has no constant term, so its series must be centred. The scaling
is undone after the pre-image: errors are always those of the outputs in their own units.
"""

from dataclasses import dataclass

import numpy as np

OUTPUT_SCALES = ("none", "center", "standard")


@dataclass(frozen=True)
class OutputScaling:
    """The affine map of each output coordinate to the units of the model.

    Attributes
    ----------
    offset, scale : array (d,)
        Scaled value = (value - offset) / scale; every scale is positive.
    """

    offset: np.ndarray
    scale: np.ndarray

    def apply(self, Y: np.ndarray) -> np.ndarray:
        """Return outputs (n, d) in the units of the model."""
        return (Y - self.offset) / self.scale

    def inverse_transform(self, Y: np.ndarray) -> np.ndarray:
        """Return outputs (n, d) of the model in their own units."""
        return Y * self.scale + self.offset


def fit_output_scaling(Y: np.ndarray, scale: str) -> OutputScaling:
    """Fit the scaling to training outputs `Y` (n, d).

    Raises ValueError if `scale` is unknown.

    Parameters
    ----------
    Y : array (n, d)
    scale : {"none", "center", "standard"}
        ``none``: the outputs as they are. ``center``: less the mean of these rows. ``standard``:
        also divided by their standard deviation; a constant coordinate keeps its unit.
    """
    if scale not in OUTPUT_SCALES:
        raise ValueError(f"scale must be one of {OUTPUT_SCALES}; found {scale!r}.")
    dimension = Y.shape[1]
    if scale == "none":
        return OutputScaling(np.zeros(dimension), np.ones(dimension))
    mean = Y.mean(axis=0)
    if scale == "center":
        return OutputScaling(mean, np.ones(dimension))
    deviation = Y.std(axis=0)
    # Rounding leaves a constant coordinate a deviation of a few units in the last place.
    constant = deviation <= 1e-12 * np.abs(mean)
    return OutputScaling(mean, np.where(constant | (deviation == 0), 1.0, deviation))
