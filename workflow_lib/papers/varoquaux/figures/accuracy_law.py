"""The law of the error on a test accuracy: figure 0.1 of the slides of Varoquaux (2019)."""

import numpy as np

from workflow_lib.report import style
from workflow_lib.report.labels import format_signed

SHOWS = "the binomial law of the error on an accuracy, by the number of test rows"
CAPTION = (
    "By how much the share of right rows among independent test rows differs from the true "
    "accuracy of 80 %, under its binomial law: probabilities relative to the largest. The slides "
    "(Varoquaux 2019) show 1000 test rows. Areas are the central 95 %."
)
READS = {}

ACCURACY = 0.8
COLORS = {100: "#999999", 300: style.BASE_COLOR, 1000: style.ACCENT_COLOR}


def draw():
    """Return the figure: a law for each number of test rows."""
    from matplotlib.figure import Figure
    from scipy.stats import binom

    with style.applied_style():
        figure = Figure(figsize=(style.WIDTH, 3.6), layout="constrained")
        axis = figure.subplots()
        for n, color in COLORS.items():
            law, right = binom(n, ACCURACY), np.arange(n + 1)
            low, high = law.ppf((0.025, 0.975))
            errors, chances = 100 * (right / n - ACCURACY), law.pmf(right) / law.pmf(right).max()
            limits = " to ".join(format_signed(errors[int(k)], 1) for k in (low, high))
            shown = chances > 1e-3
            name = f"{n} test rows, 95 %: {limits}"
            axis.plot(errors[shown], chances[shown], color=color, label=name)
            inside = {"where": (right >= low) & (right <= high), "linewidth": 0}
            axis.fill_between(errors, chances, color=color, alpha=0.25, **inside)
        axis.set(xlabel="measured minus true accuracy (points)", ylabel="relative probability")
        figure.legend(loc="outside lower left", ncols=1)
        style.write_title(figure, "The law of a test accuracy, true accuracy 80 %")
    return figure
