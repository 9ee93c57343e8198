"""The stage that measures which inputs matter to the winner, on the test rows of all splits."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from workflow_lib.core.artifacts import write_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.core.result_cells import frame_as_csv, rows_as_csv
from workflow_lib.core.seeds import derive_seed
from workflow_lib.core.whole_files import write_text
from workflow_lib.measures.metrics import training_mean_errors
from workflow_lib.protocol.importance_table import ALL_OUTPUTS, COLUMNS, importance_frame
from workflow_lib.solvers.stored.estimator import trusting
from workflow_lib.table.importance import (
    MAY_BE_UNKNOWN,
    Errors,
    importance_tree,
    permuted_errors,
    planned,
)
from workflow_lib.table.input_groups import Grouping, column_groups, correlated_groups, rows_at
from workflow_lib.table.saved_model import SavedModel
from workflow_lib.table.saved_model_stage import (
    MAX_DIFFERENCE,
    Source,
    largest_difference,
    predictor_tree,
)

MAX_GROUPING_ROWS = 1000
"""Rows by which columns are grouped."""


def run(
    answer: Path,
    dataset: Path,
    splits: Sequence[Path],
    features: Sequence[Path],
    methods: Sequence[Mapping[str, Mapping]],
    output: Path,
    table: Path,
    seed: int,
    trusted: Sequence[str] = (),
) -> None:
    """Write the "importance" artifact of the winner, and the same as CSV.

    In each split the winner is made again from its artifacts, as
    `workflow_lib.table.saved_model_stage.run` does for all rows, and has to reproduce its
    predictions for the test rows; then it predicts these with permuted inputs
    (`workflow_lib.table.importance`). The artifact holds the tree of
    `workflow_lib.table.importance.importance_tree`, ``method``, ``n_repeats``, the permutations of
    each group in a split, ``n_rows``, the test rows used of each split, and ``n_train``; where the
    inputs are no columns, or the winner cannot be made again, ``reason`` says why, and there is
    nothing else.

    Parameters
    ----------
    answer : path
        As for `workflow_lib.table.saved_model_stage.run`.
    dataset : path
    splits, features : sequences of paths
        Artifacts of the numbered splits, in the same order.
    methods : sequence of mappings
        As for `workflow_lib.table.saved_model_stage.run`, one for each split.
    output, table : paths
        The artifact and the CSV.
    seed : int
        Of the permutations.
    trusted : sequence of str, default=()
        As for `workflow_lib.table.saved_model_stage.run`.

    Raises
    ------
    UserError
        If a method that was made again does not reproduce its predictions.
    """
    answered = json.loads(Path(answer).read_text(encoding="utf-8"))
    name = answered["winner"]
    used = [path for paths in zip(splits, features) for path in paths]
    tree: dict = {"method": name}
    measured = []
    for number, (split, feature, described) in enumerate(zip(splits, features, methods)):
        source = Source(dataset, split, feature, described, answered, is_final=False)
        if reason := _why_not(source, name):
            break
        with trusting(trusted):
            fitted, n_weak = predictor_tree(source, name, answered)
            model = SavedModel(fitted, str(split))
        if reason := model.why_no_columns:
            break
        _check(model, name, source, n_weak, described)
        used += [described[name]["regression"], described[name]["predictions"]]
        if not number:
            grouping = _grouping(model, source, n_weak)
            n_test = len(source.partition["test"])
            n_repeats, n_rows = planned(len(grouping.groups), n_test)
        of_split = derive_seed(seed, "split", number)
        measured.append(_measured(model, source, n_weak, grouping, n_repeats, n_rows, of_split))
    if reason:
        tree["reason"] = reason
        print(f"no importance of inputs: {reason}")
    else:
        plain, permuted = (np.array(values) for values in zip(*measured))
        outputs = _outputs(model, source)
        tree |= importance_tree(plain, permuted, grouping, outputs, source.size, n_test)
        tree |= {"n_repeats": n_repeats, "n_rows": n_rows, "n_train": source.size}
    write_artifact(
        output,
        tree,
        "importance",
        seed=seed,
        inputs=[answer, dataset, *used],
        allow_nan=MAY_BE_UNKNOWN,
    )
    if reason:
        write_text(table, rows_as_csv(list(COLUMNS), []))
    else:
        write_text(table, frame_as_csv(importance_frame(tree, str(output))))


def _why_not(source: Source, name: str) -> str:
    """Return why a winner cannot be made again for a numbered split; "" where it can."""
    described = source.methods[name]
    for method in (name, *described.get("members", ())):
        if "input_scores" in source.methods[method]["artifacts"]:
            return f"the map of the inputs of {method} is only kept for all rows"
    return ""


def _check(
    model: SavedModel, name: str, source: Source, n_weak: int, described: Mapping[str, Mapping]
) -> None:
    """Refuse a method that does not predict the test rows as it did in its split."""
    found = largest_difference(model, name, source, n_weak)
    if not found <= MAX_DIFFERENCE:
        paths = f"{described[name]['predictions']} {described[name]['regression']}"
        raise UserError(
            location=described[name]["predictions"],
            found=f"{name}, made again, differs from it by {found:.2g} of the outputs' spread",
            expected="the same predictions",
            remedy=f"rm {paths} and run the same snakemake command again",
        )


def _grouping(model: SavedModel, source: Source, n_weak: int) -> Grouping:
    """Return the groups of columns, by the inputs of all labelled rows; no output is looked at."""
    rows = np.sort(np.concatenate([source.train, source.partition["test"]]))
    if len(rows) > MAX_GROUPING_ROWS:
        rows = rows[np.linspace(0, len(rows) - 1, MAX_GROUPING_ROWS).astype(int)]
    return correlated_groups(column_groups(model.positions), source.encoded(rows, n_weak))


def _measured(
    model: SavedModel,
    source: Source,
    n_weak: int,
    grouping: Grouping,
    n_repeats: int,
    n_rows: int,
    seed: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the errors (k,) of a split, and those (g, k) with each group permuted."""
    test = source.partition["test"]
    if len(test) > n_rows:
        chosen = np.random.default_rng(derive_seed(seed, "rows")).permutation(len(test))[:n_rows]
        test = test[np.sort(chosen)]
    encoded = source.encoded(test, n_weak)
    rows, errors = rows_at(encoded, np.arange(len(test))), _errors(model, source, test)
    plain = errors(model.predicted_outputs(rows))
    permuted = permuted_errors(
        model.predicted_outputs, rows, errors, grouping.groups, n_repeats, seed
    )
    return plain, permuted.mean(axis=1)


