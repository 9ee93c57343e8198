"""The numbers of a figure are those that were drawn."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from workflow_lib.report.drawing import Drawing
from workflow_lib.report.figure_data import COLUMNS, figure_data


@pytest.fixture
def axis():
    return Figure().subplots()


def rows_of(axis):
    found = figure_data(axis.figure)
    assert list(found.columns) == COLUMNS
    return found.drop(columns="panel").to_numpy(dtype=object).tolist()


def test_lines_have_the_ends_of_their_bars(axis):
    x, y, bars = np.array([[1.0, 2.0, 4.0], [0.5, 0.4, np.nan], [0.1, 0.2, np.nan]])
    axis.errorbar(x, y, yerr=bars, capsize=3, label="m-KRR", marker="o")
    axis.set_title("C = 2", loc="left")
    found = figure_data(axis.figure)
    assert set(found["panel"]) == {"C = 2"} and set(found["series"]) == {"m-KRR"}
    np.testing.assert_allclose(found[["x", "y", "low", "high"]], np.c_[x, y, y - bars, y + bars])


def test_bars_along_the_horizontal_axis(axis):
    axis.errorbar([3.0], [7.0], xerr=[0.5], capsize=3, label="m-RF")
    assert rows_of(axis) == [["line", "m-RF", 3.0, 7.0, 2.5, 3.5]]


def test_points_and_plain_lines(axis):
    axis.scatter([1.0, 2.0], [3.0, 4.0], label="test row")
    axis.plot([0.0, 1.0], [0.0, 1.0])
    axis.axvline(0.5)
    found = figure_data(axis.figure)
    assert found["kind"].tolist() == ["line", "line", "point", "point"]
    assert found["series"].tolist() == ["", "", "test row", "test row"]
    assert found["y"].tolist() == [0.0, 1.0, 3.0, 4.0]


def test_bars_have_a_middle_and_two_ends(axis):
    axis.barh([0, 1], [30.0, 20.0], left=[1.0, 2.0], label="right")
    first, second = rows_of(axis)
    assert first[:2] == ["bar", "right"] and first[3:] == [0.0, 1.0, 31.0]
    assert second[3:] == [1.0, 2.0, 22.0]


def test_upright_bars(axis):
    axis.bar([0, 1], [30.0, 20.0])
    assert [[row[2], *row[4:]] for row in rows_of(axis)] == [[0.0, 0.0, 30.0], [1.0, 0.0, 20.0]]


def test_pictures_have_a_row_for_each_cell_and_colors_none(axis):
    axis.imshow([[1.0, 2.0], [3.0, np.nan]])
    assert [row[2:5] for row in rows_of(axis)][:3] == [[0, 0, 1.0], [1, 0, 2.0], [0, 1, 3.0]]
    axis.images[0].remove()
    axis.imshow(np.zeros((2, 2, 3)))
    assert rows_of(axis) == []


def test_drawings_have_no_numbers():
    assert figure_data(Drawing("steps")).empty
