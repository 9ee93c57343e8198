"""The geometry of Gaussian Fisher embeddings: figure 2 of Djerrab et al. (2018)."""

import numpy as np

from workflow_lib.models.fisher import FisherEmbedding
from workflow_lib.models.mixtures.gaussian import GaussianModel
from workflow_lib.report.style import ACCENT_COLOR, BASE_COLOR, WIDTH, applied_style

SHOWS = (
    "samples of a Gaussian in one and two dimensions and their Fisher embeddings, figure 2 of the "
    "paper"
)
CAPTION = (
    "Samples of a Gaussian in one and two dimensions, and their Fisher embeddings (figure 2 of "
    "the paper)."
)
READS = {}

N_SAMPLES = 500
VARIANCE_IN_ONE_DIMENSION = 0.5
VARIANCE_IN_TWO_DIMENSIONS = 5.0

GROUPS = (
    (False, BASE_COLOR, "other points", "o"),
    (True, ACCENT_COLOR, "within one standard deviation of the mean", "^"),
)
"""Whether points are central, with their color, label and marker."""


def embed_gaussian_sample(
    dimension: int, variance: float, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a sample of N(0, variance I), its Fisher embedding and its central rows.

    The embedding is that of equation (1) under a Gaussian model fitted to the sample (n, d): phi_mu
    = (y - mu) / s^2, and as the last of its d + 1 columns the trace of phi_Sigma = -I / s^2 +
    phi_mu phi_mu^T. Central are the rows within one standard deviation of the fitted mean.
    """
    random = np.random.default_rng(seed)
    sample = np.sqrt(variance) * random.standard_normal((N_SAMPLES, dimension))
    model = GaussianModel(covariance_type="spherical").fit(sample)
    embedding = FisherEmbedding(model, form="full").transform(sample)
    distance = np.linalg.norm(sample - sample.mean(axis=0), axis=1)
    spread = np.sqrt(np.mean((sample - sample.mean(axis=0)) ** 2))
    return sample, embedding, distance <= spread


def draw(seed: int):
    """Return the figure: a histogram of N(0, 0.5), its embedding, and that of N(0, 5 I) in 2-D.

    Both samples have 500 points; those within one standard deviation of the mean are marked.
    The embedding of the first is a parabola and of the second a paraboloid, since the covariance
    part is a function of the mean part: the reduced embedding loses nothing.
    """
    from matplotlib.figure import Figure

    line, line_embedding, line_central = embed_gaussian_sample(1, VARIANCE_IN_ONE_DIMENSION, seed)
    _, plane_embedding, plane_central = embed_gaussian_sample(
        2, VARIANCE_IN_TWO_DIMENSIONS, seed + 1
    )
    with applied_style():
        figure = Figure(figsize=(WIDTH, 6.2))
        histogram = figure.add_axes((0.1, 0.59, 0.36, 0.36))
        parabola = figure.add_axes((0.62, 0.59, 0.36, 0.36))
        paraboloid = figure.add_axes((0.25, 0.02, 0.48, 0.44), projection="3d")
        _draw_histogram(histogram, line[:, 0], line_central)
        for central, color, label, marker in GROUPS:
            rows = line_central == central
            parabola.scatter(*line_embedding[rows].T, s=16, color=color, marker=marker, alpha=0.75)
            rows = plane_central == central
            appearance = {"color": color, "marker": marker, "alpha": 0.75, "label": label}
            paraboloid.scatter(*plane_embedding[rows].T, s=14, depthshade=False, **appearance)
        parabola.set_title(r"Fisher embedding of $\mathcal{N}(0, 0.5)$")
        parabola.set_xlabel(r"$\phi_\mu$")
        parabola.set_ylabel(r"$\phi_\sigma$")
        paraboloid.set_title(
            r"Fisher embedding of $\mathcal{N}(0, 5\,I)$ in the plane", loc="center"
        )
        paraboloid.set_xlabel(r"$\phi_{\mu,1}$", labelpad=1)
        paraboloid.set_ylabel(r"$\phi_{\mu,2}$", labelpad=1)
        paraboloid.set_zlabel(r"tr $\phi_\Sigma$", labelpad=-1)
        paraboloid.tick_params(labelsize=9, pad=0)
        paraboloid.view_init(elev=32, azim=-60)
    return figure


def _draw_histogram(axis, values: np.ndarray, is_central: np.ndarray) -> None:
    inside, outside = values[is_central], values[~is_central]
    labels = ["within one standard deviation", "other points"]
    appearance = {"color": [ACCENT_COLOR, BASE_COLOR], "edgecolor": "white", "linewidth": 0.6}
    axis.hist([inside, outside], bins=25, stacked=True, label=labels, **appearance)
    axis.set_title(rf"{len(values)} points of $\mathcal{{N}}(0, 0.5)$")
    axis.set_xlabel("y")
    axis.set_ylabel("number of points")
    axis.set_ylim(top=1.4 * axis.get_ylim()[1])
    axis.legend(loc="upper left", handlelength=1.2)
