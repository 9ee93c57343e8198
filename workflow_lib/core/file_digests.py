"""Digests of the files that jobs pass to each other, so that no damaged file is ever read.

Next to each output ``scores.csv`` of a job is the hidden file ``.scores.csv.sha256``, in the form
of ``sha256sum``. A job that reads the output first compares it with its digest. A file of any kind
is therefore refused if it was cut off, altered by a failing disk, or replaced by another file, even
where its date does not show that.

    python -m workflow_lib.core.file_digests results resources

lists all such files in folders, and the missing ones, for example after results were moved to
another machine. Without names it searches ``results`` and ``resources``.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from workflow_lib.core.errors import UserError
from workflow_lib.core.whole_files import remove_leftovers, write_text

SUFFIX = ".sha256"
FOLDERS = ("results", "resources")
_AGAIN = "run the same snakemake command again"


def digest_path(path: str | os.PathLike) -> Path:
    """Return where the digest of `path` is kept."""
    path = Path(path)
    return path.with_name(f".{path.name}{SUFFIX}")


def record_digest(path: str | os.PathLike) -> None:
    """Write the SHA-256 of a file, or of all files in a folder, next to it.

    Raises UserError when the disk or the folder refuses it.
    """
    write_text(digest_path(path), f"{_digest(Path(path))}  {Path(path).name}\n")


def clear_leftovers(path: str | os.PathLike) -> None:
    """Remove what earlier jobs left next to a file that is about to be written.

    These are partly written files of killed jobs, and the digest of the earlier file: if the job
    failed, that digest would cause a file to be refused that the user puts there by hand.
    """
    remove_leftovers(path)
    remove_leftovers(digest_path(path))
    # Whatever prevents the removal also prevents the writing, which reports it.
    with suppress(OSError):
        digest_path(path).unlink()


def check_digest(path: str | os.PathLike, is_copy: bool = False) -> None:
    """Refuse a file that is not as its job wrote it.

    A file without a digest is accepted: it is from the user, or from an earlier version. Of one
    that `is_copy` of a file in a storage, the message says to remove that.

    Raises UserError when the file differs from its digest or is missing, or when one of the two
    cannot be read.
    """
    path, recorded = Path(path), digest_path(path)
    try:
        # No test for existence before: it would fail in a folder that may not be entered.
        words = recorded.read_text(encoding="utf-8", errors="replace").split()
    except FileNotFoundError:
        return
    except OSError as error:
        raise _refused(path, f"its digest cannot be read ({error.strerror or error})") from error
    try:
        found = _digest(path)
    except FileNotFoundError as error:
        remedy = f"{_AGAIN}; if the file is no longer needed, rm {shlex.quote(str(recorded))}"
        raise UserError(str(path), "the file is gone", "what its job wrote", remedy) from error
    except OSError as error:
        raise _refused(path, f"the file cannot be read ({error.strerror or error})") from error
    if words[:1] != [found]:
        size = path.stat().st_size
        state = f"has {size} bytes and the SHA-256 {found[:12]}..." if size else "is empty"
        raise _refused(path, f"the file differs from its digest: it {state}", is_copy)


def differing_files(folders: Iterable[str | os.PathLike]) -> list[str]:
    """Return what is wrong with those files below some folders that have a digest."""
    faults = []

    def note(error: OSError) -> None:
        found = f"the folder cannot be read ({error.strerror or error})"
        faults.append(str(UserError(error.filename, found, remedy="fix its name or permissions")))

    for path in recorded_files(folders, note):
        try:
            check_digest(path)
        except UserError as error:
            faults.append(str(error))
    return faults


def recorded_files(
    folders: Iterable[str | os.PathLike], note: Callable[[OSError], None] | None = None
) -> Iterator[Path]:
    """Yield the files below some folders that have a digest, missing ones included.

    `note` is called for each folder that cannot be read; the folder is skipped.
    """
    for folder in folders:
        for location, inner, names in os.walk(folder, onerror=note):
            inner.sort()
            for name in sorted(names):
                if name.startswith(".") and name.endswith(SUFFIX):
                    yield Path(location, name[1 : -len(SUFFIX)])


def _digest(path: Path) -> str:
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file())
        lines = [f"{_digest(file)}  {file.relative_to(path).as_posix()}\n" for file in files]
        return hashlib.sha256("".join(lines).encode()).hexdigest()
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _refused(path: Path, found: str, is_copy: bool = False) -> UserError:
    # Not Path.is_dir, which raises where a folder may not be entered.
    remove = f"{'rm -r' if os.path.isdir(path) else 'rm'} {shlex.quote(str(path))}"
    if is_copy:
        remove = "remove the file of this path from the storage, of which this is a copy,"
    return UserError(
        location=str(path),
        found=found,
        expected=f"the file whose SHA-256 is in {digest_path(path)}",
        remedy=f"{remove} and {_AGAIN}",
    )


def main(folders: Sequence[str]) -> int:
    """Print what is wrong with the files below some folders; return 1 if anything is."""
    folders = folders or [name for name in FOLDERS if os.path.isdir(name)] or FOLDERS
    faults = differing_files(folders)
    count = sum(1 for _ in recorded_files(folders))
    if not count and not faults:
        location, found = " and ".join(folders), "there is no digest of a file"
        faults = [str(UserError(location, found, "folders of a run", "name such folders"))]
    for fault in faults:
        print(f"error: {fault}", file=sys.stderr)
    if not faults:
        print(f"files compared with their digests: {count}, all as their jobs wrote them")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
