"""Malicious archives, servers and files: each is refused, and nothing else is changed."""

import gzip
import hashlib
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest
from hostile_archives import IMAGE, TARS, VICTIM, ZIPS
from one_job import ROOT, Ended, Job, run_jobs

from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.core.errors import UserError

KIND = "a hostile archive or source"
STRANGE = str(ROOT / "tests" / "system" / "unknown_job.py")


def assert_reported(ended: Ended, location: str) -> None:
    """Check that the jobs ended with one error that names a location and says what to do."""
    assert ended.status == 1, ended
    assert ended.error.startswith("error: "), ended.text[-2000:]
    assert "this is a defect" not in ended.error, ended.text[-2000:]
    assert "not enough memory" not in ended.error, ended.text[-2000:]
    assert location in ended.error, ended.error
    assert " Expected " in ended.error and " To fix it: " in ended.error, ended.error
    assert ended.error.isprintable(), repr(ended.error)


def everything_below(folder: Path) -> dict[str, tuple]:
    """Return the content of a folder: modes, sizes, targets of links and contents."""
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        if path.is_symlink():
            content = os.readlink(path)
        else:
            content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        found[str(path.relative_to(folder))] = (status.st_mode, status.st_nlink, content)
    return found


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """Return a folder that no job may change, next to the folder in which jobs run."""
    folder = tmp_path / "victim"
    folder.mkdir()
    (folder / VICTIM).write_bytes(IMAGE)
    (folder / "secret.txt").write_text("secret,of,the,victim\n1,2,3,4\n")
    return folder


@pytest.fixture
def folder(tmp_path: Path, victim: Path) -> Iterator[Path]:
    """Return a folder in which jobs run; what is outside of its subfolders must not change."""
    run = tmp_path / "run"
    run.mkdir()
    before = everything_below(victim), sorted(path.name for path in tmp_path.iterdir())
    yield run
    after = everything_below(victim), sorted(path.name for path in tmp_path.iterdir())
    assert before == after


# Archives


def acquiring_members(folder: Path, archive: Path) -> Job:
    source = {
        "path": f"set/{archive.name}",
        "address": "http://127.0.0.1:9/never",
        "members": "bar/*.pgm",
        "sha256": "0" * 64,
        "size": 4,
    }
    return Job("acquire.py", outputs=["resources/set/members"], params={"source": source})


def reading_pictures(folder: Path, archive: Path) -> Job:
    params = {"source": str(archive), "left_out_classes": [], "codebook_classes": []}
    params |= {"seed": 1, "parts": "results/parts", "members": "*", "weights": []}
    return Job(
        "image_features.py",
        outputs=["results/pictures.h5"],
        params=params,
        wildcards={"feature": "thumbnails"},
    )


WAYS = {
    "by its members": (acquiring_members, {"tar": TARS}),
    "as pictures": (reading_pictures, {"tar": TARS, "zip": ZIPS}),
}
"""How archives are read."""

HARMLESS = {
    ("as pictures", "a drive"),
    ("as pictures", "backslashes"),
    ("as pictures", "control characters"),
    ("as pictures", "a name of 4096 letters"),
    ("as pictures", "a path of 4096 folders"),
    ("as pictures", "a file below a file"),
    ("as pictures", "a folder outside"),
    ("as pictures", "a link to a folder"),
    ("as pictures", "a link upwards"),
    ("as pictures", "a link"),
}
"""Archives that may be read: links without images, names under which nothing is written, and
archives that are not opened."""

CASES = [
    (way, kind, name)
    for way, (_, kinds) in WAYS.items()
    for kind, archives in kinds.items()
    for name in archives
]


@pytest.mark.fault(KIND)
@pytest.mark.trials(short=12, full=len(CASES))
def test_a_hostile_archive_is_refused_and_changes_nothing_outside(number, folder, victim):
    way, kind, name = CASES[number]
    job, kinds = WAYS[way]
    archive = folder / "mirror" / "set" / f"archive.{kind}"
    archive.parent.mkdir(parents=True)
    archive.write_bytes(kinds[kind][name](victim))
    before = everything_below(folder)
    ended = run_jobs(folder, [job(folder, archive)], OFER_MIRROR=str(folder / "mirror"))
    print(f"{way}, {kind}, {name}: {ended.error}")
    if ended.status or (way, name) not in HARMLESS:
        assert_reported(ended, archive.name)
        # Parts of image features are kept for the next run.
        after = everything_below(folder)
        kept = {name: after[name] for name in after if not name.startswith("results/parts/")}
        folders = ("resources", "resources/set", "results", "results/parts")
        assert {name: kept[name] for name in kept if name not in folders} == before


