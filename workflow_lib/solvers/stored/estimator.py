"""Fitted scikit-learn estimators as bytes, without pickle: a file cannot run code when it is read.

The format is that of skops (a zip archive of arrays and a description of the object), of which the
dates and the memory addresses are replaced, so that equal estimators are equal bytes. What skops
makes of the bytes is checked before (`workflow_lib.solvers.stored.description`) and after
(`workflow_lib.solvers.stored.structure`).
"""

import io
import json
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from workflow_lib.core.errors import UserError
from workflow_lib.solvers.stored.classes import names_of_classes
from workflow_lib.solvers.stored.description import SCHEMA, UnsafeEstimator, checked_estimator
from workflow_lib.solvers.stored.structure import check_structure

_TRUSTED: ContextVar[frozenset[str]] = ContextVar("trusted classes", default=frozenset())

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


@contextmanager
def trusting(paths: Iterable[str]) -> Iterator[None]:
    """Within it, stored estimators may hold objects of further classes.

    Raises ImportError if one of them cannot be imported.

    Parameters
    ----------
    paths : iterable of str
        Classes with their modules, such as ``lightgbm.LGBMRegressor``: they come from the user or
        the configuration of a run, never from the file that is read.
    """
    token = _TRUSTED.set(_TRUSTED.get() | names_of_classes(paths))
    try:
        yield
    finally:
        _TRUSTED.reset(token)


def estimator_from_bytes(stored: np.ndarray, location: str = "the saved model") -> Any:
    """Return the estimator of `estimator_bytes`.

    Raises UserError if the bytes are damaged, unpack to much more than they are, or hold anything
    but arrays, plain values and objects of the classes in `workflow_lib.solvers.stored.classes` or
    of those that are trusted (`trusting`).
    """
    data = np.asarray(stored, dtype=np.uint8).tobytes()
    try:
        data, names = checked_estimator(data, _TRUSTED.get())
        import skops.io

        estimator = skops.io.loads(data, trusted=names)
        check_structure(estimator)
    # An estimator of this library says itself what is wrong with a file that it names.
    except (MemoryError, UserError):
        raise
    # skops raises many kinds of errors for descriptions of the right names and a wrong structure.
    except Exception as error:
        found = (
            str(error)
            if isinstance(error, UnsafeEstimator)
            else f"wrong parts ({type(error).__name__}: {error})"
        )
        raise UserError(
            location=location,
            found=f"a stored estimator that is not loaded, because it holds {found}",
            expected="an estimator of scikit-learn or of this library, as a run saves it",
            remedy="do not use a model from a source that you do not trust; if it is your own, "
            "make it again, or, for a class that you expect in it, load it with "
            "load_model(path, trusted=[...])",
        ) from error
    return estimator


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
