"""The description of a stored estimator, checked before skops makes any object of it.

skops stores an object as a zip archive: a tree of nodes in JSON, of which each names a class and
how its object is made, and files of arrays. Here every node is compared with an exact list
(`workflow_lib.solvers.stored.classes`), and every size with the number of bytes that were
given, so that reading foreign bytes runs no code of their choice, and ends soon.
"""

import io
import json
import math
import zipfile
from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from workflow_lib.core.archives import DAMAGE, most_unpacked
from workflow_lib.core.named_class import current_module
from workflow_lib.solvers.stored.classes import CLASSES_OF_NODES, is_allowed_object

SCHEMA = "schema.json"
"""The name of the description in the archive."""

MAX_DESCRIPTION, MAX_VALUES, MAX_DEPTH = 1 << 26, 2_000_000, 200
"""Bytes of a description, its values, and levels of values within values. A forest of 5,000 trees
has 30 MB and 700,000 values; estimators have at most some twenty levels."""

_OBJECT, _TREE = "ObjectNode", "TreeNode"
_FILES = {"BytesNode": ".bin", "BytearrayNode": ".bin", "SparseMatrixNode": ".npz"}


class UnsafeEstimator(ValueError):
    """Stored bytes that are not those of an estimator that may be loaded; says why."""


def checked_estimator(data: bytes, trusted: Collection[str]) -> tuple[bytes, list[str]]:
    """Return a stored estimator and the names of all its classes, after checking its description.

    Where the description has former names of modules of this library, those that are returned have
    the present ones.

    Raises UnsafeEstimator if it holds another class, function or kind of node, sizes that do not
    fit, or is damaged.

    Parameters
    ----------
    data : bytes
    trusted : collection of str
        Names of classes, with their modules, that it may hold besides those of the list.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            _check_members(archive, len(data))
            if archive.getinfo(SCHEMA).file_size > MAX_DESCRIPTION:
                raise UnsafeEstimator(f"a description of over {MAX_DESCRIPTION} bytes")
            schema = json.loads(archive.read(SCHEMA))
            if _rename_modules(schema):
                data = _with_description(archive, schema)
            return data, _names(archive, schema, trusted)
    except UnsafeEstimator:
        raise
    except (*DAMAGE, TypeError, AttributeError) as error:
        raise UnsafeEstimator(f"a damaged description ({type(error).__name__}: {error})") from error


def _rename_modules(schema: Any) -> bool:
    """Give the modules of a description their present names; return whether any had another."""
    renamed = False
    for node in _nodes(schema):
        present = current_module(node["__module__"])
        renamed = renamed or present != node["__module__"]
        node["__module__"] = present
    return renamed


def _with_description(archive: zipfile.ZipFile, schema: Any) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as copy:
        for name in archive.namelist():
            copy.writestr(name, json.dumps(schema) if name == SCHEMA else archive.read(name))
    return written.getvalue()


def _check_members(archive: zipfile.ZipFile, n_bytes: int) -> None:
    members = archive.infolist()
    if len({member.filename for member in members}) < len(members):
        raise UnsafeEstimator("several files of one name")
    if any(member.compress_type not in (0, zipfile.ZIP_DEFLATED) for member in members):
        raise UnsafeEstimator("a file that is packed in an unusual way")
    size = sum(member.file_size for member in members)
    if size > most_unpacked(n_bytes):
        raise UnsafeEstimator(f"{size} bytes when unpacked, out of {n_bytes}")


def _names(archive: zipfile.ZipFile, schema: Any, trusted: Collection[str]) -> list[str]:
    from skops.io._protocol import PROTOCOL

    if schema["protocol"] != PROTOCOL:
        raise UnsafeEstimator(f"a description of the version {schema['protocol']}, not {PROTOCOL}")
    checked: set[tuple[str, str]] = set()
    kinds: dict[Any, tuple] = {}
    for node in _nodes(schema):
        kind, module, name = (node[key] for key in ("__loader__", "__module__", "__class__"))
        full = f"{module}.{name}"
        # A node with a known number is taken for the earlier node of that number.
        if kinds.setdefault(node.get("__id__"), (kind, full)) != (kind, full):
            raise UnsafeEstimator("different objects of one number")
        if kind == "JsonNode":
            _check_plain(node["content"])
            continue
        if (kind, full) not in checked:
            _check_class(kind, module, name, trusted)
            checked.add((kind, full))
        _check_files(archive, kind, node)
        if kind == _TREE:
            _check_arguments_of_tree(archive, node["__reduce__"]["args"]["content"])
    return sorted({full for _, full in checked})


def _nodes(schema: Any) -> Iterator[dict]:
    """Yield every node of a description, wherever it stands."""
    level, n_values = [schema], 0
    for _ in range(MAX_DEPTH):
        n_values += len(level)
        if n_values > MAX_VALUES:
            raise UnsafeEstimator(f"over {MAX_VALUES} values")
        containers = [each for each in level if isinstance(each, (dict, list))]
        yield from (each for each in containers if isinstance(each, dict) and "__loader__" in each)
        level = [
            value
            for each in containers
            for value in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return
    raise UnsafeEstimator(f"over {MAX_DEPTH} levels of values within values")


def _check_plain(content: Any) -> None:
    if not isinstance(content, str) or isinstance(json.loads(content), (dict, list)):
        raise UnsafeEstimator("a plain value that is none")


def _check_class(kind: str, module: str, name: str, trusted: Collection[str]) -> None:
    full = f"{module}.{name}"
    allowed = (
        is_allowed_object(module, name, trusted)
        if kind == _OBJECT
        else full in CLASSES_OF_NODES.get(kind, ())
    )
    if not allowed:
        raise UnsafeEstimator(f"{full} ({kind})")


def _check_files(archive: zipfile.ZipFile, kind: str, node: dict) -> None:
    if kind in _FILES and not node["file"].endswith(_FILES[kind]):
        raise UnsafeEstimator(f"{kind} in the file {node['file']}")
    if kind == "NdArrayNode" and node["type"] == "numpy":
        _check_array(archive.read(node["file"]))
    if kind == "SparseMatrixNode":
        content = archive.read(node["file"])
        with zipfile.ZipFile(io.BytesIO(content)) as parts:
            _check_members(parts, len(content))
            for part in parts.namelist():
                _check_array(parts.read(part))


def _check_array(content: bytes) -> tuple[tuple[int, ...], np.dtype]:
    """Return shape and type of an array in NumPy's format; refuse objects and wrong sizes."""
    file = io.BytesIO(content)
    version = np.lib.format.read_magic(file)
    read = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    shape, _, dtype = read[version](file)
    if dtype.hasobject or math.prod(shape) * dtype.itemsize != len(content) - file.tell():
        raise UnsafeEstimator(f"an array of the shape {shape} and the type {dtype}")
    return shape, dtype


def _check_arguments_of_tree(archive: zipfile.ZipFile, arguments: list[dict]) -> None:
    """Refuse arguments with which the constructor of a tree would read beyond an array."""
    n_features, n_classes, n_outputs = arguments
    if "JsonNode" != n_features["__loader__"] or "JsonNode" != n_outputs["__loader__"]:
        raise UnsafeEstimator("a tree without numbers of features and outputs")
    shape, dtype = _check_array(archive.read(n_classes["file"]))
    if dtype.kind != "i" or shape != (json.loads(n_outputs["content"]),):
        raise UnsafeEstimator("a tree whose numbers of classes do not fit its outputs")
