"""The rows of tables and lines of figures: methods with their components and weak rows."""

from collections.abc import Iterable
from typing import NamedTuple

SELECTED = "selected"
"""The component setting of a row whose number of components was chosen by cross-validation (or
whose method has none)."""


class Variant(NamedTuple):
    """What makes a row of a table: a method, its component setting and its weak rows.

    ``setting`` is what a study fixes, for example ``weak_noise=0.2``; empty outside of studies.
    """

    method: str
    components: str
    weak_size: int
    setting: str = ""


def study_of(setting: str) -> tuple[str, float]:
    """Return the study and the value of a setting: ``weak_noise=0.2`` is (``weak_noise``, 0.2).

    Outside of studies it is an empty name and zero.
    """
    study, _, value = setting.partition("=")
    return study, float(value or 0)


def order_variants(variants: Iterable[Variant], method_order: Iterable[str]) -> list[Variant]:
    """Return the distinct variants in the order of the methods given, then by name.

    Within a method the selected components come first, then the fixed ones by number, each with
    its weak sizes ascending, and the settings of studies last, by their values.
    """
    position = {method: index for index, method in enumerate(method_order)}

    def key(variant: Variant) -> tuple:
        return (
            position.get(variant.method, len(position)),
            variant.method,
            components_order(variant.components),
            variant.weak_size,
            study_of(variant.setting),
        )

    return sorted(set(variants), key=key)


def components_order(components: str) -> tuple[int, int, str]:
    """Return a sorting key for component settings: words first, then numbers ascending."""
    if components.isdigit():
        return (1, int(components), "")
    return (0, 0, components)
