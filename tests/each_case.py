"""A test of many cases that reports every case which fails."""

import functools
import inspect
import itertools
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import pytest

FRESH = ("monkeypatch", "tmp_path")
"""Fixtures of which every case gets its own, as the cases of a parametrised test do."""


PARAMETERS = type(pytest.param())


class Axis:
    """The cases of one decorator."""

    def __init__(self, names: str | Iterable[str], cases: Iterable[Any], ids: Any) -> None:
        is_text = isinstance(names, str)
        self.names = [name.strip() for name in names.split(",")] if is_text else list(names)
        self.cases = [self.values(case) for case in cases]
        given = ids if callable(ids) or ids is None else list(ids)
        self.labels = [self.label(number, given) for number in range(len(self.cases))]
        assert not any(case.marks for case in self.cases), "marks belong to whole tests"

    def values(self, case: Any) -> Any:
        if isinstance(case, PARAMETERS):
            return case
        return pytest.param(*([case] if len(self.names) == 1 else case))

    def label(self, number: int, ids: Any) -> str:
        case = self.cases[number]
        if case.id is not None:
            return str(case.id)
        if isinstance(ids, list):
            return str(ids[number])
        shown = [ids(value) if ids else None for value in case.values]
        return "-".join(
            str(text) if text is not None else short(value) or f"{name}{number}"
            for text, value, name in zip(shown, case.values, self.names, strict=True)
        )


def short(value: Any) -> str | None:
    """Return the text of a value that is short as a text, and None for others."""
    if isinstance(value, str | int | float | bytes | bool | None):
        return repr(value)
    return getattr(value, "__name__", None)


def each_case(names: str | Iterable[str], cases: Iterable[Any], ids: Any = None) -> Callable:
    """Do as `pytest.mark.parametrize` with these arguments, within one test.

    Thousands of small tests cost more than what they test. Each case that fails is reported with
    its own values, as a subtest. The cases share the fixtures that are not in `FRESH`.
    """
    axis = Axis(names, cases, ids)

    def decorate(test: Callable) -> Callable:
        if hasattr(test, "axes"):
            test.axes.append(axis)
        else:
            test = all_cases_of(test, axis)
        hidden = {name for each in test.axes for name in each.names}
        kept = [p for p in test.own.values() if p.name not in hidden]
        if "subtests" not in test.own:
            kept.append(inspect.Parameter("subtests", inspect.Parameter.KEYWORD_ONLY))
        test.__signature__ = inspect.Signature(kept)
        return test

    return decorate


def all_cases_of(test: Callable, axis: Axis) -> Callable:
    """Return the test that runs one for all cases of its axes, of which this is the first."""
    axes = [axis]

    @functools.wraps(test)
    def run(subtests: pytest.Subtests, **fixtures: Any) -> None:
        if "subtests" in run.own:
            fixtures["subtests"] = subtests
        for number, (label, values) in enumerate(products(axes)):
            with subtests.test(label), fresh(fixtures, number) as own:
                test(**own, **values)

    del run.__wrapped__
    run.axes, run.own = axes, inspect.signature(test).parameters
    return run


@contextmanager
def fresh(fixtures: dict[str, Any], number: int) -> Iterator[dict[str, Any]]:
    """Give the fixtures of a case: an own folder, and changes that end with it."""
    own = dict(fixtures)
    if "tmp_path" in own:
        own["tmp_path"] = own["tmp_path"] / f"case{number}"
        own["tmp_path"].mkdir()
    with own["monkeypatch"].context() if "monkeypatch" in own else nullcontext() as patch:
        yield own | ({"monkeypatch": patch} if patch else {})


def in_turn(*axes: Iterable[Any]) -> list[tuple]:
    """Return tuples of a value per axis: all of the longest, each with the next of the others.

    Of values that hardly act on each other, all combinations would be many more cases.
    """
    values = [list(axis) for axis in axes]
    return [tuple(v[i % len(v)] for v in values) for i in range(max(map(len, values)))]


def products(axes: list[Axis]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every combination of the cases of the axes, as its name and its values."""
    for numbers in itertools.product(*(range(len(axis.cases)) for axis in axes)):
        positions = list(zip(axes, numbers, strict=True))
        values = {}
        for axis, number in positions:
            values |= zip(axis.names, axis.cases[number].values, strict=True)
        yield "-".join(axis.labels[number] for axis, number in positions), values
