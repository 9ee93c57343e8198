"""The keys of a method with the regressor `training_mean`."""

from __future__ import annotations

from typing import Literal

from workflow_lib.methods.contract.method_file import MethodFile


class Parameters(MethodFile):
    """The training mean has no keys of its own."""

    regressor: Literal["training_mean"]
    """`training_mean`: no inputs at all."""
