"""Tables and figures of the page with links that save them, without other files."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from html import escape
from pathlib import Path

_TYPES = {
    "csv": ("CSV", "text/csv;charset=utf-8"),
    "tex": ("LaTeX", "application/x-tex;charset=utf-8"),
    "png": ("PNG", "image/png"),
}
"""Ending of a file -> what its link is called, and its media type."""


def data_address(path: str | Path, media_type: str) -> str:
    """Return a data address that contains the bytes of a file."""
    content = base64.b64encode(Path(path).read_bytes()).decode("ascii")
    return f"data:{media_type};base64,{content}"


def table_with_downloads(table: Mapping, anchor: str) -> str:
    """Return a table under its anchor, with links that save it.

    Parameters
    ----------
    table : mapping
        ``html`` (fragment), and where there are such files ``csv`` and ``tex`` (paths), whose bytes
        the links contain.
    anchor : str
        The target of links to the table.
    """
    links = [_embedded(table[kind], kind) for kind in ("csv", "tex") if table.get(kind)]
    saved = _downloads("table", links) if links else ""
    return f'<article class="table" id="{escape(anchor)}">\n{table["html"]}\n{saved}</article>'


def figure_with_downloads(figure: Mapping, anchor: str, folder: Path) -> str:
    """Return a figure under its anchor, with links that save it.

    The SVG is in the page once, as the picture: a script gives the link its bytes; without scripts
    the link leads to the file of the figure.

    Parameters
    ----------
    figure : mapping
        ``svg`` (path), ``alt`` and ``caption``, and ``png`` (path) where there is one.
    anchor : str
        The target of links to the figure.
    folder : path
        That of the page.
    """
    svg = Path(figure["svg"])
    address = Path(os.path.relpath(svg, folder)).as_posix()
    links = [
        f'<a class="svg" download="{escape(svg.name)}" href="{escape(address)}" '
        f'aria-label="SVG of this figure">SVG</a>'
    ]
    if figure.get("png"):
        links.append(_embedded(figure["png"], "png"))
    return (
        f'<figure id="{escape(anchor)}">'
        f'<img src="{data_address(svg, "image/svg+xml")}" alt="{escape(figure["alt"])}">'
        f"<figcaption>{escape(figure['caption'])}</figcaption>"
        f"{_downloads('figure', links)}</figure>"
    )


def _embedded(path: str | Path, kind: str) -> str:
    name, media_type = _TYPES[kind]
    what = "figure" if kind == "png" else "table"
    return (
        f'<a download="{escape(Path(path).name)}" href="{data_address(path, media_type)}" '
        f'aria-label="{name} of this {what}">{name}</a>'
    )


def _downloads(what: str, links: list[str]) -> str:
    return f'<p class="downloads">Save this {what}: {" ".join(links)}</p>'
