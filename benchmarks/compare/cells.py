"""Peers on the splits of the tables: a small file for each, which is kept while it is current.

A result depends on the rows of its split and on the code of its peer, and holds a digest of both.
Where one of them has changed, it is computed again.
"""

import hashlib
import json
import multiprocessing
import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.compare.own import dataset_file, split_file
from benchmarks.compare.peers import PEERS, Bench, Rows, fingerprint
from benchmarks.compare.tables import Table
from benchmarks.measuring import THREAD_VARIABLES
from workflow_lib.core.artifacts import read_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.core.seeds import derive_seed
from workflow_lib.core.whole_files import write_text
from workflow_lib.items.group_names import size_group
from workflow_lib.measures.metrics import (
    average_relative_error,
    squared_error_sums,
    training_mean_errors,
)


class Cell(NamedTuple):
    """A training size of a split of a table.

    `dataset` and `partition` are the artifacts of the table and of the split; the results of the
    peers go to `folder`.
    """

    table: str
    scale: str
    split: int
    size: int
    dataset: Path
    partition: Path
    folder: Path
    seed: int

    def file(self, peer: str) -> Path:
        """Return where the result of a peer is kept."""
        return self.folder / self.table / f"{self.size}-{self.split}-{peer}.json"


class Data(NamedTuple):
    """The rows of a cell."""

    training: Rows
    test_inputs: np.ndarray
    test_outputs: np.ndarray

    def key(self, cell: Cell, peer: str) -> str:
        """Return the digest of the rows, the seed and the peer of a result."""
        digest = hashlib.sha256(f"{cell.seed} {cell.scale} {fingerprint(peer)}".encode())
        for values in (*self.training[:3], self.test_inputs, self.test_outputs):
            digest.update(f"{values.shape} {values.dtype}".encode())
            digest.update(np.ascontiguousarray(values))
        return digest.hexdigest()

    def peers(self, names: Sequence[str]) -> list[str]:
        """Return the peers among `names` that are installed and can use so many inputs."""
        n_inputs = self.training.inputs.shape[1]
        chosen = {name: PEERS[name] for name in names}
        return [
            name
            for name, peer in chosen.items()
            if peer.is_installed and n_inputs <= (peer.most_inputs or n_inputs)
        ]


def cells_of(
    workflow: Path, tables: Iterable[Table], n_splits: int, folder: Path, seed: int
) -> list[Cell]:
    """Return all cells of the tables, from the splits that the workflow has made."""
    cells = []
    for table in tables:
        for split in range(n_splits):
            path = split_file(workflow, table.name, split)
            common = (dataset_file(workflow, table.name), path, folder)
            for size in read_artifact(path, "split")["sizes"]:
                cells.append(Cell(table.name, table.scale, split, int(size), *common, seed))
    return cells


def read_cell(cell: Cell) -> Data:
    """Return the training and test rows of a cell.

    Raises UserError if outputs are missing, which the peers cannot learn from.
    """
    data, partition = read_artifact(cell.dataset, "dataset"), read_artifact(cell.partition, "split")
    inputs, outputs = data["inputs"], data["outputs"]
    train, test = partition["train"][: cell.size], partition["test"]
    if np.isnan(outputs[train]).any():
        raise UserError(
            location=f"the table {cell.table}",
            found="training outputs that are missing",
            expected="a table whose outputs are all known, as the peers need",
            remedy="give the table a reason in LEFT_OUT of benchmarks/compare/tables.py",
        )
    folds = partition["folds"][size_group(cell.size)]
    rows = Rows(inputs[train], outputs[train], folds, cell.scale)
    return Data(rows, inputs[test], outputs[test])


def run_peers(cells: Sequence[Cell], names: Sequence[str], cores: int) -> None:
    """Compute what is missing or no longer current, split by split, the smallest cells first.

    Every process has one thread of linear algebra.
    """
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    ordered = sorted(cells, key=lambda cell: (cell.split, cell.size, cell.table))
    # Fresh processes read the variables of the threads; this process and its forks started before.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(cores, mp_context=context) as pool:
        started = {pool.submit(run_cell, cell, names): cell for cell in ordered}
        for number, done in enumerate(as_completed(started), start=1):
            cell, computed = started[done], done.result()
            if computed:
                place = f"{cell.table}, {cell.size} rows, split {cell.split}"
                print(
                    f"peers {number}/{len(started)}: {place}: {len(computed)} learned", flush=True
                )


def run_cell(cell: Cell, names: Sequence[str]) -> list[str]:
    """Compute what is missing of a cell; return the names of the peers that were computed."""
    data = read_cell(cell)
    missing = [name for name, known in _results(cell, data, names).items() if known is None]
    seed = derive_seed(cell.seed, "compare", cell.table, cell.split, cell.size)
    bench = Bench(data.training, seed)
    reference = training_mean_errors(data.test_outputs, data.training.outputs)
    for name in missing:
        predictions = bench.predict(name, data.test_inputs)
        errors = squared_error_sums(data.test_outputs, predictions)
        result = {
            "key": data.key(cell, name),
            "error": float(average_relative_error(errors, reference)),
            "seconds": round(bench.tuned(name).seconds, 4),
            "settings": bench.tuned(name).settings,
        }
        write_text(cell.file(name), json.dumps(result) + "\n")
    return missing


def peer_scores(cells: Iterable[Cell], names: Sequence[str]) -> list[dict]:
    """Return the current results as rows: table, size, split, method, source, error, seconds,
    settings."""
    return [
        {
            **{"table": cell.table, "size": cell.size, "split": cell.split},
            **{"method": name, "source": "peer"},
            **{"error": known["error"], "seconds": known["seconds"]},
            "settings": " ".join(f"{key}={value}" for key, value in known["settings"].items()),
        }
        for cell in cells
        for name, known in _results(cell, read_cell(cell), names).items()
        if known is not None
    ]


def _results(cell: Cell, data: Data, names: Sequence[str]) -> dict[str, dict | None]:
    """Return the result of each peer that can run; None where there is none that is current."""
    found: dict[str, dict | None] = {}
    for name in data.peers(names):
        file = cell.file(name)
        result = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
        found[name] = result if result.get("key") == data.key(cell, name) else None
    return found
