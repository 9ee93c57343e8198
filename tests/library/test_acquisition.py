"""Files arrive complete and correct, or a message says what to do."""

import hashlib
import itertools
import os
from pathlib import Path

import pytest
from reader_samples import refusal
from small_archives import write_archive
from web_server import Handler, served

from workflow_lib.core.archive_members import members_digest
from workflow_lib.core.errors import UserError
from workflow_lib.core.mirrors import mirrors_from_environment
from workflow_lib.data import acquisition
from workflow_lib.data.acquisition import acquire

CONTENT = bytes(range(256)) * 1000
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Serving(Handler):
    """Serves CONTENT in the way that the path requests."""

    def do_GET(self):
        server = self.server
        server.requests.append((self.path, self.headers.get("Range")))
        if self.path in server.answers:
            self.answer(server.answers[self.path])
            return
        count = sum(path == self.path for path, _ in server.requests)
        if self.path == "/missing":
            self.send_error(404)
            return
        if self.path == "/overloaded" or (self.path == "/fails-twice" and count <= 2):
            self.send_error(503)
            return
        if self.path == "/refuses-ranges" and self.headers.get("Range"):
            self.send_error(416)
            return
        content = CONTENT
        if self.path == "/longer":
            content = CONTENT + b"more"
        elif self.path == "/altered":
            content = CONTENT[::-1]
        start = 0
        requested = self.headers.get("Range")
        if requested and self.path != "/no-range":
            start = int(requested.removeprefix("bytes=").removesuffix("-"))
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        else:
            self.send_response(200)
        if self.path != "/longer":
            self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        body = content[start:]
        truncated = self.path == "/truncates-once" and count == 1
        if truncated or self.path == "/truncates":
            body = body[: len(body) // 2]
        self.wfile.write(body)

    def answer(self, answers: list[tuple[bytes, int | None]]):
        """Send the next content with the length that is claimed for it; the last one again."""
        content, length = answers.pop(0) if len(answers) > 1 else answers[0]
        self.send_response(200)
        if length is not None:
            self.send_header("Content-Length", str(length))
        self.end_headers()
        self.wfile.write(content)


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(acquisition, "PAUSE", 0)
    monkeypatch.setattr(acquisition, "RETRIES", 2)
    with served(Serving, monkeypatch) as server:
        server.requests, server.answers = [], {}
        yield server


def source(address: str = "http://127.0.0.1:9/unused", **changes) -> dict:
    whole = {"path": "set/file.bin", "address": address, "sha256": SHA256, "size": len(CONTENT)}
    return {**whole, **changes}


def at(server, path: str) -> dict:
    return source(f"{server.address}/{path}")


@pytest.fixture
def destination(tmp_path):
    return tmp_path / "resources" / "set" / "file.bin"


def other_files(destination) -> list[str]:
    return sorted(path.name for path in destination.parent.iterdir())


def put_into_mirror(folder, content: bytes):
    (folder / "set").mkdir(parents=True)
    (folder / "set" / "file.bin").write_bytes(content)
    return folder


def test_mirrors_from_environment(monkeypatch, tmp_path):
    assert mirrors_from_environment({}) == mirrors_from_environment({"OFER_MIRROR": ""}) == []
    value = f"{tmp_path}{os.pathsep}{os.pathsep}relative"
    assert mirrors_from_environment({"OFER_MIRROR": value}) == [tmp_path, Path("relative")]
    monkeypatch.setenv("OFER_MIRROR", str(tmp_path))
    assert mirrors_from_environment() == [tmp_path]


def test_file_from_the_second_mirror_without_a_download(tmp_path, destination, server):
    mirror = put_into_mirror(tmp_path / "second", CONTENT)
    found = acquire(at(server, "whole"), destination, [tmp_path / "first", mirror])
    assert found == destination and found.read_bytes() == CONTENT
    assert other_files(destination) == ["file.bin"]
    assert server.requests == []


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (CONTENT[::-1], hashlib.sha256(CONTENT[::-1]).hexdigest()),
        (CONTENT[:-10], "is truncated: it has 255990 bytes. Expected 256000 bytes"),
        (CONTENT + b"x", "is too long"),
    ],
)
def test_other_file_in_the_mirror(tmp_path, destination, content, words):
    mirror = put_into_mirror(tmp_path / "mirror", content)
    message = refusal(acquire, source(), destination, [mirror])
    assert words in message and str(mirror / "set" / "file.bin") in message
    assert SHA256 in message or len(content) != len(CONTENT)
    assert other_files(destination) == []


