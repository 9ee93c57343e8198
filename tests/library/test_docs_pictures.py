"""The pictures of the documentation show every rule and every part of the library, legibly."""

from __future__ import annotations

import importlib
import re
import sys
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from sklearn.isotonic import isotonic_regression

pytest.importorskip("sphinx", reason="the extra 'docs' is not installed")

ROOT = Path(__file__).resolve().parents[2]
DESIGN = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
ARROWS = re.search(r"```{rule-graph}\n(.*?)```", DESIGN, re.DOTALL)[1].splitlines()
LAYERS = (ROOT / "tests" / "library" / "test_imports.py").read_text(encoding="utf-8")
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def extensions():
    """Return the two modules that make the pictures: the layout and the drawing."""
    sys.path.insert(0, str(ROOT / "docs" / "extensions"))
    yield importlib.import_module("layered_layout"), importlib.import_module("rule_graph")
    sys.path.remove(str(ROOT / "docs" / "extensions"))


def random_edges(seed: int, n_nodes: int = 14) -> list[tuple[str, str]]:
    """Return arrows of an acyclic graph, from earlier to later letters."""
    draws = np.random.default_rng(seed)
    pairs = combinations("abcdefghijklmnopqrstuvwxyz"[:n_nodes], 2)
    return [pair for pair in pairs if draws.random() < 0.25]


def ways(edges) -> np.ndarray:
    """Return which letters lead to which, by powers of the matrix of the arrows."""
    matrix = np.zeros((26, 26), dtype=bool)
    for a, b in edges:
        matrix[ord(a) - 97, ord(b) - 97] = True
    found = matrix
    for _ in range(26):
        found = found | (found @ matrix)
    return found


def texts_of(picture: str) -> list[str]:
    return [text.text for text in ElementTree.fromstring(picture).iter(f"{SVG}text")]


@pytest.mark.parametrize("seed", range(5))
def test_exactly_the_arrows_with_a_longer_path_are_left_out(extensions, seed):
    layout, _ = extensions
    edges = random_edges(seed)
    kept = layout.reduced(edges)
    assert kept < set(edges)
    assert (ways(kept) == ways(edges)).all()
    for edge in kept:
        assert (ways(kept - {edge}) != ways(edges)).any(), f"{edge} has a longer path"


@pytest.mark.parametrize("seed", range(5))
def test_boxes_of_a_layer_do_not_overlap_and_arrows_lead_down(extensions, seed):
    layout, _ = extensions
    edges = random_edges(seed)
    width = {node: 20.0 + 5 * (ord(node) % 7) for edge in edges for node in edge}
    found, arrows = layout.place(edges, width, gap=10)
    assert found.keys() == width.keys()
    for a, b in combinations(found, 2):
        if found[a][1] == found[b][1]:
            room = abs(found[a][0] - found[b][0]) - (width[a] + width[b]) / 2
            assert room >= 10 - 1e-9
    assert min(found[node][0] - width[node] / 2 for node in found) >= -1e-9
    for (a, b), points in arrows.items():
        assert points[0] == found[a] and points[-1] == found[b]
        assert [layer for _, layer in points] == list(range(found[a][1], found[b][1] + 1))
    assert layout.place(list(reversed(edges)), width, gap=10) == (found, arrows)


def test_positions_are_the_nearest_without_overlap(extensions):
    layout, _ = extensions
    draws = np.random.default_rng(1)
    for _ in range(20):
        wanted, widths = draws.normal(0, 50, 8), draws.uniform(10, 40, 8)
        offsets = np.concatenate([[0], np.cumsum((widths[1:] + widths[:-1]) / 2 + 6)])
        expected = isotonic_regression(wanted - offsets) + offsets
        np.testing.assert_allclose(layout._apart(wanted, widths, 6), expected, atol=1e-9)


def test_a_circle_is_refused(extensions):
    with pytest.raises(ValueError, match="circle"):
        extensions[0].layers_of([("a", "b"), ("b", "c"), ("c", "a")])


def test_the_picture_of_the_rules_shows_each_rule_once(extensions):
    _, drawing = extensions
    edges = drawing.edges_of_arrows(ARROWS)
    picture = drawing.rule_graph(edges)
    rules = "".join(path.read_text() for path in (ROOT / "rules").rglob("*.smk"))
    names = re.findall(r"^(?:use rule \w+ as|rule) (\w+)", rules, re.MULTILINE)
    assert sorted(texts_of(picture)) == sorted(names)
    words = ElementTree.fromstring(picture).find(f".//{SVG}desc").text
    for a, b in edges:
        assert re.search(rf"\b{a} leads to [^;]*\b{b}\b", words)


def test_the_picture_of_the_layers_shows_each_part_once(extensions):
    _, drawing = extensions
    library = ROOT / "workflow_lib"
    parts = {path.stem for path in library.glob("[a-z]*") if path.name != "__pycache__"}
    layers = drawing.layers_of_tests(LAYERS)
    shown = texts_of(drawing.library_layers(layers, library))
    assert sorted(shown) == sorted([*parts, *map(str, range(len(layers)))])
    assert shown.index("report") < shown.index("embeddings") < shown.index("artifacts")


def test_pictures_have_names_and_descriptions(extensions):
    _, drawing = extensions
    layers = drawing.layers_of_tests(LAYERS)
    rules = drawing.rule_graph(drawing.edges_of_arrows(ARROWS))
    for picture in (rules, drawing.library_layers(layers, ROOT / "workflow_lib")):
        drawn = ElementTree.fromstring(picture).find(f"{SVG}svg")
        named = drawn.get("aria-labelledby").split()
        labels = [drawn.find(f"{SVG}{tag}") for tag in ("title", "desc")]
        assert drawn.get("role") == "img"
        assert named == [part.get("id") for part in labels] and all(part.text for part in labels)
