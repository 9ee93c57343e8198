"""The user's table becomes a dataset of labelled and weak rows, or the message says what to fix."""

import datetime
import json
from pathlib import Path

import h5py
import numpy as np
import pytest
from each_case import each_case
from reader_samples import stored_terms
from small_pipeline import assert_same_tree

from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.data.reading import read_dataset
from workflow_lib.data.table_encoding import TableEncoding, from_json_bytes
from workflow_lib.items.group_names import fold_group, size_group
from workflow_lib.items.sparse_inputs import inputs_of
from workflow_lib.protocol import features_stage
from workflow_lib.tabular.table_file import read_table
from workflow_lib.tabular.tables import dataset_tree

N_LABELLED, N_WEAK, N_UNLABELLED = 12, 3, 2
HEADER = "id,x1,x2,colour,product,notes,y1,y2,plate,day,patient"


def lines_of_table() -> list[str]:
    """Return labelled rows, then weak rows (with a patient), then others (without)."""
    numbers = np.random.default_rng(0).normal(size=(20, 2))
    lines = [HEADER]
    for row in range(N_LABELLED):
        x2 = "" if row == 3 else numbers[row, 1]
        y2 = "NA" if row == 5 else row**2
        colour = ("red", "blue", "green")[row % 3]
        text = f"good cells {('grow', 'rest')[row % 2]}"
        lines.append(
            f"r{row},{numbers[row, 0]},{x2},{colour},part {row},{text},{2.0 * row},{y2},"
            f"plate {row // 4},2024-02-{29 - row:02d},p{row % 4}"
        )
    for row in range(N_WEAK):
        lines.append(f"w{row},1,2,red,part,good rest,,,,2024-03-01,p{row + 2}")
    for row in range(N_UNLABELLED):
        lines.append(f"u{row},1,2,mauve,part,unlabelled words,,,,,")
    return lines


def written(folder: Path, lines: list[str] | None = None, name: str = "assay.csv") -> str:
    path = folder / name
    path.write_text("\n".join(lines_of_table() if lines is None else lines) + "\n")
    return str(path)


def stored(folder: Path, file: str | None = None, **options) -> dict:
    """Return the tree as it is read from its artifact."""
    options = {"file": file or written(folder), "outputs": ["y*"], **options}
    tree = read_dataset("table", options, [], 0)
    path = folder / "dataset.h5"
    write_artifact(path, tree, "dataset", allow_nan=("inputs", "outputs", "lagged_values/values"))
    return read_artifact(path, "dataset")


def refused(folder: Path, file: str | None = None, **options) -> str:
    with pytest.raises(UserError) as caught:
        stored(folder, file, **options)
    assert caught.value.found and caught.value.expected and caught.value.remedy
    return str(caught.value)


# Rows


def test_labelled_rows_are_kept_with_their_lines_and_the_others_are_counted(tmp_path):
    tree = stored(tmp_path, numbers=["x*"], row_name="id")
    assert tree["inputs"].shape == (N_LABELLED, 2)
    assert np.argwhere(np.isnan(tree["inputs"])).tolist() == [[3, 1]]
    assert np.argwhere(np.isnan(tree["outputs"])).tolist() == [[5, 1]]
    np.testing.assert_array_equal(tree["outputs"][:, 0], 2.0 * np.arange(N_LABELLED))
    np.testing.assert_array_equal(tree["rows"]["line"], np.arange(2, 2 + N_LABELLED))
    assert from_json_bytes(tree["rows"]["name"]) == [f"r{row}" for row in range(N_LABELLED)]
    assert json.loads(tree["names"]["inputs"]) == ["x1", "x2"]
    assert json.loads(tree["names"]["outputs"]) == ["y1", "y2"]
    report = tree["report"]
    assert (report["rows_labelled"], report["rows_weak"]) == (N_LABELLED, 0)
    assert report["rows_unlabelled"] == report["rows_dropped"] == N_WEAK + N_UNLABELLED
    assert report["rows_read"] == N_LABELLED + N_WEAK + N_UNLABELLED
    assert (report["missing_inputs"], report["missing_outputs"]) == (1, 1)
    assert not {"weak_groups", "groups", "order", "lagged_values"} & tree.keys()


