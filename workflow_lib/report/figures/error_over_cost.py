"""The cross-validated error rate against the cost of support vector machines.

As in figure 1 A of Perina et al. (2009), whose error rates are those of test sequences. Here they
are those of the training rows without their fold, because no fit with a cost that was not selected
predicts the test rows.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from workflow_lib.report.error_rate_lines import draw_error_rates

SHOWS = "the cross-validated error rate against the cost of support vector machines"
CAPTION = (
    "The share of training rows whose class is wrong for a machine without their fold, against "
    "the cost of a margin violation, at the largest training size; a line is a method. Where "
    "kernels compete, costs are relative to the size of the kernel. Points are "
    "means over the splits, bars their sample standard deviation. Of the other hyper-parameters "
    "those are taken that would be selected at this cost; what learns the inputs has its selected "
    "settings. Rings are at the selected costs, the larger the more splits selected them; "
    "selection minimises a squared error of the scores, not this share."
)
READS = {"all_regressions": "results/{experiment}/split-{split}/{shown_method}/regression.h5"}
METHOD_FIELDS = ("label", "color", "marker")
REQUIRES = {"task": {"classes"}}
BECAUSE = "a figure of kind error_over_cost shows classes, and the task is {task}"

PARAMETERS = ("cost",)


def draw(
    all_regressions: Mapping[str, Sequence[str | Path]],
    *,
    title: str,
    shown_methods: Mapping[str, Mapping],
):
    """Return the figure: a line for each method that selects among several costs.

    Raises UserError if there is none.
    """
    return draw_error_rates(
        "error_over_cost", all_regressions, PARAMETERS, title=title, methods=shown_methods
    )
