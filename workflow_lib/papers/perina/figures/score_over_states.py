"""The cross-validated accuracy against the number of states or topics of a generative model."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from workflow_lib.report.error_rate_lines import draw_error_rates

SHOWS = "the cross-validated accuracy against the number of states or topics of generative models"
CAPTION = (
    "The share of training rows whose class is right for a fit without their fold, against the "
    "number of states (or topics) of the generative model, at the largest training size; a line "
    "is a method. Points are means over the splits, bars their sample standard deviation. Of the "
    "other hyper-parameters those are taken that would be selected at this number. Rings are at "
    "the selected numbers, the larger the more splits selected them; selection minimises a "
    "squared error of the scores, not this share."
)
READS = {"all_regressions": "results/{experiment}/split-{split}/{shown_method}/regression.h5"}
METHOD_FIELDS = ("label", "color", "marker")
REQUIRES = {"task": {"classes"}}
BECAUSE = "a figure of kind score_over_states shows classes, and the task is {task}"

PARAMETERS = ("n_states", "n_topics")


def draw(
    all_regressions: Mapping[str, Sequence[str | Path]],
    *,
    title: str,
    shown_methods: Mapping[str, Mapping],
):
    """Return the figure: a line for each method that selects among several numbers.

    Raises UserError if there is none.
    """
    return draw_error_rates(
        "score_over_states",
        all_regressions,
        PARAMETERS,
        title=title,
        methods=shown_methods,
        of_right_classes=True,
    )
