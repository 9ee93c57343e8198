"""The settings of a method's module that its YAML file alone decides."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from workflow_lib.methods.contract.method_file import MethodFile


def file_settings(method: MethodFile, names: Iterable[str]) -> dict[str, Any]:
    """Return the settings of these names that the file decides: by rule, or as keys of their own.

    Those that neither a rule nor a key gives are left out.
    """
    return {
        name: OF_FILE[name](method) if name in OF_FILE else getattr(method, name)
        for name in names
        if name in OF_FILE or hasattr(method, name)
    }


def _grid_values(key: str) -> Callable[[MethodFile], list]:
    return lambda method: list(method.grid_values(key))


def component_counts(method: MethodFile) -> tuple[int, ...]:
    """Return the numbers of components that compete, or are averaged."""
    return method.grid_values("n_components") or method.grid_values("state_dim") or (1,)


def projections(method: MethodFile) -> list[bool]:
    """Return whether predicted memberships are projected on the simplex; two if it is selected.

    The gradient pre-image starts at the projected closed form, so it is scored by it.
    """
    if method.preimage == "closed_form":
        return [False]
    values = method.grid_values("projection")
    return [value == "simplex" for value in values] if values else [True]


OF_FILE: dict[str, Callable[[MethodFile], Any]] = {
    "alphas": _grid_values("alpha"),
    "block_weights": _grid_values("block_weight"),
    "component_counts": lambda method: list(component_counts(method)),
    "grid": lambda method: method.plain_grid(),
    "laplacian_weights": _grid_values("laplacian_weight"),
    "max_features": _grid_values("max_features"),
    "n_trees": lambda method: method.grid_values("n_trees")[0],
    "neighbours": _grid_values("neighbours"),
    "one_example": lambda method: method.one_example_values(),
    "output_widths": _grid_values("output_width"),
    "projections": projections,
    "ranks": _grid_values("rank"),
    "weak_weights": _grid_values("weak_weight"),
    "widths": _grid_values("width"),
}
"""The settings that are no keys of the file."""
