"""Coverage: how many new outputs lie in the intervals of a model on a user table, and its claim.

Tables are drawn from laws (distributions) that only this package knows, and from the rows of real
tables; each is processed like a user's table, and the saved model predicts fresh rows of the same
law. Nothing is timed. benchmarks/README.md says what is counted.
"""

from __future__ import annotations

import math
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from benchmarks.measuring import ROOT, Measurement
from benchmarks.table_laws import LAWS as SIMULATED_LAWS
from benchmarks.table_laws import REAL_TABLES, Law, RealTable, Rows
from workflow_lib.core.artifacts import read_artifact
from workflow_lib.core.seeds import derive_seed
from workflow_lib.core.whole_files import write_text
from workflow_lib.table.in_process import TableRun, run_table
from workflow_lib.uncertainty.joint_regions import FORMS

LAWS: dict[str, Law | RealTable] = {**SIMULATED_LAWS, **REAL_TABLES}

N_QUICK_SIMULATIONS = 3

BAND = (0.87, 0.93)
"""Range in which the mean coverage of intervals of 90 % must lie. For a real table the upper bound
is not applied: with few different values of an output, the coverage cannot be matched exactly."""

MIN_COVERAGE_OF_THIRDS = 0.8
"""Least coverage of every third of the rows."""

PARTS = ("lowest", "middle", "highest")
THIRDS = tuple(f"{part}_{by}" for by in ("predicted", "novelty", "width") for part in PARTS)
"""Thirds of the fresh rows, of each of which the coverage is counted."""

JOINT_THIRDS = tuple(f"{form}_{third}" for form in FORMS for third in THIRDS[3:])
"""Thirds of the fresh rows, of each of which the coverage by a region is counted."""

JOINT = ("all_in_intervals", "in_box", "in_ellipsoid", *JOINT_THIRDS)
"""Shares of the fresh rows all outputs of which are held."""

SIDES = ("box_over_intervals", "ellipsoid_over_box")
"""Ratios of the sides of cubes with the volumes of the regions."""

WIDTHS = ("width_over_constant", "score_over_constant", "half_width_over_ideal")

COLUMNS = (
    *("law", "simulation", "output", "winner", "coverage", *THIRDS, *WIDTHS),
    *("measured_by_product", "fresh_error", "claimed_error", "lowest_error"),
    *("share_in_claimed_range", *JOINT, *SIDES),
)
"""Columns of ``interval_coverage.csv``: one row per output of a simulated table."""


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
    """Return the rows of one law of `LAWS`: all outputs of all simulated tables."""
    rows = []
    for simulation in range(n_simulations):
        own_seed = derive_seed(seed, "interval coverage", law, simulation)
        with tempfile.TemporaryDirectory() as folder:
            found = simulated(LAWS[law], Path(folder), own_seed)
        rows += [{"law": law, "simulation": simulation + 1} | each for each in found]
    return rows


def configured(
    folder: Path,
    columns: Mapping[str, Sequence],
    outputs: Sequence[str],
    law: Law | RealTable,
    seed: int,
    config: Path = ROOT / "config",
) -> TableRun:
    """Return an experiment on a user's table, of the last training size and the methods of a law.

    `folder` holds the table, its configuration and all artifacts; `config` has ``methods/`` and
    ``models/``. The methods are of the regressors training_mean and kernel_ridge.
    """
    from workflow_lib.run.loading import load_configuration
    from workflow_lib.table.proposal_text import dataset_text, experiment_text
    from workflow_lib.table.table_proposal import propose
    from workflow_lib.tabular.table_file import read_table

    name, own = "simulated", folder / "config"
    for kind in ("methods", "models"):
        shutil.copytree(config / kind, own / kind)
    table = folder / f"{name}.csv"
    pd.DataFrame(columns, dtype=object).to_csv(table, index=False)
    request = {"name": name, "data": str(table), "outputs": list(outputs), **(law.request or {})}
    proposal = propose(request, read_table(str(table)), own)
    summaries = dict(proposal.methods)
    proposal.methods = [(method, summaries[method]) for method in law.methods]
    proposal.training_sizes = proposal.training_sizes[-1:]
    proposal.n_splits = law.n_splits
    for kind, text in {"datasets": dataset_text, "experiments": experiment_text}.items():
        written = yaml.safe_load(text(proposal))
        # Nothing is plotted here, and some result tables need methods that are left out.
        for part in ("tables", "figures"):
            written.pop(part, None)
        write_text(own / kind / f"{name}.yaml", yaml.safe_dump(written))
    settings = load_configuration(own, {"name": name, "seed": seed})
    return TableRun(settings, name, folder)


