"""The encoders of columns of names: those that are learned, the modules of a package, and others.

Every command needs their names, so that nothing is imported here that takes long.
"""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

from workflow_lib.named_module import named_module

LOADS_ALL_OF = "workflow_lib.features.encoders"

ONE_HOT, N_GRAMS = "one-hot", "n-grams"
"""Encoders of columns of names from which no fold learns."""

GAMMA_POISSON = "gamma-poisson"
"""The encoder that needs an optional package."""


def encoder_names() -> list[str]:
    """Return the names of the encoders that folds learn, sorted, without importing any."""
    folder = Path(__file__).with_name("encoders")
    names = (path.stem for path in folder.glob("*.py") if not path.stem.startswith("_"))
    return sorted(name.replace("_", "-") for name in names)


def encoder_module(name: str) -> ModuleType:
    """Return the module of the encoder `name`, one of `encoder_names`."""
    return named_module(LOADS_ALL_OF, name.replace("-", "_"))
