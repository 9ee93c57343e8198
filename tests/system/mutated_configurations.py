"""Configurations of the smoke experiment that are wrong in one value; a number says which.

`mutation` draws from the valid files: a file, a value in it and a change.
`changed_option` draws a text for `--config` likewise.
"""

import copy
import math
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import smoke
import yaml

DEFAULTS = "config/config.yaml"

FILES = (
    smoke.CONFIGURATION,
    DEFAULTS,
    "config/experiments/clusters.yaml",
    "config/experiments/measurements.yaml",
    "config/datasets/clusters.yaml",
    "config/datasets/measurements.yaml",
    "config/methods/m-krr.yaml",
    "config/methods/wofer-gmm.yaml",
    "config/models/mixture-tied.yaml",
)
"""The files of the smoke experiment."""

END_OF_DOCUMENT = "...\n"

OF_ANOTHER_KIND = (
    None,
    True,
    0,
    3,
    2.5,
    "text",
    "3",
    "no",
    "null",
    [],
    {},
    [[1]],
    [None],
    {"key": "value"},
    {"key": {"key": [1, {"key": None}]}},
    [{"name": "error"}],
)

NUMBERS = (
    0,
    -1,
    1,
    -0.0,
    0.5,
    1.5,
    1e-320,
    1e308,
    -1e308,
    math.inf,
    -math.inf,
    math.nan,
    10**6,
    10**9,
    2**31,
    2**63,
    10**400,
)

TEXTS = (
    "",
    " ",
    "\n",
    "two\nlines",
    "tab\there",
    "../../escaped",
    "/etc/passwd",
    "a/b",
    "name with spaces",
    ".hidden",
    "-option",
    "Größe µ 数 🐟",
    "e\u0301",
    "\u202eright to left",
    "\u0000",
    "\ud800",
    "$x^$",
    "{wildcard}",
    "%s",
    "$HOME",
    "`ls`",
    "*",
    "?",
    "[",
    "<b>bold</b>",
    "\\begin{table}",
    "x" * 300,
    "x" * 100_000,
    "datasets",
    "tables",
)


SPECIAL_VALUES = (
    "2024-13-01",
    "2024-01-01",
    "12:99:99",
    "0x",
    "0x2",
    "1_000",
    "9" * 5000,
    "=",
    "~",
    "on",
    "{<<: 3}",
    "{<<: {a: 1}}",
    "!!int text",
    "!!float text",
    "!!timestamp text",
    "!!binary text",
    "!!set [a]",
    "!!omap {a: b}",
    "!!null 3",
    "|",
)


class Mutation(NamedTuple):
    """One faulty file of the smoke experiment."""

    name: str
    """The file."""

    keys: tuple[str, ...]
    """The keys of what was changed; none where the text was changed."""

    change: str
    """The change in words, for the message of a failed trial."""

    content: bytes | None
    """The new content of the file; None for a folder of that name."""


def mutation(folder: Path, number: int) -> Mutation:
    """Return the mutation of that number of the smoke experiment in `folder`."""
    random = Random(number)
    name = random.choice(FILES)
    text = (folder / name).read_text(encoding="utf-8")
    share = random.random()
    if share < 0.75:
        keys, change, tree = _changed_tree(random, yaml.safe_load(text))
        content = yaml.safe_dump(tree, sort_keys=False, allow_unicode=True).encode()
    else:
        keys = ()
        changes = TEXT_CHANGES if share < 0.92 else FILE_CHANGES
        change = random.choice(list(changes))
        content = changes[change](random, text)
        if isinstance(content, str):
            content = content.encode()
    return Mutation(name, keys, change, content)


@contextmanager
def applied(folder: Path, mutation: Mutation) -> Iterator[None]:
    """Apply a mutation in `folder`; afterwards restore the file."""
    path = folder / mutation.name
    before = path.read_bytes()
    path.unlink()
    if mutation.content is None:
        path.mkdir()
    else:
        path.write_bytes(mutation.content)
    try:
        yield
    finally:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        path.write_bytes(before)


def changed_option(number: int) -> str:
    """Return a text `KEY=VALUE` for `--config`, with a faulty key or a faulty value."""
    random = Random(number)
    key, value = random.choice(
        [
            ("seed", "7"),
            ("n_splits", "2"),
            ("n_folds", "3"),
            ("experiments", "[clusters, measurements]"),
            ("defaults", "{training_sizes: [12], test_size: 0.4}"),
            ("report", "{title: A smoke run}"),
            ("max_gram_rows", "1000"),
            ("selection_precision", "float64"),
            ("interval_level", "0.9"),
        ]
    )
    if random.random() < 0.3:
        return f"{_misspelt(random, key)}={value}"
    if random.random() < 0.5:
        other = random.choice([*NUMBERS, *OF_ANOTHER_KIND, *TEXTS[:-4]])
        shown = yaml.safe_dump(other, default_flow_style=True, allow_unicode=True)
        return f"{key}={shown.removesuffix(END_OF_DOCUMENT).strip()}"
    return f"{key}={_misspelt(random, value)}"


# What happens to a key or a value


def _values(tree: Any, path: tuple = ()) -> Iterator[tuple[tuple, Any]]:
    """Yield the path of every value below `tree`, and the value."""
    if isinstance(tree, dict | list):
        for key in tree if isinstance(tree, dict) else range(len(tree)):
            yield (*path, key), tree[key]
            yield from _values(tree[key], (*path, key))


def _at(tree: Any, path: tuple) -> Any:
    for key in path:
        tree = tree[key]
    return tree


def _keys(path: tuple) -> tuple[str, ...]:
    """Return the last key of a path; positions in lists have none."""
    return tuple(part for part in path if isinstance(part, str))[-1:]


