"""What several tests of the library share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from workflow_lib.datasets.acquisition import mirrors_from_environment


@pytest.fixture
def mirror() -> Callable[[str], Path]:
    """Return the function that finds a file in the folders of OFER_MIRROR, or skips the test."""

    def find(relative: str) -> Path:
        for folder in mirrors_from_environment():
            if (folder / relative).is_file():
                return folder / relative
        pytest.skip(f"{relative} is in no folder of OFER_MIRROR")

    return find
