"""When to reset the queue of a search for several boxes: the cheapest strategy in hindsight.

The cost of a detection is the number of sets taken from the queue (`Detection.n_dequeued`). It
depends on the last reset alone, so a strategy is a path through the costs C_ij of detection j after
a reset before detection i, and the cheapest one is a shortest path (Blaschko 2014, Figure 5.2).
"""

import numpy as np

from workflow_lib.papers.blaschko.box_bounds import BoxScore
from workflow_lib.papers.blaschko.box_search import BoxSearch


def queue_costs(score: BoxScore, n_detections: int, max_overlap: float = 0.5) -> np.ndarray:
    """Return the costs (n, n): in row i those of the detections from i on, after a reset before i.

    n is `n_detections`, or fewer where all other boxes are ruled out; entries below the diagonal
    are NaN. `max_overlap` is that of `BoxSearch`.
    """
    rows: list[list[float]] = []
    found: list[np.ndarray] = []
    for start in range(n_detections):
        if start > len(found) - 1 and rows:
            break
        search, known, costs = BoxSearch(score, max_overlap), found[:start], [np.nan] * start
        while len(known) < (n_detections if not rows else len(found)):
            best = search.best(known)
            if best is None:
                break
            known = [*known, best.box]
            costs.append(best.n_dequeued)
        found = found or known
        rows.append(costs)
    return np.array(rows)


def cheapest_resets(costs: np.ndarray) -> tuple[list[int], float]:
    """Return before which detections (from 1) the cheapest strategy resets the queue, and its cost.

    `costs` are `queue_costs`, of one image or the mean over several; the queue is new before
    detection 0. Of equally cheap strategies it is one with fewer resets.
    """
    n = len(costs)
    best: list[tuple[float, list[int]]] = [(0.0, [])]
    for start in reversed(range(n)):
        options = []
        for end in range(start + 1, n + 1):
            later, resets = best[n - end]
            spent = float(costs[start, start:end].sum()) + later
            options.append((spent, [end, *resets] if end < n else []))
        best.append(min(options, key=lambda option: (option[0], len(option[1]))))
    return best[n][1], best[n][0]


def costs_of_resets(costs: np.ndarray, n_resets: int) -> np.ndarray:
    """Return the cost (n,) of each detection where the queue is reset before the first ones.

    As in `workflow_lib.papers.blaschko.box_search.detections`: 0 for never, n - 1 for always.
    """
    numbers = np.arange(len(costs))
    return costs[np.minimum(numbers, n_resets), numbers]
