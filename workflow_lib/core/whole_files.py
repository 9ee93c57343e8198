"""Files written whole or not at all, even when the disk fails meanwhile."""

from __future__ import annotations

import glob
import io
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from workflow_lib.core.errors import UserError

TEMPORARY = ".tmp"
"""End of the temporary names of files that are being written; they begin with a dot."""


def write_text(path: str | Path, text: str) -> None:
    """Write UTF-8 `text` with line feeds as `write_bytes` does."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: str | Path, content: bytes) -> None:
    """Write `content` under a temporary name and rename it to `path`.

    Missing parent folders are created. On any failure the temporary file is removed and an older
    `path` stays unchanged.

    Raises UserError when the disk or the folder refuses the file.
    """
    with whole_file(path) as file:
        file.write(content)


class EnduringFile(io.FileIO):
    """A file to which writing never fails: after the first failure, it drops what is written.

    The HDF5 library writes much of a file only when it closes it. If that fails, it loses data
    without an error and later crashes the process, so failures must be hidden from it.
    """

    failure: OSError | None = None
    """The first failure."""

    def write(self, content) -> int:
        """Write all of `content`, where a plain file may stop midway."""
        rest = memoryview(content).cast("B")
        size = len(rest)
        try:
            while rest and not self.failure:
                rest = rest[super().write(rest) :]
        except OSError as error:
            self.failure = error
        return size

    def truncate(self, size: int | None = None) -> int:
        try:
            return super().truncate(size)
        except OSError as error:
            self.failure = self.failure or error
            return self.tell() if size is None else size

    def check(self) -> None:
        """Raise the failure, if there was one."""
        if self.failure:
            raise self.failure


@contextmanager
def whole_file(path: str | Path) -> Iterator[EnduringFile]:
    """Open a file for writing and reading, which becomes `path` when the block ends without error.

    It has a temporary name in the same folder and is flushed to the disk before it is renamed;
    `write_bytes` says what happens on a failure.
    """
    path = Path(path)
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(TEMPORARY, f".{path.name}.", path.parent)
        try:
            with EnduringFile(handle, "r+b") as file:
                try:
                    yield file
                except Exception:
                    # A failure of the disk is raised first; the other error may follow from it.
                    file.check()
                    raise
                file.check()
                os.fsync(file.fileno())
            # mkstemp makes files private; a result has the usual permissions of the user's files.
            umask = os.umask(0)
            os.umask(umask)
            os.chmod(temporary, 0o666 & ~umask)
            os.replace(temporary, path)
        except BaseException:
            # Whatever prevents the removal has already been reported.
            with suppress(OSError):
                os.unlink(temporary)
            raise
        _flush_folder(path.parent)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Report a failure to write a file as a `UserError`."""
    try:
        yield
    except OSError as error:
        raise UserError(
            location=str(path),
            found=f"the file could not be written ({error.strerror or error})",
            expected="a folder that may be written to, with free space",
            remedy="free space or fix the permissions, then run the same snakemake command again",
        ) from error


def remove_leftovers(path: str | Path) -> None:
    """Remove partly written temporary files of `path`, left by processes that were killed."""
    path = Path(path)
    for leftover in path.parent.glob(f".{glob.escape(path.name)}.*{TEMPORARY}"):
        # Whatever prevents the removal also prevents the writing, which reports it.
        with suppress(OSError):
            leftover.unlink()


def _flush_folder(folder: Path) -> None:
    """Flush the names in a folder to the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
