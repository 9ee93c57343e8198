"""Volatilities come from the right prices, and days without enough of them are refused."""

import math
import statistics
from datetime import date, timedelta

import numpy as np
import pytest
from each_case import each_case

from workflow_lib.core.errors import UserError
from workflow_lib.data.price_windows import (
    GAP,
    JUMP,
    NO_CHANGE,
    TOO_FEW_AFTER,
    TOO_FEW_BEFORE,
    DailyPrices,
    daily_prices,
    log_volatility,
    volatility_windows,
)

RULES = dict(weeks=2, days_per_week=3, lagged_days=4, largest_jump=0.4, longest_gap=7)
START = date(2015, 1, 1).toordinal()

HEADER = "date,open,high,low,close,volume,Name\n"


def by_deviation(prices) -> float:
    """The log-volatility from the standard deviation."""
    returns = [later / earlier - 1 for earlier, later in zip(prices, prices[1:])]
    return math.log(statistics.pstdev(returns) * math.sqrt(len(returns)))


def series(n_days: int = 11, seed: int = 0) -> DailyPrices:
    prices = 50 * np.exp(np.random.default_rng(seed).normal(scale=0.02, size=n_days).cumsum())
    return DailyPrices(START + np.arange(n_days), prices)


def changed(daily: DailyPrices, position: int, factor: float) -> DailyPrices:
    """Return the prices with a split: all from `position` on are multiplied."""
    prices = daily.prices.copy()
    prices[position:] *= factor
    return DailyPrices(daily.days, prices)


def test_log_volatility_by_a_second_formula():
    prices = np.stack([series(6, seed).prices for seed in range(4)])
    expected = [by_deviation(row) for row in prices]
    np.testing.assert_allclose(log_volatility(prices), expected)
    # It does not depend on the unit of the prices.
    np.testing.assert_allclose(log_volatility(1000 * prices), expected)
    assert log_volatility(np.full(4, 12.5)) == -math.inf


def test_windows_meet_at_the_close_of_the_day():
    daily = series()
    windows, reason = volatility_windows(daily, START + 4, **RULES)
    assert reason == ""
    assert windows.lagged_value == pytest.approx(by_deviation(daily.prices[:5]))
    expected = [by_deviation(daily.prices[4:8]), by_deviation(daily.prices[7:11])]
    np.testing.assert_allclose(windows.weeks, expected)
    assert (windows.day, windows.begin, windows.end) == (START + 4, START, START + 10)


def test_windows_before_and_after_the_day_use_separate_prices():
    daily = series()
    windows, _ = volatility_windows(daily, START + 4, **RULES)
    other, _ = volatility_windows(changed(daily, 4, 1.05), START + 4, **RULES)
    assert other.lagged_value != windows.lagged_value
    np.testing.assert_allclose(other.weeks, windows.weeks)
    other, _ = volatility_windows(changed(daily, 5, 1.05), START + 4, **RULES)
    assert other.lagged_value == windows.lagged_value
    assert other.weeks[0] != windows.weeks[0]
    assert other.weeks[1] == pytest.approx(windows.weeks[1])


def test_a_day_without_trade_counts_as_the_next():
    daily = series(12)
    without = DailyPrices(np.delete(daily.days, 4), np.delete(daily.prices, 4))
    friday, _ = volatility_windows(without, START + 4, **RULES)
    monday, _ = volatility_windows(without, START + 5, **RULES)
    assert friday.day == monday.day == START + 5
    np.testing.assert_array_equal(friday.weeks, monday.weeks)


@pytest.mark.parametrize(
    ("day", "reason"),
    [
        (START - 400, TOO_FEW_BEFORE),
        (START + 3, TOO_FEW_BEFORE),
        (START + 5, TOO_FEW_AFTER),
        (START + 400, TOO_FEW_AFTER),
    ],
)
def test_days_without_enough_prices_around(day, reason):
    assert volatility_windows(series(), day, **RULES) == (None, reason)
    none = DailyPrices(np.empty(0, dtype=np.int64), np.empty(0))
    assert volatility_windows(none, day, **RULES) == (None, TOO_FEW_BEFORE)


@each_case("position", [1, 4, 5, 10])
@each_case("factor", [0.5, 2.0])
def test_jumps_within_the_windows(position, factor):
    split = changed(series(), position, factor)
    assert volatility_windows(split, START + 4, **RULES) == (None, JUMP)


def test_jumps_outside_of_the_windows_do_not_count():
    daily = series(13)
    windows, _ = volatility_windows(changed(changed(daily, 1, 2.0), 12, 0.5), START + 5, **RULES)
    np.testing.assert_allclose(
        windows.weeks, volatility_windows(daily, START + 5, **RULES)[0].weeks
    )


