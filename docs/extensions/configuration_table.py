"""The directive ``configuration-table``: a table of the files of a folder of ``config/``."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import yaml
from docutils import nodes
from plain_table import table_of
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

WIDTHS = (4, 10, 6, 6)


class ConfigurationTable(SphinxDirective):
    """Shows a row for each YAML file of the folder named by its argument.

    ``columns`` names the keys that it shows: columns are separated by ``;``, and keys that share a
    column by ``,``. ``heads`` are the heads of the columns; by default, these are the keys.
    """

    required_arguments = 1
    option_spec: ClassVar = {"columns": str, "heads": str}

    def run(self) -> list[nodes.Node]:
        folder = Path(self.env.relfn2path(self.arguments[0])[1])
        self.env.note_dependency(str(folder))
        columns = [column.split(",") for column in self.options["columns"].split(";")]
        heads = self.options.get("heads", self.options["columns"]).split(";")
        rows = []
        for path in sorted(folder.glob("*.yaml")):
            self.env.note_dependency(str(path))
            content = yaml.safe_load(path.read_text(encoding="utf-8"))
            name = nodes.paragraph("", "", nodes.literal(text=path.stem))
            rows.append([[name], *(paragraphs(content, keys) for keys in columns)])
        head = ["name", *(text.strip() for text in heads)]
        return [table_of(head, rows, WIDTHS[: len(head)])]


def paragraphs(content: dict, keys: list[str]) -> list[nodes.Node]:
    """Return the texts of some keys of a file, without those that it lacks."""
    texts = (content.get(key.strip()) for key in keys)
    return [nodes.paragraph(text=" ".join(text.split())) for text in texts if text]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("configuration-table", ConfigurationTable)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