def test_rows_without_outputs_are_weak_where_they_share_a_group(tmp_path):
    tree = stored(tmp_path, numbers=["x*"], same_group="patient")
    labelled = ~np.isnan(tree["outputs"]).all(axis=1)
    assert labelled.tolist() == [True] * N_LABELLED + [False] * N_WEAK
    names = from_json_bytes(tree["weak_groups"]["names"])
    assert names == ["p0", "p1", "p2", "p3", "p4"]
    expected = [row % 4 for row in range(N_LABELLED)] + [2, 3, 4]
    np.testing.assert_array_equal(tree["weak_groups"]["codes"], expected)
    assert tree["weak_groups"]["codes"].dtype == np.int64
    report = tree["report"]
    assert (report["rows_weak"], report["rows_unlabelled"]) == (N_WEAK, N_UNLABELLED)
    # Only values that labelled rows lack count as missing.
    assert report["missing_outputs"] == 1
    assert from_json_bytes(tree["rows"]["name"])[-1] == f"line {1 + N_LABELLED + N_WEAK}"


N_UNPAIRED = 8


def lines_with_unpaired(outputs=lambda row: (30.0 + row, 900.5 + row)) -> list[str]:
    """Return the lines of the table with rows of outputs alone in between, and rows of nothing."""
    lines = lines_of_table()
    for row in range(N_UNPAIRED):
        first, second = outputs(row)
        lines.insert(5, f"o{row},,,,,,{first},{second},,2024-01-{row + 1:02d},p{row}")
    return [*lines, "nothing,,,,,,,,,2024-01-01,p1"]


INPUTS = {"numbers": ["x*"], "categories": ["colour"], "strings": ["product"], "text": "notes"}


@pytest.mark.parametrize("inputs", [{"numbers": ["x*"]}, INPUTS])
def test_rows_without_inputs_are_kept_apart_and_change_nothing_else(tmp_path, inputs):
    options = {**inputs, "group": "patient", "time": "day", "same_group": "patient"}
    without = stored(tmp_path, **options)
    tree = stored(tmp_path, written(tmp_path, lines_with_unpaired(), "more.csv"), **options)
    unpaired = tree.pop("unpaired")
    assert "unpaired" not in without
    expected = np.arange(N_UNPAIRED)[::-1]
    np.testing.assert_array_equal(unpaired["outputs"][:, 0], 30.0 + expected)
    np.testing.assert_array_equal(unpaired["line"], 6 + np.arange(N_UNPAIRED))
    # Patients p0 to p4 have other rows.
    np.testing.assert_array_equal(unpaired["group"], np.where(expected < 5, expected, -1))
    assert (np.diff(unpaired["time"]) == -1).all()
    assert tree["report"].pop("rows_unpaired") == N_UNPAIRED
    assert tree["report"]["rows_dropped"] == without["report"]["rows_dropped"] + 1
    for changed in ("report", "rows"):
        del tree[changed], without[changed]
    assert_same_tree(tree, without)


def test_classes_without_inputs_are_left_out(tmp_path):
    lines = lines_with_unpaired()
    options = {"outputs": [], "classes": "plate", "numbers": ["x*"]}
    named = [line.replace(",,2024-01", ",plate 1,2024-01") for line in lines]
    tree = stored(tmp_path, written(tmp_path, named, "named.csv"), **options)
    assert len(tree["inputs"]) == N_LABELLED
    assert tree["report"]["rows_unpaired"] == N_UNPAIRED + 1
    assert "unpaired" not in tree


def test_copies_of_labelled_rows_without_their_inputs_are_refused(tmp_path):
    lines = lines_with_unpaired(lambda row: (2.0 * row, "NA" if row == 5 else row**2))
    message = refused(tmp_path, written(tmp_path, lines), numbers=["x*"])
    # The row that lacks an output is not compared.
    assert "7 of 7 rows without inputs repeat all outputs of a labelled row" in message
    assert "line 6 those of line 17" in message and "0 of 11 labelled rows" in message
    assert "remove these rows" in message
    # Two equal rows may be chance.
    few = lines_with_unpaired(lambda row: (2.0 * row, row**2 if row < 2 else 7.5))
    assert "unpaired" in stored(tmp_path, written(tmp_path, few), numbers=["x*"])


def test_repeats_are_no_copies_where_labelled_rows_repeat_one_another(tmp_path):
    lines = lines_with_unpaired(lambda row: (row % 2, 1))
    for row, line in enumerate(lines[1:], 1):
        cells = line.split(",")
        if cells[6]:
            cells[6:8] = str(row % 2), str(1 + (cells[0] == "r11"))
        lines[row] = ",".join(cells)
    assert "unpaired" in stored(tmp_path, written(tmp_path, lines), numbers=["x*"])


