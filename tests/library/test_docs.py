"""The documentation is complete, agrees with the code, and builds without a network."""

from __future__ import annotations

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

import workflow_lib
from workflow_lib.inputs.encoder_names import N_GRAMS, ONE_HOT, encoder_names
from workflow_lib.run.named_settings import SettingsFolder
from workflow_lib.run.reference import sections
from workflow_lib.run.requests import TableRequest
from workflow_lib.run.studies import study_files

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"

needs_sphinx = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("sphinx", "myst_parser", "furo")),
    reason="the extra 'docs' is not installed",
)


def page(name: str) -> str:
    """Return the source of a page."""
    return (DOCS / name).read_text(encoding="utf-8")


def section(text: str, heading: str) -> str:
    """Return the text under a heading, up to the next one of its level or above."""
    level = len(heading) - len(heading.lstrip("#"))
    return re.search(
        rf"^{re.escape(heading)}$\n(.*?)(?=^#{{1,{level}}} |\Z)", text, re.MULTILINE | re.DOTALL
    )[1]


def first_cells(text: str) -> list[str]:
    """Return the first cell of every row of the tables in a text, without the heads."""
    rows = re.findall(r"^\| (.*?) \|.*\|$", text, re.MULTILINE)
    heads = re.findall(r"^\| (.*?) \|.*\|\n\|---", text, re.MULTILINE)
    return [cell for cell in rows if cell not in heads]


def test_every_public_name_is_in_the_reference():
    documented = re.findall(r"^\.\. auto\w+:: workflow_lib\.(\w+)$", page("api.rst"), re.MULTILINE)
    assert len(set(documented)) == len(documented)
    assert set(workflow_lib.__all__) <= set(documented)


@needs_paper("palasek")
@needs_paper("perina")
def test_no_other_name_is_in_the_reference():
    documented = re.findall(r"^\.\. auto\w+:: workflow_lib\.(\w+)$", page("api.rst"), re.MULTILINE)
    assert set(documented) <= set(workflow_lib.__all__)


def test_every_key_of_new_is_explained_and_no_other():
    keys = first_cells(section(page("your-table.md"), "## Every key of `new`"))
    assert sorted(keys) == sorted(f"`{key}`" for key in TableRequest.model_fields)


def test_messages_that_are_explained_are_those_of_the_code():
    shown = first_cells(section(page("your-table.md"), "## When a table is refused"))
    modules = [ROOT / "workflow_lib" / layer for layer in ("tabular", "data", "protocol", "table")]
    code = "".join(path.read_text() for folder in modules for path in folder.rglob("*.py"))
    assert len(shown) >= 10
    for message in shown:
        assert message.strip("`") in code, f"no message says {message}"


@needs_paper("blaschko")
@needs_paper("palasek")
@needs_paper("perina")
def test_methods_that_are_recommended_exist():
    named = set(re.findall(r"`([a-z]+-[a-z-]+)`", page("methods.md") + page("your-table.md")))
    methods, datasets = (
        set(SettingsFolder(ROOT / "config" / folder).names) for folder in ("methods", "datasets")
    )
    encoders = {ONE_HOT, N_GRAMS, *encoder_names()}
    assert {"ofer-stack", "m-mean", "wofer-gmm"} <= named <= methods | datasets | encoders


def test_commands_of_make_exist():
    text = "".join(path.read_text(encoding="utf-8") for path in DOCS.glob("*.md"))
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"`make ([a-z-]+)`|^make ([a-z-]+)", text, re.MULTILINE))
    named = {name for pair in named for name in pair if name}
    assert {"env", "run", "docs"} <= named <= targets


@needs_paper("blaschko")
@needs_paper("palasek")
@needs_paper("perina")
def test_studies_that_are_named_exist():
    text = "".join(path.read_text(encoding="utf-8") for path in DOCS.glob("*.md"))
    named = set(re.findall(r"study(?:=| `)([a-z0-9-]+)", text + page("../README.md")))
    assert len(named) > 20
    assert named <= set(study_files(ROOT / "config"))


def test_the_level_of_intervals_is_the_default_of_a_run():
    from workflow_lib.run.models import RunSettings
    from workflow_lib.uncertainty.conformal import rows_needed

    level = RunSettings.model_fields["interval_level"].default
    text = section(page("your-table.md"), "### What intervals guarantee, and what not")
    assert f"contains {level:.0%} of".replace("%", " %") in text
    assert f"({rows_needed(level)} for {level:.0%})".replace("%)", " %)") in text