def test_the_limit_of_a_jump_is_the_logarithm():
    flat = DailyPrices(
        START + np.arange(11), np.array([10.0, 11, 12, 11, 10, 11, 12, 11, 10, 9, 8])
    )
    ratio = math.log(9 / 8)
    _, reason = volatility_windows(flat, START + 4, **RULES | {"largest_jump": ratio - 1e-9})
    assert reason == JUMP
    _, reason = volatility_windows(flat, START + 4, **RULES | {"largest_jump": ratio + 1e-9})
    assert reason == ""


@pytest.mark.parametrize("position", [1, 5, 10])
def test_gaps_within_the_windows(position):
    daily = series()
    days = daily.days.copy()
    days[position:] += 6
    kept, reason = volatility_windows(DailyPrices(days, daily.prices), int(days[4]), **RULES)
    assert (kept is None, reason) == (False, "")
    days[position:] += 1
    gap = volatility_windows(DailyPrices(days, daily.prices), int(days[4]), **RULES)
    assert gap == (None, GAP)


def test_a_long_wait_for_the_next_price_is_a_gap():
    daily = series(11)
    late = DailyPrices(daily.days + 8, daily.prices)
    assert volatility_windows(late, START + 4, **RULES) == (None, TOO_FEW_BEFORE)
    days = daily.days.copy()
    days[:4] -= 7
    assert volatility_windows(DailyPrices(days, daily.prices), START - 3, **RULES) == (None, GAP)


@pytest.mark.parametrize("window", [slice(0, 5), slice(4, 8), slice(7, 11)])
def test_windows_without_change(window):
    daily = series()
    daily.prices[window] = daily.prices[window.start]
    assert volatility_windows(daily, START + 4, **RULES) == (None, NO_CHANGE)


def line(day: str, close: str = "10.5", name: str = "AB") -> str:
    return f"{day},1,,1,{close},100,{name}\n"


GOOD = HEADER + line("2015-01-02") + "\n" + line("2015-01-05", "11")


def test_prices_of_a_file():
    daily = daily_prices(GOOD.replace("\n", "\r\n").encode(), "AB", "somewhere")
    assert daily.days.tolist() == [date(2015, 1, day).toordinal() for day in (2, 5)]
    assert daily.prices.tolist() == [10.5, 11.0]
    assert daily.days.dtype == np.int64
    # Columns are found by their names.
    daily = daily_prices(b"Name,close,date\nAB,10,2015-01-02\n", "AB", "somewhere")
    assert daily.prices.tolist() == [10.0]


@each_case(
    ("old", "new", "words"),
    [
        ("close", "price", "there is no column 'close'. Expected one of the columns: date, open"),
        ("date", "day", "there is no column 'date'"),
        ("Name", "name", "there is no column 'Name'"),
        ("2015-01-05", "2015-01-02", "line 4: the date 2015-01-02. Expected a later date"),
        ("2015-01-05", "2014-12-31", "later date than 2015-01-02 in line 2"),
        ("2015-01-05", "2015-02-30", "line 4: '2015-02-30' is not a date"),
        ("2015-01-05", "20150105", "line 4: '20150105' is not a date"),
        ("2015-01-05", "2015-W02-1", "line 4: "),
        ("2015-01-05", "", "line 4: '' is not a date"),
        (",11,", ",0,", "line 4: the price '0' is not a positive number"),
        (",11,", ",-3,", "line 4: the price '-3'"),
        (",11,", ",,", "line 4: the price ''"),
        (",11,", ",nan,", "line 4, column 'close': 'nan' is not a finite number"),
        (",11,100,AB", ",11,100,AC", "line 4: a price of 'AC'. Expected prices of 'AB'"),
    ],
)
def test_faults_of_a_file_are_named(old, new, words):
    text = GOOD.replace(old, new)
    assert text != GOOD
    with pytest.raises(UserError) as caught:
        daily_prices(text.encode(), "AB", "prices.tar, member AB_data.csv")
    assert str(caught.value).startswith("prices.tar, member AB_data.csv")
    assert words in str(caught.value)


def test_weekdays_are_no_gap():
    # Trading days of three weeks, Monday to Friday.
    monday = date(2015, 1, 5)
    week = [monday + timedelta(days=7 * number + day) for number in range(3) for day in range(5)]
    daily = DailyPrices(np.array([day.toordinal() for day in week]), series(15).prices)
    assert volatility_windows(daily, week[4].toordinal(), **RULES)[1] == ""
