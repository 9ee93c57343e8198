"""Acquisition: fetch a source file of a dataset and verify its checksum.

A file is first searched in the mirror folders (`OFER_MIRROR`), then downloaded. It is recognised
by its own size and SHA-256, or, where the source names ``members``, by those of the matching
members of an archive: public repositories may repack an archive at any time, and it may hold more
than a dataset needs.
"""

import hashlib
import os
import re
import shutil
import stat
import tempfile
import time
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from workflow_lib.core.archive_members import members_digest
from workflow_lib.core.errors import UserError
from workflow_lib.core.mirrors import MIRROR_VARIABLE
from workflow_lib.core.web import FAILURES, SCHEMES, failure, open_address
from workflow_lib.core.whole_files import TEMPORARY, writing

_CHUNK = 1 << 16
_NO_SUCH_RANGE = 416

MAX_ARCHIVE = 1 << 32
"""Bytes after which the download of an archive of unknown size is stopped."""

MAX_NAME_LENGTH, MAX_PATH_LENGTH = 255, 2000
"""Bytes of the name of a file or folder, and of its path. Usual file systems allow no longer names,
and paths twice as long."""

TIMEOUT, MIN_SPEED = 60.0, 100
"""Seconds without an answer, or with fewer bytes per second since the beginning, after which an
attempt is stopped."""

RETRIES = 4
"""Further attempts after a download that failed for a temporary reason: no answer, a broken
connection, an overloaded server."""

PAUSE, MAX_PAUSE = 1.0, 30.0
"""Seconds before the first retry; doubled for each further retry, up to the second number."""


def acquire(
    source: Mapping[str, Any], destination: str | os.PathLike, mirrors: Sequence[Path] = ()
) -> Path:
    """Place the file described by `source` at `destination` and return that path.

    Raises UserError when a mirror holds another file under that name, when the file cannot be
    downloaded, or when the downloaded file differs from `source` in size or checksum, or is
    damaged.

    Parameters
    ----------
    source : mapping
        ``path`` (relative path in a mirror folder), ``address`` (http or https), ``sha256``
        (hexadecimal) and ``size`` (bytes). With ``members``, a pattern of names in a tar archive,
        the last two are those of the matching members
        (`workflow_lib.core.archive_members.members_digest`), regardless of the archive's
        compression and other contents.
    destination : path
        Location of the file; written whole or not at all. An interrupted download leaves its bytes
        in ``{destination}.part``, from where the next attempt continues; that of an archive with
        ``members`` starts again, since the server may repack it for each request.
    mirrors : sequence of paths, default=()
        Folders to search for ``path`` before anything is downloaded.
    """
    destination = Path(destination)
    _refuse_escape(str(source["path"]))
    with writing(destination):
        destination.parent.mkdir(parents=True, exist_ok=True)
    for mirror in mirrors:
        candidate = Path(mirror) / source["path"]
        if candidate.is_file():
            _copy_from_mirror(candidate, destination, source)
            return destination
    _download(source, destination, mirrors)
    return destination


def _copy_from_mirror(candidate: Path, destination: Path, source: Mapping[str, Any]) -> None:
    size = candidate.stat().st_size
    if not source.get("members") and size != source["size"]:
        state = "is truncated" if size < source["size"] else "is too long"
        found = f"the file in the mirror {state}: it has {size} bytes"
        raise _wrong_copy(candidate, found, f"{source['size']} bytes")
    with writing(destination):
        # A folder of a fresh name: where others may write, they could have placed a link.
        folder = tempfile.TemporaryDirectory(TEMPORARY, ".copy.", destination.parent)
    with folder:
        temporary = Path(folder.name) / destination.name
        with writing(destination):
            shutil.copyfile(candidate, temporary)
        try:
            other = _difference(temporary, source)
        except UserError as error:
            raise _wrong_copy(candidate, error.found, error.expected) from error
        if other:
            found = f"the file in the mirror has {other}"
            raise _wrong_copy(candidate, found, _identity(source))
        with writing(destination):
            os.replace(temporary, destination)


def _identity(source: Mapping[str, Any]) -> str:
    """Return in words the properties by which `source` is recognised."""
    if source.get("members"):
        return (
            f"members {source['members']} of {source['size']} bytes in all "
            f"with the SHA-256 {source['sha256']}"
        )
    return f"the SHA-256 {source['sha256']}"


