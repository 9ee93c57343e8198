"""The alignments stage: comparisons of all pairs of output series of a dataset, computed once.

Kernels on series cost far more than the regressions that use them, and the comparison of two series
is the same in every split and fold. The width of the kernel is chosen later, from training rows:
distances do not depend on it, and global alignment kernels are computed for all values of a lattice
that could be chosen. So all rows determine which values are precomputed, and only training rows
determine which of them is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.fitting.output_series import output_series
from workflow_lib.solvers.alignment import (
    global_alignment_gram,
    lattice_between,
    squared_dtw_distances,
)
from workflow_lib.solvers.output_kernels import output_unit

# Largest factor between the unit of some training rows and that of all rows.
UNIT_RANGE = 2.0


def run(dataset: Path, output: Path, kernel: str, output_widths: Sequence[float]) -> None:
    """Compare all output series of a dataset and write the "alignments" artifact.

    For the kernel ``dtw`` it holds ``squared_distances`` (N, N). For ``gak`` it holds ``sigmas``
    (m,) and in the group ``grams`` the Gram matrices (N, N) ``sigma-0``, ``sigma-1`` and so on:
    one for each lattice value from half the smallest to twice the largest of `output_widths`, in
    units of `output_unit` of all rows.

    Raises UserError if the outputs are not series, tslearn is not installed, or a kernel value
    leaves the range of floating-point numbers.
    """
    tree = read_artifact(dataset, "dataset")
    series = output_series(tree, dataset)
    if kernel == "dtw":
        print(f"dtw: {_described(series)}")
        result = {"kernel": kernel, "squared_distances": squared_dtw_distances(series)}
    else:
        unit = output_unit(tree["outputs"])
        sigmas = lattice_between(
            min(output_widths) * unit / UNIT_RANGE, max(output_widths) * unit * UNIT_RANGE
        )
        result = {"kernel": kernel, "sigmas": sigmas, "grams": {}}
        for index, sigma in enumerate(sigmas):
            print(f"gak: {_described(series)}, sigma {sigma:g} ({index + 1} of {len(sigmas)})")
            result["grams"][f"sigma-{index}"] = global_alignment_gram(series, sigma)
    write_artifact(output, result, "alignments", inputs=[dataset])


def _described(series: np.ndarray) -> str:
    return f"{len(series)} series of {series.shape[1]} steps"
