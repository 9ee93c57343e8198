"""The most violated constraint of a preference graph, in O(n log n) (Blaschko 2014, section 3.2).

Item i has a loss Delta_i and a score s_i, and an edge (i, j) of the graph says that i, which has
the lower loss, is to be ranked above j. The hinge of an edge is

    Delta_j - Delta_i - (s_i - s_j)            with margin rescaling (3.11, 3.17),
    (Delta_j - Delta_i) (1 - (s_i - s_j))      with slack rescaling (3.12, 3.18),

and the most violated constraint is the sum over all edges whose hinge is positive. It is linear in
the scores there: delta - sum_i alpha_i s_i, with coefficients alpha_i and an offset delta.

With margin rescaling an edge is violated where i is before j in the order of the losses and in
that of z = Delta + s. Let U_i be the items ranked below i, p_i the position of z_i among all items
and w_i that among those of the loss of i. The items that violate an edge from i less those that
violate an edge to i are then U_i - p_i + w_i: one sort, for any number of different losses.

With slack rescaling the edges are those with s_j + 1 > s_i, and the two sides do not cancel. The
graph is halved by the losses again and again (Algorithm 2), and every half is summed by one pass
over the items in the order of the scores s_i and thresholds s_j + 1 (Algorithm 1, where lines 12
and 13 need i - 1, the number of items passed, instead of j - 1). All graphs of one depth are summed
together, so that there are log2(R) passes for R different losses, each linear in n. Large halves
have no item in common, so that threads can sum them side by side, each after its graph; every item
then adds the same numbers in the same order, and offsets are summed without rounding, so that the
constraint does not depend on the number of threads.
"""

import math
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from typing import NamedTuple

import numpy as np

from workflow_lib.core.errors import UserError

RESCALINGS = ("margin", "slack")
GRAPHS = ("complete", "bipartite")

MAX_SUMMED_TOGETHER = 2**14
"""Entries up to which the halves of graphs are summed together; they fit in a processor's cache."""

MAX_NEIGHBOURS = 16
"""Items up to which a half of a graph is not halved again: all its pairs cost less then."""

MIN_SPAN = 1e-280
"""Range of values above which no factor that makes them large whole numbers overflows."""


class Constraint(NamedTuple):
    """The sum of hinges over the violated edges: `offset` - `coefficients` @ scores."""

    coefficients: np.ndarray
    """Array (n,): alpha_i; they sum to zero in every group."""

    offset: float
    """delta."""

    def value(self, scores: np.ndarray) -> float:
        """Return the sum at scores (n,), a lower bound of the sum of hinges at all others."""
        return float(self.offset - self.coefficients @ scores)


