"""Pieces of HTML that every part of the page is made of."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

_HEADING = re.compile(
    r'<h(?P<level>[23]) id="(?P<id>[^"]+)">(?P<text>.*?)</h(?P=level)>', re.DOTALL
)


def prose(text: str) -> str:
    """Return escaped text in which no line breaks at ``=`` or ``±``."""
    return escape(text).replace(" = ", "&nbsp;=&nbsp;").replace(" \u00b1 ", "&nbsp;\u00b1&nbsp;")


def bullets(sentences: Sequence[str]) -> str:
    """Return a list of sentences."""
    return f"<ul>{''.join(f'<li>{prose(sentence)}</li>' for sentence in sentences)}</ul>"


def section(anchor: str, heading: str, parts: Sequence[str], style: str = "") -> str:
    """Return a section with its heading, which also names it for screen readers."""
    of_class = f' class="{style}"' if style else ""
    anchor = escape(anchor)
    return "\n".join(
        [
            f'<section id="{anchor}"{of_class} aria-labelledby="{anchor}-heading">',
            f'<h2 id="{anchor}-heading">{escape(heading)}</h2>',
            *parts,
            "</section>",
        ]
    )


def heading(anchor: str, text: str) -> str:
    """Return the heading of a part of a section, which links can lead to."""
    return f'<h3 id="{escape(anchor)}">{escape(text)}</h3>'


def with_permalinks(html: str) -> str:
    """Return the page with a link to itself in every heading that has an id.

    The heading of a section, ``NAME-heading``, links to the section ``NAME``.
    """
    return _HEADING.sub(_linked, html)


def _linked(found: re.Match) -> str:
    level, anchor, text = found["level"], found["id"], found["text"]
    label = re.sub(r"<[^>]*>", "", text).replace('"', "&quot;")
    target = anchor.removesuffix("-heading")
    return (
        f'<h{level} id="{anchor}">{text}<a class="permalink" href="#{target}" '
        f'aria-label="Link to: {label}"></a></h{level}>'
    )
