"""Codes of many rows in one dictionary, by coordinate descent on products of matrices."""

from __future__ import annotations

import numpy as np

SWEEPS_BETWEEN_CHECKS = 5
"""After which the rows that have converged are set aside."""


def sparse_codes(
    gram: np.ndarray,
    products: np.ndarray,
    penalty: float,
    positive: bool = False,
    tol: float = 1e-4,
    max_sweeps: int = 1000,
) -> np.ndarray:
    """Return the codes u_i (k, b) of rows x_i, each of which minimises

        1/2 |x_i - V'u|^2 + penalty |u|_1,

    for the dictionary V (k, p), with u >= 0 where `positive`, and a penalty that is not negative.
    Only V V' (k, k), `gram`, with a positive diagonal, and V x_i (k, b), `products`, are needed. A
    coordinate of all rows is minimised at a time, in turn. A row has converged when its prediction
    V'u moves by less than `tol`, in one sweep and relative to its largest product, in any
    coordinate.
    """
    n_atoms, n_rows = products.shape
    codes = np.zeros((n_atoms, n_rows))
    sizes = gram.diagonal()
    lengths = np.sqrt(sizes)
    scale = np.maximum(np.abs(products / lengths[:, None]).max(axis=0), np.finfo(float).tiny)
    active = np.arange(n_rows)
    u, q, moved = codes.copy(), products, np.empty_like(codes)
    for sweep in range(1, max_sweeps + 1):
        for atom in range(n_atoms):
            old = u[atom].copy()
            target = q[atom] - gram[atom] @ u
            target += sizes[atom] * old
            if positive:
                target = np.maximum(target - penalty, 0.0)
            elif penalty:
                target -= np.clip(target, -penalty, penalty)
            u[atom], moved[atom] = target / sizes[atom], old
        if sweep % SWEEPS_BETWEEN_CHECKS and sweep < max_sweeps:
            continue
        change = (np.abs(u - moved) * lengths[:, None]).max(axis=0)
        going = change > tol * scale[active]
        codes[:, active[~going]] = u[:, ~going]
        active, u, q, moved = active[going], u[:, going], q[:, going], moved[:, going]
        if not len(active):
            break
    codes[:, active] = u
    return codes
