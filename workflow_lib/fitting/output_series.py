"""Outputs that are series, as kernels on series compare them."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from workflow_lib.core.errors import UserError


def output_series(tree: Mapping, location: Path) -> np.ndarray:
    """Return the outputs of a "dataset" tree as series (N, T, p).

    Raises UserError if the outputs are no series, or some are missing; `location` names the file.
    """
    names = tree["names"]
    if "series_length" not in names:
        raise UserError(
            location=f"{location}, with an output kernel on series",
            found="outputs that are no series",
            expected="a reader that gives series_length and series_channels",
            remedy="leave the methods with the output kernels dtw and gak out of this experiment",
        )
    outputs = tree["outputs"]
    incomplete = np.flatnonzero(np.isnan(outputs).any(axis=1))
    if len(incomplete):
        raise UserError(
            location=f"{location}, with an output kernel on series",
            found=f"{len(incomplete)} series with missing values, the first in row {incomplete[0]}",
            expected="complete series: an alignment passes over no step",
            remedy="leave the methods with the output kernels dtw and gak out of this experiment",
        )
    return outputs.reshape(len(outputs), int(names["series_length"]), -1)
