"""Less work for Snakemake's own process, which otherwise grows with the square of a run.

With a limit of the rate of jobs, which no option switches off, each round of the scheduler requests
another one a second later. Each job that ends begins one more such chain, so that after a hundred
jobs there are a hundred rounds a second, each of which stats the inputs of all jobs that are ready,
or requests their sizes from a storage. Besides, Snakemake records the checksums of all inputs of a
finished job for each of its outputs, and reads every input again each time.
"""

from __future__ import annotations

import inspect
import os
import threading
from collections.abc import Iterable
from typing import Any

from snakemake.io import _IOFile
from snakemake.scheduling.job_scheduler import JobScheduler


def install() -> None:
    """Change how Snakemake requests rounds, sizes and checksums, where it has these methods."""
    # Spelled so in Snakemake.
    if hasattr(JobScheduler, "_schedule_reevalutation"):
        JobScheduler._schedule_reevalutation = _request_round
    if inspect.iscoroutinefunction(getattr(JobScheduler, "update_input_sizes", None)):
        JobScheduler.update_input_sizes = _update_input_sizes
    if inspect.iscoroutinefunction(_IOFile.checksum):
        _IOFile.checksum = _kept(_IOFile.checksum)


def _request_round(self: JobScheduler, delay: float) -> None:
    """Request another round of the scheduler after some seconds, unless one is requested."""
    requested = self.__dict__.setdefault("_requested_rounds", set())
    if delay in requested:
        return

    def begin() -> None:
        # First, as the round that this begins requests the next one.
        requested.discard(delay)
        self._open_jobs.release()

    requested.add(delay)
    timer = threading.Timer(delay, begin)
    # The end of a run does not wait for it.
    timer.daemon = True
    timer.start()


async def _update_input_sizes(self: JobScheduler, jobs: Iterable[Any]) -> None:
    """Ask once for the size of each input of the jobs that are ready, as it does not change."""
    sizes = self._input_sizes
    for path in {path for job in jobs for path in job.input}.difference(sizes):
        sizes[path] = await path.size() if await path.exists() else None


def _kept(original: Any) -> Any:
    """Return a method that reads a file again only where it has changed since its last checksum."""
    known: dict[tuple, str | None] = {}

    async def checksum(self: _IOFile, *arguments: Any, **options: Any) -> str | None:
        try:
            status = os.stat(self)
        except OSError:
            return await original(self, *arguments, **options)
        state = (str(self), status.st_ino, status.st_size, status.st_mtime_ns)
        key = (*state, arguments, tuple(options.items()))
        if key not in known:
            known[key] = await original(self, *arguments, **options)
        return known[key]

    return checksum