def test_download_after_two_failures(destination, server):
    acquire(at(server, "fails-twice"), destination)
    assert destination.read_bytes() == CONTENT
    assert other_files(destination) == ["file.bin"]
    assert len(server.requests) == 3


def test_broken_connection_is_resumed(destination, server):
    acquire(at(server, "truncates-once"), destination)
    assert destination.read_bytes() == CONTENT
    assert server.requests == [("/truncates-once", None), ("/truncates-once", "bytes=128000-")]


def test_later_call_resumes_the_part(destination, server, monkeypatch):
    monkeypatch.setattr(acquisition, "RETRIES", 0)
    with pytest.raises(UserError, match="closed after 128000 of 256000 bytes"):
        acquire(at(server, "truncates"), destination)
    assert other_files(destination) == ["file.bin.part"]
    acquire(at(server, "whole"), destination)
    assert server.requests[-1] == ("/whole", "bytes=128000-")
    assert destination.read_bytes() == CONTENT
    assert other_files(destination) == ["file.bin"]


def write_part(destination, content: bytes):
    destination.parent.mkdir(parents=True)
    destination.with_name("file.bin.part").write_bytes(content)


@pytest.mark.parametrize(
    ("path", "length", "ranges"),
    [
        ("whole", len(CONTENT), []),
        ("no-range", 1000, ["bytes=1000-"]),
        ("refuses-ranges", 1000, ["bytes=1000-", None]),
    ],
)
def test_a_part_is_continued_where_the_server_allows_it(destination, server, path, length, ranges):
    write_part(destination, CONTENT[:length])
    acquire(at(server, path), destination)
    assert destination.read_bytes() == CONTENT
    assert [requested for _, requested in server.requests] == ranges


@pytest.mark.parametrize("length", [1000, len(CONTENT), len(CONTENT) + 5])
def test_part_of_another_file_is_discarded(destination, server, length):
    write_part(destination, b"?" * length)
    acquire(at(server, "whole"), destination)
    assert destination.read_bytes() == CONTENT


@pytest.mark.parametrize("plant", ["symlink_to", "hardlink_to"])
@pytest.mark.parametrize("length", [0, 1000])
def test_link_at_the_name_of_the_part_is_not_followed(destination, server, plant, length):
    destination.parent.mkdir(parents=True)
    victim = destination.parent / "victim"
    victim.write_bytes(CONTENT[:length])
    getattr(destination.with_name("file.bin.part"), plant)(victim)
    acquire(at(server, "whole"), destination)
    assert (destination.read_bytes(), victim.read_bytes()) == (CONTENT, CONTENT[:length])
    assert not destination.is_symlink() and destination.stat().st_nlink == 1


def test_copy_from_a_mirror_has_no_name_that_can_be_foreseen(destination, server, tmp_path):
    mirror = put_into_mirror(tmp_path / "mirror", CONTENT)
    destination.parent.mkdir(parents=True)
    victim = tmp_path / "victim"
    victim.write_text("as it was")
    destination.with_name(f".{destination.name}.{os.getpid()}.tmp").symlink_to(victim)
    acquire(at(server, "missing"), destination, [mirror])
    assert (destination.read_bytes(), victim.read_text()) == (CONTENT, "as it was")


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("altered", f"{hashlib.sha256(CONTENT[::-1]).hexdigest()}. Expected the SHA-256 {SHA256}"),
        ("longer", "more than 256000 bytes"),
    ],
)
def test_altered_file(destination, server, path, words):
    assert words in refusal(acquire, at(server, path), destination)
    assert other_files(destination) == []
    assert len(server.requests) == 1


