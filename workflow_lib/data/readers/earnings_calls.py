"""Reader of earnings calls: from the words of a call to the later weekly volatility of the share.

The transcripts are those of MAEC (Li et al. 2020), the daily prices those of the companies of the
S&P 500, 2013 to 2018. The task follows section 6.3 of Djerrab et al. (2018), which predicts yearly
volatilities from yearly reports (Kogan et al. 2009).
"""

import json
import re
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, Strict

from workflow_lib.core.archive_members import matching_members
from workflow_lib.core.errors import UserError
from workflow_lib.core.settings import Settings
from workflow_lib.items.word_counts import word_counts, words_of
from workflow_lib.tabular.tables import check_sources, dataset_tree, utf8_text, wrong_source

TRANSCRIPTS = "MAEC_Dataset/*/text.txt"

TOO_FEW_WORDS = "fewer words than least_words"
NO_PRICES = "a company without prices"
REPEATED = "a second transcript of the company for the same trading day"

_FOLDER = re.compile(r"([0-9]{8})_([A-Za-z0-9.-]+)")

Count = Annotated[int, Strict(), Field(ge=1)]


class Options(Settings):
    """Options of the reader ``earnings_calls``."""

    weeks: Count = 6
    """Weekly log-volatilities to predict. The default spans about half of the time between two
    calls."""

    days_per_week: Annotated[int, Strict(), Field(ge=2)] = 5
    """Number of daily returns in a week."""

    lagged_days: Annotated[int, Strict(), Field(ge=2)] = 30
    """Number of daily returns up to the day of the call whose log-volatility is the lagged value;
    the default is the number of returns in the predicted weeks."""

    least_words: Count = 50
    """Calls with fewer words are left out: such a transcript contains little more than a
    greeting."""

    largest_jump: Annotated[float, Strict(), Field(gt=0, allow_inf_nan=False)] = 0.4
    """Largest absolute logarithm of the ratio of two successive prices. Calls with a larger ratio
    in their windows are left out: the prices are not adjusted for all splits and spin-offs."""

    longest_gap: Count = 7
    """Largest number of calendar days from a price to the next, and from the call to the next
    price. Calls with more in their windows are left out: markets close for fewer days on
    holidays."""


def read(options: Options, sources: Sequence[Path], seed: int) -> dict[str, Any]:
    """Return one row per call; `seed` is not used.

    `sources` are two tar archives, read in place: first the transcripts, members
    ``MAEC_Dataset/YYYYMMDD_COMPANY/text.txt``; then the prices, members
    ``individual_stocks_5yr/COMPANY_data.csv`` (see
    `workflow_lib.data.price_windows.company_prices`).

    ``inputs``: the counts of words (`workflow_lib.items.word_counts`), sparse, with every word
    of the rows. ``outputs``: the log-volatilities of the weeks after the call; ``lagged_values``:
    that of the days up to it (`workflow_lib.data.price_windows.volatility_windows`). ``order``:
    the trading day of the call, on which inputs and lagged values are known; the first and the last
    day of the prices of a row; the company, as an index of ``companies`` in ``names``. The rows are
    sorted by the day of the call and the company; of two calls of a company for the same trading
    day the first is kept. Calls that cannot be used are counted by reason in ``exclusions`` of
    ``report``.

    Raises UserError naming the archive, the member and the line that cannot be read.
    """
    import numpy as np

    from workflow_lib.data.price_windows import REASONS, company_prices, volatility_windows

    check_sources(sources, "earnings_calls", "the archive of the transcripts", "that of the prices")
    transcripts = _transcripts(sources[0])
    prices = company_prices(sources[1], {company for _, company, _ in transcripts})
    limits = options.model_dump(exclude={"least_words"})
    excluded = Counter(dict.fromkeys((TOO_FEW_WORDS, NO_PRICES, *REASONS, REPEATED), 0))
    rows, texts = {}, []
    for day, company, text in transcripts:
        if len(words_of(text)) < options.least_words:
            excluded[TOO_FEW_WORDS] += 1
        elif company not in prices:
            excluded[NO_PRICES] += 1
        else:
            windows, reason = volatility_windows(prices[company], day, **limits)
            if windows is None:
                excluded[reason] += 1
            elif (windows.day, company) in rows:
                excluded[REPEATED] += 1
            else:
                rows[windows.day, company] = windows
                texts.append(text)
    if not rows:
        raise UserError(
            location=f"{sources[0]} with {sources[1]}",
            found="no call can be used: "
            + ", ".join(f"{count} for {reason}" for reason, count in excluded.items() if count),
            expected="calls with enough words and with prices before and after",
            remedy="check the options, and that the two archives belong together",
        )
    counts, terms = word_counts(texts)
    companies = sorted({company for _, company in rows})
    windows = list(rows.values())
    return dataset_tree(
        counts,
        np.array([row.weeks for row in windows]),
        terms,
        [f"week_{week + 1}" for week in range(options.weeks)],
        location=str(sources[0]),
        rows_read=len(transcripts),
        lagged_values={"values": np.array([[row.lagged_value] for row in windows])},
        order={
            "time": np.array([row.day for row in windows]),
            "begin": np.array([row.begin for row in windows]),
            "end": np.array([row.end for row in windows]),
            "company": np.array([companies.index(company) for _, company in rows]),
        },
        names={
            "lagged_values": json.dumps([f"lagged_{options.lagged_days}_days"]),
            "companies": json.dumps(companies),
            "series_length": options.weeks,
            "series_channels": 1,
        },
        report={"exclusions": dict(excluded), "companies": len(companies), "terms": len(terms)},
    )


def _transcripts(archive: Path) -> list[tuple[int, str, str]]:
    """Return the stated day (`date.toordinal`), the company and the text of each call, sorted."""
    transcripts = []
    for name, content in matching_members(archive, TRANSCRIPTS):
        location, folder = f"{archive}, member {name}", name.split("/")[1]
        match = _FOLDER.fullmatch(folder)
        try:
            day = datetime.strptime(match[1] if match else "", "%Y%m%d").toordinal()
        except ValueError as error:
            raise wrong_source(
                location,
                f"the folder '{folder}' does not name a day and a company",
                "a folder YYYYMMDD_COMPANY, for example 20150225_LMAT",
            ) from error
        text = utf8_text(content, location, "check that this is the intended archive")
        transcripts.append((day, match[2], text))
    return sorted(transcripts)
