"""Readers return the table in the file, or name the location of the fault."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from each_case import each_case
from reader_samples import CATALOGUE, acquired, catalogue, refusal

from workflow_lib.core.errors import UserError
from workflow_lib.data.readers.synthetic_mixture import Options, effective_options
from workflow_lib.data.reading import checked_options, kind_of_inputs, read_dataset
from workflow_lib.run.named_settings import SettingsFolder
from workflow_lib.tabular.tables import dataset_tree

ARFF = """% a comment
@RELATION 'a test'

@attribute 'the width' NUMERIC
@Attribute colour {red, 'dark, blue',it's}
@attribute state {0,1,2}
@attribute price real

@DATA
1.5, red, 2, 10
% another comment
?, 'dark, blue', 0, -2.5e1
3, ?, 1, 30

4,it's,1,?
"""

CSV = """width,colour,strength,note
1.5,10,100,first
2.5,,200,"second, with a comma"
3.5,30,,third

4.5,40,400,
"""


def table(tmp_path, text: str, name: str = "table.txt", encoding: str = "utf-8") -> Path:
    path = tmp_path / name
    path.write_bytes(text.encode(encoding))
    return path


def names(tree: dict, side: str) -> list[str]:
    return json.loads(tree["names"][side])


def refused(reader: str, options: dict, path: Path) -> str:
    message = refusal(read_dataset, reader, options, [path], seed=0)
    assert str(path) in message
    return message


def refused_csv(tmp_path, text: str, **options) -> str:
    return refused("csv", {"outputs": ["strength"], **options}, table(tmp_path, text))


def refused_arff(tmp_path, text: str, targets: int = 1) -> str:
    return refused("arff", {"targets": targets}, table(tmp_path, text))


# Discovery and options


def test_options_are_checked_without_the_heavy_libraries():
    # The configuration is checked every time that the workflow starts.
    program = (
        "import sys; from workflow_lib.core.plugins import READERS\n"
        "from workflow_lib.data.reading import options_model\n"
        "for name in READERS.paths: options_model(name)\n"
        "print({'numpy', 'sklearn', 'scipy', 'pandas', 'h5py'} & set(sys.modules))"
    )
    command = [sys.executable, "-c", program]
    folder = CATALOGUE.parents[1]
    assert subprocess.check_output(command, text=True, cwd=folder) == "set()\n"


def test_inputs_of_an_unknown_reader_are_numbers():
    assert kind_of_inputs("arf", {}) == "numbers"


@pytest.mark.parametrize(
    ("reader", "options", "words"),
    [
        ("arff", {}, "targets: Field required"),
        ("arff", {"targets": 1, "target": 2}, "target: .*not permitted.*among: targets"),
        ("linnerud", {"x": 1}, r"x: .*among: \(none\)"),
        ("synthetic_mixture", {"preset": "unclear"}, "preset: .*'informative', 'overlapping'"),
        ("image_classes", {"features": ["hog", "hog"]}, "features: a list without repeated values"),
    ],
)
def test_wrong_options_are_named(reader, options, words):
    with pytest.raises(UserError, match=f"'{reader}': {words}"):
        checked_options(reader, options)


# ARFF


def test_arff_with_nominal_columns_and_missing_values(tmp_path):
    tree = read_dataset("arff", {"targets": 2}, [table(tmp_path, ARFF)], seed=0)
    np.testing.assert_array_equal(
        tree["inputs"], [[1.5, 1, 0, 0], [np.nan, 0, 1, 0], [3, np.nan, np.nan, np.nan]]
    )
    np.testing.assert_array_equal(tree["outputs"], [[2, 10], [0, -25], [1, 30]])
    assert names(tree, "inputs") == ["the width", "colour=red", "colour=dark, blue", "colour=it's"]
    assert names(tree, "outputs") == ["state", "price"]
    assert tree["report"] == {
        "rows_read": 4,
        "rows_dropped": 1,
        "missing_inputs": 4,
        "missing_outputs": 0,
        "constant_outputs": 0,
    }


@each_case(
    ("old", "new", "words"),
    [
        ("'dark, blue', 0", "green, 0", "line 12, column 'colour': 'green' is not a class"),
        ("-2.5e1", "many", "line 12, column 'price': 'many' is not a finite number"),
        ("3, ?, 1, 30", "3, ?, 1", "line 13: 3 values. Expected 4 values"),
        ("3, ?, 1, 30", "{0 3, 3 30}", "line 13: a sparse row"),
        ("price real", "price string", "header: it cannot be read (String attributes not"),
        ("price real", "price date yyyy", "an attribute of the type date"),
        ("{0,1,2}", "numeric\n@attribute price real", "field 'price' occurs more than once"),
        ("@DATA", "% no data", "no @data line"),
        ("10\n", "1e999\n", "column 'price': '1e999' is not a finite number"),
    ],
)
def test_arff_faults_are_named(tmp_path, old, new, words):
    text = ARFF.replace(old, new)
    assert text != ARFF
    assert words in refused_arff(tmp_path, text, targets=2)


@pytest.mark.parametrize("classes", ['{red, "dark, blue",it\'s}', "{'red', \"dark, blue\",it's}"])
def test_arff_classes_may_be_in_double_quotes(tmp_path, classes):
    text = ARFF.replace("{red, 'dark, blue',it's}", classes).replace("'dark, blue'", '"dark, blue"')
    options = {"targets": 2}
    tree, expected = (
        read_dataset("arff", options, [table(tmp_path, text)], seed=0) for text in (text, ARFF)
    )
    np.testing.assert_array_equal(tree["inputs"], expected["inputs"])
    assert names(tree, "inputs") == names(expected, "inputs")


def test_arff_needs_rows_an_input_and_outputs_that_are_numbers(tmp_path):
    header = ARFF.partition("@DATA")[0]
    assert "no @data line" in refused_arff(tmp_path, header)
    assert "0 of 0 rows" in refused_arff(tmp_path, header + "@data\n")
    assert "4 targets in a file of 4 attributes" in refused_arff(tmp_path, ARFF, targets=4)
    message = refused_arff(tmp_path, ARFF, targets=3)
    assert "column 'colour': 'red' is not a finite number" in message


# CSV


def read_csv(tmp_path, text: str, outputs=("strength",), **options) -> dict:
    options["outputs"] = list(outputs)
    return read_dataset("csv", options, [table(tmp_path, text)], seed=0)


def test_csv(tmp_path):
    tree = read_csv(tmp_path, CSV, inputs=["colour", "width"])
    np.testing.assert_array_equal(tree["inputs"], [[10, 1.5], [np.nan, 2.5], [40, 4.5]])
    np.testing.assert_array_equal(tree["outputs"], [[100], [200], [400]])
    assert names(tree, "inputs") == ["colour", "width"]
    assert names(tree, "outputs") == ["strength"]
    assert tree["report"]["rows_read"] == 4
    assert tree["report"]["rows_dropped"] == 1
    assert tree["report"]["missing_inputs"] == 1


def test_csv_options(tmp_path):
    tree = read_csv(tmp_path, "a;b;c\n1;2;3\n4;5;6\n", ["b"], delimiter=";")
    assert names(tree, "inputs") == ["a", "c"]
    np.testing.assert_array_equal(tree["inputs"], [[1, 3], [4, 6]])
    tree = read_csv(tmp_path, "a,strength\n-999,1\n2,2\n", missing_values=["-999"])
    np.testing.assert_array_equal(tree["inputs"], [[np.nan], [2]])
    tree = read_csv(tmp_path, "a,strength\n1,5\n2,5\n", allow_constant_outputs=True)
    assert tree["report"]["constant_outputs"] == 1
    text = ",a,strength\n0,2,3\n1,4,5\n"
    assert "column 1: the column has no name" in refused_csv(tmp_path, text)
    tree = read_csv(tmp_path, text, inputs=["a"], as_it_comes=True)
    np.testing.assert_array_equal(tree["inputs"], [[2], [4]])


def test_csv_from_a_spreadsheet(tmp_path):
    # Such programs write a byte order mark and line ends of two characters.
    text = '"größe","strength"\r\n1,2\r\n3,4\r\n'
    path = table(tmp_path, text, encoding="utf-8-sig")
    tree = read_dataset("csv", {"outputs": ["strength"]}, [path], seed=0)
    assert names(tree, "inputs") == ["größe"]


@pytest.mark.parametrize("value", ["heavy", "1_000", "1,5", "inf", "-Infinity", "1e999", "0x10"])
def test_csv_text_in_a_number_column(tmp_path, value):
    message = refused_csv(tmp_path, f'a,strength\n1,2\n\n3,"{value}"\n')
    assert f"line 4, column 'strength': '{value}' is not a finite number" in message


@each_case(
    ("text", "words"),
    [
        ("a,strength\n1,2\n3,\x004\n", "line 3: a NUL byte"),
        ("a,strength\n", "0 rows below"),
        ("a,strength\n1,2\n", "1 of 1 rows"),
        ("a,strength\n1,2\n3,\n4,NA\n", "1 of 3 rows"),
        ("a,strength\n1,2\n1,2,3\n", "line 3: 3 cells. Expected 2 cells"),
        ("a,strenght\n1,2\n", "Expected one of the columns: a, strenght. To fix it: write 'stren"),
        ("strength\n1\n2\n", "no column is left for the inputs"),
        ("a,strength\n,1\nNA,2\n", "no row has a value in the input a"),
        ("a,strength\n1,5\n2,5\n", "the output strength has the same value in every row"),
    ],
)
def test_csv_faults_are_named(tmp_path, text, words):
    assert words in refused_csv(tmp_path, text)


def test_csv_columns_have_one_part_only(tmp_path):
    text = "a,strength\n1,2\n3,4\n"
    assert "'strength' is named 2 times" in refused_csv(tmp_path, text, inputs=["a", "strength"])
    assert "'a' is named 2 times" in refused_csv(tmp_path, text, inputs=["a", "?"])


def test_csv_columns_may_be_named_by_patterns(tmp_path):
    text = "x_2,y(1),x_1,y(2),note\n1,2,3,4,a\n5,6,7,8,b\n"
    tree = read_csv(tmp_path, text, ["y(?)"], inputs=["x_*"])
    assert names(tree, "inputs") == ["x_2", "x_1"] and names(tree, "outputs") == ["y(1)", "y(2)"]
    np.testing.assert_array_equal(tree["outputs"], [[2, 4], [6, 8]])


def test_csv_rows_of_groups(tmp_path):
    text = "day,a,b,y\nmon,1,2,3\ntue,4,5,\nwed,6,7,8\nmon,9,1,2\n,3,4,5\n"
    tree = read_csv(tmp_path, text, ["y"], group="day")
    np.testing.assert_array_equal(tree["groups"]["group"], [0, 1, 0])
    np.testing.assert_array_equal(tree["inputs"], [[1, 2], [6, 7], [9, 1]])
    assert (tree["report"]["rows_read"], tree["report"]["rows_dropped"]) == (5, 2)
    of_numbers = read_csv(tmp_path, text, ["y"], inputs=["a"], group="a")["groups"]["group"]
    np.testing.assert_array_equal(of_numbers, [0, 2, 3, 1])


# Checks of every table


@pytest.mark.parametrize(
    ("inputs", "outputs", "words"),
    [
        ([[1], [2], [3]], [[1], [np.nan], [np.inf]], "rows 1, 2 .*outputs that are NaN"),
        ([[1], [-np.inf], [3]], [[1], [2], [3]], "rows 1 .*inputs that are infinite"),
        ([[np.inf]] * 30, [[1], [2]] * 15, "rows 0, 1, .*9 and 20 more"),
        ([[np.nan]] * 2, [[1], [2]], "no row has a value in the input x"),
        ([[1], [2]], [[1e308], [1e308]], "the output y has the same value"),
        ([[1]], [[1]], "1 of 1 rows"),
        (np.empty((2, 0)), [[1], [2]], "no column is left"),
    ],
)
def test_tables_that_no_method_can_learn_from(inputs, outputs, words):
    with pytest.raises(UserError, match=f"somewhere.*{words}"):
        dataset_tree(np.array(inputs), np.array(outputs), ["x"], ["y"], location="somewhere")


def with_missing_outputs(outputs, **groups) -> dict:
    outputs = np.array(outputs, dtype=float)
    inputs = np.arange(len(outputs), dtype=float)[:, None]
    return dataset_tree(
        inputs, outputs, ["x"], ["y", "z"], "somewhere", allow_missing_outputs=True, **groups
    )


def test_missing_outputs_are_kept_and_counted():
    outputs = [[1, np.nan], [np.nan, 2], [3, 4], [np.nan, 5]]
    tree = with_missing_outputs(outputs)
    np.testing.assert_array_equal(tree["outputs"], outputs)
    assert tree["report"]["missing_outputs"] == 3
    assert tree["report"]["rows_dropped"] == tree["report"]["constant_outputs"] == 0


@pytest.mark.parametrize(
    ("outputs", "words"),
    [
        ([[np.nan, 1], [np.nan, 2]], "no row has a value in the output y"),
        ([[1, 2], [np.nan, np.nan], [3, 4]], r"rows 1 \(counted from 0\): no output is known"),
        ([[1, 2], [np.nan, np.inf], [3, 4]], "rows 1 .*outputs that are infinite"),
        ([[1, 2], [2, np.nan], [3, 2]], "the output z has the same value .* where it is known"),
        ([[np.nan, 2], [2, 1], [np.nan, 2]], "the output y has the same value"),
        ([[np.nan, 2]], "1 of 1 rows have enough"),
    ],
)
def test_missing_outputs_that_no_method_can_learn_from(outputs, words):
    with pytest.raises(UserError, match=f"somewhere.*{words}"):
        with_missing_outputs(outputs)


def test_missing_outputs_are_refused_unless_allowed():
    with pytest.raises(UserError, match="rows 1 .*outputs that are NaN"):
        dataset_tree(np.eye(2), np.array([[1, 2], [3, np.nan]]), ["a", "b"], ["y", "z"], "there")


def test_groups_fit_the_rows():
    groups = {"scaffold": np.array([0, 1, 0])}
    outputs = [[1, 2], [2, 3], [3, 4]]
    assert with_missing_outputs(outputs, groups=groups)["groups"] is groups
    with pytest.raises(ValueError, match="group 'groups': 'scaffold' has 3 entries for 2 rows"):
        with_missing_outputs(outputs[:2], groups=groups)


# Data that a library ships


def test_digits_are_two_halves_of_the_images():
    from sklearn.datasets import load_digits

    tree = read_dataset("digits_halves", {}, [], seed=0)
    assert tree["inputs"].shape == tree["outputs"].shape == (1797, 32)
    rows, columns = tree["names"]["image_rows"], tree["names"]["image_columns"]
    images = np.hstack([tree["inputs"], tree["outputs"]]).reshape(-1, rows, columns)
    np.testing.assert_array_equal(images * 16, load_digits().images)
    assert names(tree, "outputs")[0] == "row_4_column_0"
    assert tree["report"]["constant_outputs"] == 2
    with pytest.raises(UserError, match="row_4_column_0"):
        read_dataset("digits_halves", {"allow_constant_outputs": False}, [], seed=0)


def test_linnerud():
    tree = read_dataset("linnerud", {}, [], seed=0)
    assert names(tree, "inputs") == ["Chins", "Situps", "Jumps"]
    assert names(tree, "outputs") == ["Weight", "Waist", "Pulse"]
    np.testing.assert_array_equal(tree["inputs"][0], [5, 162, 60])
    np.testing.assert_array_equal(tree["outputs"][0], [191, 36, 50])
    assert len(tree["inputs"]) == 20


# Synthetic data


def synthetic(seed: int = 1, **options) -> dict:
    return read_dataset("synthetic_mixture", {"n_rows": 300, **options}, [], seed)


def test_synthetic_outputs_come_from_the_mixture_in_truth():
    tree = synthetic(n_rows=1500, n_components=3, n_outputs=4, spread=3.0)
    means, component = tree["truth"]["means"], tree["truth"]["component"]
    assert means.shape == (3, 4)
    np.testing.assert_array_equal(tree["truth"]["weights"], np.full(3, 1 / 3))
    np.testing.assert_allclose(np.bincount(component) / 1500, 1 / 3, atol=0.05)
    noise = tree["outputs"] - means[component]
    np.testing.assert_allclose(noise.mean(axis=0), 0, atol=0.12)
    np.testing.assert_allclose(np.cov(noise.T), np.eye(4), atol=0.15)


def test_synthetic_inputs_are_the_kernel_pca_of_the_outputs():
    tree = synthetic(n_outputs=4, n_inputs=3, kernel_pca_gamma=0.2)
    outputs = tree["outputs"]
    distances = ((outputs[:, None] - outputs) ** 2).sum(axis=2)
    centering = np.eye(300) - 1 / 300
    kernel = centering @ np.exp(-0.2 * distances) @ centering
    values, vectors = np.linalg.eigh(kernel)
    expected = vectors[:, :-4:-1] * np.sqrt(values[:-4:-1])
    expected *= np.sqrt(3 / (expected**2).sum(axis=1).mean())
    np.testing.assert_allclose(np.abs(tree["inputs"]), np.abs(expected), atol=1e-8)


def test_synthetic_spread_is_that_of_the_means():
    spreads = [
        synthetic(seed, n_rows=10, n_components=4, spread=3.0)["truth"]["means"].std()
        for seed in range(50)
    ]
    assert np.mean(spreads) == pytest.approx(3.0, abs=0.2)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"preset": "overlapping"}, (1000, 0.3, 1.0)),
        ({"preset": "informative"}, (1000, 1.0, 0.1)),
        ({"preset": "separated", "n_outputs": 5}, (1000, 3.0, 0.2)),
        ({"preset": "overlapping", "spread": 2.0, "kernel_pca_gamma": None}, (1000, 2.0, 0.1)),
        ({"preset": "overlapping", "n_rows": 300}, (300, 0.3, 1.0)),
    ],
)
def test_presets_are_the_readings_of_the_paper_and_written_options_go_before(options, expected):
    values = effective_options(Options(**options))
    assert (values["n_rows"], values["spread"], values["kernel_pca_gamma"]) == expected


def test_synthetic_inputs_need_rows():
    with pytest.raises(UserError, match="5 input dimensions from 5 rows"):
        synthetic(n_rows=5)


# The catalogue

# Rows, inputs, outputs, dropped rows and groups.
MULAN_SHAPES = {
    "atp1d": (337, 411, 6, 0, 0),
    "oes97": (334, 263, 16, 0, 0),
    "edm": (154, 16, 2, 0, 0),
    "jura": (359, 15, 3, 0, 0),
    "wq": (1060, 16, 14, 0, 0),
    "enb": (768, 8, 2, 0, 0),
    "slump": (103, 7, 3, 0, 0),
    # Ten nominal inputs with 33 classes in all.
    "sf1": (323, 33, 3, 0, 0),
    "sf2": (1066, 33, 3, 0, 0),
    "scpf": (1137, 23, 3, 0, 0),
}
PUBLISHED_TABLES = {
    "air-quality": (6941, 8, 4, 2416, 341),
    "bike-days": (731, 11, 2, 0, 0),
    "corn-spectra": (80, 700, 4, 0, 0),
    "gas-turbine": (7384, 8, 3, 0, 0),
    "meat-spectra": (215, 100, 3, 0, 193),
    "perth-weather": (1000, 7, 6, 0, 0),
    "pulp-fibres": (62, 4, 4, 0, 0),
    "seoul-temperatures": (7723, 21, 2, 29, 310),
    "us-crimes": (1902, 101, 8, 313, 0),
}


@each_case(("name", "shape"), (MULAN_SHAPES | PUBLISHED_TABLES).items())
def test_published_tables_of_the_catalogue(name, shape, mirror, tmp_path):
    from scipy.io.arff import loadarff

    settings = catalogue(name)
    paths = acquired(name, mirror, tmp_path)
    tree = read_dataset(settings["reader"], settings["options"], paths, seed=0)
    n_rows, n_inputs, n_outputs, n_dropped, n_groups = shape
    assert tree["inputs"].shape == (n_rows, n_inputs)
    assert tree["outputs"].shape == (n_rows, n_outputs)
    assert tree["report"]["rows_dropped"] == n_dropped
    groups = tree.get("groups", {"group": []})["group"]
    assert len(np.unique(groups)) == n_groups
    if name in MULAN_SHAPES:
        rows, header = loadarff(mirror(f"mulan-mtr/{name}.arff"))
        for column, output in enumerate(header.names()[-n_outputs:]):
            np.testing.assert_array_equal(tree["outputs"][:, column], rows[output])
        if header.types() == ["numeric"] * len(header.types()):
            for column, input_name in enumerate(header.names()[:n_inputs]):
                np.testing.assert_array_equal(tree["inputs"][:, column], rows[input_name])


@pytest.mark.parametrize(
    ("name", "n_components", "n_outputs"),
    [("d1-informative", 4, 10), ("d1-overlapping", 4, 10), ("d2", 10, 5)],
)
def test_synthetic_sets_of_the_catalogue(name, n_components, n_outputs):
    settings = catalogue(name)
    tree = read_dataset(settings["reader"], settings["options"], [], seed=0)
    assert tree["inputs"].shape == (1000, 5)
    assert tree["outputs"].shape == (1000, n_outputs)
    assert tree["truth"]["means"].shape == (n_components, n_outputs)


@each_case("name", SettingsFolder(CATALOGUE).names)
def test_the_whole_catalogue_has_valid_options_and_pinned_sources(name):
    settings = catalogue(name)
    checked_options(settings["reader"], settings.get("options", {}))
    for source in settings.get("sources", []):
        assert len(source["sha256"]) == 64 and source["size"] > 0
        if "github" in source["address"]:
            assert re.search(r"/[0-9a-f]{40}(/|\.tar\.gz$)", source["address"])


@each_case(
    ("name", "tables"),
    [
        *((name, "tables 7 and 8") for name in MULAN_SHAPES if name != "scpf"),
        ("drug-activity", "tables 9, 10, 17 and 18"),
        ("earnings-calls", "tables 6 and 16"),
        *((name, None) for name in ("d1-informative", "d1-overlapping", "d2", "kogan10k")),
        *((name, None) for name in ("scpf", *PUBLISHED_TABLES)),
    ],
)
def test_stand_ins_are_labelled_as_such(name, tables):
    stand_in_for = catalogue(name).get("stand_in_for")
    assert stand_in_for is None if tables is None else tables in stand_in_for
