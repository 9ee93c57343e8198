"""What one job of kernel ridge regression solves: the items of every size, and those of studies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from workflow_lib.experiments.input_kernels import kernel_without_selection
from workflow_lib.experiments.items import SELECTED, item_group


@dataclass(frozen=True)
class Item:
    """One fit that is selected, made and scored on its own.

    Attributes
    ----------
    training_size, weak_size : int
    components : int or str
        A fixed number, or SELECTED.
    counts : tuple
        Component counts that compete, or are averaged; (None,) without a generative model.
    weak_weight : float or None
        lambda_2 of eq. (14) where a study fixes it.
    noise : float
        Share of the weak rows whose label is wrong.
    setting : str
        What a study fixes, in words; empty outside of studies.
    """

    training_size: int
    weak_size: int
    components: int | str
    counts: tuple
    weak_weight: float | None = None
    noise: float = 0.0
    setting: str = ""

    @property
    def name(self) -> str:
        """Name of its group in the artifacts."""
        return item_group(self.training_size, self.weak_size, self.components, self.setting)


def component_settings(components, component_counts, has_model) -> dict:
    """Return, for each setting of an item, the component counts that compete in it."""
    if not has_model:
        return {SELECTED: (None,)}
    if components == SELECTED:
        return {SELECTED: tuple(component_counts)}
    return {count: (count,) for count in components}


def items_of(sizes, weak_sizes, settings, studies) -> list[Item]:
    """Return the items of all sizes, and those of the studies at the largest sizes."""
    items = [
        Item(size, weak_size, setting, counts)
        for size in sizes
        for weak_size in weak_sizes
        for setting, counts in settings.items()
    ]
    if max(weak_sizes, default=0) == 0:
        return items
    size, weak_size = max(sizes), max(weak_sizes)
    for setting, counts in settings.items():
        for value in studies.get("weak_weight", ()):
            name = f"weak_weight={value:g}"
            items.append(Item(size, weak_size, setting, counts, weak_weight=value, setting=name))
        for value in studies.get("weak_noise", ()):
            name = f"weak_noise={value:g}"
            items.append(Item(size, weak_size, setting, counts, noise=value, setting=name))
    return items


def without_selection(item: Item, grid: dict, values: Mapping) -> tuple[Item, dict]:
    """Return the item and the grid with one value in the place of each list."""
    single = {
        "kernels": [kernel_without_selection(grid["kernels"])],
        "extends": False,
        "widths": [values["width"]] if "width" in values else grid["widths"],
        "penalties": [values["penalty"]],
        "weak_weights": [values["weak_weight"]] if grid["weak_weights"] else [],
    }
    if "projection" in values:
        single["projections"] = [values["projection"] == "simplex"]
    if item.components == SELECTED and "n_components" in values:
        item = replace(item, counts=(values["n_components"],))
    return item, grid | single