def test_missing_file_is_not_asked_for_again(destination, server, tmp_path):
    message = refusal(acquire, at(server, "missing"), destination, [tmp_path / "absent"])
    assert "answered 404" in message and len(server.requests) == 1
    assert "set OFER_MIRROR=FOLDER" in message
    assert f"by hand at {destination}" in message
    assert f"{tmp_path / 'absent'} (no such folder)" in message


def test_overloaded_server_is_asked_until_the_retries_are_spent(destination, server):
    with pytest.raises(UserError, match="answered 503"):
        acquire(at(server, "overloaded"), destination)
    assert len(server.requests) == 3


def test_no_network(destination, server):
    closed = at(server, "whole")
    server.shutdown()
    server.server_close()
    message = refusal(acquire, closed, destination)
    assert "the download failed" in message and "no mirror folder is set" in message
    assert other_files(destination) == []


def test_another_length_than_was_declared_is_reported_before_anything_is_kept(destination, server):
    described = answering(server, source(), b"<html>log in</html>")
    with pytest.raises(UserError, match="announces 19 bytes .* instead of 256000"):
        acquire(described, destination)
    assert other_files(destination) == []


def test_a_server_that_sends_hardly_anything_is_given_up(destination, server, monkeypatch):
    # A clock that advances by an hour whenever something arrives.
    monkeypatch.setattr(acquisition.time, "monotonic", itertools.count(0, 3600).__next__)
    with pytest.raises(UserError, match="bytes came in 3600 seconds"):
        acquire(at(server, "whole"), destination)


@pytest.mark.parametrize("supplied", [True, False])
def test_a_location_that_cannot_be_written_to_is_named(tmp_path, server, supplied):
    (tmp_path / "resources").write_text("a file stands where the folder should be")
    mirrors = [put_into_mirror(tmp_path / "mirror", CONTENT)] if supplied else []
    with pytest.raises(UserError, match="could not be written .*free space"):
        acquire(at(server, "whole"), tmp_path / "resources" / "file.bin", mirrors)


@pytest.mark.parametrize(
    "address", ["http://[::1", "http://" + "a" * 70 + ".org/", "http://127.0.0.1:9/a b"]
)
def test_invalid_addresses_are_reported(destination, address, monkeypatch):
    monkeypatch.setattr(acquisition, "RETRIES", 0)
    assert "the download failed" in refusal(acquire, source(address), destination)


@pytest.mark.parametrize("address", ["file:///etc/hostname", "ftp://127.0.0.1/x", "x.bin"])
def test_only_web_addresses(destination, address):
    assert "https://" in refusal(acquire, source(address), destination)


@pytest.mark.parametrize(
    ("paths", "words"),
    [
        (["a\x1b[2J", "a\0b", "a\nb", "a" * 256, "a/" * 2000 + "b"], "Expected a relative path"),
        (["../b", "/etc/hostname", "a/../../b", "C:\\x", "..\\x"], "leads out of its folder"),
    ],
)
def test_names_that_no_file_should_have_are_refused(tmp_path, destination, paths, words):
    for path in paths:
        assert words in refusal(acquire, source(path=path), destination, [tmp_path])


# Archives that are recognised by their members

TEXTS = {"data/a/text.txt": "one\n", "data/b/text.txt": "two\n"}


@pytest.fixture
def packed(tmp_path):
    """Return the source of TEXTS, and three archives of them, packed in different ways."""
    plain = write_archive(tmp_path / "plain.tar", TEXTS, "w")
    repacked = write_archive(tmp_path / "repacked.tar.xz", TEXTS, "w:xz")
    wrapped = {f"repository-1a2b/{name}": text for name, text in TEXTS.items()}
    whole = write_archive(tmp_path / "whole.tar.gz", {"repository-1a2b/LICENSE": "MIT", **wrapped})
    digest = members_digest(plain, "data/*/text.txt")
    described = source(members="data/*/text.txt", sha256=digest.sha256, size=digest.size)
    return described, [path.read_bytes() for path in (plain, repacked, whole)]


def other_texts(tmp_path) -> bytes:
    return write_archive(tmp_path / "other.tar", {**TEXTS, "data/b/text.txt": "2\n"}).read_bytes()