# Servers

GOOD = b"first,second,sum\n" + b"".join(b"%d,%d,%d\n" % (n, n * n, n + n * n) for n in range(99))


class Server:
    """A server that answers each request by a function of its path, on its own socket."""

    def __init__(self) -> None:
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.location = f"127.0.0.1:{self.socket.getsockname()[1]}"
        self.address = f"http://{self.location}"
        self.connections = 0
        self.closing = threading.Event()
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self) -> None:
        while not self.closing.is_set():
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self.answer, args=(connection,), daemon=True).start()

    def answer(self, connection: socket.socket) -> None:
        with connection:
            try:
                request = b""
                while b"\r\n\r\n" not in request:
                    request += connection.recv(4096) or b"\r\n\r\n"
                name = request.split(b" ")[1].decode().strip("/").split("/")[0]
                for piece in ANSWERS.get(name, ANSWERS["nothing"])(self):
                    if self.closing.is_set():
                        return
                    connection.sendall(piece)
            except OSError:
                pass

    def close(self) -> None:
        self.closing.set()
        self.socket.close()


def page(content: bytes, *headers: str, status: str = "200 OK") -> list[bytes]:
    return ["\r\n".join([f"HTTP/1.1 {status}", *headers, "", ""]).encode("latin-1"), content]


def with_length(content: bytes, length: int | None = None) -> list[bytes]:
    length = len(content) if length is None else length
    return page(content, f"Content-Length: {length}", "Connection: close")


def redirect(location: str) -> Callable[[Server], list[bytes]]:
    return lambda server: page(
        b"", f"Location: {location.format(server=server.location)}", status="302 Found"
    )


def without_end(*headers: str, piece: bytes = bytes(1 << 16), pause: float = 0.0):
    def answer(server: Server) -> Iterator[bytes]:
        yield page(b"", *headers)[0]
        while True:
            yield piece
            time.sleep(pause)

    return answer


def headers_without_end(server: Server) -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\n"
    while True:
        yield b"X-More: " + b"x" * 1000 + b"\r\n"


HTML = b"<!DOCTYPE html><html><body>Please log in</body></html>"

ANSWERS: dict[str, Callable[[Server], Iterator[bytes] | list[bytes]]] = {
    "another-content": lambda server: with_length(GOOD[::-1]),
    "too-short": lambda server: with_length(GOOD[:-10]),
    "too-long": lambda server: with_length(GOOD + b"more"),
    "longer-than-announced": lambda server: with_length(GOOD + b"more", len(GOOD) - 1),
    "shorter-than-announced": lambda server: with_length(GOOD[:100], len(GOOD)),
    "a-length-below-zero": lambda server: with_length(GOOD[::-1], -5),
    "a-length-of-letters": lambda server: page(GOOD[::-1], "Content-Length: many"),
    "a-page": lambda server: page(HTML, "Content-Type: text/html", f"Content-Length: {len(HTML)}"),
    "a-page-without-length": lambda server: page(HTML, "Content-Type: text/html"),
    "nothing": lambda server: [],
    "no-http": lambda server: [b"SSH-2.0-OpenSSH_9.2\r\n"],
    "without-end": without_end(),
    "without-end-announced": without_end("Content-Length: 999999999999999"),
    "pieces-without-end": without_end(
        "Transfer-Encoding: chunked", piece=b"400\r\n%s\r\n" % bytes(1024)
    ),
    "wrong-pieces": without_end("Transfer-Encoding: chunked", piece=b"ffffffffffffffffffff\r\n"),
    "headers-without-end": headers_without_end,
    "a-byte-now-and-then": without_end(f"Content-Length: {len(GOOD)}", piece=b"x", pause=0.3),
    "compressed": lambda server: page(
        gzip.compress(bytes(1 << 26)), "Content-Encoding: gzip", f"Content-Length: {len(GOOD)}"
    ),
    "colours": lambda server: page(b"", status="404 \x1b[2J\x1b]0;owned\x07"),
    "to-a-file": redirect("file:///etc/passwd"),
    "to-the-victim": redirect("its address is put in by the test"),
    "to-ftp": redirect("ftp://{server}/file"),
    "to-data": redirect("data:text/plain,first"),
    "to-another-scheme": redirect("gopher://127.0.0.1:9/file"),
    "to-no-scheme": redirect("///etc/passwd"),
    "to-no-address": redirect("http://[::1"),
    "to-a-long-name": redirect("http://" + "a" * 70 + ".example.org/"),
    "to-no-port": redirect("http://127.0.0.1:99999999/file"),
    "to-itself": redirect("http://{server}/to-itself"),
    "in-a-circle": redirect("http://{server}/in-a-circle-2"),
    "in-a-circle-2": redirect("http://{server}/in-a-circle"),
    "further-and-further": lambda server: page(
        b"", f"Location: /further-and-further/{server.connections}", status="302 Found"
    ),
    "by-the-web-to-a-file": redirect("http://{server}/to-a-file"),
    "good": lambda server: with_length(GOOD),
    "by-the-web-to-the-good": redirect("http://{server}/good"),
}
"""What a server answers, by path."""

