"""Every task there is, and the measures of all."""

from collections.abc import Iterable, Mapping
from functools import cache
from types import ModuleType
from typing import Any

from workflow_lib.core.plugins import MEASURES, TASKS
from workflow_lib.measures.base import Measure, Predictions
from workflow_lib.tasks.base import Task


@cache
def tasks() -> dict[str, Task]:
    """Return every task, by its name and in its order."""
    found = {name: TASKS.load(name).TASK for name in TASKS.modules}
    return dict(sorted(found.items(), key=lambda item: item[1].order))


def task_of(data: Mapping[str, Any]) -> Task:
    """Return the task of the tree of a "dataset" artifact; tasks of numbers are not told apart."""
    entries = {task.entry: task for task in reversed(tasks().values())}
    return next((task for entry, task in entries.items() if entry in data), entries[None])


def task_with(outputs: str) -> Task:
    """Return the first task whose own measures are of a kind of outputs."""
    return next(task for task in tasks().values() if task.outputs == outputs)


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


@cache
def all_measures() -> dict[str, Measure]:
    """Return every measure, by its name: task by task."""
    return measures_of(*dict.fromkeys(task.outputs for task in tasks().values()))


def metrics_of(task: Task) -> list[str]:
    """Return the measures that can be the metric of an experiment."""
    return [name for name, each in measures_of(task.outputs).items() if each.selects_by]


def usual_measures(outputs: str) -> tuple[str, ...]:
    """Return the measures that a table of such outputs shows if it names none."""
    return tuple(name for name, each in measures_of(outputs).items() if each.is_usual)


def alternatives(texts: Iterable[str]) -> str:
    """Return texts as ``a, b or c``."""
    *first, last = texts
    return f"{', '.join(first)} or {last}" if first else last
