"""A model of a table with more rows than memory holds, in steps that can be jobs of their own.

The steps are those of `workflow_lib.fitting.streamed_fit`, on the columns of a Parquet or HDF5
file (`workflow_lib.tabular.stored_columns`); each writes an artifact. The result is a saved model,
with intervals from the test rows, and a summary of its errors.
"""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from workflow_lib.core.artifacts import artifact_digest, read_artifact, write_artifact
from workflow_lib.core.errors import UserError, nearest_name
from workflow_lib.core.whole_files import write_text
from workflow_lib.fitting.streamed_fit import (
    Solutions,
    StreamedMethod,
    StreamPlan,
    StreamSettings,
    added,
)
from workflow_lib.solvers.feature_sums import FeatureSums
from workflow_lib.table.saved_inputs import UNKNOWN_INPUTS
from workflow_lib.table.saved_model import SavedModel
from workflow_lib.table.saved_model_stage import READING, software_versions
from workflow_lib.table.terminal_summary import HOLDS_ROWS
from workflow_lib.tabular.column_lists import columns_of_list
from workflow_lib.tabular.stored_columns import StoredColumns, open_columns
from workflow_lib.tabular.tables import listed
from workflow_lib.uncertainty.conformal import half_widths
from workflow_lib.uncertainty.novelty import NoveltyScale, nearest_by_rows

LEVEL = 0.9
"""Share of new rows whose interval should hold the output."""

MAX_CALIBRATED = 20_000
"""Test rows whose residuals give the intervals."""

DEVICE = "auto"
"""A GPU is used where there is one, and torch."""

MAX_KEPT = 2000
"""Rows of the sample that the model keeps, to tell how unlike them a new row is."""

MAY_BE_INFINITE = ("target_squares", "half_widths", "test_errors", "test_score", "sample", "curve")


class TableColumns(NamedTuple):
    """The columns of a table that are learned from."""

    inputs: StoredColumns
    outputs: StoredColumns

    @classmethod
    def of(cls, data: str | Path, request: Mapping[str, Any]) -> TableColumns:
        """Return the columns that a request names: ``outputs``, and ``inputs`` or all but
        ``exclude``. Names may be patterns.

        Raises UserError for columns that are not there or hold no numbers, and for a table that
        cannot be read in blocks.
        """
        table = open_columns(data)
        names = list(table.kinds)
        outputs = _matching(request, "outputs", table)
        if not outputs:
            raise UserError(
                f"{data}, key outputs",
                "no columns to predict",
                "names or patterns, separated by commas",
                "add outputs=COLUMNS",
            )
        excluded = {*outputs, *_matching(request, "exclude", table)}
        wanted = _matching(request, "inputs", table) or names
        inputs = [name for name in wanted if name not in excluded]
        if not inputs:
            raise UserError(
                f"{data}, key inputs",
                "no columns to predict from",
                "columns that are no outputs",
                "name fewer outputs",
            )
        return cls(table.columns(inputs), table.columns(outputs))


def plan(data: str | Path, request: Mapping[str, Any], output: Path, seed: int) -> None:
    """Write the plan of a fit.

    `data` is a Parquet or HDF5 file. A request has ``outputs``, and as far as they are given
    ``inputs``, ``exclude``, ``components`` (of the mixture of OFER) and ``landmarks``.
    """
    made, columns = _new_plan(data, request, seed)
    print(
        f"{len(columns.inputs)} rows, {len(columns.inputs.names)} inputs, "
        f"{len(columns.outputs.names)} outputs; the kernel on a sample of {len(made.sample)} rows: "
        f"{_described_kernel(made.kernel)}"
    )
    write_artifact(output, made.to_tree(), "row_plan", seed, allow_nan=MAY_BE_INFINITE)


def sums(
    plan: Path,
    data: str | Path,
    request: Mapping[str, Any],
    block: int,
    n_blocks: int,
    output: Path,
) -> None:
    """Write the sums of one of `n_blocks` blocks of rows."""
    made, columns = _plan_of(plan), TableColumns.of(data, request)
    found = made.sums(*columns, block_of(made.n_rows, block, n_blocks), DEVICE)
    _write_sums(found, output, [plan])


def add_sums(parts: Sequence[Path], output: Path) -> None:
    """Write the sums of several blocks together."""
    # One after the other, of which two are in memory.
    total = reduce(
        lambda known, path: added([known, _sums_of(path)]), parts[1:], _sums_of(parts[0])
    )
    _write_sums(total, output, parts)


