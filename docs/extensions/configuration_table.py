"""The directive ``configuration-table``: a table of the settings in a folder of ``config/``."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from docutils import nodes
from plain_table import table_of
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from workflow_lib.run.named_settings import SettingsFolder

WIDTHS = (4, 10, 6, 6)


class ConfigurationTable(SphinxDirective):
    """Shows a row for each file, and each variant in a file, of the folder named by its argument.

    ``columns`` names the keys that it shows: columns are separated by ``;``, and keys that share a
    column by ``,``. ``heads`` are the heads of the columns; by default, these are the keys.
    """

    required_arguments = 1
    option_spec: ClassVar = {"columns": str, "heads": str}

    def run(self) -> list[nodes.Node]:
        folder = SettingsFolder(Path(self.env.relfn2path(self.arguments[0])[1]))
        self.env.note_dependency(str(folder.path))
        columns = [column.split(",") for column in self.options["columns"].split(";")]
        heads = self.options.get("heads", self.options["columns"]).split(";")
        rows = []
        for name in folder.names:
            self.env.note_dependency(str(folder.file(name)))
            content = folder.keys(name)
            first = nodes.paragraph("", "", nodes.literal(text=name))
            rows.append([[first], *(paragraphs(content, keys) for keys in columns)])
        head = ["name", *(text.strip() for text in heads)]
        return [table_of(head, rows, WIDTHS[: len(head)])]


def paragraphs(content: dict, keys: list[str]) -> list[nodes.Node]:
    """Return the texts of some keys of settings, without those that it lacks."""
    texts = (content.get(key.strip()) for key in keys)
    return [nodes.paragraph(text=" ".join(text.split())) for text in texts if text]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("configuration-table", ConfigurationTable)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
