"""The README is short, and the pictures of the rules agree with the rules."""

import re
from pathlib import Path

from paper_folders import needs_paper
from small_run import ROOT, snakemake
from test_rules import ALIKE, OF_SPLITS, RULES_WITH_JOBS

README = (ROOT / "README.md").read_text()
DESIGN = (ROOT / "docs" / "design.md").read_text()
MAX_LINES, MAX_BOXES = 150, 10


def drawn_edges(text: str, kind: str, arrow: str) -> set[tuple[str, str]]:
    """Return the arrows of the first block of a kind in a text of Markdown."""
    block = re.search(rf"```{kind}\n(.*?)```", text, re.DOTALL)[1]
    edges = set()
    for line in block.splitlines():
        nodes = [node.strip() for node in line.split(arrow)]
        edges.update(zip(nodes, nodes[1:]))
    return edges


SHORT = drawn_edges(README, "mermaid", "-->")
FULL = drawn_edges(DESIGN, "{graphviz}", "->")


def real_edges(folder: Path, *options: str) -> set[tuple[str, str]]:
    """Return the arrows of the rule graph of the small run, or of other targets."""
    outcome = snakemake(folder, *options, "--forceall", "--rulegraph", "mermaid-js", cores=1)
    names = dict(re.findall(r"(id\d+)\[(\w+)\]", outcome.stdout))
    # The rules of several splits are drawn as those of one.
    names = {node: OF_SPLITS.sub("", name) for node, name in names.items()}
    arrows = re.findall(r"(id\d+) --> (id\d+)", outcome.stdout)
    return {(names[first], names[second]) for first, second in arrows}


@needs_paper("perina")
def test_the_pictures_show_arrows_of_the_rule_graph(project, tmp_path):
    table = tmp_path / "big.parquet"
    table.touch()
    request = ("name=big", f"data={table}", "outputs=y", "components=2", "blocks=2")
    real = real_edges(project) | real_edges(project, "learn", "--config", *request)
    # The small run fetches nothing, because that would need a network; the rules for a named table
    # or new rows run only on request, no regressor is there with and without an embedding, and no
    # method is for boxes.
    elsewhere = {"acquire", "introductions", "new", "answer_figures", "predict_rows"}
    elsewhere |= {"importance_figures", "embedding_or_raw", "queue_costs"}
    drawn = {edge for edge in SHORT | FULL if not elsewhere & set(edge)}
    assert real, "the rule graph is empty"
    assert drawn <= real


def test_the_picture_of_the_design_leaves_no_rule_out():
    drawn = {node for edge in FULL for node in edge}
    assert drawn == {*RULES_WITH_JOBS, *ALIKE}


def test_the_readme_is_short():
    assert len(README.splitlines()) <= MAX_LINES
    assert 1 < len({node for edge in SHORT for node in edge}) <= MAX_BOXES


def test_files_that_the_readme_names_exist():
    named = set(re.findall(r"`((?:docs|config|profiles)/[\w./-]+)`", README))
    own = {name for name in named if "assay" in name}
    assert named > own
    assert [name for name in named - own if not (ROOT / name).exists()] == []


def test_make_targets_of_the_readme_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"`make ([a-z-]+)`|^make ([a-z-]+)", README, re.MULTILINE))
    named = {name for pair in named for name in pair if name}
    assert {"run", "test"} <= named <= targets
