"""The members of an archive are found and recognised, whatever else it holds."""

import hashlib
import io
import tarfile
from pathlib import Path

import pytest
from each_case import each_case
from small_archives import write_archive

from workflow_lib.core import archive_members
from workflow_lib.core.archive_members import matching_members, members_digest, path_from_pattern
from workflow_lib.core.errors import UserError

PATTERN = "data/*/text.txt"
TEXTS = {"data/b/text.txt": "two\n", "data/a/text.txt": "one\n"}


def refused(path: Path, pattern: str = PATTERN) -> str:
    with pytest.raises(UserError) as caught:
        members_digest(path, pattern)
    assert str(path) in str(caught.value)
    return str(caught.value)


@each_case(
    ("name", "found"),
    [
        ("data/a/text.txt", "data/a/text.txt"),
        ("./data/a/text.txt", "data/a/text.txt"),
        ("repository-1a2b/further/data/a/text.txt", "data/a/text.txt"),
        ("data/a/b/text.txt", None),
        ("data/a/text.txt.bak", None),
        ("data/text.txt", None),
        ("text.txt", None),
        ("Data/a/text.txt", None),
        ("mydata/a/text.txt", None),
    ],
)
def test_patterns_match_the_end_of_a_name_part_by_part(name, found):
    assert path_from_pattern(name, PATTERN) == found


def test_members_come_in_the_order_of_the_archive(tmp_path):
    path = write_archive(tmp_path / "a.tar.gz", {"readme": "x", **TEXTS, "data/c/other": "y"})
    assert list(matching_members(path, PATTERN)) == [
        ("data/b/text.txt", b"two\n"),
        ("data/a/text.txt", b"one\n"),
    ]


def test_digest_is_the_documented_one(tmp_path):
    path = write_archive(tmp_path / "a.tar", TEXTS, "w")
    lines = b""
    for name in sorted(TEXTS):
        content = hashlib.sha256(TEXTS[name].encode()).hexdigest().encode()
        lines += name.encode() + b"\x00" + content + b"\n"
    found = members_digest(path, PATTERN)
    assert found == (hashlib.sha256(lines).hexdigest(), 8, 2)


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_digest_does_not_depend_on_the_wrapping(tmp_path, mode):
    plain = write_archive(tmp_path / "plain.tar", TEXTS, "w")
    turned = {f"repository-65a/{name}": TEXTS[name] for name in reversed(TEXTS)}
    other = write_archive(tmp_path / "other", {"pax": "header", **turned, "more/b.csv": "1"}, mode)
    assert members_digest(plain, PATTERN) == members_digest(other, PATTERN)


@pytest.mark.parametrize(
    "texts",
    [
        {"data/a/text.txt": "one\n", "data/b/text.txt": "two"},
        {"data/a/text.txt": "two\n", "data/b/text.txt": "one\n"},
        {"data/a/text.txt": "one\n"},
        {**TEXTS, "data/c/text.txt": ""},
        {"data/a/text.txt": "one\n", "data/B/text.txt": "two\n"},
    ],
)
def test_digest_depends_on_names_and_contents(tmp_path, texts):
    first = write_archive(tmp_path / "first.tar", TEXTS)
    other = write_archive(tmp_path / "other.tar", texts)
    assert members_digest(first, PATTERN).sha256 != members_digest(other, PATTERN).sha256


def test_a_name_that_comes_twice_counts_twice(tmp_path):
    pairs = [("data/a/text.txt", "1"), ("data/a/text.txt", "22")]
    path = write_archive(tmp_path / "a.tar", pairs)
    assert members_digest(path, PATTERN)[1:] == (3, 2)


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE])
def test_links_and_devices_that_match_are_refused(tmp_path, kind):
    info = tarfile.TarInfo("data/a/text.txt")
    info.type, info.linkname = kind, "data/b/text.txt"
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as archive:
        archive.addfile(info)
    assert "'data/a/text.txt' is a link or a device, not a plain file" in refused(path)
    assert "no member of the archive matches" in refused(path, "other.txt")


def test_folders_are_passed_over(tmp_path):
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as archive:
        folder = tarfile.TarInfo("data/a/text.txt")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        file = tarfile.TarInfo("data/b/text.txt")
        file.size = 1
        archive.addfile(file, io.BytesIO(b"x"))
    assert members_digest(path, PATTERN)[1:] == (1, 1)


def test_huge_members_are_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(archive_members, "MAX_MEMBER", 3)
    path = write_archive(tmp_path / "a.tar", TEXTS)
    assert "'data/b/text.txt' has 4 bytes. Expected plain files of at most 3" in refused(path)


def test_files_that_are_no_intact_archive(tmp_path):
    texts = {f"data/{number}/text.txt": str(number) * 9000 for number in range(50)}
    path = write_archive(tmp_path / "a.tar.gz", texts)
    whole = path.read_bytes()
    middle = len(whole) // 2
    torn = whole[:middle] + bytes(200) + whole[middle + 200 :]
    for content in (whole[:middle], torn, b"", b"no archive", b"<html>"):
        path.write_bytes(content)
        message = refused(path)
        assert "damaged or not a tar archive" in message
        assert "\n" not in message
        assert "run the same snakemake command again" in message
    assert "damaged or not a tar archive" in refused(tmp_path / "absent.tar")


def test_archive_without_such_members(tmp_path):
    path = write_archive(tmp_path / "a.tar", TEXTS)
    assert "no member of the archive matches *.csv" in refused(path, "*.csv")
