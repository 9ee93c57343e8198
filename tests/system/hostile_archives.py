"""Malicious archives.

Each is made by a function of the victim, a folder next to that in which the archive is read, which
no archive may change. Where possible, members are named like images in class folders, so that
readers do not pass over them.
"""

import bz2
import gzip
import io
import lzma
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path

IMAGE = b"P5 2 2 255\n\x01\x02\x03\x04"
VICTIM = "victim.pgm"
HUGE = 8 << 30
"""Uncompressed bytes of a bomb: more than any process of the tests may hold or write."""


# Tar archives


def _member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "", content: bytes = IMAGE):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    info.size = len(content) if kind == tarfile.REGTYPE else 0
    return info, content


def _tar(*members: tuple[tarfile.TarInfo, bytes], kind: int = tarfile.GNU_FORMAT) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=kind) as archive:
        for info, content in members:
            archive.addfile(info, io.BytesIO(content))
    return file.getvalue()


def _named(*names: str) -> Callable[[Path], bytes]:
    """Return the function that makes an archive of a good file and files with these names."""
    return lambda victim: _tar(
        _member("bar/good.pgm"), *(_member(name.format(victim=victim)) for name in names)
    )


def _linked(kind: bytes, link: str, target: str, *names: str) -> Callable[[Path], bytes]:
    """Return the function that makes an archive of a link, and members below or instead of it."""
    return lambda victim: _tar(
        _member("bar/good.pgm"),
        _member(link, kind, target.format(victim=victim)),
        *(_member(name) for name in names),
    )


def _special(kind: bytes) -> Callable[[Path], bytes]:
    return lambda victim: _tar(_member("bar/good.pgm"), _member("bar/device.pgm", kind))


def _header(name: str, size: int, kind: bytes = tarfile.REGTYPE) -> bytes:
    """Return the header of a member, whose size may be any number."""
    info = tarfile.TarInfo(name)
    info.type = kind
    header = bytearray(info.tobuf(tarfile.GNU_FORMAT)[:512])
    header[124:136] = (size % (1 << 96)).to_bytes(12, "big")
    header[124] = 0xFF if size < 0 else 0x80
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header)


def _claiming(size: int, kind: bytes = tarfile.REGTYPE) -> Callable[[Path], bytes]:
    """Return the function that makes an archive whose second member claims a false size."""
    good = _header("bar/good.pgm", len(IMAGE)) + IMAGE.ljust(512, b"\0")
    return lambda victim: good + _header("bar/huge.pgm", size, kind) + bytes(4096)


