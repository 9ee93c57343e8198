"""Fixtures that tests of the library and of papers share."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from workflow_lib.core.mirrors import mirrors_from_environment

# Read by the libraries when they are loaded, here and in processes that tests start.
# The threads of OpenMP and of the linear algebra of two test processes would wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# To compile the loops over alignments takes seconds, and the small run does it.
os.environ.setdefault("NUMBA_DISABLE_JIT", "1")


@pytest.fixture(autouse=True, scope="session")
def without_waiting_for_the_disk() -> Iterator[None]:
    """Leave it to the system when files reach the disk: those of tests need not outlive it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
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
