"""Reader of the monthly stock prices of Matplotlib: from half a year to the next half."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workflow_lib.config.base import Settings
from workflow_lib.datasets.tables import dataset_tree

_FILE = "Stocks.csv"
_MONTHS = 6


class Options(Settings):
    """Options of the reader ``monthly_stocks``: there are none."""


def read(options: Options, sources: Sequence[Path], seed: int) -> dict[str, Any]:
    """Return one row per company (or index) and calendar year with twelve monthly prices.

    Values are logarithms of prices relative to the previous December: the inputs of January to
    June, the outputs of July to December. Years with a missing month, or without the previous
    December, are dropped and counted. `sources` and `seed` are not used.
    """
    import csv

    import matplotlib.cbook
    import numpy as np

    path = matplotlib.cbook.get_sample_data(_FILE, asfileobj=False)
    with open(path, encoding="utf-8", newline="") as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        prices: dict[str, dict[tuple[int, int], float]] = {}
        for row in rows:
            year, month, day = map(int, row.pop("Date").split("-"))
            for company, price in row.items():
                # Rows of another day than the first of a month hold dividends and splits.
                if day == 1 and price:
                    prices.setdefault(company, {})[year, month] = float(price)
    inputs, outputs, rows_read = [], [], 0
    for company in sorted(prices):
        record = prices[company]
        for year in sorted({year for year, _ in record}):
            rows_read += 1
            months = [(year - 1, 12), *((year, month) for month in range(1, 13))]
            if not all(month in record for month in months):
                continue
            log_prices = np.log([record[month] for month in months])
            inputs.append(log_prices[1 : 1 + _MONTHS] - log_prices[0])
            outputs.append(log_prices[1 + _MONTHS :] - log_prices[0])
    return dataset_tree(
        np.array(inputs),
        np.array(outputs),
        [f"month_{month}" for month in range(1, 1 + _MONTHS)],
        [f"month_{month}" for month in range(1 + _MONTHS, 13)],
        place="the stock prices of Matplotlib",
        rows_read=rows_read,
        names={"series_length": _MONTHS, "series_channels": 1},
    )
