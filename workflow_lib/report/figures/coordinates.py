"""Error of each output coordinate at the largest training size, for every method."""

import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from workflow_lib.core.artifacts import read_artifact
from workflow_lib.report.coordinate_tables import coordinate_table
from workflow_lib.report.labels import PLUS_MINUS, method_label, splits_in_words
from workflow_lib.report.lines import draw_panels, level_line, method_lines, panel_size
from workflow_lib.report.quantities import QUANTITIES, Quantity
from workflow_lib.report.results import read_coordinates
from workflow_lib.report.style import applied_style, plain_name
from workflow_lib.report.tables import Cell
from workflow_lib.report.variants import order_variants

SHOWS = "the error of each output coordinate"
CAPTION = (
    "The error of each coordinate of the outputs at the largest training size, for every method "
    "shown."
)
READS = {
    "coordinates": "results/{experiment}/coordinates.csv",
    "dataset": "results/datasets/{dataset}.h5",
}
METHOD_FIELDS = ("label", "color", "marker")

MAX_NAMES = 12
"""More coordinates than this are numbered on the axis, not named."""


def draw(
    coordinates: str | Path,
    dataset: str | Path,
    *,
    title: str,
    shown_methods: Mapping[str, Mapping],
    metric: str,
):
    """Return the figure: mean and standard deviation over splits of each coordinate's error.

    Points of one coordinate are drawn side by side, so that methods with equal errors are all seen.
    Of a method with several rows (component numbers or weak rows) each has its own line style. Of
    series the channels follow each other, each in the order of its steps. Limits, colors and names
    are those of `workflow_lib.report.lines.draw_panels`; many coordinates have no bars.
    """
    from matplotlib.figure import Figure

    methods, errors = shown_methods, read_coordinates(coordinates)
    n_channels = int(read_artifact(dataset, "dataset")["names"].get("series_channels", 1))
    cells = [
        cell
        for cell in coordinate_table(errors[errors["method"].isin(methods)], method_order=methods)
        if cell.quantity == "coordinate"
    ]
    variants = order_variants([cell.variant for cell in cells], methods)
    names = {cell.coordinate: cell.name for cell in cells}
    positions = _positions(names, n_channels)
    measured = QUANTITIES[metric]
    step = min(0.7 / len(variants), 0.1)
    # The bars of many coordinates would hide the lines.
    many = len(names) > MAX_NAMES
    appearance = {"linewidth": 1.2} | ({"markersize": 3.5} if many else {})
    found: dict = {coordinate: {} for coordinate, _ in positions}
    for cell in cells:
        bar = math.nan if many else measured.shown_spread(cell.deviation)
        found[cell.coordinate][cell.variant] = measured.shown(cell.mean), bar
    sign = -1 if measured.is_accuracy else 1
    lines = [
        replace(
            line,
            appearance=line.appearance | appearance,
            value=sign * np.nanmean(line.means),
        )
        for line in method_lines(
            variants,
            [found[coordinate] for coordinate, _ in positions],
            lambda index: [at + step * index for _, at in positions],
            methods,
        )
    ]
    with applied_style():
        figure = Figure(figsize=panel_size(len(variants)), layout="constrained")
        axis = figure.subplots()
        _name_coordinates(axis, names, dict(positions), measured.part)
        axis.set_ylabel(measured.axis if measured.is_accuracy else "relative RMSE on test rows")
        training_mean = level_line(axis, "training mean", 1.0, color="#444444", linestyle=":")
        draw_panels(
            [axis],
            [lines],
            title=_full_title(title, cells, measured),
            is_error=not measured.is_accuracy,
            reference=[method_label(measured.reference, methods)],
            baseline=None if measured.is_accuracy else training_mean,
        )
    return figure


def _positions(coordinates: Iterable[int], n_channels: int) -> list[tuple[int | None, float]]:
    """Return (coordinate, position on the axis) by channel, with a None between channels."""
    ordered = sorted(coordinates, key=lambda number: (number % n_channels, number))
    positions: list[tuple[int | None, float]] = []
    for index, number in enumerate(ordered):
        if index and number % n_channels != ordered[index - 1] % n_channels:
            positions.append((None, math.nan))
        positions.append((number, index + 0.6 * (number % n_channels)))
    return positions


def _name_coordinates(
    axis, names: Mapping[int, str], positions: Mapping[int, float], part: str
) -> None:
    """Write the names of few coordinates under the axis, or number many from 1."""
    shown = sorted(names, key=positions.get)
    axis.set_xlabel(part)
    letters = max(44 // len(shown), 4)
    labels = [textwrap.fill(plain_name(names[number]), letters) for number in shown]
    if len(names) > MAX_NAMES:
        first, last = (plain_name(names[number]) for number in (shown[0], shown[-1]))
        axis.set_xlabel(f"{part}, from {first} to {last}")
        every = math.ceil(len(names) / MAX_NAMES)
        labels = [str(index + 1) for index in range(0, len(shown), every)]
        shown = shown[::every]
    axis.set_xticks([positions[number] for number in shown], labels)
    axis.set_xlim(-0.6, max(positions[number] for number in names) + 0.6)
    axis.grid(False, axis="x")


def _full_title(title: str, cells: Sequence[Cell], measured: Quantity) -> str:
    n_splits = max(cell.n_splits for cell in cells)
    what = splits_in_words(n_splits, [cell.n_test for cell in cells])
    if len({cell.coordinate for cell in cells}) > MAX_NAMES:
        what = what.removesuffix(f" {PLUS_MINUS} standard deviation")
    return f"{title}\n{measured.size_in_words(cells[0].training_size)}, {what}"
