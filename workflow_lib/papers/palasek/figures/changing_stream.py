"""Mixtures that follow a stream whose distribution changes at once."""

import numpy as np

from workflow_lib.papers.palasek import plane_mixtures
from workflow_lib.report.labels import count_of
from workflow_lib.report.style import WIDTH, applied_style, write_title

SHOWS = "how fast mixtures learned from a stream follow it when all means move at once"
CAPTION = (
    "Mixtures of 32 Gaussians in the plane, learned from batches of 500 rows of a stream whose "
    "means all move in the middle: how many nats per row the mean log-likelihood of 2,000 test "
    "rows of the present distribution is below that of the true mixture. Lines are means over "
    "10 draws, areas their standard deviation. Falling steps are (t + 4) to the power -0.55 in "
    "batch t."
)
READS = {}
NEEDS = {"minutes": 10}

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#555555")
DASHES = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)))


def draw(seed: int):
    """Return the figure: a line for each way to learn."""
    from matplotlib.figure import Figure

    size = plane_mixtures.SIZE
    batches = np.arange(1, size.batches + 1)
    with applied_style():
        figure = Figure(figsize=(WIDTH, 4.4), layout="constrained")
        axis = figure.subplots()
        found = plane_mixtures.stream_shortfalls(seed, size)
        for (name, values), color, dashes in zip(found.items(), COLORS, DASHES, strict=True):
            mean = values.mean(axis=0)
            axis.plot(batches, mean, color=color, linestyle=dashes, linewidth=1.4, label=name)
            if size.draws > 1:
                spread = values.std(axis=0, ddof=1)
                low, high = np.maximum(mean - spread, mean / 10), mean + spread
                axis.fill_between(batches, low, high, color=color, alpha=0.12, linewidth=0)
        axis.set_yscale("log")
        axis.axvline(size.batches // 2 + 0.5, color="#444444", linestyle=":", linewidth=1.0)
        axis.set_xlabel("batch of 500 rows (all means move at the dotted line)")
        axis.set_ylabel("nats per row below\nthe true mixture (log scale)")
        figure.legend(loc="outside lower left", ncols=2)
        write_title(
            figure, f"A stream that changes at once, {count_of(size.draws, 'draw')} (made data)"
        )
    return figure
