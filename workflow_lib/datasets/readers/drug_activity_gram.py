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

from workflow_lib.config.base import Settings
from workflow_lib.datasets.kernel_table import (
    ROUNDING,
    fill_rows,
    symmetric,
    without_negative_eigenvalues,
)
from workflow_lib.datasets.number_array import open_number_array
from workflow_lib.datasets.table_file import read_source
from workflow_lib.datasets.tables import (
    dataset_tree,
    exclusion_report,
    listed,
    read_text,
)
from workflow_lib.errors import UserError

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

    Raises
    ------
    UserError
        Naming the file and the line that cannot be read; for a matrix that is not square, not
        symmetric or not positive semi-definite, by how much; for ids that are repeated or unknown.
    """
    import numpy as np

    matrix_path, labels_path = _files(Path(options.folder), sources)
    names, labels = _labels(labels_path)
    ids, matrix = (_read_array if matrix_path.suffix == ".npy" else _read_lines)(matrix_path)
    if ids is None:
        ids = _ids_of_labels(matrix_path, matrix, labels_path, labels)
    else:
        _refuse_unknown(matrix_path, ids, labels_path, labels)
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
        place=str(labels_path),
        rows_read=len(ids),
        allow_constant_outputs=options.allow_constant_outputs,
        allow_missing_outputs=True,
        names={"compounds": json.dumps(kept, ensure_ascii=False)},
        report=exclusion_report(excluded) | spectrum,
    )


# Files


def _files(folder: Path, sources: Sequence[Path]) -> tuple[Path, Path]:
    """Return the paths of the matrix and of the labels."""
    given = {source.name: source for source in map(Path, sources)}
    paths = {name: given.get(name, folder / name) for name in (*MATRICES, LABELS)}
    matrices = [name for name in MATRICES if paths[name].is_file()]
    missing = [] if matrices else [" or ".join(MATRICES)]
    missing += [] if paths[LABELS].is_file() else [LABELS]
    if missing:
        raise UserError(
            place="the files of data with kernel values",
            found=f"missing: {', and '.join(missing)}",
            expected=f"the Gram matrix and the labels in the folder {folder} (option folder)",
            remedy="ask the authors of the data for them, and write them in the form that "
            "config/datasets/drug-activity-paper.yaml describes",
        )
    if len(matrices) > 1:
        raise UserError(
            place=str(paths[matrices[0]].parent),
            found=f"several Gram matrices: {', '.join(matrices)}",
            expected="one of them",
            remedy="remove the others",
        )
    return paths[matrices[0]], paths[LABELS]


def _labels(path: Path) -> tuple[list[str], dict[str, np.ndarray]]:
    """Return the names of the outputs, and the labels of every molecule."""
    table = read_source(path, MISSING)
    key, *outputs = table.names
    if key.lower() != IDS or not outputs:
        raise UserError(
            place=f"{path}, line 1",
            found=f"{len(table.names)} columns, the first named '{key}'",
            expected=f"'{IDS}' and then the names of the outputs, separated by commas",
            remedy="fix the header",
        )
    return outputs, dict(zip(table.keys(key, "id"), table.matrix(outputs)))


def _read_array(path: Path) -> tuple[None, np.ndarray]:
    """Return the matrix in a NumPy file, which has no ids."""
    import numpy as np

    matrix = open_number_array(path)
    _refuse_other_than_square(path, *matrix.shape)
    faulty = np.argwhere(~np.isfinite(matrix))
    if len(faulty):
        row, column = faulty[0]
        raise UserError(
            place=f"{path}, row {row}, column {column} (counted from 0)",
            found=f"the value is {matrix[row, column]}; {len(faulty)} values are not finite",
            expected="finite numbers",
            remedy="fix the matrix",
        )
    return None, matrix.astype(np.float64)


def _read_lines(path: Path) -> tuple[list[str] | None, np.ndarray]:
    """Return the ids, or None without ids, and the matrix in a text file."""
    import numpy as np

    lines = [
        (number, line)
        for number, line in enumerate(read_text(path).split("\n"), start=1)
        if line.strip()
    ]
    delimiter = "," if "," in lines[0][1] else None
    first = _fields(lines[0][1], delimiter)
    ids = None
    if first[0].lower() == IDS:
        ids = first[1:]
        _refuse_repeated(f"{path}, line {lines[0][0]}", ids)
        lines = lines[1:]
    rows = [_fields(line, delimiter) for _, line in lines]
    if ids is not None:
        for (number, _), row, molecule in zip(lines, rows, ids):
            if row[0] != molecule:
                raise UserError(
                    place=f"{path}, line {number}",
                    found=f"the line begins with '{row[0]}'",
                    expected=f"the id '{molecule}': rows in the order of the columns",
                    remedy="fix the ids, or remove them all together with the first line",
                )
        rows = [row[1:] for row in rows]
    matrix = np.empty((len(rows), len(first) - (ids is not None)))
    fill_rows(matrix, path, [number for number, _ in lines], rows)
    _refuse_other_than_square(path, *matrix.shape)
    return ids, matrix


def _fields(line: str, delimiter: str | None) -> list[str]:
    return [field.strip().strip('"') for field in line.split(delimiter)]


# Ids


def _refuse_repeated(place: str, ids: Sequence[str]) -> None:
    seen: set[str] = set()
    for position, molecule in enumerate(ids, start=1):
        if not molecule or molecule in seen:
            raise UserError(
                place=f"{place}, id {position}",
                found=f"the id '{molecule}' is repeated" if molecule else "no id",
                expected="a different id for every molecule",
                remedy="fix the ids",
            )
        seen.add(molecule)


def _ids_of_labels(
    matrix_path: Path, matrix: np.ndarray, labels_path: Path, labels: dict[str, list[float]]
) -> list[str]:
    """Return the ids in the order of the labels, for a matrix without ids."""
    if len(labels) != len(matrix):
        raise UserError(
            place=f"{matrix_path} with {labels_path}",
            found=f"a matrix of {len(matrix)} rows without ids, and labels of {len(labels)} "
            "molecules",
            expected="as many rows as molecules, in the same order",
            remedy="add the molecules that are missing, or put the ids into a text file of the "
            f"matrix (a first line '{IDS},...', and the id before each row)",
        )
    return list(labels)


def _refuse_unknown(
    matrix_path: Path, ids: Sequence[str], labels_path: Path, labels: dict[str, list[float]]
) -> None:
    known = set(ids)
    unknown = [molecule for molecule in labels if molecule not in known]
    if unknown:
        raise UserError(
            place=str(labels_path),
            found=f"labels of {len(unknown)} ids that the Gram matrix does not have: "
            + listed(unknown),
            expected=f"ids of {matrix_path}",
            remedy="check that the two files belong together, or remove these lines",
        )


# The matrix


def _refuse_other_than_square(path: Path, n_rows: int, n_columns: int) -> None:
    if n_rows != n_columns or n_rows == 0:
        raise UserError(
            place=str(path),
            found=f"a matrix of {n_rows} rows and {n_columns} columns",
            expected="as many rows as columns, those of all molecules",
            remedy="write the whole matrix; a first line of ids begins with the word "
            f"'{IDS}', and then every line with an id",
        )
