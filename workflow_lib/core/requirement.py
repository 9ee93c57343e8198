"""A requirement on combinations, as methods and figures declare it."""

from __future__ import annotations

from typing import NamedTuple


class Requirement(NamedTuple):
    """If the facts of a combination have the values `when`, they must have the values `needs`.

    Facts are named values of the method, its model, the dataset and the experiment
    (`workflow_lib.run.capabilities`).
    """

    when: dict[str, set]
    """Facts, each with the values for which the rule applies."""

    needs: dict[str, set]
    """Facts, each with the values that are then allowed."""

    because: str
    """The reason given to the user; names of facts in braces are filled in."""


NEEDS_VECTORS = Requirement(
    {},
    {"kernel": {"rbf", "linear", "tanimoto"}},
    "the regressor {regressor} needs feature vectors, and the inputs are a Gram matrix",
)
"""For methods that do not work on Gram matrices."""

NEEDS_SELECTED_COMPONENTS = Requirement(
    {},
    {"components_are_selected": {True}},
    "a stack combines methods whose numbers of components are selected, and the experiment fixes "
    "them",
)
"""For stacks."""

NEEDS_UNPAIRED_OUTPUTS = Requirement(
    {},
    {"has_unpaired_sizes": {True}},
    "it learns from outputs without inputs, so that the experiment needs unpaired_sizes",
)
"""For methods that learn from outputs without inputs."""
