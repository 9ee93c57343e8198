"""The splits of a "calibration" artifact, and what the figures of their test rows share."""

from collections.abc import Iterable, Mapping

import numpy as np

from workflow_lib.report.labels import count_of, method_label


def splits_of(calibration: Mapping) -> list[Mapping]:
    """Return the groups of the splits, in the order of their numbers."""
    names = [name for name in calibration if name.startswith("split-")]
    return [calibration[name] for name in sorted(names, key=lambda name: int(name.split("-")[-1]))]


def heading_of(
    title: str, calibration: Mapping, methods: Mapping[str, Mapping], n_rows: int
) -> str:
    """Return the title of a figure of so many test rows, with the method and what was run."""
    n_splits = len(splits_of(calibration))
    return (
        f"{title}\n{method_label(calibration['method'], methods)}, "
        f"{calibration['training_size']} training rows; {n_rows} test rows of "
        f"{count_of(n_splits, 'split')}"
    )


def draw_points(axis, x: np.ndarray, y: np.ndarray, groups: Iterable[tuple], **appearance) -> None:
    """Draw points in groups: which (bool array), color, marker and label of each.

    Diamonds, of points beyond the axis, are drawn in full at its edge.
    """
    appearance |= {"linewidths": 0}
    for chosen, color, marker, label in groups:
        if chosen.any():
            style = {"color": color, "marker": marker, "label": label, "clip_on": marker != "D"}
            axis.scatter(x[chosen], y[chosen], **style, **appearance)


def add_legend(figure, **appearance) -> None:
    """Write the legend of all axes below a figure, in which a label occurs once."""
    handles: dict = {}
    for axis in figure.axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    appearance |= {"loc": "outside lower left", "ncols": 2}
    figure.legend(list(handles.values()), list(handles), **appearance)
