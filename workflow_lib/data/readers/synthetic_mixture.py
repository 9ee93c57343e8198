"""Reader that draws the synthetic data of Djerrab et al. (2018), section 6.2.

Outputs are drawn from a Gaussian mixture; inputs are the projection of the outputs by kernel
PCA onto a space of few dimensions. The paper states the numbers of components and dimensions
(D1: 4 components in R^10, D2: 10 components in R^5, inputs in R^5), but not the number of rows, the
distances of the components, the width of the kernel and the unit of the inputs (here: mean variance
1). The first three are options, and the presets are three readings of the paper:

``informative``
    components that overlap, and inputs with much information about the outputs;
``overlapping``
    components that nearly coincide, and inputs with little information: of the readings tried, the
    errors of this one are closest to Tables 1 and 3 of the paper;
``separated``
    components far apart.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, Strict

from workflow_lib.core.errors import UserError
from workflow_lib.core.settings import Settings
from workflow_lib.tabular.tables import dataset_tree

PRESETS: dict[str, dict[str, Any]] = {
    "informative": {"n_rows": 1000, "spread": 1.0, "kernel_pca_gamma": None},
    "overlapping": {"n_rows": 1000, "spread": 0.3, "kernel_pca_gamma": 1.0},
    "separated": {"n_rows": 1000, "spread": 3.0, "kernel_pca_gamma": None},
}
"""Values of a preset for the options that are not given."""


Count = Annotated[int, Strict(), Field(ge=1, le=10_000)]
"""Bounded, so that a typing mistake cannot fill the memory."""


class Options(Settings):
    """Options of the reader ``synthetic_mixture``."""

    preset: Literal["informative", "overlapping", "separated"] | None = None
    """A reading of the paper; given options have precedence over it."""

    n_components: Count = 4
    """Components of the mixture, C, all of weight 1 / C."""

    n_outputs: Count = 10
    """Dimensions of the outputs, d."""

    n_inputs: Count = 5
    """Dimensions that kernel PCA keeps for the inputs."""

    n_rows: Annotated[int, Strict(), Field(ge=2, le=10_000)] = 1000
    """Number of rows drawn; kernel PCA needs a matrix of n_rows x n_rows."""

    spread: Annotated[float, Strict(), Field(ge=0, allow_inf_nan=False)] = 1.0
    """Standard deviation of the coordinates of the means; within a component it is 1."""

    kernel_pca_gamma: Annotated[float, Strict(), Field(gt=0, allow_inf_nan=False)] | None = None
    """Width of the kernel exp(-gamma ||y - y'||^2) of kernel PCA; null: 1 / n_outputs."""


def effective_options(options: Options) -> dict[str, Any]:
    """Return all options but the preset: the given values, then the preset, then the defaults."""
    written = {name: getattr(options, name) for name in options.model_fields_set}
    values = {**options.model_dump(), **PRESETS.get(options.preset or "", {}), **written}
    del values["preset"]
    if values["kernel_pca_gamma"] is None:
        values["kernel_pca_gamma"] = 1.0 / values["n_outputs"]
    return values


def read(options: Options, sources: Sequence[Path], seed: int) -> dict[str, Any]:
    """Draw the data; the same options and `seed` always give the same data.

    Means are drawn from N(0, spread^2 I), the component of each row uniformly, the outputs from
    N(mean of the component, I). ``truth`` in the tree holds ``weights`` (C,), ``means`` (C, d) and
    ``component`` (n,); ``report`` holds the options used. `sources` is not used.

    Raises UserError when there are fewer rows than input dimensions, or as many.
    """
    import numpy as np
    from sklearn.decomposition import KernelPCA

    values = effective_options(options)
    n_rows, n_inputs = values["n_rows"], values["n_inputs"]
    if n_inputs >= n_rows:
        raise UserError(
            location="options of the reader 'synthetic_mixture', key n_inputs",
            found=f"{n_inputs} input dimensions from {n_rows} rows",
            expected="fewer dimensions than rows",
            remedy="lower n_inputs or raise n_rows",
        )
    n_components, n_outputs = values["n_components"], values["n_outputs"]
    random = np.random.default_rng(seed)
    means = values["spread"] * random.standard_normal((n_components, n_outputs))
    component = random.integers(n_components, size=n_rows)
    outputs = means[component] + random.standard_normal((n_rows, n_outputs))
    # The dense solver, because the iterative solvers start from a random vector.
    projection = KernelPCA(
        n_inputs, kernel="rbf", gamma=values["kernel_pca_gamma"], eigen_solver="dense"
    )
    inputs = projection.fit_transform(outputs)
    # The unit of the inputs is arbitrary; mean variance 1 suits the kernel widths of the grids.
    inputs *= np.sqrt(n_inputs / np.mean((inputs**2).sum(axis=1)))
    return dataset_tree(
        inputs,
        outputs,
        [f"kernel_pca_{column + 1}" for column in range(n_inputs)],
        [f"y_{column + 1}" for column in range(n_outputs)],
        location="the reader 'synthetic_mixture'",
        truth={
            "weights": np.full(n_components, 1.0 / n_components),
            "means": means,
            "component": component.astype(np.int64),
        },
        report=values,
    )
