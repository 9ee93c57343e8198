"""Kernel values between all rows of a user table, computed by the user."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from workflow_lib.core.errors import UserError
from workflow_lib.tabular.table_file import TEXT_ENDINGS, read_table, text_rows
from workflow_lib.tabular.tables import numbers_of

ASYMMETRY = 1e-6
"""Largest difference of two kernel values that should be equal, relative to the largest value."""

ROUNDING = 1e-7
"""Largest absolute value of a negative eigenvalue, relative to the largest eigenvalue, that counts
as rounding in the last place and is not changed."""

CLIPPED = 1e-2
"""Largest such value that is attributed to kernel values with few decimals, and set to zero."""


def read_kernel_table(
    path: Path, n_rows: int, kept: np.ndarray
) -> tuple[np.ndarray, dict[str, Any]]:
    """Return the kernel values between some rows of a table.

    Returns the values, an array (n, n) that is exactly symmetric and without negative eigenvalues,
    and a dict: ``least_eigenvalue`` relative to the largest, ``clipped_eigenvalues`` (how many were
    set to zero, which changes the values of all rows and does not depend on outputs) and
    ``largest_change`` of a value.

    The file holds a square table of numbers, of any kind that
    `workflow_lib.tabular.table_file.read_table` reads; the header of a text file is optional. Each
    of `n_rows` rows has a row and a column here, in the same order; the values of the rows `kept`
    (n,), counted from 0, are returned.

    Raises UserError for a table of another size, values that are missing or not numbers, values
    that differ by more than ASYMMETRY where they should be equal, and eigenvalues below -CLIPPED
    times the largest.
    """
    matrix = symmetric(path, _square(path, n_rows))[np.ix_(kept, kept)]
    return without_negative_eigenvalues(path, np.ascontiguousarray(matrix), CLIPPED)


def symmetric(path: Path, matrix: np.ndarray) -> np.ndarray:
    """Return a square matrix made exactly symmetric; refuse differences larger than ASYMMETRY."""
    differences = np.abs(matrix - matrix.T)
    row, column = np.unravel_index(differences.argmax(), matrix.shape)
    if differences[row, column] > ASYMMETRY * np.abs(matrix).max():
        raise UserError(
            location=str(path),
            found=f"the kernel values are not symmetric: {matrix[row, column]:.6g} in row "
            f"{row + 1}, column {column + 1}, and {matrix[column, row]:.6g} in row {column + 1}, "
            f"column {row + 1}",
            expected="the same value for a pair of rows in both cells",
            remedy="compute the values again",
        )
    return (matrix + matrix.T) / 2


def without_negative_eigenvalues(
    path: Path, matrix: np.ndarray, most: float, remedy: str = ""
) -> tuple[np.ndarray, dict[str, Any]]:
    """Return a symmetric matrix with its negative eigenvalues set to zero, and its spectrum.

    A matrix whose negative eigenvalues are only rounding is not changed. Eigenvalues below -`most`
    times the largest are refused, with `remedy` as a further way out.
    """
    eigenvalues, eigenvectors = np.linalg.eigh(matrix)
    least, largest = eigenvalues[0], eigenvalues[-1]
    if largest <= 0 or least < -most * largest:
        raise UserError(
            location=str(path),
            found=f"the least eigenvalue of the kernel values is {least:.3g}, the largest "
            f"{largest:.3g}",
            expected="kernel values, whose matrix has no negative eigenvalues except by rounding",
            remedy="check whether these are distances: exp(-distance^2 / width) is a kernel if the "
            f"distances are Euclidean{remedy}",
        )
    spectrum = {"least_eigenvalue": float(least / largest)}
    spectrum |= {"clipped_eigenvalues": 0, "largest_change": 0.0}
    if least >= -ROUNDING * largest:
        return matrix, spectrum
    clipped = (eigenvectors * np.maximum(eigenvalues, 0.0)) @ eigenvectors.T
    clipped = (clipped + clipped.T) / 2
    spectrum["clipped_eigenvalues"] = int(np.count_nonzero(eigenvalues < 0))
    spectrum["largest_change"] = float(np.abs(clipped - matrix).max())
    return clipped, spectrum


def _square(path: Path, n_rows: int) -> np.ndarray:
    """Return the square table (n_rows, n_rows) of numbers in a file, with or without a header."""
    is_text = path.name.lower().endswith(TEXT_ENDINGS)
    if is_text:
        lines, rows = text_rows(path)
        if len(rows) == n_rows + 1:
            lines, rows = lines[1:], rows[1:]
        shape = (len(rows), max(map(len, rows)))
    else:
        table = read_table(path)
        shape = (table.n_rows, len(table.names))
    if shape != (n_rows, n_rows):
        raise UserError(
            location=str(path),
            found=f"a table of {shape[0]} rows and {shape[1]} columns",
            expected=f"{n_rows} rows and columns, one for each row of the table of inputs and "
            "outputs, in the same order",
            remedy="write the kernel values between all rows",
        )
    if is_text:
        return matrix_of(path, lines, rows, n_rows)
    return table.matrix(table.names, complete=True)


def matrix_of(
    path: Path, lines: Sequence[int], rows: Sequence[Sequence[str]], n_columns: int
) -> np.ndarray:
    """Return the numbers (n, n_columns) in the cells of n rows, which are on `lines` of a file."""
    matrix = np.empty((len(rows), n_columns))
    for row, (line, cells) in enumerate(zip(lines, rows)):
        if len(cells) != n_columns:
            raise UserError(
                location=f"{path}, line {line}",
                found=f"{len(cells)} cells",
                expected=f"{n_columns} kernel values",
                remedy="fix the line",
            )
        matrix[row] = numbers_of(cells, f"{path}, line {line}", "fix the value")
    return matrix
