"""Reader of the covariances of daily returns: from those of some weeks to the volatilities after.

The daily prices are those of the companies of the S&P 500, 2013 to 2018.
"""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, Strict

from workflow_lib.core.errors import UserError
from workflow_lib.core.settings import Settings
from workflow_lib.core.values import without_repeats
from workflow_lib.tabular.tables import check_sources, dataset_tree

JUMP = "a jump of a price, such as a split or a spin-off"
NO_CHANGE = "days without any change of a price"
REASONS = (JUMP, NO_CHANGE)


class Options(Settings):
    """Options of the reader ``stock_covariances``."""

    companies: Annotated[tuple[str, ...], Field(min_length=2), AfterValidator(without_repeats)]
    """Names of the companies p, as in the names of the files of prices."""

    inputs: Literal["covariances", "volatilities", "returns"] = "covariances"
    """What the daily returns of the days before become: the lower triangle of their covariance
    matrix; the log-volatilities of the companies alone; or the returns themselves, those of the
    first day, then of the next."""

    days_before: Annotated[int, Strict(), Field(ge=2)] = 20
    """Daily returns of which the inputs are made."""

    days_after: Annotated[int, Strict(), Field(ge=2)] = 5
    """Daily returns of which the outputs are made; also the days from a row to the next."""

    largest_jump: Annotated[float, Strict(), Field(gt=0, allow_inf_nan=False)] = 0.4
    """Largest absolute logarithm of the ratio of two successive prices. Rows with a larger ratio
    in their days are left out: the prices are not adjusted for all splits and spin-offs."""


def read(options: Options, sources: Sequence[Path], seed: int) -> dict[str, Any]:
    """Return one row per `days_after` trading days; `seed` is not used.

    The source is a tar archive of prices (`workflow_lib.data.price_windows.company_prices`), of
    which the days count on which all companies have a price. ``inputs``: of the returns up to a
    day, in percent, as `Options.inputs`; ``outputs``: the log-volatility of each company in the
    days after (`workflow_lib.data.price_windows.log_volatility`). ``order``: the day, the first
    and the last day of the prices of a row. Rows that cannot be used are counted by reason in
    ``exclusions`` of ``report``.

    Raises UserError naming the archive, the member and the line that cannot be read; if a company
    has no prices, or no row can be used.
    """
    import numpy as np

    from workflow_lib.data.price_windows import company_prices, log_volatility

    check_sources(sources, "stock_covariances", "the archive of the prices")
    companies, location = list(options.companies), str(sources[0])
    known = company_prices(sources[0], set(companies))
    absent = [company for company in companies if company not in known]
    if absent:
        raise UserError(
            location=location,
            found=f"no prices of {', '.join(absent)}",
            expected="a file of prices of each of options.companies",
            remedy="correct options.companies of the dataset",
        )
    days = sorted(set.intersection(*(set(known[name].days.tolist()) for name in companies)))
    prices = np.array([known[name].prices[np.isin(known[name].days, days)] for name in companies]).T
    before, after = options.days_before, options.days_after
    excluded = Counter(dict.fromkeys(REASONS, 0))
    rows, outputs, indices = [], [], []
    middles = range(before, len(days) - after, after)
    for middle in middles:
        window = prices[middle - before : middle + after + 1]
        past = log_volatility(window[: before + 1].T)
        future = log_volatility(window[before:].T)
        if np.abs(np.diff(np.log(window), axis=0)).max() > options.largest_jump:
            excluded[JUMP] += 1
        elif not (np.isfinite(past).all() and np.isfinite(future).all()):
            excluded[NO_CHANGE] += 1
        else:
            returns = 100.0 * np.diff(window[: before + 1], axis=0) / window[:before]
            rows.append(past if options.inputs == "volatilities" else _of_returns(returns, options))
            outputs.append(future)
            indices.append((middle, middle - before, middle + after))
    if not rows:
        raise UserError(
            location=location,
            found=f"no row can be used of {len(middles)} on {len(days)} days with all prices",
            expected=f"more than {before + after} successive days",
            remedy="check the options days_before, days_after, companies and largest_jump",
        )
    times = np.array(days)[np.array(indices)]
    names = _names(companies, options)
    return dataset_tree(
        np.array(rows),
        np.array(outputs),
        names,
        companies,
        location=location,
        rows_read=len(middles),
        order={
            "time": times[:, 0],
            "begin": times[:, 1],
            "end": times[:, 2],
            "company": np.zeros(len(rows), dtype=np.int64),
        },
        names={"companies": json.dumps(["all"])},
        report={"exclusions": dict(excluded), "days": len(days)},
    )


def _of_returns(returns, options: Options):
    """Return the inputs made of returns (days, p)."""
    import numpy as np

    if options.inputs == "returns":
        return returns.ravel()
    centred = returns - returns.mean(axis=0)
    covariance = centred.T @ centred / len(returns)
    return covariance[np.tril_indices(len(covariance))]


def _names(companies: Sequence[str], options: Options) -> list[str]:
    if options.inputs == "volatilities":
        return list(companies)
    if options.inputs == "returns":
        return [f"{name}_{day + 1}" for day in range(options.days_before) for name in companies]
    return [f"{name}_{other}" for i, name in enumerate(companies) for other in companies[: i + 1]]
