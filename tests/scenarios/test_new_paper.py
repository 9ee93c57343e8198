"""A new paper is new files alone: each kind of plug-in in its folders, and a run with them."""

import csv
from pathlib import Path

import pytest
from small_run import ROOT, copy_files, project_files, snakemake

LIBRARY = {
    "item_kinds/walks.py": '''
"""Walks: sequences of steps of any length, as rows that are filled up with NaN."""

from __future__ import annotations

import numpy as np


def pack(walks):
    """Return the entries of walks, arrays of steps."""
    rows = np.full((len(walks), max(map(len, walks))), np.nan)
    for row, walk in zip(rows, walks, strict=True):
        row[: len(walk)] = walk
    return {"inputs": rows, "items": {"kind": "walks"}}


def unpack(data, rows=None):
    """Return the walks of some rows; raise ValueError for one without a step."""
    found = data["inputs"] if rows is None else data["inputs"][rows]
    walks = [row[~np.isnan(row)] for row in found]
    if min(map(len, walks)) == 0:
        raise ValueError("A walk has no step.")
    return walks
''',
    "readers/drawn_walks.py": '''
"""Walks that are drawn at random, with their ends as outputs."""

from __future__ import annotations

from workflow_lib.core.settings import Settings
from workflow_lib.core.values import Count
from workflow_lib.tabular.tables import dataset_tree


class Options(Settings):
    """Options of the reader ``drawn_walks``."""

    n_rows: Count = 60
    """Number of walks."""


def kind_of_inputs(options):
    """Return ``walks``."""
    return "walks"


def read(options, sources, seed):
    """Return one row per walk; `seed` draws all."""
    import numpy as np

    from workflow_lib.papers.imagined.item_kinds import walks

    random = np.random.default_rng(seed)
    drawn = [random.normal(1.0, 1.0, (random.integers(3, 9))) for _ in range(options.n_rows)]
    ends = np.array([[walk.sum(), walk.mean()] for walk in drawn])
    items = walks.pack(drawn)
    names = [f"step_{index + 1}" for index in range(items["inputs"].shape[1])]
    return dataset_tree(
        items.pop("inputs"), ends + 0.1 * random.normal(size=ends.shape), names, ["end", "mean"],
        location="the drawn walks", **items,
    )
''',
    "methods/walk_ends.py": '''
"""The shrunken sums of walks, with an offset."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workflow_lib.measures.metrics import heldout_error
from workflow_lib.methods.contract import base

REGRESSORS = ("walk_ends",)
TASKS = ("regression",)
NEEDS = {}
READS = ("dataset", "split")


def sums_of(walks):
    return np.array([walk.sum() for walk in walks])


@dataclass
class Method(base.Method):
    """Predict an offset plus a share of the sum of a walk."""

    metric: str
    grid: dict

    def select(self, data):
        sums, found = sums_of(data.items), {}
        for share in self.grid["share"]:
            heldout = np.empty_like(data.outputs)
            for fold in data.fold_numbers:
                others = data.folds != fold
                offset = (data.outputs[others] - share * sums[others, None]).mean(axis=0)
                heldout[~others] = offset + share * sums[~others, None]
            score = heldout_error(data.outputs, heldout, data.folds, self.metric)
            found[share] = score, heldout
        best = min(found, key=lambda share: found[share][0])
        return base.Selection(found[best][1], {"share": best, "score": found[best][0]})

    def fit(self, data, selection):
        share = selection.entries["share"]
        offset = (data.outputs - share * sums_of(data.items)[:, None]).mean(axis=0)
        return Fitted(share, offset)


class Fitted(base.Fitted):
    """The chosen share, and the offsets (d,)."""

    def __init__(self, share, offset):
        self._share, self._offset = share, offset

    def predict(self, rows):
        return self._offset + self._share * sums_of(rows.items())[:, None]

    def to_arrays(self):
        return {"share": self._share, "offset": self._offset}

    @classmethod
    def from_arrays(cls, arrays):
        return cls(arrays["share"], arrays["offset"])
''',
    "methods/keys/walk_ends.py": '''
"""The keys of a method with the regressor `walk_ends`."""

from __future__ import annotations

from typing import Literal

from workflow_lib.core.grids import Grid, Shares
from workflow_lib.methods.contract.method_file import MethodFile


class WalkGrid(Grid):
    """Of the ends of walks."""

    share: Shares
    """Shares of the sum of a walk that are added to the offset."""


class Parameters(MethodFile):
    """The ends of walks."""

    regressor: Literal["walk_ends"]
    """`walk_ends`: an offset plus a share of the sum of a walk."""

    items: Literal["walks"] = "walks"
    """The rows must be `walks`."""

    grid: WalkGrid
    """Candidate hyper-parameters."""
''',
    "measures/largest_miss.py": '''
"""The largest distance of a predicted number from the true one."""

from __future__ import annotations

from workflow_lib.measures.base import Measure

MEASURES = (
    Measure(
        "largest_miss",
        "largest miss",
        "Largest distance of a prediction",
        "Largest distance of a predicted number from the true one.",
    ),
)


def values(rows):
    """Return the largest distance, by name."""
    import numpy as np

    return {"largest_miss": float(np.nanmax(abs(rows.truth - rows.predicted)))}
''',
    "table_kinds/rows_seen.py": '''
"""How many scores each method has, with a title of the user."""

from __future__ import annotations

import pandas as pd

from workflow_lib.report.table_markup import Block, Layout

SHOWS = "how many scores each method has"
READS = {"scores": "results/{experiment}/scores.csv"}
COLUMNS = ("method", "n_scores")


def cells(scores, options):
    """Return a row for each method."""
    counts = scores.groupby("method").size()
    return pd.DataFrame({"method": counts.index, "n_scores": counts.to_numpy()})


def layout(cells, options):
    """Return the layout with a row for each method."""
    rows = [(row.method, [str(row.n_scores)]) for row in cells.itertuples()]
    heading = options.keys["heading"]
    blocks = [Block("", rows)]
    return Layout(
        title=options.title, row_heading="Method", heads=[heading], blocks=blocks, notes=[]
    )
''',
    "table_kinds/keys/rows_seen.py": '''
"""The keys of a table of kind `rows_seen`."""

from __future__ import annotations

from workflow_lib.core.settings import Settings
from workflow_lib.core.values import Text


class Keys(Settings):
    """Keys of a table of counts."""

    heading: Text = "scores"
    """The heading of the column."""
''',
    "figures/first_misses.py": '''
"""The misses of the shown methods on the test rows of all splits."""

from __future__ import annotations

from workflow_lib.core.artifacts import read_artifact

SHOWS = "misses on the test rows of all splits"
CAPTION = "The misses of the first output on the test rows of all splits."
READS = {
    "dataset": "results/datasets/{dataset}.h5",
    "splits": "results/{experiment}/split-{split}/split.h5",
    "predictions": "results/{experiment}/split-{split}/{shown_method}/predictions.h5",
}
METHOD_FIELDS = ("label",)


def draw(dataset, splits, predictions, *, title, shown_methods):
    """Return the figure: a point for each test row of each split."""
    from matplotlib.figure import Figure

    outputs = read_artifact(dataset, "dataset")["outputs"][:, 0]
    figure = Figure(figsize=(6, 4), layout="constrained")
    axis = figure.subplots()
    for number, (method, paths) in enumerate(predictions.items()):
        for split, path in zip(splits, paths, strict=True):
            test = read_artifact(split, "split")["test"]
            for item in read_artifact(path, "predictions").values():
                misses = item["outputs"][:, 0] - outputs[test]
                axis.plot([number] * len(misses), misses, ".", label=shown_methods[method]["label"])
    axis.set_xlabel("method")
    axis.set_ylabel("miss")
    axis.set_title(title)
    return figure
''',
}
"""The modules of the paper, below its folder in the library."""

