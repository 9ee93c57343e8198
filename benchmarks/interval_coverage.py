"""Coverage: how many new outputs lie in the intervals of a model on a user table, and its claim.

Tables are drawn from laws (distributions) that only this package knows, and from the rows of real
tables. Each is processed like a user's table: inspected, configured, read, split, predicted by a
few methods with their own grids, and scored; then the best method is chosen, calibrated and saved.
The saved model predicts 500 fresh rows of the same law, or the rows of the real table that were set
aside, and the coverage of its intervals is counted: over all rows, and over the lowest, middle and
highest third of them by predicted value, by novelty and by the width of their interval. Nothing is
timed.

The error that the answer states is compared with that on the fresh rows, relative to the mean of
the outputs of the table, and so is the lowest mean over the splits, by which the method was chosen.
The range that is stated holds for as many new rows as a split has test rows: it is counted in how
many parts of this size of the fresh rows the error lies within it.

Widths are compared with those of one half-width for all rows, not clipped at the range of an
output; so are interval scores (Gneiting and Raftery, Journal of the American Statistical
Association 102, 2007), which add to the width 2 / (1 - level) for each unit by which an output lies
outside.

A law's coverage of all outputs of a fresh row at once is counted for the intervals of single
outputs, for the box and for the ellipsoid; of the two regions also over thirds of the rows by
novelty and by the width of the box. Their volumes are compared by the sides of cubes with the same
volume, not clipped at the ranges.

Fewer methods are compared than in a run of the workflow. Two more differences change no interval:
only the largest training size is used, and only the best method is fitted to all rows.

The ideal half width of a law is that of intervals around the true regression function, which no
method knows, with the same coverage of the fresh rows. The level of an interval holds on average
over tables: the half width of one table is a quantile of its own few rows, and its coverage varies
with them.
"""

import itertools
import math
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measuring import ROOT, Measurement, write_table
from benchmarks.table_laws import LAWS as SIMULATED_LAWS
from benchmarks.table_laws import REAL_TABLES, Law, RealTable, Rows
from benchmarks.user_table import METHODS, OwnTable
from workflow_lib.core.seeds import derive_seed
from workflow_lib.uncertainty.joint_regions import FORMS

TITLE = "Coverage of intervals"

LAWS: dict[str, Law | RealTable] = {**SIMULATED_LAWS, **REAL_TABLES}

N_QUICK_SIMULATIONS = 3

BAND = (0.87, 0.93)
"""Range in which the mean coverage of intervals of 90 % must lie. For a real table the upper bound
is not applied: with few different values of an output, the coverage cannot be matched exactly."""

MIN_COVERAGE_OF_THIRDS = 0.8
"""Least coverage of every third of the rows."""

THIRDS = tuple(
    f"{third}_{by}"
    for by in ("predicted", "novelty", "width")
    for third in ("lowest", "middle", "highest")
)
"""Thirds of the fresh rows, of each of which the coverage is counted."""

JOINT_THIRDS = tuple(
    f"{form}_{third}_{by}"
    for form in FORMS
    for by in ("novelty", "width")
    for third in ("lowest", "middle", "highest")
)
"""Thirds of the fresh rows, of each of which the coverage by a region is counted."""

JOINT = ("all_in_intervals", "in_box", "in_ellipsoid", *JOINT_THIRDS)
"""Shares of the fresh rows all outputs of which are held."""

SIDES = ("box_over_intervals", "ellipsoid_over_box")
"""Ratios of the sides of cubes with the volumes of the regions."""

COLUMNS = (
    "law",
    "simulation",
    "output",
    "winner",
    "coverage",
    *THIRDS,
    "width_over_constant",
    "score_over_constant",
    "half_width_over_ideal",
    "measured_by_product",
    "fresh_error",
    "claimed_error",
    "lowest_error",
    "share_in_claimed_range",
    *JOINT,
    *SIDES,
)
"""Columns of ``interval_coverage.csv``: one row per output of a simulated table."""

BY_LAW = "interval_coverage_by_law"


