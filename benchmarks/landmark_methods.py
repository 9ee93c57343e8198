"""Ways to choose landmarks at equal time, on three real tables with many rows.

    OFER_MIRROR=... python -m benchmarks.landmark_methods

Each way chooses several numbers of landmarks, with the width that was best in a trial. The error on
other rows is interpolated, in the logarithm of the seconds of choice, selection and refit, at those
of 1000 landmarks by k-means. Seconds are those of the processor.
"""

import io
import os
import tarfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.random_features import selected
from workflow_lib.solvers.landmarks import METHODS, choose_landmarks

LANDMARKS = (350, 600, 1000, 1600)
WIDTHS = (0.5, 1.0, 2.0)
N_TEST, N_SEEDS = 3000, 3


def stock_days(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return logarithms of absolute daily returns of 20 days, and those of the next 5 days."""
    X, Y = [], []
    with tarfile.open(folder / "sp500-5yr" / "individual_stocks_5yr.tar.gz") as archive:
        for member in archive:
            if member.name.endswith(".csv"):
                closes = pd.read_csv(archive.extractfile(member))["close"].dropna().to_numpy()
                moves = np.log(1e-3 + np.abs(np.diff(np.log(closes))))
                for start in range(0, len(moves) - 25, 20):
                    X.append(moves[start : start + 20])
                    Y.append(moves[start + 20 : start + 25])
    return np.array(X), np.array(Y)


def images(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return 8 by 8 pixels of every second training image of CIFAR-10, and its class as numbers."""
    from PIL import Image

    X, labels = [], []
    with tarfile.open(folder / "cifar10-jpg" / "cifar10_jpg.tar.gz") as archive:
        for member in archive:
            name = Path(member.name)
            if "train" in name.parts and name.suffix == ".jpg" and int(name.stem) % 2:
                image = Image.open(io.BytesIO(archive.extractfile(member).read()))
                X.append(np.asarray(image.resize((8, 8))).ravel())
                labels.append(name.parent.name)
    return np.array(X, dtype=float), pd.get_dummies(labels).to_numpy(dtype=float)


def video_games(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return year, platform, genre and frequent publishers, and logarithms of regional sales."""
    with zipfile.ZipFile(folder / "skrub" / "videogame_sales.zip") as archive:
        name = next(name for name in archive.namelist() if name.endswith(".csv"))
        table = pd.read_csv(io.BytesIO(archive.read(name)))
    table["Year"] = table["Year"].fillna(table["Year"].mean())
    frequent = table["Publisher"].value_counts().index[:30]
    table["Publisher"] = table["Publisher"].where(table["Publisher"].isin(frequent), "other")
    X = pd.get_dummies(table[["Year", "Platform", "Genre", "Publisher"]]).to_numpy(dtype=float)
    outputs = ["NA_Sales", "EU_Sales", "JP_Sales", "Other_Sales"]
    return X, np.log(0.01 + table[outputs].to_numpy(dtype=float))


TABLES = {"stock days": stock_days, "images": images, "video games": video_games}


def run(X, Y, test_X, test_Y, width: float, method: str, n_landmarks: int, seed: int):
    """Return the CPU seconds of a fit and its relative error on other rows."""
    gamma = 1.0 / (2.0 * X.shape[1] * width**2)
    start = time.process_time()
    generator = np.random.default_rng(seed)
    chosen = choose_landmarks(X, n_landmarks, "rbf", gamma, method, generator)
    features, weights, intercept = selected(X, Y, chosen, [width], seed)
    seconds = time.process_time() - start
    residual = test_Y - features.values(test_X) @ weights - intercept
    errors = (residual**2).sum(axis=0) / ((test_Y - Y.mean(axis=0)) ** 2).sum(axis=0)
    return seconds, np.sqrt(errors).mean()


def lines() -> Iterator[str]:
    """Yield the lines of the table that the page shows."""
    yield f"| table | rows | inputs | {' | '.join(METHODS)} |"
    yield "|---" * (3 + len(METHODS)) + "|"
    for name, read in TABLES.items():
        X, Y = read(Path(os.environ["OFER_MIRROR"]))
        order = np.random.default_rng(0).permutation(len(X))
        X, Y = X[order], Y[order]
        X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-9)
        data = X[N_TEST:], Y[N_TEST:], X[:N_TEST], Y[:N_TEST]
        width = min(WIDTHS, key=lambda width: run(*data, width, "uniform", LANDMARKS[1], 0)[1])
        found = {
            method: np.array(
                [
                    np.mean([run(*data, width, method, m, seed) for seed in range(N_SEEDS)], axis=0)
                    for m in LANDMARKS
                ]
            )
            for method in METHODS
        }
        budget = np.log(found["k_means"][LANDMARKS.index(1000), 0])
        cells = []
        for curve in found.values():
            logarithms = np.log(curve[:, 0])
            m = np.exp(np.interp(budget, logarithms, np.log(LANDMARKS)))
            cells.append(f"{np.interp(budget, logarithms, curve[:, 1]):.4f} ({m:.0f})")
        yield f"| {name} | {len(data[0]):,} | {X.shape[1]} | {' | '.join(cells)} |"


if __name__ == "__main__":
    for line in lines():
        print(line, flush=True)