def test_a_row_that_lacks_some_outputs_is_dropped_or_weak_where_asked(tmp_path):
    options = {"numbers": ["x*"], "row_name": "id", "incomplete_rows": "drop"}
    tree = stored(tmp_path, **options)
    assert "r5" not in from_json_bytes(tree["rows"]["name"])
    assert not np.isnan(tree["outputs"]).any()
    report = tree["report"]
    assert (report["rows_incomplete"], report["missing_outputs"]) == (1, 0)
    assert report["rows_labelled"] == N_LABELLED - 1
    weak = stored(tmp_path, same_group="patient", **options)
    index = from_json_bytes(weak["rows"]["name"]).index("r5")
    assert np.isnan(weak["outputs"][index]).all()
    assert weak["report"]["rows_weak"] == N_WEAK + 1


def test_labelled_rows_may_belong_to_no_group_of_weak_rows(tmp_path):
    lines = lines_of_table()
    lines[1] = lines[1].removesuffix("p0")
    tree = stored(tmp_path, written(tmp_path, lines), numbers=["x1"], same_group="patient")
    assert tree["weak_groups"]["codes"][0] == -1


def test_groups_and_times_of_rows_are_those_of_the_file(tmp_path):
    tree = stored(tmp_path, numbers=["x*"], group="plate", time="day", same_group="patient")
    codes = tree["groups"]["group"]
    np.testing.assert_array_equal(codes[:N_LABELLED], np.arange(N_LABELLED) // 4)
    # Weak rows without a group are each alone.
    assert len(set(codes[N_LABELLED:])) == N_WEAK and codes[N_LABELLED:].min() > 2
    days = [datetime.date(2024, 2, 29 - row).toordinal() for row in range(N_LABELLED)]
    order = tree["order"]
    np.testing.assert_array_equal(order["time"][:N_LABELLED], days)
    np.testing.assert_array_equal(order["begin"], order["time"])
    np.testing.assert_array_equal(order["end"], order["time"])
    assert len(set(order["company"])) == len(order["time"])


def test_times_may_be_numbers_or_moments_of_any_zone(tmp_path):
    tree = stored(tmp_path, numbers=["x1"], time="x1")
    np.testing.assert_array_equal(tree["order"]["time"], tree["inputs"][:, 0])
    lines = lines_of_table()
    moments = ["2024-01-01T12:00", "2024-01-01T13:00+01:00", "2024-01-01 18:00:00"]
    moments += ["0001-01-01T00:00+12:00", "9999-12-31T23:00-12:00"]
    for row in range(N_LABELLED):
        parts = lines[row + 1].split(",")
        parts[9] = moments[row % 5]
        lines[row + 1] = ",".join(parts)
    times = stored(tmp_path, written(tmp_path, lines), numbers=["x1"], time="day")["order"]["time"]
    noon = datetime.date(2024, 1, 1).toordinal() + 0.5
    np.testing.assert_allclose(times[:3], [noon, noon, noon + 0.25], rtol=0, atol=1e-9)
    # Moments may be before the first year elsewhere.
    np.testing.assert_allclose(times[3:5], [0.5, 3652060 + 11 / 24], rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("column", "value", "options", "words"),
    [
        (8, "", {"group": "plate"}, "line 4, column 'plate': the group is missing"),
        (9, "", {"time": "day"}, "line 4, column 'day': the time is missing"),
        (9, "03/04/2024", {"time": "day"}, "dates such as '03/04/2024', of which no day is after"),
        (6, "3;5", {}, "line 4, column 'y1': '3;5' is not a finite number"),
        (7, "high", {}, "line 4, column 'y2': 'high' is not a finite number"),
        (1, "inf", {}, "line 4, column 'x1': 'inf' is not a finite number"),
    ],
)
def test_a_cell_that_cannot_be_used_is_named(tmp_path, column, value, options, words):
    lines = lines_of_table()
    parts = lines[3].split(",")
    parts[column] = value
    lines[3] = ",".join(parts)
    assert words in refused(tmp_path, written(tmp_path, lines), numbers=["x*"], **options)


# Inputs


def test_inputs_are_what_the_stored_encoding_makes_of_the_rows(tmp_path):
    file = written(tmp_path)
    columns = {"numbers": ["x*"], "categories": ["colour"], "strings": ["product"]}
    tree = stored(tmp_path, file, **columns, same_group="patient")
    table = read_table(file)
    again = TableEncoding.from_tree(tree["encoding"]).encode(table)
    np.testing.assert_array_equal(tree["inputs"], again.inputs[: N_LABELLED + N_WEAK])
    assert json.loads(tree["names"]["inputs"]) == again.names
    # Values of unlabelled rows alone are not used for the fit.
    assert again.notes[-1] == "colour: 'mauve' was never seen"
    assert "colour=mauve" not in again.names


def test_texts_are_sparse_and_all_else_is_dense(tmp_path):
    tree = stored(tmp_path, numbers=["x*"], categories=["colour"], text="notes")
    assert stored_terms(tree) == ["cells", "good", "grow", "rest"]
    assert inputs_of(tree).shape == (N_LABELLED, 4)
    assert tree["lagged_values"]["values"].shape == (N_LABELLED, 5)
    assert json.loads(tree["names"]["lagged_values"])[:2] == ["x1", "x2"]
    assert "lagged_values" not in stored(tmp_path, text="notes")


def test_texts_with_missing_numbers_have_inner_products(tmp_path):
    stored(tmp_path, numbers=["x*"], text="notes")
    split = {"test": np.arange(2), "train": np.arange(2, 12), "weak": np.arange(0)}
    split |= {"sizes": np.array([10]), "weak_sizes": np.arange(0)}
    split["folds"] = {size_group(10): np.arange(10) % 5}
    write_artifact(tmp_path / "split.h5", split, "split")
    paths = [tmp_path / name for name in ("dataset.h5", "split.h5", "features.h5")]
    features_stage.run(*paths, scale="tf-idf", kernel="rbf", lagged_values="added")
    features = read_artifact(tmp_path / "features.h5", "features")
    products = features[size_group(10)][fold_group(None)]["products"]
    assert products.shape == (12, 10) and np.isfinite(products).all()


@pytest.mark.parametrize("header", [True, False])
def test_kernel_values_are_those_between_the_rows_that_are_kept(tmp_path, header):
    n_rows = N_LABELLED + N_WEAK + N_UNLABELLED
    rows = np.random.default_rng(1).normal(size=(n_rows, 30))
    gram = rows @ rows.T
    # Values from another program need not be symmetric to the last digit.
    gram += np.random.default_rng(2).normal(size=gram.shape) * 1e-9
    lines = [",".join(f"r{row}" for row in range(n_rows))] * header
    path = written(tmp_path, lines + [",".join(map(repr, row)) for row in gram.tolist()], "k.csv")
    tree = stored(tmp_path, gram=path, row_name="id", same_group="patient")
    kept = N_LABELLED + N_WEAK
    expected = (gram[:kept, :kept] + gram[:kept, :kept].T) / 2
    np.testing.assert_array_equal(tree["inputs"], expected)
    np.testing.assert_array_equal(tree["inputs"], tree["inputs"].T)
    assert json.loads(tree["names"]["inputs"])[:2] == ["r0", "r1"]
    assert tree["report"]["clipped_eigenvalues"] == 0
    assert TableEncoding.from_tree(tree["encoding"]).columns == []


def test_kernel_values_may_come_from_hdf5(tmp_path):
    n_rows = N_LABELLED + N_WEAK + N_UNLABELLED
    gram = np.eye(n_rows) + 1.0
    with h5py.File(tmp_path / "k.h5", "w") as file:
        file["gram"] = gram
        file["gram"].attrs["columns"] = [f"r{row}" for row in range(n_rows)]
    tree = stored(tmp_path, gram=str(tmp_path / "k.h5"))
    np.testing.assert_array_equal(tree["inputs"], gram[:N_LABELLED, :N_LABELLED])
    with h5py.File(tmp_path / "k.h5", "a") as file:
        file["gram"][2, 4] = np.nan
    message = refused(tmp_path, gram=str(tmp_path / "k.h5"))
    assert "row 3, column 'r4': the value is missing" in message


def test_kernel_values_with_few_decimals_are_made_a_kernel_again(tmp_path):
    n_rows = N_LABELLED + N_WEAK + N_UNLABELLED
    points = np.random.default_rng(1).normal(size=(n_rows, 2))
    gram = np.round(points @ points.T, 2)
    path = written(tmp_path, [",".join(map(repr, row)) for row in gram.tolist()], "k.csv")
    tree = stored(tmp_path, gram=path)
    report, kept = tree["report"], gram[:N_LABELLED, :N_LABELLED]
    eigenvalues = np.linalg.eigvalsh(kept)
    assert report["least_eigenvalue"] == pytest.approx(eigenvalues[0] / eigenvalues[-1])
    assert report["clipped_eigenvalues"] == (eigenvalues < 0).sum() > 0
    assert report["largest_change"] == pytest.approx(np.abs(tree["inputs"] - kept).max())
    assert np.linalg.eigvalsh(tree["inputs"])[0] > -1e-12 * eigenvalues[-1]
    assert np.abs(tree["inputs"] - kept).max() < 0.05


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda gram: gram[:-1], "a table of 16 rows and 17 columns"),
        (lambda gram: gram[:, :-1], "a table of 17 rows and 16 columns"),
        (lambda gram: gram + np.triu(np.ones_like(gram), 1), "not symmetric"),
        (lambda gram: -gram, "least eigenvalue"),
        (lambda gram: 1 - np.eye(len(gram)), "check whether these are distances"),
        (lambda gram: np.where(np.eye(len(gram)) > 0, np.nan, gram), "'nan' is not a finite"),
    ],
)
def test_what_are_no_kernel_values_is_refused(tmp_path, change, words):
    n_rows = N_LABELLED + N_WEAK + N_UNLABELLED
    gram = change(np.eye(n_rows))
    path = written(tmp_path, [",".join(map(repr, row)) for row in gram.tolist()], "k.csv")
    assert words in refused(tmp_path, gram=path)