class PreferenceGraph:
    """Which of two items is to be ranked higher, by their losses.

    Raises UserError if there are fewer than two items, losses are not finite, shapes differ, or no
    item is preferred to another.

    Parameters
    ----------
    losses : array (n,)
        Loss of each item, of any unit.
    groups : int array (n,) or None, default=None
        Items are compared within their group alone, such as the candidate outputs of one input;
        None compares all items.
    graph : {"complete", "bipartite"}, default="complete"
        ``complete`` has an edge between any two items of different loss. ``bipartite`` has one
        from each preferred item of a group to each of the others.
    n_preferred : int, default=1
        Preferred items of a bipartite graph, those of least loss in each group. Items that tie
        with the last of them are preferred too, or none of them where all others tie.

    Attributes
    ----------
    n_items : int
    n_edges : int
        Number of preferences, at least 1.

    Examples
    --------
    >>> graph = PreferenceGraph([0.0, 1.0, 3.0])
    >>> graph.n_edges
    3
    >>> graph.most_violated(np.array([2.0, 1.5, 0.0]), "margin")
    Constraint(coefficients=array([ 2.,  0., -2.]), offset=6.0)
    """

    def __init__(
        self,
        losses: np.ndarray,
        groups: np.ndarray | None = None,
        graph: str = "complete",
        n_preferred: int = 1,
    ) -> None:
        losses = np.asarray(losses, dtype=np.float64)
        groups = np.zeros(len(losses), dtype=int) if groups is None else np.asarray(groups)
        _check(losses, groups, graph, n_preferred)
        groups = np.unique(groups, return_inverse=True)[1].ravel()
        ranks = _dense_ranks(losses, groups)
        if graph == "bipartite":
            ranks = _is_not_preferred(ranks, groups, n_preferred).astype(int)
        # Items by group, and those of a group from the highest loss to the lowest.
        self._order = np.lexsort((-ranks, groups))
        self._ranks, self._losses = ranks[self._order], losses[self._order]
        # Back to items as they were passed.
        self._position = np.argsort(self._order)
        self._losses_of_items = self._losses[self._position]
        self._groups = _small(groups[self._order])
        self._sizes = np.bincount(groups)
        starts = np.cumsum(self._sizes) - self._sizes
        is_first = np.append(True, np.diff(self._ranks) != 0)
        is_first[starts] = True
        self._tied = _small(np.cumsum(is_first) - 1)
        self._first_tied = np.flatnonzero(is_first).astype(np.int32)[self._tied]
        # Items of a group before the first of its rank have a higher loss.
        n_below = self._first_tied - starts[self._groups]
        self._halve(MAX_NEIGHBOURS if graph == "complete" else 0)
        self.n_items, self.n_edges = len(losses), int(n_below.sum())
        if self.n_edges == 0:
            raise UserError(
                location=f"the losses of {len(losses)} items",
                found="equal losses in every group, so that no item is preferred to another",
                expected="at least two different losses in one group",
                remedy="add candidates of other losses, or check how the losses are computed",
            )

    def _halve(self, most: int) -> None:
        """Set the depth at which no half has more than `most` items, and number these halves."""
        for depth in reversed(range(int(self._ranks.max()).bit_length() + 1)):
            ids = self._groups.astype(np.int64) << 32 | self._ranks >> depth
            is_first = np.append(True, np.diff(ids) != 0)
            sizes = np.diff(np.append(np.flatnonzero(is_first), len(ids)))
            self._depth, self._n_neighbours = depth, int(sizes.max())
            self._halves = _small(np.cumsum(is_first) - 1)
            if self._n_neighbours <= most:
                break
        else:
            self._n_neighbours = 1

    def most_violated(self, scores: np.ndarray, rescaling: str, n_threads: int = 1) -> Constraint:
        """Return the constraint of the edges with a positive hinge at scores (n,).

        Raises UserError if scores are not finite, or not one of each item.

        Parameters
        ----------
        scores : array (n,)
        rescaling : {"margin", "slack"}
        n_threads : int, default=1
            Threads that sum the halves of a graph side by side with slack rescaling (Section
            3.2.2); margin rescaling is one sort.
        """
        scores = np.asarray(scores, dtype=np.float64)
        if scores.shape != self._losses.shape or not np.isfinite(scores).all():
            raise UserError(
                location="scores of a preference graph",
                found=f"an array of shape {scores.shape}, "
                f"{int((~np.isfinite(scores)).sum())} of its values not finite",
                expected=f"{len(self._losses)} finite scores, one of each item",
                remedy="check the inputs for missing or very large values",
            )
        if rescaling == "margin":
            coefficients = self._numbers_of_violated(scores)
            offset = -(coefficients @ self._losses)
        elif rescaling == "slack":
            coefficients, offset = self._slack_rescaled(scores, n_threads)
        else:
            raise _wrong_choice("rescaling", rescaling, RESCALINGS)
        return Constraint(coefficients[self._position].astype(np.float64), float(offset))

    def _numbers_of_violated(self, scores: np.ndarray) -> np.ndarray:
        """Return by how many violated edges leave each item (n,) more than come to it."""
        # Equal sums come by descending loss: an edge whose hinge is zero is not violated.
        order = _ascending(self._losses_of_items + scores, self._position)
        if len(self._sizes) > 1:
            order = order[np.argsort(self._groups[order], kind="stable")]
        positions = np.arange(len(order), dtype=np.int32)
        coefficients = np.empty_like(positions)
        coefficients[order] = positions
        np.subtract(self._first_tied, coefficients, out=coefficients)
        if self._tied[-1] < len(order) - 1:
            order = order[np.argsort(self._tied[order], kind="stable")]
            coefficients[order] += positions - self._first_tied
        return coefficients

    def _slack_rescaled(self, scores: np.ndarray, n_threads: int) -> tuple[np.ndarray, float]:
        """Return the coefficients (n,) and the offset."""
        n = len(scores)
        # Each item has two entries, its threshold s_i + 1 and its score s_i. A threshold comes
        # before equal scores: an edge whose hinge is zero is not violated.
        order = _ascending(scores, self._position)
        scores = scores[self._order]
        ascending = scores[order]
        merged = np.argsort(np.concatenate((ascending + 1.0, ascending)), kind="stable")
        items = np.concatenate((order, order))[merged]
        is_threshold = merged < n
        if len(self._sizes) > 1:
            by_group = np.argsort(self._groups[items], kind="stable")
            items, is_threshold = items[by_group], is_threshold[by_group]
        coefficients, offset = self._of_neighbours(scores)
        # One number for all that is known of an entry, since it is moved at every depth.
        entries = (self._ranks[items] << 32) | (items << 1) | is_threshold
        pending = [(entries, self._sizes, int(self._ranks.max()).bit_length() - 1)]
        offsets = [offset]
        if n_threads == 1:
            while pending:
                of_graphs, halves = self._sum_graphs(coefficients, *pending.pop())
                offsets.append(of_graphs)
                pending += halves
            return coefficients, math.fsum(offsets)
        with ThreadPoolExecutor(n_threads) as threads:
            running = {threads.submit(self._sum_graphs, coefficients, *pending[0])}
            while running:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for of_graphs, halves in (each.result() for each in done):
                    offsets.append(of_graphs)
                    running |= {
                        threads.submit(self._sum_graphs, coefficients, *half) for half in halves
                    }
        return coefficients, math.fsum(offsets)

    def _sum_graphs(
        self, coefficients: np.ndarray, entries: np.ndarray, sizes: np.ndarray, depth: int
    ) -> tuple[float, list[tuple[np.ndarray, np.ndarray, int]]]:
        """Add what the bipartite graphs of one depth give to the coefficients of their items, and
        return their offset and their halves, as further arguments."""
        if depth < self._depth:
            return 0.0, []
        is_below = (entries >> (32 + depth)) & 1
        # Of an item above its score counts, of one below its threshold: n entries.
        active = np.compress(is_below == (entries & 1), entries)
        below, item = active & 1, (active & 0xFFFFFFFF) >> 1
        loss = self._losses.take(item)
        positions = np.arange(len(item))
        # Numbers and summed losses of the entries of each side before each entry.
        n_below = _sums(below)
        sums = _sums(np.where(below, loss, 1j * loss))
        sum_below, sum_above = sums.real, sums.imag
        ends = np.cumsum(sizes)
        starts = ends - sizes
        # Above: all below that come later in its graph; below: all above that come before.
        number = np.where(
            below,
            positions + np.repeat(n_below[starts] - starts, sizes),
            np.repeat(n_below[ends], sizes),
        )
        number -= n_below[:-1]
        hinges = np.where(
            below,
            sum_above[:-1] - np.repeat(sum_above[starts], sizes),
            np.repeat(sum_below[ends], sizes) - sum_below[:-1],
        )
        hinges -= number * loss
        coefficients[item] += hinges
        sizes_below = n_below[ends] - n_below[starts]
        halves = [np.compress(is_below == side, entries) for side in (0, 1)]
        of_halves = [sizes - sizes_below, sizes_below]
        if len(entries) <= MAX_SUMMED_TOGETHER:
            halves, of_halves = [np.concatenate(halves)], [np.concatenate(of_halves)]
        return float(hinges @ (1 - below)), [
            (half, of_half[of_half > 0], depth - 1) for half, of_half in zip(halves, of_halves)
        ]

    def _of_neighbours(self, scores: np.ndarray) -> tuple[np.ndarray, float]:
        """Return coefficients (n,) and offset of the edges in the smallest halves."""
        coefficients, offset = np.zeros(len(scores)), 0.0
        for step in range(1, self._n_neighbours):
            hinges = self._losses[:-step] - self._losses[step:]
            hinges *= scores[:-step] + 1.0 > scores[step:]
            hinges *= self._halves[:-step] == self._halves[step:]
            coefficients[:-step] -= hinges
            coefficients[step:] += hinges
            offset += hinges.sum()
        return coefficients, offset


