"""The documentation is complete and agrees with the code."""

import re
from pathlib import Path

from paper_folders import needs_paper

import workflow_lib
from workflow_lib.inputs.encoder_names import N_GRAMS, ONE_HOT, encoder_names
from workflow_lib.report.figures.base import figure_modules
from workflow_lib.run.named_settings import SettingsFolder
from workflow_lib.run.requests import Request, TableRequest
from workflow_lib.run.studies import study_files

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


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


def test_every_key_of_learn_is_explained_and_no_other():
    named = " ".join(first_cells(section(page("many-rows.md"), "## What it does")))
    of_learn = set(Request.model_fields) - set(TableRequest.model_fields)
    assert set(re.findall(r"`(\w+)`", named)) == of_learn | {"outputs", "inputs", "exclude"}


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
    text = "".join(path.read_text(encoding="utf-8") for path in DOCS.rglob("*.md"))
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"`make ([a-z-]+)`|^make ([a-z-]+)", text, re.MULTILINE))
    named = {name for pair in named for name in pair if name}
    assert {"env", "run", "docs"} <= named <= targets


@needs_paper("blaschko")
@needs_paper("palasek")
@needs_paper("perina")
def test_studies_that_are_named_exist():
    text = "".join(path.read_text(encoding="utf-8") for path in DOCS.rglob("*.md"))
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
        str((path.parent / line.strip()).relative_to(DOCS))
        for path in DOCS.rglob("index.md")
        for block in re.findall(r"```{toctree}\n(.*?)```", path.read_text(), re.DOTALL)
        for line in block.splitlines()
        if line.strip() and not line.startswith(":")
    ]
    pages = {str(path.relative_to(DOCS).with_suffix("")) for path in DOCS.rglob("*.md")}
    pages |= {path.stem for path in DOCS.glob("*.rst")}
    assert sorted([*listed, "index"]) == sorted(pages)


@needs_paper("blaschko")
@needs_paper("palasek")
@needs_paper("perina")
@needs_paper("varoquaux")
def test_the_gallery_has_a_small_picture_of_every_kind():
    pictures = {path.stem: path.stat().st_size for path in (DOCS / "gallery").glob("*.png")}
    named = {line.partition(": ")[0] for line in page("gallery.md").splitlines()}
    assert figure_modules().keys() <= pictures.keys()
    assert pictures.keys() - figure_modules().keys() <= named
    assert sum(pictures.values()) <= 400_000