SETTINGS = {
    "datasets/walks.yaml": """
title: Walks
description: Walks whose ends are predicted.
task: regression
reader: drawn_walks
options: {n_rows: 60}
sources: []
licence: made by the workflow, no licence needed
citation: made by the reader drawn_walks
""",
    "methods/walk-ends.yaml": """
label: ends of walks
summary: An offset plus a share of the sum of each walk.
regressor: walk_ends
grid: {share: [0.1, 0.5, 1.0]}
""",
    "experiments/walks.yaml": """
title: The ends of walks
dataset: walks
methods: [walk-ends, m-mean]
training_sizes: [30]
n_splits: 2
test_size: 20
tables:
  - {name: errors, kind: error, errors: [arrmse, largest_miss], caption: Errors.}
  - {name: seen, kind: rows_seen, heading: all scores, caption: Scores.}
figures:
  - {name: misses, kind: first_misses, methods: [walk-ends], caption: Misses.}
""",
    "studies/walks.yaml": """
# What do walks end at?
#     snakemake --cores 2 --config study=walks
about: {topic: Walks, paper: imagined}
experiments: [walks]
""",
}
"""The settings of the paper, below its folder in ``config``."""

STUDY = "config/papers/imagined/studies/walks.yaml"


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    """Return a copy of the project with the files of a new paper, and no other change."""
    folder = tmp_path_factory.mktemp("new-paper")
    copy_files(folder)
    for parent, files in (("workflow_lib/papers", LIBRARY), ("config/papers", SETTINGS)):
        for name, text in files.items():
            path = folder / parent / "imagined" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if parent != "config/papers":
                for package in (path.parent, *path.parents):
                    if package.name == "papers":
                        break
                    (package / "__init__.py").touch()
            path.write_text(text.lstrip())
    return folder


def test_a_paper_runs_from_its_own_files(project):
    outcome = snakemake(project, "--configfile", STUDY)
    assert outcome.status == 0, outcome.stderr
    changed = [name for name in project_files() if not _is_same(project, name)]
    assert changed == []

    scores = list(csv.DictReader((project / "results/walks/scores.csv").read_text().splitlines()))
    errors = {row["method"]: float(row["value"]) for row in scores if row["quantity"] == "arrmse"}
    assert errors["walk-ends"] < errors["m-mean"]
    assert {"arrmse", "largest_miss"} <= {row["quantity"] for row in scores}
    tables = project / "results/tables"
    assert "Largest distance of a prediction" in (tables / "walks-errors.tex").read_text()
    assert "all scores" in (tables / "walks-seen.tex").read_text()
    assert (project / "results/figures/walks-misses.svg").exists()
    assert "all scores" in (project / "results/report.html").read_text()


def test_a_method_of_vectors_is_refused_on_its_items(project):
    experiment = SETTINGS["experiments/walks.yaml"].replace("m-mean", "m-krr")
    path = project / "config/papers/imagined/experiments/refused.yaml"
    path.write_text(experiment)
    options = ("--configfile", STUDY, "--config", "experiments=[refused]")
    outcome = snakemake(project, "-n", *options)
    path.unlink()
    assert outcome.status != 0
    printed = outcome.stdout + outcome.stderr
    assert "gives walks, and the method would take their codes for numbers" in printed
    assert "Expected methods such as" in printed and "walk-ends" in printed


def _is_same(folder: Path, name: str) -> bool:
    return (folder / name).read_bytes() == (ROOT / name).read_bytes()
