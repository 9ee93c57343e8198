"""Bags of rows of numbers, such as the patches of an image: how a dataset holds them.

The group ``bags`` of a "dataset" artifact holds the rows of all bags, one bag after the other:
``values`` (m, d), of any type, ``unit`` the number that a stored 1 stands for; ``begins`` (n + 1,),
the first row of each bag, and m; ``has_own_units``, whether each column has a unit of its own, so
that methods scale the columns; and, where rows have a position, ``positions`` (m, 2) from 0 to 1.
The ``inputs`` of such a dataset are `pooled_rows`, for methods that take one row of numbers.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

ARE_NUMBERS = True
ENTRY = "bags"
STREAMED = ("bags/values",)


def pack(
    bags: Sequence[np.ndarray],
    unit: float = 1.0,
    positions: Sequence[np.ndarray] | None = None,
    has_own_units: bool = False,
) -> dict[str, Any]:
    """Return the entry of n arrays (m_i, d), none of which is empty.

    `unit` is what a stored 1 stands for, `positions` are n arrays (m_i, 2), and `has_own_units`
    says whether each column has a unit of its own.
    """
    tree = {
        "values": np.concatenate(bags),
        "unit": float(unit),
        "begins": np.concatenate([[0], np.cumsum([len(bag) for bag in bags])]),
        "has_own_units": has_own_units,
    }
    if positions is not None:
        tree["positions"] = np.concatenate(positions).astype(np.float32)
    return {"bags": tree}


def unpack(data: Mapping[str, Any], rows: np.ndarray | None = None) -> list[np.ndarray]:
    """Return the bags, float64 arrays (m_i, d), of some rows.

    The ``values`` may be `workflow_lib.core.stored_rows.StoredRows`.
    """
    tree = data["bags"]
    begins, unit = np.asarray(tree["begins"]), float(tree["unit"])
    bags = []
    for row in range(len(begins) - 1) if rows is None else rows:
        values = np.asarray(tree["values"][int(begins[row]) : int(begins[row + 1])])
        bags.append(values.astype(np.float64) * unit)
    return bags


def check(data: Mapping[str, Any]) -> None:
    """Raise ValueError where a bag is empty, or not all rows belong to one bag."""
    begins, n_rows = np.asarray(data["bags"]["begins"]), len(data["bags"]["values"])
    if begins[0] != 0 or begins[-1] != n_rows or (np.diff(begins) < 1).any():
        raise ValueError(f"A bag is empty or not in order: expected {n_rows} rows in all.")


def pooled_rows(bags: Sequence[np.ndarray], unit: float = 1.0) -> tuple[np.ndarray, list[str]]:
    """Return one row (n, 2 d) for each of n bags (m_i, d), and the names of its columns.

    They are the means of the columns of a bag, then their standard deviations (divisor m_i): the
    inputs of methods that take one row of numbers. `unit` is what a 1 in a bag stands for.
    """
    rows = [
        np.concatenate([bag.mean(axis=0, dtype=np.float64), bag.std(axis=0, dtype=np.float64)])
        for bag in bags
    ]
    columns = range(1, bags[0].shape[1] + 1)
    names = [f"{what}_{column}" for what in ("mean", "deviation") for column in columns]
    return unit * np.array(rows), names


def some_rows(bags: Sequence[np.ndarray], most: int, generator: np.random.Generator) -> np.ndarray:
    """Return the rows of all bags together, or `most` of them, drawn at random, in their order."""
    ends = np.cumsum([len(bag) for bag in bags])
    if ends[-1] <= most:
        return np.concatenate(bags)
    rows = np.sort(generator.choice(ends[-1], most, replace=False))
    parts = np.split(rows, np.searchsorted(rows, ends[:-1]))
    begins = ends - [len(bag) for bag in bags]
    return np.concatenate([bag[own - begin] for bag, own, begin in zip(bags, parts, begins)])
