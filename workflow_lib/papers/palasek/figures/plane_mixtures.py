"""Mixtures in the plane by EM and from a stream: figures 1 to 3 of Palasek and Patras (2017)."""

import math

import numpy as np

from workflow_lib.papers.palasek import plane_mixtures
from workflow_lib.report.labels import PLUS_MINUS, count_of
from workflow_lib.report.style import (
    ACCENT_COLOR,
    BASE_COLOR,
    OTHER_COLOR,
    applied_style,
    write_title,
)

SHOWS = (
    "mixtures in the plane learned by EM and from a stream, beside the true one, figures 1 to 3 of "
    "Palasek and Patras (2017)"
)
CAPTION = (
    "Mixtures of 32 Gaussians in the plane, all learned from 10,000 rows and the same k-means++ "
    "start: by EM on all rows; by steps up the log-likelihood bound (M-steps) with the "
    "optimisers and rates of figures 1 to 3 of the paper and with a lower rate; and by the "
    "updates without a rate. Batches have 500 rows. Rates are in units of the spread of the "
    "rows; those of the paper are not stated. Above: one draw. Points are rows, ellipses one "
    "standard deviation of a component, the fainter the smaller its weight; those far away are "
    "not seen. Below each name: how many nats per row the mean log-likelihood of 10,000 test "
    "rows is below that of the true mixture. Below: the same over all draws, with mean and "
    "standard deviation. The paper prints log-likelihoods 2.3 to 2.7 nats above those of batch "
    "EM for all of these; from the same start no update is above it here."
)
READS = {}
NEEDS = {"minutes": 20}

SHOWN_ROWS, N_COLUMNS = 1500, 4
FAR = 3.0
"""Shortfalls beyond it are drawn at the edge, with their number."""


def draw(seed: int):
    """Return the figure: panels of the first draw, and the shortfalls of all draws."""
    from matplotlib.figure import Figure

    size = plane_mixtures.SIZE
    first: plane_mixtures.Draw | None = None
    shortfalls: dict[str, list[float]] = {}
    for each in plane_mixtures.draws(seed, size):
        first = first or each
        for name, value in each.shortfalls.items():
            shortfalls.setdefault(name, []).append(value)
    assert first is not None
    panels = {"true mixture": first.truth.model(), **first.models}
    n_rows = math.ceil(len(panels) / N_COLUMNS)
    with applied_style():
        figure = Figure(figsize=(7.6, 2.15 * n_rows + 3.6), layout="constrained")
        above, below = figure.subfigures(2, 1, height_ratios=[2.15 * n_rows, 3.4])
        axes = above.subplots(n_rows, N_COLUMNS, sharex=True, sharey=True).ravel()
        for axis in axes[len(panels) :]:
            axis.set_visible(False)
        for axis, (name, model) in zip(axes, panels.items()):
            _draw_mixture(axis, first.train[:SHOWN_ROWS], model)
            below_truth = first.shortfalls.get(name, 0.0)
            shown = name.replace(", ", ",\n", 1)
            axis.set_title(f"{shown}\n{_in_words(name, below_truth)}", fontsize=7.5)
        _draw_shortfalls(below.subplots(), shortfalls)
        write_title(figure, f"Mixtures in the plane, {count_of(size.draws, 'draw')} (made data)")
    return figure


def _in_words(name: str, shortfall: float) -> str:
    if name == "true mixture":
        return "0"
    return f"{shortfall:.2g} nats below" if np.isfinite(shortfall) else "diverged"


def _draw_mixture(axis, rows: np.ndarray, model) -> None:
    from matplotlib.patches import Ellipse

    axis.plot(*rows.T, ".", color="#c4c4c4", markersize=1.2, zorder=1, label="rows")
    reach = 1.05 * np.abs(rows).max()
    axis.set_xlim(-reach, reach)
    axis.set_ylim(-reach, reach)
    axis.set_aspect("equal")
    axis.tick_params(labelsize=6.5)
    for weight, mean, covariance in (
        zip(model.weights_, model.means_, model.covariances_) if model else ()
    ):
        width, height = 2.0 * np.sqrt(covariance)
        opacity = min(1.0, 0.25 + weight * len(model.weights_) / 2)
        axis.add_patch(
            Ellipse(mean, width, height, fill=False, color=BASE_COLOR, alpha=opacity, zorder=2)
        )


def _draw_shortfalls(axis, shortfalls: dict[str, list[float]]) -> None:
    """Draw a row for each way to learn; shortfalls are on a logarithmic axis."""
    names = list(shortfalls)
    for index, name in enumerate(names):
        values = np.minimum(shortfalls[name], FAR)
        color = ACCENT_COLOR if name == "EM" else OTHER_COLOR if name == "start" else BASE_COLOR
        axis.plot(
            values,
            np.full(len(values), index),
            "o",
            color=color,
            alpha=0.4,
            markersize=5,
            label=name,
            markeredgewidth=0,
        )
        finite = np.array(shortfalls[name])[np.isfinite(shortfalls[name])]
        n_far = int(np.sum(np.array(shortfalls[name]) > FAR))
        text = ""
        if len(finite):
            axis.plot(
                [min(finite.mean(), FAR)],
                [index],
                "|",
                color="black",
                markersize=13,
                label=f"{name}, mean",
            )
            text = f"{finite.mean():.2g}"
            text += f" {PLUS_MINUS} {finite.std(ddof=1):.2g}" if len(finite) > 1 else ""
        if n_far:
            text += f"; {n_far} beyond {FAR:g}"
        if len(finite) < len(values):
            text += f"; {len(values) - len(finite)} diverged"
        axis.text(1.02, index, text, transform=axis.get_yaxis_transform(), va="center", fontsize=8)
    axis.set_xscale("log")
    axis.set_yticks(range(len(names)), names)
    axis.set_ylim(len(names) - 0.5, -0.5)
    axis.grid(False, axis="y")
    axis.set_xlabel("nats per test row below the true mixture (log scale)")
