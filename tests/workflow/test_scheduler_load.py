"""Snakemake reads an input again only where it has changed, and has one round after another."""

from __future__ import annotations

import asyncio
import os
import runpy
import threading
from types import SimpleNamespace

import pytest
from small_run import ROOT
from snakemake.io import _IOFile
from snakemake.scheduling.job_scheduler import JobScheduler


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
    rounds = JobScheduler._schedule_reevalutation
    monkeypatch.setattr(JobScheduler, "_schedule_reevalutation", rounds)
    sizes = JobScheduler.update_input_sizes
    monkeypatch.setattr(JobScheduler, "update_input_sizes", sizes)
    runpy.run_path(str(ROOT / "scripts" / "scheduler_load.py"))["install"]()
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


def test_rounds_that_are_requested_together_are_one(file):
    scheduler = type("Scheduler", (), {"request": JobScheduler._schedule_reevalutation})()
    scheduler._open_jobs = threading.Semaphore(0)
    for _ in range(5):
        scheduler.request(0.05)
    assert scheduler._open_jobs.acquire(timeout=5)
    assert not scheduler._open_jobs.acquire(timeout=0.2)
    # The round that has begun requests the next.
    scheduler.request(0.05)
    assert scheduler._open_jobs.acquire(timeout=5)


def test_the_size_of_an_input_is_requested_once(file):
    asked = []

    class Input(str):
        async def exists(self):
            asked.append(str(self))
            return self != "missing"

        async def size(self):
            return len(self)

    scheduler = SimpleNamespace(_input_sizes={})
    for names in (["a", "missing"], ["a", "bc"]):
        jobs = [SimpleNamespace(input=[Input(name)]) for name in names]
        asyncio.run(JobScheduler.update_input_sizes(scheduler, jobs))
    assert scheduler._input_sizes == {"a": 1, "missing": None, "bc": 2}
    assert sorted(asked) == ["a", "bc", "missing"]
