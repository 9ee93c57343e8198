"""Artifacts are read exactly as they were written, or refused."""

import fcntl
import gc
import hashlib
import json
import os
import time
import tracemalloc

import h5py
import numpy as np
import pytest

from workflow_lib.core import artifacts, stored_rows
from workflow_lib.core.artifacts import artifact_digest, read_artifact, write_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.core.stored_rows import StoredRows

EVERY_ARRAY = ("inputs", "n-50", "empty", "mask", "level", "small")


def example_tree() -> dict:
    return {
        "inputs": np.arange(12.0).reshape(4, 3),
        "folds": {"n-50": np.array([0, 1, 2], dtype=np.int32), "none": {}},
        "empty": np.empty((0, 3)),
        "mask": np.array([True, False]),
        "level": np.array(2.5),
        "small": np.array([1.5], dtype=np.float32),
        "count": 7,
        "share": 0.1,
        "wide": True,
        "title": "Ähre, 音, 🙂",
        "blank": "",
        "names": {"inputs": '["a", "b"]', "several": 3, "deep": {"er": {"value": -1}}},
    }


def assert_same(left, right, name=""):
    assert type(left) is type(right), name
    if isinstance(left, dict):
        assert set(left) == set(right), name
        for key in left:
            assert_same(left[key], right[key], f"{name}/{key}")
    elif isinstance(left, np.ndarray):
        assert left.dtype == right.dtype, name
        assert left.shape == right.shape, name
        np.testing.assert_array_equal(left, right, name)
    else:
        assert left == right, name


def reversed_tree(tree: dict) -> dict:
    return {
        key: reversed_tree(value) if isinstance(value, dict) else value
        for key, value in reversed(tree.items())
    }


@pytest.fixture
def path(tmp_path):
    return tmp_path / "results" / "example.h5"


@pytest.fixture
def written(path):
    write_artifact(path, example_tree(), "dataset", seed=3)
    return path


@pytest.fixture(params=[(), EVERY_ARRAY], ids=["whole", "streamed"])
def streamed(request, monkeypatch):
    """Names of arrays that stay in the file, in blocks of one row."""
    monkeypatch.setattr(stored_rows, "BLOCK_BYTES", 1)
    return request.param


def in_memory(tree: dict) -> dict:
    return {
        name: in_memory(value)
        if isinstance(value, dict)
        else np.asarray(value)
        if isinstance(value, StoredRows)
        else value
        for name, value in tree.items()
    }


def assert_refused(path, *words, kind="dataset", remedy=True, streamed=()):
    with pytest.raises(UserError) as caught:
        read_artifact(path, kind, streamed)
    message = str(caught.value)
    assert str(path) in message
    for word in words:
        assert word in message
    if remedy:
        assert f"rm {path} and run the same snakemake command again" in message


def test_tree_is_read_unchanged(written):
    assert_same(read_artifact(written, "dataset"), example_tree())


def test_numpy_numbers_become_python_numbers(path):
    tree = {"a": np.float64(0.1), "b": np.int32(3), "c": np.bool_(True), "d": np.str_("text")}
    write_artifact(path, tree, "dataset")
    assert_same(read_artifact(path, "dataset"), {"a": 0.1, "b": 3, "c": True, "d": "text"})


def test_transposed_and_big_endian_arrays_keep_their_values(path):
    table = np.arange(6.0).reshape(2, 3)
    write_artifact(path, {"t": table.T, "b": table.astype(">f8")}, "dataset")
    assert_same(read_artifact(path, "dataset"), {"t": np.ascontiguousarray(table.T), "b": table})


def test_two_writes_are_byte_identical(tmp_path):
    # HDF5 stores many attributes, and long texts, in another way than a few short ones.
    many = {f"s{number}": number / 3 for number in range(50)}
    tree = example_tree() | {"group": many, "long": "xyz" * 50_000}
    first, second = tmp_path / "first.h5", tmp_path / "second.h5"
    write_artifact(first, tree, "dataset", seed=3)
    write_artifact(second, reversed_tree(tree), "dataset", seed=3)
    assert_same(read_artifact(first, "dataset"), tree)
    assert first.read_bytes() == second.read_bytes()