def answering(server, described: dict, *answers: bytes, length: str = "right") -> dict:
    """Return `described` with an address at which the server sends `answers` one after another."""
    lengths = {"right": 0, "none": None, "too long": 10}
    added = lengths[length]
    server.answers["/archive"] = [
        (content, None if added is None else len(content) + added) for content in answers
    ]
    return {**described, "address": f"{server.address}/archive"}


def test_any_packing_of_the_members_is_taken_from_the_mirror(tmp_path, destination, packed):
    described, archives = packed
    for number, content in enumerate(archives):
        mirror = put_into_mirror(tmp_path / f"mirror-{number}", content)
        acquire(described, destination, [mirror])
        assert destination.read_bytes() == content
        assert other_files(destination) == ["file.bin"]


def test_other_members_in_the_mirror(tmp_path, destination, packed):
    described, _ = packed
    mirror = put_into_mirror(tmp_path / "mirror", other_texts(tmp_path))
    message = refusal(acquire, described, destination, [mirror])
    assert "has 2 such members of 6 bytes with the SHA-256" in message
    assert "Expected members data/*/text.txt of 8 bytes in all with the SHA-256" in message
    assert f"remove or replace {mirror / 'set' / 'file.bin'}" in message
    assert other_files(destination) == []


@pytest.mark.parametrize("length", [100, 0])
def test_damaged_archive_in_the_mirror(tmp_path, destination, packed, length):
    described, archives = packed
    mirror = put_into_mirror(tmp_path / "mirror", archives[2][:length])
    message = refusal(acquire, described, destination, [mirror])
    assert f"{mirror / 'set' / 'file.bin'}: " in message
    assert "damaged or not a tar archive" in message and "its folder out of OFER_MIRROR" in message
    assert other_files(destination) == []


@pytest.mark.parametrize("length", ["right", "none"])
def test_archive_of_unknown_size_is_downloaded(destination, server, packed, length):
    described, (_, _, whole) = packed
    acquire(answering(server, described, whole, length=length), destination)
    assert destination.read_bytes() == whole
    assert other_files(destination) == ["file.bin"]


def test_download_of_an_archive_begins_again(destination, server, packed):
    # A server may pack each answer again: the rest of one does not fit the beginning of another.
    described, (_, repacked, whole) = packed
    write_part(destination, repacked[:50])
    acquire(answering(server, described, whole), destination)
    assert server.requests == [("/archive", None)]
    assert destination.read_bytes() == whole


@pytest.mark.parametrize("length", ["none", "too long"])
def test_broken_download_of_an_archive_is_tried_again(destination, server, packed, length):
    described, (_, _, whole) = packed
    broken = answering(server, described, whole[:100], whole, length=length)
    server.answers["/archive"][1] = (whole, len(whole))
    acquire(broken, destination)
    assert destination.read_bytes() == whole
    assert len(server.requests) == 2


@pytest.mark.parametrize("length", ["right", "none", "too long"])
def test_archive_that_always_arrives_damaged(destination, server, packed, length):
    described, (_, _, whole) = packed
    broken = answering(server, described, whole[:100], length=length)
    message = refusal(acquire, broken, destination)
    assert "the download failed" in message and "members data/*/text.txt of 8 bytes" in message
    assert len(server.requests) == 3
    assert other_files(destination) == []


def test_archive_of_other_members_at_the_address(tmp_path, destination, server, packed):
    described, _ = packed
    message = refusal(acquire, answering(server, described, other_texts(tmp_path)), destination)
    assert "has 2 such members of 6 bytes" in message and "this address has changed" in message
    assert len(server.requests) == 1
    assert other_files(destination) == []


@pytest.mark.parametrize("length", ["right", "none"])
def test_endless_archive_is_given_up(destination, server, packed, monkeypatch, length):
    described, (_, _, whole) = packed
    monkeypatch.setattr(acquisition, "MAX_ARCHIVE", 60)
    with pytest.raises(UserError, match="sends more than 60 bytes"):
        acquire(answering(server, described, whole, length=length), destination)
    assert other_files(destination) == []


def test_a_source_may_say_that_it_has_no_members(tmp_path, destination):
    mirror = put_into_mirror(tmp_path / "mirror", CONTENT)
    acquire(source(members=None), destination, [mirror])
    assert destination.read_bytes() == CONTENT
