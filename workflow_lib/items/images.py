"""Collections of images in class folders: a folder, a tar archive or a zip archive of them.

The class of an image is the name of its folder, ``.../CLASS/FILE.jpg``; any folders may precede it.
Images are recognised by the suffix of their names (`SUFFIXES`); other files, hidden files and the
``__MACOSX`` folders of archives are skipped. A zip archive may hold tar archives, as
``caltech-101.zip`` holds ``caltech-101/101_ObjectCategories.tar.gz``.

Nothing is unpacked to the disk. Pillow, which decodes the images, is an optional dependency,
imported when the first image is opened.
"""

import io
import os
import stat
import tarfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import numpy as np

from workflow_lib.core.archive_members import path_from_pattern
from workflow_lib.core.archives import (
    begins_as_zip,
    content_of,
    members_of,
    opened_tar,
    opened_zip,
    printable_name,
    readable,
)
from workflow_lib.core.errors import UserError
from workflow_lib.core.optional_packages import not_installed

LEFT_OUT_CLASSES = ("BACKGROUND_Google",)
"""The folder of Caltech-101 that holds images of anything and is not a class."""

SUFFIXES = (
    *(".bmp", ".gif", ".jpeg", ".jpg", ".pbm", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp"),
)
"""Ends of the names of images, in lower case."""

# Other formats are not decoded, even with these suffixes: some decoders start other programs.
FORMATS = ("BMP", "GIF", "JPEG", "PNG", "PPM", "TIFF", "WEBP")

EMPTY = "an empty file"
NOT_AN_IMAGE = "a file that is no image"
DAMAGED = "a truncated or damaged image"
TOO_LARGE = "an image that is absurdly large"
REASONS = (EMPTY, NOT_AN_IMAGE, DAMAGED, TOO_LARGE)
"""Why an image cannot be read."""

MAX_FILE = 1 << 26
"""Bytes of the largest file that is read; a larger one is TOO_LARGE."""

MAX_IMAGE = 50_000_000
"""Pixels of the largest image that is decoded; a larger one is TOO_LARGE."""

# Compressed archives can only be read from their beginning, so images are held in memory, up to
# this many bytes at a time, in order to yield them sorted.
MAX_HELD = 1 << 27

_ARCHIVE_SUFFIXES = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")


class ImageEntry(NamedTuple):
    """An image of a collection: the names of its folder and of its file."""

    class_name: str
    name: str


class OpenedImage(NamedTuple):
    """An opened image, or the reason why it could not be read."""

    entry: ImageEntry

    pixels: np.ndarray | None
    """uint8 array (height, width, 3) of red, green and blue; None when it could not be read."""

    reason: str
    """One of REASONS when it could not be read, otherwise empty."""


class _Member(NamedTuple):
    """A file of a collection: the tar archive in a zip archive that holds it or "", path, size."""

    archive: str
    path: str
    size: int
    is_folder: bool = False
    is_plain: bool = True


def image_entries(
    path: Path, left_out_classes: Sequence[str] = LEFT_OUT_CLASSES, members: str | None = None
) -> list[ImageEntry]:
    """Return the images of the collection `path`, sorted by class and name.

    Raises UserError when the collection is missing, damaged or holds no image; when an image is not
    in a folder, or is a link or outside of the collection; when two folders have the same class
    name, or names that differ only in case, spaces and ``_``.

    Parameters
    ----------
    path : path
        A folder, a tar archive (plain or compressed) or a zip archive.
    left_out_classes : sequence of str, default=LEFT_OUT_CLASSES
        Folders that are not classes; names without a folder are ignored.
    members : str or None, default=None
        Pattern of the ends of paths (`workflow_lib.core.archive_members.path_from_pattern`)
        outside of which files are ignored, such as ``data/*/*/*.jpg``. The name of an image is then
        its path from the beginning of the pattern on, and a class may have several folders.
    """
    return sorted(_images(path, left_out_classes, members))


def empty_class_folders(
    path: Path, left_out_classes: Sequence[str] = LEFT_OUT_CLASSES
) -> list[str]:
    """Return the names of folders next to classes that hold no image, not even in subfolders.

    The arguments and errors are those of `image_entries`.
    """
    found = _images(path, left_out_classes).values()
    classes = {(member.archive, PurePosixPath(member.path).parent) for member in found}
    parents = {(archive, folder.parent) for archive, folder in classes}
    occupied = {(archive, up) for archive, folder in classes for up in (folder, *folder.parents)}
    folders = (
        (member.archive, PurePosixPath(member.path))
        for member, _ in _members(path)
        if member.is_folder
    )
    return sorted(
        {
            printable_name(folder.name)
            for archive, folder in folders
            if (archive, folder.parent) in parents
            and (archive, folder) not in occupied
            and folder.name not in left_out_classes
            and not _is_passed_over(folder)
        }
    )


def open_images(
    path: Path, entries: Iterable[ImageEntry], members: str | None = None
) -> Iterator[OpenedImage]:
    """Yield the images `entries` of the collection `path`, in the order of `entries`.

    `members` is that with which `image_entries` has found them.

    An image that cannot be read is yielded with the reason. Grey, palette, CMYK and 16-bit images
    become RGB, transparent images get a white background, of an animation the first picture is
    used, and an image is rotated according to its EXIF orientation.

    Raises UserError as `image_entries`, and when Pillow is not installed. Raises ValueError when an
    entry is not in the collection.
    """
    pillow()
    found = _images(path, (), members)
    wanted = list(entries)
    for entry in wanted:
        if entry not in found:
            raise ValueError(f"{path} has no image {entry}.")
    for run in _runs([found[entry] for entry in wanted]):
        held = _contents(path, run)
        for member in run:
            entry, wanted = wanted[0], wanted[1:]
            # Popped, so that the memory of an image is freed after its use.
            yield OpenedImage(entry, *_decoded(held.pop(member)))


def grey_levels(pixels: np.ndarray) -> np.ndarray:
    """Return the luma 0.299 R + 0.587 G + 0.114 B (ITU-R BT.601), float32 from 0 to 1 (h, w)."""
    return pixels.astype(np.float32) @ (np.array([0.299, 0.587, 0.114], dtype=np.float32) / 255)


def resized(values: np.ndarray, height: int, width: int) -> np.ndarray:
    """Return an image, uint8 (h, w, 3) or float32 (h, w), in another size in pixels.

    By bilinear interpolation, averaged where it shrinks.
    """
    if values.shape[:2] == (height, width):
        return values
    image_module = pillow()[0]
    image = image_module.fromarray(np.ascontiguousarray(values))
    return np.array(image.resize((width, height), image_module.Resampling.BILINEAR))


def pillow() -> tuple[Any, Any]:
    """Return the modules Image and ImageOps of Pillow.

    Raises UserError when it is not installed.
    """
    try:
        from PIL import Image, ImageOps
    except ImportError as error:
        raise not_installed("pillow", "images", error) from error
    return Image, ImageOps


# What is in a collection


def _images(
    path: Path, left_out_classes: Sequence[str], members: str | None = None
) -> dict[ImageEntry, _Member]:
    """Return the images of all classes; refuse unsafe and ambiguous collections."""
    found: dict[ImageEntry, _Member] = {}
    folders: dict[str, str] = {}
    for member, _ in _members(path):
        location = PurePosixPath(member.path)
        if member.is_folder or _is_passed_over(location) or location.suffix.lower() not in SUFFIXES:
            continue
        name = location.name if members is None else path_from_pattern(member.path, members)
        class_name = printable_name(location.parent.name)
        if name is None or class_name in left_out_classes:
            continue
        _check_location(path, member)
        folder = f"{member.archive}/{location.parent}".lstrip("/")
        # Two spellings of the same class would otherwise become two classes.
        key = " ".join(class_name.casefold().replace("_", " ").split())
        earlier = folders.setdefault(key, folder)
        if earlier != folder and members is None:
            raise UserError(
                location=str(path),
                found=f"the folders '{earlier}' and '{folder}' are two classes of one name",
                expected="one folder for each class",
                remedy="rename or remove one of them, or leave it out (left_out_classes)",
            )
        found[ImageEntry(class_name, printable_name(name))] = member
    if not found:
        raise UserError(
            location=str(path),
            found="there is no image in it"
            + ("" if members is None else f" whose path ends as {members}"),
            expected="images in class folders, such as accordion/image_0001.jpg",
            remedy="check that this is the intended collection",
        )
    return found


def _is_passed_over(location: PurePosixPath) -> bool:
    return any(
        part.startswith(".") and part != ".." or part == "__MACOSX" for part in location.parts
    )


def _check_location(path: Path, member: _Member) -> None:
    location = PurePosixPath(member.path)
    if location.is_absolute() or ".." in location.parts:
        fault, expected = "is outside of the collection", "images below the collection only"
    elif not member.is_plain:
        fault, expected = "is a link or a device, not a plain file", "plain files"
    elif not location.parent.name:
        fault, expected = "is not in a class folder", "images in folders named as their classes"
    else:
        return
    raise UserError(
        location=str(path),
        found=f"the image '{printable_name(member.path)}' {fault}",
        expected=expected,
        remedy="do not use this collection unless you trust where it comes from, or rearrange it",
    )


def _members(path: Path) -> Iterator[tuple[_Member, Callable[[], bytes]]]:
    """Yield all folders and files of a collection, each with a function that reads it. A file is
    read before the next is requested: a compressed archive is read once."""
    if not path.exists():
        raise UserError(
            location=str(path),
            found="there is no such file or folder",
            expected="images in class folders, as a folder, a tar or a zip archive",
            remedy="place it there",
        )
    with _readable(path):
        if path.is_dir():
            for member in _folder_members(path):
                yield member, Path(path, member.path).read_bytes
            return
        size = path.stat().st_size
        if not begins_as_zip(path):
            with open(path, "rb") as file, opened_tar(file, size) as archive:
                yield from _tar_members(archive, "")
            return
        with opened_zip(path) as archive:
            for info in archive.infolist():
                is_plain = stat.S_IFMT(info.external_attr >> 16) in (0, stat.S_IFREG)
                name, is_folder = info.filename, info.is_dir()
                member = _Member("", name, info.file_size, is_folder, is_plain)
                yield member, partial(archive.read, info)
                is_archive = name.lower().endswith(_ARCHIVE_SUFFIXES)
                if is_archive and not _is_passed_over(PurePosixPath(name)):
                    with archive.open(info) as file, opened_tar(file, size) as inner:
                        yield from _tar_members(inner, name)


def _folder_members(path: Path) -> Iterator[_Member]:
    def refuse(error: OSError) -> None:
        raise error

    for folder, folder_names, names in os.walk(path, onerror=refuse):
        relative = Path(folder).relative_to(path)
        for name in folder_names:
            location = Path(folder, name)
            if location.is_symlink() and not name.startswith("."):
                raise UserError(
                    location=str(location),
                    found="the folder is a link",
                    expected="plain folders",
                    remedy="put the folder itself there, or remove the link",
                )
            yield _Member("", (relative / name).as_posix(), 0, is_folder=True)
        for name in names:
            status, location = os.lstat(Path(folder, name)), (relative / name).as_posix()
            yield _Member("", location, status.st_size, is_plain=stat.S_ISREG(status.st_mode))


def _tar_members(
    archive: tarfile.TarFile, name: str
) -> Iterator[tuple[_Member, Callable[[], bytes]]]:
    for member in members_of(archive):
        is_plain = member.isreg() and not member.issparse()
        found = _Member(name, member.name, member.size, member.isdir(), is_plain)
        yield found, partial(content_of, archive, member)


# Reading


def _runs(members: Sequence[_Member]) -> Iterator[list[_Member]]:
    """Yield `members` in runs that can be held in memory."""
    run: list[_Member] = []
    held = 0
    for member in members:
        size = min(member.size, MAX_FILE)
        if run and held + size > MAX_HELD:
            yield run
            run, held = [], 0
        run.append(member)
        held += size
    if run:
        yield run


def _contents(path: Path, members: Sequence[_Member]) -> dict[_Member, bytes | None]:
    """Return the bytes of `members`; None for those larger than MAX_FILE."""
    contents: dict[_Member, bytes | None] = dict.fromkeys(members)
    wanted = {member for member in members if member.size <= MAX_FILE}
    with _readable(path):
        # Of a repeated name the last counts, as when an archive is unpacked.
        for member, read in _members(path):
            if member in wanted:
                contents[member] = read()
    return contents


def _readable(path: Path) -> AbstractContextManager[None]:
    return readable(path, "a folder, a tar or a zip archive of images", "download it again")


# Decoding


def _decoded(content: bytes | None) -> tuple[np.ndarray | None, str]:
    """Return the pixels of an image, or None and one of REASONS."""
    if content is None:
        return None, TOO_LARGE
    if not content:
        return None, EMPTY
    image_module, _ = pillow()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", image_module.DecompressionBombWarning)
        try:
            with image_module.open(io.BytesIO(content), formats=FORMATS) as image:
                if image.width * image.height > MAX_IMAGE:
                    return None, TOO_LARGE
                image.load()
                return _rgb(_upright(image)), ""
        except (image_module.DecompressionBombWarning, image_module.DecompressionBombError):
            return None, TOO_LARGE
        except image_module.UnidentifiedImageError:
            return None, NOT_AN_IMAGE
        # For damaged files, decoders raise many kinds of errors.
        except Exception:
            return None, DAMAGED


def _upright(image: Any) -> Any:
    """Return the image rotated by its EXIF orientation; unchanged where that is damaged."""
    try:
        return pillow()[1].exif_transpose(image)
    except Exception:
        return image


def _rgb(image: Any) -> np.ndarray:
    if image.mode.startswith(("I", "F")):
        # Grey in 16 bits, which Pillow would clip at 255 instead of scaling.
        values = np.asarray(image, dtype=np.float64)
        values = values / 257.0 if values.max() > 255 else values
        grey = np.clip(np.rint(values), 0, 255).astype(np.uint8)
        return np.repeat(grey[:, :, None], 3, axis=2)
    if image.has_transparency_data:
        image = image.convert("RGBA")
        white = pillow()[0].new("RGBA", image.size, (255, 255, 255, 255))
        image = pillow()[0].alpha_composite(white, image)
    return np.array(image.convert("RGB"))
