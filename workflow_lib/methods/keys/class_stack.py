"""The keys of a method with the regressor `class_stack`."""

from __future__ import annotations

from typing import Literal

from workflow_lib.core.requirement import NEEDS_SELECTED_COMPONENTS
from workflow_lib.core.values import SomeNames
from workflow_lib.methods.contract.method_file import MethodFile


class Parameters(MethodFile):
    """A stack of methods that score classes."""

    regressor: Literal["class_stack"]
    """`class_stack`: a convex combination of the probabilities of classes of other methods."""

    members: SomeNames
    """Methods that it combines, as far as they are methods of the experiment. They score every
    class; those that predict class vectors do not."""

    needs_of_data = (NEEDS_SELECTED_COMPONENTS,)
