"""Earnings calls: every row has its own words and prices, and exclusions are counted."""

import json
from datetime import date, timedelta
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from reader_samples import acquired, catalogue, excluded, refusal, stored_terms
from small_archives import write_archive
from small_pipeline import assert_same_tree
from test_price_windows import by_deviation

from workflow_lib.data.reading import read_dataset
from workflow_lib.items.sparse_inputs import inputs_of
from workflow_lib.items.word_counts import word_counts, words_of

OPTIONS = {"weeks": 2, "days_per_week": 3, "lagged_days": 4, "least_words": 3}
N_DAYS = 40
MONDAY = date(2015, 1, 5)


def trading_days() -> list[date]:
    """Return N_DAYS days from a Monday on, without weekends."""
    days = [MONDAY + timedelta(days=number) for number in range(2 * N_DAYS)]
    return [day for day in days if day.weekday() < 5][:N_DAYS]


def prices_of(company: str) -> list[float]:
    random = np.random.default_rng(sum(company.encode()))
    return [round(price, 2) for price in 50 + random.normal(size=N_DAYS).cumsum()]


def price_file(company: str, prices: list[float] | None = None) -> str:
    lines = [
        f"{day},1,1,1,{price},100,{company}\n"
        for day, price in zip(trading_days(), prices or prices_of(company))
    ]
    return "date,open,high,low,close,volume,Name\n" + "".join(lines)


def transcript(day: date, company: str) -> str:
    return f"MAEC_Dataset/{day:%Y%m%d}_{company}/text.txt"


def price_name(company: str) -> str:
    return f"individual_stocks_5yr/{company}_data.csv"


TENTH = trading_days()[10]
TWELFTH = trading_days()[12]

CALLS = {
    transcript(TWELFTH, "AB"): "Good growth, GOOD margins.\n",
    transcript(TENTH, "CD.E"): "We don't <UNK> know <UNK>'s growth in FY17.\n",
    transcript(TENTH, "AB"): "Good morning everyone\nat café Zürich",
}
PRICES = {price_name("AB"): price_file("AB"), price_name("CD.E"): price_file("CD.E")}


def archives(tmp_path, calls=CALLS, prices=PRICES) -> list[Path]:
    return [
        write_archive(tmp_path / "calls.tar.gz", calls),
        write_archive(tmp_path / "prices.tar.gz", prices),
    ]


def read(tmp_path, calls=CALLS, prices=PRICES, **options) -> dict:
    sources = archives(tmp_path, calls, prices)
    return read_dataset("earnings_calls", {**OPTIONS, **options}, sources, seed=0)


refused = partial(refusal, read)


# Rows


def test_rows_are_sorted_by_day_and_company(tmp_path):
    tree = read(tmp_path)
    order = tree["order"]
    assert order["time"].tolist() == [day.toordinal() for day in (TENTH, TENTH, TWELFTH)]
    assert json.loads(tree["names"]["companies"]) == ["AB", "CD.E"]
    assert order["company"].tolist() == [0, 1, 0]
    assert excluded(tree) == {}
    assert tree["report"]["rows_read"] == 3
    assert tree["report"]["rows_dropped"] == 0
    assert tree["report"]["companies"] == 2


def test_outputs_are_the_volatilities_of_the_weeks_after(tmp_path):
    tree = read(tmp_path)
    for row, (company, index) in enumerate([("AB", 10), ("CD.E", 10), ("AB", 12)]):
        prices = prices_of(company)
        weeks = [by_deviation(prices[index + 3 * week : index + 3 * week + 4]) for week in (0, 1)]
        np.testing.assert_allclose(tree["outputs"][row], weeks)
        lagged_values = by_deviation(prices[index - 4 : index + 1])
        assert tree["lagged_values"]["values"][row] == pytest.approx([lagged_values])
        days = trading_days()
        assert tree["order"]["begin"][row] == days[index - 4].toordinal()
        assert tree["order"]["end"][row] == days[index + 6].toordinal()
    assert json.loads(tree["names"]["outputs"]) == ["week_1", "week_2"]
    assert json.loads(tree["names"]["lagged_values"]) == ["lagged_4_days"]
    assert (tree["names"]["series_length"], tree["names"]["series_channels"]) == (2, 1)


