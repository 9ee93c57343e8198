"""Reader that draws a table with a column of many names, each of which has its own mean outputs.

A row has a name l, drawn with a probability proportional to 1 / l, and q numbers x ~ N(0, I):

    y = sqrt(S) a_l + sqrt(1 - S - s^2) W x  +  s e

with a_l ~ N(0, I_d) for each name, e ~ N(0, I_d), and rows of W (d, q) of random directions and the
length 1. The variance of an output is 1: S (``share``) of it is that of the names, and s is
the standard deviation of the noise. Most names are rare, so that their means must be shrunk.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, Strict

from workflow_lib.core.settings import Settings
from workflow_lib.data.readers import table

NOISE = 0.4
"""s: with the default share of the names they have as much variance as the numbers."""


class Options(Settings):
    """Options of the reader ``synthetic_names``."""

    n_rows: Annotated[int, Strict(), Field(ge=20, le=100_000)] = 600
    """Number of rows drawn."""

    n_names: Annotated[int, Strict(), Field(ge=2, le=10_000)] = 60
    """Number of names, some of which may have no row."""

    n_numbers: Annotated[int, Strict(), Field(ge=1, le=1_000)] = 4
    """Number of columns of numbers, q."""

    n_outputs: Annotated[int, Strict(), Field(ge=1, le=1_000)] = 4
    """Number of outputs, d."""

    share: Annotated[float, Strict(), Field(ge=0, le=0.84)] = 0.42
    """Share S of the variance of an output that is between the names."""

    encoder: table.Name = "target"
    """How names become inputs, as in `encode` of the reader ``table``."""


def read(options: Options, sources: Sequence[Path], seed: int) -> dict[str, Any]:
    """Draw the rows; the same options and `seed` always give the same data; no `sources`.

    Raises UserError for an encoder that does not exist.
    """
    import numpy as np

    from workflow_lib.tabular.user_table import Table

    random = np.random.default_rng(seed)
    shares = 1.0 / np.arange(1, options.n_names + 1)
    names = random.choice(options.n_names, options.n_rows, p=shares / shares.sum())
    numbers = random.standard_normal((options.n_rows, options.n_numbers))
    means = random.standard_normal((options.n_names, options.n_outputs))
    loadings = random.standard_normal((options.n_outputs, options.n_numbers))
    loadings /= np.linalg.norm(loadings, axis=1, keepdims=True)
    outputs = np.sqrt(options.share) * means[names]
    outputs += np.sqrt(1.0 - options.share - NOISE**2) * numbers @ loadings.T
    outputs += NOISE * random.standard_normal(outputs.shape)
    columns: dict[str, Any] = {"name": [f"name {number + 1}" for number in names]}
    columns |= {f"x_{number + 1}": column for number, column in enumerate(numbers.T)}
    columns |= {f"y_{number + 1}": column for number, column in enumerate(outputs.T)}
    chosen = table.Options(
        file="the reader 'synthetic_names'",
        outputs=("y_*",),
        numbers=("x_*",),
        strings=("name",),
        encode={"name": options.encoder},
    )
    return table.dataset_of(Table.from_columns(columns, chosen.file), chosen)
