"""Files are written completely or not at all, at whatever byte the disk fails."""

import errno
import subprocess
import sys
from pathlib import Path

import pytest

from workflow_lib.core.errors import UserError
from workflow_lib.core.whole_files import EnduringFile, whole_file, write_bytes, write_text

ROOT = Path(__file__).resolve().parents[2]

AT_EVERY_SIZE = """\
import resource
import sys
from pathlib import Path

import numpy as np

from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.core.errors import UserError

trees = {
    "arrays": {f"array-{n}": np.arange(3000.0) + n for n in range(4)},
    "groups": {f"group-{n}": {"values": np.ones(7), "number": n} for n in range(60)},
    "long": {"values": np.ones((200, 90)), "text": "x" * 3000},
}
path = Path("results", "artifact.h5")


def bound_files(limit):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))


for name, tree in trees.items():
    bound_files(resource.RLIM_INFINITY)
    write_artifact(path, tree, "dataset")
    size = path.stat().st_size
    whole = path.read_bytes()
    path.unlink()
    for limit in range(0, size, 997):
        bound_files(limit)
        try:
            write_artifact(path, tree, "dataset")
        except UserError as error:
            assert "the file could not be written (File too large)" in str(error), error
        else:
            raise AssertionError(f"{name} of {size} bytes was written to {limit} bytes")
        assert list(path.parent.iterdir()) == [], list(path.parent.iterdir())
    bound_files(size)
    write_artifact(path, tree, "dataset")
    assert path.read_bytes() == whole
    read_artifact(path, "dataset")
    path.unlink()
print("all were refused")
"""


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_an_artifact_is_refused_at_whatever_byte_the_disk_is_full(tmp_path):
    # In a separate process, because the HDF5 library would crash where it met the refusal.
    done = subprocess.run(
        [sys.executable, "-c", AT_EVERY_SIZE],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "all were refused\n", "")


def test_a_file_is_written_with_its_folders_and_can_be_read_by_all(tmp_path):
    path = tmp_path / "results" / "tables" / "table.csv"
    write_text(path, "a,b\nä,1\n")
    assert path.read_bytes() == "a,b\nä,1\n".encode()
    plain = tmp_path / "plain"
    plain.touch()
    assert path.stat().st_mode == plain.stat().st_mode
    assert names_in(path.parent) == ["table.csv"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_failure_midway_leaves_the_old_file_and_nothing_else(tmp_path, error):
    path = tmp_path / "table.csv"
    write_bytes(path, b"old")
    with pytest.raises(error), whole_file(path) as file:
        file.write(b"half")
        raise error
    assert path.read_bytes() == b"old"
    assert names_in(tmp_path) == ["table.csv"]


def test_a_refusal_of_the_disk_is_reported_before_what_follows_from_it(tmp_path):
    with (
        pytest.raises(UserError, match="No space left on device"),
        whole_file(tmp_path / "a") as file,
    ):
        file.failure = OSError(errno.ENOSPC, "No space left on device")
        raise RuntimeError("the library is confused")
    assert names_in(tmp_path) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_writing_to_a_full_device_never_fails_but_is_remembered():
    with EnduringFile("/dev/full", "r+b") as file:
        file.check()
        for content in (b"some bytes", memoryview(b"more")):
            assert file.write(content) == len(content)
        assert file.failure.errno == errno.ENOSPC
        first = file.failure
        # A device has no length that could be changed.
        assert file.truncate(100) == 100
        with pytest.raises(OSError) as caught:
            file.check()
        assert caught.value is first


def test_a_file_instead_of_a_folder_is_reported(tmp_path):
    (tmp_path / "results").write_text("no folder")
    with pytest.raises(UserError, match="could not be written") as caught:
        write_text(tmp_path / "results" / "a.csv", "a")
    assert "free space or fix the permissions" in str(caught.value)
