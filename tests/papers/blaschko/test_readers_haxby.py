"""Blocks of volumes of brain scans as rows."""

import gzip
import json
import struct
from pathlib import Path

import numpy as np
import pytest
from reader_samples import acquired, catalogue, refusal
from small_archives import write_archive

from workflow_lib.data.reading import read_dataset

BLOCKS = ("rest", "shoe", "rest", "cat", "rest")
LENGTH = 4
RUNS = 3


def volumes() -> np.ndarray:
    """Return volumes (60, 6) with trends; one voxel is constant, and one in the second run."""
    generator = np.random.default_rng(0)
    scan = 100.0 + generator.integers(-20, 20, size=(RUNS * len(BLOCKS) * LENGTH, 6))
    scan[:, 1] += np.arange(len(scan))
    scan[:, 4] = 0.0
    scan[len(BLOCKS) * LENGTH : 2 * len(BLOCKS) * LENGTH, 5] = 7.0
    return scan


def lines() -> list[str]:
    return [f"{name} {run}" for run in range(RUNS) for name in BLOCKS for _ in range(LENGTH)]


def nifti(scan: np.ndarray, kind: int = 4, slope: float = 1.0, intercept: float = 0.0) -> bytes:
    """Return volumes (n, 6) of 3 x 2 x 1 voxels in the format NIfTI-1."""
    header = bytearray(352)
    struct.pack_into("<i", header, 0, 348)
    struct.pack_into("<8h", header, 40, 4, 3, 2, 1, len(scan), 1, 1, 1)
    struct.pack_into("<h", header, 70, kind)
    struct.pack_into("<3f", header, 108, 352.0, slope, intercept)
    return bytes(header) + scan.astype({4: "<i2", 16: "<f4"}.get(kind, "<f8")).tobytes()


def archive(folder: Path, scan: bytes | None = None, text: str | None = None) -> Path:
    members = {
        "top/mvpa2/data/bold.nii.gz": gzip.compress(nifti(volumes()) if scan is None else scan),
        "top/mvpa2/data/attributes_literal.txt": "\n".join(lines()) if text is None else text,
    }
    return write_archive(folder / "scans.tar", members, "w")


def read(path: Path, **options) -> dict:
    return read_dataset("haxby", options, [path], seed=0)


def expected(row: int) -> np.ndarray:
    """Return the voxels of a block: without the trend of its run, in units of rest."""
    run, block = divmod(row, 2)
    rows = slice(run * len(BLOCKS) * LENGTH, (run + 1) * len(BLOCKS) * LENGTH)
    scan, time = volumes()[rows], np.arange(len(BLOCKS) * LENGTH)
    scan = (
        scan
        - np.polynomial.polynomial.polyval(time, np.polynomial.polynomial.polyfit(time, scan, 1)).T
    )
    rest = scan[np.repeat([name == "rest" for name in BLOCKS], LENGTH)]
    begin = (1, 3)[block] * LENGTH
    return ((scan - rest.mean(axis=0)) / rest.std(axis=0))[begin : begin + LENGTH].mean(axis=0)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_rows_are_blocks_in_units_of_rest(tmp_path):
    tree = read(archive(tmp_path))
    assert json.loads(tree["names"]["outputs"]) == ["cat", "shoe"]
    assert json.loads(tree["names"]["inputs"]) == [f"voxel_{voxel:04d}" for voxel in range(4)]
    np.testing.assert_array_equal(tree["outputs"], [[0, 1], [1, 0]] * RUNS)
    np.testing.assert_array_equal(tree["places"]["row"], [0, 0, 0, 1])
    np.testing.assert_array_equal(tree["places"]["column"], [0, 1, 2, 0])
    np.testing.assert_array_equal(tree["groups"]["run"], [0, 0, 1, 1, 2, 2])
    for row in range(2 * RUNS):
        np.testing.assert_allclose(tree["inputs"][row], expected(row)[:4], atol=1e-9)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_rows_may_be_volumes(tmp_path):
    blocks, tree = (read(archive(tmp_path), rows=rows) for rows in ("blocks", "volumes"))
    assert tree["inputs"].shape == (RUNS * len(BLOCKS) * LENGTH, 4)
    is_seen = tree["outputs"].any(axis=1)
    expected = [name != "rest" for _ in range(RUNS) for name in BLOCKS for _ in range(LENGTH)]
    np.testing.assert_array_equal(is_seen, expected)
    for name in ("inputs", "outputs"):
        means = tree[name][is_seen].reshape(2 * RUNS, LENGTH, -1).mean(axis=1)
        np.testing.assert_allclose(means, blocks[name], atol=1e-12)
    np.testing.assert_array_equal(tree["groups"]["run"][is_seen][::LENGTH], blocks["groups"]["run"])


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_categories_may_be_classes(tmp_path):
    tree = read(archive(tmp_path), classes=True)
    assert json.loads(tree["names"]["classes"]) == ["cat", "shoe"]
    np.testing.assert_array_equal(tree["classes"]["labels"], [1, 0] * RUNS)
    np.testing.assert_array_equal(
        tree["classes"]["vectors"][tree["classes"]["labels"]], tree["outputs"]
    )


def test_types_and_factors_of_the_format(tmp_path):
    tree = read(archive(tmp_path))
    scaled = nifti((volumes() - 5.0) / 2.0, 16, 2.0, 5.0)
    np.testing.assert_allclose(read(archive(tmp_path, scaled))["inputs"], tree["inputs"], atol=1e-6)


@pytest.mark.parametrize(
    ("scan", "text", "words"),
    [
        (nifti(volumes()[:-1]), None, "59 volumes and 60 lines"),
        (nifti(volumes())[:-2], None, "fewer numbers"),
        (nifti(volumes(), 64), None, "of the type 64"),
        (b"\0" * 400, None, "no header of NIfTI-1"),
        (None, "shoe\n", "line 1"),
    ],
)
def test_files_that_cannot_be_read(tmp_path, scan, text, words):
    assert words in refusal(read, archive(tmp_path, scan, text))


def test_members_that_are_missing_or_damaged(tmp_path):
    path = tmp_path / "scans.tar"
    write_archive(path, {"data/bold.nii.gz": gzip.compress(nifti(volumes()))}, "w")
    assert "without attributes_literal.txt" in refusal(read, path)
    write_archive(path, {"data/bold.nii.gz": b"no", "data/attributes_literal.txt": "shoe 0"}, "w")
    assert "no complete gzip file" in refusal(read, path)


def test_the_scans_of_the_catalogue(tmp_path, mirror):
    (path,) = acquired("haxby", mirror, tmp_path)
    assert catalogue("haxby")["reader"] == "haxby"
    tree = read(path)
    assert tree["inputs"].shape == (96, 530)
    np.testing.assert_array_equal(tree["outputs"].sum(axis=0), 12)
