"""Members of a tar archive: read without unpacking, and recognised by a digest of their contents.

Two archives of the same files differ in compression, dates, leading folders and further files.
The digest of the relevant members is the same for all of them.

Nothing is unpacked to the disk. A pattern such as ``MAEC_Dataset/*/text.txt`` is matched part by
part against the end of a member's name, so that any folders may precede it; ``*``, ``?`` and
``[...]`` match within one part of the name, and upper and lower case differ.
"""

from __future__ import annotations

import fnmatch
import hashlib
import tarfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from workflow_lib.core.archives import MAX_MEMBER, content_of, members_of, opened_tar, readable
from workflow_lib.core.errors import UserError


class MembersDigest(NamedTuple):
    """The properties by which an archive is recognised."""

    sha256: str
    """SHA-256 (hexadecimal) over the lines of `members_digest`."""

    size: int
    """Bytes of the matching members in all."""

    count: int
    """Number of members that match."""


def members_digest(path: Path, pattern: str) -> MembersDigest:
    """Return the digest of the members of the archive `path` that match `pattern`.

    It is the SHA-256 over one line for every matching member, in the order of the lines' bytes:
    its path from the beginning of the pattern on (UTF-8), a zero byte, the SHA-256 of its
    contents (hexadecimal) and a line feed. Neither compression, order, dates, leading folders
    nor other members change it.

    Raises UserError as `matching_members`.
    """
    lines, size = [], 0
    for name, content in matching_members(path, pattern):
        line = f"{name}\0{hashlib.sha256(content).hexdigest()}\n"
        lines.append(line.encode("utf-8", "surrogateescape"))
        size += len(content)
    return MembersDigest(hashlib.sha256(b"".join(sorted(lines))).hexdigest(), size, len(lines))


def matching_members(path: Path, pattern: str) -> Iterator[tuple[str, bytes]]:
    """Yield the path, from the beginning of `pattern` on, and the contents of matching members.

    They are in the order of the archive; a name that occurs twice there is yielded twice. Folders
    are skipped.

    Raises UserError when the file cannot be read, is damaged or not a tar archive (plain or
    compressed with gzip, bzip2 or xz), when no member matches, or when a matching member is a link,
    a device or larger than MAX_MEMBER.
    """
    found = False
    remedy = f"rm -f {path} and run the same snakemake command again"
    with (
        readable(path, "a tar archive, plain or compressed", remedy),
        open(path, "rb") as file,
        opened_tar(file, path.stat().st_size) as archive,
    ):
        for member in members_of(archive):
            name = path_from_pattern(member.name, pattern)
            if name is None or member.isdir():
                continue
            _refuse_unreadable(path, member)
            found = True
            yield name, content_of(archive, member)
    if not found:
        raise UserError(
            location=str(path),
            found=f"no member of the archive matches {pattern}",
            expected="an archive that holds such files, in any folder",
            remedy="check that this is the intended archive",
        )


def path_from_pattern(name: str, pattern: str) -> str | None:
    """Return the end of the member's `name` that matches `pattern`, None when none does."""
    parts, patterns = PurePosixPath(name).parts, PurePosixPath(pattern).parts
    end = parts[-len(patterns) :]
    if len(end) < len(patterns) or not all(map(fnmatch.fnmatchcase, end, patterns)):
        return None
    return "/".join(end)


def _refuse_unreadable(path: Path, member: tarfile.TarInfo) -> None:
    if member.isreg() and not member.issparse() and member.size <= MAX_MEMBER:
        return
    large = member.size > MAX_MEMBER
    raise UserError(
        location=str(path),
        found=f"the member '{member.name}' "
        + (f"has {member.size} bytes" if large else "is a link or a device, not a plain file"),
        expected=f"plain files of at most {MAX_MEMBER} bytes",
        remedy="do not use this archive unless you trust where it comes from",
    )
