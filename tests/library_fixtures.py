"""Fixtures that tests of the library and of papers share."""

from __future__ import annotations

import sys
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


RUNS = """
from pathlib import Path
from sklearn.linear_model import Ridge
Path(__file__).with_name("it-ran").touch()
def function(): ...
class Own(Ridge): ...
"""


@pytest.fixture
def own_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A module and a package that leave a file where they are imported."""
    package = tmp_path / "own_package"
    package.mkdir()
    (package / "__init__.py").write_text(RUNS)
    (package / "below.py").write_text("class Below: ...")
    (tmp_path / "own_module.py").write_text(RUNS)
    (tmp_path / "own_broken.py").write_text("class Broken")
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("own_")]:
        del sys.modules[name]
