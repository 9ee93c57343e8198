"""Small valid data files of every kind that is read, and faulty versions of them.

`mutated(number)` is the same on every machine: a sample, of which one file was changed once or
twice. As the numbers grow, every change is applied to every sample whose files it suits.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import struct
import tarfile
import warnings
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from random import Random
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Archive:
    """An archive before it is packed: its kind (end of its name) and its members."""

    kind: str
    members: tuple[tuple[str, bytes | Archive | None], ...]
    """Names and contents in their order; None for a folder."""

    harm: Callable[[bytes], bytes] = bytes
    """A change of the archive before it is compressed."""

    def packed(self) -> bytes:
        """Return the bytes of the archive, the same each time."""
        members = [
            (name, content.packed() if isinstance(content, Archive) else content)
            for name, content in self.members
        ]
        if self.kind == "zip":
            return self.harm(_zip_of(members))
        plain = self.harm(_tar_of(members))
        compress = {"gz": lambda data: gzip.compress(data, mtime=0), "bz2": bz2.compress}
        compress |= {"xz": lzma.compress, "tar": bytes}
        return compress[self.kind](plain)


@dataclass(frozen=True)
class Sample:
    """A small valid set of data and how it is read."""

    name: str
    reader: str
    """A reader of datasets; ``new`` for a new table, ``pictures`` for a collection of images."""

    files: Mapping[str, bytes | Archive]
    """The files by name, in the order in which the reader takes them."""

    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of the reader; of ``new`` the request on the command line."""

    delimiter: str = ","
    indifferent: tuple[str, ...] = ()
    """Changes that do not affect the data that are read."""

    package: str | None = None
    """A package that reading needs and that may not be installed."""


@dataclass(frozen=True)
class Trial:
    """A sample of which a file was changed."""

    sample: Sample
    files: Mapping[str, bytes]
    changed: str
    """Name of the file that was changed."""

    changes: tuple[str, ...]

    @property
    def is_same(self) -> bool:
        """Whether the data must be those of the sample."""
        return set(self.changes) <= set(self.sample.indifferent)

    def __str__(self) -> str:
        return f"{self.sample.name}, {self.changed}: {', then '.join(self.changes)}"


def mutated(number: int) -> Trial:
    """Return the trial of this number."""
    location, make = number % len(SAMPLES), SAMPLES[number % len(SAMPLES)]
    sample = make()
    turn = number // len(SAMPLES) * SAMPLES.count(make) + SAMPLES[:location].count(make)
    pairs = [
        (file, change)
        for file, content in sample.files.items()
        for change in _changes_of(file, content)
    ]
    Random(f"order of {sample.name}").shuffle(pairs)
    changed, first = pairs[turn % len(pairs)]
    chosen, random = [first], Random(f"mutated data {number}")
    if random.random() < 0.25:
        chosen.append(random.choice([change for file, change in pairs if file == changed]))
    content: bytes | Archive = sample.files[changed]
    applied = []
    for name in chosen:
        # What was packed by the first change can no longer be changed as an archive.
        change = _changes_of(changed, content).get(name)
        if change is not None:
            content = change(random, content, sample.delimiter)
            applied.append(name)
    files = {name: _packed(before) for name, before in sample.files.items()}
    files[changed] = _packed(content)
    return Trial(sample, files, changed, tuple(applied))


def _packed(content: bytes | Archive) -> bytes:
    return content.packed() if isinstance(content, Archive) else content


# Changes of texts


def _flipped(random: Random, content: bytes, delimiter: str) -> bytes:
    changed = bytearray(content or b"\0")
    for _ in range(random.randint(1, 5)):
        changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def _inserted(part: Callable[[Random], bytes]) -> Callable[[Random, bytes, str], bytes]:
    def change(random: Random, content: bytes, delimiter: str) -> bytes:
        location = random.randrange(len(content) + 1)
        return content[:location] + part(random) + content[location:]

    return change


def _of_lines(
    change: Callable[[Random, list[bytes]], list[bytes]],
) -> Callable[[Random, bytes, str], bytes]:
    def changed(random: Random, content: bytes, delimiter: str) -> bytes:
        return b"".join(change(random, content.splitlines(keepends=True) or [b""]))

    return changed


def _some_line(random: Random, lines: list[bytes]) -> int:
    """Return the index of a line, of the first one in half of the cases."""
    return random.choice([0, random.randrange(len(lines))])


