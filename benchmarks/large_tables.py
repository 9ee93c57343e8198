"""Tables of up to two million rows: `python -m benchmarks.large_tables`.

A synthetic table in Parquet: 100 inputs are noisy combinations of 8 factors, and the 5 outputs are
smooth, oscillating, multiplied, stepped and linear functions of the factors, with noise. Each fit
is a process of its own with one thread; its CPU seconds include reading the file, its memory is the
highest of the process. Errors are of other rows, relative to the training mean. Peers of
scikit-learn and LightGBM, with their default settings, read all rows into memory; those that would
not fit are left out.

It writes `large_tables.csv` and `large_tables.svg`: time and memory by rows, inputs, outputs and
landmarks, each with the exponent of a power law.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil

from benchmarks.measuring import ROOT, THREAD_VARIABLES
from workflow_lib.core.optional_packages import is_installed

ROWS, QUICK_ROWS = (20_000, 200_000, 2_000_000), (2_000, 8_000)
N_TEST, BLOCK = 20_000, 50_000
INPUTS, OUTPUTS, LANDMARKS = 100, 5, 1000
GROWTH_ROWS = 50_000
GROWTH = {"inputs": (25, 100, 200), "outputs": (5, 20, 80), "landmarks": (250, 500, 1000, 2000)}
N_FACTORS, NOISE = 8, 0.3
OWN, OWN_MIXTURE = "m-KRR on landmarks", "OFER-GMM on landmarks"
NYSTROEM, HISTOGRAMS, LIGHTGBM = "Nystroem + RidgeCV", "histogram boosting", "LightGBM"
COLORS = {
    **{OWN: "#E69F00", OWN_MIXTURE: "#0072B2", NYSTROEM: "#999999", HISTOGRAMS: "#009E73"},
    LIGHTGBM: "#CC79A7",
}


def write_table(path: Path, n_rows: int, n_inputs: int, n_outputs: int, seed: int) -> None:
    """Write a table, block by block; the same sizes have the same factors."""
    import pyarrow
    from pyarrow import parquet

    shape = np.random.default_rng(11)
    mixing = shape.normal(size=(N_FACTORS, n_inputs)) / np.sqrt(N_FACTORS)
    directions = shape.normal(size=(3, N_FACTORS, n_outputs)) / np.sqrt(N_FACTORS)
    names = [f"x{column}" for column in range(n_inputs)]
    names += [f"y{column}" for column in range(n_outputs)]
    kinds = (
        lambda a, b, c: np.tanh(2 * a) + b,
        lambda a, b, c: np.sin(3 * a) + 0.5 * b,
        lambda a, b, c: a * b + c,
        lambda a, b, c: np.sign(a) + np.sign(b) * (c > 0),
        lambda a, b, c: a + b,
    )
    writer = None
    for block, start in enumerate(range(0, n_rows, BLOCK)):
        generator = np.random.default_rng([seed, block])
        size = min(BLOCK, n_rows - start)
        factors = generator.normal(size=(size, N_FACTORS))
        X = factors @ mixing + NOISE * generator.normal(size=(size, n_inputs))
        parts = np.einsum("nf,kfd->knd", factors, directions)
        Y = [kinds[column % 5](*parts[:, :, column]) for column in range(n_outputs)]
        Y = np.column_stack(Y) + NOISE * generator.normal(size=(size, n_outputs))
        table = pyarrow.table(dict(zip(names, np.hstack([X, Y]).T, strict=True)))
        writer = writer or parquet.ParquetWriter(path, table.schema)
        writer.write_table(table)
    writer.close()


def columns_of(path: Path) -> list:
    """Return all inputs and outputs of a table, which are read when they are used."""
    from workflow_lib import open_columns

    table = open_columns(path)
    return [table.columns([name for name in table.kinds if name[0] == kind]) for kind in "xy"]


def predictions(method: str, path: Path, test: np.ndarray, n_landmarks: int) -> np.ndarray:
    """Fit a method to the file, and return its predictions of other rows."""
    X, Y = columns_of(path)
    if method in (OWN, OWN_MIXTURE):
        from workflow_lib import LandmarkRegressorCV

        n_components = None if method == OWN else 10
        return LandmarkRegressorCV(n_components, n_landmarks=n_landmarks).fit(X, Y).predict(test)
    X, Y = X[:], Y[:]
    if method == NYSTROEM:
        from sklearn.kernel_approximation import Nystroem
        from sklearn.linear_model import RidgeCV
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        # For one width: that of its default.
        features = Nystroem(n_components=n_landmarks, gamma=1.0 / X.shape[1], random_state=0)
        ridge = RidgeCV(np.logspace(-6, 3, 10), alpha_per_target=False)
        return make_pipeline(StandardScaler(), features, ridge).fit(X, Y).predict(test)
    if method == HISTOGRAMS:
        from sklearn.ensemble import HistGradientBoostingRegressor

        model = HistGradientBoostingRegressor(random_state=0)
    else:
        from lightgbm import LGBMRegressor

        model = LGBMRegressor(n_jobs=1, verbose=-1, random_state=0)
    return np.column_stack([model.fit(X, y).predict(test) for y in Y.T])


def measure(method: str, path: Path, test: Path, n_landmarks: int) -> dict[str, float]:
    """Fit in this process; return the error, the CPU and wall seconds, and the memory in MB."""
    X, Y = (columns[:] for columns in columns_of(test))
    begin, wall = time.process_time(), time.perf_counter()
    squares = ((predictions(method, path, X, n_landmarks) - Y) ** 2).mean(axis=0) / Y.var(axis=0)
    return {
        "error": float(np.sqrt(squares).mean()),
        "cpu_s": time.process_time() - begin,
        "wall_s": time.perf_counter() - wall,
        "mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def why_not(method: str, n_rows: int, n_inputs: int) -> str:
    """Return why a method is left out, or an empty text."""
    if method == LIGHTGBM and not is_installed("lightgbm"):
        return "is not installed"
    columns = 3 * LANDMARKS if method == NYSTROEM else 3 * n_inputs
    available = psutil.virtual_memory().total
    fits = method in (OWN, OWN_MIXTURE) or 8.0 * n_rows * columns < 0.7 * available
    return "" if fits else "does not fit into the memory"


def draw(folder: Path) -> None:
    """Draw time and memory by each size, from the table."""
    # Not imported by the processes whose memory is measured.
    import pandas as pd
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator

    rows = pd.read_csv(folder / "large_tables.csv")
    figure = Figure(figsize=(11, 5.2), layout="constrained")
    axes = figure.subplots(2, 4, sharex="col", sharey="row")
    for panel, column in zip(("rows", *GROWTH), axes.T, strict=True):
        chosen = rows[rows["growth"] == panel].sort_values(panel)
        for axis, key in zip(column, ("cpu_s", "mb"), strict=True):
            for method, points in chosen.groupby("method", sort=False):
                sizes, values = points[panel], points[key]
                axis.loglog(sizes, values, "o-", color=COLORS[method], label=method, markersize=4)
                if method == OWN and len(points) > 1:
                    power = np.polyfit(np.log(sizes), np.log(values), 1)[0]
                    axis.set_title(f"m-KRR: power {power:.2f} of {panel}", fontsize=8)
            axis.set_xticks(chosen[panel].unique())
            axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            axis.yaxis.set_major_formatter("{x:,g}")
            axis.minorticks_off()
        column[1].xaxis.set_major_formatter("{x:,.0f}")
        column[1].set_xlabel(panel)
    axes[0, 0].set_ylabel("CPU seconds")
    axes[1, 0].set_ylabel("peak memory, MB")
    lines = dict(zip(*axes[0, 0].get_legend_handles_labels()[::-1], strict=True))
    named = {method: lines[method] for method in COLORS if method in lines}
    figure.legend(named.values(), named, loc="outside upper center", ncols=5)
    figure.savefig(folder / "large_tables.svg")


def run(folder: Path, quick: bool) -> None:
    """Measure all, and write the table."""
    import pandas as pd

    rows_of, growth_rows = (QUICK_ROWS, 2_000) if quick else (ROWS, GROWTH_ROWS)
    usual = {"inputs": INPUTS, "outputs": OUTPUTS, "landmarks": LANDMARKS}
    plan = [("rows", method, {"rows": n} | usual) for n in rows_of[::-1] for method in COLORS]
    plan += [
        (panel, OWN, {"rows": growth_rows} | usual | {panel: size})
        for panel, sizes in GROWTH.items()
        for size in sizes
    ]
    environment = os.environ | dict.fromkeys(THREAD_VARIABLES, "1")
    found: list[dict] = []
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as made:
        for panel, method, sizes in plan:
            n_rows, n_inputs, n_outputs, n_landmarks = sizes.values()
            if reason := why_not(method, n_rows, n_inputs):
                print(f"{method}, {n_rows} rows: {reason}", flush=True)
                continue
            train = Path(made, f"{n_rows}-{n_inputs}-{n_outputs}.parquet")
            test = Path(made, f"test-{n_inputs}-{n_outputs}.parquet")
            for path, n, seed in ((train, n_rows, 1), (test, N_TEST, 2)):
                if not path.exists():
                    write_table(path, n, n_inputs, n_outputs, seed)
            command = [sys.executable, "-m", "benchmarks.large_tables", "--one", method]
            command += [str(train), str(test), str(n_landmarks)]
            done = subprocess.run(
                command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True
            )
            measured = json.loads(done.stdout)
            found.append({"growth": panel, "method": method} | sizes | measured)
            shown = ", ".join(f"{key} {value:.4g}" for key, value in measured.items())
            print(f"{method}, {sizes}: {shown}", flush=True)
    pd.DataFrame(found).to_csv(folder / "large_tables.csv", index=False)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.large_tables")
    parser.add_argument("--folder", type=Path, default=Path("results/benchmarks"))
    parser.add_argument("--quick", action="store_true", help="only small sizes, for trying")
    parser.add_argument("--figure", action="store_true", help="only the figure, from the table")
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.one:
        method, train, test, n_landmarks = options.one
        print(json.dumps(measure(method, Path(train), Path(test), int(n_landmarks))))
        return
    if not options.figure:
        run(options.folder, options.quick)
    draw(options.folder)


if __name__ == "__main__":
    main()
