"""Stored rows are indexed as in numpy, read in small parts, and refuse a changed file."""

import gc
import os

import h5py
import numpy as np
import pytest
from each_case import each_case

from workflow_lib.core import stored_rows
from workflow_lib.core.errors import UserError
from workflow_lib.core.stored_rows import StoredRows

N_ROWS = 23


def damaged(found, expected):
    return UserError("example.h5", found, expected, "rm example.h5")


def example(shape=(N_ROWS, 3), dtype=np.float64) -> np.ndarray:
    values = np.random.default_rng(0).integers(0, 2 if dtype is bool else 100, size=shape)
    return values.astype(dtype)


def stored(path, array) -> StoredRows:
    with h5py.File(path, "w", locking=False) as file:
        file["group/rows"] = array
    return StoredRows(h5py.File(path, "r", locking=False)["group/rows"], damaged)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "example.h5"


@pytest.fixture(params=[(2**24, 2**16), (64, 24), (1, 0)], ids=["one block", "blocks", "rows"])
def limits(request, monkeypatch):
    """Blocks as they are, of two rows, and of one row (the last two of rows of 24 bytes)."""
    monkeypatch.setattr(stored_rows, "BLOCK_BYTES", request.param[0])
    monkeypatch.setattr(stored_rows, "READ_THROUGH_BYTES", request.param[1])


@pytest.fixture
def reads(monkeypatch) -> list[slice]:
    """Slices of the file that are read."""
    seen = []
    read = StoredRows._read

    def spy(rows, numbers):
        seen.append(numbers)
        return read(rows, numbers)

    monkeypatch.setattr(StoredRows, "_read", spy)
    return seen


SLICES = [
    slice(None),
    slice(5),
    slice(3, 17),
    slice(-4, None),
    slice(2, -2, 3),
    slice(None, None, -1),
    slice(20, 3, -4),
    slice(5, 5),
    slice(9, 4),
    slice(100, 200),
]
CHOICES = [
    [4, 5, 6],
    [6, 0, 22, 3],
    [7, 7, 0, 7],
    [-1, 0, -23],
    [],
    range(3, 9, 2),
    np.array([2, 9], dtype=np.uint8),
    np.array([], dtype=np.int32),
    np.arange(N_ROWS) % 4 == 1,
    np.zeros(N_ROWS, dtype=bool),
    [True] * N_ROWS,
]


@each_case("dtype", [np.float64, np.float32, np.int64, np.uint8, bool])
@each_case("shape", [(N_ROWS,), (N_ROWS, 3), (N_ROWS, 2, 3), (N_ROWS, 0)])
def test_rows_are_chosen_as_numpy_chooses_them(path, limits, shape, dtype):
    array = example(shape, dtype)
    rows = stored(path, array)
    assert (rows.shape, rows.dtype) == (array.shape, array.dtype)
    assert (rows.ndim, rows.size, len(rows)) == (array.ndim, array.size, len(array))
    for chosen in SLICES:
        assert rows[chosen].shape == array[chosen].shape
        assert_equal(np.asarray(rows[chosen]), array[chosen])
    for chosen in CHOICES:
        assert_equal(rows[chosen], array[chosen])
    for number in (0, 22, -1, -23, np.int32(4)):
        assert_equal(np.asarray(rows[number]), np.asarray(array[number]))


def assert_equal(found, expected):
    assert isinstance(found, np.ndarray)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected, strict=True)


def test_views_of_views_choose_as_numpy_does(path, limits):
    generator = np.random.default_rng(1)
    array = example()
    rows = stored(path, array)
    for _ in range(200):
        view, expected = rows, array
        for _ in range(3):
            start, stop = generator.integers(-N_ROWS, N_ROWS, size=2)
            step = int(generator.choice([-3, -1, 1, 2]))
            view, expected = view[start:stop:step], expected[start:stop:step]
        assert_equal(np.asarray(view), expected)
        if len(expected):
            chosen = generator.integers(-len(expected), len(expected), size=6)
            assert_equal(view[chosen], expected[chosen])
            assert_equal(view[expected[:, 0] > 50], expected[expected[:, 0] > 50])
            assert_equal(view[int(chosen[0])], expected[chosen[0]])


@each_case(
    "chosen",
    [
        N_ROWS,
        -N_ROWS - 1,
        [0, N_ROWS],
        [-N_ROWS - 1],
        np.ones(N_ROWS - 1, dtype=bool),
        [0.0, 1.0],
        np.empty(0),
        [[0, 1]],
        (0, 1),
        (slice(None), 0),
        True,
        None,
        Ellipsis,
        "rows",
    ],
    ids=str,
)
def test_other_choices_are_refused(path, chosen):
    with pytest.raises(IndexError):
        stored(path, example())[chosen]