def _ascending(values: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Return the positions (n,), a permutation, by ascending values (n,), equal ones in order.
    Values are rounded to as many bits as a position leaves free in 63 and sorted as one number with
    it. They are looked up by position only where rounded ones are equal, because that takes several
    times as long for more values than a processor's cache holds."""
    n_bits = len(values).bit_length()
    low = values.min()
    span = float(values.max()) - float(low)
    if MIN_SPAN < span < np.inf:
        numbers = values - low
        numbers *= 2.0 ** (62 - n_bits) / span
    else:
        numbers = np.zeros(len(values))
    order = numbers.astype(np.int64)
    order <<= n_bits
    order |= positions
    order.sort()
    numbers = order >> n_bits
    order &= (1 << n_bits) - 1
    if (numbers[1:] == numbers[:-1]).any():
        by_position = np.empty(len(values))
        by_position[positions] = values
        ascending = by_position[order]
        if (ascending[1:] < ascending[:-1]).any():
            # This sort is fast where few values are out of order.
            order = order[np.argsort(ascending, kind="stable")]
    return order


def _sums(values: np.ndarray) -> np.ndarray:
    """Return the sum of the first 0, 1, ..., n of `values` (n,)."""
    sums = np.zeros(len(values) + 1, np.result_type(values, np.int64))
    np.cumsum(values, out=sums[1:])
    return sums


def _small(numbers: np.ndarray) -> np.ndarray:
    """Return whole numbers from 0 as the smallest type, of which the shortest sort in O(n)."""
    return numbers.astype(np.min_scalar_type(int(numbers.max())))


def _dense_ranks(losses: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return the rank (n,) of each loss among the different losses of its group, from 0."""
    order = np.lexsort((losses, groups))
    is_first = np.append(True, np.diff(groups[order]) != 0)
    is_new = np.append(False, np.diff(losses[order]) != 0) & ~is_first
    positions = np.cumsum(is_new)
    ranks = np.empty(len(losses), dtype=np.int64)
    ranks[order] = positions - positions[is_first][groups[order]]
    return ranks


def _is_not_preferred(ranks: np.ndarray, groups: np.ndarray, n_preferred: int) -> np.ndarray:
    """Return which items (n,) are not among the first of their group."""
    order = np.lexsort((ranks, groups))
    starts = np.append(0, np.cumsum(np.bincount(groups)))
    last = np.minimum(starts[:-1] + n_preferred, starts[1:]) - 1
    highest = ranks[order][last]
    # Where all items would be preferred, those of the highest loss are not.
    highest = np.minimum(highest, ranks[order][starts[1:] - 1] - 1)
    return ranks > highest[groups]


def _check(losses: np.ndarray, groups: np.ndarray, graph: str, n_preferred: int) -> None:
    if graph not in GRAPHS:
        raise _wrong_choice("graph", graph, GRAPHS)
    if losses.ndim != 1 or groups.shape != losses.shape:
        raise UserError(
            location="items of a preference graph",
            found=f"losses of shape {losses.shape} and groups of shape {groups.shape}",
            expected="one loss and one group of each item, both of shape (n,)",
        )
    if len(losses) < 2:
        raise UserError(
            location="items of a preference graph",
            found=f"{len(losses)} candidate{'s' * (len(losses) != 1)}",
            expected="at least two candidates, of which one is preferred",
            remedy="add candidates",
        )
    if not np.isfinite(losses).all():
        first = int(np.flatnonzero(~np.isfinite(losses))[0])
        raise UserError(
            location=f"the loss of item {first}",
            found=f"{losses[first]}",
            expected="losses that are finite numbers",
            remedy="check the outputs for missing values",
        )
    if n_preferred < 1:
        raise UserError(
            location="n_preferred of a preference graph",
            found=f"{n_preferred}",
            expected="at least 1",
        )


def _wrong_choice(name: str, found: str, valid: tuple[str, ...]) -> UserError:
    return UserError(
        location=f"{name} of a preference graph",
        found=f"'{found}'",
        expected=f"{' or '.join(valid)}",
    )
