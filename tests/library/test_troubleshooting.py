"""Each message that the page on troubleshooting explains is still in the code."""

import ast
import inspect
import re
from functools import cache
from pathlib import Path

import snakemake.exceptions
from each_case import each_case

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
OMITTED = "..."


def explained_messages() -> list[str]:
    """Return the first cell of every row of the tables of messages."""
    return re.findall(r"^\| `(.+?)` \|", PAGE, re.MULTILINE)


def fragments(message: str) -> list[str]:
    """Return the parts of a message between its omissions."""
    return [part for part in message.split(OMITTED) if part.strip()]


@cache
def texts_of_the_code() -> str:
    """Return all texts that the project, and Snakemake in its errors, may print, a line each.

    Of Python these are the literals, since long texts are written in several lines.
    """
    sources = [inspect.getsource(snakemake.exceptions)]
    for folder in ("workflow_lib", "scripts"):
        sources += [path.read_text(encoding="utf-8") for path in (ROOT / folder).rglob("*.py")]
    texts = [(ROOT / "Makefile").read_text(encoding="utf-8")]
    texts += [path.read_text(encoding="utf-8") for path in (ROOT / "rules").rglob("*.smk")]
    for source in sources:
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.append(node.value)
    return "\n".join(texts)


def test_many_messages_are_explained_and_none_twice():
    messages = explained_messages()
    assert len(messages) >= 25
    assert len(set(messages)) == len(messages)
    rows = re.findall(r"^\| .*\|$", PAGE, re.MULTILINE)
    n_heads = sum(row.startswith("| the message says") for row in rows)
    assert len(messages) == len(rows) - n_heads, "a row does not begin with a message"


@each_case("message", explained_messages())
def test_a_message_that_is_explained_is_in_the_code(message):
    parts = fragments(message)
    assert max(len(part.strip()) for part in parts) >= 8, "too little of the message is shown"
    for part in parts:
        assert part in texts_of_the_code(), f"nothing says {part!r}"


def test_a_message_that_is_not_in_the_code_is_detected():
    assert "the moon is full; make room" not in texts_of_the_code()


def test_every_message_has_a_meaning_and_a_remedy():
    for row in re.findall(r"^\| `.*\|$", PAGE, re.MULTILINE):
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]]
        assert len(cells) == 3 and all(cells), row
