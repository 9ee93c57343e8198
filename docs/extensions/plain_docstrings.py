"""Docstrings are plain text: signs of algebra in them are not markup.

``|y|``, ``a * b`` and ``dual_coef_`` would be references and emphasis in reStructuredText; outside
of backticks and bold words they are shown unchanged.
"""

from __future__ import annotations

import re

from sphinx.application import Sphinx

# What is in backticks, bold, or a type in brackets as napoleon writes it.
MARKUP = re.compile(r"(``.+?``|`[^`]+`|\*\*\w[^*]*\*\*|\(\*[^*]+\*\))")
# A star before a space is a bullet, or nothing special.
SIGN = re.compile(r"(?<!\\)(\*(?! )|\||_(?!\w))")


def escape(app, what, name, obj, options, lines: list[str]) -> None:
    """Escape the signs in the lines of a docstring, in place."""
    for number, line in enumerate(lines):
        parts = MARKUP.split(line)
        parts[::2] = [SIGN.sub(r"\\\1", part) for part in parts[::2]]
        lines[number] = "".join(parts)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the escape after napoleon, which makes sections of the lines."""
    app.connect("autodoc-process-docstring", escape, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
