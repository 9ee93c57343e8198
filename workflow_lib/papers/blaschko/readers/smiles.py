"""Reader of tables of molecules: from their structures, as graphs, to numbers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, Strict

from workflow_lib.core.settings import Settings
from workflow_lib.tabular.tables import dataset_tree, exclusion_report, only_source, wrong_source

MISSING_OUTPUT = "no value of an output"
REPEATED = "the structure of an earlier row"


class Options(Settings):
    """Options of the reader ``smiles``."""

    outputs: Annotated[tuple[str, ...], Field(min_length=1)]
    """Names of the columns to predict."""

    smiles: Annotated[str, Field(min_length=1)] = "smiles"
    """Name of the column with the structures."""

    delimiter: Annotated[str, Field(min_length=1, max_length=1)] = ","
    """The character between two values."""

    missing_values: tuple[str, ...] = ("", "NA", "NaN", "nan", "?")
    """Marks of missing values, in addition to empty cells."""

    radius: Annotated[int, Strict(), Field(ge=0)] = 2
    """Radius of the circular neighbourhoods of the Morgan fingerprint, in bonds."""

    n_bits: Annotated[int, Strict(), Field(ge=1)] = 2048
    """Length of the fingerprint."""


def kind_of_inputs(options: Options) -> str:
    """Return ``graphs``."""
    return "graphs"


def read(options: Options, sources: Sequence[Path], seed: int) -> dict[str, Any]:
    """Return the molecules in the single file of `sources`; `seed` is not used.

    The first line holds the names of the columns; those that are neither the structures nor outputs
    may hold anything. ``inputs``: graphs of atoms and bonds, with the Morgan fingerprint beside
    each (`workflow_lib.data.molecules`). ``groups``: ``scaffold``, the number of the
    Bemis-Murcko scaffold. Rows with a missing output, or with the structure of an earlier row, are
    left out and counted.

    Raises UserError naming the file, the line, the column and the SMILES or value that cannot be
    read; when RDKit is not installed.
    """
    import numpy as np

    from workflow_lib.data.molecules import (
        graph_inputs,
        molecule_graphs,
        rdkit_version,
        read_molecules,
        scaffold_codes,
    )
    from workflow_lib.tabular.table_file import read_source

    path = only_source(sources, "smiles")
    table = read_source(path, options.missing_values, options.delimiter)
    column = table.named(options.smiles, "smiles")
    outputs = table.matrix([table.named(name, "outputs") for name in options.outputs])
    texts = table.strings(column).tolist()
    locations = [table.where(row, column) for row in range(table.n_rows)]
    graphs = molecule_graphs(texts, locations)
    molecules = read_molecules(texts, options.radius, options.n_bits)
    excluded: dict[str, list[str]] = {MISSING_OUTPUT: [], REPEATED: []}
    rows, seen = [], set()
    for row, molecule in enumerate(molecules):
        if np.isnan(outputs[row]).any():
            excluded[MISSING_OUTPUT].append(locations[row])
        elif molecule.canonical in seen:
            excluded[REPEATED].append(locations[row])
        else:
            seen.add(molecule.canonical)
            rows.append(row)
    if not rows:
        raise wrong_source(str(path), "no row with all outputs", "molecules with known outputs")
    kept = [molecules[row] for row in rows]
    inputs, names, items = graph_inputs([graphs[row] for row in rows], kept)
    return dataset_tree(
        inputs,
        outputs[rows],
        names,
        options.outputs,
        location=str(path),
        rows_read=table.n_rows,
        groups={"scaffold": scaffold_codes([molecule.scaffold for molecule in kept])},
        report={**exclusion_report(excluded), "rdkit": rdkit_version()},
        items=items,
    )
