"""The keys of a method with the regressor `stacked_features`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from workflow_lib.core.named_class import DOTTED, NamedClass, combinations
from workflow_lib.core.requirement import NEEDS_VECTORS, Requirement
from workflow_lib.core.values import SomeNames
from workflow_lib.methods.contract.method_file import MethodFile


class Parameters(MethodFile):
    """An estimator whose inputs include the predictions of other methods."""

    regressor: Literal["stacked_features"]
    """`stacked_features`: an estimator on inputs and on the predictions of other methods."""

    members: SomeNames
    """Methods whose predictions are inputs, as far as they are methods of the experiment."""

    columns: Literal["inputs", "lagged_values", "none"] = "inputs"
    """Which other columns the estimator takes: the inputs (the default), the columns beside a text
    (`lagged_values`), or none."""

    estimator: Annotated[str, Field(pattern=DOTTED)]
    """The class of the regressor, with its module, as of the regressor `estimator`."""

    settings: dict[str, Any] = {}
    """Arguments of the class that do not change."""

    grid: dict[str, Annotated[tuple[Any, ...], Field(min_length=1)]] = {}
    """Values of arguments that compete."""

    needs_of_data = (
        NEEDS_VECTORS,
        Requirement(
            {"columns": {"lagged_values"}},
            {"lagged_values": {"separate", "added"}},
            "columns: lagged_values needs columns beside the text",
        ),
        Requirement(
            {},
            {"components_are_selected": {True}},
            "stacked features are predictions of methods whose numbers of components are selected, "
            "and the experiment fixes them",
        ),
    )

    def plain_grid(self) -> dict[str, Any]:
        return {key: list(values) for key, values in self.grid.items()}

    def grid_values(self, key: str) -> tuple:
        return ()

    def library_modules(self) -> list[str]:
        return super().library_modules() + self._named_class().library_modules()

    def named_classes(self) -> list[str]:
        return [*super().named_classes(), self.estimator]

    def faults(self) -> list[tuple[str, str, str, str]]:
        return super().faults() + self._named_class().faults()

    def _named_class(self) -> NamedClass:
        interface = ("fit", "predict", "get_params", "set_params")
        points = combinations(self.grid)
        return NamedClass(
            "estimator", self.estimator, interface, "a regressor", self.settings, points
        )
