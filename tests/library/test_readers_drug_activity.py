"""Compounds and their activities, in a tiny copy of the published tables."""

import json
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from reader_samples import acquired, catalogue, change, excluded, refusal, stored_terms

from workflow_lib.data.molecules import (
    molecule_graphs,
    read_molecules,
    tree_transitions,
)
from workflow_lib.data.reading import read_dataset
from workflow_lib.items.kinds.graphs import graphs_in
from workflow_lib.items.sparse_inputs import inputs_of
from workflow_lib.solvers.gram import gram_matrix

ACTIVITIES = """"nsc","prefix","name","BR:MCF7","CO:HT29","ME:MDA-N","LE:SR"
740,"S","Methotrexate",0.5,-1.25,-3,0.75
19893,"S","5-FU, in water",NA,1.5,NA,-0.5
3053,"S","ethyl benzene",-0.25,0.125,3,1e-1
12,"S","ethanol",1,2,NA,3
"""

STRUCTURES = """"nsc","prefix","pubchem_id","smiles","mechanism"
12,"S",-1,"CCO",NA
3053,"S",-1,"CCc1ccccc1",NA
740,"S",-1,"CN(C)c1ccc(cc1)C(=O)N","A7"
19893,"S",-1,"O=c1[nH]cc(F)c(=O)[nH]1",NA
99,"S",-1,"C",NA
"""

SMALL = {"least_lines": 2, "n_bits": 256}


@pytest.fixture
def folder(tmp_path) -> Path:
    (tmp_path / "activities.csv").write_text(ACTIVITIES)
    (tmp_path / "structures.csv").write_text(STRUCTURES)
    return tmp_path


def read(folder: Path, **options) -> dict:
    pytest.importorskip("rdkit")
    return read_tables(folder, **options)


def read_tables(folder: Path, **options) -> dict:
    sources = [folder / "activities.csv", folder / "structures.csv"]
    return read_dataset("drug_activity", {**SMALL, **options}, sources, seed=0)


refused = partial(refusal, read_tables)


def add(folder: Path, number: int, smiles: str, activities: str = "1,2,NA,3") -> None:
    """Add a compound to both tables."""
    path = folder / "activities.csv"
    path.write_text(path.read_text() + f'{number},"S","",{activities}\n')
    path = folder / "structures.csv"
    path.write_text(path.read_text() + f'{number},"S",-1,{smiles},NA\n')


def compounds(tree: dict) -> list[str]:
    return json.loads(tree["names"]["compounds"])


# Rows


def test_rows_are_compounds_with_their_activities(folder):
    tree = read(folder)
    assert compounds(tree) == ["740", "19893", "3053", "12"]
    assert json.loads(tree["names"]["outputs"]) == ["BR:MCF7", "CO:HT29", "LE:SR"]
    np.testing.assert_array_equal(
        tree["outputs"],
        [[0.5, -1.25, 0.75], [np.nan, 1.5, -0.5], [-0.25, 0.125, 0.1], [1, 2, 3]],
    )
    report = tree["report"]
    assert (report["rows_read"], report["rows_dropped"], report["missing_outputs"]) == (4, 0, 1)
    assert excluded(tree) == report["excluded_names"] == {}


def test_cell_lines_that_are_left_out_are_an_option(folder):
    tree = read(folder, left_out_lines=[], least_lines=3)
    assert json.loads(tree["names"]["outputs"]) == ["BR:MCF7", "CO:HT29", "ME:MDA-N", "LE:SR"]
    assert compounds(tree) == ["740", "3053", "12"]
    np.testing.assert_array_equal(tree["outputs"][:, 2], [-3, 3, np.nan])
    tree = read(folder, left_out_lines=["ME:MDA-N", "CO:HT29"], least_lines=1)
    assert json.loads(tree["names"]["outputs"]) == ["BR:MCF7", "LE:SR"]


def test_inputs_are_morgan_fingerprints(folder):
    # Ethanol has three kinds of atoms, ethylbenzene four. With their neighbours those of ethanol
    # give three more bits and those of ethylbenzene five: end, middle, first, second and further
    # atoms of the ring. Further bonds of ethanol reach nothing new.
    for radius, ethylbenzene, ethanol in ((0, 4, 3), (1, 9, 6)):
        inputs = read(folder, radius=radius, n_bits=2048)["inputs"]
        assert inputs.shape == (4, 2048) and inputs.dtype == np.float64
        np.testing.assert_array_equal(inputs[2:].sum(axis=1), [ethylbenzene, ethanol])
    default = read(folder, n_bits=2048)["inputs"]
    assert default[3].sum() == 6 and default[2].sum() > 9
    assert (default >= inputs).all() and set(np.unique(default)) == {0, 1}
    assert read(folder, n_bits=64)["inputs"].shape == (4, 64)


