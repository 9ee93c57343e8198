"""A small table with every kind of column, like a user's table, for the tests of `new`."""

import csv
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from workflow_lib.run.named_settings import folders_like

ROOT = Path(__file__).parents[2]

WORDS = "wet dry cold hot long short thick thin red soft".split()


def assay_columns(n_rows: int = 60, seed: int = 0) -> dict[str, list]:
    """Return columns: names of rows, numbers, a category, strings, a text, days and outputs."""
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(n_rows, 4))
    return {
        "sample_id": [f"S{row:03d}" for row in range(n_rows)],
        "x1": x[:, 0].tolist(),
        "x2": x[:, 1].tolist(),
        "colour": [("red", "green", "blue")[row % 3] for row in range(n_rows)],
        "maker": [f"maker {row % 25}" for row in range(n_rows)],
        "notes": [" ".join(generator.choice(WORDS, 5)) for _ in range(n_rows)],
        "day": [f"2024-{1 + row // 28 % 12:02d}-{1 + row % 28:02d}" for row in range(n_rows)],
        "batch": [f"batch {row % 7}" for row in range(n_rows)],
        "fixed": [3] * n_rows,
        "y1": (x[:, 2] + x[:, 0]).tolist(),
        "y2": x[:, 3].tolist(),
        "y3": (x[:, 3] - x[:, 1]).tolist(),
    }


def write_table(path: Path, columns: Mapping[str, Sequence[Any]]) -> Path:
    """Write columns as CSV and return the path."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path


def config_with_methods(folder: Path) -> Path:
    """Make a config folder with only the methods and their models of the project and its papers."""
    for kind in ("methods", "models", "input_models"):
        for path in filter(Path.is_dir, folders_like(ROOT / "config" / kind)):
            shutil.copytree(path, folder / path.relative_to(ROOT / "config"))
    return folder
