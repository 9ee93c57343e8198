"""Arrays that a caller passes, converted without loss or refused.

``np.asarray`` ignores the mask of a masked array, drops imaginary parts, and reads numbers from
text.
"""

from __future__ import annotations

import numpy as np


def masked_as_nan(values):
    """Return `values` with NaN instead of masked numbers; also of those in a list of arrays.

    What is not masked is returned as it is.
    """
    if isinstance(values, np.ma.MaskedArray):
        return values.astype(np.float64).filled(np.nan) if np.ma.is_masked(values) else values.data
    if isinstance(values, list | tuple) and any(np.ma.is_masked(each) for each in values):
        return [masked_as_nan(each) for each in values]
    return values


def as_numbers(values, name: str) -> np.ndarray:
    """Return `values` as float64, with NaN where they are masked.

    Raises ValueError if they are sparse, complex, dates or text, or arrays of different shapes.
    """
    refuse_sparse(values, name)
    try:
        array = np.asarray(masked_as_nan(values))
    except ValueError as error:
        raise ValueError(f"{name} must be an array; its parts differ in shape.") from error
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} must hold real numbers.")
    refuse_text(array, name)
    try:
        return np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers; found {array.dtype} ({error}).") from error


def refuse_text(values, name: str) -> None:
    """Raise ValueError if an array holds text or dates, which numpy would convert to numbers."""
    if isinstance(values, np.ndarray) and (
        values.dtype.kind in "USmMV"
        or values.dtype.kind == "O"
        and any(isinstance(value, str | bytes) for value in values.flat)
    ):
        raise ValueError(f"{name} must hold numbers; found {values.dtype} (text or dates).")


def refuse_sparse(values, name: str) -> None:
    """Raise ValueError if `values` are a sparse matrix."""
    if hasattr(values, "tocsr"):
        raise ValueError(
            f"{name} is a sparse matrix; this estimator needs an array. Pass {name}.toarray()."
        )


def as_items(items, name: str) -> list:
    """Return a list of items (sequences, bags) from a list, an array or a pandas object.

    Raises ValueError if there are none, or they are text, sparse or no sequence of items.
    """
    refuse_sparse(items, name)
    if isinstance(items, str | bytes | dict) or not hasattr(items, "__len__"):
        raise ValueError(
            f"{name} come as a list of arrays; found {type(items).__name__}. Put a single "
            f"{name.lower().removesuffix('s')} into a list."
        )
    if hasattr(items, "to_numpy"):
        items = items.to_numpy()
    if len(items) == 0:
        raise ValueError(f"There are no {name.lower()}.")
    return list(items)


def check_ignored(y, n_rows: int, estimator) -> None:
    """Raise ValueError if an ignored `y` is not one value of each of `n_rows` items.

    Such a second argument has a meaning elsewhere, as lengths have in hmmlearn, and ignoring it
    would give another model than the caller expects.
    """
    if y is not None and (np.ndim(y) == 0 or len(y) != n_rows):
        raise ValueError(
            f"{type(estimator).__name__} ignores y, which must be None or have a value for each of "
            f"{n_rows} items; found the shape {np.shape(y)}. Instead of lengths, pass a "
            "list of the sequences: [x[:10], x[10:25], ...], of letters [x[:10, 0], ...]."
        )


def as_output_matrix(Y, name: str = "Y") -> np.ndarray:
    """Return outputs as a finite float64 matrix (n, d); a vector becomes one column.

    Raises ValueError if `Y` has more than two axes, no rows, no columns, or values that are not
    finite numbers.
    """
    matrix = as_numbers(Y, name)
    if matrix.ndim == 1:
        matrix = matrix[:, None]
    if matrix.ndim != 2:
        raise ValueError(f"{name} must be a matrix (rows, outputs); found {matrix.ndim} axes.")
    if matrix.shape[0] < 1 or matrix.shape[1] < 1:
        raise ValueError(f"{name} must have rows and columns; found the shape {matrix.shape}.")
    if not np.isfinite(matrix).all():
        row = int(np.flatnonzero(~np.isfinite(matrix).all(axis=1))[0])
        raise ValueError(f"{name} must be finite; row {row} holds NaN or infinity.")
    return matrix