def measurements(quick: bool) -> list[Measurement]:
    """Return what is measured: every law whose packages or data are available."""
    wanted = []
    for name, law in LAWS.items():
        if law.is_here():
            n_simulations = min(law.n_draws, N_QUICK_SIMULATIONS) if quick else law.n_draws
            wanted.append(Measurement("coverage", {"law": name, "n_simulations": n_simulations}))
        else:
            why = "its data are in no mirror" if law.is_real else f"{law.package} is not installed"
            print(f"interval_coverage: {name} left out, {why}")
    return wanted


def coverage(law: str, n_simulations: int, seed: int = 0) -> list[dict[str, Any]]:
    """Return the rows of one law: all outputs of all simulated tables.

    Parameters
    ----------
    law : str
        Of `LAWS`.
    n_simulations : int
    seed : int, default=0
    """
    rows = []
    for simulation in range(n_simulations):
        with tempfile.TemporaryDirectory() as folder:
            found = simulated(
                LAWS[law], Path(folder), derive_seed(seed, "interval coverage", law, simulation)
            )
        rows += [{"law": law, "simulation": simulation + 1} | each for each in found]
    return rows


def simulated(
    law: Law | RealTable, folder: Path, seed: int, config: Path = ROOT / "config"
) -> list[dict[str, Any]]:
    """Return the rows of one simulated table, without the name of the law.

    Parameters
    ----------
    law : Law or RealTable
    folder : path
        Folder of the table and all artifacts.
    seed : int
    config : path, default=config/ of the checkout
        The folder with ``methods/`` and ``models/``.
    """
    known, fresh = law.tables(np.random.default_rng(seed))
    names = [f"y{output}" for output in range(1, known.outputs.shape[1] + 1)]
    columns = known.inputs | dict(zip(names, known.outputs.T.tolist()))
    table = OwnTable.new(
        folder, "simulated", columns, names, law.n_splits, seed, config, law.methods, law.request
    )
    table.answer()
    predicted = table.predict(fresh.inputs)
    measured, constant = table.measured_coverage(), table.constant_half_widths()
    half_widths = table.intervals().half_widths(predicted.outputs, predicted.novelty)
    of_table = _claim(table.answered(), predicted.outputs, fresh.outputs, known.outputs)
    of_table |= _joint(predicted, half_widths, fresh.outputs)
    return [
        {
            "output": name,
            "winner": table.answered()["winner"],
            "level": float(predicted.level),
            "measured_by_product": float(measured[output]),
            **_counted(predicted, half_widths, fresh, output, float(constant[output])),
            **of_table,
        }
        for output, name in enumerate(names)
    ]


def _claim(
    answer: Mapping[str, Any], predicted: np.ndarray, truth: np.ndarray, known: np.ndarray
) -> dict[str, float]:
    """Return the error on the fresh rows, what the answer says of it, and how often it holds."""

    def error(rows: slice) -> float:
        squares = (
            (truth[rows] - each) ** 2 for each in (predicted[rows], np.nanmean(known, axis=0))
        )
        ours, of_mean = (np.nansum(each, axis=0) for each in squares)
        return float(np.sqrt(ours / of_mean).mean())

    # The error of the training mean is 1 up to rounding, and so is its range.
    low, high = np.add(answer["range_of_new_rows"], [-1e-9, 1e-9])
    size = answer["n_test"]
    parts = [slice(begin, begin + size) for begin in range(0, len(truth) - size + 1, size)]
    return {
        "fresh_error": error(slice(None)),
        "claimed_error": answer["mean"],
        "lowest_error": min(row["mean"] for row in answer["leaderboard"]),
        "share_in_claimed_range": float(np.mean([low <= error(part) <= high for part in parts])),
    }


