"""Packages that only some settings need, and how they are installed."""

from __future__ import annotations

import importlib.util

from workflow_lib.core.errors import UserError

EXTRAS = {
    "lightgbm": "boosting",
    "xgboost": "boosting",
    "catboost": "boosting",
    "rdkit": "chem",
    "torch": "deep",
    "skrub": "encoders",
    "openpyxl": "excel",
    "pillow": "images",
    "pyarrow": "parquet",
    "PyWavelets": "wavelets",
    "gensim": "word2vec",
    "tabicl": "pretrained",
    "tabpfn": "pretrained",
    "tslearn": "series",
}
"""The optional packages, each with the extra of this project that installs it."""


def is_installed(package: str) -> bool:
    """Return whether a package can be found, without importing it."""
    return importlib.util.find_spec(package) is not None


def install_command(package: str) -> str:
    """Return what installs a package of `EXTRAS`."""
    return f"python -m pip install '.[{EXTRAS[package]}]' in the folder of the workflow"


def not_installed(
    package: str, location: str, error: ImportError | None = None, instead: str = ""
) -> UserError:
    """Return the error for something at `location` that needs a package of `EXTRAS`.

    Parameters
    ----------
    package : str
    location : str
    error : ImportError or None, default=None
        Why the import failed; None where it was not tried.
    instead : str, default=""
        What may be done without the package.
    """
    return UserError(
        location=location,
        found=f"the package {package} cannot be imported ({error})"
        if error
        else f"the package {package} is not installed",
        expected=f"the optional dependencies '{EXTRAS[package]}'",
        remedy=f"run {install_command(package)}" + (f", or {instead}" if instead else ""),
    )
