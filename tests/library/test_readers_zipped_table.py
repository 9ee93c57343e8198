"""Published tables of names in zip archives, as far as the reader ``table`` does not test them."""

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from reader_samples import acquired, catalogue, refusal

from workflow_lib.data.readers.zipped_table import Options, read
from workflow_lib.data.reading import checked_options


def archive(folder: Path, sales: list[float]) -> Path:
    path = folder / "sales.zip"
    rows = "\n".join(f"{number},maker {row % 3}" for row, number in enumerate(sales))
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("sales/sales.csv", f"sales,maker\n{rows}\n")
    return path


def options(**changes) -> Options:
    named = {"file": "sales/sales.csv", "outputs": ("sales",)}
    named |= {"strings": ("maker",), "log_outputs": True}
    return Options(**named | changes)


def test_outputs_may_become_logarithms(tmp_path):
    sales = np.arange(12.0)
    tree = read(options(), [archive(tmp_path, sales)], 0)
    np.testing.assert_allclose(tree["outputs"][:, 0], np.log(1 + sales))
    assert json.loads(tree["names"]["outputs"]) == ["log(1 + sales)"]


def test_negative_counts_and_other_members_are_refused(tmp_path):
    path = archive(tmp_path, [*np.arange(12.0), -2.5])
    message = refusal(read, options(), [path], 0)
    assert "line 14, column 'sales'" in message and "negative value -2.5" in message
    assert "no 'other.csv' among 1 files" in refusal(read, options(file="other.csv"), [path], 0)


@pytest.mark.parametrize(
    ("name", "shape", "learned"),
    [
        ("salaries-target", (9228, 1), 2),
        ("video-games-target", (16572, 4), 3),
        ("survey-target", (2494, 9), 1),
        ("survey", (2494, 9), 0),
    ],
)
def test_the_tables_of_the_catalogue(name, shape, learned, tmp_path, mirror):
    settings = catalogue(name)
    typed = checked_options("zipped_table", settings["options"])
    tree = read(typed, acquired(name, mirror, tmp_path), 0)
    assert tree["outputs"].shape == shape
    described = tree.get("learned_columns", {"codes": np.empty((shape[0], 0))})
    assert described["codes"].shape == (shape[0], learned)
