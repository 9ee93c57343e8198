"""The layout of a figure, the same in every process."""

from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.transforms import Bbox

DECIMALS = 9
"""Of the positions of axes, which are shares of a figure: far below what can be seen."""


class RepeatableLayoutEngine(ConstrainedLayoutEngine):
    """Constrained layout with rounded positions.

    The solver of Matplotlib's constrained layout visits its variables in the order of their
    addresses, so that the last digits of a position can differ between two processes, and with them
    the bytes of the picture.
    """

    def execute(self, fig):
        """Place the axes of a figure and of its parts, and round their positions."""
        found = super().execute(fig)
        for part in fig.subfigs:
            part.bbox_relative.set(_rounded(part.bbox_relative))
        for axes in fig.axes:
            is_placed = axes.get_in_layout()
            for which in ("original", "active"):
                position = axes.get_position(original=which == "original")
                axes.set_position(_rounded(position), which)
            # A position that is set excludes the axes from the next layout.
            axes.set_in_layout(is_placed)
        return found


def _rounded(position: Bbox) -> Bbox:
    return Bbox(position.get_points().round(DECIMALS))
