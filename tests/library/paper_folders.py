"""What tests of what all share take from the folders of papers, each of which may be removed."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

PAPERS = Path(__file__).parents[2] / "workflow_lib" / "papers"
TESTS = Path(__file__).parents[1] / "papers"


def needs_paper(name: str) -> pytest.MarkDecorator:
    """Return the mark that skips a test where the folder of the paper was removed."""
    return pytest.mark.skipif(
        not (PAPERS / name).is_dir(), reason=f"the systems of {name} are not installed"
    )


def load(path: Path) -> ModuleType:
    """Return a module of a folder beside the tests."""
    spec = importlib.util.spec_from_file_location(f"{path.parent.name}_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def paper_modules(pattern: str) -> list[ModuleType]:
    """Return the modules that tests of papers add to a test of what all share.

    `pattern` is that of their files below the folder of a paper, such as ``samples/readers.py``.
    They can import the other modules of their folder.
    """
    modules = []
    for path in sorted(TESTS.glob(f"*/{pattern}")):
        folder = str(TESTS / path.relative_to(TESTS).parts[0])
        if folder not in sys.path:
            sys.path.append(folder)
        modules.append(load(path))
    return modules
