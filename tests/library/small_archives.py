"""Small tar archives for tests."""

import io
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path


def write_archive(
    path: Path, members: Mapping[str, str] | Iterable[tuple[str, str]], mode: str = "w:gz"
) -> Path:
    """Write a tar archive of texts: name to text, or pairs of both where a name comes twice."""
    pairs = members.items() if isinstance(members, Mapping) else members
    with tarfile.open(path, mode) as archive:
        for name, text in pairs:
            content = text if isinstance(text, bytes) else text.encode()
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path
