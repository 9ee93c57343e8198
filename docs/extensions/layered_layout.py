"""Places the boxes of an acyclic graph in layers, from top to bottom (Sugiyama's method).

Longest paths give the layers; arrows across several layers get a point in each; boxes of a layer
are ordered by the mean position of their neighbours, and placed there as far as they do not
overlap.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import mean

SWEEPS = 24


def reduced(edges: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return the arrows without those that a longer path replaces."""
    edges = set(edges)
    after = {node: {b for a, b in edges if a == node} for edge in edges for node in edge}

    def leads(first: str, last: str) -> bool:
        return any(node == last or leads(node, last) for node in after[first])

    return {(a, b) for a, b in edges if not any(leads(c, b) for c in after[a] - {b})}


def joined(edges: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    """Return the groups of nodes with the same arrows, each under the name of its first node."""
    edges = set(edges)
    groups: dict[tuple, list[str]] = {}
    for node in sorted({node for edge in edges for node in edge}):
        before = frozenset(a for a, b in edges if b == node)
        after = frozenset(b for a, b in edges if a == node)
        groups.setdefault((before, after), []).append(node)
    return {members[0]: tuple(members) for members in groups.values()}


def layers_of(edges: Iterable[tuple[str, str]]) -> dict[str, int]:
    """Return the layer of each node: below its predecessors, and near to its successors."""
    edges = sorted(set(edges))
    nodes = sorted({node for edge in edges for node in edge})
    layer = dict.fromkeys(nodes, 0)
    for _ in nodes:
        for a, b in edges:
            layer[b] = max(layer[b], layer[a] + 1)
    if any(layer[b] <= layer[a] for a, b in edges):
        raise ValueError("the arrows form a circle")
    # A source is placed just above its nearest successor, so that its arrow is short.
    for node in nodes:
        if all(b != node for _, b in edges):
            layer[node] = min(layer[b] for a, b in edges if a == node) - 1
    return layer


def place(
    edges: Iterable[tuple[str, str]], width: Mapping[str, float], gap: float
) -> tuple[dict[str, tuple[float, int]], dict[tuple[str, str], list[tuple[float, int]]]]:
    """Return the middle and the layer of each node, and the points that each arrow goes through.

    Parameters
    ----------
    edges : pairs of names, from top to bottom
    width : mapping of node to the width of its box
    gap : float
        Least distance of two boxes of a layer.
    """
    edges = sorted(set(edges))
    layer = layers_of(edges)
    chains = {(a, b): [a, *((a, b, n) for n in range(layer[a] + 1, layer[b])), b] for a, b in edges}
    neighbours: dict = {node: ([], []) for node in layer}
    rows: dict[int, list] = {}
    for chain in chains.values():
        for point in chain[1:-1]:
            neighbours[point] = ([], [])
    for chain in chains.values():
        for upper, lower in zip(chain, chain[1:]):
            neighbours[upper][1].append(lower)
            neighbours[lower][0].append(upper)
    for point in sorted(neighbours, key=str):
        rows.setdefault(layer.get(point, point[-1]), []).append(point)
    widths = {point: width.get(point, 0.0) if point in layer else 0.0 for point in neighbours}
    x = {
        point: value
        for row in rows.values()
        for point, value in zip(row, _apart([0.0] * len(row), [widths[p] for p in row], gap))
    }
    for sweep in range(SWEEPS):
        side = sweep % 2
        for number in sorted(rows, reverse=bool(side)):
            row = rows[number]
            near = {point: neighbours[point][side] or [point] for point in row}
            wanted = {point: mean(x[other] for other in near[point]) for point in row}
            if sweep < SWEEPS // 2:
                row.sort(key=lambda point: (wanted[point], str(point)))
            x |= zip(row, _apart([wanted[point] for point in row], [widths[p] for p in row], gap))
    left = min(x[point] - widths[point] / 2 for point in x)
    found = {node: (x[node] - left, layer[node]) for node in layer}
    ways = {
        edge: [(x[point] - left, layer.get(point, point[-1])) for point in chain]
        for edge, chain in chains.items()
    }
    return found, ways


def _apart(wanted: Sequence[float], widths: Sequence[float], gap: float) -> list[float]:
    """Return the positions nearest to the wanted positions, in their order and without overlap.

    Isotonic least squares: neighbours that collide are moved together (pool adjacent violators).
    """
    offsets = [0.0]
    for left, right in zip(widths, widths[1:]):
        offsets.append(offsets[-1] + (left + right) / 2 + gap)
    blocks: list[tuple[float, int]] = []
    for value, offset in zip(wanted, offsets):
        block = (value - offset, 1)
        while blocks and blocks[-1][0] >= block[0]:
            other = blocks.pop()
            count = other[1] + block[1]
            block = ((other[0] * other[1] + block[0] * block[1]) / count, count)
        blocks.append(block)
    moved = [value for value, count in blocks for _ in range(count)]
    return [value + offset for value, offset in zip(moved, offsets)]