def test_every_page_is_in_a_table_of_contents_once():
    listed = [
        line.strip()
        for block in re.findall(r"```{toctree}\n(.*?)```", page("index.md"), re.DOTALL)
        for line in block.splitlines()
        if line.strip() and not line.startswith(":")
    ]
    pages = {path.stem for path in DOCS.iterdir() if path.suffix in (".md", ".rst")}
    assert sorted([*listed, "index"]) == sorted(pages)


class _Links(HTMLParser):
    """What a page loads, its links, its anchors, and its equations."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.linked: list[str] = []
        self.places: set[str] = set()
        self.n_equations = 0

    def handle_starttag(self, tag, attributes) -> None:
        values = dict(attributes)
        if values.get("id"):
            self.places.add(values["id"])
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


@needs_paper("palasek")
@needs_paper("perina")
@needs_sphinx
def test_built_pages_load_nothing_from_elsewhere_and_have_no_broken_links(built):
    pages = sorted(built.glob("*.html"))
    assert {"index", "start", "your-table", "concepts", "api"} <= {path.stem for path in pages}
    for path in pages:
        links = links_of(path)
        for address in links.loaded:
            assert not re.match(r"(\w+:)?//", address), f"{path.name} loads {address}"
            assert (built / re.sub(r"[?#].*", "", address)).exists(), f"{path.name}: {address}"
        for address in links.linked:
            if not re.match(r"\w+:", address):
                target, _, place = address.partition("#")
                target = built / (target or path.name)
                assert target.exists(), f"{path.name}: {address}"
                if place and target.suffix == ".html":
                    assert place in links_of(target).places, f"{path.name}: {address}"
    for style in built.rglob("*.css"):
        assert not re.search(r"(@import|url\()[\"' ]*(https?:)?//", style.read_text())


@needs_paper("palasek")
@needs_paper("perina")
@needs_sphinx
def test_equations_are_drawn_and_none_is_left_as_latex(built):
    concepts = built / "concepts.html"
    n_written = len(re.findall(r"\$\$.*?\$\$|\$[^$]+\$", page("concepts.md"), re.DOTALL))
    assert links_of(concepts).n_equations == n_written > 20
    text = re.sub(r"<[^>]*>", "", concepts.read_text(encoding="utf-8"))
    assert not re.search(r"\\(frac|sum|left|lVert|hat)\b", text)


@needs_paper("palasek")
@needs_paper("perina")
@needs_sphinx
def test_signs_of_algebra_in_docstrings_are_kept(built):
    page = (built / "api.html").read_text(encoding="utf-8")
    # Signatures may have a parameter of further names.
    text = re.sub(r"<dt class=.*?</dt>|<[^>]*>", "", page, flags=re.DOTALL)
    assert "h(x) = k(x, X_fit_) dual_coef_ + intercept_." in text
    assert "||phi(y) - h||^2" in text
    assert not re.search(r"\*\*\w|\(\*\w", text), "bold or a type is left as it was written"


@needs_paper("palasek")
@needs_paper("perina")
@needs_sphinx
def test_the_page_of_the_configuration_has_the_tables_of_all_keys(built):
    text = (built / "configuration.html").read_text(encoding="utf-8")
    sources = (ROOT / "config/README.md").read_text(encoding="utf-8") + sections()
    headings = re.findall(r"^## (.*)$", sources, re.MULTILINE)
    assert {"Datasets", "Methods", "Options of the readers"} <= set(headings)
    for heading in headings:
        words = re.sub(r"`(.*?)`", r"\1", heading)
        assert words in re.sub(r"<[^>]*>", "", text)


@needs_paper("palasek")
@needs_paper("perina")
@needs_sphinx
@pytest.mark.parametrize(("folder", "key"), [("methods", "summary"), ("datasets", "title")])
def test_every_method_and_dataset_is_listed(built, folder, key):
    text = unescape((built / f"{folder}.html").read_text(encoding="utf-8"))
    shown = re.sub(r"<[^>]*>", "", text).replace("’", "'")
    settings = SettingsFolder(ROOT / "config" / folder)
    for name in settings.names:
        assert name in shown and " ".join(settings.keys(name)[key].split()) in shown, name
