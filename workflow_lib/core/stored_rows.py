"""Rows of an array that stay in their file until they are requested."""

from __future__ import annotations

import copy
import math
import operator
import os
from collections.abc import Callable, Iterator

import h5py
import numpy as np

# Bytes of one block of rows (16 MB).
BLOCK_BYTES = 2**24

# Bytes between two requested rows that are read and dropped (64 KB): seeking another offset
# costs as much.
READ_THROUGH_BYTES = 2**16


class StoredRows:
    """An array in an HDF5 file of which only the requested rows are read.

    As with a numpy array, a slice of the rows is a view: it reads nothing. Row numbers (one, or a
    sequence in any order, also negative or repeated) and masks read the selected rows in the given
    order; ``np.asarray`` reads all rows. Other axes are indexed after reading.

    The file stays open as long as this array or a view of it exists. Where another file takes its
    name, as in `workflow_lib.core.artifacts.write_artifact`, the open file and its rows do not
    change. A file that is modified in place is detected by its size or its time of modification,
    and every later reading is refused. Whether the file was intact when it was opened must be
    checked by the caller, as `workflow_lib.core.artifacts.read_artifact` does.

    Raises ValueError if the dataset has no axis.

    Parameters
    ----------
    dataset : h5py.Dataset
        With at least one axis; of a file opened for reading by HDF5's default driver.
    damaged : callable (found, expected) -> Exception
        Makes the error that is raised when rows can no longer be read.

    Attributes
    ----------
    shape : tuple of int
    dtype : numpy.dtype
    ndim, size : int
    """

    are_stored = True

    def __init__(self, dataset: h5py.Dataset, damaged: Callable[[str, str], Exception]) -> None:
        if not dataset.shape:
            raise ValueError(f"'{dataset.name}' has no rows; its shape is {dataset.shape}.")
        self._dataset, self._damaged = dataset, damaged
        # Closing the last handle of a file would close the dataset with it.
        self._file = dataset.file
        self._descriptor = self._file.id.get_vfd_handle()
        self._state = _state_of(self._descriptor)
        self._numbers = range(len(dataset))
        self.dtype = dataset.dtype
        self._row_size = math.prod(dataset.shape[1:])
        self._row_bytes = max(1, self._row_size * dataset.dtype.itemsize)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of rows, and the lengths of the other axes."""
        return len(self), *self._dataset.shape[1:]

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self._dataset.ndim

    @property
    def size(self) -> int:
        """Number of values."""
        return len(self) * self._row_size

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, rows) -> StoredRows | np.ndarray:
        """Return a view for a slice, one row for a number, and an array of rows for a sequence.

        Raises
        ------
        IndexError
            If a row number is out of range, a mask has another length, or `rows` is of another
            type.
        Exception
            That of `damaged`, if the file cannot be read or was changed since it was opened.
        """
        if isinstance(rows, slice):
            view = copy.copy(self)
            view._numbers = self._numbers[rows]
            return view
        if isinstance(rows, (int, np.integer)) and not isinstance(rows, bool):
            number = self._numbers[operator.index(rows)]
            return self._read(slice(number, number + 1))[0]
        return self._scattered(self._chosen(rows))

    def __array__(self, dtype=None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("Rows in a file cannot be an array without being copied.")
        numbers = self._numbers
        if numbers.step > 0:
            array = self._read(slice(numbers.start, numbers.stop, numbers.step))
        else:
            array = self._scattered(np.arange(len(self)))
        return array if dtype is None else array.astype(dtype, copy=False)

    def blocks(self) -> Iterator[np.ndarray]:
        """Yield all rows in their order, in arrays of 16 MB, or of one row if that is more."""
        step = self._block_rows
        for start in range(0, len(self), step):
            yield np.asarray(self[start : start + step])

    @property
    def _block_rows(self) -> int:
        return max(1, BLOCK_BYTES // self._row_bytes)

    def _chosen(self, rows) -> np.ndarray:
        """Return the row numbers, from 0, that a sequence or a mask selects."""
        if isinstance(rows, (list, range)) and len(rows) == 0:
            rows = np.empty(0, dtype=np.intp)
        chosen = None if isinstance(rows, tuple) else np.asarray(rows)
        if chosen is None or chosen.ndim != 1 or chosen.dtype.kind not in "biu":
            raise IndexError(
                "rows are selected by a slice, a number, numbers or a mask; found "
                f"{type(rows).__name__}."
            )
        n_rows = len(self)
        if chosen.dtype.kind == "b":
            if len(chosen) != n_rows:
                raise IndexError(f"a mask of {len(chosen)} rows was given for {n_rows}.")
            return np.flatnonzero(chosen)
        outside = (chosen < -n_rows) | (chosen >= n_rows)
        if outside.any():
            raise IndexError(f"row {chosen[outside][0]} is out of range for {n_rows} rows.")
        chosen = chosen.astype(np.intp)
        return np.where(chosen < 0, chosen + n_rows, chosen)

    def _scattered(self, chosen: np.ndarray) -> np.ndarray:
        """Return rows in any order, read in the order of the file and in whole stretches."""
        numbers = self._numbers.start + self._numbers.step * chosen
        order = np.argsort(numbers, kind="stable")
        numbers = numbers[order]
        result = np.empty((len(chosen), *self._dataset.shape[1:]), dtype=self.dtype)
        farthest = 1 + READ_THROUGH_BYTES // self._row_bytes
        is_far = np.diff(numbers) > farthest
        # Stretches end with their block, so that one of them never needs more memory.
        is_far |= np.diff(numbers // self._block_rows) > 0
        borders = [0, *(1 + np.flatnonzero(is_far)), len(numbers)]
        for begin, end in zip(borders[:-1], borders[1:], strict=True):
            if begin < end:
                stretch = numbers[begin:end]
                read = self._read(slice(int(stretch[0]), int(stretch[-1]) + 1))
                result[order[begin:end]] = read[stretch - stretch[0]]
        return result

    def _read(self, numbers: slice) -> np.ndarray:
        """Return rows of the file, refusing a file that was changed."""
        expected = "the file that was opened, intact and unchanged"
        try:
            rows = self._dataset[numbers]
            state = _state_of(self._descriptor)
        except (OSError, RuntimeError, ValueError, KeyError) as error:
            raise self._damaged(f"the file can no longer be read ({error})", expected) from error
        # HDF5 reads zeros where an open file has lost its end.
        if state != self._state:
            raise self._damaged("the file was changed while it was in use", expected)
        return rows


class StackedRows:
    """Rows of several arrays, one after the other, of which only the requested slices are read.

    Parameters
    ----------
    *parts : array, or anything with a shape that gives rows when sliced
        Of equal shape but for the number of rows.
    """

    are_stored = True

    def __init__(self, *parts) -> None:
        self._parts = parts
        self._ends = np.cumsum([len(part) for part in parts])
        self.shape = (int(self._ends[-1]), *parts[0].shape[1:])

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> np.ndarray:
        start, stop, _ = rows.indices(len(self))
        begins = [0, *self._ends[:-1]]
        return np.concatenate(
            [
                np.asarray(part[max(start - begin, 0) : max(stop - begin, 0)])
                for begin, part in zip(begins, self._parts, strict=True)
            ]
        )


def are_stored(rows) -> bool:
    """Return whether rows stay in their file until they are sliced.

    Such are datasets of h5py, arrays that numpy maps from a file, `StoredRows`, `StackedRows` and
    `workflow_lib.tabular.stored_columns.StoredColumns`.
    """
    if isinstance(rows, np.ndarray):
        return isinstance(rows, np.memmap)
    return isinstance(rows, h5py.Dataset) or getattr(rows, "are_stored", False)


def _state_of(descriptor: int) -> tuple[int, int]:
    """Return the size and the time of modification of an open file."""
    status = os.fstat(descriptor)
    return status.st_size, status.st_mtime_ns
