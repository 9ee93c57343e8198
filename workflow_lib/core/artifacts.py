"""Artifacts: the HDF5 files through which the jobs of the workflow hand their results on.

A tree is a nested dictionary. Its numpy arrays become HDF5 datasets, its numbers and texts
become attributes of their group, its dictionaries become groups. The same tree always gives
the same bytes, whatever the order of its dictionaries, so that a recomputed result can be
compared with the old one as a file.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from h5py import h5a, h5d, h5g, h5o, h5s

from workflow_lib.core.errors import UserError
from workflow_lib.core.stored_rows import StoredRows
from workflow_lib.core.whole_files import whole_file

SCHEMA_VERSION = 2
"""Version of the layout written by `write_artifact`; `read_artifact` accepts no other."""

_HEADER_NAMES = ("kind", "schema_version", "seed", "inputs", "allow_nan")
_RESERVED_NAMES = (*_HEADER_NAMES, "content_digest")

# This version of the file format protects its own metadata with checksums, so that a damaged
# file is refused by the HDF5 library instead of being misread.
_FORMAT = ("v110", "v110")

_STORED_AS_ITEMS = (Mapping, np.ndarray)
"""Types of the values that become groups and datasets; the others become attributes."""

MAX_DEPTH = 32
"""Groups within groups that are read; artifacts have fewer than ten."""

_GROUP = object()
"""Stands for a group in the flat form of a tree, so that empty groups survive."""


def write_artifact(
    path: str | os.PathLike,
    tree: Mapping[str, Any],
    kind: str,
    seed: int | None = None,
    inputs: Sequence[str | os.PathLike] = (),
    allow_nan: Sequence[str] = (),
) -> None:
    """Write `tree` to `path`, whole or not at all.

    The file is written under a temporary name in the same folder, flushed to the disk and then
    renamed; on any failure the temporary file is removed and an older `path` stays unchanged.

    Parameters
    ----------
    path : path
        The file to write; missing parent folders are created.
    tree : nested dict
        Values are dictionaries, numpy arrays (bool, integer or float, any shape, also empty),
        or bool, int, float, str. Names are non-empty texts without ``/``. Names of the root's
        numbers and texts must differ from those of the root attributes (see Notes).
    kind : str
        What the file holds, for example ``"dataset"`` or ``"predictions"``.
    seed : int, default=None
        The seed the content was computed with, recorded in the file.
    inputs : sequence of paths, default=()
        The files the content was computed from. Each is recorded under its name relative to the
        folder of `path` (an absolute one stays absolute if `path` is relative), with its content
        digest (artifacts) or the SHA-256 of its bytes (other files, tables of the user in HDF5
        among them).
    allow_nan : sequence of str, default=()
        Arrays and numbers that may hold NaN or infinity, by name (``"outputs"``: wherever it
        stands in the tree) or by full path (``"n-50/outputs"``).

    Raises
    ------
    UserError
        When a float that is not listed in `allow_nan` is NaN or infinite, or when the disk or
        the folder refuses the file.
    TypeError, ValueError
        When the tree holds a value or a name that cannot be stored.

    Notes
    -----
    Root attributes: ``kind``, ``schema_version``, ``seed`` (when given), ``inputs`` and
    ``allow_nan`` (JSON), and ``content_digest``: the SHA-256 over the other root attributes and
    over every name, dtype, shape, array and attribute of the tree in sorted order.
    """
    path = Path(path)
    entries = dict(_flatten(tree))
    at_root = {name for name, value in tree.items() if not isinstance(value, _STORED_AS_ITEMS)}
    if reserved := at_root.intersection(_RESERVED_NAMES):
        raise ValueError(f"{sorted(reserved)} at the root of an artifact are names of its header")
    fault = _first_not_finite(entries, allow_nan)
    if fault is not None:
        raise UserError(
            location=f"{path}, '{fault[0]}'",
            found=f"{fault[1]}; nothing was written",
            expected="finite numbers only",
            remedy="look in the inputs of this job for values that are missing or extreme",
        )
    header: dict[str, Any] = {
        "kind": kind,
        "schema_version": SCHEMA_VERSION,
        "inputs": json.dumps(_input_digests(inputs, path.parent), sort_keys=True),
        "allow_nan": json.dumps(sorted(allow_nan)),
    }
    if seed is not None:
        header["seed"] = int(seed)
    header["content_digest"] = _content_digest(header, entries)

    with whole_file(path) as target, h5py.File(target, "w", libver=_FORMAT, locking=False) as file:
        for name in sorted(header):
            _store_attribute(file, name, header[name])
        for name in sorted(entries):
            _store(file, name, entries[name])
            target.check()


def read_artifact(
    path: str | os.PathLike, kind: str, streamed: Sequence[str] = ()
) -> dict[str, Any]:
    """Read the tree that `write_artifact` wrote to `path`, checking that it is unharmed.

    Arrays come back with their dtype and shape, numbers and texts as Python bool, int, float
    and str. The file is not locked, because locks fail or stall on many network disks and
    artifacts never change after they are written.

    Raises UserError when the file is missing, empty, truncated or no HDF5 file, is of another kind
    or schema version, differs from its digest, or holds NaN or infinity where its writer allowed
    none.

    Parameters
    ----------
    path : path
    kind : str
        What the file must hold, as given to `write_artifact`.
    streamed : sequence of str, default=()
        Arrays that are not kept in memory, by name or full path as in `allow_nan` of
        `write_artifact`. They come back as `workflow_lib.core.stored_rows.StoredRows`, which read
        their rows on request and keep the file open until then. They are checked like all other
        arrays, in blocks of rows, before any row is returned, so they are read once more than other
        arrays. A file that is changed later is refused at the next reading, with the same kind of
        error. Names that the file does not hold, or that are groups, numbers, texts or arrays
        without an axis, are ignored.
    """
    path = Path(path)
    with ExitStack() as opened:
        header, entries = _load(path, opened, streamed)
        _check(path, kind, header, entries)
        tree = _nest(path, entries)
        if any(isinstance(value, StoredRows) for value in entries.values()):
            # The file is closed when the last of these is deleted.
            opened.pop_all()
    return tree


def artifact_digest(path: str | os.PathLike) -> str:
    """Return the content digest recorded in the artifact `path`, without reading its arrays.

    Raises UserError when the file is missing, damaged, no artifact, or of another schema version.
    """
    with ExitStack() as opened:
        header, _ = _load(Path(path), opened)
    return header["content_digest"]


def _flatten(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield (full path, value) of everything in `tree`, values in the form they are stored."""
    for name, value in tree.items():
        if not isinstance(name, str):
            raise TypeError(f"names in an artifact are texts, found {name!r} in '{prefix}'")
        if not name or "/" in name or "\0" in name or name == ".":
            raise ValueError(f"'{prefix}{name}' cannot be a name in an artifact")
        full = prefix + name
        if isinstance(value, Mapping):
            yield full, _GROUP
            yield from _flatten(value, full + "/")
        elif isinstance(value, np.ndarray):
            if value.dtype.kind not in "biuf":
                raise TypeError(f"'{full}' has dtype {value.dtype}: store numbers, or text as JSON")
            yield full, np.asarray(value, dtype=value.dtype.newbyteorder("<"), order="C")
        elif isinstance(value, str):
            if "\0" in value:
                raise ValueError(f"'{full}' holds a NUL character, which cannot be stored")
            yield full, str(value)
        elif isinstance(value, (bool, int, float)):
            # numpy's float64 is a Python float too; only its plain form is the same everywhere.
            yield full, value.item() if isinstance(value, np.generic) else value
        elif isinstance(value, np.generic) and value.dtype.kind in "biuf":
            yield full, value.item()
        else:
            raise TypeError(f"'{full}' is a {type(value).__name__}, which cannot be stored")