def _without_line(random: Random, lines: list[bytes]) -> list[bytes]:
    del lines[_some_line(random, lines)]
    return lines


def _with_line_twice(random: Random, lines: list[bytes]) -> list[bytes]:
    index = _some_line(random, lines)
    return [*lines[: index + 1], *lines[index:]]


def _with_lines_swapped(random: Random, lines: list[bytes]) -> list[bytes]:
    first, second = _some_line(random, lines), random.randrange(len(lines))
    lines[first], lines[second] = lines[second], lines[first]
    return lines


def _rows(content: bytes, delimiter: str) -> list[list[str]]:
    text = content.decode("utf-8", "surrogateescape")
    return [line.split(delimiter) for line in text.split("\n")]


def _joined(rows: Sequence[Sequence[str]], delimiter: str) -> bytes:
    text = "\n".join(delimiter.join(row) for row in rows)
    return text.encode("utf-8", "surrogateescape")


def _with_cell(random: Random, content: bytes, delimiter: str, text: str) -> bytes:
    """Return the text with one to three cells replaced; sometimes a name in the header."""
    rows = _rows(content, delimiter)
    for _ in range(random.randint(1, 3)):
        row = random.choice([0, *range(len(rows))])
        rows[row][random.randrange(len(rows[row]))] = text
    return _joined(rows, delimiter)


def _cells(texts: Callable[[Random], str]) -> Callable[[Random, bytes, str], bytes]:
    def change(random: Random, content: bytes, delimiter: str) -> bytes:
        return _with_cell(random, content, delimiter, texts(random))

    return change


def _of_rows(change: Callable[[Random, list[list[str]]], None]):
    def changed(random: Random, content: bytes, delimiter: str) -> bytes:
        rows = _rows(content, delimiter)
        change(random, rows)
        return _joined(rows, delimiter)

    return changed


def _delete_cell(random: Random, rows: list[list[str]]) -> None:
    row = random.choice(rows)
    del row[random.randrange(len(row))]


def _delete_column(random: Random, rows: list[list[str]]) -> None:
    column = random.randrange(max(map(len, rows)))
    for row in rows:
        del row[column : column + 1]


def _duplicate_column(random: Random, rows: list[list[str]]) -> None:
    column = random.randrange(max(map(len, rows)))
    for row in rows:
        row[column:column] = row[column : column + 1]


def _blank_column(random: Random, rows: list[list[str]]) -> None:
    column, text = random.randrange(max(map(len, rows))), random.choice(["", "?", "NaN", "7"])
    for row in rows[1:]:
        if column < len(row):
            row[column] = text


def _other_delimiter(random: Random, content: bytes, delimiter: str) -> bytes:
    others = [other for other in (",", ";", "\t", "|", " ") if other != delimiter]
    return content.replace(delimiter.encode(), random.choice(others).encode())


def _many_cells(random: Random, content: bytes, delimiter: str) -> bytes:
    lines = content.splitlines(keepends=True) or [b""]
    lines[random.randrange(len(lines))] = (delimiter * 300_000).encode() + b"\n"
    return b"".join(lines)


def _many_spaces(random: Random, content: bytes, delimiter: str) -> bytes:
    space = random.choice([" ", "\t", "\u00a0"]) * 200_000
    return _with_cell(random, content, delimiter, random.choice(["'a", '"', "x"]) + space + "b")


