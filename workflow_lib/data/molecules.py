"""Molecules from their SMILES: structure, fingerprint, scaffold, trees and graphs, by RDKit.

RDKit is an optional dependency, imported on first use.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from workflow_lib.core.errors import UserError
from workflow_lib.core.optional_packages import not_installed
from workflow_lib.items.kinds.graphs import Graph, pack

if TYPE_CHECKING:
    from scipy.sparse import csr_array

ROOT, END, RING, BETWEEN = "root", "end", "ring", ">"
"""In the names of transitions: the state before the root, the end of the children of an atom, the
closure of a ring, and what separates labels."""

BONDS = {"SINGLE": "", "DOUBLE": "=", "TRIPLE": "#", "AROMATIC": ":"}
"""Letters of the types of bonds, as in SMILES; others have ``~``."""


class Molecule(NamedTuple):
    """The properties of a molecule that are used."""

    canonical: str
    """Canonical SMILES with stereochemistry: the same for all SMILES of a structure."""

    fingerprint: np.ndarray
    """Uint8 array (n_bits,): 1 where a circular neighbourhood of an atom is mapped to that bit
    (Rogers and Hahn 2010: the Morgan fingerprint, ECFP). It ignores stereochemistry."""

    scaffold: str
    """SMILES of the Bemis-Murcko scaffold (1996): the rings and their linkers, with the atoms bound
    to them by a double bond, as in RDKit; empty for a molecule without rings."""


def read_molecules(smiles: Sequence[str], radius: int, n_bits: int) -> list[Molecule | None]:
    """Return the molecule of each SMILES, None where RDKit cannot parse it.

    RDKit's own messages about invalid SMILES are suppressed: the caller reports them.

    The `radius` of a fingerprint is the number of bonds from the centre of a neighbourhood to its
    rim.

    Raises UserError if RDKit is not installed.
    """
    chem, log, fingerprints, scaffolds = _rdkit()
    generator = fingerprints.GetMorganGenerator(radius=radius, fpSize=n_bits)
    molecules: list[Molecule | None] = []
    with log.BlockLogs():
        for text in smiles:
            parsed = chem.MolFromSmiles(text)
            # RDKit reads an empty text as a molecule without atoms.
            if parsed is None or parsed.GetNumAtoms() == 0:
                molecules.append(None)
                continue
            molecules.append(
                Molecule(
                    chem.MolToSmiles(parsed),
                    generator.GetFingerprintAsNumPy(parsed),
                    scaffolds.MurckoScaffoldSmiles(mol=parsed),
                )
            )
    return molecules


def tree_transitions(smiles: Sequence[str], order: int) -> tuple[csr_array, list[str], np.ndarray]:
    """Return the counts (n, q) of the transitions of molecules as trees, their names and states.

    A name is the state and what it leads to, ``C>=O``, in alphabetical order; states are numbered.

    The tree of a molecule from a root is that in which SMILES writes it: depth first, the
    neighbours of an atom in the order of the canonical SMILES without stereochemistry. The label of
    an atom is its bond to its parent and its element, in lower case if aromatic: ``C``, ``=O``,
    ``:c``; hydrogens are left out. A bond that closes a ring is a leaf at its later atom with the
    label of the other end, ``ring:c``, so that a tree has all bonds. The state of an atom is the
    path of the last `order` labels, its own included (1: it is a Markov model), and its transitions
    lead to the labels of its children and to one ``end``; a first one leads from ``root`` to the
    label of the root. RDKit must be able to parse the `smiles`.

    The choice of a root would be arbitrary, and the same group of atoms would be counted in another
    direction in another molecule. So counts are means over all atoms as the root, those of the mean
    log-likelihood of the trees; a compound of several molecules is a tree for each.
    """
    from scipy.sparse import csr_array

    chem = _rdkit()[0]
    rows = []
    for text in smiles:
        plain = chem.MolToSmiles(chem.MolFromSmiles(text), isomericSmiles=False)
        molecule = chem.MolFromSmiles(plain)
        labels, bonds = _labels_and_bonds(molecule)
        row: Counter = Counter()
        for atoms in chem.GetMolFrags(molecule):
            sums = Counter(
                transition
                for root in atoms
                for transition in _transitions_from(root, labels, bonds, order)
            )
            for transition, count in sums.items():
                row[transition] += count / len(atoms)
        rows.append(row)
    names = sorted({BETWEEN.join((*state, symbol)) for row in rows for state, symbol in row})
    column = {name: index for index, name in enumerate(names)}
    indices = [column[BETWEEN.join((*state, symbol))] for row in rows for state, symbol in row]
    counts = csr_array(
        (
            np.array([count for row in rows for count in row.values()]),
            np.array(indices),
            np.cumsum([0, *map(len, rows)]),
        ),
        shape=(len(rows), len(names)),
    )
    states = [name.rpartition(BETWEEN)[0] for name in names]
    return counts, names, np.unique(states, return_inverse=True)[1].astype(np.int64)


def molecule_graphs(smiles: Sequence[str], locations: Sequence[str] = ()) -> list[Graph]:
    """Return the graph of the atoms and bonds of each molecule.

    The label of an atom is twice its atomic number, and one more where it is aromatic: what SMILES
    writes as ``C`` and ``c``. It does not depend on the other molecules. Hydrogens are left out, as
    in SMILES; so are the types of bonds, which the aromatic atoms and the numbers of neighbours
    partly tell, and stereochemistry. A compound of several molecules is one graph.

    Raises UserError naming the first SMILES that RDKit cannot parse or that has no atom, by its
    location or, without `locations`, its number; if RDKit is not installed.
    """
    chem, log = _rdkit()[:2]
    graphs = []
    with log.BlockLogs():
        for row, text in enumerate(smiles):
            molecule = chem.MolFromSmiles(text)
            if molecule is None or molecule.GetNumAtoms() == 0:
                raise UserError(
                    location=locations[row] if locations else f"molecule {row + 1}",
                    found=f"'{text}' is no SMILES of a molecule",
                    expected="a SMILES that RDKit can parse, with at least one atom",
                    remedy="correct the SMILES, or leave the molecule out",
                )
            labels = [2 * a.GetAtomicNum() + a.GetIsAromatic() for a in molecule.GetAtoms()]
            edges = [(b.GetBeginAtomIdx(), b.GetEndAtomIdx()) for b in molecule.GetBonds()]
            graphs.append(Graph(np.array(labels), np.array(edges, dtype=int).reshape(-1, 2)))
    return graphs


def graph_inputs(
    graphs: Sequence[Graph], molecules: Sequence[Molecule]
) -> tuple[np.ndarray, list[str], dict[str, Any]]:
    """Return rows (n, q) of graphs with fingerprints beside them, their names, and ``items``.

    As a "dataset" artifact holds them (`workflow_lib.items.kinds.graphs`).
    """
    bits = np.array([molecule.fingerprint for molecule in molecules], dtype=np.float64)
    rows, items = pack(graphs, n_beside=bits.shape[1]).values()
    names = [f"number_{index + 1}" for index in range(rows.shape[1])]
    names += [f"bit_{bit}" for bit in range(bits.shape[1])]
    return np.hstack([rows, bits]), names, items


def _labels_and_bonds(molecule) -> tuple[list[str], list[list[tuple[int, str]]]]:
    """Return the label of every atom as a root, and its neighbours in order, with their labels."""
    labels = [
        atom.GetSymbol().lower() if atom.GetIsAromatic() else atom.GetSymbol()
        for atom in molecule.GetAtoms()
    ]
    bonds: list = [[] for _ in labels]
    for bond in molecule.GetBonds():
        first, second = bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()
        kind = BONDS.get(bond.GetBondType().name, "~")
        bonds[first].append((second, kind + labels[second]))
        bonds[second].append((first, kind + labels[first]))
    return labels, [sorted(neighbours) for neighbours in bonds]


def _transitions_from(root: int, labels, bonds, order: int):
    """Yield the transitions of the tree from a root, each a state and a symbol. In a depth-first
    tree the later atom of a bond that closes a ring is below the other, so that the bond is found
    while the other is unfinished."""
    yield (ROOT,), labels[root]
    seen, unfinished = {root}, {root}
    # Not recursive: a chain may be longer than the stack of the interpreter.
    stack = [(root, root, (ROOT, labels[root])[-order:], iter(bonds[root]))]
    while stack:
        atom, parent, state, remaining = stack[-1]
        for other, label in remaining:
            if other not in seen:
                yield state, label
                seen.add(other)
                unfinished.add(other)
                stack.append((other, atom, (*state, label)[-order:], iter(bonds[other])))
                break
            if other in unfinished and other != parent:
                yield state, RING + label
        else:
            yield state, END
            unfinished.discard(atom)
            stack.pop()


def rdkit_version() -> str:
    """Return the version of RDKit, on which canonical SMILES and the set of valid ones depend."""
    return _rdkit()[1].rdkitVersion


def scaffold_codes(scaffolds: Sequence[str]) -> np.ndarray:
    """Return the number (n,) of the scaffold of each molecule, in order of first appearance.

    Each molecule without a scaffold has a number of its own.
    """
    codes: dict[str | int, int] = {}
    keys = (scaffold or row for row, scaffold in enumerate(scaffolds))
    return np.array([codes.setdefault(key, len(codes)) for key in keys], dtype=np.int64)


def _rdkit() -> tuple[Any, Any, Any, Any]:
    """Return the modules of RDKit: molecules, log, fingerprints and scaffolds."""
    try:
        from rdkit import Chem, rdBase
        from rdkit.Chem import rdFingerprintGenerator
        from rdkit.Chem.Scaffolds import MurckoScaffold
    except ImportError as error:
        raise not_installed("rdkit", "molecules given by SMILES", error) from error
    return Chem, rdBase, rdFingerprintGenerator, MurckoScaffold
