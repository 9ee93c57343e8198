"""Error against the weight of weak labels."""

from collections.abc import Mapping
from pathlib import Path

from workflow_lib.report.weak_study_figure import draw_weak_study

SHOWS = "the error in the study of the weight of weak labels"
CAPTION = (
    "The error on the test rows against the weight of the weak labels. Points are means over the "
    "splits, bars their sample standard deviation."
)
READS = {"scores": "results/{experiment}/scores.csv"}
METHOD_FIELDS = ("label", "color", "marker")
REQUIRES = {"studies_weak_weight": {True}, "has_weak_sizes": {True}}
BECAUSE = "a table or figure of kind weak_weight needs studies.weak_weight and weak_sizes"


def draw(scores: str | Path, *, title: str, methods: Mapping[str, Mapping], metric: str):
    """Return the figure of the study, as `draw_weak_study` makes it."""
    return draw_weak_study(scores, "weak_weight", methods, title=title, metric=metric)
