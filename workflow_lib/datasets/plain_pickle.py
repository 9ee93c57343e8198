"""Pickles of strangers: only what Python builds without calling anything is taken from them."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

from workflow_lib.errors import UserError


class _PlainUnpickler(pickle.Unpickler):
    """Reads dictionaries, lists, tuples, sets, texts and numbers; refuses every class."""

    def find_class(self, module: str, name: str) -> Any:
        # A class or function that a pickle names is called, and may be os.system.
        raise pickle.UnpicklingError(f"it asks for {module}.{name}")


def read_plain_pickle(path: Path) -> Any:
    """Return the object in the pickle `path`, made of Python's own containers, texts and numbers.

    Pickles of Python 2 are read too, their texts as Latin-1. Nothing in the file is run: a pickle
    that names a class or function is refused where it does, before anything of it is called.

    Raises
    ------
    UserError
        When the file cannot be read, is damaged or no pickle, or names a class or function.
    """
    try:
        with path.open("rb") as file:
            return _PlainUnpickler(file, encoding="latin1").load()
    except OSError as error:
        found = f"the file cannot be read ({error.strerror})"
    except Exception as error:  # A damaged pickle can raise nearly any.
        found = f"the file is damaged, no pickle, or not plain ({error or type(error).__name__})"
    raise UserError(
        place=str(path),
        found=found,
        expected="a pickle of dictionaries, texts and numbers only, since any other could run "
        "whatever its author wrote into it",
        remedy="download the file again, or write its contents to a CSV file on a computer where "
        "you trust it",
    )
