"""Full disks and folders that cannot be written to, for the duration of a test."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from unprivileged import unprivileged

BLOCK = 4096
"""Bytes that the smallest file takes."""

ROOM = "64m"


class Disk:
    """A disk mounted on a folder, whose free space can be set."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def leave(self, blocks: int) -> None:
        """Let the disk be full after so many further blocks."""
        state = os.statvfs(self.folder)
        used = (state.f_blocks - state.f_bfree) * state.f_frsize
        # A size of zero would mean no limit.
        mount("-o", f"remount,size={max(used + blocks * BLOCK, BLOCK)}", str(self.folder))

    def make_room(self) -> None:
        mount("-o", f"remount,size={ROOM}", str(self.folder))


@contextmanager
def mounted_disk(folder: Path) -> Iterator[Disk]:
    """Move the content of a folder, if any, to a separate disk that is mounted on the folder."""
    folder.mkdir(exist_ok=True)
    aside = folder.with_name(f"{folder.name}-aside")
    folder.rename(aside)
    folder.mkdir()
    mount("-t", "tmpfs", "-o", f"size={ROOM}", "tmpfs", str(folder))
    try:
        shutil.copytree(aside, folder, dirs_exist_ok=True, symlinks=True)
        shutil.rmtree(aside)
        yield Disk(folder)
    finally:
        unmount(folder)


@contextmanager
def mounted_read_only(folder: Path) -> Iterator[list[str]]:
    """Mount a folder on itself so that nothing in it can be written."""
    mount("--bind", str(folder), str(folder))
    try:
        mount("-o", "remount,bind,ro", str(folder))
        yield []
    finally:
        unmount(folder)


@contextmanager
def without_permission(folder: Path) -> Iterator[list[str]]:
    """Forbid, by the permissions of a folder and all below, to add and to remove files.

    Yield the prefix of a command that has to respect them.
    """
    prefix = unprivileged(folder.parent)
    folders = [folder, *(path for path in folder.rglob("*") if path.is_dir())]
    modes = [path.stat().st_mode for path in folders]
    for path in folders:
        path.chmod(0o555)
    try:
        yield prefix
    finally:
        for path, mode in zip(folders, modes):
            path.chmod(mode)


def mount(*options: str) -> None:
    """Run mount; skip the test where this is not allowed."""
    try:
        done = subprocess.run(["mount", *options], capture_output=True, text=True, timeout=60)
    except FileNotFoundError:
        pytest.skip("there is no command to mount a disk")
    if done.returncode:
        pytest.skip(f"no disk can be mounted here ({done.stderr.strip()})")


def unmount(folder: Path) -> None:
    subprocess.run(["umount", "--lazy", str(folder)], capture_output=True, timeout=60)
