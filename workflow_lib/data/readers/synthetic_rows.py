"""Reader that draws a table of many rows: time and memory grow linearly with their number.

A row belongs to a component c, drawn uniformly, and has a place u ~ N(0, I_r) in it. Both determine
its latent position z in R^r, and its output y and input x are noisy functions of them:

    z   = a_c + u                                       a_c ~ N(0, S^2/r I_r)
    y   = sqrt(1 - s^2) (m_c + W_c u) / v  +  s e       m_c ~ N(0, I_d), centred;
                                                        entries of W_c ~ N(0, B^2/r)
    x_j = sqrt(1 - t^2) (sin(w_j'z + b_j) - g_j) / h  +  t f_j
                                                        w_j ~ N(0, F^2/r I_r), b_j ~ U(0, 2 pi)

with e and f of independent N(0, 1). The constants v, g and h are computed from the parameters (not
from the rows) such that in the population every mean is 0 and the mean variance of outputs, and of
inputs, is 1; s (``noise``) and t (``input_noise``) are then the standard deviations of the noise.

The outputs thus follow a Gaussian mixture whose components vary in r directions each,
N(m_c, W_c W_c') plus noise, and the inputs are near a curved surface of r dimensions. With S = 5,
B = 0.7 and F = 0.6 neighbouring components overlap in z: the inputs determine the component in most
cases but not in all, and the optimal prediction,

    E[y | z] = sqrt(1 - s^2) / v  sum_c p(c | z) (m_c + W_c (z - a_c)),    p(c | z) ~ N(z; a_c, I_r)

is smooth, but so nonlinear that more rows continue to improve its estimate.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, Strict

from workflow_lib.core.settings import Settings
from workflow_lib.tabular.tables import dataset_tree

SEPARATION = 5.0
"""S: two components are about S sqrt(2) apart in z, with the standard deviation 1 within each."""

SPREAD = 0.7
"""B: standard deviation of outputs within a component; between components it is about 1."""

FREQUENCY = 0.6
"""F: how nonlinear the inputs are along a component."""

BLOCK_ROWS = 1000
"""Rows drawn at a time, each block with a generator of its own."""

Count = Annotated[int, Strict(), Field(ge=1, le=10_000)]
"""Bounded, so that a typing mistake cannot fill the memory."""

Share = Annotated[float, Strict(), Field(ge=0, lt=1)]


class Options(Settings):
    """Options of the reader ``synthetic_rows``."""

    n_rows: Annotated[int, Strict(), Field(ge=2)] = 10_000
    """Number of rows drawn. The first rows are the same for every number."""

    n_inputs: Count = 60
    """Columns of the inputs, q."""

    n_outputs: Count = 60
    """Columns of the outputs, d."""

    n_components: Count = 10
    """Components of the mixture, C, all of weight 1 / C."""

    latent_dimension: Count = 4
    """Number r of dimensions in which a component varies, and of the surface near the inputs.
    Larger values need many more rows for the same error."""

    noise: Share = 0.25
    """Standard deviation of the noise of the outputs, which cannot be predicted; that of an output
    is 1. With the default, most of the variance can be learned."""

    input_noise: Share = 0.1
    """Standard deviation of the noise of the inputs; that of an input is 1. The default is small,
    so that the inputs are near the surface."""


def read(options: Options, sources: Sequence[Path], seed: int) -> dict[str, Any]:
    """Draw the rows; the same options and `seed` always give the same data.

    ``truth`` in the tree holds ``weights`` (C,), ``means`` (C, d) and ``directions`` (C, d, r) of
    the outputs in their unit, ``centres`` (C, r), ``component`` (n,) and ``latent`` (n, r), the
    positions z; ``report`` holds the options. `sources` is not used.
    """
    import numpy as np

    recipe = _drawn_recipe(options, np.random.default_rng([seed, 0]))
    n_rows, r = options.n_rows, options.latent_dimension
    inputs = np.empty((n_rows, options.n_inputs))
    outputs = np.empty((n_rows, options.n_outputs))
    latent = np.empty((n_rows, r))
    component = np.empty(n_rows, dtype=np.int64)
    for block, start in enumerate(range(0, n_rows, BLOCK_ROWS)):
        rows = slice(start, min(start + BLOCK_ROWS, n_rows))
        drawn = _drawn_rows(options, recipe, np.random.default_rng([seed, 1 + block]))
        for whole, part in zip((inputs, outputs, latent, component), drawn, strict=True):
            whole[rows] = part[: rows.stop - rows.start]
    return dataset_tree(
        inputs,
        outputs,
        [f"x_{column + 1}" for column in range(options.n_inputs)],
        [f"y_{column + 1}" for column in range(options.n_outputs)],
        location="the reader 'synthetic_rows'",
        truth={
            "weights": np.full(options.n_components, 1.0 / options.n_components),
            "means": recipe["means"],
            "directions": recipe["directions"],
            "centres": recipe["centres"],
            "component": component,
            "latent": latent,
        },
        report=options.model_dump(),
    )


def _drawn_recipe(options: Options, random) -> dict[str, Any]:
    """Return the parameters of the recipe, in the units of the noise-free part of the data."""
    import numpy as np

    C, r = options.n_components, options.latent_dimension
    d, q = options.n_outputs, options.n_inputs
    centres = SEPARATION / np.sqrt(r) * random.standard_normal((C, r))
    means = random.standard_normal((C, d))
    means -= means.mean(axis=0)
    directions = SPREAD / np.sqrt(r) * random.standard_normal((C, d, r))
    # The mean variance over outputs: between the components, and within them.
    variance = ((means**2).sum() + (directions**2).sum()) / (C * d)
    scale = np.sqrt((1.0 - options.noise**2) / variance)

    frequencies = FREQUENCY / np.sqrt(r) * random.standard_normal((r, q))
    phases = random.uniform(0.0, 2.0 * np.pi, q)
    # Moments of sin(t) for t ~ N(angle, width^2), from E exp(i t) = exp(i angle - width^2 / 2).
    angles, squared_widths = centres @ frequencies + phases, (frequencies**2).sum(axis=0)
    offset = (np.exp(-squared_widths / 2.0) * np.sin(angles)).mean(axis=0)
    squares = (1.0 - np.exp(-2.0 * squared_widths) * np.cos(2.0 * angles)).mean(axis=0) / 2.0
    return {
        "centres": centres,
        "means": scale * means,
        "directions": scale * directions,
        "frequencies": frequencies,
        "phases": phases,
        "offset": offset,
        "input_scale": np.sqrt((1.0 - options.input_noise**2) / (squares - offset**2).mean()),
    }


def _drawn_rows(options: Options, recipe: dict[str, Any], random) -> tuple:
    """Return inputs, outputs, latent positions and components of a block of rows."""
    import numpy as np

    component = random.integers(options.n_components, size=BLOCK_ROWS)
    position = random.standard_normal((BLOCK_ROWS, options.latent_dimension))
    latent = recipe["centres"][component] + position
    outputs = options.noise * random.standard_normal((BLOCK_ROWS, options.n_outputs))
    for index in range(options.n_components):
        rows = np.flatnonzero(component == index)
        outputs[rows] += recipe["means"][index] + position[rows] @ recipe["directions"][index].T
    waves = np.sin(latent @ recipe["frequencies"] + recipe["phases"]) - recipe["offset"]
    inputs = options.input_noise * random.standard_normal((BLOCK_ROWS, options.n_inputs))
    inputs += recipe["input_scale"] * waves
    return inputs, outputs, latent, component
