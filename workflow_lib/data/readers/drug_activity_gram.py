"""Reader of drug activity from kernel values: the form of the data of the paper, user-supplied.

Su, Heinonen and Rousu (2010) predict the activities of 2303 molecules in 59 cell lines from a graph
kernel between the molecules; Djerrab et al. (2018) use their Gram matrix and labels for Tables 9,
10, 17 and 18. Two files hold such data:

``gram.npy``, ``gram.csv`` or ``gram.txt``
    the kernel values between all molecules. The first is a NumPy array (n, n). The others are text
    with a line per molecule, the numbers separated by commas, or by white space if the first line
    has no comma. Ids are optional in text: with ids, the first line is the word ``id`` and the ids
    of the n columns, and every further line begins with the id of its row, in the same order.
``labels.csv``
    a header of ``id`` and the names of the outputs (cell lines), and then a line per molecule: its
    id and its labels, separated by commas. An empty field, NA, NaN, nan or ? is a missing label.

Without ids in the matrix its rows are those of ``labels.csv``, in the same order.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, StrictBool

from workflow_lib.core.errors import UserError
from workflow_lib.core.settings import Settings
from workflow_lib.tabular.tables import (
    dataset_tree,
    exclusion_report,
    listed,
    one_of,
    read_text,
    source_files,
    wrong_source,
)

if TYPE_CHECKING:
    import numpy as np

MATRICES = ("gram.npy", "gram.csv", "gram.txt")
LABELS = "labels.csv"
IDS = "id"
MISSING = ("", "NA", "NaN", "nan", "?")

WITHOUT_LABELS = "no labels"
NO_LABEL_KNOWN = "every label missing"


class Options(Settings):
    """Options of the reader ``drug_activity_gram``."""

    folder: Annotated[str, Field(min_length=1)] = "resources/drug-activity-paper"
    """Folder of the files that are not among the sources, relative to the folder of the run."""

    clip_spectrum: StrictBool = False
    """Whether the negative eigenvalues of a matrix that is not positive semi-definite are set to
    zero, which gives the nearest positive semi-definite matrix. By default such a matrix is
    refused: it may not be a kernel."""

    allow_constant_outputs: StrictBool = False
    """Whether an output that has the same value for every molecule is accepted."""


def read(options: Options, sources: Sequence[Path], seed: int) -> dict[str, Any]:
    """Return one row per molecule with labels, in the order of the matrix; `seed` is not used.

    ``inputs``: the Gram matrix (n, n) of the rows, exactly symmetric; the ids are the names of the
    inputs. ``outputs``: the labels, NaN where missing. Molecules without labels, or with only
    missing labels, are left out and counted in ``exclusions`` of ``report``; ``excluded_names``
    lists their ids. ``report`` also describes the matrix of the rows before clipping:
    ``least_eigenvalue`` relative to the largest; and the clipping: ``clipped_eigenvalues`` (their
    number) with ``largest_change`` (of a value). Clipping uses the inputs of all rows, including
    later test rows, but no outputs.

    Files are searched by name among `sources`, then in ``folder`` of `options`.

    Raises UserError naming the file and the line that cannot be read; for a matrix that is not
    square, not symmetric or not positive semi-definite, by how much; for ids that are repeated or
    unknown.
    """
    import numpy as np

    from workflow_lib.tabular.kernel_table import ROUNDING, symmetric, without_negative_eigenvalues

    matrix_path, labels_path = _files(options.folder, sources)
    names, labels = _labels(labels_path)
    ids, matrix = (_read_array if matrix_path.suffix == ".npy" else _read_lines)(matrix_path)
    if matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise UserError(
            location=str(matrix_path),
            found=f"a matrix of {matrix.shape[0]} rows and {matrix.shape[1]} columns",
            expected="as many rows as columns, those of all molecules",
            remedy="write the whole matrix; a first line of ids begins with the word "
            f"'{IDS}', and then every line with an id",
        )
    ids = _ids_of_rows(matrix_path, len(matrix), ids, labels_path, list(labels))
    matrix = symmetric(matrix_path, matrix)

    excluded: dict[str, list[str]] = {WITHOUT_LABELS: [], NO_LABEL_KNOWN: []}
    rows = []
    for row, molecule in enumerate(ids):
        if molecule not in labels:
            excluded[WITHOUT_LABELS].append(molecule)
        elif np.isnan(labels[molecule]).all():
            excluded[NO_LABEL_KNOWN].append(molecule)
        else:
            rows.append(row)
    kept = [ids[row] for row in rows]
    matrix = np.ascontiguousarray(matrix[np.ix_(rows, rows)])
    spectrum = {}
    if rows:
        matrix, spectrum = without_negative_eigenvalues(
            matrix_path,
            matrix,
            float("inf") if options.clip_spectrum else ROUNDING,
            "; to set negative eigenvalues to zero, set clip_spectrum: true in the options of the "
            "dataset",
        )
    return dataset_tree(
        matrix,
        np.array([labels[molecule] for molecule in kept]).reshape(len(kept), len(names)),
        kept,
        names,
        location=str(labels_path),
        rows_read=len(ids),
        allow_constant_outputs=options.allow_constant_outputs,
        allow_missing_outputs=True,
        names={"compounds": json.dumps(kept, ensure_ascii=False)},
        report=exclusion_report(excluded) | spectrum,
    )


def _files(folder: str, sources: Sequence[Path]) -> tuple[Path, Path]:
    """Return the paths of the matrix and of the labels."""
    files = source_files((*MATRICES, LABELS), folder, sources)
    remedy = (
        f"ask the authors of the data for the matrix and for {LABELS}, and write both in the form "
        "that config/datasets/drug-activity-paper.yaml describes"
    )
    return one_of(files, MATRICES, folder, remedy), one_of(files, [LABELS], folder, remedy)


def _labels(path: Path) -> tuple[list[str], dict[str, np.ndarray]]:
    """Return the names of the outputs, and the labels of every molecule."""
    from workflow_lib.tabular.table_file import read_source

    table = read_source(path, MISSING)
    key, *outputs = table.names
    if key.lower() != IDS or not outputs:
        raise wrong_source(
            f"{path}, line 1",
            f"{len(table.names)} columns, the first named '{key}'",
            f"'{IDS}' and then the names of the outputs, separated by commas",
        )
    return outputs, dict(zip(table.keys(key, "id"), table.matrix(outputs)))


def _read_array(path: Path) -> tuple[None, np.ndarray]:
    """Return the matrix in a NumPy file, which has no ids."""
    import numpy as np

    from workflow_lib.tabular.number_array import open_number_array

    matrix = open_number_array(path)
    faulty = np.argwhere(~np.isfinite(matrix))
    if len(faulty):
        row, column = faulty[0]
        raise wrong_source(
            f"{path}, row {row}, column {column} (counted from 0)",
            f"the value is {matrix[row, column]}; {len(faulty)} values are not finite",
            "finite numbers",
        )
    return None, matrix.astype(np.float64)


def _read_lines(path: Path) -> tuple[list[str] | None, np.ndarray]:
    """Return the ids, or None without ids, and the matrix in a text file."""
    from workflow_lib.tabular.kernel_table import matrix_of

    text = read_text(path)
    filled = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    delimiter = "," if "," in filled[0][1] else None
    numbers = [number for number, _ in filled]
    rows = [[cell.strip().strip('"') for cell in line.split(delimiter)] for _, line in filled]
    if rows[0][0].lower() != IDS:
        return None, matrix_of(path, numbers, rows, len(rows[0]))
    ids = rows.pop(0)[1:]
    for position, molecule in enumerate(ids, start=1):
        if not molecule or molecule in ids[: position - 1]:
            raise wrong_source(
                f"{path}, line {numbers[0]}, id {position}",
                f"the id '{molecule}' is repeated" if molecule else "no id",
                "a different id for every molecule",
            )
    for number, row, molecule in zip(numbers[1:], rows, ids):
        if row[0] != molecule:
            raise UserError(
                location=f"{path}, line {number}",
                found=f"the line begins with '{row[0]}'",
                expected=f"the id '{molecule}': rows in the order of the columns",
                remedy="fix the ids, or remove them all together with the first line",
            )
    return ids, matrix_of(path, numbers[1:], [row[1:] for row in rows], len(ids))


def _ids_of_rows(
    matrix_path: Path, n_rows: int, ids: Sequence[str] | None, labels_path: Path, known: list[str]
) -> list[str]:
    """Return the ids of the matrix or, without any, those `known` from the labels, in their order.
    Labels of molecules that the matrix does not have are refused."""
    if ids is None and len(known) != n_rows:
        raise UserError(
            location=f"{matrix_path} with {labels_path}",
            found=f"a matrix of {n_rows} rows without ids, and labels of {len(known)} molecules",
            expected="as many rows as molecules, in the same order",
            remedy="add the molecules that are missing, or put the ids into a text file of the "
            f"matrix (a first line '{IDS},...', and the id before each row)",
        )
    ids = known if ids is None else list(ids)
    of_matrix = set(ids)
    unknown = [molecule for molecule in known if molecule not in of_matrix]
    if unknown:
        raise UserError(
            location=str(labels_path),
            found=f"labels of {len(unknown)} ids that the Gram matrix does not have: "
            + listed(unknown),
            expected=f"ids of {matrix_path}",
            remedy="check that the two files belong together, or remove these lines",
        )
    return ids
