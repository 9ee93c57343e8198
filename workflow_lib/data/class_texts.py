"""Texts that describe classes: one text per class, supplied as files or as JSON.

Two forms are read:

a folder
    of files ``CLASS.txt``, each the text of one class, in UTF-8;
JSON
    ``{CLASS: TEXT, ...}``, where TEXT is a text, a list of sentences (as the class descriptions of
    Pratt et al. 2023), or an object with the text under ``text`` (as
    `workflow_lib.data.wikipedia.fetch_introductions` keeps its pages).

Names of classes are compared without regard to case; ``_``, ``-``, ``+`` and spaces are equivalent,
so that ``Sea_Horse.txt`` is the text of the class ``sea-horse``.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from workflow_lib.core.errors import UserError
from workflow_lib.core.json_text import JsonFault, parsed_json
from workflow_lib.tabular.tables import read_text, wrong_source


def read_class_texts(
    path: str | Path, class_names: Sequence[str], aliases: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the text of every class that has one, in the order of `class_names`.

    Sentences are joined by spaces. Blank texts are none.

    Raises UserError for a path that does not exist or has no texts, a file that is not UTF-8 or not
    of the form above, two texts or two classes with the same name, and an alias of an unknown class
    or to a text that does not exist.

    Parameters
    ----------
    path : path
        A folder of texts, or a JSON file.
    class_names : sequence of str
        The classes. Texts of other classes are ignored.
    aliases : mapping of str to str, default=None
        For classes that have another name in `path`: the name there, such as
        ``{"car_side": "side of a car"}``.
    """
    path = Path(path)
    entries = {}
    if path.exists():
        entries = _folder_texts(path) if path.is_dir() else _json_texts(path)
    if not entries:
        raise UserError(
            location=str(path),
            found="there are no texts of classes in it"
            if path.exists()
            else "there is no such file or folder",
            expected="a folder of files CLASS.txt, or a JSON file of texts, one for every class",
            remedy="place the texts of the classes there",
        )
    by_name = _by_normalised_name(entries, str(path), "texts")
    classes = _by_normalised_name(class_names, "the names of the classes", "classes")
    sources = _aliased(aliases or {}, classes, by_name, path)
    texts = {}
    for normalised, name in classes.items():
        entry = by_name.get(sources.get(normalised, normalised))
        text = "" if entry is None else entries[entry].strip()
        if text:
            texts[name] = text
    return texts


def normalised_name(name: str) -> str:
    """Return `name` in lower case, with a single space for each run of ``_``, ``-``, ``+``, space.

    Spaces at the ends are dropped.
    """
    return re.sub(r"[\s_+-]+", " ", name).strip().casefold()


def _by_normalised_name(names: Iterable[str], location: str, kind: str) -> dict[str, str]:
    """Return the names by their normalised names; refuse two that are the same."""
    found: dict[str, str] = {}
    for name in names:
        normalised = normalised_name(name)
        if normalised in found:
            raise UserError(
                location=location,
                found=f"the {kind} '{found[normalised]}' and '{name}' have the same name",
                expected=f"{kind} whose names differ in more than case, '_', '-', '+' and spaces",
                remedy="rename or remove one of them",
            )
        found[normalised] = name
    return found


def _aliased(
    aliases: Mapping[str, str], classes: Mapping[str, str], texts: Mapping[str, str], path: Path
) -> dict[str, str]:
    """Return the normalised names of `aliases`, after a check that both ends exist."""
    for name, other in aliases.items():
        for end, known, what in ((name, classes, "class"), (other, texts, "text")):
            if normalised_name(end) not in known:
                raise UserError(
                    location=f"the alias '{other}' of the class '{name}' in {path}",
                    found=f"there is no {what} named '{end}'",
                    expected="the name of a class, and that of a text of the file or folder",
                    remedy="fix the alias",
                )
    return {normalised_name(name): normalised_name(other) for name, other in aliases.items()}


def _folder_texts(path: Path) -> dict[str, str]:
    files = [
        file
        for file in sorted(path.iterdir())
        if file.suffix.lower() == ".txt" and file.is_file() and not file.name.startswith(".")
    ]
    # An empty file is a class without a text.
    return {file.name[:-4]: read_text(file) if file.read_bytes().strip() else "" for file in files}


def _json_texts(path: Path) -> dict[str, str]:
    form = "{CLASS: TEXT, ...}, one entry, a text or a list of sentences, for every class"
    try:
        content = parsed_json(read_text(path))
    except JsonFault as error:
        raise wrong_source(str(path), f"{error}", form) from error
    if not isinstance(content, dict):
        raise wrong_source(str(path), "the file does not hold an object with texts by class", form)
    return {name: _text(value, f"{path}, entry '{name}'") for name, value in content.items()}


def _text(value: Any, location: str) -> str:
    if isinstance(value, dict):
        value = value.get("text")
    sentences = [value] if isinstance(value, str) else value
    if not isinstance(sentences, list) or not all(isinstance(s, str) for s in sentences):
        raise wrong_source(
            location,
            f"{json.dumps(value, ensure_ascii=False)[:40]} is not a text",
            "a text, a list of sentences, or an object with a 'text'",
        )
    return " ".join(sentences)
