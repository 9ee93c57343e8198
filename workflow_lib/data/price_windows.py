"""Log-volatilities from daily prices, in windows before and after a day."""

from __future__ import annotations

from collections.abc import Collection
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from workflow_lib.core.archive_members import matching_members
from workflow_lib.core.errors import UserError
from workflow_lib.tabular.delimited_text import text_table
from workflow_lib.tabular.tables import wrong_source

if TYPE_CHECKING:
    from workflow_lib.tabular.user_table import Table

PRICES = "individual_stocks_5yr/*_data.csv"
"""Names of the files of prices in their archive."""

TOO_FEW_BEFORE = "too few days with a price before the call"
TOO_FEW_AFTER = "too few days with a price after the call"
GAP = "a gap in the prices"
JUMP = "a jump of the price, such as a split or a spin-off"
NO_CHANGE = "a window without any change of the price"

REASONS = (TOO_FEW_BEFORE, TOO_FEW_AFTER, GAP, JUMP, NO_CHANGE)
"""Reasons why `volatility_windows` refuses a day, in the order of its checks."""


class DailyPrices(NamedTuple):
    """Closing prices of one company."""

    days: np.ndarray
    """Days (m,) int64, `date.toordinal`, strictly increasing."""

    prices: np.ndarray
    """Closing prices (m,), positive."""


class VolatilityWindows(NamedTuple):
    """Log-volatilities around a day."""

    weeks: np.ndarray
    """Log-volatility (n_weeks,) of each window after the day."""

    lagged_value: float
    """Log-volatility of the window that ends on the day."""

    day: int
    """The first day with a price on or after the requested day; it separates past and future."""

    begin: int
    """Day of the first price of the past window."""

    end: int
    """Day of the last price of the last window."""


def log_volatility(prices: np.ndarray) -> np.ndarray:
    """Return the log-volatility of windows of prices (..., m + 1) with m returns each: (...).

    ln sqrt(sum_i (r_i - mean r)^2) with the returns r_i = (p_i - p_{i-1}) / p_{i-1}: Djerrab et
    al. (2018), section 6.3.1. Kogan et al. (2009) divide the sum by the number of returns, which
    shifts all values by a constant. Minus infinity where all returns are the same.
    """
    returns = np.diff(prices, axis=-1) / prices[..., :-1]
    deviations = returns - returns.mean(axis=-1, keepdims=True)
    with np.errstate(divide="ignore"):
        return 0.5 * np.log((deviations**2).sum(axis=-1))


def volatility_windows(
    series: DailyPrices,
    day: int,
    weeks: int,
    days_per_week: int,
    lagged_days: int,
    largest_jump: float,
    longest_gap: int,
) -> tuple[VolatilityWindows | None, str]:
    """Return the log-volatilities around `day`, or None and one of REASONS.

    The windows meet at the close of the first day with a price on or after `day`: the last past
    return ends there and the first future return starts there, so that the past is known at that
    time and nothing of the later weeks is. There are `weeks` windows of `days_per_week` returns
    after it, and one of `lagged_days` returns before. The absolute logarithm of the ratio of two
    successive prices is at most `largest_jump`, and they are at most `longest_gap` days apart.
    """
    days, prices = series
    middle = int(np.searchsorted(days, day))
    first, last = middle - lagged_days, middle + weeks * days_per_week
    if first < 0:
        return None, TOO_FEW_BEFORE
    if last >= len(days):
        return None, TOO_FEW_AFTER
    if max(days[middle] - day, np.diff(days[first : last + 1]).max()) > longest_gap:
        return None, GAP
    if np.abs(np.diff(np.log(prices[first : last + 1]))).max() > largest_jump:
        return None, JUMP
    lagged = log_volatility(prices[first : middle + 1])
    starts = np.arange(middle, last, days_per_week)
    later = log_volatility(prices[starts[:, None] + np.arange(days_per_week + 1)])
    if not (np.isfinite(lagged) and np.isfinite(later).all()):
        return None, NO_CHANGE
    return VolatilityWindows(later, float(lagged), *map(int, days[[middle, first, last]])), ""


def company_prices(archive: Path, companies: Collection[str]) -> dict[str, DailyPrices]:
    """Return the prices of those of `companies` that a tar archive has.

    Its members ``individual_stocks_5yr/COMPANY_data.csv`` are read as `daily_prices`.

    Raises UserError as `daily_prices`, and if a company has two files.
    """
    prices: dict[str, DailyPrices] = {}
    for name, content in matching_members(archive, PRICES):
        company = name.split("/")[1].removesuffix("_data.csv")
        location = f"{archive}, member {name}"
        if company in prices:
            raise wrong_source(
                location,
                f"a second file of prices of '{company}'",
                "one file of prices per company",
            )
        if company in companies:
            prices[company] = daily_prices(content, company, location)
    return prices


def daily_prices(content: bytes, company: str, location: str) -> DailyPrices:
    """Return the prices in a CSV text with the columns ``date``, ``close`` and ``Name``.

    There may be other columns. Dates are written YYYY-MM-DD, ``Name`` is `company` in every row.

    Raises UserError naming `location` and the line: a column is missing, a date is invalid or not
    later than the previous date, a price is not a positive number, or the line is of another
    company; and as `workflow_lib.tabular.delimited_text.text_table`.
    """
    table = text_table(content, location, ("",), ",")
    for row in np.flatnonzero(table.strings("Name") != company):
        raise wrong_source(
            table.where(row),
            f"a price of '{table.strings('Name')[row]}'",
            f"prices of '{company}', as the name of the file says",
        )
    days = [_day(text, row, table) for row, text in enumerate(table.strings("date"))]
    for row in np.flatnonzero(np.diff(days) <= 0) + 1:
        raise UserError(
            location=table.where(row),
            found=f"the date {date.fromordinal(days[row])}",
            expected=f"a later date than {date.fromordinal(days[row - 1])} in line "
            f"{table.lines[row - 1]}",
            remedy="remove the line that is wrong, or sort the file by its dates",
        )
    prices = table.numbers("close")
    for row in np.flatnonzero(~(prices > 0)):
        raise wrong_source(
            table.where(row),
            f"the price '{table.strings('close')[row]}' is not a positive number",
            "a price such as 78.34",
        )
    return DailyPrices(np.array(days, dtype=np.int64), prices)


def _day(text: str, row: int, table: Table) -> int:
    try:
        day = date.fromisoformat(text)
        # Other forms that Python accepts, such as 20130208, could hide swapped columns.
        if day.isoformat() == text:
            return day.toordinal()
    except ValueError:
        pass
    raise wrong_source(table.where(row), f"'{text}' is not a date", "a date written YYYY-MM-DD")
