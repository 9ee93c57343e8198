"""Mirror folders, in which files are searched before they are downloaded."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

MIRROR_VARIABLE = "OFER_MIRROR"
"""Environment variable that names the mirror folders, separated by ``:`` (``;`` on Windows)."""


def mirrors_from_environment(environment: Mapping[str, str] | None = None) -> list[Path]:
    """Return the mirror folders listed in ``OFER_MIRROR``, in their order; empty when unset."""
    value = (os.environ if environment is None else environment).get(MIRROR_VARIABLE, "")
    return [Path(part).expanduser() for part in value.split(os.pathsep) if part.strip()]
