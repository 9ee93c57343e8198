"""Snakemake reads an input again for its checksum only where it has changed."""

from __future__ import annotations

import asyncio
import os
import runpy

import pytest
from small_run import ROOT
from snakemake.io import _IOFile


@pytest.fixture
def file(tmp_path, monkeypatch):
    """Return a file that counts how often its checksum is computed."""
    reads = []

    async def checksum(self, threshold=None):
        reads.append(threshold)
        return f"sha256:{self.read_text()}" if os.path.exists(self) else None

    class File(str):
        def read_text(self):
            with open(self) as file:
                return file.read()

    monkeypatch.setattr(_IOFile, "checksum", checksum)
    runpy.run_path(str(ROOT / "scripts" / "input_checksums.py"))["install"]()
    path = File(tmp_path / "input")
    return path, reads, lambda *options: asyncio.run(_IOFile.checksum(path, *options))


def test_a_file_is_read_once_until_it_changes(file):
    path, reads, checksum = file
    assert checksum(9) is checksum(9) is None and len(reads) == 2, "missing files are not kept"
    for text in ("a", "bc"):
        with open(path, "w") as written:
            written.write(text)
        assert [checksum(9), checksum(9)] == [f"sha256:{text}"] * 2
    assert len(reads) == 4
    checksum(8)
    assert reads[-1] == 8, "the checksum with another limit is another one"
