"""One HTML file of several sections, which contains everything and opens without a network."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from markupsafe import Markup

from workflow_lib.core.whole_files import write_text
from workflow_lib.report.render import TEMPLATES, Section, render


def write_page(
    path: str | Path,
    title: str,
    groups: Mapping[str, Sequence[Section]],
    *,
    author: str = "",
    names: Mapping[str, str] | None = None,
) -> None:
    """Write a page, whole or not at all; the same sections give the same bytes.

    Parameters
    ----------
    path, title
    groups : mapping of str to sections
        In the order of the page; the keys are headings in the list of contents, the first is empty.
    author : str, default=""
        No line where it is empty.
    names : mapping of str to str or None, default=None
        How the list of contents calls sections, by their anchors, where not by their headings.
    """
    names, style, script = names or {}, _file("page.css"), _file("page.js")
    parts = [part for sections in groups.values() for part in sections]
    first = parts[0].heading.lower().removeprefix("the ")
    page = render(
        "page.html",
        policy=_policy(style, script),
        title=title,
        author=author,
        first={"anchor": parts[0].anchor, "name": first},
        groups={
            group: [
                {"anchor": part.anchor, "name": names.get(part.anchor, part.heading)}
                for part in sections
            ]
            for group, sections in groups.items()
        },
        parts=[part.html for part in parts],
        style=style,
        script=script,
    )
    write_text(path, page)


def _policy(style: str, script: str) -> str:
    """Return what a browser may do with the page: show its pictures and run its own script alone.
    Names in the page come from tables and settings of the run. They are escaped; were one not, a
    script in it would still not run, as only texts of these hashes do. Attributes may hold
    styles."""
    hashes = [
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for text in (style, script)
    ]
    return (
        f"default-src 'none'; img-src data:; style-src-elem 'sha256-{hashes[0]}'; "
        f"style-src-attr 'unsafe-inline'; script-src 'sha256-{hashes[1]}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _file(name: str) -> Markup:
    return Markup((TEMPLATES / name).read_text(encoding="utf-8").rstrip())
