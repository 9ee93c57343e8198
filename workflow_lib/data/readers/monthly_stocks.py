"""Reader of the monthly stock prices of Matplotlib: from half a year to the next half."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workflow_lib.core.settings import Settings
from workflow_lib.tabular.tables import dataset_tree

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
    import matplotlib.cbook
    import numpy as np
    import pandas

    path = matplotlib.cbook.get_sample_data(_FILE, asfileobj=False)
    table = pandas.read_csv(path, comment="#", index_col="Date")
    table.index = pandas.to_datetime(table.index)
    # Rows of another day than the first of a month hold dividends and splits.
    table = table[table.index.day == 1].to_period("M")
    inputs, outputs, rows_read = [], [], 0
    for company in sorted(table):
        prices = table[company].dropna()
        for year in sorted(set(prices.index.year)):
            rows_read += 1
            months = pandas.period_range(f"{year - 1}-12", f"{year}-12", freq="M")
            log_prices = np.log(prices.reindex(months).to_numpy())
            if np.isnan(log_prices).any():
                continue
            inputs.append(log_prices[1 : 1 + _MONTHS] - log_prices[0])
            outputs.append(log_prices[1 + _MONTHS :] - log_prices[0])
    return dataset_tree(
        np.array(inputs),
        np.array(outputs),
        [f"month_{month}" for month in range(1, 1 + _MONTHS)],
        [f"month_{month}" for month in range(1 + _MONTHS, 13)],
        location="the stock prices of Matplotlib",
        rows_read=rows_read,
        names={"series_length": _MONTHS, "series_channels": 1},
    )