FRIENDLY = ("good", "by-the-web-to-the-good")

ADDRESSES = (
    "file:///etc/passwd",
    "ftp://127.0.0.1:9/file",
    "data:text/plain,first",
    "/etc/passwd",
    "http://[::1",
    "http://127.0.0.1:99999999/",
    "http://" + "a" * 70 + ".example.org/",
    "http://127.0.0.1:9/with space\r\nHost: other",
    "https://127.0.0.1:9/",
)
PATHS = (
    "../outside.csv",
    "set/../../outside.csv",
    "/etc/passwd",
    "C:/outside.csv",
    "..\\outside.csv",
    "set/\x1b[2J.csv",
    "set/a\0b.csv",
    "set/" + "a" * 4096,
    "a/" * 4096 + "a.csv",
)


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


def described(path: str, address: str, **changes) -> dict:
    digest = hashlib.sha256(GOOD).hexdigest()
    return {"path": path, "address": address, "sha256": digest, "size": len(GOOD)} | changes


def fetched(folder: Path, source: dict) -> Ended:
    target = "resources/set/table.csv"
    job = Job(STRANGE, outputs=[target], params={"source": source})
    ended = run_jobs(folder, [job], OFER_MIRROR="")
    left = {path.name for path in folder.rglob("*") if path.is_file()}
    # The part of the right file that has arrived is kept, to be resumed.
    assert left <= {"table.csv", ".table.csv.sha256", "table.csv.part"}, left
    for path in folder.rglob("*.part"):
        assert path.stat().st_size <= len(GOOD)
    return ended


@pytest.mark.fault(KIND)
@pytest.mark.trials(short=10, full=len(ANSWERS))
def test_no_file_is_accepted_from_a_hostile_server(number, folder, victim, server, monkeypatch):
    name = list(ANSWERS)[number]
    if name == "to-the-victim":
        location = f"file://localhost{victim}/secret.txt"
        monkeypatch.setitem(ANSWERS, name, redirect(location))
    address = f"{server.address}/{name}"
    ended = fetched(folder, described("set/table.csv", address))
    print(f"{name}: {ended.error}")
    if name in FRIENDLY:
        assert ended.status == 0, ended
        assert (folder / "resources/set/table.csv").read_bytes() == GOOD
    else:
        assert_reported(ended, address)
        if name == "to-ftp":
            assert server.connections == 1, "it was asked in the other language too"
        assert not (folder / "resources/set/table.csv").exists()


@pytest.mark.fault(KIND)
@pytest.mark.parametrize("address", ADDRESSES)
def test_a_hostile_address_is_refused(folder, address):
    ended = fetched(folder, described("set/table.csv", address))
    assert_reported(ended, "set/table.csv")


@pytest.mark.fault(KIND)
@pytest.mark.parametrize("path", PATHS)
def test_a_hostile_path_of_a_source_is_refused(folder, path):
    ended = fetched(folder, described(path, "http://127.0.0.1:9/file"))
    assert_reported(ended, "path of the source")


@pytest.mark.fault(KIND)
@pytest.mark.parametrize(
    "content", [GOOD[:-1], GOOD + b"x", GOOD[::-1], b"", HTML], ids=lambda content: len(content)
)
def test_another_file_in_the_mirror_is_refused(folder, content):
    path = folder / "mirror" / "set" / "table.csv"
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    source = described("set/table.csv", "http://127.0.0.1:9/file")
    job = Job("acquire.py", outputs=["resources/set/table.csv"], params={"source": source})
    ended = run_jobs(folder, [job], OFER_MIRROR=str(folder / "mirror"))
    assert_reported(ended, str(path))
    assert not list((folder / "resources").rglob("*.csv*"))


