"""Numbers as people and programs write them: marks of thousands, decimal commas, units."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

from workflow_lib.tabular.tables import finite_number

DECIMAL_MARKS = (".", ",")
THOUSANDS_MARKS = ("", ",", ".", "'", " ", "_")

MAX_CELL_LENGTH = 60
"""Largest number of characters of a number with its unit: longer cells are texts."""

_SAME_MARKS = str.maketrans(
    dict.fromkeys("\u00a0\u2007\u2009\u202f", " ")
    | dict.fromkeys("\u2019\u02bc\u2018", "'")
    | dict.fromkeys("\u2212\u2013\ufe63\uff0d", "-")
)
"""Spaces that do not break, curly apostrophes, and signs that look like a minus."""

_CURRENCY = (
    r"(?:[A-Z]{0,2}[$€£¥₹₩₽₺₪]"
    r"|(?:EUR|USD|GBP|CHF|JPY|CNY|SEK|NOK|DKK|PLN|CZK|CAD|AUD|INR)(?![A-Za-z]))"
)
_CELL = re.compile(
    rf"(?:(?P<open>\()|(?P<sign>[-+]))?\s*(?P<prefix>{_CURRENCY})?\s*"
    r"(?(open)|(?(sign)|(?P<sign_after>[-+])?))"
    r"(?P<body>\d(?:[\d.,'_ ]*\d)?[.,]?|[.,]\d+)(?P<exponent>[eEdD][-+]?\d+)?\s*"
    r"(?P<suffix>(?:[^\W\d_]|[%‰°$€£¥₹₩₽₺₪])[^\s()<>=,;]{0,9}"
    r"(?: [^\W\d_][^\s()<>=,;]{0,5})?)?\s*(?(open)\))"
)
_LIMIT = re.compile(r"([<>]=?|[≤≥~≈]|ca\.?)\s*")
_NOT_DETECTED = re.compile(
    r"n\.?\s?[dqa]\.?|b\.?\s?d\.?\s?l\.?|b\.?\s?l\.?\s?o\.?\s?[dq]\.?|<?\s?lo[dq]|tr(ace)?\.?"
    r"|not detected|below (detection|lod|loq).*|nil|-+|\.+|missing|none|unknown|n\.?\s?b\.?",
    re.IGNORECASE,
)


class NumberFormat(NamedTuple):
    """How the numbers of a column are written: the mark between thousands, "" without one, the
    decimal mark, and a currency or a unit before and after the numbers, which a cell may lack."""

    thousands: str = ""
    decimal: str = "."
    prefix: str = ""
    suffix: str = ""

    @classmethod
    def of(cls, example: str) -> NumberFormat:
        """Return the format in which the number 1234.5 is written as `example`.

        Raises ValueError when it is not written with the digits 1, 234 and 5.
        """
        found = re.fullmatch(
            r"(.*?)\s*1([,.' _]?)234([.,])5\s*(.*?)", example.translate(_SAME_MARKS)
        )
        if found is None or found[2] == found[3]:
            raise ValueError(f"'{example}' is not 1234.5.")
        return cls(found[2], found[3], found[1], found[4])

    @property
    def example(self) -> str:
        """The number 1234.5 in this format."""
        number = f"1{self.thousands}234{self.decimal}5"
        space = " " * self.prefix[-1:].isalpha()
        return f"{self.prefix}{space}{number}{f' {self.suffix}' * bool(self.suffix)}"

    def number(self, text: str) -> float | None:
        """Return the finite number that a cell holds in this format; None for another cell.

        A minus may be one of Unicode, brackets mean a negative number, and an exponent may be that
        of Fortran (1.5D+03).
        """
        found = _parts(text)
        if (
            found is None
            or found["prefix"] not in ("", self.prefix)
            or found["suffix"] not in ("", self.suffix)
            or not _body(self.thousands, self.decimal).fullmatch(found["body"])
        ):
            return None
        digits = found["body"].replace(self.thousands, "").replace(self.decimal, ".")
        number = finite_number(digits + found["exponent"].lower().replace("d", "e"))
        is_negative = found["open"] or "-" in found["sign"] + found["sign_after"]
        return -number if number is not None and is_negative else number

    def numbers(self, texts: Iterable[str]) -> dict[str, float] | None:
        """Return the number of each text but ""; None where one is no number in this format."""
        found = {text: self.number(text) for text in dict.fromkeys(texts) if text}
        return None if None in found.values() else found


def formats_of(texts: Sequence[str]) -> list[NumberFormat]:
    """Return the formats in which all texts are numbers, one for each different reading.

    None where a text is no number, where units differ or only some numbers have one, and where
    all numbers are in brackets, or some are in brackets and others have a minus.
    """
    parts = [_parts(text) for text in dict.fromkeys(texts) if text]
    if not parts or None in parts or len({(each["prefix"], each["suffix"]) for each in parts}) > 1:
        return []
    are_open = [bool(part["open"]) for part in parts]
    has_minus = any("-" in part["sign"] + part["sign_after"] for part in parts)
    if all(are_open) or (any(are_open) and has_minus):
        return []
    prefix, suffix = parts[0]["prefix"], parts[0]["suffix"]
    # Not codes such as 007a.
    if suffix and any(re.match(r"0\d", part["body"]) for part in parts):
        return []
    used = "" if any(part["exponent"] for part in parts) else "".join(p["body"] for p in parts)
    readings: dict[tuple[float, ...], NumberFormat] = {}
    for decimal, thousands in itertools.product(DECIMAL_MARKS, THOUSANDS_MARKS):
        if thousands != decimal and thousands in used:
            format_ = NumberFormat(thousands, decimal, prefix, suffix)
            if (found := format_.numbers(texts)) is not None:
                readings.setdefault(tuple(found.values()), format_)
    return list(readings.values())


def first_unclear(texts: Iterable[str], formats: Sequence[NumberFormat]) -> str:
    """Return the first text that is a different number in different formats."""
    return next(text for text in texts if len({each.number(text) for each in formats}) > 1)


def shown_number(number: float) -> str:
    """Return a number with a decimal point, without needless digits."""
    return f"{number:.0f}" if number.is_integer() and abs(number) < 1e15 else repr(number)


def is_measured(text: str) -> bool:
    """Return whether a cell is a number in any format, with any unit."""
    parts = _parts(text)
    return parts is not None and any(
        _body(*marks).fullmatch(parts["body"])
        for marks in itertools.product(THOUSANDS_MARKS, DECIMAL_MARKS)
        if marks[0] != marks[1]
    )


def has_unit(text: str) -> bool:
    """Return whether a cell is a number with a unit or a currency."""
    return is_measured(text) and bool(_parts(text)["prefix"] or _parts(text)["suffix"])


def is_limit(text: str) -> bool:
    """Return whether a cell states a limit, such as ``<0.05``, instead of a number."""
    found = _LIMIT.match(text)
    return found is not None and is_measured(text[found.end() :])


def is_no_result(text: str) -> bool:
    """Return whether a cell says that nothing was found or measured, such as ``n.d.``."""
    return _NOT_DETECTED.fullmatch(text) is not None


def _parts(text: str) -> dict[str, str] | None:
    found = _CELL.fullmatch(text.translate(_SAME_MARKS)) if len(text) <= MAX_CELL_LENGTH else None
    is_of_fortran = found is not None and (found["exponent"] or "")[:1] in ("d", "D")
    if found is None or (is_of_fortran and not re.search("[.,]", found["body"])):
        # A D without a decimal mark is part of a code such as 1D5.
        return None
    return found.groupdict("")


@cache
def _body(thousands: str, decimal: str) -> re.Pattern:
    """Return the pattern of the digits of a number with its marks."""
    plain, decimal = r"\d+", re.escape(decimal)
    if thousands:
        group = r"\d{2,3}" if thousands == "," else r"\d{3}"
        mark = re.escape(thousands)
        # 12,34,567 is usual in India. No number of four digits or more begins with 0.
        plain = rf"(?:\d+|[1-9]\d{{0,2}}(?:{mark}{group})*{mark}\d{{3}})"
    return re.compile(rf"{plain}(?:{decimal}\d*)?|{decimal}\d+")
