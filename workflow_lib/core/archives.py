"""Untrusted archives, opened such that reading needs bounded memory and ends in bounded time.

A few bytes of an archive can expand to more than any disk holds, the header of a member can state
any size, and members can overlap. A tar archive is read here once, from beginning to end; of a zip
archive no more is read than the sizes that it states.
"""

from __future__ import annotations

import bz2
import gzip
import io
import itertools
import lzma
import re
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from workflow_lib.core.errors import UserError

MAX_RATIO = 100
"""Largest ratio of unpacked and packed size of a large file. It is 3 to 30 for tables and texts,
and 1000 or more for compressed zeros."""

ALWAYS_ALLOWED = 1 << 28
"""Unpacked bytes that are allowed for every file."""

MAX_MEMBER = 1 << 28
"""Bytes of a member that is read into memory whole."""

MAX_MEMBERS = 200_000
"""Files and folders of an archive; listing so many takes some seconds."""

MAX_HEADER = 1 << 20
"""Bytes of the header of a member, including its name."""

DAMAGE = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    OSError,
    ArithmeticError,
    LookupError,
    ValueError,
    MemoryError,
    RuntimeError,
)
"""Errors that opening and reading a damaged or encrypted archive can raise. The classes of the
library do not check the fields of a header, so that many kinds of errors can follow."""

_PIECE = 1 << 20
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ZIP_BEGINS = (b"PK\x03\x04", b"PK\x05\x06")


def most_unpacked(n_packed: int) -> int:
    """Return the largest allowed unpacked size in bytes of a file of `n_packed` bytes."""
    return max(ALWAYS_ALLOWED, MAX_RATIO * n_packed)


def printable_name(name: str) -> str:
    """Return a name that can be written as UTF-8: invalid bytes become ``\\xNN``."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def begins_as_zip(path: Path) -> bool:
    """Return whether a file begins like a zip archive."""
    with open(path, "rb") as file:
        return file.read(4) in _ZIP_BEGINS


@contextmanager
def readable(path: Path, kind: str, remedy: str) -> Iterator[None]:
    """Raise a failure to read a file of a `kind`, an error of DAMAGE, as a `UserError`."""
    try:
        yield
    except DAMAGE as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise UserError(
            location=str(path),
            found=f"it cannot be read, is damaged or not {kind} ({reason})",
            expected=f"{kind}, intact",
            remedy=remedy,
        ) from error


def unpacked_gzip(content: bytes) -> bytes:
    """Return the unpacked bytes of a gzip file.

    Raises OSError, EOFError or zlib.error when it is damaged, or becomes more than `most_unpacked`.
    """
    most, pieces, size = most_unpacked(len(content)), [], 0
    with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
        while piece := file.read(_PIECE):
            pieces.append(piece)
            size += len(piece)
            if size > most:
                raise OSError(_swells(most))
    return b"".join(pieces)


@contextmanager
def opened_tar(file: BinaryIO, size: int) -> Iterator[tarfile.TarFile]:
    """Open a tar archive, plain or compressed by gzip, bzip2 or xz, to be read once.

    Raises an error of `DAMAGE`, also in `members_of` and wherever a member is read.

    Parameters
    ----------
    file : binary file
        At its beginning; with a method ``peek``.
    size : int
        The bytes on the disk, of the file itself or of the archive that contains it: they limit
        its unpacked size.
    """
    stream = _Forward(_decompressed(file), most_unpacked(size))
    with tarfile.open(fileobj=stream, mode="r:") as archive:
        yield archive


def members_of(archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    """Yield the members of `opened_tar`; each must be read before the next is requested.

    Only zeros may follow the last member, and the checksum of the compression must be correct:
    otherwise an archive with a damaged middle would be read as a shorter archive.
    """
    stream = archive.fileobj
    for number in itertools.count():
        if number > MAX_MEMBERS:
            raise tarfile.ReadError(f"it has more than {MAX_MEMBERS} members")
        stream.in_header = True
        member = archive.next()
        stream.in_header = False
        if member is None:
            break
        if member.size < 0:
            raise tarfile.ReadError(f"a member claims {member.size} bytes")
        # The class would otherwise keep all members in memory.
        archive.members.clear()
        yield member
    while rest := stream.read(_PIECE):
        if rest.strip(b"\0"):
            raise tarfile.ReadError("unreadable data in the middle")


def content_of(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    """Return the bytes of the plain member that `members_of` has just yielded."""
    if member.size > MAX_MEMBER:
        raise tarfile.ReadError(f"a member has {member.size} bytes")
    return archive.extractfile(member).read()


@contextmanager
def opened_zip(file: Path | BinaryIO) -> Iterator[zipfile.ZipFile]:
    """Open a zip archive, by its path or in memory, after a check of the stated sizes.

    Raises an error of `DAMAGE` here and wherever the archive is read.
    """
    most = most_unpacked(file.stat().st_size if isinstance(file, Path) else file.seek(0, 2))
    with zipfile.ZipFile(file) as archive:
        if sum(member.file_size for member in archive.infolist()) > most:
            raise zipfile.BadZipFile(_swells(most))
        if len(archive.infolist()) > MAX_MEMBERS:
            raise zipfile.BadZipFile(f"it has more than {MAX_MEMBERS} members")
        for member in archive.infolist():
            # For other methods the library unpacks whole blocks of unlimited size.
            if member.compress_type not in _METHODS:
                raise zipfile.BadZipFile("a member is compressed by a method that is not supported")
        yield archive


class _Forward:
    """A stream for `TarFile`: sequential, with limits on each piece and on the total."""

    def __init__(self, source: Any, most: int) -> None:
        self.source = source
        self.most = most
        self.position = 0
        self.in_header = True

    def read(self, size: int) -> bytes:
        if not 0 <= size <= (MAX_HEADER if self.in_header else MAX_MEMBER):
            raise tarfile.ReadError(f"a piece claims {size} bytes")
        data = self.source.read(size)
        self._advance(len(data))
        if self.in_header and re.search(rb"[0-9]{1000}", data):
            # Python before 3.11.10 takes hours to parse such a header.
            raise tarfile.ReadError("a header holds a number of a thousand digits")
        return data

    def seek(self, position: int) -> None:
        if position < self.position:
            raise tarfile.ReadError("members overlap")
        while self.position < position:
            skipped = len(self.source.read(min(position - self.position, _PIECE)))
            if not skipped:
                break
            self._advance(skipped)

    def tell(self) -> int:
        return self.position

    def _advance(self, size: int) -> None:
        self.position += size
        if self.position > self.most:
            raise tarfile.ReadError(_swells(self.most))


def _swells(most: int) -> str:
    return f"it would become more than {most} bytes, too many for its size"


def _decompressed(file: BinaryIO) -> Any:
    start = file.peek(6)
    if start.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=file)
    if start.startswith(b"BZh"):
        return bz2.BZ2File(file)
    if start.startswith(b"\xfd7zXZ\0"):
        return lzma.LZMAFile(file)
    return file
