"""Dates as people write them, and the order of day and month where only a column can show it."""

import datetime
import re
from collections.abc import Iterable
from contextlib import suppress

DAY_FIRST, MONTH_FIRST = ORDERS = ("day-first", "month-first")
"""Orders of day and month in dates such as 1/02/2024."""

_PARTS = {DAY_FIRST: "first", MONTH_FIRST: "second_part"}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?P<name>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_TIME = (
    r"(?:(?:T|,? +)(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?P<fraction>\.\d+)?)?"
    r"(?: ?(?P<half>[ap])\.?m\.?)?(?: ?(?P<zone>Z|UTC|[+-]\d{2}:?\d{2}))?)?"
)
_YEAR = r"(?P<year>\d{4})"
_FORMS = [
    re.compile(form + _TIME, re.IGNORECASE)
    for form in (
        rf"{_YEAR}(?P<mark>[-/.])(?P<month>\d{{1,2}})(?P=mark)(?P<day>\d{{1,2}})",
        rf"(?P<first>\d{{1,2}})(?P<mark>[-/.])(?P<second_part>\d{{1,2}})(?P=mark){_YEAR}",
        rf"(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\.?[-/. ]? ?{_MONTH}[-/., ] ?{_YEAR}",
        rf"{_MONTH}[-/ ] ?(?P<day>\d{{1,2}})(?:st|nd|rd|th)?,?[-/ ] ?{_YEAR}",
        rf"{_YEAR}[-/ ]{_MONTH}[-/ ](?P<day>\d{{1,2}})",
    )
]
_SHORT_YEAR = re.compile(
    rf"(\d{{1,2}}([-/])\d{{1,2}}\2\d{{2}}|\d{{2}}\.\d{{2}}\.\d{{2}}"
    rf"|\d{{1,2}}[-/ ]{_MONTH}[-/ ]\d{{2}}){_TIME}",
    re.IGNORECASE,
)


def is_date(text: str) -> bool:
    """Return whether a text has the form of a date, with or without a time."""
    return _match(text) is not None


def has_short_year(text: str) -> bool:
    """Return whether a text is a date whose year has two digits, so that its parts are unclear."""
    return _SHORT_YEAR.fullmatch(text) is not None


def date_orders(texts: Iterable[str]) -> set[str] | None:
    """Return the orders of day and month that dates of a column show, by a day after the 12th.

    None where no date is written as 31/05/2024, so that none needs an order.
    """
    matches = [match for text in dict.fromkeys(texts) if "first" in (match := _match(text) or {})]
    parts = {order: [int(match[name]) for match in matches] for order, name in _PARTS.items()}
    return {order for order in ORDERS if max(parts[order]) > 12} if matches else None


def moment(text: str, order: str | None) -> datetime.datetime | None:
    """Return the date and time in a text; None where it is none in this `order` of its parts."""
    with suppress(ValueError):
        return datetime.datetime.fromisoformat(text)
    found = _match(text)
    if found is None or ("first" in found and order is None):
        return None
    if "first" in found:
        parts = found["first"], found["second_part"]
        found["day"], found["month"] = parts if order == DAY_FIRST else parts[::-1]
    month = found.get("month") or _MONTHS.index(found["name"][:3].lower()) + 1
    hour = int(found.get("hour") or 0)
    if "half" in found:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + 12 * (found["half"].lower() == "p")
    zone = found.get("zone", "").upper().replace("UTC", "Z").replace("Z", "+00:00")
    written = f"{found['year']}-{int(month):02}-{int(found['day']):02}T{hour:02}"
    written += f":{found.get('minute', '00')}:{found.get('second', '00')}"
    with suppress(ValueError):
        return datetime.datetime.fromisoformat(f"{written}{found.get('fraction', '')}{zone}")
    return None


def _match(text: str) -> dict[str, str] | None:
    for form in _FORMS:
        if found := form.fullmatch(text):
            return {name: part for name, part in found.groupdict().items() if part is not None}
    return None