# Classes


def test_classes_without_vectors_are_equally_far_from_each_other(tmp_path):
    lines = lines_of_table()
    lines[1] = lines[1].replace(",red,", ",,")
    file = written(tmp_path, lines[: N_LABELLED + 1])
    tree = stored(tmp_path, file, outputs=[], classes="colour", numbers=["x*"], row_name="id")
    assert json.loads(tree["names"]["classes"]) == ["blue", "green", "red"]
    expected = [(2, 0, 1)[row % 3] for row in range(1, N_LABELLED)]
    np.testing.assert_array_equal(tree["classes"]["labels"], expected)
    np.testing.assert_array_equal(tree["classes"]["vectors"], np.eye(3))
    np.testing.assert_array_equal(tree["outputs"], np.eye(3)[expected])
    assert json.loads(tree["names"]["rows"])[0] == "r1"
    assert tree["report"]["rows_unlabelled"] == 1
    assert tree["rows"]["line"][0] == 3


def test_classes_have_the_vectors_of_their_table(tmp_path):
    vectors = written(tmp_path, ["class;a;b", "red;1;0", "blue;0;1", "white;1;1"], "vectors.csv")
    file = written(tmp_path, lines_of_table() + ["g,1,2,red,p,good,,,,,"] * 3)
    options = {"outputs": [], "classes": "colour", "class_vectors": vectors, "text": "notes"}
    tree = stored(tmp_path, file, numbers=["x1"], **options)
    assert json.loads(tree["names"]["classes"]) == ["blue", "red"]
    assert json.loads(tree["names"]["outputs"]) == ["a", "b"]
    np.testing.assert_array_equal(tree["classes"]["vectors"], [[0, 1], [1, 0]])
    assert tree["report"]["excluded_names"] == {
        "classes without rows": "white",
        "classes without a class vector": "green, mauve",
    }
    # Inputs of classes may be counts of words together with numbers.
    n_rows = len(tree["classes"]["labels"])
    assert inputs_of(tree).shape[0] == len(tree["lagged_values"]["values"]) == n_rows
    assert len(from_json_bytes(tree["rows"]["name"])) == n_rows


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["class,a", "red,1", "red,2", "blue,3"], "line 3, column 'class': the class 'red' is"),
        (["class,a", "red,1", "NA,2", "blue,3"], "line 3, column 'class': no class"),
        (["class,a", "red,1", "blue,"], "line 3, column 'a': the value is missing"),
        (["class,a", "red,1", "blue,1"], "classes with equal vectors"),
        (["class", "red", "blue"], "one column, 'class'"),
        (["class,a", "red,1", "white,2"], "class that has a vector"),
    ],
)
def test_faults_of_class_vectors_are_named(tmp_path, lines, words):
    path = written(tmp_path, lines, "vectors.csv")
    options = {"outputs": [], "classes": "colour", "class_vectors": path}
    assert words in refused(tmp_path, numbers=["x*"], **options)


