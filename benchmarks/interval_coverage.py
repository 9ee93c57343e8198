"""Coverage: how many new outputs lie in the intervals of a model on a user's own table.

Tables are drawn from laws that are known here and nowhere in the product. Each goes the whole way
of a user's table: it is looked at and its configuration written, read, split, learned from by
OFER-GMM, m-KRR and the mean with their own grids, scored, the winner chosen, calibrated and saved.
The saved model then predicts 500 fresh rows of the same law, and what its intervals hold of them is
counted. Nothing is timed.

There are fewer methods than a table is given. Two more things differ from a run of the workflow,
and change no interval: of the learning curve there is the largest size alone, and only the winner
learns from all rows.

The ideal half width is the one that holds as many of the fresh rows around the true regression
function, which no method knows. The promise of an interval is one on average over tables: the
half width of one table is a quantile of its own few rows, and its coverage varies with them.
"""

from __future__ import annotations

import csv
import io
import math
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measuring import ROOT, Measurement, in_own_process, is_installed
from benchmarks.own_table import METHODS, OwnTable
from benchmarks.table_laws import LAWS, Law
from workflow_lib.seeds import derive_seed

N_SIMULATIONS, N_QUICK_SIMULATIONS = 20, 3
N_FRESH = 500

BAND = (0.87, 0.93)
"""Where the mean coverage of intervals of 90 % must lie."""

COLUMNS = (
    "law",
    "simulation",
    "output",
    "winner",
    "coverage",
    "half_width_over_ideal",
    "measured_by_product",
)
"""Columns of ``interval_coverage.csv``: one row an output of a simulated table."""

LAW_COLUMNS = (
    "law",
    "rows",
    "splits",
    "simulations",
    "outputs",
    "level",
    "coverage",
    "deviation",
    "share_in_band",
    "share_of_outputs_in_band",
    "met",
    "half_width_over_ideal",
    "measured_by_product",
    "winners",
)
"""Columns of ``interval_coverage_by_law.csv``: one row a law."""

SHARES = (
    "coverage",
    "deviation",
    "share_in_band",
    "share_of_outputs_in_band",
    "measured_by_product",
)
"""Columns of the laws that are shares of 1."""

BY_LAW = "interval_coverage_by_law"


def measurements(quick: bool) -> list[Measurement]:
    """Return what is measured: every law whose packages are installed."""
    n_simulations = N_QUICK_SIMULATIONS if quick else N_SIMULATIONS
    return [
        Measurement("coverage", {"law": name, "n_simulations": n_simulations})
        for name, law in LAWS.items()
        if is_installed(law.package)
    ]


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
    law: Law, folder: Path, seed: int, config: Path = ROOT / "config"
) -> list[dict[str, Any]]:
    """Return the rows of one simulated table, without the name of the law.

    Parameters
    ----------
    law : Law
    folder : path
        Where the table and all artifacts go.
    seed : int
    config : path, default=config/ of the checkout
        The folder with ``methods/`` and ``models/``.
    """
    generator = np.random.default_rng(seed)
    known, fresh = law.draw(law.n_rows, generator), law.draw(N_FRESH, generator)
    names = [f"y{output}" for output in range(1, known.outputs.shape[1] + 1)]
    columns = known.inputs | dict(zip(names, known.outputs.T.tolist()))
    table = OwnTable.new(folder, "simulated", columns, names, law.n_splits, seed, config)
    table.answer()
    predicted = table.predict(fresh.inputs)
    held = (predicted.lower <= fresh.outputs) & (fresh.outputs <= predicted.upper)
    half_widths = (predicted.upper - predicted.lower)[0] / 2.0
    ideal = np.quantile(np.abs(fresh.outputs - fresh.means), predicted.level, axis=0)
    measured = table.measured_coverage()
    return [
        {
            "output": name,
            "winner": table.told()["winner"],
            "level": float(predicted.level),
            "coverage": float(held[:, output].mean()),
            "half_width_over_ideal": float(half_widths[output] / ideal[output]),
            "measured_by_product": float(measured[output]),
        }
        for output, name in enumerate(names)
    ]


def summary(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the row of a law from those of its simulated tables.

    The coverage of a table is the mean over its outputs. ``deviation`` is the standard deviation
    over tables, ``share_in_band`` the share of tables, and ``share_of_outputs_in_band`` that of
    single outputs, with a coverage in `BAND`.
    """
    by_table: dict[Any, list[Mapping[str, Any]]] = {}
    for row in rows:
        by_table.setdefault(row["simulation"], []).append(row)
    tables = np.array([np.mean([row["coverage"] for row in each]) for each in by_table.values()])
    winners = [each[0]["winner"] for each in by_table.values()]
    law = LAWS[rows[0]["law"]]
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
        "met": "yes" if _is_in_band(tables.mean()) else "no",
        "half_width_over_ideal": float(np.mean([row["half_width_over_ideal"] for row in rows])),
        "measured_by_product": float(np.mean([row["measured_by_product"] for row in rows])),
        "winners": ", ".join(
            f"{winners.count(name)} {name}" for name in METHODS if name in winners
        ),
    }


def _is_in_band(values: np.ndarray) -> np.ndarray:
    return (values >= BAND[0]) & (values <= BAND[1])


def run(quick: bool, folder: Path) -> list[str]:
    """Measure all laws, each in a process of its own, and write both tables.

    Parameters
    ----------
    quick : bool
        Only a few simulated tables.
    folder : path
        Where the tables go; they are written anew after every law.

    Returns
    -------
    list of str
        The measurements that failed, and the laws whose mean coverage is outside of `BAND`; what
        went wrong in a process stands on the error stream.
    """
    for name, law in LAWS.items():
        if not is_installed(law.package):
            print(f"interval_coverage: {name} left out, {law.package} is not installed")
    everything, failed = [], []
    for measurement in measurements(quick):
        place = f"interval_coverage {measurement}"
        print(f"{place} ...", flush=True)
        rows = in_own_process("interval_coverage", measurement)
        if rows is None:
            failed.append(place)
            print(f"{place}: failed", flush=True)
            continue
        everything.append(rows)
        laws = [summary(each) for each in everything]
        _write(folder / "interval_coverage.csv", COLUMNS, sum(everything, []))
        _write(folder / f"{BY_LAW}.csv", LAW_COLUMNS, laws)
        print(in_words(laws[-1]), flush=True)
        # A few tables say too little of the mean.
        if laws[-1]["met"] == "no" and not quick:
            failed.append(f"{place}: mean coverage {laws[-1]['coverage']:.1%}")
    return failed


def in_words(law: Mapping[str, Any]) -> str:
    """Return the line that is printed of a law."""
    return (
        f"{law['law']}: {law['coverage']:.1%} of fresh outputs in intervals of {law['level']:.0%} "
        f"(deviation over {law['simulations']} tables {law['deviation']:.1%}; "
        f"{law['share_in_band']:.0%} of the tables between {BAND[0]:.0%} and {BAND[1]:.0%}; the "
        f"product told {law['measured_by_product']:.1%}; half widths "
        f"{law['half_width_over_ideal']:.2f} times the ideal; winners: {law['winners']})"
    )


def _write(path: Path, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    from workflow_lib.whole_files import write_text

    content = io.StringIO()
    writer = csv.DictWriter(content, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({key: _shown(value) for key, value in row.items()})
    write_text(path, content.getvalue())


def _shown(value: Any) -> Any:
    return f"{value:.4g}" if isinstance(value, float) else value
