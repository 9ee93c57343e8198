"""The steps of the method for outputs that are vectors: figure 1 of Djerrab et al. (2018)."""

from workflow_lib.report.drawing import Drawing

SHOWS = "the steps of the method for vectors, figure 1 of the paper"
CAPTION = (
    "The steps of the method: the spaces, the maps between them, and the order in which the maps "
    "are made (figure 1 of the paper)."
)
READS = {}


def draw():
    """Return the drawing."""
    return Drawing("steps")