def _as_utf_16(random: Random, content: bytes, delimiter: str) -> bytes:
    encoding = random.choice(["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
    return content.decode("utf-8", "replace").encode(encoding)


def _with_line_end(end: bytes) -> Callable[[Random, bytes, str], bytes]:
    return lambda random, content, delimiter: content.replace(b"\n", end)


def _quoted(random: Random, content: bytes, delimiter: str) -> bytes:
    rows = [[f'"{cell}"' for cell in row] for row in _rows(content.rstrip(b"\n"), delimiter)]
    return _joined(rows, delimiter) + b"\n"


PAGE = b"<!DOCTYPE html>\n<html><head><title>Log in</title></head><body>Log in</body></html>\n"
NO_UTF_8 = (b"\xff", b"\xc3(", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"caf\xe9")
ENORMOUS = ("1e308", "-1.7e308", "1e999", "9" * 400, "9" * 5000, "5e-324", "0." + "0" * 400 + "1")
DIGITS = ("１２", "٣٫٥", "४२", "²", "½", "Ⅷ", "1\u00a0000", "−3", "1\u200b2", "\ufeff7")
OTHERS = ("yes", "TRUE", "1,5", "1.234,5", "1_000", "NaN", "-inf", "0x1F", "2024-05-31", "1e", "--")
STRANGE = ("\x1b[2J\x1b[31m", "a\x07b", "\x7f", "\u202edlrow", "a\x85b", "\u2028", "\x0b", "\x1c")
FORMULAS = ("=1+1", "=cmd|' /C calc'!A0", "@SUM(A1)", "{1, 2}", "%d", "{0}", "$(id)", "../../etc")

TEXT_CHANGES = {
    "bits flipped": _flipped,
    "random bytes": _inserted(lambda random: random.randbytes(random.randint(1, 200))),
    "truncated": lambda random, content, delimiter: content[: random.randrange(len(content) + 1)],
    "emptied": lambda random, content, delimiter: random.choice(
        [b"", b"\n", b" \n\t\n", b"\xef\xbb\xbf"]
    ),
    "header only": _of_lines(lambda random, lines: lines[: random.randint(1, 2)]),
    "a line deleted": _of_lines(_without_line),
    "a line twice": _of_lines(_with_line_twice),
    "lines swapped": _of_lines(_with_lines_swapped),
    "a cell deleted": _of_rows(_delete_cell),
    "a column deleted": _of_rows(_delete_column),
    "a column twice": _of_rows(_duplicate_column),
    "names shuffled": _of_rows(lambda random, rows: random.shuffle(rows[0])),
    "a column with one value": _of_rows(_blank_column),
    "another delimiter": _other_delimiter,
    "an open quote": _cells(lambda random: random.choice(['"', "'", 'a"b', '"a"b', "\\"])),
    "NUL bytes": _inserted(lambda random: bytes(random.randint(1, 3))),
    "invalid UTF-8": _inserted(lambda random: random.choice(NO_UTF_8)),
    "another encoding": _as_utf_16,
    "byte order mark": lambda random, content, delimiter: b"\xef\xbb\xbf" + content,
    "CRLF": _with_line_end(b"\r\n"),
    "CR": _with_line_end(b"\r"),
    "blank lines": lambda random, content, delimiter: content + b"\n\n",
    "quotes around all": _quoted,
    "enormous numbers": _cells(lambda random: random.choice(ENORMOUS)),
    "digits of other scripts": _cells(lambda random: random.choice(DIGITS)),
    "other types": _cells(lambda random: random.choice(OTHERS)),
    "control characters": _cells(lambda random: random.choice(STRANGE)),
    "formulas": _cells(lambda random: random.choice(FORMULAS)),
    "empty cells": _cells(lambda random: random.choice(["", " ", '""'])),
    "a very long cell": _cells(lambda random: random.choice("x7,") * 1_000_000),
    "very many cells": _many_cells,
    "very many spaces": _many_spaces,
    "a page of HTML": lambda random, content, delimiter: PAGE,
    "many brackets": lambda random, content, delimiter: (
        random.choice([b"[", b"{'", b'{"a":']) * 99_999
    ),
}

BINARY_CHANGES = {
    name: TEXT_CHANGES[name]
    for name in ("bits flipped", "random bytes", "truncated", "emptied", "NUL bytes")
}


# Changes of archives


def _of_member(
    change: Callable[[Random, str, Any, str], list[tuple[str, Any]]],
) -> Callable[[Random, Archive, str], Archive]:
    """Return the change of an archive that replaces a member by the members that it gives."""

    def changed(random: Random, archive: Archive, delimiter: str) -> Archive:
        index = random.randrange(len(archive.members)) if archive.members else 0
        members = list(archive.members)
        if members:
            members[index : index + 1] = change(random, *members[index], delimiter)
        return replace(archive, members=tuple(members))

    return changed


def _renamed(random: Random, name: str, content: Any, delimiter: str) -> list[tuple[str, Any]]:
    endings = ["x", "\x1b[2J", "é", "\udcff", "a" * 4096, "../x", "a\nb", "-1", " ", "٣"]
    folder, _, last = name.rpartition("/")
    ending = random.choice(endings)
    choices = [f"{folder}/{ending}{last}", f"{folder}{ending}/{last}", ending, f"/{name}"]
    return [(random.choice(choices), content)]


def _changed(random: Random, name: str, content: Any, delimiter: str) -> list[tuple[str, Any]]:
    if content is None:
        return [(name, content)]
    changes = _changes_of(name, content)
    return [(name, changes[random.choice(list(changes))](random, content, delimiter))]


def _harmed(random: Random, archive: Archive, delimiter: str) -> Archive:
    """Return the archive with bits flipped inside of its compression, most in a header."""

    def harm(plain: bytes) -> bytes:
        changed = bytearray(plain)
        for _ in range(random.randint(1, 3)):
            start = 512 * random.randrange(max(len(changed) // 512, 1))
            index = min(start + random.randrange(512), len(changed) - 1)
            changed[index] = random.randrange(256)
        return bytes(changed)

    return replace(archive, harm=harm)


def _with_false_header(random: Random, archive: Archive, delimiter: str) -> Archive:
    """Return a tar archive with a wrong field in a header whose own checksum is right."""

    def harm(plain: bytes) -> bytes:
        start, end = random.choice([(100, 108), (124, 136), (156, 157), (257, 265), (345, 500)])
        header = bytearray(plain[:512])
        texts = [b"\xff", b"\x80", b"7", b"-1", b"x", b" ", b"L", b"S"]
        header[start:end] = (random.choice(texts) * (end - start))[: end - start]
        header[148:156] = b" " * 8
        header[148:156] = b"%06o\0 " % sum(header)
        return bytes(header) + plain[512:]

    return replace(archive, harm=harm)


def _then_packed(name: str) -> Callable[[Random, Archive, str], bytes]:
    change = TEXT_CHANGES[name]
    return lambda random, archive, delimiter: change(random, archive.packed(), delimiter)


ARCHIVE_CHANGES = {
    "a member missing": _of_member(lambda random, name, content, delimiter: []),
    "a member twice": _of_member(lambda random, name, content, delimiter: [(name, content)] * 2),
    "a member renamed": _of_member(_renamed),
    "a member that is a folder": _of_member(lambda random, name, content, _: [(name, None)]),
    "a member changed": _of_member(_changed),
    "a member changed again": _of_member(_changed),
    "damaged inside": _harmed,
    "packed otherwise": lambda random, archive, delimiter: replace(
        archive, kind=random.choice(["tar", "gz", "bz2", "xz", "zip"])
    ),
    **{
        name: _then_packed(name)
        for name in ("bits flipped", "random bytes", "truncated", "emptied")
    },
    "bytes behind the end": lambda random, archive, _: archive.packed() + random.randbytes(3000),
    "a page of HTML": TEXT_CHANGES["a page of HTML"],
}


def _unpacked(change):
    """Return a change of a text as a change of the text in a gzip file."""

    def changed(random: Random, content: bytes, delimiter: str) -> bytes:
        try:
            plain = gzip.decompress(content)
        except (OSError, EOFError, zlib.error):
            # An earlier change has damaged it.
            return content
        return gzip.compress(change(random, plain, delimiter), mtime=0)

    return changed


def _changes_of(name: str, content: bytes | Archive) -> dict[str, Callable]:
    """Return the changes by name that suit a file."""
    if isinstance(content, Archive):
        false_header = {} if content.kind == "zip" else {"a false header": _with_false_header}
        return ARCHIVE_CHANGES | false_header
    if name.endswith((".npy", ".pkl", ".parquet", ".pgm", ".png")):
        return BINARY_CHANGES
    if name.endswith((".csv.gz", ".tsv.gz")):
        packed = {f"{name}, packed": change for name, change in BINARY_CHANGES.items()}
        if content.startswith(b"\x1f\x8b"):
            return packed | {name: _unpacked(change) for name, change in TEXT_CHANGES.items()}
        return packed
    return TEXT_CHANGES


# Archives, the same each time


def _tar_of(members: Sequence[tuple[str, bytes | None]]) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.type = tarfile.DIRTYPE if content is None else tarfile.REGTYPE
            info.size = len(content or b"")
            archive.addfile(info, io.BytesIO(content or b""))
    return file.getvalue()


def _zip_of(members: Sequence[tuple[str, bytes | None]]) -> bytes:
    file = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(file, "w") as archive:
        # Repeated names are intended.
        warnings.simplefilter("ignore")
        for name, content in members:
            # Names in zip archives are UTF-8.
            name = name.encode("utf-8", "replace").decode()
            info = zipfile.ZipInfo(name + "/" * (content is None))
            archive.writestr(info, content or b"", zipfile.ZIP_DEFLATED)
    return file.getvalue()


# Samples


def _table(header: str, rows: Sequence[Sequence[Any]], delimiter: str = ",") -> bytes:
    lines = [header.replace(",", delimiter), *(delimiter.join(map(str, row)) for row in rows)]
    return ("\n".join(lines) + "\n").encode()


HARMLESS = ("byte order mark", "CRLF", "CR", "blank lines")


def _csv() -> Sample:
    rows = [
        ("" if n % 10 == 4 else n % 7, 5 * n % 11, 3 * n % 8, n % 7 + 5 * n % 11, n * n % 13)
        for n in range(24)
    ]
    content = _table("first,second,third,sum,square", rows)
    options = {"outputs": ["sum", "square"]}
    return Sample(
        "csv", "csv", {"table.csv": content}, options, indifferent=(*HARMLESS, "quotes around all")
    )


def _arff() -> Sample:
    random = Random(2)
    lines = ["% made up", "@relation 'small: -C 2'", "", "@attribute length numeric"]
    lines += ["@attribute 'colour of it' {red, 'dark blue', green}", "@attribute depth real"]
    lines += ["@attribute y1 numeric", "@attribute y2 integer", "@data"]
    for n in range(24):
        colour = random.choice(["red", "'dark blue'", "green", "?"])
        length = "?" if n % 9 == 4 else f"{random.uniform(0, 9):.3f}"
        lines.append(f"{length},{colour},{random.uniform(0, 5):.2e},{n * 7 % 11},{n * 5 % 13}")
    content = ("\n".join(lines) + "\n").encode()
    return Sample("arff", "arff", {"table.arff": content}, {"targets": 2}, indifferent=HARMLESS)


def _assay_rows() -> list[tuple]:
    random = Random(5)
    rows = []
    for n in range(40):
        heat, colour = random.uniform(0, 9), random.choice(["red", "blue", "green"])
        day = date(2024, 1, 1) + timedelta(days=3 * n)
        up = heat + 3 * (colour == "red") + random.gauss(0, 0.3)
        shown = "" if n % 9 == 2 else f"{heat:.3f}"
        down = "" if n % 8 == 3 else f"{7 - heat + random.gauss(0, 0.3):.4f}"
        words = " ".join(random.choices(["slow", "clear", "bright", "dull", "warm"], k=6))
        name = "".join(random.choices("abcdefgh", k=9))
        rows.append((f"s{n}", shown, colour, name, words, day, f"g{n % 7}", f"{up:.4f}", down))
    return rows


_ASSAY = "sample,heat,colour,maker,remark,day,batch,up,down"


def _user_table() -> Sample:
    options = {
        "file": "assay.csv",
        "outputs": ["up", "down"],
        "numbers": ["heat"],
        "categories": ["colour"],
        "strings": ["maker"],
        "row_name": "sample",
        "time": "day",
        "same_group": "batch",
    }
    content = _table(_ASSAY, _assay_rows())
    same = (*HARMLESS, "quotes around all")
    return Sample("user table", "table", {"assay.csv": content}, options, indifferent=same)


def _own_texts() -> Sample:
    content = gzip.compress(_table(_ASSAY, _assay_rows(), "\t"), mtime=0)
    options = {
        "file": "assay.tsv.gz",
        "outputs": ["up"],
        "numbers": ["heat"],
        "text": "remark",
        "group": "batch",
    }
    return Sample(
        "own texts", "table", {"assay.tsv.gz": content}, options, "\t", indifferent=HARMLESS
    )


def _own_classes() -> Sample:
    vectors = _table("colour,r,g,b", [("red", 1, 0, 0), ("green", 0, 1, 0), ("blue", 0, 0.2, 1)])
    files = {"assay.csv": _table(_ASSAY, _assay_rows()), "vectors.csv": vectors}
    options = {
        "file": "assay.csv",
        "classes": "colour",
        "numbers": ["heat", "up"],
        "class_vectors": "vectors.csv",
    }
    return Sample("own classes", "table", files, options)


def _own_kernel() -> Sample:
    points = np.random.default_rng(3).normal(size=(40, 3)).round(2)
    values = np.exp(-((points[:, None] - points) ** 2).sum(axis=2)).round(9)
    files = {
        "assay.csv": _table(_ASSAY, _assay_rows()),
        "gram.csv": _table(",".join(f"c{n}" for n in range(40)), values.tolist()),
    }
    options = {"file": "assay.csv", "outputs": ["up"], "gram": "gram.csv"}
    return Sample("own kernel values", "table", files, options)


def _new_table() -> Sample:
    request = {"data": "assay.csv", "outputs": "up,down"}
    content = _table(_ASSAY, _assay_rows())
    return Sample("new table", "new", {"assay.csv": content}, request)


def _new_classes() -> Sample:
    request = {"data": "assay.tsv", "classes": "colour", "exclude": "down"}
    content = _table(_ASSAY, _assay_rows(), "\t")
    return Sample("new classes", "new", {"assay.tsv": content}, request, "\t")


def _sequences() -> list[tuple[str, str, float]]:
    random = Random(8)
    texts = ["".join(random.choices("ACDEFGHIKLMNPQRSTVWY", k=60)) for _ in range(30)]
    return [(f"protein_{n}", text, text.count("A") + n % 3) for n, text in enumerate(texts)]


def _fasta(name: str) -> Callable[[], Sample]:
    def sample() -> Sample:
        lines = [f">{key} stability={value}\n{text}\n" for key, text, value in _sequences()]
        request = {"data": name, "outputs": "stability"}
        return Sample(f"FASTA as {name}", "new", {name: "".join(lines).encode()}, request)

    return sample


def _new_sequences() -> Sample:
    rows = [(key, text, value) for key, text, value in _sequences()]
    request = {"data": "proteins.csv", "outputs": "stability"}
    content = _table("protein,sequence,stability", rows)
    return Sample("new sequences", "new", {"proteins.csv": content}, request)


def _activities() -> Sample:
    smiles = ["CCO", "c1ccccc1", "CC(=O)O", "CCN", "C1CCCCC1", "c1ccncc1", "CCCl", "OCC(O)CO"]
    smiles += ["c1ccc2ccccc2c1", "CC#N", "C=CC", "Oc1ccccc1"]
    random = Random(4)
    measured = [
        (n, "S", f"drug {n}", *(f"{random.gauss(0, 1):.3f}" for _ in range(4)))
        for n in range(len(smiles))
    ]
    files = {
        "activities.csv": _table("nsc,prefix,name,A:1,B:2,C:3,ME:MDA-N", measured),
        "structures.csv": _table("nsc,smiles", enumerate(smiles)),
    }
    options = {"least_lines": 3, "n_bits": 64}
    return Sample("activities", "drug_activity", files, options, package="rdkit")


def _kernel_values(name: str) -> Callable[[], Sample]:
    def sample() -> Sample:
        points = np.random.default_rng(6).normal(size=(14, 3)).round(2)
        values = (points @ points.T).round(6) + np.eye(14)
        labels = [(f"m{n}", n * 7 % 11, "NA" if n == 3 else n * 5 % 13) for n in range(14)]
        if name.endswith(".npy"):
            file = io.BytesIO()
            np.save(file, values)
            content = file.getvalue()
        else:
            lines = [("id", *(f"m{n}" for n in range(14)))]
            lines += [(f"m{n}", *row) for n, row in enumerate(values.tolist())]
            content = _table(",".join(lines[0]), lines[1:])
        files = {name: content, "labels.csv": _table("id,one,two", labels)}
        return Sample(f"kernel values in {name}", "drug_activity_gram", files)

    return sample


_TRAITS = ("extraversion", "agreeableness", "conscientiousness", "neuroticism", "openness")


def _impressions(packed: bool) -> Callable[[], Sample]:
    def sample() -> Sample:
        generator = np.random.default_rng(1)
        scores = {}
        for n in range(40):
            scores[f"clip{n:02}.mp4"] = generator.uniform(0.3, 0.7, size=5).round(4).tolist()
            if n < 20:
                scores[f"clip{n:02}.mp4"][n % 5] = 0.95
        values = generator.normal(size=(40, 3)).round(3)
        if not packed:
            rows = [(video, *row) for video, row in zip(scores, values.tolist())]
            files = {
                "annotations.csv": _table(
                    "video," + ",".join(_TRAITS), [(v, *s) for v, s in scores.items()]
                ),
                "features.csv": _table("video,a,b,c", rows),
            }
            return Sample("impressions in tables", "first_impressions", files)
        array = io.BytesIO()
        np.save(array, values)
        files = {
            "annotation_training.pkl": python_2_pickle(
                {
                    trait: {video: row[index] for video, row in scores.items()}
                    for index, trait in enumerate(_TRAITS)
                }
            ),
            "features.npy": array.getvalue(),
            "features.txt": "\n".join(scores).encode(),
        }
        return Sample("impressions in a pickle", "first_impressions", files)

    return sample


def python_2_pickle(content: Mapping[str, Mapping[str, float]]) -> bytes:
    """Return dictionaries of numbers by text as Python 2 pickled them (protocol 2)."""
    written = b"\x80\x02}("
    for name, values in content.items():
        written += b"U" + bytes([len(name)]) + name.encode() + b"}("
        for key, value in values.items():
            written += b"U" + bytes([len(key)]) + key.encode()
            written += struct.pack(">cd", b"G", value)
        written += b"u"
    return written + b"u."


def _calls() -> Sample:
    random = Random(7)
    days = [date(2015, 1, 5) + timedelta(days=7 * (n // 5) + n % 5) for n in range(80)]
    prices, transcripts = [], []
    for company in ("AB", "CD"):
        price, lines = 50.0, ["date,open,close,Name"]
        for day in days:
            price *= 1 + random.gauss(0, 0.02)
            lines.append(f"{day},1,{price:.4f},{company}")
        text = ("\n".join(lines) + "\n").encode()
        prices.append((f"individual_stocks_5yr/{company}_data.csv", text))
        for day in days[10:60:10]:
            words = random.choices(["growth", "margin", "risk", "loss", "market"], k=20)
            name = f"MAEC_Dataset/{day:%Y%m%d}_{company}/text.txt"
            transcripts.append((name, " ".join(words).encode()))
    files = {
        "calls.tar.gz": Archive("gz", tuple(transcripts)),
        "prices.tar.gz": Archive("gz", tuple(prices)),
    }
    return Sample(
        "calls", "earnings_calls", files, {"weeks": 2, "lagged_days": 5, "least_words": 3}
    )


def _reports() -> Sample:
    random = Random(9)
    companies, files = [str(n) for n in range(11, 19)], {}
    for year in (2001, 2002):
        keys = {company: f"{company}_{year}0301" for company in companies}
        texts = [
            (f"{year}.tok/{key}.mda", " ".join(random.choices("abcdefg", k=12)).encode())
            for key in keys.values()
        ]
        files[f"{year}.tok.tgz"] = Archive("gz", tuple(texts))
        lines = [f"{random.uniform(-5, -2):.5f} {key}\n" for key in keys.values()]
        files[f"{year}.logvol.+12.txt"] = "".join(lines).encode()
        meta = [f"{key}\t{year}0301\thttp://sec/\tCOMPANY\t{name}\n" for name, key in keys.items()]
        files[f"{year}.meta.txt"] = "".join(meta).encode()
    options = {"years": [2001, 2002], "terms_per_year": 5}
    return Sample("reports", "kogan10k", files, options, " ")


_BASE = {
    "classes.txt": b"     1\twolf\n     2\tgrizzly+bear\n     3\tbobcat\n",
    "predicates.txt": b"     1\tblack\n     2\tbig\n     3\tswims\n     4\tclaws\n",
    "predicate-matrix-continuous.txt": (
        b" 40.00  30.00   0.00  0.00\n  0.00  60.00  80.00 -1\n 10.00  10.00  10.00 10.00\n"
    ),
}


def _animals() -> Sample:
    random = Random(1)
    images = [
        (f"Features/vgg19/{name}/{name}_{n:04}.txt", f"{random.random():.3f} 2 {n}\n".encode())
        for name in ("wolf", "grizzly+bear", "bobcat")
        for n in range(3)
    ]
    base = tuple((f"Animals_with_Attributes/{name}", text) for name, text in _BASE.items())
    files = {
        "AwA-features-vgg19.tar.bz2": Archive("bz2", tuple(images)),
        "AwA-base.tar.bz2": Archive("bz2", base),
    }
    return Sample("animals", "awa", files, {"dimension": 3, "folder": "animals"}, " ")


def _animals_2() -> Sample:
    lines = {"AwA2-features.txt": [], "AwA2-filenames.txt": [], "AwA2-labels.txt": []}
    for n in range(9):
        name = ("wolf", "grizzly+bear", "bobcat")[n % 3]
        lines["AwA2-features.txt"].append(f"{n / 7:.3f} {n % 4} {n * n}")
        lines["AwA2-filenames.txt"].append(f"{name}_1000{n}.jpg")
        lines["AwA2-labels.txt"].append(str(n % 3 + 1))
    features = [
        (f"Animals_with_Attributes2/Features/ResNet101/{name}", "\n".join(rows).encode())
        for name, rows in lines.items()
    ]
    base = tuple((f"Animals_with_Attributes2/{name}", text) for name, text in _BASE.items())
    files = {
        "AwA2-features.zip": Archive("zip", tuple(features)),
        "AwA2-base.zip": Archive("zip", base),
    }
    return Sample("animals, second set", "awa2", files, {"dimension": 3, "folder": "animals"}, " ")


def _animals_by_name(words: str) -> Callable[[], Sample]:
    """Return the maker of a sample whose class vectors are those of words."""

    def sample() -> Sample:
        vectors = {"wolf": [1, 0.1], "grizzly": [0.9, 0.4], "bear": [0.8, 0.3], "bobcat": [0, 1]}
        if words.endswith(".json"):
            lists = {"words": list(vectors), "vectors": list(vectors.values())}
            content = json.dumps(lists).encode()
        else:
            lines = [f"{word} {numbers[0]} {numbers[1]}\n" for word, numbers in vectors.items()]
            content = Archive("zip", (("words.2d.txt", "".join(lines).encode()),))
        files = {words: content, "AwA-base.tar.bz2": _animals().files["AwA-base.tar.bz2"]}
        files["AwA-features-vgg19.tar.bz2"] = _animals().files["AwA-features-vgg19.tar.bz2"]
        options = {"dimension": 3, "vectors": "names", "word_vectors": words, "folder": "animals"}
        return Sample(f"animals by {words}", "awa", files, options, " ")

    return sample


def _animals_by_texts() -> Sample:
    texts = {
        "wolf": ["Wolves hunt in packs.", "They howl in the forest."],
        "grizzly bear": "Bears eat berries in the forest and sleep in the winter.",
        "bobcat": {"title": "Bobcat", "text": "Bobcats hunt alone in the winter."},
    }
    words = "".join(f"{word} {n % 3} {n / 7:.3f}\n" for n, word in enumerate(_WORDS))
    files = {
        "texts.json": json.dumps(texts, indent=1).encode(),
        "words.txt": words.encode(),
        **_animals().files,
    }
    options = {"dimension": 3, "vectors": "texts", "word_vectors": "words.txt"}
    options |= {"texts": "texts.json", "folder": "animals"}
    return Sample("animals by texts", "awa", files, options, " ")


_WORDS = ("wolves", "hunt", "packs", "howl", "forest", "bears", "eat", "berries", "sleep", "winter")


def _pictures(kind: str) -> Callable[[], Sample]:
    def sample() -> Sample:
        random = Random(3)
        images = [
            (f"objects/{name}/image_{n:02}.pgm", b"P5 12 12 255\n" + random.randbytes(144))
            for name in ("bar", "box")
            for n in range(3)
        ]
        if kind == "zip":
            inner = Archive("gz", tuple(images))
            archive = Archive("zip", (("read me.txt", b"x"), ("objects.tar.gz", inner)))
        else:
            archive = Archive(kind, tuple(images))
        files = {f"pictures.{kind}": archive}
        return Sample(f"pictures in {kind}", "pictures", files, package="PIL")

    return sample


SAMPLES = (
    _csv,
    _arff,
    _user_table,
    _new_table,
    _calls,
    _own_texts,
    _fasta("proteins.fasta"),
    _pictures("tar"),
    _new_sequences,
    _animals,
    _own_classes,
    _activities,
    _animals_2,
    _kernel_values("gram.csv"),
    _fasta("proteins.txt"),
    _pictures("zip"),
    _own_kernel,
    _impressions(packed=False),
    _reports,
    _new_classes,
    _impressions(packed=True),
    _animals_by_name("words.zip"),
    _kernel_values("gram.npy"),
    _animals_by_name("words.json"),
    _animals_by_texts,
    _csv,
    _arff,
    _new_table,
    _user_table,
)
"""Makers of the samples; tables occur more often than rarer files."""
