"""The columns of tables in Parquet and HDF5."""

import io
from typing import Any

from workflow_lib.core.archives import most_unpacked
from workflow_lib.core.errors import UserError
from workflow_lib.core.optional_packages import not_installed
from workflow_lib.tabular.user_table import checked_names, text_of

_BYTES_OF_A_CELL = 8

MATLAB = b"MATLAB 7.3 MAT-file"
"""Beginning of files of MATLAB that are HDF5."""

CATEGORICAL = "categorical"
"""Type of a column in what pandas notes in Parquet files."""

FROM_MATLAB = (
    "in MATLAB, save vectors by save(FILE, '-v7.3', ...), or the table by "
    "writetable(TABLE, 'table.csv')"
)
"""How MATLAB writes a file that can be read."""

COLUMNS_ATTRIBUTE = "columns"
"""Attribute of a two-dimensional HDF5 dataset that holds the names of its columns."""


def parquet_columns(content: bytes, location: str) -> tuple[dict[str, Any], list[str]]:
    """Return the columns of a Parquet file, without row numbers that pandas added.

    The second item is the names of the columns that are categories: dictionaries.

    Raises UserError when pyarrow is not installed, or the file is damaged.
    """
    try:
        import pyarrow
        from pyarrow import parquet, types
    except ImportError as error:
        raise not_installed("pyarrow", location, error, "save the table as .csv") from error
    try:
        # From memory, so that the file cannot refer to other files.
        file = parquet.ParquetFile(pyarrow.BufferReader(content))
        cells = file.metadata.num_rows * file.metadata.num_columns
        if cells * _BYTES_OF_A_CELL > most_unpacked(len(content)):
            raise OSError(f"it states {cells} cells, too many for its size")
        stored = file.read()
        names = [name for name in stored.column_names if not name.startswith("__index_level_")]
        checked_names(location, names)
        columns: dict[str, Any] = {}
        for name in names:
            column = stored.column(name)
            plain = types.is_integer(column.type) or types.is_floating(column.type)
            is_array = plain and not column.null_count
            columns[name] = column.to_numpy() if is_array else column.to_pylist()
        # pandas writes the dictionary of a category of numbers as numbers.
        noted = (stored.schema.pandas_metadata or {}).get("columns", ())
        categories = {item.get("name") for item in noted if item.get("pandas_type") == CATEGORICAL}
        categories |= {name for name in names if types.is_dictionary(stored.column(name).type)}
        return columns, [name for name in names if name in categories]
    except (
        pyarrow.ArrowException,
        OSError,
        ValueError,
        OverflowError,
        AttributeError,
        TypeError,
    ) as error:
        raise UserError(
            location=location,
            found=f"the file is damaged ({error})",
            expected="a Parquet file",
            remedy="write the file again",
        ) from error


def hdf5_columns(content: bytes, location: str) -> tuple[dict[str, Any], list[str]]:
    """Return the columns of an HDF5 file: its one-dimensional datasets, or a table of numbers.

    Datasets (n, 1) and (1, n), as MATLAB writes vectors, are columns. The second item is the names
    of the columns that are categories: enumerations.

    Raises UserError when the file is damaged, or holds groups, links or datasets that are kept in
    other files. For a dataset of values that are neither numbers nor texts, or of more axes, the
    error is the column.
    """
    import h5py

    try:
        with h5py.File(io.BytesIO(content), "r") as file:
            return _hdf5_columns(file, location, most_unpacked(len(content)))
    except (OSError, RuntimeError, KeyError, ValueError, TypeError, MemoryError) as error:
        raise UserError(
            location=location,
            found=f"the file is damaged, or is not a plain table ({error})",
            expected="one-dimensional datasets of numbers or texts in the root of the file, or a "
            "single two-dimensional dataset that has the names of its columns in its attribute "
            f"'{COLUMNS_ATTRIBUTE}'",
            remedy=FROM_MATLAB
            if content.startswith(MATLAB)
            else "write the table again as plain columns (from pandas by to_csv instead of to_hdf)",
        ) from error


def check_plain_datasets(file: Any) -> None:
    """Raise ValueError unless an open HDF5 file holds datasets of its own, and nothing else."""
    import h5py

    for name in file:
        if not isinstance(file.get(name, getlink=True), h5py.HardLink):
            raise ValueError(f"'{name}' is a link")
        if not isinstance(file[name], h5py.Dataset):
            raise ValueError(f"'{name}' is a group")
        if file[name].is_virtual or file[name].external:
            raise ValueError(f"'{name}' is stored in another file")


def _hdf5_columns(file: Any, location: str, most: int) -> tuple[dict[str, Any], list[str]]:
    """Return the columns; raise a ValueError for anything but plain datasets."""
    import h5py

    check_plain_datasets(file)
    # A dataset may state any size: its unwritten part is filled when it is read.
    size = sum(item.size * item.dtype.itemsize for item in file.values())
    if size > most:
        raise ValueError(f"its datasets have a stated size of {size} bytes, at most {most} fit")
    for name, item in file.items():
        if len(file) == 1 and item.ndim == 2 and item.dtype.kind in "biuf":
            stated = item.attrs.get(COLUMNS_ATTRIBUTE, ())
            if len(stated) == item.shape[1]:
                names = checked_names(location, [text_of(column, location) for column in stated])
                return dict(zip(names, item[()].T)), []
            if 1 not in item.shape:
                raise ValueError(f"'{name}' has {item.shape[1]} columns with {len(stated)} names")
    columns = {
        name: _hdf5_values(item, f"{location}, column '{name}'") for name, item in file.items()
    }
    return columns, [name for name in file if h5py.check_enum_dtype(file[name].dtype)]


def _hdf5_values(item: Any, location: str) -> Any:
    """Return the values of a dataset (n,), or the error that says why they are no column."""
    import h5py

    dtype, is_text = item.dtype, h5py.check_string_dtype(item.dtype) is not None
    kind = item.attrs.get("MATLAB_class", b"")
    fault = ""
    if dtype.kind not in "biuf" and not is_text:
        fault = f"values of the type {dtype}"
    elif kind in (b"char", "char"):
        fault = "characters of MATLAB"
    elif item.ndim != 1 and not (item.ndim == 2 and 1 in item.shape):
        fault = f"an array of {item.ndim} axes"
    if fault:
        return UserError(
            location,
            fault,
            "one number or text per row",
            "leave the column out (in `snakemake new` by exclude), or write it as a vector of "
            "numbers or texts",
        )
    values = (item.asstr("utf-8")[()] if is_text else item[()]).ravel()
    names = {number: name for name, number in (h5py.check_enum_dtype(dtype) or {}).items()}
    return [names.get(value, str(value)) for value in values.tolist()] if names else values
