"""Candidate boxes of training images, which a ranking orders by their loss.

The candidates of an image are the true box of its object and boxes drawn from the grid of cells: a
share near the true box, so that all overlaps occur, and the rest anywhere, as most boxes that a
search compares. They stand for the initial windows of Blaschko (2014), Section 3.2.4. The loss of a
box is 1 - overlap with the true one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from workflow_lib.items.box_overlap import overlaps
from workflow_lib.papers.blaschko.box_fitting import BoxRows


class BoxCandidates(NamedTuple):
    """The candidate boxes of n training images, m of each."""

    features: np.ndarray
    """Features (n, m, W)."""

    losses: np.ndarray
    """1 - overlap with the true box, (n, m); 0 of the first candidate, which is this box."""

    def chosen(self, rows: np.ndarray) -> BoxCandidates:
        """Return those of some of the images, by a mask or by their numbers."""
        return BoxCandidates(self.features[rows], self.losses[rows])


def box_candidates(
    rows: BoxRows, n_cells: int, n_candidates: int, near_share: float, seeds: Sequence[int]
) -> BoxCandidates:
    """Return candidates of training rows, those of each row drawn from its own seed.

    The other parameters are those of `drawn_boxes`.
    """
    features, losses = [], []
    for grid, box, seed in zip(rows.grids, rows.boxes, seeds, strict=True):
        generator = np.random.default_rng(seed)
        boxes = drawn_boxes(box, n_cells, n_candidates, near_share, generator)
        features.append(grid.features_of_boxes(boxes))
        losses.append(1.0 - overlaps(boxes, box))
    return BoxCandidates(np.array(features), np.array(losses))


def drawn_boxes(
    box: np.ndarray,
    n_cells: int,
    n_candidates: int,
    near_share: float,
    generator: np.random.Generator,
) -> np.ndarray:
    """Return different boxes (m, 4) of a grid of cells, the true one first.

    A box near the true one has each side moved by at most the share s of the length of the true box
    along that axis, to the next whole number of cells, with s uniform from 0 to 1. Where two boxes
    are the same or a box has no area, a box anywhere takes its place.

    Parameters
    ----------
    box : int array (4,)
        The true one, in cells.
    n_cells : int
        Of each side of the grid.
    n_candidates : int
        m; all boxes of the grid where it has fewer.
    near_share : float
        Share of the others that are drawn near the true one.
    generator : numpy.random.Generator
    """
    begins, ends = np.triu_indices(n_cells + 1, 1)
    n_candidates = min(n_candidates, len(begins) ** 2)
    chosen = generator.choice(len(begins) ** 2, n_candidates, replace=False)
    columns, rows = np.divmod(chosen, len(begins))
    anywhere = np.stack([begins[columns], begins[rows], ends[columns], ends[rows]], axis=1)
    n_near = round(near_share * (n_candidates - 1))
    moves = generator.uniform(-1.0, 1.0, (n_near, 4)) * generator.uniform(size=(n_near, 1))
    near = np.rint(box + moves * np.tile(box[2:] - box[:2], 2)).astype(np.int64)
    near = np.clip(near, 0, n_cells)
    near = near[(near[:, :2] < near[:, 2:]).all(axis=1)]
    boxes = np.concatenate([box[None], near, anywhere])
    firsts = np.unique(boxes, axis=0, return_index=True)[1]
    return boxes[np.sort(firsts)[:n_candidates]]
