"""Text files written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from workflow_lib.errors import UserError


def write_text(path: str | Path, text: str) -> None:
    """Write UTF-8 `text` with line feeds under a temporary name and rename it to `path`.

    Folders on the way are made. On any failure the temporary file is removed and an older
    `path` stays as it was.

    Raises
    ------
    UserError
        When the disk or the folder refuses the file.
    """
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: str | Path, content: bytes) -> None:
    """Write `content` as `write_text` does."""
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _replace(path, content)
    except OSError as error:
        raise UserError(
            place=str(path),
            found=f"the file could not be written ({error.strerror or error})",
            expected="a folder that may be written to, with free space",
            remedy="free space or mend the permissions, then run the same snakemake command again",
        ) from error


def _replace(path: Path, content: bytes) -> None:
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        # mkstemp makes files private; a result is as readable as any file its user makes.
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
