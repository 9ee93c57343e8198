"""The style sheets can be parsed, and a browser knows every property with its value.

The scripts are checked by `make lint`.
"""

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import tinycss2
from browser import needs_browser, page_in_browser

ROOT = Path(__file__).resolve().parents[2]
SHEETS = [
    *sorted((ROOT / "workflow_lib" / "report" / "templates").glob("*.css")),
    *sorted((ROOT / "docs" / "static").glob("*.css")),
]
REPORT_UNKNOWN = """<pre></pre><script>
document.querySelector("pre").textContent = JSON.stringify(
  DECLARATIONS.filter(([line, name, value]) => !CSS.supports(name, value)));
</script>"""


def declarations(nodes: list, is_in_rule: bool = False) -> Iterator[tuple[int, str, str]]:
    """Yield the line, name and value of each declaration; refuse what is none, and nested rules."""
    for node in nodes:
        assert node.type != "error", f"line {node.source_line}: {node.message}"
        if node.type == "declaration":
            yield node.source_line, node.name, tinycss2.serialize(node.value)
        else:
            assert not is_in_rule, f"line {node.source_line}: a rule in a rule; is a '}}' missing?"
            parts = tinycss2.parse_blocks_contents(
                node.content or [], skip_comments=True, skip_whitespace=True
            )
            yield from declarations(parts, node.type == "qualified-rule")


def declarations_of(text: str) -> list[tuple[int, str, str]]:
    sheet = tinycss2.parse_stylesheet(text, skip_comments=True, skip_whitespace=True)
    return list(declarations(sheet))


@needs_browser
@pytest.mark.parametrize("path", SHEETS, ids=lambda path: path.name)
def test_a_browser_knows_every_declaration(path, tmp_path):
    found = declarations_of(path.read_text(encoding="utf-8"))
    assert found
    page = tmp_path / "page.html"
    page.write_text(REPORT_UNKNOWN.replace("DECLARATIONS", json.dumps(found)), encoding="utf-8")
    text, _ = page_in_browser(page, tmp_path)
    assert json.loads(html.unescape(re.search("<pre>(.*)</pre>", text)[1])) == []