def _joint(predicted: Any, half_widths: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """Return how often fresh rows have all outputs in their intervals and regions; the sides. NaN
    where the model has no regions, or there were too few rows for them."""
    if predicted.joint is None:
        return dict.fromkeys((*JOINT, *SIDES), math.nan)
    known = ~np.isnan(truth).any(axis=1)
    single = (predicted.lower <= truth) & (truth <= predicted.upper)
    found = {"all_in_intervals": float(single[known].all(axis=1).mean())}
    log_sides = predicted.joint.log_sides
    by = {"novelty": predicted.novelty[known], "width": log_sides[known, 0]}
    for form in FORMS:
        held = predicted.joint.contain(truth, form)[known]
        found[f"in_{form}"] = float(held.mean())
        for name, values in by.items():
            thirds = np.array_split(np.argsort(values, kind="stable"), 3)
            for third, part in zip(("lowest", "middle", "highest"), thirds, strict=True):
                found[f"{form}_{third}_{name}"] = float(held[part].mean())
    varied = (half_widths > 0).all(axis=0)
    of_intervals = np.log(2.0 * half_widths[:, varied]).mean()
    box, ellipsoid = log_sides.mean(axis=0)
    return found | {
        "box_over_intervals": float(np.exp(box - of_intervals)),
        "ellipsoid_over_box": float(np.exp(ellipsoid - box)),
    }


def _counted(
    predicted: Any, half_widths: np.ndarray, fresh: Rows, output: int, constant: float
) -> dict[str, float]:
    """Return the coverage of the fresh rows by the intervals of one output, and their widths.
    `half_widths` (m, d) are not clipped; rows are sorted by them."""
    known = ~np.isnan(fresh.outputs[:, output])
    lower, upper = predicted.lower[known, output], predicted.upper[known, output]
    truth, centre = fresh.outputs[known, output], predicted.outputs[known, output]
    held = (lower <= truth) & (truth <= upper)
    by = {
        "predicted": centre,
        "novelty": predicted.novelty[known],
        "width": half_widths[known, output],
    }
    thirds = [
        held[part].mean()
        for values in by.values()
        for part in np.array_split(np.argsort(values, kind="stable"), 3)
    ]

    def score(low: np.ndarray, high: np.ndarray) -> float:
        outside = np.maximum(low - truth, 0.0) + np.maximum(truth - high, 0.0)
        return float((high - low + 2.0 / (1.0 - predicted.level) * outside).mean())

    width = float((upper - lower).mean())
    score_of_constant = score(centre - constant, centre + constant)
    ideal = math.nan
    if fresh.means is not None:
        sizes = np.abs(fresh.outputs - fresh.means)[known, output]
        ideal = float(np.quantile(sizes, predicted.level))
    return {
        "coverage": float(held.mean()),
        **{name: float(share) for name, share in zip(THIRDS, thirds, strict=True)},
        "width_over_constant": width / (2.0 * constant) if constant > 0 else math.nan,
        "score_over_constant": score(lower, upper) / score_of_constant
        if score_of_constant > 0
        else math.nan,
        "half_width_over_ideal": width / 2.0 / ideal,
    }


def summary(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the row of a law from those of its simulated tables.

    The coverage of a table is the mean over its outputs. ``deviation`` is the standard deviation
    over tables, ``share_in_band`` the share of tables, and ``share_of_outputs_in_band`` that of
    single outputs, with a coverage in `BAND`. The coverages of thirds, and the ratios of widths and
    of interval scores, are means over outputs; ``least_third`` is the smallest of these coverages.
    """
    by_table: dict[Any, list[Mapping[str, Any]]] = {}
    for row in rows:
        by_table.setdefault(row["simulation"], []).append(row)
    tables = np.array([np.mean([row["coverage"] for row in each]) for each in by_table.values()])
    winners = [each[0]["winner"] for each in by_table.values()]
    law = LAWS[rows[0]["law"]]
    thirds = {name: float(np.mean([row[name] for row in rows])) for name in THIRDS}
    is_met = BAND[0] <= tables.mean() and (law.is_real or tables.mean() <= BAND[1])
    is_met &= min(thirds.values()) >= MIN_COVERAGE_OF_THIRDS
    fresh = float(np.mean([row["fresh_error"] for row in rows]))

    def means(names: Sequence[str]) -> dict[str, float]:
        return {name: _mean([row[name] for row in rows]) for name in names}

    return {
        "law": rows[0]["law"],
        "rows": law.n_rows,
        "splits": law.n_splits,
        "simulations": len(tables),
        "outputs": len(rows) // len(tables),
        "level": rows[0]["level"],
        "coverage": float(tables.mean()),
        "deviation": float(tables.std(ddof=1)) if len(tables) > 1 else math.nan,
        "share_in_band": float(_is_in_band(tables).mean()),
        "share_of_outputs_in_band": float(
            _is_in_band(np.array([row["coverage"] for row in rows])).mean()
        ),
        "least_third": min(thirds.values()),
        **thirds,
        "met": "yes" if is_met else "no",
        **means(("width_over_constant", "score_over_constant", "half_width_over_ideal")),
        "measured_by_product": float(np.mean([row["measured_by_product"] for row in rows])),
        "fresh_error": fresh,
        "claimed_over_fresh": float(np.mean([row["claimed_error"] for row in rows])) / fresh,
        "lowest_over_fresh": float(np.mean([row["lowest_error"] for row in rows])) / fresh,
        "share_in_claimed_range": float(np.mean([row["share_in_claimed_range"] for row in rows])),
        **means((*JOINT, *SIDES)),
        "winners": ", ".join(
            f"{winners.count(name)} {name}" for name in METHODS if name in winners
        ),
    }


def _mean(values: Sequence[float]) -> float:
    """Return the mean without NaN; NaN where all values are NaN."""
    known = [value for value in values if not math.isnan(value)]
    return float(np.mean(known)) if known else math.nan


def _is_in_band(values: np.ndarray) -> np.ndarray:
    return (values >= BAND[0]) & (values <= BAND[1])


def write(folder: Path, found: Sequence[list[dict]], quick: bool) -> tuple[str, list[str]]:
    """Write both tables; return what was found for the last law, and what it fails.

    That is where its mean coverage is outside of `BAND`, or one of its thirds has a coverage below
    `MIN_COVERAGE_OF_THIRDS`; a few tables (`quick`) are too few to estimate the mean.
    """
    laws = [summary(rows) for rows in found]
    for name, columns, rows in (
        ("interval_coverage", COLUMNS, itertools.chain.from_iterable(found)),
        (BY_LAW, list(laws[0]), laws),
    ):
        shown = [{key: _shown(value) for key, value in row.items()} for row in rows]
        write_table(folder / f"{name}.csv", shown, columns)
    last, faults = laws[-1], []
    if last["met"] == "no" and not quick:
        faults = [f"mean coverage {last['coverage']:.1%}, least third {last['least_third']:.1%}"]
    return in_words(last), faults


def in_words(law: Mapping[str, Any]) -> str:
    """Return the line that is printed for a law."""
    ratio = law["half_width_over_ideal"]
    ideal = "" if math.isnan(ratio) else f"half widths {ratio:.2f} times the ideal; "
    return (
        f"{law['law']}: {law['coverage']:.1%} of fresh outputs in intervals of {law['level']:.0%} "
        f"(deviation over {law['simulations']} tables {law['deviation']:.1%}; "
        f"{law['share_in_band']:.0%} of the tables between {BAND[0]:.0%} and {BAND[1]:.0%}; the "
        f"product states {law['measured_by_product']:.1%}; thirds by prediction "
        f"{_in_percent(law, 'predicted')}, by novelty {_in_percent(law, 'novelty')}, by width "
        f"{_in_percent(law, 'width')}; widths {law['width_over_constant']:.2f} and scores "
        f"{law['score_over_constant']:.2f} times those of one width; "
        f"{ideal}error {law['fresh_error']:.3f}, claimed {law['claimed_over_fresh']:.3f} times it, "
        f"lowest mean {law['lowest_over_fresh']:.3f} times it, in the claimed range "
        f"{law['share_in_claimed_range']:.0%}; all outputs of a row in their intervals "
        f"{law['all_in_intervals']:.0%}, in the box {law['in_box']:.0%} (by novelty "
        f"{_in_percent(law, 'novelty', 'box_')}, by width {_in_percent(law, 'width', 'box_')}), "
        f"in the ellipsoid {law['in_ellipsoid']:.0%} (by novelty "
        f"{_in_percent(law, 'novelty', 'ellipsoid_')}), sides {law['box_over_intervals']:.2f} "
        f"times those of intervals, of the ellipsoid {law['ellipsoid_over_box']:.2f} times those "
        f"of the box; winners: {law['winners']})"
    )


def _in_percent(law: Mapping[str, Any], by: str, form: str = "") -> str:
    """Return the coverages of the three thirds, as ``91/90/89``."""
    thirds = (f"{form}{third}_{by}" for third in ("lowest", "middle", "highest"))
    return "/".join(f"{100 * law[name]:.0f}" for name in thirds)


def _shown(value: Any) -> Any:
    return f"{value:.4g}" if isinstance(value, float) else value