def _bomb(
    compress: Callable[[bytes], bytes], start: bytes, repeated: bytes, size: int = HUGE
) -> bytes:
    """Return a compressed stream of `start` followed by `size` further bytes. Streams of gzip,
    bzip2 and xz may be concatenated, so that it is made quickly."""
    piece = repeated * ((1 << 24) // len(repeated))
    return compress(start) + compress(piece) * (size // len(piece))


def _zeros(compress: Callable[[bytes], bytes]) -> Callable[[Path], bytes]:
    return lambda victim: _bomb(compress, _header("bar/zeros.pgm", HUGE), b"\0")


def _many_members(victim: Path) -> bytes:
    return _bomb(gzip.compress, b"", _header("bar/empty.pgm", 0))


def _long_name(victim: Path) -> bytes:
    return _bomb(gzip.compress, _header("././@LongLink", HUGE, tarfile.GNUTYPE_LONGNAME), b"a")


def _headers_of_headers(victim: Path) -> bytes:
    """Return an archive with thousands of names for one member, nested in each other."""
    name = _header("././@LongLink", 9, tarfile.GNUTYPE_LONGNAME) + b"bar/a.pgm".ljust(512, b"\0")
    return name * 20_000 + _tar(_member("bar/good.pgm"))


def _digits(victim: Path) -> bytes:
    """Return an archive with a header of digits, which some versions parse for hours."""
    size = 1 << 19
    header = _header("pax", size, tarfile.XHDTYPE) + b"1" * size
    return header * 8 + _tar(_member("bar/good.pgm"))


def _overlapping(victim: Path) -> bytes:
    """Return an archive whose second member claims to end before it begins."""
    return _header("bar/good.pgm", 0) + _header("bar/back.pgm", -1024) + bytes(2048)


def _pax_path(victim: Path) -> bytes:
    info, content = _member("bar/harmless.pgm")
    info.pax_headers = {"path": "../bar/outside.pgm"}
    return _tar(_member("bar/good.pgm"), (info, content), kind=tarfile.PAX_FORMAT)


def _sparse(victim: Path) -> bytes:
    """Return an archive with a file of a terabyte, all of it a hole."""
    header = bytearray(_header("bar/hole.pgm", 0, tarfile.GNUTYPE_SPARSE))
    header[386:410] = b"%011o\0%011o\0" % (0, 0)
    header[483:495] = (0x80 << 88 | 1 << 40).to_bytes(12, "big")
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header) + bytes(1024)


TARS: dict[str, Callable[[Path], bytes]] = {
    "two points": _named("../bar/outside.pgm"),
    "two points in the middle": _named("bar/../../outside.pgm"),
    "an absolute name": _named("{victim}/bar/outside.pgm"),
    "a drive": _named("C:/bar/outside.pgm", "C:\\bar\\outside.pgm"),
    "backslashes": _named("..\\..\\bar\\outside.pgm"),
    "a name of the pax form": _pax_path,
    "a folder outside": lambda victim: _tar(_member("../bar", tarfile.DIRTYPE)),
    "control characters": _named("bar/\x1b[2J\x1b]0;x\x07.pgm", "bar/a\nerror: b.pgm"),
    "a name of 4096 letters": _named("bar/" + "a" * 4096 + ".pgm"),
    "a path of 4096 folders": _named("bar/" * 4096 + "a.pgm"),
    "a link to a folder": _linked(tarfile.SYMTYPE, "bar2", "{victim}", "bar2/outside.pgm"),
    "a link upwards": _linked(tarfile.SYMTYPE, "bar2", "../..", "bar2/outside.pgm"),
    "a link to a file": _linked(tarfile.SYMTYPE, "bar/a.pgm", "{victim}/victim.pgm", "bar/a.pgm"),
    "a hard link": _linked(tarfile.LNKTYPE, "bar/a.pgm", "{victim}/victim.pgm", "bar/a.pgm"),
    "a hard link upwards": _linked(tarfile.LNKTYPE, "bar/a.pgm", "../../victim/victim.pgm"),
    "a link to itself": _linked(tarfile.SYMTYPE, "bar/a.pgm", "a.pgm", "bar/a.pgm/b.pgm"),
    "a character device": _special(tarfile.CHRTYPE),
    "a block device": _special(tarfile.BLKTYPE),
    "a pipe": _special(tarfile.FIFOTYPE),
    "a file below a file": _named("bar/a.pgm", "bar/a.pgm/b.pgm"),
    "a terabyte that is not there": _claiming(1 << 40),
    "a size beyond all numbers": _claiming(1 << 86),
    "a size below zero": _claiming(-512),
    "members that overlap": _overlapping,
    "a name that is not there": _claiming(1 << 40, tarfile.GNUTYPE_LONGNAME),
    "a header that is not there": _claiming(1 << 40, tarfile.XHDTYPE),
    "a hole of a terabyte": _sparse,
    "zeros in gzip": _zeros(gzip.compress),
    "zeros in bzip2": _zeros(bz2.compress),
    "zeros in xz": _zeros(lzma.compress),
    "a name of gigabytes": _long_name,
    "millions of members": _many_members,
    "headers of headers": _headers_of_headers,
    "a header of digits": _digits,
}
"""Hostile tar archives by what is wrong with them."""


# Zip archives


def _zip(*members: tuple[str | zipfile.ZipInfo, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return file.getvalue()


def _zip_named(*names: str) -> Callable[[Path], bytes]:
    return lambda victim: _zip(
        ("bar/good.pgm", IMAGE), *((name.format(victim=victim), IMAGE) for name in names)
    )


def _zip_special(mode: int, *names: str) -> Callable[[Path], bytes]:
    def make(victim: Path) -> bytes:
        info = zipfile.ZipInfo("bar2" if names else "bar/a.pgm")
        info.external_attr = (mode | 0o777) << 16
        below = [(name, IMAGE) for name in names]
        return _zip(("bar/good.pgm", IMAGE), (info, str(victim).encode()), *below)

    return make


def _zip_entry(
    name: str, packed: bytes, size: int, method: int = 8, offset: int = 0
) -> tuple[bytes, bytes]:
    """Return a member and its entry in the directory, with a size that may be false."""
    common = struct.pack("<HHHHHIII", 20, 0, method, 0, 33, 0, len(packed), min(size, 0xFFFFFFFE))
    text = name.encode()
    local = b"PK\x03\x04" + common + struct.pack("<HH", len(text), 0) + text + packed
    entry = b"PK\x01\x02\x14\0" + common
    entry += struct.pack("<HHHHHII", len(text), 0, 0, 0, 0, 0, offset) + text
    return local, entry


def _zip_of(members: bytes, entries: Iterable[bytes]) -> bytes:
    entries = list(entries)
    directory = b"".join(entries)
    end = struct.pack("<HHHHIIH", 0, 0, len(entries), len(entries), len(directory), len(members), 0)
    return members + directory + b"PK\x05\x06" + end


def _deflated_zeros(size: int) -> bytes:
    """Return zeros as zip archives hold them, made of equal pieces that are independent."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    piece = packer.compress(bytes(1 << 24)) + packer.flush(zlib.Z_FULL_FLUSH)
    return piece * (size >> 24) + b"\x03\0"


def _zip_bomb(victim: Path) -> bytes:
    local, entry = _zip_entry("bar/zeros.pgm", _deflated_zeros(3 << 30), 3 << 30)
    return _zip_of(local, [entry])


def _zip_of_one_piece(victim: Path) -> bytes:
    """Return an archive whose thousands of members share the same content."""
    size = 1 << 25
    local, _ = _zip_entry("bar/0000.pgm", _deflated_zeros(size), size)
    packed = _deflated_zeros(size)
    entries = [_zip_entry(f"bar/{n:04}.pgm", packed, size)[1] for n in range(5000)]
    return _zip_of(local, entries)


def _zip_bzip2(victim: Path) -> bytes:
    """Return an archive whose member claims a small size and expands to gigabytes in a step."""
    packed = bz2.compress(bytes(1 << 24)) * 400
    local, entry = _zip_entry("bar/zeros.pgm", packed, 1000, method=12)
    return _zip_of(local, [entry])


def _zip_false_size(size: int) -> Callable[[Path], bytes]:
    def make(victim: Path) -> bytes:
        packer = zlib.compressobj(9, zlib.DEFLATED, -15)
        local, entry = _zip_entry("bar/a.pgm", packer.compress(IMAGE) + packer.flush(), size)
        return _zip_of(local, [entry])

    return make


def _zip_encrypted(victim: Path) -> bytes:
    content = bytearray(_zip(("bar/a.pgm", IMAGE)))
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    return bytes(content)


def _zip_nested(victim: Path) -> bytes:
    """Return a zip archive with a bomb of a tar archive, which readers of images open."""
    return _zip(("objects.tar.gz", _zeros(gzip.compress)(victim)), ("bar/good.pgm", IMAGE))


def _zip_deep(victim: Path) -> bytes:
    content = _zip_bomb(victim)
    for depth in range(5):
        content = _zip((f"bar/{depth}.zip", content), (f"bar/{depth}.pgm", content))
    return content


ZIPS: dict[str, Callable[[Path], bytes]] = {
    "two points": _zip_named("../bar/outside.pgm"),
    "two points in the middle": _zip_named("bar/../../outside.pgm"),
    "an absolute name": _zip_named("{victim}/bar/outside.pgm"),
    "a drive": _zip_named("C:/bar/outside.pgm"),
    "backslashes": _zip_named("..\\..\\bar\\outside.pgm"),
    "control characters": _zip_named("bar/\x1b[2J\x07.pgm"),
    "a name of 4096 letters": _zip_named("bar/" + "a" * 4096 + ".pgm"),
    "a link": _zip_special(stat.S_IFLNK, "bar2/outside.pgm"),
    "a link to a file": _zip_special(stat.S_IFLNK),
    "a pipe": _zip_special(stat.S_IFIFO),
    "a device": _zip_special(stat.S_IFCHR),
    "zeros": _zip_bomb,
    "one piece many times": _zip_of_one_piece,
    "zeros in bzip2": _zip_bzip2,
    "a size that is too small": _zip_false_size(3),
    "a size that is too large": _zip_false_size(1 << 20),
    "encrypted": _zip_encrypted,
    "a bomb in an archive": _zip_nested,
    "archives in archives": _zip_deep,
}
"""Hostile zip archives by what is wrong with them."""