def test_any_change_of_the_tree_changes_the_digest(tmp_path):
    changes = [
        {},
        {"count": 8},
        {"count": 7.0},
        {"count": "7"},
        {"count": True},
        {"inputs": np.arange(12.0).reshape(3, 4)},
        {"inputs": np.arange(12).reshape(4, 3)},
        {"inputs": np.nextafter(np.arange(12.0).reshape(4, 3), 99)},
        {"title": "title"},
        {"new": {}},
        {"folds": {}},
    ]
    digests = []
    for number, change in enumerate(changes):
        write_artifact(tmp_path / f"{number}.h5", {**example_tree(), **change}, "dataset", seed=3)
        digests.append(artifact_digest(tmp_path / f"{number}.h5"))
    assert len(set(digests)) == len(changes)


def test_an_hdf5_table_of_the_user_is_an_input_by_its_bytes(tmp_path):
    table = tmp_path / "table.h5"
    with h5py.File(table, "w") as file:
        file["x"] = np.arange(3.0)
        file.attrs["kind"] = "measurements"
    write_artifact(tmp_path / "dataset.h5", {"n": 1}, "dataset", inputs=[table])
    with h5py.File(tmp_path / "dataset.h5") as file:
        recorded = json.loads(file.attrs["inputs"])
    assert recorded == {"table.h5": hashlib.sha256(table.read_bytes()).hexdigest()}
    # A damaged file may be an artifact, and then the message says how to make it again.
    table.write_bytes(table.read_bytes()[:100])
    with pytest.raises(UserError, match="table.h5"):
        write_artifact(tmp_path / "dataset.h5", {"n": 1}, "dataset", inputs=[table])


def test_header_records_kind_version_seed_and_inputs(tmp_path, written):
    raw = tmp_path / "table.csv"
    raw.write_text("abc")
    path = tmp_path / "results" / "deeper" / "next.h5"
    write_artifact(path, {"n": 1}, "split", seed=11, inputs=[written, raw])
    with h5py.File(path) as file:
        header = {
            name: value.decode() if isinstance(value, bytes) else value
            for name, value in file.attrs.items()
        }
    assert header["kind"] == "split"
    assert header["schema_version"] == artifacts.SCHEMA_VERSION
    assert header["seed"] == 11
    assert header["content_digest"] == artifact_digest(path)
    assert json.loads(header["inputs"]) == {
        "../../table.csv": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        "../example.h5": artifact_digest(written),
    }


def test_digest_is_read_without_the_arrays(written):
    digest = artifact_digest(written)
    content = bytearray(written.read_bytes())
    position = content.find(np.arange(12.0).tobytes())
    content[position + 8] ^= 1
    written.write_bytes(content)
    assert artifact_digest(written) == digest


def test_missing_file(path):
    assert_refused(path, "does not exist", "run the same snakemake command again", remedy=False)
    with pytest.raises(UserError, match="does not exist"):
        artifact_digest(path)


@pytest.mark.parametrize(
    ("content", "fault"), [(b"", "is empty"), (b"a,b\n1,2\n", "not an HDF5 file")]
)
def test_other_file(written, content, fault):
    written.write_bytes(content)
    assert_refused(written, fault)


def test_foreign_hdf5_file(path):
    path.parent.mkdir()
    with h5py.File(path, "w") as file:
        file["inputs"] = np.zeros(3)
    assert_refused(path, "root attribute 'kind' is missing")


def test_every_truncation_is_caught(written, streamed):
    content = written.read_bytes()
    for length in range(0, len(content), 97):
        written.write_bytes(content[:length])
        assert_refused(written, streamed=streamed)
    written.write_bytes(content[:-1])
    assert_refused(written, "truncated or damaged", streamed=streamed)


@pytest.mark.parametrize("byte", [0, 8, 40, 95])
def test_flipped_bit_in_an_array_is_caught(written, streamed, byte):
    content = bytearray(written.read_bytes())
    position = content.find(np.arange(12.0).tobytes())
    content[position + byte] ^= 1
    written.write_bytes(content)
    assert_refused(written, "altered or damaged on the disk", "digest", streamed=streamed)


def test_every_flipped_bit_is_noticed(written, streamed):
    content = written.read_bytes()
    caught = 0
    for position in range(0, len(content), 13):
        changed = bytearray(content)
        changed[position] ^= 1 << (position % 8)
        written.write_bytes(changed)
        try:
            tree = in_memory(read_artifact(written, "dataset", streamed))
        except UserError:
            caught += 1
        else:
            # The bit is in an unused part of the file.
            assert_same(tree, example_tree())
    assert caught > 50