# Options


@each_case(
    ("options", "words"),
    [
        ({}, "no inputs are named"),
        ({"numbers": ["x*"], "gram": "k.csv"}, "gram together with numbers"),
        ({"numbers": ["x*", "y1"]}, "the column 'y1' is in outputs and in numbers"),
        ({"numbers": ["x*"], "categories": ["x1"]}, "the column 'x1' is in numbers and in"),
        ({"numbers": ["x*"], "group": "y2"}, "the column 'y2' is in outputs and in group"),
        ({"categories": ["colour"], "outputs": [], "classes": "colour"}, "in classes and in"),
        ({"numbers": ["x*"], "outputs": []}, "neither outputs nor classes"),
        ({"numbers": ["x*"], "classes": "colour"}, "both outputs and classes"),
        ({"numbers": ["x*"], "class_vectors": "v.csv"}, "class_vectors without classes"),
        (
            {"numbers": ["x*"], "outputs": [], "classes": "colour", "same_group": "patient"},
            "same_group without outputs",
        ),
        ({"numbers": ["x*"], "time": "da"}, "option time: there is no column 'da'"),
        ({"numbers": ["x*"], "time": "dya"}, "write 'day'"),
        ({"numbers": ["z*"]}, "option numbers: there is no column 'z*'"),
        ({"text": "x*"}, "'x*' matches 2 columns"),
        ({"numbers": ["x*"], "outputs": ["product"]}, "column 'product': 'part 0' is not a"),
        ({"numbers": ["x*"], "outputs": ["patient", "y1"]}, "'p0' is not a finite number"),
        ({"numbers": ["x*"], "delimiter": ";;"}, "delimiter"),
        ({"numbers": ["x*"], "number": ["x*"]}, "number"),
    ],
)
def test_impossible_options_are_refused(tmp_path, options, words):
    assert words in refused(tmp_path, **options)


