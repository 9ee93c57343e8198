"""The most violated constraint of a preference graph: by halving, and of all pairs.

Both return the coefficients and the offset of the constraint of a complete graph; they are equal.
The time of many items is compared with that of few.
"""

from __future__ import annotations

import numpy as np

from benchmarks.measuring import (
    Measurement,
    at_least,
    at_most,
    compared,
    each,
    interleaved,
    row,
)
from benchmarks.page import fitted_exponent

TITLE = "Constraints of preference graphs"

RESCALINGS = ("margin", "slack")
NUMBERS = (1000, 5000)
GROWING, QUICK_GROWING = (10**4, 10**5, 10**6), (10**3, 10**4)
GAIN, EQUAL, EXPONENT = 100.0, 1e-12, 1.15
NOTE = "n is items; p does not matter"


def measurements(quick: bool) -> list[Measurement]:
    """Return what is measured: each rescaling against all pairs, and as n grows."""
    numbers, growing = (NUMBERS[:1], QUICK_GROWING) if quick else (NUMBERS, GROWING)
    return each("constraint", n=numbers, rescaling=RESCALINGS) + each(
        "growth", numbers=[list(growing)], rescaling=RESCALINGS
    )


def items(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return drawn losses (n,), all of them different, and scores (n,)."""
    random = np.random.default_rng(0)
    return random.random(n), random.normal(size=n)


def all_pairs(losses: np.ndarray, scores: np.ndarray, rescaling: str) -> tuple[np.ndarray, float]:
    """Return coefficients (n,) and offset of the constraint from a matrix of all pairs."""
    differences = losses - losses[:, None]
    margins = scores[:, None] - scores
    required = differences if rescaling == "margin" else 1.0
    violated = (differences > 0) & (margins < required)
    weights = violated if rescaling == "margin" else np.where(violated, differences, 0.0)
    coefficients = weights.sum(axis=1) - weights.sum(axis=0).astype(float)
    return coefficients, differences.sum(where=violated)


def constraint(n: int, rescaling: str) -> list[dict[str, str]]:
    """Time the constraint of n items both ways."""
    from workflow_lib.papers.blaschko.preference_constraints import PreferenceGraph

    losses, scores = items(n)
    graph = PreferenceGraph(losses)

    def difference(ours: tuple, theirs: tuple) -> float:
        (found, offset), (expected, of_all) = ours, theirs
        return float(max(np.abs(found - expected).max(), abs(offset - of_all)) / of_all)

    return compared(
        n,
        1,
        {
            f"most violated constraint, {rescaling} rescaling": lambda: graph.most_violated(
                scores, rescaling
            ),
            "all pairs": lambda: all_pairs(losses, scores, rescaling),
        },
        at_least(GAIN, EQUAL) if n == max(NUMBERS) else None,
        gain=True,
        agreement=difference,
        note=NOTE,
    )


def growth(numbers: list[int], rescaling: str) -> list[dict[str, str]]:
    """Time the constraint of more and more items."""
    from workflow_lib.papers.blaschko.preference_constraints import PreferenceGraph

    calls = {}
    for n in numbers:
        losses, scores = items(n)
        graph = PreferenceGraph(losses)
        calls[n] = lambda graph=graph, scores=scores: graph.most_violated(scores, rescaling)
    timings = interleaved(calls)
    few, many = min(numbers), max(numbers)
    exponent = fitted_exponent({n: timing.median for n, timing in timings.items()})
    return [
        row(
            many,
            1,
            f"many items, {rescaling} rescaling",
            timings[many],
            f"time of {few} items times {many // few}^{EXPONENT:g}",
            timings[few].scaled((many / few) ** EXPONENT),
            at_most(1.0),
            note=f"{NOTE}; fitted exponent {exponent:.3f}",
        )
    ]
