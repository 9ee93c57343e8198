"""Tables on the pages that extensions make."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from docutils import nodes


def table_of(
    head: Sequence[str], rows: Iterable[Sequence[list[nodes.Node]]], widths: Sequence[int]
) -> nodes.table:
    """Return a table; a cell is a list of paragraphs."""
    table, group = nodes.table(), nodes.tgroup(cols=len(head))
    table += group
    group += [nodes.colspec(colwidth=width) for width in widths]
    heads = [[nodes.paragraph(text=text)] for text in head]
    for part, lines in ((nodes.thead(), [heads]), (nodes.tbody(), rows)):
        group += part
        for line in lines:
            row = nodes.row()
            part += row
            for cell in line:
                row += nodes.entry("", *cell)
    return table