def _errors(model: SavedModel, source: Source, rows: np.ndarray) -> Errors:
    """Return the function from predictions for rows to their errors: of all outputs, and of each.

    It is the relative error of outputs, NaN of one that is constant in these rows, and the share of
    wrong classes.
    """
    if source.of_classes:
        labels = source.data["classes"]["labels"][rows]
        return lambda predicted: np.array(
            [np.mean(model.class_scores(predicted).argmax(axis=1) != labels)]
        )
    truth, training = source.data["outputs"][rows], source.data["outputs"][source.train]
    reference = training_mean_errors(truth, training)

    def errors(predicted: np.ndarray) -> np.ndarray:
        squared = np.nansum((truth - predicted) ** 2, axis=0)
        unknown = np.full(len(squared), np.nan)
        relative = np.sqrt(np.divide(squared, reference, out=unknown, where=reference > 0))
        if len(relative) == 1:
            return relative
        is_known = ~np.isnan(relative)
        mean = relative[is_known].mean() if is_known.any() else np.nan
        return np.concatenate([[mean], relative])

    return errors


def _outputs(model: SavedModel, source: Source) -> list[str]:
    """Return the names of the errors of `_errors`."""
    if source.of_classes:
        return ["class"]
    names = model.output_names
    return names if len(names) == 1 else [ALL_OUTPUTS, *names]
