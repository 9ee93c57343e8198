"""Tables of molecules: graphs of atoms and bonds, with fingerprints beside them."""

from pathlib import Path

import numpy as np
import pytest
from reader_samples import excluded, refusal

from workflow_lib.data.reading import kind_of_inputs, read_dataset
from workflow_lib.items.kinds.graphs import graphs_in

LINES = ["name,smiles,boils", "methane,C,-161.5", "ethanol,CCO,78.2", "benzene,c1ccccc1,80.1"]
OPTIONS = {"outputs": ["boils"], "n_bits": 64}


def written(folder: Path, lines: list[str] = LINES) -> Path:
    path = folder / "molecules.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def read(path: Path, **options) -> dict:
    pytest.importorskip("rdkit")
    return read_dataset("smiles", OPTIONS | options, [path], 0)


def test_molecules_are_graphs_with_fingerprints_beside_them(tmp_path):
    assert kind_of_inputs("smiles", OPTIONS) == "graphs"
    tree = read(written(tmp_path))
    assert tree["items"] == {"kind": "graphs", "n_beside": 64}
    methane, ethanol, benzene = graphs_in(tree["inputs"], tree["items"])
    assert methane.labels.tolist() == [12] and ethanol.labels.tolist() == [12, 12, 16]
    assert benzene.labels.tolist() == [13] * 6 and len(benzene.edges) == 6
    bits = tree["inputs"][:, -64:]
    assert set(np.unique(bits)) == {0, 1} and bits.any(axis=1).all()
    np.testing.assert_array_equal(tree["outputs"][:, 0], [-161.5, 78.2, 80.1])
    assert len(set(tree["groups"]["scaffold"])) == 3


def test_rows_without_an_output_and_repeated_structures_are_left_out(tmp_path):
    more = ["again,OCC,1", "water,O,NA"]
    tree = read(written(tmp_path, [*LINES, *more]))
    assert len(tree["outputs"]) == 3
    assert excluded(tree) == {"no value of an output": 1, "the structure of an earlier row": 1}


@pytest.mark.parametrize("text", ["C(", "c1cc", ""])
def test_a_text_that_is_no_smiles_is_named_with_its_line(tmp_path, text):
    message = refusal(read, written(tmp_path, [*LINES[:2], f"broken,{text},3", *LINES[2:]]))
    assert "molecules.csv, line 3, column 'smiles'" in message
    assert f"'{text}' is no SMILES of a molecule" in message


def test_wrong_columns_and_tables_without_outputs_are_named(tmp_path):
    path = written(tmp_path)
    assert "no column 'smile'" in refusal(read, path, smiles="smile")
    assert "no column 'melts'" in refusal(read, path, outputs=["melts"])
    lines = [LINES[0], "methane,C,NA", "ethanol,CCO,NA"]
    assert "no row with all outputs" in refusal(read, written(tmp_path, lines))
