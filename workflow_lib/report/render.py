"""HTML from the templates of this package, with everything escaped that is not marked as HTML."""

import base64
import zlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from workflow_lib.report.figure_words import words_of
from workflow_lib.report.table_markup import Layout

READS_ALL_OF = "templates"
"""The folder whose files are read here (`workflow_lib.core.imports`)."""

TEMPLATES = Path(__file__).with_name(READS_ALL_OF)


class Section(NamedTuple):
    """One section of the page; ``html`` holds the whole element, its heading included."""

    anchor: str
    heading: str
    html: Markup


def render(template: str, **values: Any) -> Markup:
    """Return a template of the folder `TEMPLATES` filled in.

    Raises
    ------
    jinja2.UndefinedError
        If the template names a value that is not given.
    """
    return Markup(_environment().get_template(template).render(values))


def section(anchor: str, heading: str, template: str, **values: Any) -> Section:
    """Return a section made by a template that extends ``section.html``."""
    html = render(f"sections/{template}", anchor=anchor, heading=heading, **values)
    return Section(anchor, heading, html)


def html_markup(layout: Layout, below: Sequence[Layout] = ()) -> Markup:
    """Return a table: a caption, scoped heads, one body per quantity and the notes.

    The tables `below` follow, each with its own caption and notes.
    """
    table = _environment().get_template("macros.html").module.table
    return Markup("\n").join(table(each) for each in (layout, *below))


def figure_part(figure: Mapping, **words: str) -> dict:
    """Return what the templates show of a figure.

    `figure` and `words` hold ``svg`` (path) and ``caption``, and ``png`` and ``csv`` (paths) where
    they exist. A CSV without rows, that of a drawing, is not shown. To the ``alt`` that they hold,
    the caption by default, the description in the SVG is added: it has the numbers. Of the PNG only
    the name is used: a script of the page makes one of the SVG.
    """
    shown = {"png": None, "csv": None, **figure, **words}
    described = words_of(figure["svg"])
    shown["alt"] = " ".join(filter(None, [shown.get("alt", ""), described])) or shown["caption"]
    if shown["csv"] and Path(shown["csv"]).read_bytes().count(b"\n") < 2:
        shown["csv"] = None
    return shown


def prose(text: str) -> Markup:
    """Return text, escaped unless it is HTML, in which no line breaks at ``=`` or ``±``."""
    found = str(escape(text))
    for sign in ("=", "\u00b1"):
        found = found.replace(f" {sign} ", f"&nbsp;{sign}&nbsp;")
    return Markup(found)


def data_address(path: str | Path, media_type: str) -> str:
    """Return the bytes of a file as an address that holds them."""
    content = base64.b64encode(Path(path).read_bytes()).decode("ascii")
    return f"data:{media_type};base64,{content}"


def packed(path: str | Path) -> str:
    """Return the bytes of a file compressed (zlib), in base64; ``page.js`` unpacks them.

    The figures of a run take a sixth of the bytes that `data_address` needs for them.
    """
    return base64.b64encode(zlib.compress(Path(path).read_bytes(), 9)).decode("ascii")


def has_pixels(path: str | Path) -> bool:
    """Return whether an SVG holds an image of pixels, such as a photograph.

    Its colours stay as they are on a dark page; those of other figures are turned round.
    """
    return b"<image" in Path(path).read_bytes()


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"prose": prose, "file_name": lambda path: Path(path).name}
    for function in (data_address, packed, has_pixels):
        environment.globals[function.__name__] = function
    return environment
