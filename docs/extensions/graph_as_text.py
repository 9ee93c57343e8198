"""The directive ``graphviz`` where the program ``dot`` is missing: the graph as text."""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.ext.graphviz import Graphviz
from sphinx.util.docutils import SphinxDirective


class GraphAsText(SphinxDirective):
    """Shows what the graph is, and its arrows as they are written in the page's source."""

    has_content = True
    option_spec = Graphviz.option_spec

    def run(self) -> list[nodes.Node]:
        source = "\n".join(self.content)
        title = f"{self.options['alt']}, as text, because the program 'dot' was not found:"
        return [nodes.paragraph(text=title), nodes.literal_block(source, source, language="text")]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("graphviz", GraphAsText)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
