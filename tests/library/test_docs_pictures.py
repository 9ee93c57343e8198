"""The graphs of the documentation show every rule and every part of the library."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import pytest
from test_imports import LAYERS

pytest.importorskip("sphinx", reason="the extra 'docs' is not installed")

ROOT = Path(__file__).resolve().parents[2]
DESIGN = ROOT / "docs" / "design.md"
BLOCK = re.compile(r"^```{graphviz}\n:alt: (.*?)\n(.*?)^```", re.DOTALL | re.MULTILINE)
GRAPHS = BLOCK.findall(DESIGN.read_text(encoding="utf-8"))
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def built(tmp_path) -> Callable[[str], Path]:
    """Return a function that builds the page of the design by an extension, and its folder."""

    def build(extension: str) -> Path:
        shutil.copy(DESIGN, tmp_path / "index.md")
        options = {"extensions": f"myst_parser,{extension}", "graphviz_output_format": "svg"}
        subprocess.run(
            [
                *(sys.executable, "-m", "sphinx", "-C", "--quiet"),
                *(part for name, value in options.items() for part in ("-D", f"{name}={value}")),
                *(str(tmp_path), str(tmp_path / "pages")),
            ],
            env=os.environ | {"PYTHONPATH": str(ROOT / "docs" / "extensions")},
            check=True,
        )
        return tmp_path / "pages"

    return build


@pytest.mark.skipif(not shutil.which("dot"), reason="the program dot is not installed")
def test_the_picture_of_the_rules_shows_each_rule_once(built):
    folder = built("sphinx.ext.graphviz")
    text = (folder / "index.html").read_text(encoding="utf-8")
    addresses = re.findall(r'<object data="([^"]+)"', text)
    assert len(addresses) == len(GRAPHS) == 2
    picture = ElementTree.parse(folder / addresses[0])
    rules = "".join(path.read_text() for path in (ROOT / "rules").rglob("*.smk"))
    names = set(re.findall(r"^rule (\w+)", rules, re.MULTILINE))
    names |= set(re.findall(r'rule_name\("(\w+)"\)', rules))
    names |= set(re.findall(r'^    "(\w*regression)": \(', rules, re.MULTILINE))
    assert sorted(part.text for part in picture.iter(f"{SVG}text")) == sorted(names)
    assert all(alternative in text for alternative, _ in GRAPHS)


def test_without_the_program_the_graphs_are_shown_as_text(built):
    text = unescape((built("graph_as_text") / "index.html").read_text(encoding="utf-8"))
    text = re.sub("<[^>]*>", "", text)
    assert all(alternative in text and source in text for alternative, source in GRAPHS)


def test_the_picture_of_the_layers_is_that_of_the_imports():
    boxes = re.findall(r'"(.*?)"', GRAPHS[1][1])
    assert [layer for box in reversed(boxes) for layer in box.split(", ")] == LAYERS
