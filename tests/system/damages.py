"""Ways to damage a file of a finished run, all of which keep its date."""

import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path

import h5py

Damage = Callable[[Path, Path, bool], None]
"""Damages a file, possibly with the content of another of the same kind; has two variants."""


def damage(path: Path, how: Damage, other: Path, variant: bool = False) -> None:
    """Damage a file and keep its date; its content always changes."""
    before, state = path.read_bytes(), path.stat()
    how(path, other, variant)
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert how is make_unreadable or path.read_bytes() != before


def cut_off(path: Path, other: Path, last_byte: bool) -> None:
    """Keep half of a file, or all but the last byte."""
    content = path.read_bytes()
    path.write_bytes(content[: -1 if last_byte else len(content) // 2])


def flip_bit(path: Path, other: Path, in_attribute: bool) -> None:
    """Change one bit, such that most files can still be read: a number or a name differs."""
    content = bytearray(path.read_bytes())
    if path.suffix == ".h5":
        index = _location_of_attribute(path) if in_attribute else _location_of_number(path)
    elif in_attribute:
        index = next(index for index, byte in enumerate(content) if chr(byte).isalpha())
    else:
        is_digit = [byte in b"0123456789" for byte in content]
        index = max(range(len(content)), key=lambda index: (is_digit[index], index))
    content[index] ^= 1
    path.write_bytes(content)


def replace(path: Path, other: Path, variant: bool) -> None:
    """Replace a file by another."""
    path.write_bytes(other.read_bytes())


def empty(path: Path, other: Path, variant: bool) -> None:
    """Empty a file."""
    path.write_bytes(b"")


def make_unreadable(path: Path, other: Path, variant: bool) -> None:
    """Forbid everyone to read a file."""
    path.chmod(0)


def another_file(name: str, names: Iterable[str]) -> str:
    """Return the file that replaces `name`: that of another split, else the most similar one."""

    def distance(other: str) -> tuple[bool, bool, bool]:
        is_split = re.sub(r"/split-\d+/", "/", other) == re.sub(r"/split-\d+/", "/", name)
        path = Path(other)
        return not is_split, path.name != Path(name).name, path.suffix != Path(name).suffix

    return min((other for other in sorted(names) if other != name), key=distance)


def _location_of_number(path: Path) -> int:
    """Return the position of the middle of the largest array in an HDF5 file."""
    locations: list[tuple[int, int]] = []

    def note(name: str, item: h5py.Group | h5py.Dataset) -> None:
        if isinstance(item, h5py.Dataset) and item.id.get_offset() is not None:
            locations.append((item.nbytes, item.id.get_offset()))

    with h5py.File(path, "r", locking=False) as file:
        file.visititems(note)
    size, offset = max(locations)
    return offset + size // 2


def _location_of_attribute(path: Path) -> int:
    """Return the position of the text of the attribute ``content_digest`` in an HDF5 file."""
    with h5py.File(path, "r", locking=False) as file:
        text = file.attrs["content_digest"].item()
    return path.read_bytes().index(text)
