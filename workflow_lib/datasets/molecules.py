"""Molecules from their SMILES: structure, fingerprint and scaffold, by RDKit.

RDKit is an optional dependency, imported on first use.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from workflow_lib.errors import UserError


class Molecule(NamedTuple):
    """The properties of a molecule that are used.

    Attributes
    ----------
    canonical : str
        Canonical SMILES with stereochemistry: the same for all SMILES of a structure.
    fingerprint : uint8 array (n_bits,)
        1 where a circular neighbourhood of an atom is mapped to that bit (Rogers and Hahn 2010: the
        Morgan fingerprint, ECFP). It ignores stereochemistry.
    scaffold : str
        SMILES of the Bemis-Murcko scaffold (1996): the rings and their linkers, with the atoms
        bound to them by a double bond, as in RDKit; empty for a molecule without rings.
    """

    canonical: str
    fingerprint: np.ndarray
    scaffold: str


def read_molecules(smiles: Sequence[str], radius: int, n_bits: int) -> list[Molecule | None]:
    """Return the molecule of each SMILES, None where RDKit cannot parse it.

    RDKit's own messages about invalid SMILES are suppressed: the caller reports them.

    Parameters
    ----------
    smiles : sequence of str
    radius : int
        Bonds from the centre of a neighbourhood to its rim.
    n_bits : int
        Length of the fingerprints.

    Raises
    ------
    UserError
        If RDKit is not installed.
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
        raise UserError(
            place="molecules given by SMILES",
            found=f"the package rdkit cannot be imported ({error})",
            expected="the optional dependencies 'chem'",
            remedy="run make env, or pip install 'output-fisher-regression[chem]'",
        ) from error
    return Chem, rdBase, rdFingerprintGenerator, MurckoScaffold
