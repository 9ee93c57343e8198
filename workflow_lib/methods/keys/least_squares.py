"""The keys of a method with the regressor `least_squares`."""

from __future__ import annotations

from typing import Literal

from workflow_lib.core.requirement import Requirement
from workflow_lib.methods.contract.method_file import MethodFile


class Parameters(MethodFile):
    """Least squares has no keys of its own."""

    regressor: Literal["least_squares"]
    """`least_squares`: from lagged values alone."""

    needs_of_data = (
        Requirement(
            {},
            {"lagged_values": {"separate", "added"}},
            "least squares needs lagged values: lagged_values: separate or added, in "
            "the experiment or in the inputs of the dataset",
        ),
    )