def solve(plan: Path, sums: Path, output: Path) -> None:
    """Write the solutions without each fold, from the sums of all rows."""
    solutions = _plan_of(plan).solved(_sums_of(sums))
    write_artifact(output, vars(solutions), "row_solutions", inputs=[plan, sums])


def errors(
    plan: Path,
    solutions: Path,
    data: str | Path,
    request: Mapping[str, Any],
    block: int,
    n_blocks: int,
    output: Path,
) -> None:
    """Write the errors after the pre-image of one of `n_blocks` blocks of rows."""
    made, columns = _plan_of(plan), TableColumns.of(data, request)
    rows = block_of(made.n_rows, block, n_blocks)
    found = made.errors(_solutions_of(solutions), *columns, rows)
    write_artifact(output, {"errors": found}, "row_errors", inputs=[plan, solutions])


def model(
    plan: Path,
    solutions: Path,
    errors: Sequence[Path],
    data: str | Path,
    request: Mapping[str, Any],
    title: str,
    output: Path,
    summary: Path,
) -> None:
    """Write the saved model, and a summary of its choice and its errors as JSON.

    `errors` are those of all blocks; none where outputs are regressed without a mixture. `data` and
    `request` are as of `plan`.
    """
    parts = [read_artifact(path, "row_errors")["errors"] for path in errors]
    fit = _plan_of(plan), _solutions_of(solutions), reduce(np.add, parts) if parts else None
    digest, inputs = artifact_digest(plan), [plan, solutions, *errors]
    found = _save(*fit, TableColumns.of(data, request), title, digest, output, inputs)
    write_text(summary, json.dumps(found, indent=1) + "\n")
    print("\n".join(summary_lines(found, output)))


def learn(data: str | Path, request: Mapping[str, Any], output: Path, seed: int) -> dict[str, Any]:
    """Write the saved model of a table, in all steps one after the other; return its summary.

    Parameters are those of `plan`, with the `output` of `model`.
    """
    made, columns = _new_plan(data, request, seed)
    rows = range(made.n_rows)
    solutions = made.solved(made.sums(*columns, rows, DEVICE))
    errors = made.errors(solutions, *columns, rows) if made.models else None
    return _save(made, solutions, errors, columns, Path(data).stem, "", output)


