"""Kernel values and labels supplied by the user, in the documented form."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from reader_samples import CATALOGUE, catalogue, change, refusal

from workflow_lib.data.reading import read_dataset

IDS = ["m1", "20", "m3", "m4"]
GRAM = np.array(
    [[1, 0.5, 0.25, 0], [0.5, 1, 0.125, 0], [0.25, 0.125, 1, 0.75], [0, 0, 0.75, 1]],
)
LABELS = {"m1": "1,-1,0.5", "20": "-1,NA,0.25", "m3": "1,1,-2e-1", "m4": "-1,,?"}
OUTPUTS = np.array(
    [[1, -1, 0.5], [-1, np.nan, 0.25], [1, 1, -0.2], [-1, np.nan, np.nan]],
)
INDEFINITE = np.array([[1, 0.9, 0, 0], [0.9, 1, 0.9, 0], [0, 0.9, 1, 0], [0, 0, 0, 1.0]])
"""Its eigenvalues are 1 + 0.9 sqrt(2), 1, 1 and 1 - 0.9 sqrt(2)."""


def write_labels(folder: Path, labels: dict[str, str] = LABELS) -> Path:
    lines = [f"{molecule},{values}" for molecule, values in labels.items()]
    path = folder / "labels.csv"
    path.write_text("\n".join(["id,BR:MCF7,CO:HT29,LE:SR", *lines]) + "\n")
    return path


def write_matrix(
    folder: Path, matrix=GRAM, ids=IDS, delimiter: str = ",", name: str = "gram.csv"
) -> Path:
    """Write the matrix as text, with ids unless they are None."""
    rows = [[repr(float(value)) for value in row] for row in matrix]
    if ids is not None:
        rows = [["id", *ids], *([molecule, *row] for molecule, row in zip(ids, rows))]
    path = folder / name
    path.write_text("\n".join(delimiter.join(row) for row in rows) + "\n")
    return path


@pytest.fixture
def folder(tmp_path) -> Path:
    folder = tmp_path / "set"
    folder.mkdir()
    write_labels(folder)
    return folder


def read(folder: Path, **options) -> dict:
    return read_dataset("drug_activity_gram", {"folder": str(folder), **options}, [], seed=0)


refused = partial(refusal, read)


def changed(row: int, column: int, value: float) -> np.ndarray:
    matrix = GRAM.copy()
    matrix[row, column] = value
    return matrix


def assert_is_the_set(tree: dict) -> None:
    np.testing.assert_array_equal(tree["inputs"], GRAM)
    np.testing.assert_array_equal(tree["outputs"], OUTPUTS)
    assert json.loads(tree["names"]["inputs"]) == json.loads(tree["names"]["compounds"]) == IDS
    assert json.loads(tree["names"]["outputs"]) == ["BR:MCF7", "CO:HT29", "LE:SR"]
    assert tree["report"]["missing_outputs"] == 3


# Forms of the files


@pytest.mark.parametrize("delimiter", [",", ", ", " ", "\t", "   "])
@pytest.mark.parametrize("ids", [IDS, None])
@pytest.mark.parametrize("name", ["gram.csv", "gram.txt"])
def test_the_matrix_as_text(folder, delimiter, ids, name):
    write_matrix(folder, GRAM, ids, delimiter, name)
    assert_is_the_set(read(folder))


def test_the_matrix_from_a_spreadsheet(folder):
    path = write_matrix(folder)
    quoted = path.read_text().replace("id", '"ID"').replace("m1", '"m1"').replace("\n", "\r\n")
    path.write_bytes(b"\xef\xbb\xbf" + quoted.encode() + b"\r\n")
    assert_is_the_set(read(folder))
    # Labels in another order are assigned to their rows.
    write_labels(folder, dict(reversed(LABELS.items())))
    assert_is_the_set(read(folder))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_matrix_as_an_array(folder, dtype):
    np.save(folder / "gram.npy", GRAM.astype(dtype))
    assert_is_the_set(read(folder))
    write_matrix(folder)
    assert f"both {folder / 'gram.npy'} and {folder / 'gram.csv'} exist" in refused(folder)


# Molecules


def test_molecules_without_labels_are_counted_and_listed(folder):
    write_matrix(folder)
    write_labels(folder, {"m1": "1,-1,0.5", "20": "NA,,?", "m4": "-1,1,0.25"})
    tree = read(folder)
    np.testing.assert_array_equal(tree["inputs"], GRAM[np.ix_([0, 3], [0, 3])])
    np.testing.assert_array_equal(tree["outputs"], [[1, -1, 0.5], [-1, 1, 0.25]])
    assert json.loads(tree["names"]["inputs"]) == ["m1", "m4"]
    assert tree["report"]["exclusions"] == {"no labels": 1, "every label missing": 1}
    assert tree["report"]["excluded_names"] == {"no labels": "m3", "every label missing": "20"}
    assert (tree["report"]["rows_read"], tree["report"]["rows_dropped"]) == (4, 2)


def test_labels_of_unknown_molecules(folder):
    write_matrix(folder)
    path = write_labels(folder, LABELS | {"m5": "1,1,1", "m6": "1,1,1"})
    message = refused(folder)
    assert f"{path}: labels of 2 ids that the Gram matrix does not have: m5, m6" in message
    assert str(folder / "gram.csv") in message


def test_a_matrix_without_ids_has_as_many_rows_as_there_are_labels(folder):
    write_matrix(folder, ids=None)
    write_labels(folder, dict(list(LABELS.items())[:3]))
    assert "a matrix of 4 rows without ids, and labels of 3 molecules" in refused(folder)
    write_matrix(folder)
    write_labels(folder, {"m1": "NA,NA,NA"})
    assert "0 of 4 rows have enough of their outputs" in refused(folder)


def test_constant_outputs(folder):
    write_matrix(folder)
    write_labels(folder, {m: f"1,{'NA' if m == '20' else 2},{row}" for row, m in enumerate(IDS)})
    message = refused(folder)
    assert "the output BR:MCF7, CO:HT29 has the same value in every row where it is" in message
    assert read(folder, allow_constant_outputs=True)["report"]["constant_outputs"] == 2


# Matrices that are no Gram matrix


def test_a_matrix_that_is_not_square(folder):
    for ids in (IDS, None):
        path = write_matrix(folder, GRAM[:3], ids)
        assert f"{path}: a matrix of 3 rows and 4 columns" in refused(folder)
    path.unlink()
    np.save(folder / "gram.npy", GRAM[:, :3])
    assert "a matrix of 4 rows and 3 columns" in refused(folder)
    np.save(folder / "gram.npy", GRAM[:0, :0])
    assert "an array of the shape (0, 0)" in refused(folder)


def test_asymmetry_is_reported_with_its_location_and_size(folder):
    path = write_matrix(folder, changed(2, 1, 0.175))
    message = refused(folder)
    assert f"{path}: the kernel values are not symmetric: 0.125 in row 2, column 3" in message
    assert "and 0.175 in row 3, column 2" in message


def test_a_matrix_that_is_not_positive_semi_definite(folder):
    path = write_matrix(folder, INDEFINITE)
    message = refused(folder)
    assert f"{path}: the least eigenvalue of the kernel values is -0.273, the largest" in message
    assert "clip_spectrum: true" in message


def test_clipping_gives_the_nearest_semi_definite_matrix(folder):
    write_matrix(folder, INDEFINITE)
    tree = read(folder, clip_spectrum=True)
    # One eigenvalue is negative; the nearest matrix lacks its direction.
    least = 1 - 0.9 * np.sqrt(2)
    direction = np.array([0.5, -np.sqrt(0.5), 0.5, 0])
    expected = INDEFINITE - least * np.outer(direction, direction)
    np.testing.assert_allclose(tree["inputs"], expected, atol=1e-12)
    np.testing.assert_array_equal(tree["inputs"], tree["inputs"].T)
    report = tree["report"]
    assert report["clipped_eigenvalues"] == 1
    assert report["least_eigenvalue"] == pytest.approx(least / (2 - least))
    assert report["largest_change"] == pytest.approx(np.abs(expected - INDEFINITE).max())


def test_a_semi_definite_matrix_is_not_changed(folder):
    # Of rank 1: three eigenvalues are zero but for rounding.
    rank_one = np.outer([1, 2, 3, 0.1], [1, 2, 3, 0.1])
    write_matrix(folder, rank_one)
    for clip in (True, False):
        tree = read(folder, clip_spectrum=clip)
        np.testing.assert_array_equal(tree["inputs"], rank_one)
        assert abs(tree["report"]["least_eigenvalue"]) < 1e-12
        assert tree["report"]["clipped_eigenvalues"] == tree["report"]["largest_change"] == 0


def test_only_the_molecules_with_labels_need_a_semi_definite_matrix(folder):
    write_matrix(folder, INDEFINITE)
    labels = dict(LABELS)
    del labels["20"]
    write_labels(folder, labels)
    assert read(folder)["report"]["least_eigenvalue"] == pytest.approx(1)


# Files that cannot be read


def test_missing_files_are_listed(folder, tmp_path):
    message = refused(folder)
    assert "there is no gram.npy and no gram.csv and no gram.txt." in message
    assert f"in the folder {folder} (option folder)" in message
    assert "for the matrix and for labels.csv" in refused(tmp_path / "absent")
    write_matrix(folder)
    (folder / "labels.csv").unlink()
    assert "there is no labels.csv." in refused(folder)


@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        ("gram", "0.125,1.0,", "0.125,one,", "line 4, column 3: 'one' is not a finite number"),
        ("gram", "0.125,1.0,", "0.125,,", "line 4, column 3: '' is not a finite number"),
        ("gram", "0.125,1.0,", "0.125,", "line 4: 3 cells. Expected 4"),
        ("gram", "id,m1,20", "id,m1,m1", "line 1, id 2: the id 'm1' is repeated"),
        ("gram", "id,m1,20", "id,m1,", "line 1, id 2: no id"),
        ("gram", "\nm3,", "\nm4,", "line 4: the line begins with 'm4'. Expected the id 'm3'"),
        ("gram", "\nm3,", "\n", "line 4: the line begins with '0.25'"),
        ("gram", "id,m1,20,m3,m4\n", "", "line 1, column 1: 'm1' is not a finite number"),
        ("labels", "m3,1,1", "m3,1,active", "line 4, column 'CO:HT29': 'active' is not a finite"),
        ("labels", "m3,1,1", "m1,1,1", "line 4, column 'id': the id 'm1' is repeated"),
        ("labels", "m3,1,1", ",1,1", "line 4, column 'id': no id"),
        ("labels", "m3,1,1", "m3,1", "line 4: 3 cells. Expected 4 cells"),
        ("labels", "id,", "BR:T-47D,", "line 1: 4 columns, the first named 'BR:T-47D'. Expected"),
    ],
)
def test_faults_of_texts_are_named(folder, file, old, new, words):
    write_matrix(folder)
    path = folder / f"{file}.csv"
    change(path, old, new)
    assert f"{path}, {words}" in refused(folder)


def test_faults_of_an_array_are_named(folder):
    path = folder / "gram.npy"
    np.save(path, changed(2, 1, np.inf))
    assert f"{path}, row 2, column 1 (counted from 0): the value is inf" in refused(folder)
    np.save(path, GRAM[0])
    assert "an array of the shape (4,) and the type float64" in refused(folder)
    np.save(path, np.array([["a", "b"], ["c", "d"]]))
    assert "an array of the shape (2, 2) and the type <U1" in refused(folder)
    np.save(path, np.array([[None]]), allow_pickle=True)
    assert f"{path}: the file is damaged, or not an array of numbers" in refused(folder)
    path.write_bytes(b"no array")
    assert f"{path}: the file is damaged, or not an array of numbers" in refused(folder)


def test_the_catalogue_describes_the_form():
    settings = catalogue("drug-activity-paper")
    assert "sources" not in settings
    assert settings["inputs"] == {"scale": "none", "kernel": "precomputed"}
    assert "stand_in_for" not in settings
    for name in ("gram.npy", "gram.csv", "gram.txt", "labels.csv"):
        assert name in (CATALOGUE / "drug-activity-paper.yaml").read_text()
