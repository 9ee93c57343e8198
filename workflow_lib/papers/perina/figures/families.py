"""The number of class experiments, such as protein families, with a median RFP of at most x.

Figure 1 C of Perina et al. (2009), after Jaakkola, Diekhans and Haussler (1999).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from workflow_lib.core.errors import UserError
from workflow_lib.report.labels import count_of, method_label
from workflow_lib.report.quantities import QUANTITIES, shown_means
from workflow_lib.report.results import outside_studies, read_scores
from workflow_lib.report.style import WIDTH, applied_style, line_style, write_title

SHOWS = (
    "the number of class experiments in the run, of those with the same methods, whose median RFP "
    "is at most x"
)
CAPTION = (
    "The number of experiments (such as protein families) whose median rate of false positives is "
    "at most that on the horizontal axis, a line for each method: the higher, the better. Each "
    "value is a mean over the splits at the largest training size."
)
READS = {"family_scores": "results/{family}/scores.csv"}
METHOD_FIELDS = ("label", "color", "marker")
REQUIRES = {"task": {"classes"}}
BECAUSE = "a figure of kind families shows rankings by scores of classes, and the task is {task}"

MEASURE = "median_rfp"


def draw(family_scores: Sequence[str | Path], *, shown_methods: Mapping[str, Mapping]):
    """Return the figure: a step at the median RFP of each experiment, a line for each method.

    Of a method that is run with several numbers of weak rows or components, it is the row of the
    table with the most weak rows, and of these the last.

    Raises UserError if no experiment has a median RFP, because all test rows of each are of one
    class.
    """
    from matplotlib.figure import Figure

    families = [_medians(outside_studies(read_scores(path))) for path in family_scores]
    found = {
        method: sorted(medians[method] for medians in families if method in medians)
        for method in shown_methods
    }
    if not any(found.values()):
        raise UserError(
            location="a figure of the kind families",
            found=f"no median RFP in {', '.join(map(str, family_scores))}",
            expected="test rows of more than one class",
            remedy="leave the figure out, or use splits with more test rows",
        )
    n_families = max(map(len, found.values()))
    with applied_style():
        figure = Figure(figsize=(WIDTH, 4.2), layout="constrained")
        axis = figure.subplots()
        # Of equal counts the line that is drawn last is seen: the better one.
        for method in sorted(found, key=lambda method: -sum(found[method])):
            values = found[method]
            if values:
                axis.plot(
                    [0.0, *values, 1.0],
                    [0, *range(1, len(values) + 1), len(values)],
                    drawstyle="steps-post",
                    markevery=range(1, len(values) + 1),
                    label=method_label(method, shown_methods),
                    **line_style(method, shown_methods),
                )
        axis.set_xlim(-0.02, 1.0)
        axis.set_ylim(0, n_families * 1.05)
        axis.yaxis.get_major_locator().set_params(integer=True)
        axis.set_xlabel(QUANTITIES[MEASURE].axis)
        axis.set_ylabel("number of experiments")
        write_title(
            figure,
            f"Experiments with a median RFP of at most x\n{count_of(n_families, 'experiment')}",
        )
        figure.legend(loc="outside lower left", ncols=3)
    return figure


def _medians(scores: pd.DataFrame) -> dict[str, float]:
    """Return the mean median RFP of each method at the largest training size; empty without any."""
    means = shown_means(scores, MEASURE)
    if not means:
        return {}
    column = means[max(means)]
    order = sorted(column, key=lambda variant: (variant.weak_size, variant))
    return {variant.method: column[variant][0] for variant in order}
