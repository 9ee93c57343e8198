"""Adds the tables of all keys, from the settings classes, to the page of the configuration."""

from __future__ import annotations

from sphinx.application import Sphinx

from workflow_lib.run.reference import sections

PAGE = "configuration"


def add_sections(app: Sphinx, name: str, source: list[str]) -> None:
    """Append the tables to the source of the page."""
    if name == PAGE:
        source[0] += f"\n{sections()}"


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the addition; the page is read anew in every build, as the classes may differ."""
    app.connect("source-read", add_sections)
    app.connect("env-get-outdated", lambda *_: [PAGE])
    return {"parallel_read_safe": True, "parallel_write_safe": True}