def block_of(n_rows: int, block: int, n_blocks: int) -> range:
    """Return the rows of one of several blocks of about equal size."""
    return range(block * n_rows // n_blocks, (block + 1) * n_rows // n_blocks)


def summary_lines(summary: Mapping[str, Any], model: str | Path) -> list[str]:
    """Return what is said of a model on the terminal."""
    lines = [
        f"{summary['rows']:,} rows, {summary['test_rows']:,} of them kept back until the choice",
        f"{summary['label']}: {summary['kernel']}, {summary['penalty']}",
        "Error relative to the mean of the outputs: "
        f"{summary['relative_error']:.3f} on the rows that were kept back",
    ]
    lines += [
        f"  {name}: {error:.4g} root mean squared error"
        for name, error in summary["root_mean_squared_errors"].items()
    ]
    if summary["coverage"] is not None:
        lines.append(
            f"Intervals for {LEVEL:.0%} of new rows held {summary['coverage']:.0%} of other rows"
        )
    lines += [f"Model: {model}", HOLDS_ROWS, "To predict new rows:"]
    return [*lines, f"  ofer predict {model} new_rows.csv"]


def _new_plan(data, request, seed) -> tuple[StreamPlan, TableColumns]:
    columns, numbers = TableColumns.of(data, request), {}
    for key, name in (("components", "n_components"), ("landmarks", "n_landmarks")):
        text = str(request.get(key, 1))
        if not text.isdecimal() or int(text) < 1:
            raise UserError(
                f"{data}, key {key}", f"'{text}'", "a number, 1 or more", f"write {key}=10"
            )
        if key in request:
            numbers[name] = int(text)
    return StreamPlan.made(*columns, StreamSettings(**numbers, seed=seed)), columns


def _save(made, solutions, errors, columns, title, digest, output, inputs=()) -> dict[str, Any]:
    """Write the model of the least error, and return its summary."""
    method = made.fitted(solutions, errors)
    tree = _predictor_tree(made, solutions, method, columns, title)
    tree["dataset_digest"] = digest
    # A tree that cannot predict is refused here.
    SavedModel(tree, str(output)).predict(made.sample[:2])
    nan = (*UNKNOWN_INPUTS, *MAY_BE_INFINITE)
    write_artifact(output, tree, "predictor", made.settings.seed, inputs, nan)
    return _summary(made, method, tree, columns)


def _predictor_tree(made, solutions, method: StreamedMethod, columns, title) -> dict[str, Any]:
    """Return the tree of a saved model."""
    kept = made.sample[:MAX_KEPT]
    rows = made.preparation.apply(kept)
    distances = nearest_by_rows(rows, rows, "rbf", np.arange(len(rows)))
    scale = NoveltyScale.fit(distances)
    _, outputs, predicted = made.test_predictions(solutions, method.point, *columns, MAX_CALIBRATED)
    residuals = outputs - predicted
    tree: dict[str, Any] = {
        "title": title,
        "method": "ofer-gmm" if made.models else "m-krr",
        "label": "OFER-GMM" if made.models else "m-KRR",
        "training_size": method.n_rows,
        "row_counts": {"labelled": method.n_rows},
        "metric": made.settings.metric,
        "names": {
            "outputs": json.dumps(columns.outputs.names),
            "inputs": json.dumps(columns.inputs.names),
        },
        "versions": json.dumps(software_versions(), sort_keys=True),
        "regressor": method.tree,
        "inputs": {
            "kind": "rows",
            "kernel": "rbf",
            "n_rows": len(kept),
            "n_weak": 0,
            "lagged_values": "none",
            "train": kept,
            "weak": kept[:0],
            "preparation": made.preparation.tree(),
        },
        "reading": json.dumps(dict.fromkeys(READING)),
        "half_widths": half_widths(residuals, LEVEL),
        "novelty": {"unit": scale.unit, "limit": scale.limit},
    }
    if np.isfinite(method.test_score):
        tree["score"] = method.test_score
    if np.isfinite(tree["half_widths"]).all():
        tree["level"] = LEVEL
        # Of half of the rows, by the intervals of the other half.
        half = len(residuals) // 2
        held = np.abs(residuals[half:]) <= half_widths(residuals[:half], LEVEL)
        if half:
            tree["coverage"] = float(held.mean())
    return tree


def _summary(made, method: StreamedMethod, tree, columns) -> dict[str, Any]:
    choice, count = method.choice, made.settings.n_components
    penalty = f"penalty {choice.alpha_rest:.3g}"
    if made.models:
        penalty = f"{count} components, penalties {choice.alpha_leading:.3g} and {penalty[8:]}"
    n_test = int((made.settings.folds(made.n_rows) == made.settings.n_folds).sum())
    return {
        "title": tree["title"],
        "label": tree["label"],
        "rows": method.n_rows,
        "test_rows": n_test,
        "inputs": len(columns.inputs.names),
        "landmarks": 0 if made.landmarks is None else len(made.landmarks),
        "kernel": _described_kernel(made.kernel),
        "penalty": penalty,
        "heldout_error": choice.score,
        "relative_error": method.test_score,
        "root_mean_squared_errors": dict(
            zip(columns.outputs.names, method.test_errors.tolist(), strict=True)
        ),
        "half_widths": dict(zip(columns.outputs.names, tree["half_widths"].tolist(), strict=True)),
        "coverage": tree.get("coverage"),
    }


def _described_kernel(kernel) -> str:
    width = "" if kernel.width is None else f" of width {kernel.width:g}"
    return f"{kernel.name} kernel{width}"


def _matching(request: Mapping[str, Any], key: str, table) -> list[str]:
    """Return the columns that a list of names and patterns means, in the order of the table."""
    found, names = set(), list(table.kinds)
    for pattern in columns_of_list(request.get(key, ""), names):
        matched = [pattern] if pattern in names else fnmatch.filter(names, pattern)
        if not matched:
            guess = nearest_name(pattern, names)
            raise UserError(
                f"{table.location}, key {key}",
                f"there is no column '{pattern}'",
                f"columns of the table: {listed(names)}",
                f"write '{guess}'" if guess else "fix the name",
            )
        found |= set(matched)
    return [name for name in names if name in found]


def _plan_of(path: Path) -> StreamPlan:
    return StreamPlan.from_tree(read_artifact(path, "row_plan"))


def _solutions_of(path: Path) -> Solutions:
    tree = read_artifact(path, "row_solutions")
    return Solutions(**{name: tree[name] for name in Solutions.__dataclass_fields__})


def _write_sums(parts: Sequence[FeatureSums], output: Path, inputs: Sequence[Path]) -> None:
    tree = {str(fold): vars(part) for fold, part in enumerate(parts)}
    write_artifact(output, tree, "row_sums", inputs=inputs)


def _sums_of(path: Path) -> list[FeatureSums]:
    tree = read_artifact(path, "row_sums")
    names = FeatureSums.__dataclass_fields__
    return [
        FeatureSums(**{name: tree[str(fold)][name] for name in names})
        for fold in range(sum(key.isdigit() for key in tree))
    ]
