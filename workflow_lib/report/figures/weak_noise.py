"""Error against the share of wrong weak labels."""

from collections.abc import Mapping
from pathlib import Path

from workflow_lib.report.weak_study_figure import draw_weak_study

SHOWS = "the error in the study of the share of wrong weak labels"
CAPTION = (
    "The error on the test rows against the share of weak labels that is wrong. Points are means "
    "over the splits, bars their sample standard deviation."
)
READS = {"scores": "results/{experiment}/scores.csv"}
METHOD_FIELDS = ("label", "color", "marker")
REQUIRES = {"studies_weak_noise": {True}, "has_weak_sizes": {True}}
BECAUSE = "a table or figure of kind weak_noise needs studies.weak_noise and weak_sizes"


def draw(scores: str | Path, *, title: str, methods: Mapping[str, Mapping], metric: str):
    """Return the figure of the study, as `draw_weak_study` makes it."""
    return draw_weak_study(scores, "weak_noise", methods, title=title, metric=metric)