def simulated(
    law: Law | RealTable, folder: Path, seed: int, config: Path = ROOT / "config"
) -> list[dict[str, Any]]:
    """Return the rows of one simulated table, without the name of the law; see `configured`."""
    from workflow_lib.table.saved_model import load_model
    from workflow_lib.uncertainty.row_intervals import RowIntervals

    known, fresh = law.tables(np.random.default_rng(seed))
    names = [f"y{output}" for output in range(1, known.outputs.shape[1] + 1)]
    columns = known.inputs | dict(zip(names, known.outputs.T.tolist()))
    run = configured(folder, columns, names, law, seed, config)
    for _ in run_table(run):
        pass
    answer, results = run.answer(), run.file(f"results/{run.name}/model.h5").parent
    model = load_model(results / "model.h5")
    predicted = model.predict(fresh.inputs, joint=model.joint_regions is not None)
    calibration = read_artifact(results / "calibration.h5", "calibration")
    # NaN where the test rows of all splits are too few to measure any.
    measured = pd.DataFrame(calibration["coverage"]).mean()
    intervals = RowIntervals.from_tree(calibration["intervals"])
    half_widths = intervals.half_widths(predicted.outputs, predicted.novelty)
    constants = calibration["constant_half_widths"]
    of_table = _claim(answer, predicted.outputs, fresh.outputs, known.outputs)
    of_table |= _joint(predicted, half_widths, fresh.outputs)
    return [
        {
            "output": name,
            "winner": answer["winner"],
            "level": float(predicted.level),
            "measured_by_product": float(measured[output]),
            **_counted(predicted, half_widths, fresh, output, float(constants[output])),
            **of_table,
        }
        for output, name in enumerate(names)
    ]


def _claim(
    answer: Mapping[str, Any], predicted: np.ndarray, truth: np.ndarray, known: np.ndarray
) -> dict[str, float]:
    """Return the error on the fresh rows, what the answer says of it, and how often it holds."""

    def error(rows: slice) -> float:
        ours, of_mean = (
            np.nansum((truth[rows] - each) ** 2, axis=0)
            for each in (predicted[rows], np.nanmean(known, axis=0))
        )
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


