"""Archives are read from their beginning to their end, within limits."""

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from pathlib import Path

import pytest
from small_archives import write_archive

from workflow_lib.core import archives
from workflow_lib.core.archives import (
    DAMAGE,
    begins_as_zip,
    content_of,
    members_of,
    most_unpacked,
    opened_tar,
    opened_zip,
    unpacked_gzip,
)

TEXTS = {"a/one.txt": "1" * 700, "a/empty.txt": "", "b/two.txt": "2" * 512}


def read(path: Path) -> dict[str, str]:
    with open(path, "rb") as file, opened_tar(file, path.stat().st_size) as archive:
        return {m.name: content_of(archive, m).decode() for m in members_of(archive)}


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_members_of_every_compression_are_read_in_their_order(tmp_path, mode):
    path = write_archive(tmp_path / "a", TEXTS, mode)
    assert list(read(path).items()) == list(TEXTS.items())


@pytest.mark.parametrize("kind", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_long_names_of_every_form_are_read(tmp_path, kind):
    name = "folder/" * 20 + "é" * 40 if kind != tarfile.USTAR_FORMAT else "folder/" * 20 + "e"
    with tarfile.open(tmp_path / "a.tar", "w", format=kind) as archive:
        info = tarfile.TarInfo(name)
        info.size = 3
        archive.addfile(info, io.BytesIO(b"abc"))
    assert read(tmp_path / "a.tar") == {name: "abc"}


def test_a_member_may_be_passed_over_or_read_in_part(tmp_path):
    path = write_archive(tmp_path / "a.tar.gz", {"a": "x" * 5000, "b": "y" * 5000, "c": "z"})
    with open(path, "rb") as file, opened_tar(file, path.stat().st_size) as archive:
        members = members_of(archive)
        next(members)
        assert archive.extractfile(next(members)).read(7) == b"y" * 7
        assert content_of(archive, next(members)) == b"z"
        assert list(members) == []


def test_a_tar_archive_within_a_zip_archive_is_read(tmp_path):
    inner = write_archive(tmp_path / "inner.tar.gz", TEXTS).read_bytes()
    with zipfile.ZipFile(tmp_path / "outer.zip", "w") as archive:
        archive.writestr("inner.tar.gz", inner)
    assert begins_as_zip(tmp_path / "outer.zip")
    with opened_zip(tmp_path / "outer.zip") as outer, outer.open("inner.tar.gz") as file:
        with opened_tar(file, len(inner)) as archive:
            assert [member.name for member in members_of(archive)] == list(TEXTS)


def test_an_archive_that_ends_in_its_middle_is_damaged(tmp_path):
    path = write_archive(tmp_path / "a.tar", TEXTS, "w")
    content = bytearray(path.read_bytes())
    content[1536 + 148] ^= 1  # the checksum of the second header
    path.write_bytes(content)
    with pytest.raises(tarfile.ReadError, match="in the middle"):
        read(path)


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_an_archive_that_would_become_too_large_is_refused(tmp_path, monkeypatch, mode):
    path = write_archive(tmp_path / "a", {"a": "x" * 50_000, "b": "y"}, mode)
    monkeypatch.setattr(archives, "ALWAYS_ALLOWED", 70_000)
    monkeypatch.setattr(archives, "MAX_RATIO", 1)
    assert set(read(path)) == {"a", "b"}
    monkeypatch.setattr(archives, "ALWAYS_ALLOWED", 20_000)
    if mode == "w":
        assert set(read(path)) == {"a", "b"}, "it is as large as its file"
    else:
        with pytest.raises(tarfile.ReadError, match="more than 20000 bytes"):
            read(path)
    monkeypatch.setattr(archives, "MAX_RATIO", 1000)
    assert set(read(path)) == {"a", "b"}


def test_members_beyond_the_limits_are_refused(tmp_path, monkeypatch):
    path = write_archive(tmp_path / "a.tar", {"a": "xxxx", "b": "y", "c": "z"})
    monkeypatch.setattr(archives, "MAX_MEMBER", 3)
    with pytest.raises(tarfile.ReadError, match="4 bytes"):
        read(path)
    monkeypatch.setattr(archives, "MAX_MEMBER", 4)
    monkeypatch.setattr(archives, "MAX_MEMBERS", 2)
    with pytest.raises(tarfile.ReadError, match="more than 2 members"):
        read(path)


def test_members_that_overlap_are_refused():
    stream = archives._Forward(io.BytesIO(bytes(1000)), 1000)
    stream.seek(600)
    assert stream.tell() == 600
    with pytest.raises(tarfile.ReadError, match="overlap"):
        stream.seek(599)
    with pytest.raises(tarfile.ReadError, match="claims -1 bytes"):
        stream.read(-1)


def test_a_zip_archive_is_refused_by_what_it_claims(tmp_path, monkeypatch):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", bytes(50_000))
        archive.writestr("b", b"1")
    with opened_zip(path) as archive:
        assert archive.read("b") == b"1"
    monkeypatch.setattr(archives, "MAX_MEMBERS", 1)
    with pytest.raises(zipfile.BadZipFile, match="more than 1 members"), opened_zip(path):
        pass
    monkeypatch.setattr(archives, "ALWAYS_ALLOWED", 20_000)
    with pytest.raises(zipfile.BadZipFile, match="more than 2"), opened_zip(path):
        pass


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_methods_of_zip_without_a_limit_are_refused(tmp_path, method):
    with zipfile.ZipFile(tmp_path / "a.zip", "w", method) as archive:
        archive.writestr("a", b"1")
    with pytest.raises(zipfile.BadZipFile, match="not supported"), opened_zip(tmp_path / "a.zip"):
        pass


def test_what_gzip_holds_has_a_limit(monkeypatch):
    assert unpacked_gzip(gzip.compress(b"one") + gzip.compress(b"two")) == b"onetwo"
    monkeypatch.setattr(archives, "ALWAYS_ALLOWED", 1000)
    monkeypatch.setattr(archives, "MAX_RATIO", 2)
    with pytest.raises(OSError, match="more than 1000 bytes"):
        unpacked_gzip(gzip.compress(bytes(1 << 16)))
    assert most_unpacked(10) == 1000 and most_unpacked(10_000) == 20_000


@pytest.mark.parametrize("content", [b"", b"x", b"\x1f\x8b", b"BZh9", b"\xfd7zXZ\0"])
def test_what_is_no_archive_raises_one_of_the_listed_errors(tmp_path, content):
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(DAMAGE):
        read(tmp_path / "a")
    assert not begins_as_zip(tmp_path / "a")
    with pytest.raises(DAMAGE), opened_zip(tmp_path / "a"):
        pass


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
def test_a_truncated_compression_raises_one_of_the_listed_errors(tmp_path, compress):
    plain = write_archive(tmp_path / "a.tar", {"a": "x" * 5000}, "w").read_bytes()
    (tmp_path / "a").write_bytes(compress(plain)[:-20])
    with pytest.raises(DAMAGE):
        read(tmp_path / "a")
