"""Small made-up result files and an HTML parser for the tests of the report.

None of the numbers is a result.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from html.parser import HTMLParser
from pathlib import Path

METHODS = {
    "m-krr": {"label": "m-KRR", "color": "#E69F00", "marker": "^", "summary": "Kernel ridge."},
    "m-rf": {"label": "m-RF", "color": "#009E73", "marker": "v", "summary": "Forest."},
    "ofer-gmm": {"label": "OFER-GMM", "color": "#0072B2", "marker": "o", "summary": "Ours."},
    "wofer-gmm": {"label": "wOFER-GMM", "color": "#CC79A7", "marker": "D", "summary": "Weak."},
}

SCORE_COLUMNS = (
    "experiment,dataset,method,components,training_size,weak_size,setting,split,n_test,arrmse,"
    "rrmse,root_sum_rrmse,norm_rrmse,n_components,width,penalty_pi,penalty_mu,weak_weight,"
    "projected,weights"
).split(",")

COORDINATE_COLUMNS = (
    "experiment,dataset,method,components,training_size,weak_size,setting,split,n_test,coordinate,"
    "name,error"
).split(",")

TIMING_COLUMNS = (
    "experiment,method,components,training_size,weak_size,setting,split,n_test,selection_seconds,"
    "fit_seconds,prediction_seconds,preimage_seconds"
).split(",")

Row = tuple[str, str, int, Callable[[int, int], float]]
"""Method, components, weak size and the error of (training size, split); a setting may follow."""

NOISE = (0.011, -0.007, 0.004, -0.012, 0.009, 0.002, -0.005, 0.013, -0.003, 0.006)


def write_scores(
    path: Path,
    rows: Sequence[Row],
    sizes: Sequence[int] = (20, 50),
    n_splits: int = 5,
    n_test: int = 10,
) -> Path:
    """Write the scores of some rows; those with a setting have the largest training size only."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(SCORE_COLUMNS)
        for method, components, weak_size, error, *setting in rows:
            for size in sizes[-1:] if setting else sizes:
                for split in range(n_splits):
                    value = error(size, split)
                    writer.writerow(
                        ["toy", "toy-data", method, components, size, weak_size, *(setting or [""])]
                        + [split, n_test, value, 2 * value, 3 * value, value / 4]
                        + [4, 1.0, "inf", 0.01, "", 1, ""]
                    )
    return path


def write_coordinates(
    path: Path,
    rows: Sequence[Row],
    names: Sequence[str] = ("week_1", "week_2", "week_3"),
    sizes: Sequence[int] = (20, 50),
    n_splits: int = 5,
) -> Path:
    """Write errors of coordinates, rows as in `write_scores`; coordinate j adds j / 10."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COORDINATE_COLUMNS)
        for method, components, weak_size, error, *setting in rows:
            for size in sizes:
                for split in range(n_splits):
                    for number, name in enumerate(names):
                        writer.writerow(
                            ["toy", "toy-data", method, components, size, weak_size]
                            + [*(setting or [""]), split, 10]
                            + [number, name, error(size, split) + number / 10]
                        )
    return path


def write_timings(
    path: Path, methods: Sequence[str], sizes=(20, 50), n_splits: int = 3, setting: str = ""
) -> Path:
    """Write timings: selection 10, fit 0.5, prediction 0.001, pre-image 0.002, times split + 1."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(TIMING_COLUMNS)
        for method in methods:
            for size in sizes:
                for split in range(n_splits):
                    seconds = [number * (split + 1) for number in (10, 0.5, 0.001, 0.002)]
                    row = ["toy", method, "selected", size, 0, setting, split, 10, *seconds]
                    writer.writerow(row)
    return path


def base_error(size: int, split: int) -> float:
    """Return an error that falls with the training size and differs from split to split."""
    return 1.0 - 0.1 * (size > 20) + NOISE[split]


def better_error(size: int, split: int) -> float:
    """Return an error far below the base in every split, by an amount that varies a little."""
    return base_error(size, split) - 0.3 - 0.1 * NOISE[(split + 3) % 10]


def worse_error(size: int, split: int) -> float:
    """Return an error far above the base in every split."""
    return base_error(size, split) + 0.2 + 0.1 * NOISE[(split + 5) % 10]


def noisy_error(size: int, split: int) -> float:
    """Return an error that is now above and now below the base."""
    return base_error(size, split) + (0.02 if split % 2 else -0.02)


class StrictParser(HTMLParser):
    """A parser that fails on tags that are not closed in order, and collects the text."""

    VOID = ("meta", "br", "img")

    def __init__(self):
        super().__init__()
        self.open = []
        self.text = []
        self.cells_per_row = []

    def handle_starttag(self, tag, attributes):
        if tag == "tr":
            self.cells_per_row.append(0)
        if tag in ("td", "th"):
            self.cells_per_row[-1] += int(dict(attributes).get("colspan", 1))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def parse(text: str) -> StrictParser:
    """Return the parser after it has read the whole of `text`."""
    parser = StrictParser()
    parser.feed(text)
    parser.close()
    assert parser.open == []
    return parser