def _difference(path: Path, source: Mapping[str, Any]) -> str:
    """Return in words how `path` differs from `_identity`; empty when it is the right file."""
    members = source.get("members")
    if members:
        found = members_digest(path, members)
        if (found.sha256, found.size) == (source["sha256"], source["size"]):
            return ""
        return f"{found.count} such members of {found.size} bytes with the SHA-256 {found.sha256}"
    with open(path, "rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    return "" if found == source["sha256"] else f"the SHA-256 {found}"


def _wrong_copy(candidate: Path, found: str, expected: str) -> UserError:
    return UserError(
        location=str(candidate),
        found=found,
        expected=expected,
        remedy=f"remove or replace {candidate}, or take its folder out of {MIRROR_VARIABLE} so "
        "that the file is downloaded",
    )


def _download(source: Mapping[str, Any], destination: Path, mirrors: Sequence[Path]) -> None:
    address = source["address"]
    if not address.startswith(SCHEMES):
        raise UserError(
            location=f"address of {source['path']}",
            found=f"'{address}'",
            expected="an address that starts with https:// or http://",
            remedy="fix the address in the configuration of the dataset",
        )
    size = None if source.get("members") else source["size"]
    part = destination.with_name(destination.name + ".part")
    with writing(part):
        if size is None or not _is_own_file(part) or part.stat().st_size > size:
            part.unlink(missing_ok=True)
    resumed = part.exists()
    reason = ""
    for attempt in range(RETRIES + 1):
        if attempt:
            time.sleep(min(PAUSE * 2 ** (attempt - 1), MAX_PAUSE))
        try:
            if size is None:
                part.unlink(missing_ok=True)
            _fetch(address, part, size)
        except FAILURES as error:
            reason, is_temporary = failure(error)
            if getattr(error, "code", None) == _NO_SUCH_RANGE:
                part.unlink(missing_ok=True)
            elif not is_temporary:
                break
            continue
        try:
            other = _difference(part, source)
        except UserError as error:
            # Without a size from the server, a broken connection gives a damaged archive.
            part.unlink()
            reason = f"the downloaded file cannot be used: {error.found}"
            continue
        if not other:
            with writing(destination):
                with open(part, "rb") as file:
                    os.fsync(file.fileno())
                os.replace(part, destination)
            return
        part.unlink()
        if resumed:
            # The earlier part may have been of another file: start again once from nothing.
            resumed = False
            reason = f"the file that arrived has {other}"
            continue
        raise UserError(
            location=address,
            found=f"the file that arrived has {other}",
            expected=_identity(source),
            remedy="the file at this address has changed: place the intended file "
            + _by_hand(source, destination),
        )
    if size is None:
        part.unlink(missing_ok=True)
    raise UserError(
        location=address,
        found=f"the download failed ({reason}){_searched(mirrors)}",
        expected=_identity(source) if size is None else f"{size} bytes with {_identity(source)}",
        remedy="check the network connection and run the same snakemake command again; "
        "without network, place the file " + _by_hand(source, destination),
    )


def _fetch(address: str, part: Path, size: int | None) -> None:
    """Append to `part` the missing ones of the `size` bytes at `address`; all if None."""
    start = part.stat().st_size if part.exists() else 0
    if part.exists() and start == size:
        return
    request = urllib.request.Request(address, headers={"Accept-Encoding": "identity"})
    if start:
        request.add_header("Range", f"bytes={start}-")
    with open_address(request, TIMEOUT) as response:
        range_sent = response.headers.get("Content-Range", "")
        if response.status != 206 or not re.match(rf"bytes {start}-", range_sent):
            start = 0
        if size and response.length is not None and response.length != size - start:
            kind = response.headers.get_content_type()
            raise ConnectionError(
                f"the server announces {response.length} bytes ({kind}) instead of {size - start}"
            )
        total = size or response.length or 0
        most = size or min(total or MAX_ARCHIVE, MAX_ARCHIVE)
        with writing(part):
            if not start:
                part.unlink(missing_ok=True)
            # A link that was placed under this name is never followed.
            mode = os.O_APPEND if start else os.O_CREAT | os.O_EXCL
            opened = os.open(part, os.O_WRONLY | os.O_NOFOLLOW | mode, 0o666)
        with open(opened, "ab") as file:
            done, begin = start, time.monotonic()
            # Reads whatever has arrived, so that a very slow server is noticed.
            while chunk := response.read1(_CHUNK):
                done += len(chunk)
                if done > most:
                    break
                with writing(part):
                    file.write(chunk)
                    # Otherwise a full disk would be noticed only when the file is closed.
                    file.flush()
                spent = time.monotonic() - begin
                if spent > TIMEOUT and done - start < MIN_SPEED * spent:
                    raise TimeoutError(f"only {done - start} bytes came in {spent:.0f} seconds")
    if done > most:
        part.unlink()
        raise UserError(
            location=address,
            found=f"the server sends more than {most} bytes",
            expected=f"a file of {size} bytes" if size else f"an archive of at most {most} bytes",
            remedy="the file at this address has changed: fix size, sha256 or address "
            "in the configuration of the dataset",
        )
    if done < total:
        raise ConnectionError(f"the connection closed after {done} of {total} bytes")


def _is_own_file(path: Path) -> bool:
    """Return whether a path is a file that no other name and no link leads to."""
    try:
        state = path.lstat()
    except FileNotFoundError:
        return False
    return stat.S_ISREG(state.st_mode) and state.st_nlink == 1


def _by_hand(source: Mapping[str, Any], destination: Path) -> str:
    return (
        f"by hand at {destination}, or at FOLDER/{source['path']} and set {MIRROR_VARIABLE}=FOLDER"
    )


def _searched(mirrors: Sequence[Path]) -> str:
    if not mirrors:
        return f" and no mirror folder is set in {MIRROR_VARIABLE}"
    states = [f"{mirror}{'' if mirror.is_dir() else ' (no such folder)'}" for mirror in mirrors]
    return f" and the file is in no mirror folder: {', '.join(states)}"


def _refuse_escape(name: str) -> None:
    path = PurePosixPath(name.replace("\\", "/"))
    leads_out = path.is_absolute() or ".." in path.parts or re.match(r"[A-Za-z]:", name)
    too_long = any(len(os.fsencode(part)) > MAX_NAME_LENGTH for part in path.parts)
    too_long |= len(os.fsencode(name)) > MAX_PATH_LENGTH
    if leads_out or too_long or re.search(r"[\0-\x1f\x7f]", name):
        raise UserError(
            location="path of the source",
            found=f"{name[:300]!r} leads out of its folder" if leads_out else f"{name[:300]!r}",
            expected="a relative path without '..' and without control characters, of at most "
            f"{MAX_PATH_LENGTH} bytes, with names of at most {MAX_NAME_LENGTH}",
            remedy="do not use this file unless you trust where it comes from",
        )