def test_inputs_are_the_counts_of_words(tmp_path):
    tree = read(tmp_path)
    terms = stored_terms(tree)
    counts = inputs_of(tree).toarray()
    assert terms == sorted(
        {"good", "morning", "everyone", "at", "café", "zürich"}
        | {"we", "don", "know", "growth", "in"}
        | {"margins"}
    )
    found = [dict(zip(terms, row)) for row in counts]
    assert [row["good"] for row in found] == [1, 0, 2]
    assert [row["growth"] for row in found] == [0, 1, 1]
    assert counts.sum() == 6 + 5 + 4
    assert tree["report"]["terms"] == len(terms)


def test_call_on_a_weekend_counts_for_the_monday_after(tmp_path):
    saturday = trading_days()[9] + timedelta(days=1)
    assert saturday.weekday() == 5
    tree = read(tmp_path, {**CALLS, transcript(saturday, "CD.E"): "some good words"})
    assert excluded(tree) == {"a second transcript of the company for the same trading day": 1}
    calls = {**CALLS, transcript(saturday, "CD.E"): "some good words"}
    del calls[transcript(TENTH, "CD.E")]
    moved = read(tmp_path, calls)
    assert TENTH.weekday() == 0
    assert moved["order"]["time"].tolist() == tree["order"]["time"].tolist()
    # The earlier of the two is kept; rows are sorted by the day of the call, not of the trade.
    np.testing.assert_array_equal(moved["outputs"], tree["outputs"])
    assert tree["order"]["company"].tolist() == [1, 0, 0]
    np.testing.assert_array_equal(tree["outputs"][[1, 0, 2]], read(tmp_path)["outputs"])


def test_neither_order_nor_folders_nor_further_files_matter(tmp_path):
    first = read(tmp_path)
    calls = {f"repository-1a/{name}": CALLS[name] for name in reversed(CALLS)}
    calls["repository-1a/MAEC_Dataset/.DS_Store"] = "x"
    calls["repository-1a/MAEC_Dataset/20150119_AB/features.csv"] = "x"
    prices = {f"further/stock_data/{name}": PRICES[name] for name in reversed(PRICES)}
    assert_same_tree(read(tmp_path, calls, prices), first)


# Exclusions


def test_every_exclusion_is_counted_by_its_reason(tmp_path):
    days = trading_days()
    jump = prices_of("JU")
    jump[15:] = [price / 2 for price in jump[15:]]
    flat = prices_of("FL")
    flat[13:17] = [50.0] * 4
    gap = price_file("GA").splitlines(keepends=True)
    del gap[13:20]
    files = PRICES | {
        price_name("JU"): price_file("JU", jump),
        price_name("FL"): price_file("FL", flat),
        price_name("GA"): "".join(gap),
    }
    words = "some good words"
    calls = CALLS | {
        transcript(days[20], "AB"): "hello 2015 all",
        transcript(days[20], "XY"): words,
        transcript(days[20], "ZZ"): "no",
        transcript(days[3], "AB"): words,
        transcript(days[0] - timedelta(days=90), "AB"): words,
        transcript(days[N_DAYS - 6], "AB"): words,
        transcript(days[-1] + timedelta(days=1), "AB"): words,
        transcript(days[-1] + timedelta(days=90), "AB"): words,
        transcript(days[10], "JU"): words,
        transcript(days[10], "FL"): words,
        transcript(days[10], "GA"): words,
        transcript(days[25], "JU"): words,
    }
    tree = read(tmp_path, calls, files)
    assert tree["report"]["exclusions"] == {
        "fewer words than least_words": 2,
        "a company without prices": 1,
        "too few days with a price before the call": 2,
        "too few days with a price after the call": 3,
        "a gap in the prices": 1,
        "a jump of the price, such as a split or a spin-off": 1,
        "a window without any change of the price": 1,
        "a second transcript of the company for the same trading day": 0,
    }
    assert tree["report"]["rows_read"] == 15
    assert len(tree["outputs"]) == 4
    assert sum(excluded(tree).values()) == tree["report"]["rows_dropped"] == 11
    assert np.isfinite(tree["outputs"]).all()