def _in_thirds(held: np.ndarray, **values: np.ndarray) -> dict[str, float]:
    """Return the shares of rows that are held, of thirds of the rows by each of some values."""
    return {
        f"{part}_{by}": float(held[rows].mean())
        for by, numbers in values.items()
        for part, rows in zip(PARTS, np.array_split(np.argsort(numbers, kind="stable"), 3))
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
    for form in FORMS:
        held = predicted.joint.contain(truth, form)[known]
        found[f"in_{form}"] = float(held.mean())
        thirds = _in_thirds(held, novelty=predicted.novelty[known], width=log_sides[known, 0])
        found |= {f"{form}_{third}": share for third, share in thirds.items()}
    varied = (half_widths > 0).all(axis=0)
    of_intervals = np.log(2.0 * half_widths[:, varied]).mean()
    box, ellipsoid = log_sides.mean(axis=0)
    sides = np.exp([box - of_intervals, ellipsoid - box])
    return found | dict(zip(SIDES, sides.tolist(), strict=True))


def _counted(
    predicted: Any, half_widths: np.ndarray, fresh: Rows, output: int, constant: float
) -> dict[str, float]:
    """Return the coverage of the fresh rows by the intervals of one output, and their widths.
    `half_widths` (m, d) are not clipped; rows are sorted by them."""
    known = ~np.isnan(fresh.outputs[:, output])
    arrays = predicted.lower, predicted.upper, fresh.outputs, predicted.outputs, half_widths
    lower, upper, truth, centre, widths = (values[known, output] for values in arrays)
    held = (lower <= truth) & (truth <= upper)

    def score(low: np.ndarray, high: np.ndarray) -> float:
        outside = np.maximum(low - truth, 0.0) + np.maximum(truth - high, 0.0)
        return float((high - low + 2.0 / (1.0 - predicted.level) * outside).mean())

    width = float((upper - lower).mean())
    of_constant = score(centre - constant, centre + constant)
    ideal = math.nan
    if fresh.means is not None:
        sizes = np.abs(fresh.outputs - fresh.means)[known, output]
        ideal = float(np.quantile(sizes, predicted.level))
    ratios = (
        width / (2.0 * constant) if constant > 0 else math.nan,
        score(lower, upper) / of_constant if of_constant > 0 else math.nan,
        width / 2.0 / ideal,
    )
    thirds = _in_thirds(held, predicted=centre, novelty=predicted.novelty[known], width=widths)
    return {"coverage": float(held.mean()), **thirds, **dict(zip(WIDTHS, ratios))}


def summary(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the row of a law from those of its simulated tables.

    The coverage of a table is the mean over its outputs. ``deviation`` is the standard deviation
    over tables, ``share_in_band`` the share of tables, and ``share_of_outputs_in_band`` that of
    single outputs, with a coverage in `BAND`. The coverages of thirds, and the ratios of widths and
    of interval scores, are means over outputs; ``least_third`` is the smallest of these coverages.
    """
    name, frame = rows[0]["law"], pd.DataFrame(rows)
    law, means = LAWS[name], frame.mean(numeric_only=True).to_dict()
    by_table = frame.groupby("simulation")
    tables, winners = by_table["coverage"].mean(), by_table["winner"].first().value_counts()
    least = min(means[third] for third in THIRDS)
    is_met = BAND[0] <= tables.mean() and (law.is_real or tables.mean() <= BAND[1])
    is_met = is_met and least >= MIN_COVERAGE_OF_THIRDS

    def chosen(*names: str) -> dict[str, float]:
        return {name: means[name] for name in names}

    return {
        "law": name,
        "rows": law.n_rows,
        "splits": law.n_splits,
        "simulations": len(tables),
        "outputs": len(rows) // len(tables),
        "level": rows[0]["level"],
        "coverage": tables.mean(),
        "deviation": tables.std(),
        "share_in_band": tables.between(*BAND).mean(),
        "share_of_outputs_in_band": frame["coverage"].between(*BAND).mean(),
        "least_third": least,
        **chosen(*THIRDS),
        "met": "yes" if is_met else "no",
        **chosen(*WIDTHS, "measured_by_product", "fresh_error"),
        "claimed_over_fresh": means["claimed_error"] / means["fresh_error"],
        "lowest_over_fresh": means["lowest_error"] / means["fresh_error"],
        **chosen("share_in_claimed_range", *JOINT, *SIDES),
        "winners": ", ".join(f"{winners[name]} {name}" for name in law.methods if name in winners),
    }


def write(folder: Path, found: Sequence[list[dict]], quick: bool) -> tuple[str, list[str]]:
    """Write both tables; return what was found for the last law, and what it fails.

    That is where its mean coverage is outside of `BAND`, or one of its thirds has a coverage below
    `MIN_COVERAGE_OF_THIRDS`; a few tables (`quick`) are too few to estimate the mean.
    """
    rows = pd.DataFrame([row for each in found for row in each], columns=COLUMNS)
    laws = pd.DataFrame([summary(rows) for rows in found])
    for name, frame in (("interval_coverage", rows), ("interval_coverage_by_law", laws)):
        text = frame.to_csv(index=False, float_format="%.4g", na_rep="nan", lineterminator="\n")
        write_text(folder / f"{name}.csv", text)
    last = laws.iloc[-1]
    words = (
        f"{last['coverage']:.1%} of fresh outputs in intervals of {last['level']:.0%}, of the "
        f"least third {last['least_third']:.1%}, over {last['simulations']} tables"
    )
    return words, [words] if last["met"] == "no" and not quick else []
