"""Columns of a large table that stay in their file."""

import h5py
import numpy as np
import pandas as pd
import pytest

from workflow_lib.core.errors import UserError
from workflow_lib.tabular import stored_columns
from workflow_lib.tabular.stored_columns import open_columns

N_ROWS = 500
NAMES = ["count", "x1", "x0"]


@pytest.fixture(scope="module")
def frame():
    generator = np.random.default_rng(0)
    columns = {name: generator.normal(size=N_ROWS) for name in ("x0", "x1")}
    frame = pd.DataFrame(columns | {"count": generator.integers(0, 9, N_ROWS)})
    frame.loc[7, "x1"] = np.nan
    frame["name"] = "a"
    return frame


@pytest.fixture(scope="module")
def paths(frame, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    frame.to_parquet(folder / "groups.parquet", row_group_size=120)
    with h5py.File(folder / "columns.h5", "w") as file:
        for name in ("x0", "x1", "count"):
            file[name] = frame[name].to_numpy()
        file["name"] = frame["name"].tolist()
    with h5py.File(folder / "matrix.h5", "w") as file:
        numbers = frame.drop(columns="name")
        file["rows"] = numbers.to_numpy()
        file["rows"].attrs["columns"] = list(numbers)
    return {path.name: path for path in folder.iterdir()}


@pytest.mark.parametrize("name", ["groups.parquet", "columns.h5", "matrix.h5"])
def test_rows_are_those_of_the_frame_in_whatever_order_they_are_read(
    name, frame, paths, monkeypatch
):
    monkeypatch.setattr(stored_columns, "BATCH_NUMBERS", 100)
    columns = open_columns(paths[name]).columns(NAMES)
    expected = frame[NAMES].to_numpy(dtype=float)
    assert columns.shape == expected.shape
    numbers = np.sort(np.random.default_rng(1).choice(N_ROWS, 60, replace=False))
    for rows in (
        slice(0, 10),
        slice(10, 11),
        slice(11, 300),
        slice(5, 130),
        slice(400, 400),
        slice(350, 9999),
        slice(None),
        numbers,
        numbers[:0],
    ):
        np.testing.assert_array_equal(columns[rows], expected[rows])
    with pytest.raises(IndexError, match="step 2"):
        columns[::2]


def test_faults_name_the_column_or_the_file(paths, tmp_path):
    damaged = tmp_path / "damaged.parquet"
    damaged.write_bytes(paths["groups.parquet"].read_bytes()[:-20])
    text = tmp_path / "table.csv"
    text.write_text("a,b\n1,2\n")
    linked = tmp_path / "linked.h5"
    with h5py.File(linked, "w") as file:
        file["other"] = h5py.ExternalLink(paths["columns.h5"], "x0")
    table = open_columns(paths["groups.parquet"])
    cases = {
        "no column x7": lambda: table.columns(["x0", "x7"]),
        "column 'name': values of the type .*string": lambda: table.columns(["x0", "name"]),
        "damaged.parquet: the file is damaged": lambda: open_columns(damaged),
        "ends in '.csv'": lambda: open_columns(text),
        "no such file": lambda: open_columns(tmp_path / "missing.parquet"),
        "'other' is a link": lambda: open_columns(linked),
    }
    for message, call in cases.items():
        with pytest.raises(UserError, match=message):
            call()
