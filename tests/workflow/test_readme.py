"""The README tells the truth about the rules, the methods, the datasets and the commands."""

from __future__ import annotations

import re
from pathlib import Path

from small_run import ROOT, snakemake

README = (ROOT / "README.md").read_text()


def drawn_edges() -> set[tuple[str, str]]:
    """Return the arrows of the picture of the rules in the README."""
    block = re.search(r"```mermaid\n(.*?)```", README, re.DOTALL)[1]
    edges = set()
    for line in block.splitlines():
        nodes = [node.strip() for node in line.split("-->")]
        edges.update(zip(nodes, nodes[1:]))
    return edges


def real_edges(folder: Path) -> set[tuple[str, str]]:
    """Return the arrows of the rule graph of the small run."""
    outcome = snakemake(folder, "--forceall", "--rulegraph", "mermaid-js", cores=1)
    names = dict(re.findall(r"(id\d+)\[(\w+)\]", outcome.stdout))
    arrows = re.findall(r"(id\d+) --> (id\d+)", outcome.stdout)
    return {(names[first], names[second]) for first, second in arrows}


def test_the_picture_shows_arrows_of_the_rule_graph(project):
    real = real_edges(project)
    # Nothing is fetched in the small run, or it would need a network; and the rules that look at a
    # new table or at new rows run only when they are asked for.
    elsewhere = {"acquire", "introductions", "new", "predict_rows"}
    drawn = {edge for edge in drawn_edges() if not elsewhere & set(edge)}
    assert real, "the rule graph is empty"
    assert drawn <= real


def test_the_picture_leaves_no_rule_out(project):
    drawn = {node for edge in drawn_edges() for node in edge}
    rules = set()
    for path in (ROOT / "rules").rglob("*.smk"):
        rules.update(re.findall(r"^rule (\w+):", path.read_text(), re.MULTILINE))
    assert rules and drawn == rules


def test_every_method_and_dataset_is_listed():
    for folder in ("methods", "datasets"):
        for path in (ROOT / "config" / folder).glob("*.yaml"):
            assert f"`{path.stem}`" in README, f"{folder}/{path.name} is not in the README"


def test_make_targets_of_the_readme_exist():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"`make ([a-z]+)`|^make ([a-z]+)", README, re.MULTILINE))
    named = {name for pair in named for name in pair if name}
    assert {"run", "test"} <= named <= targets
