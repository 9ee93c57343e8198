"""Columns of numbers of a large table, which stay in their file until rows are requested."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from workflow_lib.core.errors import UserError
from workflow_lib.core.optional_packages import not_installed
from workflow_lib.tabular.tables import listed
from workflow_lib.tabular.typed_columns import COLUMNS_ATTRIBUTE, check_plain_datasets

ENDINGS = (".parquet", ".h5", ".hdf5")
"""Of the files that can be read in blocks."""

BATCH_NUMBERS = 2**20
"""Numbers that are unpacked at a time (8 MB)."""


class StoredColumns:
    """Columns of a file, as an array (n, q) of which only the requested rows are in memory.

    A slice of the rows, or sorted row numbers, give an array (b, q) of float64, NaN where a value
    is missing. Slices one after the other read the file once. `names` are those of the columns, and
    `location` is the file, for messages.
    """

    are_stored = True

    def __init__(self, file: _Columns, names: Sequence[str]) -> None:
        self._file, self.names, self.location = file, list(names), file.location
        self.shape = file.n_rows, len(self.names)
        self._stream: Iterator[np.ndarray] | None = None
        # The rows that the stream has given and nobody has taken, and the number of the first.
        self._rest, self._next = np.empty((0, len(self.names))), 0

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice | np.ndarray) -> np.ndarray:
        if isinstance(rows, slice):
            start, stop, step = rows.indices(len(self))
            if step != 1:
                raise IndexError(f"rows are read one after the other; found the step {step}.")
            return self._read(start, max(start, stop))
        chosen = np.asarray(rows)
        step = max(1, BATCH_NUMBERS // max(1, len(self.names)))
        found = [np.empty((0, len(self.names)))]
        begin = 0
        while begin < len(chosen):
            start = int(chosen[begin])
            end = int(np.searchsorted(chosen, start + step))
            found.append(self._read(start, int(chosen[end - 1]) + 1)[chosen[begin:end] - start])
            begin = end
        return np.concatenate(found)

    def _read(self, start: int, stop: int) -> np.ndarray:
        """Return rows, going on from the last ones where the file is read in one direction."""
        with _readable(self.location):
            begin = self._file.start_of(start)
            is_ahead = begin > self._next + len(self._rest)
            if self._stream is None or start < self._next or is_ahead:
                self._stream = self._file.batches(self.names, begin)
                self._rest, self._next = self._rest[:0], begin
            parts = []
            while self._next < stop:
                if not len(self._rest):
                    self._rest = next(self._stream)
                taken = min(len(self._rest), stop - self._next)
                parts.append(self._rest[max(0, start - self._next) : taken])
                self._rest, self._next = self._rest[taken:], self._next + taken
        return np.concatenate([self._rest[:0], *parts])


def open_columns(path: str | Path) -> _Columns:
    """Return the columns of a file that can be read in blocks, of which `columns` takes some.

    Raises UserError for a missing or damaged file, or one of another ending than `ENDINGS`.
    """
    location, ending = str(path), Path(path).suffix.lower()
    if not Path(path).is_file():
        raise UserError(location, "there is no such file", "the path of a table", "fix the path")
    if ending not in ENDINGS:
        raise UserError(
            location,
            f"a table that ends in '{ending}'",
            f"one of {', '.join(ENDINGS)}, of which blocks of rows can be read",
            "write the table as Parquet (from pandas by to_parquet)",
        )
    with _readable(location):
        return _Parquet(location) if ending == ".parquet" else _Hdf5(location)


class _Columns:
    """What is common to the kinds of files.

    Each has `start_of(row)`, the row at which reading can begin to find another, and
    `batches(names, start)`, which yields all rows from one at which reading can begin.
    """

    location: str
    n_rows: int
    kinds: dict[str, str]
    """By the name of each column "" for numbers, and else what it holds."""

    def columns(self, names: Sequence[str]) -> StoredColumns:
        """Return some columns; UserError for those that are missing or hold no numbers."""
        missing = [name for name in names if name not in self.kinds]
        if missing:
            raise UserError(
                f"{self.location}, columns",
                f"there is no column {listed(missing)}",
                f"some of {listed(list(self.kinds))}",
                "fix the names",
            )
        others = [name for name in names if self.kinds[name]]
        if others:
            raise UserError(
                f"{self.location}, column '{others[0]}'",
                f"values of the type {self.kinds[others[0]]}",
                "numbers, which alone can be read in blocks",
                f"leave out {listed(others)} (by exclude), or write the column as numbers",
            )
        return StoredColumns(self, names)


class _Parquet(_Columns):
    """A Parquet file, of which one batch is unpacked at a time."""

    def __init__(self, location: str) -> None:
        try:
            import pyarrow
            from pyarrow import parquet
        except ImportError as error:
            instead = "save the table as .h5"
            raise not_installed("pyarrow", location, error, instead) from error
        self.location = location
        # As an open file and without a buffer of whole groups of rows.
        self._file = parquet.ParquetFile(
            pyarrow.OSFile(location), buffer_size=2**20, pre_buffer=False
        )
        metadata, types = self._file.metadata, pyarrow.types
        sizes = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
        self._starts = np.cumsum([0, *sizes])
        self.n_rows = int(self._starts[-1])
        self.kinds = {}
        for column in self._file.schema_arrow:
            of = column.type
            is_number = types.is_integer(of) or types.is_floating(of) or types.is_boolean(of)
            if not column.name.startswith("__index_level_"):
                self.kinds[column.name] = "" if is_number else str(of)

    def start_of(self, row):
        return int(self._starts[np.searchsorted(self._starts, row, side="right") - 1])

    def batches(self, names, start):
        group = int(np.searchsorted(self._starts[:-1], start))
        groups = list(range(group, len(self._starts) - 1))
        size = max(1, BATCH_NUMBERS // max(1, len(names)))
        names = list(names)
        for batch in self._file.iter_batches(size, groups, columns=names, use_threads=False):
            # The file gives its columns in its own order; NaN is where a value is missing.
            found = [batch.column(batch.schema.get_field_index(name)) for name in names]
            found = [column.cast("float64", safe=False) for column in found]
            yield np.column_stack([column.to_numpy(zero_copy_only=False) for column in found])


class _Hdf5(_Columns):
    """An HDF5 file with a dataset for each column, or with one of all columns."""

    def __init__(self, location: str) -> None:
        self.location, self.kinds = location, {}
        file = h5py.File(location, "r")
        self._datasets: dict[str, tuple[Any, int | None]] = {}
        check_plain_datasets(file)
        for name, item in file.items():
            stated = [str(text) for text in item.attrs.get(COLUMNS_ATTRIBUTE, ())]
            if item.ndim == 2 and len(file) == 1 and len(stated) == item.shape[1]:
                self._datasets = {text: (item, column) for column, text in enumerate(stated)}
            elif item.ndim == 1:
                self._datasets[name] = item, None
            else:
                raise ValueError(f"'{name}' has {item.ndim} axes and no names of columns")
        lengths = {len(item) for item, _ in self._datasets.values()}
        if len(lengths) != 1:
            raise ValueError(f"its columns have {len(lengths)} different lengths")
        (self.n_rows,) = lengths
        for name, (item, _) in self._datasets.items():
            self.kinds[name] = "" if item.dtype.kind in "biuf" else str(item.dtype)

    def start_of(self, row):
        return row

    def batches(self, names, start):
        size = max(1, BATCH_NUMBERS // max(1, len(names)))
        indices = [self._datasets[name][1] for name in names]
        for begin in range(start, self.n_rows, size):
            rows = slice(begin, min(begin + size, self.n_rows))
            if names and indices[0] is not None:
                yield self._datasets[names[0]][0][rows][:, indices].astype(np.float64)
                continue
            columns = [self._datasets[name][0][rows] for name in names]
            yield np.column_stack(columns).astype(np.float64)


@contextmanager
def _readable(location: str) -> Iterator[None]:
    """Turn what the libraries raise for a damaged file into an error that names it."""
    try:
        yield
    except UserError:
        raise
    except (OSError, RuntimeError, ValueError, KeyError, StopIteration) as error:
        raise UserError(
            location,
            f"the file is damaged, or was changed while it was read ({error})",
            "a Parquet file, or an HDF5 file with a dataset of numbers for each column",
            "write the table again",
        ) from error
