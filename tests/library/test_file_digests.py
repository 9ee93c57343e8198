"""A file is accepted as its job wrote it, and refused in every other state."""

import hashlib
import os
import shlex
import shutil
import subprocess
import tracemalloc
from pathlib import Path

import pytest

from workflow_lib.core.errors import UserError
from workflow_lib.core.file_digests import (
    check_digest,
    clear_leftovers,
    differing_files,
    digest_path,
    main,
    record_digest,
    recorded_files,
)

CONTENT = b"a,b\n1,2\n"


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """Return a file with a digest, in a folder with a space in its name."""
    path = tmp_path / "my results" / "scores of  all.csv"
    path.parent.mkdir()
    path.write_bytes(CONTENT)
    record_digest(path)
    return path


def refusal(path: Path) -> str:
    with pytest.raises(UserError) as caught:
        check_digest(path)
    return str(caught.value)


def test_the_digest_is_a_hidden_file_in_the_format_of_sha256sum(recorded):
    digest = recorded.parent / ".scores of  all.csv.sha256"
    assert digest_path(recorded) == digest_path(str(recorded)) == digest
    assert digest.read_text() == f"{hashlib.sha256(CONTENT).hexdigest()}  {recorded.name}\n"
    check_digest(recorded)
    if shutil.which("sha256sum"):
        subprocess.run(
            ["sha256sum", "--check", digest.name], cwd=recorded.parent, check=True, timeout=60
        )


def test_a_file_without_a_digest_is_accepted(tmp_path):
    check_digest(tmp_path / "absent.csv")
    (tmp_path / "supplied.csv").write_bytes(CONTENT)
    check_digest(str(tmp_path / "supplied.csv"))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (CONTENT[:-1], "it has 7 bytes and the SHA-256 "),
        (CONTENT.replace(b"2", b"3"), "it has 8 bytes and the SHA-256 "),
        (b"", "it is empty."),
    ],
)
def test_a_damaged_file_is_refused_and_the_remedy_can_be_run(recorded, content, words):
    state = recorded.stat()
    recorded.write_bytes(content)
    os.utime(recorded, ns=(state.st_atime_ns, state.st_mtime_ns))
    message = refusal(recorded)
    assert message.startswith(f"{recorded}: the file differs from its digest: {words}")
    assert f"Expected the file whose SHA-256 is in {digest_path(recorded)}." in message
    remedy, _, rest = message.partition("To fix it: ")[2].partition(" and run the same ")
    assert shlex.split(remedy) == ["rm", str(recorded)]
    assert rest == "snakemake command again."


@pytest.mark.parametrize("text", ["", "\n", "no digest", "\0\x80", "0" * 64, "é"])
def test_a_damaged_digest_refuses_its_file_until_the_file_is_made_again(recorded, text):
    digest_path(recorded).write_bytes(text.encode("latin-1"))
    assert "differs from its digest" in refusal(recorded)
    record_digest(recorded)
    check_digest(recorded)


def test_a_digest_of_another_file_refuses(recorded, tmp_path):
    other = tmp_path / "other.csv"
    other.write_bytes(b"other")
    record_digest(other)
    shutil.copy(digest_path(other), digest_path(recorded))
    assert "differs from its digest" in refusal(recorded)


def test_what_cannot_be_read_is_refused(recorded):
    recorded.unlink()
    recorded.symlink_to(recorded)
    assert f"{recorded}: the file cannot be read (Too many levels" in refusal(recorded)
    digest_path(recorded).unlink()
    digest_path(recorded).mkdir()
    message = refusal(recorded)
    assert f"{recorded}: its digest cannot be read (Is a directory)." in message
    assert f"rm '{recorded}'" in message


def test_a_file_that_is_gone_is_refused(recorded):
    recorded.unlink()
    message = refusal(recorded)
    assert f"{recorded}: the file is gone." in message
    assert "run the same snakemake command again" in message
    assert f"rm '{digest_path(recorded)}'" in message


def test_a_folder_is_compared_with_all_that_is_in_it(tmp_path):
    folder = tmp_path / "pictures"
    (folder / "inner").mkdir(parents=True)
    for name in ("a.txt", "inner/b.txt"):
        (folder / name).write_text(name)
    record_digest(folder)
    check_digest(folder)
    (folder / "inner" / "b.txt").rename(folder / "inner" / "c.txt")
    assert f"rm -r {folder} and run" in refusal(folder)
    (folder / "inner" / "c.txt").rename(folder / "inner" / "b.txt")
    check_digest(folder)
    (folder / "a.txt").write_text("A")
    refusal(folder)


def test_a_large_file_is_read_piece_by_piece(tmp_path):
    path = tmp_path / "large.h5"
    with open(path, "wb") as file:
        file.truncate(1 << 26)
    tracemalloc.start()
    try:
        record_digest(path)
        check_digest(path)
        assert tracemalloc.get_traced_memory()[1] < 1 << 22
    finally:
        tracemalloc.stop()


def test_a_file_that_the_user_replaces_is_not_refused_by_its_earlier_digest(recorded):
    half_written = [
        recorded.with_name(f".{recorded.name}.123.tmp"),
        recorded.with_name(f".{digest_path(recorded).name}.abc.tmp"),
    ]
    other = recorded.with_name(".other.csv.123.tmp")
    for path in [*half_written, other]:
        path.touch()
    recorded.write_bytes(b"by hand")
    clear_leftovers(recorded)
    assert sorted(recorded.parent.iterdir()) == sorted([other, recorded])
    check_digest(recorded)
    clear_leftovers(recorded)
    clear_leftovers(recorded.parent / "absent" / "file.csv")


def test_files_that_differ_or_are_gone_are_listed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = ["results/b/2.csv", "results/b/1.csv", "results/a.csv", "resources/x"]
    for name in names:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(name)
        record_digest(name)
    Path("results/free.csv").touch()
    folders = ["results", "resources"]
    found = [str(path) for path in recorded_files(folders)]
    assert found == ["results/a.csv", "results/b/1.csv", "results/b/2.csv", "resources/x"]
    assert differing_files(folders) == []
    Path("results/b/1.csv").write_text("")
    Path("results/a.csv").unlink()
    faults = differing_files(folders)
    assert [fault.split(":")[0] for fault in faults] == ["results/a.csv", "results/b/1.csv"]
    assert differing_files(["resources"]) == []


def test_the_command_reports_what_it_checked(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main([]) == 1
    assert "error: results: the folder cannot be read (No such file" in capsys.readouterr().err
    Path("results").mkdir()
    assert main([]) == 1
    assert capsys.readouterr().err.startswith("error: results: there is no digest of a file.")
    Path("results/a.csv").write_bytes(CONTENT)
    record_digest("results/a.csv")
    assert main([]) == 0
    words = "files compared with their digests: 1, all as their jobs wrote them\n"
    assert capsys.readouterr().out == words
    Path("results/a.csv").write_bytes(b"")
    assert main(["results"]) == 1
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("error: results/a.csv: the file differs from its digest")
    assert main(["results", "reslts"]) == 1
    assert "error: reslts: the folder cannot be read" in capsys.readouterr().err
