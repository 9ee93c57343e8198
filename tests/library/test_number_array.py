"""Arrays of numbers are opened; everything else in a numpy file is refused with a message."""

import numpy as np
import pytest
from each_case import each_case

from workflow_lib.core.errors import UserError
from workflow_lib.tabular.number_array import open_number_array


@pytest.mark.parametrize("kind", ["f4", "f8", ">f8", "i2", "u1"])
def test_numbers_are_read_as_they_were_saved(tmp_path, kind):
    values = np.arange(6).reshape(2, 3).astype(kind)
    np.save(tmp_path / "a.npy", values)
    np.testing.assert_array_equal(open_number_array(tmp_path / "a.npy"), values)


class Planted:
    def __reduce__(self):
        return open, ("planted", "w")


@pytest.mark.parametrize(
    "values",
    [
        np.zeros(3),
        np.zeros((0, 3)),
        np.zeros((2, 2), dtype=complex),
        np.zeros((2, 2), dtype=[("a", float)]),
        np.array([["a"]]),
        np.array([[Planted()]], dtype=object),
    ],
    ids=["one axis", "empty", "complex", "records", "texts", "objects"],
)
def test_other_arrays_are_refused(tmp_path, values, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save(tmp_path / "a.npy", values, allow_pickle=True)
    with pytest.raises(UserError, match="a.npy"):
        open_number_array(tmp_path / "a.npy")
    assert [path.name for path in tmp_path.iterdir()] == ["a.npy"]


HEADERS = [
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3)",
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999, 3)}",
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (-2, 3)}",
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904, 4)}",
    b"{'descr': '|O', 'fortran_order': False, 'shape': (2, 3)}",
    b"{'descr': '<f999999999', 'fortran_order': False, 'shape': (2, 3)}",
    b"__import__('os').system('touch planted')",
    b"(" * 9000,
    b"'''",
    b"\xff\xfe",
]


CONTENTS = [b"", b"\x93NUMPY", b"PK\x03\x04", b"text"]
for version, length in ((b"\x01\x00", 2), (b"\x03\x00", 4), (b"\x09\x00", 4)):
    sizes = [len(header).to_bytes(length, "little") for header in HEADERS]
    known = b"\x93NUMPY" + version
    CONTENTS += [known + size + header + bytes(48) for size, header in zip(sizes, HEADERS)]


@each_case("content", CONTENTS)
def test_false_headers_and_files_of_other_kinds_are_refused(tmp_path, content, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.npy").write_bytes(content)
    with pytest.raises(UserError, match="a.npy"):
        open_number_array(tmp_path / "a.npy")
    assert [path.name for path in tmp_path.iterdir()] == ["a.npy"]