def _nest(path: Path, entries: Mapping[str, Any]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for name in sorted(entries):
        *groups, last = name.split("/")
        parent = tree
        for group in groups:
            parent = parent.get(group)
            if not isinstance(parent, dict):
                raise _damaged(path, f"'{name}' stands below a value", "values within groups")
        parent[last] = {} if entries[name] is _GROUP else entries[name]
    return tree


def _store(file: h5py.File, name: str, value: Any) -> None:
    group, _, last = name.rpartition("/")
    parent = file[group] if group else file
    if value is _GROUP:
        parent.create_group(last)
    elif isinstance(value, np.ndarray):
        parent.create_dataset(last, data=value, track_times=False)
    else:
        _store_attribute(parent, last, value)


def _store_attribute(group: h5py.Group, name: str, value: bool | int | float | str) -> None:
    if isinstance(value, str):
        # Texts of fixed length, because those of variable length lie in a heap without a
        # checksum, and the HDF5 library can loop forever on a damaged heap.
        data = value.encode()
        dtype = h5py.string_dtype("utf-8", max(len(data), 1))
        group.attrs.create(name, np.array(data, dtype=dtype), dtype=dtype)
    else:
        group.attrs[name] = value


def _load(
    path: Path, opened: ExitStack, streamed: Sequence[str] | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the root attributes and the flat tree of the artifact `path`. The tree is empty if
    `streamed` is None. The file is closed by `opened`."""
    if not path.is_file():
        raise UserError(
            location=str(path),
            found="the file does not exist",
            expected="an artifact written by an earlier job",
            remedy="run the same snakemake command again",
        )
    if path.stat().st_size == 0:
        raise _damaged(path, "the file is empty", "an HDF5 file")
    try:
        if not h5py.is_hdf5(path):
            raise _damaged(path, "the file is not an HDF5 file", "an HDF5 file")
        file = opened.enter_context(h5py.File(path, "r", locking=False))
        attributes = _attributes(file.id)
        header = _header(path, attributes)
        at_root = {name: attributes[name] for name in attributes.keys() - header.keys()}
        return header, {} if streamed is None else at_root | _entries(path, file, streamed)
    except (OSError, RuntimeError, KeyError, ValueError, TypeError) as error:
        if "memory allocation failed" in str(error):
            # The HDF5 library reports a lack of memory this way: the file is not at fault.
            raise MemoryError from error
        raise _damaged(
            path, f"the file is truncated or damaged ({error})", "an intact HDF5 file"
        ) from error


def _header(path: Path, attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of the attributes of the root that describe an artifact."""
    header = {name: attributes[name] for name in _RESERVED_NAMES if name in attributes}
    for name in _RESERVED_NAMES:
        if name not in header and name != "seed":
            raise _damaged(
                path, f"the root attribute '{name}' is missing", "an artifact of this workflow"
            )
    if header["schema_version"] != SCHEMA_VERSION:
        raise UserError(
            location=str(path),
            found=f"an artifact of another version of the workflow, with schema version "
            f"{header['schema_version']}",
            expected=f"schema version {SCHEMA_VERSION}",
            remedy="run the snakemake command that made it again, with --forceall",
        )
    return header


def _check(path: Path, kind: str, header: Mapping[str, Any], entries: Mapping[str, Any]) -> None:
    """Raise UserError unless the artifact is of the kind, unchanged since written, and finite."""
    if header["kind"] != kind:
        raise _damaged(path, f"the file is a '{header['kind']}' artifact", f"a '{kind}' artifact")
    if header["content_digest"] != _content_digest(header, entries):
        raise _damaged(
            path,
            "the contents do not match their digest: the file was altered or damaged on the disk",
            f"contents with the digest {header['content_digest']}",
        )
    try:
        allow_nan = [str(name) for name in json.loads(header["allow_nan"])]
    except (ValueError, TypeError, RecursionError) as error:
        raise _damaged(path, f"'allow_nan' is not readable ({error})", "a list as JSON") from error
    fault = _first_not_finite(entries, allow_nan)
    if fault is not None:
        raise _damaged(path, f"'{fault[0]}' {fault[1]}", "finite numbers only")


def _entries(path: Path, file: h5py.File, streamed: Sequence[str]) -> dict[str, Any]:
    entries: dict[str, Any] = {}
    remaining = path.stat().st_size

    # The objects of h5py's high-level interface take most of the time to read many small arrays.
    def visit(encoded: bytes, found: h5o.ObjInfo) -> None:
        nonlocal remaining
        name = encoded.decode()
        if name.count("/") >= MAX_DEPTH:
            raise ValueError(f"over {MAX_DEPTH} groups within groups")
        if found.type != h5o.TYPE_DATASET:
            entries[name] = _GROUP
            if found.num_attrs == 0:
                return
        item = h5o.open(file.id, encoded)
        if found.type == h5o.TYPE_DATASET:
            shape, dtype = item.shape, item.dtype
            remaining -= math.prod(shape) * dtype.itemsize
            _check_dataset(name, item, dtype, remaining)
            if shape and _is_listed(name, streamed):
                entries[name] = StoredRows(h5py.Dataset(item), partial(_damaged, path))
            else:
                entries[name] = values = np.zeros(shape, dtype=dtype)
                if values.size:
                    item.read(h5s.ALL, h5s.ALL, values)
        if found.num_attrs:
            for attribute, value in _attributes(item).items():
                entries[f"{name}/{attribute}"] = value

    h5o.visit(file.id, visit, info=True)
    return entries


def _check_dataset(name: str, item: h5d.DatasetID, dtype: np.dtype, remaining: int) -> None:
    """Refuse a dataset that no job wrote, or that leaves less than no bytes of the file."""
    created = item.get_create_plist()
    if created.get_layout() == h5d.VIRTUAL or created.get_external_count():
        # A file must not make this process read other files.
        raise ValueError(f"'{name}' lies in another file")
    if dtype.kind not in "biuf":
        raise ValueError(f"'{name}' is of the type {dtype}")
    if remaining < 0:
        # Reading it would fill the memory, or fail as if the machine had too little.
        raise ValueError(f"'{name}' has a stated size larger than the file")


def _attributes(item: h5g.GroupID | h5d.DatasetID) -> dict[str, bool | int | float | str]:
    """Return the attributes of an item by name.

    Refuse, before it is read, what `write_artifact` does not write.
    """
    attributes = {}
    for index in range(h5a.get_num_attrs(item)):
        stored = h5a.open(item, index=index)
        name = stored.name.decode()
        if stored.shape != () or stored.dtype.kind not in "biufS":
            raise ValueError(f"the attribute '{name}' is of the type {stored.dtype}")
        value = np.zeros((), dtype=stored.dtype)
        stored.read(value)
        attributes[name] = value.item().decode() if value.dtype.kind == "S" else value.item()
    return attributes


def _content_digest(header: Mapping[str, Any], entries: Mapping[str, Any]) -> str:
    digest = hashlib.sha256()

    def line(*parts: Any) -> None:
        digest.update((json.dumps(parts) + "\n").encode())

    for name in _HEADER_NAMES:
        line("header", name, repr(header.get(name)))
    for name in sorted(entries):
        value = entries[name]
        if value is _GROUP:
            line("group", name)
        elif isinstance(value, (np.ndarray, StoredRows)):
            line("array", name, value.dtype.str, value.shape)
            for block in _blocks(value):
                digest.update(np.ascontiguousarray(block))
        else:
            line("attribute", name, type(value).__name__, repr(value))
    return digest.hexdigest()


def _first_not_finite(
    entries: Mapping[str, Any], allow_nan: Sequence[str]
) -> tuple[str, str] | None:
    """Return the name of the first float entry that is not finite, and what it holds."""
    for name in sorted(entries):
        value = entries[name]
        if _is_listed(name, allow_nan):
            continue
        if isinstance(value, float) and not math.isfinite(value):
            return name, f"is {value}"
        if isinstance(value, (np.ndarray, StoredRows)) and value.dtype.kind == "f":
            count = sum(int(np.count_nonzero(~np.isfinite(block))) for block in _blocks(value))
            if count:
                return name, f"holds {count} of {value.size} values that are NaN or infinite"
    return None


def _blocks(array: np.ndarray | StoredRows) -> Iterator[np.ndarray]:
    """Yield the rows of an array: all at once, or in blocks if the array is in a file."""
    if isinstance(array, StoredRows):
        yield from array.blocks()
    else:
        yield array


def _is_listed(name: str, listed: Sequence[str]) -> bool:
    """Return whether the full path `name`, or its last part, is among the names."""
    return name in listed or name.rpartition("/")[2] in listed


def _input_digests(inputs: Sequence[str | os.PathLike], folder: Path) -> dict[str, str]:
    digests = {}
    for path in map(Path, inputs):
        # Of a file that a user names by its full path only the name is for others to read.
        is_elsewhere = path.is_absolute() and not folder.is_absolute()
        name = path.name if is_elsewhere else Path(os.path.relpath(path, folder)).as_posix()
        if path.suffix == ".h5" and not _is_other_hdf5(path):
            digests[name] = artifact_digest(path)
        else:
            with open(path, "rb") as file:
                digests[name] = hashlib.file_digest(file, "sha256").hexdigest()
    return digests


def _is_other_hdf5(path: Path) -> bool:
    """Return whether a file is intact HDF5 that no job wrote: a table of the user. A damaged file
    is taken for an artifact, whose message says what to do."""
    try:
        with h5py.File(path, "r", locking=False) as file:
            return not any(name in file.attrs for name in ("schema_version", "content_digest"))
    except OSError:
        return False


def _damaged(path: Path, found: str, expected: str) -> UserError:
    return UserError(
        location=str(path),
        found=found,
        expected=expected,
        remedy=f"rm {path} and run the same snakemake command again",
    )
