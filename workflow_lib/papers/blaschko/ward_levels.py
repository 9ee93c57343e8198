"""Labels of vectors at several resolutions, from one tree of clusters."""

from __future__ import annotations

import numpy as np


def ward_levels(vectors: np.ndarray, n_levels: int | None = None) -> np.ndarray:
    """Return the labels (m, L) of vectors (m, d) at levels with 1, 2, 4, ... labels.

    The levels are cuts of one tree, agglomerated by the least increase of the variance within
    clusters (Ward 1963), so that each label of a level lies within one label of the level before.
    With D different vectors level l has min(2^l, D) labels. Equal vectors have equal labels. Memory
    and time are quadratic in m.

    Parameters
    ----------
    vectors : array (m, d)
    n_levels : int or None, default=None
        Most levels. None: up to that at which each different vector has a label of its own, the
        least l with 2^l >= D.
    """
    from scipy.cluster.hierarchy import cut_tree, ward

    different, places = np.unique(vectors, axis=0, return_inverse=True)
    needed = int(np.ceil(np.log2(len(different)))) + 1
    numbers = [min(2**level, len(different)) for level in range(min(needed, n_levels or needed))]
    if len(different) == 1:
        return np.zeros((len(vectors), 1), dtype=np.int64)
    counts = np.bincount(places.ravel())
    # Equal vectors are merged before all others, at the height 0.
    known = np.repeat(different, counts, axis=0)
    # From many to few: in another order cut_tree writes singletons into the wrong column.
    of_known = cut_tree(ward(known), n_clusters=numbers[::-1])[:, ::-1]
    first = np.cumsum(counts) - counts
    return of_known[first][places.ravel()].astype(np.int64)