def test_only_numbers_have_indicators_of_missing_values(tmp_path):
    options = {"numbers": ["x1", "x2"], "missing_indicators": ["x2"]}
    tree = stored(tmp_path, **options)
    np.testing.assert_array_equal(tree["inputs"][:, 2], np.isnan(tree["inputs"][:, 1]))
    assert json.loads(tree["names"]["inputs"]) == ["x1", "x2", "x2 is missing"]
    with pytest.raises(UserError, match="missing_indicators.*not among numbers: x2"):
        stored(tmp_path, **options | {"numbers": ["x1"]})


def test_a_column_of_numbers_without_any_is_refused(tmp_path):
    file = written(tmp_path, [lines_of_table()[0] + ",z"] + [x + "," for x in lines_of_table()[1:]])
    message = refused(tmp_path, file, numbers=["x*", "z"], text="notes")
    assert "no row has a value in the lagged value z" in message


def test_too_few_labelled_rows_are_refused_with_what_is_needed(tmp_path):
    file = written(tmp_path, lines_of_table()[:4])
    assert read_table(file).n_rows == 3
    message = refused(tmp_path, file, numbers=["x*"])
    assert "3 of 3 rows have a known output" in message and "at least 10" in message
    message = refused(tmp_path, file, numbers=["x*"], outputs=[], classes="colour")
    assert "3 of 3 rows have a known class" in message


# The check of every reader


def test_only_rows_that_are_weak_may_lack_all_outputs():
    outputs = np.array([[1.0, 2.0], [3.0, np.nan], [np.nan, np.nan], [np.nan, np.nan]])
    weak = np.array([False, False, True, True])
    arguments = {"input_names": ["x"], "output_names": ["a", "b"], "location": "here"}
    arguments |= {"allow_missing_outputs": True, "allow_constant_outputs": True}
    inputs = np.arange(4.0)[:, np.newaxis]
    tree = dataset_tree(inputs, outputs, weak_rows=weak, **arguments)
    np.testing.assert_array_equal(tree["outputs"], outputs)
    assert tree["report"]["missing_outputs"] == 1
    with pytest.raises(UserError, match=r"rows 2, 3 \(counted from 0\): no output is known"):
        dataset_tree(inputs, outputs, **arguments)
    weak[3] = False
    with pytest.raises(UserError, match=r"rows 3 \(counted from 0\): no output is known"):
        dataset_tree(inputs, outputs, weak_rows=weak, **arguments)
