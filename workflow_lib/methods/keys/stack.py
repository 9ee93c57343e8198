"""The keys of a method with the regressor `stack`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator

from workflow_lib.core.requirement import NEEDS_SELECTED_COMPONENTS, Requirement
from workflow_lib.core.values import Count, Flag, Name, SomeNames, without_repeats
from workflow_lib.methods.contract.method_file import MethodFile


class Parameters(MethodFile):
    """A stack of other methods."""

    regressor: Literal["stack"]
    """`stack`: a convex combination of other methods."""

    members: SomeNames
    """Methods that it combines, as far as they are methods of the experiment."""

    member_sizes: dict[Name, Count] = {}
    """Smallest number of training rows from which a member takes part; by default any."""

    weak_members: Annotated[tuple[Name, ...], AfterValidator(without_repeats)] = ()
    """Members that learn from weak rows, or from their inputs. With any the stack has a fit for
    each number of weak rows; the other members are taken as they are without weak rows."""

    unpaired: Flag = True
    """Whether members that learn from outputs without inputs do so (the default), or are taken as
    they are without such outputs."""

    requirements = (
        Requirement(
            {},
            {"has_members": {True}},
            "a stack needs members, and member_sizes and weak_members may name members only",
        ),
    )
    needs_of_data = (
        Requirement(
            {"has_weak_members": {True}},
            {"has_weak_sizes": {True}},
            "weak_members of a stack need an experiment with weak_sizes",
        ),
        NEEDS_SELECTED_COMPONENTS,
    )

    def facts(self) -> dict[str, Any]:
        named = {*self.member_sizes, *self.weak_members}
        return super().facts() | {
            "has_members": named <= set(self.members),
            "has_weak_members": bool(self.weak_members),
        }
