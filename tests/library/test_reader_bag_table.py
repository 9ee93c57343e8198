"""The reader of bags from a table: three formats, unlabelled bags, and what is left out."""

import json

import h5py
import numpy as np
import pandas as pd
import pytest

from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.data.reading import read_dataset
from workflow_lib.items.kinds.bags import unpack
from workflow_lib.protocol import splitting

OPTIONS = {"bag": "patient", "classes": "ill", "numbers": ["x_*"]}

TABLE = """patient,ill,x_1,x_2,x_3
b,yes,1,2,7
a,no,0,1,7
b,yes,3,,7
b,yes,5,6,7
c,,1,1,7
d,,,4,7
a,no,2,2,7
e,no,1,0,7
e,yes,1,5,7
f,yes,2,2,7
f,,0,1,7
g,no,5,6,7
g,no,1,2,7
h,yes,9,9,7
i,,1,1,7
j,yes,8,8,7
k,,9,9,7
"""
"""Bag e has two classes, d no complete row, i repeats c, k the labelled h, g and f those of b and a
with another class. Column x_3 is constant."""


THREE_BAGS = TABLE.replace("j,yes,8,8,7", "j,no,8,8,7")


def write_table(folder, text=TABLE):
    path = folder / "cells.csv"
    path.write_text(text)
    return path


def read(path, **options):
    return read_dataset("bag_table", OPTIONS | {"file": str(path)} | options, [], 0)


def test_bags_and_what_is_left_out(tmp_path):
    tree = read(write_table(tmp_path, THREE_BAGS))
    assert tree["names"]["rows"] == '["c", "h", "j"]'
    assert tree["names"]["classes"] == '["no", "yes"]'
    assert tree["classes"]["labels"].tolist() == [-1, 1, 0]
    np.testing.assert_array_equal(tree["outputs"], [[np.nan, np.nan], [0, 1], [1, 0]])
    assert tree["report"]["exclusions"] == {
        "a bag with two classes": 1,
        "a bag without a complete row": 1,
        "a bag with the rows of an earlier bag": 2,
        "bags with the same rows and two classes": 4,
    }
    assert tree["report"]["incomplete_rows"] == 2
    bags = unpack(tree)
    assert [bag.tolist() for bag in bags] == [[[1, 1, 7]], [[9, 9, 7]], [[8, 8, 7]]]


def test_rows_of_a_bag_are_pooled_for_other_methods(tmp_path):
    text = "patient,ill,x_1,x_2\na,no,1,2\nb,yes,4,4\na,,3,8\n"
    tree = read(write_table(tmp_path, text))
    np.testing.assert_array_equal(tree["inputs"], [[2, 5, 1, 3], [4, 4, 0, 0]])
    names = ["mean of x_1", "mean of x_2", "deviation of x_1", "deviation of x_2"]
    assert json.loads(tree["names"]["inputs"]) == names


def test_three_formats_give_the_same_dataset(tmp_path):
    text = TABLE.replace("g,no,5,6,7\n", "").replace("f,yes,2,2,7\n", "")
    expected = read(write_table(tmp_path, text))
    frame = pd.read_csv(
        tmp_path / "cells.csv", keep_default_na=False, na_values={"x_1": "", "x_2": ""}
    )
    frame.to_parquet(tmp_path / "cells.parquet")
    with h5py.File(tmp_path / "cells.h5", "w") as file:
        for name in frame:
            values = frame[name]
            is_number = pd.api.types.is_numeric_dtype(values)
            file[name] = (
                values if is_number else values.astype(object).to_numpy(h5py.string_dtype())
            )
    for ending in ("parquet", "h5"):
        tree = read(tmp_path / f"cells.{ending}")
        assert tree["names"] == expected["names"]
        assert tree["report"] == expected["report"]
        np.testing.assert_array_equal(tree["classes"]["labels"], expected["classes"]["labels"])
        for name in ("values", "begins"):
            np.testing.assert_array_equal(tree["bags"][name], expected["bags"][name])
    assert len(expected["classes"]["labels"]) == 7


@pytest.mark.parametrize(
    ("text", "options", "reason"),
    [
        (TABLE.replace("1,2,7", "1,two,7"), {}, "line 2, column 'x_2'"),
        (TABLE.replace("h,yes", ",yes"), {}, "line 15, column 'patient': the name of the bag is"),
        (TABLE, {"numbers": ["y_*"]}, "no column 'y_\\*'"),
        (TABLE, {"bag": "patients"}, "no column 'patients'"),
        (TABLE, {"file": "no.csv"}, "there is no such file"),
        ("patient,ill,x_1\na,,1\nb,,2\nc,yes,3\n", {}, "1 classes can be used"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_location(tmp_path, text, options, reason):
    with pytest.raises(UserError, match=reason):
        read(write_table(tmp_path, text), **options)


def split_of_bags(folder) -> tuple[dict, dict]:
    """Write 60 bags, the last 24 without a class, and their split; return both."""
    random = np.random.default_rng(0)
    lines = ["patient,ill,x_1,x_2"]
    for bag in range(60):
        label, shift = ("yes", 2.0) if bag % 2 else ("no", 0.0)
        label = label if bag < 36 else ""
        lines += [f"p{bag},{label},{a:.6f},{b:.6f}" for a, b in random.normal(shift, 1, (7, 2))]
    tree = read(write_table(folder, "\n".join(lines)))
    paths = folder / "dataset.h5", folder / "split.h5"
    write_artifact(paths[0], tree, "dataset", allow_nan=("outputs",))
    splitting.run(*paths, [5], [20, 30], 10, 3, 0, "cells", kind="per_class")
    return tree, read_artifact(paths[1], "split")


def test_unlabelled_bags_are_weak_rows_only(tmp_path):
    _, split = split_of_bags(tmp_path)
    unlabelled = np.arange(36, 60)
    assert set(unlabelled) <= set(split["weak"])
    assert not set(unlabelled) & {*split["train"], *split["test"]}
    assert split["weak_sizes"].tolist() == [20, 30]
