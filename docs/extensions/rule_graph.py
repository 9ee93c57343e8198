"""The directives ``rule-graph`` and ``library-layers``: pictures drawn from the project's files.

Both are SVG within the page, in the colours of its theme, with their content in words for screen
readers.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from html import escape
from pathlib import Path

from docutils import nodes
from layered_layout import joined, place, reduced
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

LETTER, LINE, PAD = 6.7, 16.0, 8.0
GAP, BETWEEN = 16.0, 34.0


def edges_of_arrows(lines: Iterable[str]) -> list[tuple[str, str]]:
    """Return the pairs of names between which the lines have arrows, as in ``a --> b --> c``."""
    edges: list[tuple[str, str]] = []
    for line in lines:
        names = [name.strip() for name in line.split("-->")]
        edges += zip(names, names[1:])
    return edges


def layers_of_tests(text: str) -> list[list[str]]:
    """Return the layers of the library, the lowest first, from the list ``LAYERS`` of a module."""
    for statement in ast.parse(text).body:
        if isinstance(statement, ast.Assign) and statement.targets[0].id == "LAYERS":
            return [sorted(layer) for layer in ast.literal_eval(statement.value)]
    raise ValueError("there is no list LAYERS")


def first_sentence(path: Path) -> str:
    """Return the first line of the docstring of a module or package; empty without one."""
    source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    text = ast.get_docstring(ast.parse(source.read_text(encoding="utf-8"))) or ""
    return text.partition("\n")[0]


def rule_graph(edges: list[tuple[str, str]]) -> str:
    """Return the picture of the rules, those with the same arrows in one box."""
    words = "; ".join(
        f"{name} leads to {', '.join(sorted({b for a, b in edges if a == name}))}"
        for name in dict.fromkeys(a for a, _ in edges)
    )
    edges = sorted(reduced(edges))
    groups = joined(edges)
    of_group = {member: name for name, members in groups.items() for member in members}
    between = {(of_group[a], of_group[b]) for a, b in edges}
    width = {g: max(map(len, m)) * LETTER + 2 * PAD for g, m in groups.items()}
    height = {group: len(members) * LINE + PAD for group, members in groups.items()}
    found, ways = place(between, width, GAP)
    n_layers = 1 + max(layer for _, layer in found.values())
    tops, total = [], 1.0
    for layer in range(n_layers):
        tops.append(total)
        tallest = max(height[group] for group in found if found[group][1] == layer)
        total += tallest + BETWEEN
    bottoms = [top - BETWEEN for top in [*tops[1:], total]]
    parts = []
    for (first, _), points in sorted(ways.items()):
        (x, layer), way = points[0], ""
        y = tops[layer] + height[first]
        way = f"M{x:.1f},{y:.1f}V{bottoms[layer]:.1f}"
        y = bottoms[layer]
        for next_x, layer in points[1:]:
            end, half = tops[layer], (y + tops[layer]) / 2
            way += f"C{x:.1f},{half:.1f} {next_x:.1f},{half:.1f} {next_x:.1f},{end:.1f}"
            x, y = next_x, bottoms[layer]
            if layer != points[-1][1]:
                way += f"V{y:.1f}"
        parts.append(f'<path class="arrow" marker-end="url(#rules-tip)" d="{way}"/>')
    for group, (x, layer) in sorted(found.items()):
        parts.append(_box(x - width[group] / 2, tops[layer], width[group], height[group]))
        for number, name in enumerate(groups[group]):
            y = tops[layer] + PAD / 2 + (number + 0.72) * LINE
            parts.append(f'<text x="{x:.1f}" y="{y:.1f}">{escape(name)}</text>')
    right = max(x + width[group] / 2 for group, (x, _) in found.items())
    right = max(right, *(x for points in ways.values() for x, _ in points))
    return _picture("rules", "The rules of the workflow", words, parts, right, total - BETWEEN + 1)


def library_layers(layers: list[list[str]], library: Path) -> str:
    """Return the picture of the layers of a library, the highest at the top."""
    parts, y, wide = [], 0.0, 680.0
    for number, layer in reversed(list(enumerate(layers))):
        x, row_top, boxes = 40.0, y + PAD, []
        for name in layer:
            width = len(name) * LETTER + 2 * PAD
            if x + width > wide - PAD:
                x, row_top = 40.0, row_top + LINE + 2 * PAD
            title = f"<title>{escape(first_sentence(library / name))}</title>"
            boxes.append(f"<g>{title}{_box(x, row_top, width, LINE + PAD)}")
            boxes.append(
                f'<text x="{x + width / 2:.1f}" y="{row_top + LINE:.1f}">{escape(name)}</text></g>'
            )
            x += width + PAD
        height = row_top + LINE + 2 * PAD - y
        parts.append(
            f'<rect class="layer" x="1" y="{y:.1f}" width="{wide - 2}" height="{height}"/>'
        )
        parts.append(f'<text x="20" y="{y + height / 2 + 4:.1f}">{number}</text>')
        parts += boxes
        y += height + 6
    words = "; ".join(f"layer {number}: {', '.join(layer)}" for number, layer in enumerate(layers))
    return _picture("layers", "The layers of the library", words, parts, wide, y)


def _box(x: float, y: float, width: float, height: float) -> str:
    return (
        f'<rect class="box" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" '
        'rx="4"/>'
    )


def _picture(name: str, title: str, words: str, parts: list[str], width: float, height: float):
    tip = (
        '<marker id="rules-tip" viewBox="0 0 6 6" refX="6" refY="3" markerWidth="6" '
        'markerHeight="6" orient="auto"><path d="M0,0L6,3L0,6z"/></marker>'
    )
    return (
        f'<div class="picture"><svg role="img" aria-labelledby="{name}-title {name}-words" '
        f'viewBox="-1 0 {width + 2:.0f} {height + 1:.0f}" width="{width + 2:.0f}" '
        f'xmlns="http://www.w3.org/2000/svg"><title id="{name}-title">{escape(title)}</title>'
        f'<desc id="{name}-words">{escape(words)}.</desc>'
        f"<defs>{tip if name == 'rules' else ''}</defs>"
        f"{''.join(parts)}</svg></div>"
    )


class RuleGraph(SphinxDirective):
    """Draws the rules from the arrows in its content, as mermaid writes them."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        return [nodes.raw("", rule_graph(edges_of_arrows(self.content)), format="html")]


class LibraryLayers(SphinxDirective):
    """Draws the layers, from the module of tests and the folder of the library."""

    required_arguments = 2

    def run(self) -> list[nodes.Node]:
        library = Path(self.env.relfn2path(self.arguments[1])[1])
        return [nodes.raw("", library_layers(layers_of_tests(read(self)), library), format="html")]


def read(directive: SphinxDirective) -> str:
    """Return the text of the file in the first argument, which the page then depends on."""
    path = directive.env.relfn2path(directive.arguments[0])[1]
    directive.env.note_dependency(path)
    return Path(path).read_text(encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives."""
    app.add_directive("rule-graph", RuleGraph)
    app.add_directive("library-layers", LibraryLayers)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