def test_an_iteration_gives_the_rows_and_ends(path):
    array = example()
    np.testing.assert_array_equal(list(stored(path, array)[3:8]), array[3:8])


def test_conversions_follow_numpy(path):
    array = example()
    rows = stored(path, array)
    assert_equal(np.asarray(rows, dtype=np.float32), array.astype(np.float32))
    assert_equal(np.vstack([rows[2:4], array]), np.vstack([array[2:4], array]))
    with pytest.raises(ValueError, match="copied"):
        np.array(rows, copy=False)


def test_an_array_without_axes_has_no_rows(path):
    with pytest.raises(ValueError, match="no rows"):
        stored(path, np.array(1.0))


def test_slices_read_nothing(path, reads):
    rows = stored(path, example())
    view = rows[:9][2:][::-1]
    assert (len(view), view.shape, view.dtype) == (7, (7, 3), np.float64)
    assert reads == []
    assert view[0].shape == (3,)
    assert reads == [slice(8, 9)]


def test_near_rows_are_read_together_and_far_rows_separately(path, reads, monkeypatch):
    monkeypatch.setattr(stored_rows, "READ_THROUGH_BYTES", 2 * 24)
    rows = stored(path, example())
    rows[[22, 1, 4, 3, 12]]
    # Between 4 and 12 lie seven unwanted rows, between 1 and 3 one.
    assert reads == [slice(1, 5), slice(12, 13), slice(22, 23)]


def test_no_reading_of_chosen_rows_is_larger_than_a_block(path, reads, monkeypatch):
    monkeypatch.setattr(stored_rows, "BLOCK_BYTES", 4 * 24)
    rows = stored(path, example())
    rows[np.random.default_rng(0).permutation(N_ROWS)]
    assert max(read.stop - read.start for read in reads) == 4
    # Every row is read once.
    assert sorted(n for read in reads for n in range(read.start, read.stop)) == [*range(N_ROWS)]
    reads.clear()
    assert [len(block) for block in rows.blocks()] == [4] * 5 + [3]
    assert max(read.stop - read.start for read in reads) == 4


def test_blocks_are_the_rows_in_their_order(path, limits):
    array = example()
    np.testing.assert_array_equal(np.concatenate([*stored(path, array).blocks()]), array)
    assert [*stored(path, array[:0]).blocks()] == []


def later(path, change):
    """Change a file in place, at a later time whatever the resolution of the clock."""
    time = os.stat(path).st_mtime_ns
    change(path)
    os.utime(path, ns=(time, time + 10**9))


def cut(path):
    os.truncate(path, os.path.getsize(path) - 8)


def flip(path):
    with open(path, "r+b") as file:
        file.seek(os.path.getsize(path) - 8)
        file.write(b"\1")


@pytest.mark.parametrize("change", [cut, flip])
@pytest.mark.parametrize("choice", [0, [3, 1], slice(4)], ids=["row", "rows", "view"])
def test_a_file_that_was_changed_is_refused(path, change, choice):
    rows = stored(path, example())
    view = rows[2:]
    later(path, change)
    for changed in (rows, view):
        with pytest.raises(UserError, match="changed while it was in use.*rm example.h5"):
            np.asarray(changed[choice])


def test_a_file_that_cannot_be_read_any_more_is_reported(path):
    rows = stored(path, example())
    rows._file.close()
    with pytest.raises(UserError, match="can no longer be read.*rm example.h5"):
        rows[0]


def test_a_file_that_takes_the_name_changes_nothing(path, tmp_path):
    array = example()
    rows = stored(path, array)
    other = tmp_path / "other.h5"
    stored(other, array + 1)
    os.replace(other, path)
    assert_equal(np.asarray(rows), array)
    assert_equal(rows[[2, 0]], array[[2, 0]])
    path.unlink()
    assert_equal(rows[[2, 0]], array[[2, 0]])


def test_the_file_stays_open_for_the_last_view_and_no_longer(path):
    array = example()
    rows = stored(path, array)
    descriptor = rows._descriptor
    view = rows[4:6]
    del rows
    gc.collect()
    assert_equal(np.asarray(view), array[4:6])
    assert os.path.samestat(os.fstat(descriptor), os.stat(path))
    del view
    gc.collect()
    with pytest.raises(OSError):
        os.fstat(descriptor)
