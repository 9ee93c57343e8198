"""Collections of images: the images in folders and archives, and the treatment of each file."""

import io
import os
import struct
import tarfile
import tempfile
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest
from reader_samples import refusal
from small_archives import write_archive

from workflow_lib.core.errors import UserError
from workflow_lib.items import images
from workflow_lib.items.images import (
    DAMAGED,
    EMPTY,
    NOT_AN_IMAGE,
    TOO_LARGE,
    ImageEntry,
    empty_class_folders,
    grey_levels,
    image_entries,
    open_images,
    resized,
)

Image = pytest.importorskip("PIL.Image")


def opened_content(content):
    """Return the bytes of a file as `open_images` opens them."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "class", "image.png")
        path.parent.mkdir()
        path.write_bytes(content)
        return next(open_images(Path(folder), [ImageEntry("class", "image.png")]))


def picture(height=6, width=9, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def encoded(pixels, format="PNG", **options):
    """Return the bytes of an image file; `pixels` are an array or an image of Pillow."""
    image = Image.fromarray(pixels) if isinstance(pixels, np.ndarray) else pixels
    buffer = io.BytesIO()
    image.save(buffer, format, **options)
    return buffer.getvalue()


def members():
    return {
        "top/zebra/b.png": encoded(picture(seed=1)),
        "top/zebra/a.PNG": encoded(picture(seed=2)),
        "top/ant/c.png": encoded(picture(seed=3)),
        "top/BACKGROUND_Google/x.png": encoded(picture(seed=4)),
        "top/ant/.DS_Store": b"no image",
        "top/ant/._c.png": b"no image",
        "top/ant/list.txt": b"no image",
        "__MACOSX/top/ant/c.png": b"no image",
        "README.md": b"no image",
    }


EXPECTED = [("ant", "c.png"), ("zebra", "a.PNG"), ("zebra", "b.png")]
SEEDS = [3, 2, 1]


def write_folder(path, contents):
    for name, content in contents.items():
        file = path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return path


def write_zip(path, contents):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    return path


def collections(tmp_path):
    yield write_folder(tmp_path / "folder", members())
    yield write_archive(tmp_path / "plain.tar", members(), "w")
    yield write_archive(tmp_path / "packed.tar.gz", members(), "w:gz")
    yield write_zip(tmp_path / "flat.zip", members())
    inner = write_archive(tmp_path / "inner.tar.gz", members(), "w:gz").read_bytes()
    other = write_archive(tmp_path / "other.tar", {"Annotations/ant/a.mat": "1"}, "w").read_bytes()
    yield write_zip(
        tmp_path / "nested.zip",
        {
            "caltech/images.tar.gz": inner,
            "caltech/Annotations.tar": other,
            "__MACOSX/._images.tar.gz": b"no archive",
        },
    )


@pytest.mark.parametrize("held", [1, 400, 1 << 27])
@pytest.mark.parametrize("order", [1, -1])
def test_every_form_gives_the_same_images_in_any_order_however_few_are_held_at_once(
    tmp_path, held, order, monkeypatch
):
    monkeypatch.setattr(images, "MAX_HELD", held)
    for path in collections(tmp_path):
        entries = image_entries(path)
        assert entries == EXPECTED, path
        found = open_images(path, entries[::order])
        for opened, entry, seed in zip(found, EXPECTED[::order], SEEDS[::order], strict=True):
            assert (opened.entry, opened.reason) == (entry, "")
            np.testing.assert_array_equal(opened.pixels, picture(seed=seed))


def test_entries_are_a_choice_of_the_collection(tmp_path):
    path = write_archive(tmp_path / "a.tar", members(), "w")
    (only,) = open_images(path, [ImageEntry("zebra", "b.png")])
    np.testing.assert_array_equal(only.pixels, picture(seed=1))
    with pytest.raises(ValueError, match="no image"):
        list(open_images(path, [ImageEntry("zebra", "z.png")]))


def test_classes_are_left_out_as_asked(tmp_path):
    path = write_folder(tmp_path, members())
    assert image_entries(path, ["zebra"]) == [("BACKGROUND_Google", "x.png"), ("ant", "c.png")]
    with pytest.raises(UserError, match="no image in it"):
        image_entries(path, ["zebra", "ant", "BACKGROUND_Google"])


def test_of_a_name_that_occurs_twice_in_a_tar_archive_the_last_counts(tmp_path):
    first, last = encoded(picture(seed=1)), encoded(picture(4, 4, seed=2))
    path = write_archive(tmp_path / "a.tar", [("ant/a.png", first), ("ant/a.png", last)], "w")
    (opened,) = open_images(path, image_entries(path))
    np.testing.assert_array_equal(opened.pixels, picture(4, 4, seed=2))


def test_folders_without_images_among_the_classes_are_named(tmp_path):
    contents = members() | {"top/bee/notes.txt": b"none", "top/.hidden/x.txt": b"none"}
    path = write_folder(tmp_path / "folder", contents)
    (path / "top" / "cat").mkdir()
    (path / "elsewhere").mkdir()
    assert empty_class_folders(path) == ["bee", "cat"]
    assert empty_class_folders(path, ["cat"]) == ["bee"]
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        archive.add(path, arcname=".")
    assert empty_class_folders(tmp_path / "a.tar") == ["bee", "cat"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        *(("zebra", other) for other in ("ZEBRA", "_zebra", "deep/zebra")),
        ("sea_horse", "Sea horse"),
    ],
)
def test_two_folders_with_one_class_name_are_refused(tmp_path, first, second):
    path = write_folder(tmp_path, {f"top/{name}/q.png": b"" for name in (first, second)})
    message = refusal(image_entries, path)
    assert "two classes of one name" in message
    assert f"top/{first}" in message and f"top/{second}" in message


# What is unsafe or broken


def test_links_are_refused(tmp_path):
    folder = write_folder(tmp_path / "folder", members())
    outside = tmp_path / "outside.png"
    outside.write_bytes(encoded(picture()))
    os.symlink(outside, folder / "top" / "ant" / "link.png")
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        archive.add(folder, arcname="x")
    info = zipfile.ZipInfo("ant/link.png")
    info.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(info, "/etc/hostname")
    for path in (folder, tmp_path / "a.tar", tmp_path / "a.zip"):
        assert "a link or a device" in refusal(image_entries, path)
    (folder / "top" / "ant" / "link.png").unlink()
    os.symlink(tmp_path, folder / "top" / "bee")
    assert "the folder is a link" in refusal(image_entries, folder)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("../ant/a.png", "outside of the collection"),
        ("/ant/a.png", "outside of the collection"),
        ("x/../../ant/a.png", "outside of the collection"),
        ("alone.png", "'alone.png' is not in a class folder"),
    ],
)
def test_images_outside_of_class_folders_are_refused(tmp_path, name, words):
    path = write_archive(tmp_path / "a.tar", members() | {name: encoded(picture())}, "w")
    assert words in refusal(image_entries, path)


def test_a_missing_damaged_or_other_file_is_reported(tmp_path):
    assert "no such file or folder" in refusal(image_entries, tmp_path / "none.tar")
    packed = write_archive(tmp_path / "a.tar.gz", members()).read_bytes()
    plain = bytearray(write_archive(tmp_path / "a.tar", members(), "w").read_bytes())
    second = plain.index(b"top/zebra/a.PNG")
    plain[second : second + 512] = b"\xff" * 512
    for content, words in (
        (b"no archive", "not a folder, a tar or a zip archive"),
        (packed[: len(packed) // 2], "damaged"),
        (plain, "unreadable data in the middle"),
    ):
        (tmp_path / "other").write_bytes(content)
        assert words in refusal(image_entries, tmp_path / "other")
    path = write_zip(tmp_path / "a.zip", members())
    whole = bytearray(path.read_bytes())
    whole[60:80] = bytes(20)
    path.write_bytes(whole)
    with pytest.raises(UserError, match="damaged"):
        list(open_images(path, image_entries(path)))


def test_names_that_are_not_utf_8_can_still_be_written(tmp_path):
    with tarfile.open(tmp_path / "a.tar", "w", format=tarfile.GNU_FORMAT) as archive:
        content = encoded(picture())
        member = tarfile.TarInfo("ant/\udcff.png")
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    (entry,) = image_entries(tmp_path / "a.tar")
    assert entry.name.encode("utf-8") == b"\\xff.png"
    (opened,) = open_images(tmp_path / "a.tar", [entry])
    np.testing.assert_array_equal(opened.pixels, picture())


# Decoding


def bomb():
    """Return a PNG file of some hundred bytes that claims to have 10^10 pixels."""

    def chunk(name, data):
        check = struct.pack(">I", zlib.crc32(name + data))
        return struct.pack(">I", len(data)) + name + data + check

    header = struct.pack(">IIBBBBB", 100_000, 100_000, 8, 2, 0, 0, 0)
    content = (b"IHDR", header), (b"IDAT", zlib.compress(bytes(100))), (b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*each) for each in content)


def test_files_that_cannot_be_read_are_reported_by_reason(tmp_path):
    jpeg = encoded(picture(64, 64), "JPEG")
    contents = {
        "ant/1.jpg": jpeg,
        "ant/2.jpg": jpeg[: len(jpeg) // 2],
        "ant/3.jpg": b"this is text",
        "ant/4.jpg": b"",
        "ant/5.png": bomb(),
        "ant/6.png": encoded(picture(64, 64))[:-60],
    }
    path = write_folder(tmp_path, contents)
    found = list(open_images(path, image_entries(path)))
    reasons = ["", DAMAGED, NOT_AN_IMAGE, EMPTY, TOO_LARGE, DAMAGED]
    assert [opened.reason for opened in found] == reasons
    assert [opened.pixels is None for opened in found] == [bool(reason) for reason in reasons]


def test_large_files_and_images_are_not_read(tmp_path, monkeypatch):
    content = encoded(picture(20, 20))
    path = write_archive(tmp_path / "a.tar.gz", {"ant/a.png": content})
    for most_bytes, most_pixels, reason in (
        (len(content) - 1, 400, TOO_LARGE),
        (len(content), 399, TOO_LARGE),
        (len(content), 400, ""),
    ):
        monkeypatch.setattr(images, "MAX_FILE", most_bytes)
        monkeypatch.setattr(images, "MAX_IMAGE", most_pixels)
        (opened,) = open_images(path, image_entries(path))
        assert (opened.pixels is None, opened.reason) == (bool(reason), reason)


def test_other_formats_are_never_decoded():
    assert opened_content(encoded(picture(), "EPS")).reason == NOT_AN_IMAGE


def test_images_of_every_mode_become_rgb():
    grey = picture()[:, :, 0]
    found = opened_content(encoded(grey)).pixels
    np.testing.assert_array_equal(found, np.repeat(grey[:, :, None], 3, axis=2))
    few = picture() // 128 * 255
    palette = Image.fromarray(few).convert("P", palette=Image.Palette.ADAPTIVE, colors=8)
    np.testing.assert_array_equal(opened_content(encoded(palette)).pixels, few)
    bilevel = Image.fromarray(grey).convert("1")
    assert set(np.unique(opened_content(encoded(bilevel)).pixels)) == {0, 255}
    colour = np.array([200, 100, 50], dtype=np.uint8)
    cmyk = Image.fromarray(np.full((16, 16, 3), colour)).convert("CMYK")
    assert Image.open(io.BytesIO(encoded(cmyk, "JPEG"))).mode == "CMYK"
    found = opened_content(encoded(cmyk, "JPEG", quality=100)).pixels
    assert found.shape == (16, 16, 3) and np.abs(found.astype(int) - colour).max() <= 3
    # Sixteen bits are scaled to eight, and transparent images lie on white.
    levels = np.array([[0, 257, 128 * 257, 65535]], dtype=np.uint16)
    found = opened_content(encoded(levels)).pixels
    np.testing.assert_array_equal(found[0, :, 1], [0, 1, 128, 255])
    pixels = np.zeros((2, 2, 4), dtype=np.uint8)
    pixels[0, 0, 3] = 255
    found = opened_content(encoded(pixels)).pixels
    np.testing.assert_array_equal(found[:, :, 0], [[0, 255], [255, 255]])


def test_of_an_animation_the_first_picture_is_taken():
    frames = [Image.fromarray(np.full((4, 4, 3), level, dtype=np.uint8)) for level in (10, 200)]
    content = encoded(frames[0], "GIF", save_all=True, append_images=frames[1:])
    assert Image.open(io.BytesIO(content)).n_frames == 2
    np.testing.assert_array_equal(opened_content(content).pixels, np.full((4, 4, 3), 10))


@pytest.mark.parametrize(
    "orientation, turned",
    [
        (1, lambda x: x),
        (2, lambda x: x[:, ::-1]),
        (3, lambda x: x[::-1, ::-1]),
        (6, lambda x: np.rot90(x, -1)),
        (8, np.rot90),
    ],
)
def test_images_are_turned_as_their_orientation_says(orientation, turned):
    exif = Image.Exif()
    exif[0x0112] = orientation
    found = opened_content(encoded(picture(), exif=exif.tobytes())).pixels
    np.testing.assert_array_equal(found, turned(picture()))


def test_damaged_metadata_does_not_hide_an_image():
    content = encoded(picture(16, 16), "JPEG", exif=b"Exif\0\0MM\0*\xff\xff\xff\xffrubbish")
    assert opened_content(content).pixels.shape == (16, 16, 3)


def test_grey_levels_are_the_weighted_mean_of_the_colours():
    pixels = np.array([[[255, 255, 255], [0, 0, 0], [255, 0, 0], [0, 255, 0]]], dtype=np.uint8)
    np.testing.assert_allclose(grey_levels(pixels), [[1.0, 0.0, 0.299, 0.587]], atol=1e-6)


def test_an_image_that_shrinks_is_averaged_and_keeps_its_size_otherwise():
    board = (np.indices((64, 64)).sum(axis=0) % 2).astype(np.float32)
    small = resized(board, 8, 8)
    assert small.shape == (8, 8)
    assert np.abs(small - 0.5).max() < 0.02
    assert resized(board, 64, 64) is board
    assert resized(picture(), 3, 5).shape == (3, 5, 3)


def test_without_pillow_the_remedy_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "PIL", None)
    with pytest.raises(UserError, match=r"\.\[images\]"):
        opened_content(b"something")


def test_the_collection_of_the_mirror_is_read_whole(mirror):
    path = mirror("caltech101-first40/caltech101_first40.tar")
    entries = image_entries(path)
    assert len(entries) == 3969 and len({entry.class_name for entry in entries}) == 101
    assert empty_class_folders(path) == []
    assert all(opened.reason == "" for opened in open_images(path, entries[::100]))