def test_inputs_are_graphs_of_atoms_and_bonds(folder):
    tree = read(folder, inputs="graph")
    assert {"kind": "graphs", "n_beside": 256} == tree["items"]
    np.testing.assert_array_equal(tree["inputs"][:, -256:], read(folder)["inputs"])
    ethylbenzene, ethanol = graphs_in(tree["inputs"])[2:]
    assert sorted(ethylbenzene.labels) == [12] * 2 + [13] * 6
    assert len(ethylbenzene.edges) == 8
    assert ethanol.labels.tolist() == [12, 12, 16]
    assert sorted(map(sorted, ethanol.edges.tolist())) == [[0, 1], [1, 2]]


def test_a_text_that_is_no_smiles_has_neither_graph_nor_fingerprint():
    pytest.importorskip("rdkit")
    (methane,) = molecule_graphs(["C"])
    assert methane.labels.tolist() == [12] and methane.edges.shape == (0, 2)
    for text in ("C(", ""):
        message = refusal(molecule_graphs, ["CC", text])
        assert f"molecule 2: '{text}' is no SMILES" in message
    nothing, broken, methane = read_molecules(["", "C1", "C"], radius=2, n_bits=64)
    assert nothing is None and broken is None
    assert (methane.canonical, methane.scaffold, methane.fingerprint.sum()) == ("C", "", 1)


def test_inputs_do_not_depend_on_how_a_structure_is_written(folder):
    expected = read(folder)["inputs"]
    change(folder / "structures.csv", '"CCc1ccccc1"', '" C1=CC=CC=C1CC "')
    np.testing.assert_array_equal(read(folder)["inputs"], expected)


def test_groups_are_scaffolds(folder):
    # Phenols share the scaffold of benzene with 740 and 3053; what has no ring shares none.
    add(folder, 50, '"Oc1ccccc1"')
    add(folder, 51, '"CCCO"')
    tree = read(folder)
    assert compounds(tree) == ["740", "19893", "3053", "12", "50", "51"]
    np.testing.assert_array_equal(tree["groups"]["scaffold"], [0, 1, 0, 2, 0, 3])
    assert tree["groups"]["scaffold"].dtype == np.int64
    assert tree["report"]["scaffolds"] == 4
    assert tree["report"]["compounds_without_rings"] == 2


# Trees


def counted(smiles: str, order: int = 1) -> dict[str, float]:
    pytest.importorskip("rdkit")
    counts, names, states = tree_transitions([smiles], order)
    assert len(states) == len(names) == counts.shape[1]
    return dict(zip(names, counts.toarray()[0], strict=True))


def test_transitions_of_a_chain_are_means_over_all_roots():
    # Ethanol: C-C-O from its first, its second and its third atom.
    expected = {
        "root>C": 2 / 3,
        "root>O": 1 / 3,
        "C>C": 1.0,
        "C>O": 2 / 3,
        "O>C": 1 / 3,
        "C>end": 2.0,
        "O>end": 1.0,
    }
    assert counted("CCO") == pytest.approx(expected)
    assert counted("OCC") == counted("CCO")
    second = counted("CCO", order=2)
    assert second["C>C>O"] == second["O>C>C"] == pytest.approx(1 / 3)
    # From the second atom as the root, both others are its children.
    assert second["root>C>C"] == pytest.approx(2 / 3)
    assert second["root>C>O"] == pytest.approx(1 / 3)


def test_rings_are_cut_and_their_closure_is_a_leaf():
    assert counted("c1ccccc1") == {
        "root>c": 1.0,
        "c>:c": 1.0,
        "c>end": 1.0,
        ":c>:c": 4.0,
        ":c>ring:c": 1.0,
        ":c>end": 5.0,
    }
    # Two rings that share a bond: 10 atoms, 11 bonds.
    naphthalene = counted("c1ccc2ccccc2c1")
    bonds = {name: count for name, count in naphthalene.items() if name.endswith("c")}
    assert sum(bonds.values()) == pytest.approx(11 + 1)
    assert sum(count for name, count in bonds.items() if "ring" in name) == pytest.approx(2)
    ends = sum(count for name, count in naphthalene.items() if name.endswith("end"))
    assert ends == pytest.approx(10)


def test_one_atom_salts_bonds_and_stereoisomers():
    assert counted("C") == {"root>C": 1.0, "C>end": 1.0}
    assert counted("[Na+].[Cl-]") == {"root>Na": 1.0, "Na>end": 1.0, "root>Cl": 1, "Cl>end": 1}
    assert {"C>#N", "N>#C"} < set(counted("C#N")) and "C>=O" in counted("C=O")
    assert counted("C[C@H](N)C(=O)O") == counted("C[C@@H](N)C(=O)O")
    # Longer than the stack of the interpreter.
    assert counted("C" * 1200)["C>end"] == pytest.approx(1200)


def test_states_are_the_paths_that_transitions_lead_from():
    pytest.importorskip("rdkit")
    counts, names, states = tree_transitions(["CCO", "C", "c1ccccc1"], 1)
    paths = [name.rpartition(">")[0] for name in names]
    assert len(set(zip(paths, states))) == len(set(paths)) == len(set(states))
    of_root = [path == "root" for path in paths]
    np.testing.assert_allclose(counts.toarray()[:, of_root].sum(axis=1), 1.0)


