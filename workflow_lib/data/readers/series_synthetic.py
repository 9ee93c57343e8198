"""Reader that draws the synthetic series of Djerrab et al. (2018), section 6.2 (Table 5).

Series of a stable linear-Gaussian state-space model are cut in two halves: the first is the input,
the second the output. The paper states the length (10) and that the process is stationary; the
dimensions and the noise are options.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, Strict

from workflow_lib.core.settings import Settings
from workflow_lib.tabular.tables import dataset_tree

Count = Annotated[int, Strict(), Field(ge=1)]
Positive = Annotated[float, Strict(), Field(gt=0, allow_inf_nan=False)]


class Options(Settings):
    """Options of the reader ``series_synthetic``."""

    n_rows: Count = 2000
    """Number of series drawn."""

    length: Annotated[int, Strict(), Field(ge=4)] = 10
    """Time steps of a series; the first half (rounded down) is the input."""

    state_dim: Count = 2
    """Dimension of the hidden state."""

    channels: Count = 2
    """Observed values per time step."""

    spectral_radius: Annotated[float, Strict(), Field(gt=0, lt=1)] = 0.9
    """Largest absolute eigenvalue of the transition, which determines how long the past has
    influence."""

    state_noise: Positive = 1.0
    """Standard deviation of the noise of the state."""

    observation_noise: Positive = 0.5
    """Standard deviation of the noise of an observation."""

    target: Literal["observations", "states"] = "observations"
    """What is predicted for the second half: the observations, or the hidden states, which are
    known in synthetic data only."""


def read(options: Options, sources: Sequence[Path], seed: int) -> dict[str, Any]:
    """Draw the series; the same options and `seed` always give the same data.

    Every series starts in the stationary distribution. ``names`` holds ``series_length`` and
    ``series_channels``, the shape of an output row as a series (time-major); ``truth`` holds
    ``transition`` and ``observation``. `sources` is not used.
    """
    import numpy as np
    from scipy.linalg import solve_discrete_lyapunov

    random = np.random.default_rng(seed)
    d, p, n = options.state_dim, options.channels, options.n_rows
    transition = random.standard_normal((d, d))
    transition *= options.spectral_radius / np.abs(np.linalg.eigvals(transition)).max()
    observation = random.standard_normal((p, d))
    stationary = solve_discrete_lyapunov(transition, options.state_noise**2 * np.eye(d))
    states = np.empty((n, options.length, d))
    states[:, 0] = random.multivariate_normal(np.zeros(d), stationary, size=n)
    for step in range(1, options.length):
        noise = options.state_noise * random.standard_normal((n, d))
        states[:, step] = states[:, step - 1] @ transition.T + noise
    noise = options.observation_noise * random.standard_normal((n, options.length, p))
    observations = states @ observation.T + noise
    half = options.length // 2
    target = observations if options.target == "observations" else states
    channels = target.shape[2]
    return dataset_tree(
        observations[:, :half].reshape(n, -1),
        target[:, half:].reshape(n, -1),
        [f"z{c + 1}_{t + 1}" for t in range(half) for c in range(p)],
        [f"y{c + 1}_{t + 1}" for t in range(half, options.length) for c in range(channels)],
        location="the reader 'series_synthetic'",
        names={"series_length": options.length - half, "series_channels": channels},
        truth={"transition": transition, "observation": observation},
        report=options.model_dump(),
    )
