"""The layers of the Fisher vector network: figure 4 of Palasek and Patras (2017)."""

from workflow_lib.report.drawing import Drawing

SHOWS = "the layers of the Fisher vector network, figure 4 of Palasek and Patras (2017)"
CAPTION = (
    "The layers of the Fisher vector network, and the two objectives by which they are trained: "
    "the log-likelihood bound F of the rows of all bags, and the squared hinge loss of labelled "
    "bags (figure 4 of Palasek and Patras, 2017)."
)
READS = {}


def draw():
    """Return the drawing."""
    return Drawing("fisher_network")