def test_trees_are_inputs_of_the_same_compounds(folder):
    tree = read(folder, inputs="tree")
    np.testing.assert_array_equal(tree["outputs"], read(folder)["outputs"])
    names = stored_terms(tree)
    ethanol = inputs_of(tree).toarray()[3]
    found = {name: count for name, count in zip(names, ethanol, strict=True) if count}
    assert found == pytest.approx(counted("CCO"))


# Exclusions


def test_every_exclusion_is_counted_and_listed(folder, capfd):
    add(folder, 101, '"CCN"', "1,NA,7,NA")
    add(folder, 102, '""')
    add(folder, 103, "NA")
    add(folder, 104, '"C1CC"')
    add(folder, 105, '"CC(C)(C)(C)C"')
    add(folder, 106, '"C1=CC=CC=C1CC"')
    # Left out for the first of its reasons; the earlier one of its structure is left out as well.
    add(folder, 107, '"broken"', "1,NA,NA,NA")
    add(folder, 108, '"NCC"')
    add(folder, 109, '"CCCCCC"')
    change(folder / "structures.csv", "109,", "110,")
    tree = read(folder)
    assert tree["report"]["exclusions"] == {
        "measured in fewer cell lines than least_lines": 2,
        "no SMILES": 3,
        "a SMILES that RDKit cannot parse": 2,
        "the structure of an earlier compound": 1,
    }
    assert tree["report"]["excluded_names"] == {
        "measured in fewer cell lines than least_lines": "101, 107",
        "no SMILES": "102, 103, 109",
        "a SMILES that RDKit cannot parse": "104, 105",
        "the structure of an earlier compound": "106",
    }
    assert compounds(tree) == ["740", "19893", "3053", "12", "108"]
    assert (tree["report"]["rows_read"], tree["report"]["rows_dropped"]) == (13, 8)
    # RDKit's own messages are not printed.
    assert capfd.readouterr() == ("", "")


def test_stereoisomers_are_different_structures(folder):
    add(folder, 201, '"C[C@H](N)C(=O)O"')
    add(folder, 202, '"C[C@@H](N)C(=O)O"')
    add(folder, 203, '"N[C@@H](C)C(=O)O"')
    tree = read(folder)
    assert compounds(tree)[-2:] == ["201", "202"]
    assert tree["report"]["excluded_names"] == {"the structure of an earlier compound": "203"}
    np.testing.assert_array_equal(tree["inputs"][-2], tree["inputs"][-1])


def test_no_compound_can_be_used(folder):
    pytest.importorskip("rdkit")
    message = refused(folder, least_lines=4)
    assert "no compound can be used: 4 for measured in fewer cell lines" in message
    assert str(folder / "structures.csv") in message


# What cannot be read


@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        ("activities", "-1.25", "high", "line 2, column 'CO:HT29': 'high' is not a finite"),
        ("activities", "12,", "740,", "line 5, column 'nsc': the compound '740' is repeated"),
        ("activities", "12,", ",", "line 5, column 'nsc': no compound"),
        ("activities", '"prefix"', '"letter"', "there is no column 'prefix'"),
        ("structures", '"smiles"', '"SMILE"', "there is no column 'smiles'"),
        ("structures", "99,", "740,", "line 6, column 'nsc': the compound '740' is repeated"),
    ],
)
def test_faults_are_named(folder, file, old, new, words):
    path = folder / f"{file}.csv"
    change(path, old, new)
    message = refused(folder)
    assert str(path) in message and words in message


def test_unknown_cell_line(folder):
    message = refused(folder, left_out_lines=["ME:MDA"])
    assert "option left_out_lines: there is no cell line named 'ME:MDA'" in message
    assert "write 'ME:MDA-N'" in message
    every = ["BR:MCF7", "CO:HT29", "ME:MDA-N", "LE:SR"]
    assert "every cell line is left out" in refused(folder, left_out_lines=every)


def test_without_rdkit_the_remedy_is_reported(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "rdkit", None)
    message = refused(folder)
    assert "the package rdkit cannot be imported" in message
    assert "pip install '.[chem]'" in message


# The catalogue


def test_the_set_of_the_catalogue(mirror, tmp_path):
    pytest.importorskip("rdkit")
    settings = catalogue("drug-activity")
    assert settings["inputs"] == {"scale": "none", "kernel": "tanimoto"}
    paths = acquired("drug-activity", mirror, tmp_path)
    tree = read_dataset(settings["reader"], settings["options"], paths, seed=0)
    assert tree["inputs"].shape == (957, 2048)
    assert tree["outputs"].shape == (957, 59)
    assert list(excluded(tree).values()) == [104, 4, 3, 7]
    assert tree["report"]["rows_read"] == 1075
    missing = np.isnan(tree["outputs"])
    assert missing.mean() == pytest.approx(0.024, abs=5e-4)
    assert missing.sum(axis=1).max() == 4
    assert set(np.unique(tree["inputs"])) == {0.0, 1.0}
    assert tree["report"]["scaffolds"] == len(np.unique(tree["groups"]["scaffold"])) < 957
    eigenvalues = np.linalg.eigvalsh(gram_matrix(tree["inputs"], None, "tanimoto"))
    assert eigenvalues[0] > -1e-12 * eigenvalues[-1]
