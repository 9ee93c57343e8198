"""Reading YAML files: what is refused, with the file and the line."""

from __future__ import annotations

import math
import os
import re
from pathlib import Path
from typing import Any

import yaml

from workflow_lib.core.errors import UserError


class YamlLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """The safe loader, which also refuses repeated keys and reads 1e-6 as a number."""

    def construct_mapping(self, node, deep=False):
        seen = set()
        # A tag such as !!set may claim that a single value is a block; the base class refuses it.
        for key_node, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            key = key_node.value if isinstance(key_node, yaml.ScalarNode) else None
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key '{key}' is written twice", key_node.start_mark
                )
            if key is not None:
                seen.add(key)
        return super().construct_mapping(node, deep=deep)

    def construct_object(self, node, deep=False):
        try:
            return super().construct_object(node, deep=deep)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            # For example 2024-13-01, which has the form of a date.
            raise yaml.constructor.ConstructorError(
                None, None, f"YAML has no such value ({error})", node.start_mark
            ) from error


MAX_LEVELS = 50
"""Of nested blocks in a file; thousands overflow the stack of the parser."""

MAX_VALUES = 100_000
"""In a file, with its aliases expanded; ten lines of aliases of aliases can expand to billions."""


# YAML 1.1 reads 1e-6 as text because it has no decimal point.
YamlLoader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)[eE][-+]?[0-9]+$"),
    list("-+.0123456789"),
)


def shown(path: Path) -> str:
    """Return `path` as messages show it: relative to the working folder when it lies below it."""
    absolute = os.path.abspath(path)
    working = os.getcwd()
    if absolute.startswith(working + os.sep):
        return Path(os.path.relpath(absolute, working)).as_posix()
    return Path(absolute).as_posix()


def read_yaml(path: Path) -> dict[str, Any]:
    """Return the block of keys in a YAML file; an empty block for an empty file.

    Raises UserError when the file cannot be read, is not YAML (with the line), has a key twice, or
    holds something other than a block of keys.
    """
    try:
        text = path.read_text(encoding="utf-8")
        _check_extent(text)
        content = yaml.load(text, Loader=YamlLoader)
    except OSError as error:
        raise UserError(shown(path), f"it cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise UserError(shown(path), "it is not UTF-8 text", remedy="save it as UTF-8") from error
    except ValueError as error:
        raise UserError(shown(path), f"it is the name of no file ({error})") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        location = f"{shown(path)}, line {mark.line + 1}" if mark else shown(path)
        problem = getattr(error, "problem", None) or "a character that YAML does not allow"
        raise UserError(
            location,
            problem,
            expected="correct YAML",
            remedy="fix this line or the one before it: brackets, quotes and the space at the "
            "beginning of the line",
        ) from error
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise UserError(
            shown(path),
            f"found a {'list' if isinstance(content, list) else 'single value'}",
            expected="a block of keys, one 'key: value' per line",
        )
    return content


def _check_extent(text: str) -> None:
    """Raise a YAML error where blocks are nested too deep, or aliases expand to too many values."""
    # An alias within the block that it names expands without end.
    sizes: dict[str | None, float] = {}
    blocks: list[tuple[str | None, float]] = [(None, 0)]
    for event in yaml.parse(text, Loader=YamlLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            sizes[event.anchor] = math.inf
            blocks.append((event.anchor, 1))
            problem = f"more than {MAX_LEVELS} blocks or brackets are nested"
            is_too_much = len(blocks) > MAX_LEVELS
        else:
            size = 1
            if isinstance(event, yaml.AliasEvent):
                size = sizes.get(event.anchor, 1)
            elif isinstance(event, yaml.CollectionEndEvent):
                anchor, size = blocks.pop()
                sizes[anchor] = size
            anchor, total = blocks[-1]
            blocks[-1] = (anchor, total + size)
            problem = f"with its aliases (*name) expanded, it holds over {MAX_VALUES} values"
            is_too_much = total + size > MAX_VALUES
        if is_too_much:
            raise yaml.composer.ComposerError(None, None, problem, event.start_mark)
