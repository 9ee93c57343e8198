"""The directive ``fault-record``: a table of the outcomes of the last `make faults`."""

from __future__ import annotations

import json
from pathlib import Path

from docutils import nodes
from plain_table import table_of
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

HEAD = ("fault", "tried", "survived", "found", "when")
WIDTHS = (10, 2, 2, 2, 6)


class FaultRecord(SphinxDirective):
    """Shows the JSON file named by its argument, or says how to make it."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        _, path = self.env.relfn2path(self.arguments[0])
        self.env.note_dependency(path)
        if not Path(path).exists():
            return [nodes.paragraph(text="No fault has been tried on this machine yet.")]
        record = json.loads(Path(path).read_text(encoding="utf-8"))
        rows = [
            (
                kind["kind"],
                kind["tried"],
                kind["survived"],
                len(kind["found"]),
                f"{kind['date']}, {kind['commit'] or 'no commit'}"
                + ("" if kind["trials"] == "full" else "; some of the trials"),
            )
            for kind in record["kinds"]
        ]
        rows.append(("all", *(sum(row[column] for row in rows) for column in (1, 2, 3)), ""))
        where = f"Python {record['python']}, {record['system']}."
        found = [name for kind in record["kinds"] for name in kind["found"]]
        cells = [[[nodes.paragraph(text=str(cell))] for cell in row] for row in rows]
        return [
            table_of(HEAD, cells, WIDTHS),
            nodes.paragraph(text=where),
            *list_of("Found:", found),
        ]


def list_of(title: str, names: list[str]) -> list[nodes.Node]:
    """Return a list of the names of tests under a title; nothing where there is none."""
    items = [
        nodes.list_item("", nodes.paragraph("", "", nodes.literal(text=name))) for name in names
    ]
    return [nodes.paragraph(text=title), nodes.bullet_list("", *items)] if names else []


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("fault-record", FaultRecord)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
