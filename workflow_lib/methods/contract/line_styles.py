"""Colours and markers of methods whose files name none: other than those that are in use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workflow_lib.methods.contract.method_file import MethodFile

MARKERS = ("o", "s", "D", "^", "v", "<", ">", "P", "X", "*", "p", "h", "d", "8", "H")
"""The markers of Matplotlib that can be told apart when they are small."""

COLORS = (
    *("#332288", "#117733", "#44AA99", "#88CCEE", "#DDCC77", "#CC6677", "#AA4499", "#882255"),
    *("#661100", "#6699CC", "#999933", "#4477AA", "#228833", "#AA3377", "#BBBBBB", "#000000"),
)
"""Colours that people with the common kinds of colour blindness can tell apart (Paul Tol)."""


def with_line_styles(methods: Mapping[str, MethodFile]) -> dict[str, MethodFile]:
    """Return methods, each with a colour and a marker.

    A key that the file of a method leaves out becomes the first value that no other method has;
    once all are in use, the one that fewest have.

    Parameters
    ----------
    methods : mapping from names to methods
        All methods of a run.
    """
    styled = {name: methods[name] for name in sorted(methods)}
    for key, values in (("color", COLORS), ("marker", MARKERS)):
        used = [str(getattr(method, key)).upper() for method in styled.values()]
        for name, method in styled.items():
            if getattr(method, key) is None:
                chosen = min(values, key=lambda value: used.count(value.upper()))
                used.append(chosen.upper())
                styled[name] = method = method.model_copy(update={key: chosen})
    return styled
