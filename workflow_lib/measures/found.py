"""Every measure there is, and the values of predictions in all of them."""

from functools import cache
from types import ModuleType

from workflow_lib.core.plugins import MEASURES
from workflow_lib.measures.base import Measure, Predictions


@cache
def _modules() -> tuple[ModuleType, ...]:
    return tuple(map(MEASURES.load, MEASURES.modules))


def measures_of(*outputs: str) -> dict[str, Measure]:
    """Return the measures of these kinds of outputs, by name and in this order."""
    found = [measure for module in _modules() for measure in module.MEASURES]
    return {each.name: each for kind in outputs for each in found if each.outputs == kind}


def values_of(outputs: tuple[str, ...], rows: Predictions) -> dict[str, float]:
    """Return all that these predictions have of the measures of these kinds of outputs."""
    return {
        name: value
        for kind in outputs
        for module in _modules()
        if module.MEASURES[0].outputs == kind
        for name, value in module.values(rows).items()
    }
