"""Fitted scikit-learn estimators as bytes, without pickle: a file cannot run code when it is read.

The format is that of skops (a zip archive of arrays and a description of the object), of which the
dates and the memory addresses are replaced, so that equal estimators are equal bytes.
"""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import numpy as np

from workflow_lib.errors import UserError
from workflow_lib.saved_methods import TRUSTED_PACKAGES

TRUSTED_TYPES = ("collections.OrderedDict", "collections.defaultdict")
"""Types that are made again from a file, besides those of `TRUSTED_PACKAGES` and those of NumPy, of
SciPy and of Python itself that skops trusts."""

SCHEMA = "schema.json"

# Of every entry, since a real one would differ from run to run.
DATE = (1980, 1, 1, 0, 0, 0)


def estimator_bytes(estimator: Any) -> np.ndarray:
    """Return a fitted estimator as bytes (n,), the same for equal estimators."""
    import skops.io

    stored = zipfile.ZipFile(io.BytesIO(skops.io.dumps(estimator)))
    numbers: dict[str, int] = {}
    schema = _renumbered(json.loads(stored.read(SCHEMA)), numbers)
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w") as archive:
        for name in sorted(
            set(stored.namelist()) - {SCHEMA}, key=lambda name: _number(name, numbers)
        ):
            _write(archive, _renamed(name, numbers), stored.read(name))
        _write(archive, SCHEMA, json.dumps(schema).encode())
    return np.frombuffer(output.getvalue(), dtype=np.uint8)


def estimator_from_bytes(stored: np.ndarray, place: str = "the saved model") -> Any:
    """Return the estimator of `estimator_bytes`.

    Raises
    ------
    UserError
        If the bytes hold types of other packages than `TRUSTED_PACKAGES`.
    """
    import skops.io

    data = np.asarray(stored, dtype=np.uint8).tobytes()
    types = skops.io.get_untrusted_types(data=data)
    strange = [
        name
        for name in types
        if name not in TRUSTED_TYPES and name.partition(".")[0] not in TRUSTED_PACKAGES
    ]
    if strange:
        raise UserError(
            place=place,
            found=f"an estimator that holds {', '.join(strange)}",
            expected=f"types of the packages {', '.join(TRUSTED_PACKAGES)} alone",
            remedy="do not use a model from a source that you do not trust; make it again with "
            "snakemake",
        )
    return skops.io.loads(data, trusted=types)


def _write(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    archive.writestr(zipfile.ZipInfo(name, DATE), content, zipfile.ZIP_DEFLATED)


def _renumbered(node: Any, numbers: dict[str, int]) -> Any:
    """Return a description with numbers instead of addresses, in the order of their use."""
    if isinstance(node, list):
        return [_renumbered(part, numbers) for part in node]
    if not isinstance(node, dict):
        return node
    found = {}
    for key, value in node.items():
        if key == "__id__":
            found[key] = numbers.setdefault(str(value), len(numbers))
        elif key == "file":
            found[key] = _renamed(value, numbers)
        else:
            found[key] = _renumbered(value, numbers)
    return found


def _renamed(name: str, numbers: dict[str, int]) -> str:
    address, dot, ending = name.partition(".")
    return f"{numbers.setdefault(address, len(numbers))}{dot}{ending}"


def _number(name: str, numbers: dict[str, int]) -> int:
    return numbers.setdefault(name.partition(".")[0], len(numbers))
