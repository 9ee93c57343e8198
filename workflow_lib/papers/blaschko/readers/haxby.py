"""Reader of one slice of the brain while categories of pictures were seen (Haxby et al. 2001).

Of a tar archive two members are read: ``bold.nii.gz``, volumes in the format NIfTI-1
(https://nifti.nimh.nih.gov/nifti-1), and ``attributes_literal.txt``, with the category and the run
of each volume on a line.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Literal

from workflow_lib.core.archive_members import matching_members
from workflow_lib.core.archives import unpacked_gzip
from workflow_lib.core.errors import UserError
from workflow_lib.core.settings import Settings
from workflow_lib.core.values import Flag
from workflow_lib.tabular.tables import dataset_tree, only_source

if TYPE_CHECKING:
    import numpy as np

MEMBERS = "data/[ab]*[lz]*"
VOLUMES, LABELS = "bold.nii.gz", "attributes_literal.txt"
REST = "rest"

_HEADER = 348
_INTEGERS_16, _FLOATS_32 = 4, 16
"""Codes of data types in NIfTI-1."""


class Options(Settings):
    """Options of the reader ``haxby``."""

    rows: Literal["blocks", "volumes"] = "blocks"
    """What a row is: the mean over a block of volumes of one category (`blocks`, the default), or a
    single volume (`volumes`); those at rest are then rows too, of which all outputs are 0."""

    classes: Flag = False
    """Whether the categories are classes, for `task: classes` and blocks, instead of numeric
    outputs."""


def read(options: Options, sources: Sequence[Path], seed: int) -> dict[str, Any]:
    """Return a row for each block of volumes of one category, or for each volume.

    `seed` is not used.

    ``inputs``: the voxels that vary in every run. From each voxel the linear trend of its run is
    subtracted, then the mean of the volumes at rest of the run, and the result is divided by their
    standard deviation; a row is the mean over the volumes of its block, unless it is one volume.
    Nothing is learned from other runs. ``outputs``: for each category, in alphabetical order, 1 in
    its blocks and 0 in the others. ``groups``: ``run``, the number of the run of each row.
    ``places``: ``row`` and ``column`` of each voxel; slices are below each other. ``classes``:
    ``labels`` and ``vectors``, the outputs of each category, where they are asked for.

    Raises UserError when a member is missing or cannot be read, or volumes and lines differ in
    number.
    """
    import numpy as np

    path = only_source(sources, "haxby")
    members = {
        PurePosixPath(name).name: content for name, content in matching_members(path, MEMBERS)
    }
    for name in (VOLUMES, LABELS):
        if name not in members:
            raise _fault(path, f"an archive without {name}", f"{VOLUMES} and {LABELS}")
    labels, runs = _labels(f"{path}, {LABELS}", members[LABELS])
    volumes, width = _volumes(f"{path}, {VOLUMES}", members[VOLUMES])
    if len(volumes) != len(labels):
        found = f"{len(volumes)} volumes and {len(labels)} lines in {LABELS}"
        raise _fault(path, found, "a line for each volume")
    scaled = np.empty_like(volumes)
    varies = np.ones(volumes.shape[1], dtype=bool)
    for run in np.unique(runs):
        of_run = runs == run
        scaled[of_run], deviation = _scaled(volumes[of_run], labels[of_run] == REST)
        varies &= deviation > 0
    begins = np.flatnonzero(np.append(True, (labels[1:] != labels[:-1]) | (runs[1:] != runs[:-1])))
    categories = sorted(set(labels) - {REST})
    if options.rows == "volumes":
        rows, of_rows = scaled[:, varies], np.arange(len(labels))
    else:
        counts = np.diff(np.append(begins, len(labels)))
        means = np.add.reduceat(scaled[:, varies], begins, axis=0) / counts[:, None]
        is_row = labels[begins] != REST
        rows, of_rows = means[is_row], begins[is_row]
    outputs = (labels[of_rows][:, None] == np.array(categories)).astype(np.float64)
    voxels = np.flatnonzero(varies)
    groups: dict[str, Any] = {"groups": {"run": runs[of_rows]}}
    groups["places"] = {"row": voxels // width, "column": voxels % width}
    if options.classes:
        groups["classes"] = {"labels": outputs.argmax(axis=1), "vectors": np.eye(len(categories))}
        groups["names"] = {"classes": json.dumps(categories)}
    return dataset_tree(
        rows,
        outputs,
        [f"voxel_{voxel:04d}" for voxel in voxels],
        categories,
        location=str(path),
        **groups,
    )


def _labels(location: str, content: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Return the categories (n,) and the runs (n,) of volumes."""
    import numpy as np

    labels, runs = [], []
    for number, line in enumerate(content.decode("utf-8", "replace").splitlines(), start=1):
        label, _, run = line.strip().partition(" ")
        if not run.strip().isdecimal():
            raise _fault(
                f"{location}, line {number}", f"'{line}'", "a category and the number of a run"
            )
        labels.append(label)
        runs.append(int(run))
    return np.array(labels), np.array(runs, dtype=np.int64)


def _volumes(location: str, content: bytes) -> tuple[np.ndarray, int]:
    """Return volumes (n, voxels) of a file in the format NIfTI-1, little-endian, and their width.
    The voxels of a row of so many follow each other, then the rows of a slice."""
    import numpy as np

    try:
        content = unpacked_gzip(content)
    except (OSError, EOFError, zlib.error) as error:
        raise _fault(location, f"no complete gzip file ({error})", "an undamaged file") from error
    if len(content) < _HEADER or struct.unpack_from("<i", content)[0] != _HEADER:
        raise _fault(
            location, "no header of NIfTI-1 in little-endian order", "a file in this format"
        )
    n_dimensions, *shape = struct.unpack_from("<8h", content, 40)
    (kind,) = struct.unpack_from("<h", content, 70)
    offset, slope, intercept = struct.unpack_from("<3f", content, 108)
    types = {_INTEGERS_16: "<i2", _FLOATS_32: "<f4"}
    if n_dimensions != 4 or min(shape[:4]) < 1 or kind not in types:
        found = f"{n_dimensions} dimensions {shape} of the type {kind}"
        raise _fault(location, found, "four dimensions, of 16-bit integers or 32-bit numbers")
    width, height, depth, n_volumes = shape[:4]
    size = n_volumes * width * height * depth
    numbers = np.frombuffer(content[int(offset) :], dtype=np.uint8)
    if len(numbers) < size * np.dtype(types[kind]).itemsize:
        raise _fault(location, "fewer numbers than the header says", "an undamaged file")
    values = np.frombuffer(content, types[kind], count=size, offset=int(offset)).astype(np.float64)
    if slope != 0.0:
        values = slope * values + intercept
    # The first dimension varies fastest.
    return values.reshape(n_volumes, width * height * depth), width


def _scaled(volumes: np.ndarray, is_rest: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return volumes (n, voxels) without trend, in units of rest, and the deviations at rest."""
    import numpy as np

    time = np.linspace(-1.0, 1.0, len(volumes))
    centred = volumes - volumes.mean(axis=0)
    detrended = centred - np.outer(time, time @ centred / (time @ time))
    rest = detrended[is_rest]
    deviation = rest.std(axis=0)
    # Rounding leaves a constant voxel a deviation of a few units in the last place.
    deviation[deviation <= 1e-12 * np.abs(volumes).max(axis=0)] = 0.0
    return (detrended - rest.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0), deviation


def _fault(location: object, found: str, expected: str) -> UserError:
    return UserError(
        location=str(location),
        found=found,
        expected=expected,
        remedy="use the file that the dataset names, with its SHA-256",
    )