def test_same_member_twice_is_a_second_transcript(tmp_path):
    name = transcript(TENTH, "AB")
    tree = read(tmp_path, [*CALLS.items(), (name, "an amended text"), (f"copy/{name}", "a b c")])
    assert excluded(tree) == {
        "a second transcript of the company for the same trading day": 1,
        "fewer words than least_words": 1,
    }


def test_no_call_can_be_used(tmp_path):
    message = refused(tmp_path, prices={price_name("XY"): price_file("XY")})
    assert "no call can be used: 3 for a company without prices" in message
    assert "calls.tar.gz with" in message
    assert "2 for fewer words" not in refused(tmp_path, least_words=100)


# Malformed sources


@pytest.mark.parametrize("folder", ["2015011_AB", "20150119AB", "20150230_AB", "AB_20150119", "x"])
def test_folders_whose_names_are_no_calls(tmp_path, folder):
    name = f"MAEC_Dataset/{folder}/text.txt"
    message = refused(tmp_path, {**CALLS, name: "some good words"})
    assert f"calls.tar.gz, member {name}: the folder '{folder}' does not name a day" in message


def test_members_that_cannot_be_read_are_named(tmp_path):
    name = transcript(TENTH, "AB")
    message = refused(tmp_path, {**CALLS, name: "fine\ncaf\xe9".encode("latin-1")})
    assert f"calls.tar.gz, member {name}, line 2: the line is not UTF-8 text" in message
    message = refused(tmp_path, prices={**PRICES, price_name("AB"): price_file("CD.E")})
    assert f"prices.tar.gz, member {price_name('AB')}, line 2: a price of 'CD.E'" in message
    prices = [*PRICES.items(), ("other/" + price_name("AB"), price_file("AB"))]
    assert "a second file of prices of 'AB'" in refused(tmp_path, prices=prices)
    message = refusal(read_dataset, "earnings_calls", OPTIONS, archives(tmp_path)[::-1], seed=0)
    assert "prices.tar.gz: no member" in message and "MAEC_Dataset/" in message


def test_prices_of_companies_without_calls_are_not_read(tmp_path):
    assert len(read(tmp_path, prices={**PRICES, price_name("XY"): "?"})["outputs"]) == 3


# Words


def test_words():
    text = "We'll see <UNK>-like Q3 growth: 3% x, naïve_guess über-GUT\u2014yes"
    assert words_of(text) == ["we", "ll", "see", "like", "growth", "über", "gut", "yes"]


def test_counts_of_words_by_a_second_way():
    texts = ["one two two", "", "three <UNK> one One"]
    counts, words = word_counts(texts)
    assert words == ["one", "three", "two"]
    assert counts.shape == (3, 3)
    expected = [[words_of(text).count(word) for word in words] for text in texts]
    np.testing.assert_array_equal(counts.toarray(), expected)
    assert counts.dtype == np.float64


# The catalogue


def test_earnings_calls_of_the_catalogue(mirror, tmp_path):
    settings = catalogue("earnings-calls")
    assert settings["inputs"]["lagged_values"] == "separate"
    paths = acquired("earnings-calls", mirror, tmp_path)
    tree = read_dataset(settings["reader"], settings["options"], paths, seed=0)
    report = tree["report"]
    assert tree["outputs"].shape == (1134, 6)
    assert (report["rows_read"], report["companies"], report["terms"]) == (3443, 413, 23143)
    assert excluded(tree) == {
        "fewer words than least_words": 69,
        "a company without prices": 2195,
        "too few days with a price before the call": 4,
        "too few days with a price after the call": 39,
        "a jump of the price, such as a split or a spin-off": 2,
    }
    means = [-3.6175, -3.8939, -3.8753, -3.9056, -3.8754, -3.8147]
    np.testing.assert_allclose(tree["outputs"].mean(axis=0), means, atol=1e-4)
    assert date.fromordinal(int(tree["order"]["time"].min())) == date(2015, 2, 26)
    assert date.fromordinal(int(tree["order"]["time"].max())) == date(2017, 12, 21)
    assert (np.diff(tree["order"]["time"]) >= 0).all()
