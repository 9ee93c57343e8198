"""Arrays of numbers in NumPy files; files that hold other objects are refused."""

from pathlib import Path

import numpy as np

from workflow_lib.tabular.tables import wrong_source


def open_number_array(path: Path) -> np.ndarray:
    """Return the array in a file written by `numpy.save`; its values are read on access.

    Raises UserError when the file cannot be read, is damaged, or holds anything but integers and
    floats in rows and columns.
    """
    try:
        with np.errstate(over="ignore"):
            values = np.lib.format.open_memmap(path, mode="r")
    # For a damaged header, NumPy raises many kinds of errors.
    except Exception as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        found = f"the file is damaged, or not an array of numbers ({reason})"
        raise wrong_source(str(path), found, "an array as numpy.save writes it") from error
    if values.ndim != 2 or values.dtype.kind not in "fiu" or not values.size:
        found = f"an array of the shape {values.shape} and the type {values.dtype}"
        raise wrong_source(str(path), found, "numbers in rows and columns")
    return values