@pytest.mark.parametrize(
    ("edit", "fault"),
    [
        (lambda file: file.attrs.update(seed=4), "altered or damaged on the disk"),
        (lambda file: file.update(extra=np.zeros(2)), "altered or damaged on the disk"),
        (
            lambda file: file.create_dataset("huge", shape=(10**12,), dtype="f8"),
            "'huge' has a stated size larger than the file",
        ),
    ],
)
def test_an_edited_file_is_refused(written, edit, fault):
    with h5py.File(written, "r+") as file:
        edit(file)
    assert_refused(written, fault)


def test_foreign_parts_with_the_right_digest_are_refused(path, monkeypatch):
    def nested(file):
        group = file
        for _ in range(3000):
            group = group.create_group("g")

    def text_of_any_length(file):
        file.attrs["text"] = "variable"

    def several_numbers(file):
        file.attrs["numbers"] = np.arange(3)

    def reference(file):
        file.attrs.create("place", file.ref, dtype=h5py.ref_dtype)

    def objects(file):
        file.create_dataset("texts", data=["a", "b"], dtype=h5py.string_dtype())

    def records(file):
        file.create_dataset("records", data=np.zeros(2, dtype=[("a", "f8")]))

    def many(file):
        for number in range(9):
            file.create_dataset(f"zeros-{number}", shape=(10_000,), dtype="f8", chunks=(100,))

    def no_list(file):
        file.attrs["allow_nan"] = np.array(b"[" * 3000)

    changes = (nested, text_of_any_length, several_numbers, reference, objects, records, many)
    monkeypatch.setattr(artifacts, "_content_digest", lambda header, entries: "0" * 64)
    for change in (*changes, no_list):
        write_artifact(path, example_tree(), "dataset")
        with h5py.File(path, "r+") as file:
            change(file)
        begin = time.process_time()
        assert_refused(path)
        assert time.process_time() - begin < 2, change


@pytest.mark.parametrize(
    "error", [MemoryError(), RuntimeError("Can't read data (memory allocation failed)")]
)
def test_lack_of_memory_is_not_reported_as_a_fault_of_the_file(written, monkeypatch, error):
    def fail(*arguments):
        raise error

    monkeypatch.setattr(artifacts, "_entries", fail)
    with pytest.raises(MemoryError):
        read_artifact(written, "dataset")


def test_wrong_kind(written):
    assert_refused(written, "a 'dataset' artifact", "a 'split' artifact", kind="split")


def test_other_schema_version(path, monkeypatch):
    monkeypatch.setattr(artifacts, "SCHEMA_VERSION", 99)
    write_artifact(path, {"n": 1}, "dataset")
    monkeypatch.undo()
    words = "schema version 99", f"schema version {artifacts.SCHEMA_VERSION}", "--forceall"
    assert_refused(path, *words, remedy=False)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_float_that_is_not_finite_is_not_written(path, value):
    with pytest.raises(UserError, match="'folds/weights' *: holds 1 of 3 values"):
        write_artifact(path, {"folds": {"weights": np.array([0, value, 1])}}, "dataset")
    with pytest.raises(UserError, match="'alpha'"):
        write_artifact(path, {"alpha": float(value)}, "dataset")
    assert not path.exists()


@pytest.mark.parametrize("allowed", ["outputs", "n-50/outputs"])
def test_what_is_listed_may_hold_nan(path, allowed):
    tree = {"n-50": {"outputs": np.array([np.nan, 1.0, np.inf])}, "alpha": float("inf")}
    write_artifact(path, tree, "dataset", allow_nan=[allowed, "alpha"])
    for streamed in ((), ["outputs"]):
        assert_same(in_memory(read_artifact(path, "dataset", streamed)), tree)
    with pytest.raises(UserError, match="'weights'"):
        tree["weights"] = np.array([np.nan])
        write_artifact(path, tree, "dataset", allow_nan=[allowed, "alpha"])


@pytest.mark.parametrize("streamed", [(), ("outputs",)])
def test_reader_refuses_nan_that_another_writer_let_through(path, monkeypatch, streamed):
    values = np.zeros((7, 2))
    values[[1, 6], [0, 1]] = np.nan, np.inf
    with monkeypatch.context() as patch:
        patch.setattr(artifacts, "_first_not_finite", lambda entries, allow_nan: None)
        write_artifact(path, {"outputs": values}, "dataset")
    monkeypatch.setattr(stored_rows, "BLOCK_BYTES", 1)
    words = "'outputs' holds 2 of 14 values that are NaN or infinite"
    assert_refused(path, words, streamed=streamed)


