"""Tests that need the folder of one paper, among tests of what all share."""

from __future__ import annotations

from pathlib import Path

import pytest

PAPERS = Path(__file__).parents[2] / "workflow_lib" / "papers"


def needs_paper(name: str) -> pytest.MarkDecorator:
    """Return the mark that skips a test where the folder of the paper was removed."""
    return pytest.mark.skipif(
        not (PAPERS / name).is_dir(), reason=f"the systems of {name} are not installed"
    )
