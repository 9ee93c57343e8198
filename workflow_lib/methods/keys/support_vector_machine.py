"""The keys of a method with the regressor `support_vector_machine`."""

from __future__ import annotations

from typing import Literal

from workflow_lib.methods.contract.method_file import MachineMethod


class Parameters(MachineMethod):
    """Support vector machines."""

    regressor: Literal["support_vector_machine"]
    """`support_vector_machine`: one for each class, against the rest."""