@pytest.mark.parametrize(
    ("tree", "error", "words"),
    [
        ({"a": np.array(["x"])}, TypeError, "'a' has dtype"),
        ({"a": {"b": None}}, TypeError, "'a/b' is a NoneType"),
        ({"a": [1, 2]}, TypeError, "'a' is a list"),
        ({1: 2}, TypeError, "names"),
        ({"a/b": 2}, ValueError, "a/b"),
        ({"": 2}, ValueError, "cannot be a name"),
        ({"a": "x\0y"}, ValueError, "NUL"),
        ({"seed": 2}, ValueError, "seed"),
        ({"kind": "x"}, ValueError, "kind"),
    ],
)
def test_what_cannot_be_stored_is_refused(path, tree, error, words):
    with pytest.raises(error, match=words):
        write_artifact(path, tree, "dataset")
    assert not path.exists()


def test_names_of_the_header_are_free_for_arrays_and_groups(path):
    tree = {"inputs": np.zeros(2), "kind": {"seed": 1}}
    write_artifact(path, tree, "dataset")
    assert_same(read_artifact(path, "dataset"), tree)


def test_locked_file_is_read(written):
    with open(written, "rb") as holder:
        fcntl.flock(holder, fcntl.LOCK_EX)
        assert_same(read_artifact(written, "dataset"), example_tree())


@pytest.mark.parametrize("block_bytes", [1, 50, 2**24])
def test_streamed_arrays_hold_what_was_written(written, monkeypatch, block_bytes):
    monkeypatch.setattr(stored_rows, "BLOCK_BYTES", block_bytes)
    tree = read_artifact(written, "dataset", EVERY_ARRAY)
    for name in ("inputs", "empty", "mask", "small"):
        assert isinstance(tree[name], StoredRows)
    assert isinstance(tree["folds"]["n-50"], StoredRows)
    # Without an axis there are no rows; and the text of the same name is none of the arrays.
    assert isinstance(tree["level"], np.ndarray)
    assert tree["names"]["inputs"] == example_tree()["names"]["inputs"]
    assert_same(in_memory(tree), example_tree())


@pytest.mark.parametrize(
    ("streamed", "expected"),
    [
        (["n-50"], ["folds/n-50"]),
        (["folds/n-50"], ["folds/n-50"]),
        (["inputs/n-50", "folds", "absent", "count", "title"], []),
        (["inputs"], ["inputs"]),
    ],
)
def test_arrays_are_streamed_by_name_or_full_path(written, streamed, expected):
    tree = read_artifact(written, "dataset", streamed)
    assert isinstance(tree["inputs"], StoredRows) == ("inputs" in expected)
    assert isinstance(tree["folds"]["n-50"], StoredRows) == ("folds/n-50" in expected)
    assert_same(in_memory(tree), example_tree())


def test_checking_and_reading_a_streamed_array_needs_little_memory(path, monkeypatch):
    monkeypatch.setattr(stored_rows, "BLOCK_BYTES", 2**16)
    array = np.random.default_rng(0).normal(size=(2**16, 8))
    write_artifact(path, {"inputs": array}, "dataset")
    peaks = {}
    for streamed in ((), ("inputs",)):
        gc.collect()
        tracemalloc.start()
        rows = read_artifact(path, "dataset", streamed)["inputs"]
        total = sum(rows[start : start + 500][[0, 499]].sum() for start in range(0, 65000, 500))
        peaks[streamed] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert total == pytest.approx(array[:65000].reshape(-1, 500, 8)[:, [0, 499]].sum())
    assert peaks[()] > array.nbytes
    assert peaks[("inputs",)] < array.nbytes / 8


def test_streamed_rows_are_kept_when_the_file_is_rewritten(written):
    tree = read_artifact(written, "dataset", ["inputs"])
    write_artifact(written, {**example_tree(), "inputs": np.zeros((4, 3))}, "dataset", seed=3)
    assert_same(in_memory(tree), example_tree())
    again = read_artifact(written, "dataset", ["inputs"])
    assert not np.asarray(again["inputs"]).any()


def test_a_file_that_is_damaged_later_is_refused_with_the_remedy(written):
    rows = read_artifact(written, "dataset", ["inputs"])["inputs"]
    os.truncate(written, written.stat().st_size - 1)
    with pytest.raises(UserError, match=f"rm {written} and run the same snakemake command again"):
        rows[[0]]


def test_a_refused_file_is_closed(written):
    before = os.listdir("/dev/fd")
    with pytest.raises(UserError, match="a 'split' artifact") as caught:
        read_artifact(written, "split", EVERY_ARRAY)
    # The error still refers to what was read.
    assert caught.value.__traceback__ is not None
    assert os.listdir("/dev/fd") == before
