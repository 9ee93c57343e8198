"""Fixtures that tests of the library and of papers share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy  # noqa: F401  (loads its threads, so that they can be limited)
import pytest
import scipy.linalg  # noqa: F401
from threadpoolctl import threadpool_limits

from workflow_lib.core.mirrors import mirrors_from_environment


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> Iterator[None]:
    """Compute in one thread: the pools of numpy and scipy would spin against each other."""
    with threadpool_limits(1):
        yield


@pytest.fixture
def mirror() -> Callable[[str], Path]:
    """Return the function that finds a file in the folders of OFER_MIRROR, or skips the test."""

    def find(relative: str) -> Path:
        for folder in mirrors_from_environment():
            if (folder / relative).is_file():
                return folder / relative
        pytest.skip(f"{relative} is in no folder of OFER_MIRROR")

    return find


@pytest.fixture
def score(tmp_path: Path) -> Callable:
    """Return the function that gives the value of a measure of `Rows` in the file of scores."""
    from measure_samples import all_measures, scores_of

    return lambda name, rows: scores_of(tmp_path, all_measures()[name].outputs, rows)[name]
