"""The encoders of columns of names: those that are learned, which are plug-ins, and others.

Every command needs their names, so that nothing is imported here that takes long.
"""

from types import ModuleType

from workflow_lib.core.plugins import ENCODERS

ONE_HOT, N_GRAMS = "one-hot", "n-grams"
"""Encoders of columns of names from which no fold learns."""

GAMMA_POISSON = "gamma-poisson"
"""The encoder that needs an optional package."""


def encoder_names() -> list[str]:
    """Return the names of the encoders that folds learn, sorted, without importing any."""
    return sorted(name.replace("_", "-") for name in ENCODERS.paths)


def encoder_module(name: str) -> ModuleType:
    """Return the module of the encoder `name`, one of `encoder_names`."""
    return ENCODERS.load(name.replace("-", "_"))
