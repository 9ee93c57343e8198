"""The documentation builds without a warning or a network, and its pages are whole."""

import importlib.util
import re
import subprocess
import sys
from functools import cache
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest
from paper_folders import needs_paper

from workflow_lib.report.figures.base import figure_modules
from workflow_lib.run.named_settings import SettingsFolder
from workflow_lib.run.reference import sections

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"

pytestmark = [
    needs_paper("palasek"),
    needs_paper("perina"),
    pytest.mark.skipif(
        any(importlib.util.find_spec(name) is None for name in ("sphinx", "myst_parser", "furo")),
        reason="the extra 'docs' is not installed",
    ),
]


class _Links(HTMLParser):
    """What a page loads, its links, its anchors, and its equations."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.linked: list[str] = []
        self.anchors: set[str] = set()
        self.n_equations = 0

    def handle_starttag(self, tag, attributes) -> None:
        values = dict(attributes)
        if values.get("id"):
            self.anchors.add(values["id"])
        if tag in ("script", "img", "iframe") and values.get("src"):
            self.loaded.append(values["src"])
        if tag == "link" and values.get("href"):
            self.loaded.append(values["href"])
        if tag == "a" and values.get("href"):
            self.linked.append(values["href"])
        self.n_equations += tag == "math"


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """Return the folder of the built documentation; any warning fails.

    A public name of a paper whose folder was removed is one.
    """
    folder = tmp_path_factory.mktemp("documentation")
    result = subprocess.run(
        [sys.executable, "-m", "sphinx", "--fail-on-warning", "--quiet", str(DOCS), str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    return folder


@cache
def links_of(path: Path) -> _Links:
    """Return what a built page loads, its links and its equations."""
    links = _Links()
    links.feed(path.read_text(encoding="utf-8"))
    return links


def test_built_pages_load_nothing_from_elsewhere_and_have_no_broken_links(built):
    pages = sorted(built.rglob("*.html"))
    assert {"index", "start", "your-table", "embedding", "api"} <= {path.stem for path in pages}
    for path in pages:
        links = links_of(path)
        for address in links.loaded:
            assert not re.match(r"(\w+:)?//", address), f"{path.name} loads {address}"
            file = path.parent / re.sub(r"[?#].*", "", address)
            assert file.exists(), f"{path.name}: {address}"
        for address in links.linked:
            if not re.match(r"\w+:", address):
                target, _, location = address.partition("#")
                target = path.parent / (target or path.name)
                assert target.exists(), f"{path.name}: {address}"
                if location and target.suffix == ".html":
                    assert location in links_of(target).anchors, f"{path.name}: {address}"
    for style in built.rglob("*.css"):
        assert not re.search(r"(@import|url\()[\"' ]*(https?:)?//", style.read_text())


def test_equations_are_drawn_and_none_is_left_as_latex(built):
    for source in sorted((DOCS / "concepts").glob("*.md")):
        written = source.read_text(encoding="utf-8")
        page = built / "concepts" / f"{source.stem}.html"
        n_written = len(re.findall(r"\$\$.*?\$\$|\$[^$]+\$", written, re.DOTALL))
        assert links_of(page).n_equations == n_written, page
        text = re.sub(r"<[^>]*>", "", page.read_text(encoding="utf-8"))
        assert not re.search(r"\\(frac|sum|left|lVert|hat)\b", text), page
    assert links_of(built / "concepts" / "embedding.html").n_equations > 20


def test_signs_of_algebra_in_docstrings_are_kept(built):
    page = (built / "api.html").read_text(encoding="utf-8")
    # Signatures may have a parameter of further names.
    text = re.sub(r"<dt class=.*?</dt>|<[^>]*>", "", page, flags=re.DOTALL)
    assert "h(x) = k(x, X_fit_) dual_coef_ + intercept_." in text
    assert "||phi(y) - h||^2" in text
    assert not re.search(r"\*\*\w|\(\*\w", text), "bold or a type is left as it was written"


def test_the_page_of_the_configuration_has_the_tables_of_all_keys(built):
    text = (built / "configuration.html").read_text(encoding="utf-8")
    sources = (ROOT / "config/README.md").read_text(encoding="utf-8") + sections()
    headings = re.findall(r"^## (.*)$", sources, re.MULTILINE)
    assert {"Datasets", "Methods", "Options of the readers"} <= set(headings)
    for heading in headings:
        words = re.sub(r"`(.*?)`", r"\1", heading)
        assert words in re.sub(r"<[^>]*>", "", text)


@pytest.mark.parametrize(("folder", "key"), [("methods", "summary"), ("datasets", "title")])
def test_every_method_and_dataset_is_listed(built, folder, key):
    text = unescape((built / f"{folder}.html").read_text(encoding="utf-8"))
    shown = re.sub(r"<[^>]*>", "", text).replace("’", "'")
    settings = SettingsFolder(ROOT / "config" / folder)
    for name in settings.names:
        assert name in shown and " ".join(settings.keys(name)[key].split()) in shown, name


def test_every_kind_of_figure_is_in_the_gallery(built):
    text = re.sub(r"<[^>]*>", "", (built / "gallery.html").read_text(encoding="utf-8"))
    for kind in figure_modules():
        assert f"kind: {kind}" in text
