"""Reader of drug activity: from the structure of a compound to its profile over cell lines.

The files are those of the package rcellminerData (CellMiner, the NCI-60 panel of cancer cell
lines). The task follows that of Su, Heinonen and Rousu (2010), which Djerrab et al. (2018) use for
Tables 9, 10, 17 and 18: the activities of a molecule in 59 cell lines, predicted together.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, Strict

from workflow_lib.core.errors import UserError, unknown_name
from workflow_lib.core.settings import Settings
from workflow_lib.tabular.tables import check_sources, dataset_tree, exclusion_report

if TYPE_CHECKING:
    import numpy as np

    from workflow_lib.tabular.user_table import Table

KEY = "nsc"
"""Column of both files with the NSC number, the key of a compound."""

STRUCTURE = "smiles"
"""Column of the second file with the structures."""

NO_CELL_LINES = (KEY, "prefix", "name")
"""Columns of the first file that do not hold activities."""

MISSING = ("", "NA")

TOO_FEW_LINES = "measured in fewer cell lines than least_lines"
NO_SMILES = "no SMILES"
NOT_PARSED = "a SMILES that RDKit cannot parse"
REPEATED = "the structure of an earlier compound"
REASONS = (TOO_FEW_LINES, NO_SMILES, NOT_PARSED, REPEATED)

Count = Annotated[int, Strict(), Field(ge=1)]


class Options(Settings):
    """Options of the reader ``drug_activity``."""

    left_out_lines: tuple[str, ...] = ("ME:MDA-N",)
    """Cell lines that are not outputs. The default is the cell line in which very few compounds
    were measured; the 59 others are those of Su, Heinonen and Rousu (2010)."""

    least_lines: Count = 55
    """Compounds measured in fewer of the cell lines are left out. By default at most 4 of 59
    activities are missing in a row."""

    inputs: Literal["fingerprint", "tree", "graph"] = "fingerprint"
    """`fingerprint`: Morgan fingerprints, the usual ones; `tree`: counts of the transitions between
    the labels of atoms in the molecule as a tree, of which `inputs.scale: markov` makes Fisher
    scores; `graph`: graphs of atoms and bonds, with the fingerprint beside each."""

    order: Count = 1
    """For trees, the number of labels of atoms, from an atom upwards, that those of its children
    depend on; 1 is a Markov model. The number of transitions grows fast with it."""

    radius: Annotated[int, Strict(), Field(ge=0)] = 2
    """Radius of the circular neighbourhoods of the Morgan fingerprint, in bonds; the default is the
    usual radius (ECFP4)."""

    n_bits: Count = 2048
    """Length of the fingerprint. With the default few different neighbourhoods share a bit."""


def kind_of_inputs(options: Options) -> str:
    """Return ``transitions`` for trees, ``graphs`` for graphs."""
    return {"tree": "transitions", "graph": "graphs"}.get(options.inputs, "numbers")


def read(options: Options, sources: Sequence[Path], seed: int) -> dict[str, Any]:
    """Return one row per compound, in the order of the first file; `seed` is not used.

    `sources` are two CSV files: first the activities, with the columns ``nsc``, ``prefix``,
    ``name`` and one column per cell line, NA where not measured; then the structures, of which the
    columns ``nsc`` and ``smiles`` are read.

    ``inputs``: Morgan fingerprints, 0 or 1 (`workflow_lib.data.molecules`); for trees counts of
    transitions, with ``term_states`` (`tree_transitions` there); for graphs the rows of
    `workflow_lib.items.kinds.graphs`, followed by the fingerprint. ``outputs``: the
    activities, NaN where not measured; their cell lines are the names of the outputs, the NSC
    numbers of the rows are ``compounds`` in ``names``. ``groups``: ``scaffold``, the number of the
    Bemis-Murcko scaffold; each compound without rings is a group of its own.

    Left out are compounds that were measured in too few cell lines, that have no SMILES or a SMILES
    that RDKit cannot parse, and that have the structure of an earlier row (by canonical SMILES).
    Each is counted under the first of these reasons that applies, in ``exclusions`` of ``report``;
    ``excluded_names`` lists their NSC numbers.

    Raises UserError naming the file, the line and the column that cannot be read; when RDKit is not
    installed.
    """
    import numpy as np

    from workflow_lib.data.molecules import (
        graph_inputs,
        molecule_graphs,
        rdkit_version,
        read_molecules,
        scaffold_codes,
        tree_transitions,
    )
    from workflow_lib.tabular.table_file import read_source

    check_sources(sources, "drug_activity", "the table of the activities", "that of the structures")
    lines, activities = _activities(read_source(sources[0], MISSING), options.left_out_lines)
    table = read_source(sources[1], MISSING)
    structures = dict(zip(table.keys(KEY, "compound"), table.strings(STRUCTURE)))

    excluded: dict[str, list[str]] = {reason: [] for reason in REASONS}
    candidates = []
    for compound, values in activities.items():
        if np.isfinite(values).sum() < options.least_lines:
            excluded[TOO_FEW_LINES].append(compound)
        elif not structures.get(compound):
            excluded[NO_SMILES].append(compound)
        else:
            candidates.append(compound)
    found = read_molecules(
        [structures[compound] for compound in candidates], options.radius, options.n_bits
    )
    rows, seen = {}, set()
    for compound, molecule in zip(candidates, found):
        if molecule is None:
            excluded[NOT_PARSED].append(compound)
        elif molecule.canonical in seen:
            excluded[REPEATED].append(compound)
        else:
            seen.add(molecule.canonical)
            rows[compound] = molecule
    if not rows:
        raise UserError(
            location=f"{sources[0]} with {sources[1]}",
            found="no compound can be used: "
            + ", ".join(f"{len(names)} for {reason}" for reason, names in excluded.items()),
            expected="compounds with enough activities and with a structure",
            remedy="check the options, and that the two files belong together",
        )
    scaffolds = [molecule.scaffold for molecule in rows.values()]
    codes = scaffold_codes(scaffolds)
    inputs: Any
    more: dict[str, Any] = {}
    canonical = [molecule.canonical for molecule in rows.values()]
    if options.inputs == "tree":
        inputs, names, more["term_states"] = tree_transitions(canonical, options.order)
    elif options.inputs == "graph":
        graphs = molecule_graphs(canonical)
        inputs, names, more["items"] = graph_inputs(graphs, list(rows.values()))
    else:
        inputs = np.array([molecule.fingerprint for molecule in rows.values()], dtype=np.float64)
        names = [f"bit_{bit}" for bit in range(options.n_bits)]
    return dataset_tree(
        inputs,
        np.array([activities[compound] for compound in rows]),
        names,
        lines,
        location=str(sources[0]),
        rows_read=len(activities),
        allow_missing_outputs=True,
        groups={"scaffold": codes},
        names={"compounds": json.dumps(list(rows))},
        report={
            **exclusion_report(excluded),
            "scaffolds": int(codes.max()) + 1,
            "compounds_without_rings": scaffolds.count(""),
            "rdkit": rdkit_version(),
        },
        **more,
    )


def _activities(table: Table, left_out: Sequence[str]) -> tuple[list[str], dict[str, np.ndarray]]:
    """Return the cell lines, and the activities of each compound in them."""
    described = table.matching(NO_CELL_LINES)
    lines = [name for name in table.names if name not in described]
    for name in left_out:
        if name not in lines:
            raise unknown_name(f"{table.location}, option left_out_lines", "cell line", name, lines)
    lines = [name for name in lines if name not in left_out]
    if not lines:
        raise UserError(
            location=f"{table.location}, option left_out_lines",
            found="every cell line is left out",
            expected="at least one cell line to predict",
            remedy="leave out fewer",
        )
    return lines, dict(zip(table.keys(KEY, "compound"), table.matrix(lines)))