@pytest.mark.fault(KIND)
def test_a_pipe_in_the_mirror_is_not_waited_for(folder):
    path = folder / "mirror" / "set" / "table.csv"
    path.parent.mkdir(parents=True)
    os.mkfifo(path)
    source = described("set/table.csv", "http://127.0.0.1:9/file")
    job = Job(STRANGE, outputs=["resources/set/table.csv"], params={"source": source})
    assert_reported(run_jobs(folder, [job], OFER_MIRROR=str(folder / "mirror")), "127.0.0.1:9")


# HDF5


def external_link(file: h5py.File, name: str, victim: Path) -> None:
    del file[name]
    file[name] = h5py.ExternalLink(str(victim / "data.h5"), "numbers")


def soft_link(file: h5py.File, name: str, victim: Path) -> None:
    content = file[name]
    file["elsewhere"] = content
    del file[name]
    file[name] = h5py.SoftLink("/elsewhere")


def external_storage(file: h5py.File, name: str, victim: Path) -> None:
    content = file[name][()]
    (victim / "data.bin").write_bytes(content.tobytes())
    del file[name]
    location = [(str(victim / "data.bin"), 0, content.nbytes)]
    file.create_dataset(name, content.shape, content.dtype, external=location)


def virtual(file: h5py.File, name: str, victim: Path) -> None:
    content = file[name][()]
    with h5py.File(victim / "data.h5", "a") as other:
        other["numbers of the victim"] = content
    layout = h5py.VirtualLayout(content.shape, content.dtype)
    source = h5py.VirtualSource(victim / "data.h5", "numbers of the victim", content.shape)
    layout[:] = source
    del file[name]
    file.create_virtual_dataset(name, layout)


LEADING_OUT = (external_link, soft_link, external_storage, virtual)


def table_in_hdf5(folder: Path, spoil: Callable, victim: Path) -> dict:
    """Write a table whose column y refers to another file; return the options to read it."""
    with h5py.File(folder / "table.h5", "w") as file:
        for number, name in enumerate(("x", "y", "z")):
            file[name] = np.arange(20.0) ** number % 7
        spoil(file, "y", victim)
    return {"file": "table.h5", "outputs": ["y"], "numbers": ["x", "z"]}


def kernel_values_in_hdf5(folder: Path, spoil: Callable, victim: Path) -> dict:
    """Write a table and kernel values in another file; return the options to read both."""
    lines = ["x,y", *(f"{n},{n * n % 7}" for n in range(20))]
    (folder / "table.csv").write_text("\n".join(lines))
    with h5py.File(folder / "table.h5", "w") as file:
        file["gram"] = np.eye(20)
        spoil(file, "gram", victim)
        if isinstance(file.get("gram", getlink=True), h5py.HardLink):
            file["gram"].attrs["columns"] = [f"c{n}" for n in range(20)]
    return {"file": "table.csv", "outputs": ["y"], "gram": "table.h5"}


@pytest.mark.fault(KIND)
@pytest.mark.parametrize("spoil", LEADING_OUT)
@pytest.mark.parametrize("write", [table_in_hdf5, kernel_values_in_hdf5])
def test_a_table_in_hdf5_is_read_from_its_own_file_only(tmp_path, victim, write, spoil):
    options = write(tmp_path, spoil, victim)
    settings = {"reader": "table", "options": options, "seed": 1}
    settings |= {"class_tree": None, "class_costs": None}
    params = {"settings": settings, "feature_kinds": []}
    inputs = {"sources": [], "files": ["table.h5"], "features": []}
    ended = run_jobs(tmp_path, [Job("read.py", inputs, ["results/table.h5"], params)])
    assert_reported(ended, "table.h5")
    assert not (tmp_path / "results").exists()


@pytest.mark.fault(KIND)
@pytest.mark.parametrize("spoil", LEADING_OUT)
@pytest.mark.parametrize("streamed", [(), ("inputs",)], ids=["whole", "streamed"])
def test_an_artifact_is_read_from_its_own_file_only(tmp_path, victim, spoil, streamed):
    path = tmp_path / "dataset.h5"
    tree = {"inputs": np.arange(30.0).reshape(10, 3), "outputs": np.ones((10, 2))}
    write_artifact(path, tree, "dataset")
    with h5py.File(path, "r+") as file:
        # With the contents that the artifact had, so that its digest is right.
        spoil(file, "inputs", victim)
    with pytest.raises(UserError, match="dataset.h5"):
        read_artifact(path, "dataset", streamed)