def _changed_tree(random: Random, tree: dict) -> tuple[tuple[str, ...], str, dict]:
    """Return the keys at which `tree` was changed, the change in words, and the tree."""
    tree = copy.deepcopy(tree)
    path, value = random.choice(list(_values(tree)))
    parent, last = _at(tree, path[:-1]), path[-1]
    keys = _keys(path)
    where = "/".join(map(str, path))
    draw = random.random()
    if draw < 0.2 and isinstance(last, str):
        key = random.choice([_misspelt(random, last), last.upper(), f"{last} ", 3, None, True])
        changed = {key if name == last else name: item for name, item in parent.items()}
        parent.clear()
        parent.update(changed)
        return (str(key), *keys), f"the key {where} is called {key!r}", tree
    if draw < 0.3:
        del parent[last]
        return keys, f"{where} is gone", tree
    if draw < 0.4:
        other_path, other = random.choice(list(_values(tree)))
        if path != other_path[: len(path)] and other_path != path[: len(other_path)]:
            parent[last], _at(tree, other_path[:-1])[other_path[-1]] = other, value
            change = f"{where} and {'/'.join(map(str, other_path))} are swapped"
            return (*keys, *_keys(other_path)), change, tree
    if isinstance(value, list) and draw < 0.7:
        twisted = [[], value[::-1], value * 2, [value], value + [None], value * 5000]
        parent[last] = random.choice([*twisted, dict(enumerate(value))])
    elif isinstance(value, str) and draw < 0.8:
        parent[last] = random.choice([_misspelt(random, value), random.choice(TEXTS)])
    elif isinstance(value, int | float) and not isinstance(value, bool) and draw < 0.8:
        parent[last] = random.choice([*NUMBERS, -value, float(value), str(value)])
    else:
        parent[last] = random.choice(OF_ANOTHER_KIND)
    change = f"{where} is {str(parent[last])[:80]!r} instead of {str(value)[:80]!r}"
    return keys, change, tree


def _misspelt(random: Random, text: str) -> str:
    """Return `text` with a letter dropped, doubled, swapped with the next or replaced."""
    if not text:
        return "x"
    index = random.randrange(len(text))
    before, letter, after = text[:index], text[index], text[index + 1 :]
    return before + random.choice(
        [after, letter + letter + after, after[:1] + letter + after[1:], "x" + after]
    )


# What happens to the text of a file

Change = Callable[[Random, str], str | bytes | None]


def _of_line(change: Callable[[Random, str], str]) -> Change:
    def changed(random: Random, text: str) -> str:
        lines = text.splitlines(keepends=True)
        index = random.randrange(len(lines))
        lines[index] = change(random, lines[index])
        return "".join(lines)

    return changed


def _at_some_place(change: Callable[[Random, str, str], str]) -> Change:
    """Return the change of a text that gets what is before and behind a place."""

    def changed(random: Random, text: str) -> str:
        location = random.randrange(len(text))
        return change(random, text[:location], text[location:])

    return changed


def _of_value(*values: str) -> Change:
    """Return the change of a text that replaces a value in it by one of these."""

    def changed(random: Random, text: str) -> str:
        lines = text.splitlines(keepends=True)
        with_values = [n for n, line in enumerate(lines) if ": " in line and line[0] != "#"]
        index = random.choice(with_values)
        lines[index] = f"{lines[index].partition(':')[0]}: {random.choice(values)}\n"
        return "".join(lines)

    return changed


def _with_aliases(random: Random, text: str) -> str:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    return "\n".join([*levels, _of_value("*a11", "*absent")(random, text)])


SPECIAL_CHARACTERS = "[]{}:,&*!|>%@`'\"#?-\t\n\x07"

TEXT_CHANGES: dict[str, Change] = {
    "a line is repeated": _of_line(lambda random, line: line + line),
    "a line is gone": _of_line(lambda random, line: ""),
    "a line is indented by a tab or a space": _of_line(
        lambda random, line: random.choice("\t ") + line
    ),
    "a character with a meaning in YAML is inserted": _at_some_place(
        lambda random, before, after: before + random.choice(SPECIAL_CHARACTERS) + after
    ),
    "a character is gone": _at_some_place(lambda random, before, after: before + after[1:]),
    "the rest of the file is gone": _at_some_place(lambda random, before, after: before),
    "a value has a tag that asks for a Python object": _of_value(
        "!!python/object/apply:os.getcwd []", "!!python/name:os.system", "!unknown x"
    ),
    "a value has a special meaning in YAML": _of_value(*SPECIAL_VALUES),
    "a value refers to itself many times": _with_aliases,
    "a list holds itself": _of_value("&self [*self]"),
    "a value lies within thousands of brackets": _of_value(
        *("[" * depth + "]" * depth for depth in (100, 5000))
    ),
}

FILE_CHANGES: dict[str, Change] = {
    "the file is empty": lambda random, text: "",
    "the file holds a list or a single value": lambda random, text: random.choice(
        ["- a\n- b\n", "text\n", "3\n", "null\n", "[]\n", "---\n---\n"]
    ),
    "the file is written in Latin-1": lambda random, text: f"{text}# Größe\n".encode("latin-1"),
    "the file begins with a byte order mark, in UTF-8 or UTF-16": lambda random, text: text.encode(
        random.choice(["utf-8-sig", "utf-16"])
    ),
    "the end of the file is zeros": lambda random, text: text.encode() + bytes(64),
    "the file is noise": lambda random, text: random.randbytes(len(text)),
    "a folder replaces the file": lambda random, text: None,
}
