"""How methods and numbers are written in tables, figures and sentences."""

import math
from collections.abc import Iterable, Mapping, Sequence

from workflow_lib.methods.contract.base import method_modules
from workflow_lib.report.variants import Variant

PLUS_MINUS = "\u00b1"
MINUS = "\u2212"
MISSING = "\u2013"

_SECOND_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "\u00b5s"))


def method_label(method: str, methods: Mapping[str, Mapping]) -> str:
    """Return the label of a method, or its name where `methods` gives none."""
    return methods.get(method, {}).get("label") or method


def learns_from_inputs(method: Mapping) -> bool:
    """Return whether a method learns from the inputs alone of rows without outputs."""
    modules = method_modules()
    regressor = method.get("regressor")
    return regressor in modules and modules[regressor].learns_from_inputs


def is_ceiling(method: str, methods: Mapping[str, Mapping]) -> bool:
    """Return whether a method learns from true outputs of weak rows, so that it cannot win."""
    return methods.get(method, {}).get("weak_outputs") == "true"


def ceiling_sentence(labels: Sequence[str]) -> str:
    """Return why the rows with these labels, the ceilings, cannot win."""
    verb = "learns" if len(labels) == 1 else "learn"
    return (
        f"{join_words(labels)} {verb} from the true outputs of weak rows, which are not known in "
        f"use: a ceiling that cannot win."
    )


def variant_label(variant: Variant, methods: Mapping[str, Mapping]) -> str:
    """Return the label of a table row: method, fixed component number and weak rows, if any.

    Rows of which only the inputs are used are called unlabelled.
    """
    label = method_label(variant.method, methods)
    if variant.components.isdigit():
        label += f", C = {variant.components}"
    if variant.weak_size:
        is_of_inputs = learns_from_inputs(methods.get(variant.method, {}))
        kind = "unlabelled" if is_of_inputs else "weak"
        label += f", {variant.weak_size} {kind} rows"
    return label


def figure_title(dataset_title: str, stand_in_for: str | None) -> str:
    """Return the title of a figure: the dataset, marked when it is a stand-in."""
    return f"{dataset_title} (a stand-in)" if stand_in_for else dataset_title


def format_error(mean: float, deviation: float, decimals: int | None = None) -> str:
    """Return an error and its deviation with some decimals, by default as ``0.893 ± 0.012``.

    The default is three, and three significant digits of numbers from 100 on.
    """
    if math.isnan(mean):
        return MISSING
    digits = f".{decimals}f" if decimals is not None else ".3f" if abs(mean) < 100 else ".3g"
    if math.isnan(deviation):
        return format(mean, digits)
    return f"{mean:{digits}} {PLUS_MINUS} {deviation:{digits}}"


def format_in_unit(mean: float, deviation: float) -> str:
    """Return an error in the unit of an output, with three significant digits, as ``172 ± 18``."""
    if math.isnan(mean):
        return MISSING
    size = abs(mean)
    if size and not 1e-4 <= size < 1e7:
        spread = "" if math.isnan(deviation) else f" {PLUS_MINUS} {deviation:.1e}"
        return f"{mean:.2e}{spread}"
    return format_error(mean, deviation, max(2 - math.floor(math.log10(size or 1.0)), 0))


def format_percent(
    mean: float, deviation: float, unit: bool = False, decimals: int | None = None
) -> str:
    """Return a percentage and its deviation, by default as ``70.3 ± 2.1``, or with ``%``."""
    if math.isnan(mean):
        return MISSING
    text = format_error(mean, deviation, 1 if decimals is None else decimals)
    return f"{text} %" if unit else text


def format_published_error(value: float, spread: float) -> str:
    """Return a published error with the decimals it was printed with, two at least."""
    texts = [
        repr(number) if round(number, 2) != number else f"{number:.2f}"
        for number in (value, spread)
        if not math.isnan(number)
    ]
    return f" {PLUS_MINUS} ".join(texts)


def format_seconds(mean: float, deviation: float) -> str:
    """Return a time with three significant digits and its unit, as ``57.1 ± 14.7 s``.

    The unit (s, ms or µs) is the largest in which the mean is at least 1. A small deviation gets
    more decimals, up to three, so that it does not read as zero.
    """
    if math.isnan(mean):
        return MISSING
    scale, unit = next(
        ((scale, unit) for scale, unit in _SECOND_UNITS if mean >= scale), _SECOND_UNITS[-1]
    )
    value = mean / scale
    decimals = 0 if value >= 100 else 1 if value >= 10 else 2
    if math.isnan(deviation):
        return f"{value:.{decimals}f} {unit}"
    while 0 < deviation / scale < 0.5 * 10**-decimals and decimals < 3:
        decimals += 1
    return f"{value:.{decimals}f} {PLUS_MINUS} {deviation / scale:.{decimals}f} {unit}"


ROUNDING = 1e-12
"""A smaller difference of errors, or of accuracies in per cent, is not shown."""


def format_difference(difference: float, decimals: int = 3) -> str:
    """Return a signed difference with some decimals and a true minus sign.

    A difference that would be shown as zero has two significant digits and an exponent, unless it
    is one of rounding.
    """
    if abs(difference) < ROUNDING:
        return "0"
    is_seen = abs(difference) >= 0.5 * 10**-decimals
    digits = f"{difference:+.{decimals}f}" if is_seen else f"{difference:+.1e}"
    return digits.replace("-", MINUS)


def format_signed(value: float, decimals: int | None = None) -> str:
    """Return a number with its sign and a true minus; what rounds to zero has no sign.

    The default is one decimal, and none from 10 on.
    """
    if math.isinf(value):
        return "+\u221e" if value > 0 else f"{MINUS}\u221e"
    if decimals is None:
        decimals = 1 if abs(value) < 9.95 else 0
    text = f"{value:+.{decimals}f}"
    return text.lstrip("+-") if float(text) == 0 else text.replace("-", MINUS)


def format_p_value(p_value: float) -> str:
    """Return ``p = 0.031``, or ``p = 2e-05`` below 0.001; a dash where there is no test (NaN)."""
    if math.isnan(p_value):
        return f"p = {MISSING}"
    if p_value == 0:
        return "p = 0"
    return f"p = {p_value:.3f}" if p_value >= 1e-3 else f"p = {p_value:.0e}"


def format_share(share: float) -> str:
    """Return a share in percent with two significant digits, as ``2.4 %``."""
    percent = 100 * share
    return f"{percent:.0f} %" if percent >= 10 else f"{percent:.2g} %"


def range_in_words(numbers: Iterable[int]) -> str:
    """Return ``10``, or the least and the largest of several numbers, as ``10 to 12``."""
    least, largest = min(numbers), max(numbers)
    return str(least) if least == largest else f"{least} to {largest}"


def splits_in_words(n_splits: int, n_test: Iterable[int]) -> str:
    """Return what a figure shows, as ``5 splits, 10 to 12 test rows, mean ± standard deviation``.

    `n_test` are the numbers of test rows that occur.
    """
    spread = f", mean {PLUS_MINUS} standard deviation" if n_splits > 1 else ""
    return f"{count_of(n_splits, 'split')}, {range_in_words(n_test)} test rows{spread}"


def join_words(words: Iterable) -> str:
    """Return ``a``, ``a and b`` or ``a, b and c``."""
    words = [str(word) for word in words]
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def count_of(number: int, noun: str) -> str:
    """Return ``1 split`` or ``5 splits``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
