"""The steps of the method for classes with a meaning: figure 3 of Djerrab et al. (2018)."""

from workflow_lib.report.drawing import Drawing

SHOWS = "the steps of the method for classes, figure 3 of the paper"
CAPTION = (
    "The steps of the method: the spaces, the maps between them, and the order in which the maps "
    "are made (figure 3 of the paper)."
)
READS = {}


def draw():
    """Return the drawing."""
    return Drawing("class_steps")
