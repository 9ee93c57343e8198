"""The stage that measures which inputs matter to the winner, on the test rows of all splits."""

from __future__ import annotations

import json
import multiprocessing
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from workflow_lib.core.artifacts import write_artifact
from workflow_lib.core.result_cells import frame_as_csv, rows_as_csv
from workflow_lib.core.seeds import derive_seed
from workflow_lib.core.whole_files import write_text
from workflow_lib.data.table_encoding import EncodedRows
from workflow_lib.measures.metrics import training_mean_errors
from workflow_lib.protocol.importance_table import ALL_OUTPUTS, COLUMNS, importance_frame
from workflow_lib.solvers.stored.estimator import trusting
from workflow_lib.table.effects import MAX_EFFECTS, MAX_ROWS, curves, scale_of
from workflow_lib.table.importance import (
    MAY_BE_UNKNOWN,
    Errors,
    importance_tree,
    permuted_errors,
    planned,
)
from workflow_lib.table.input_groups import InputGroup, column_groups, correlated_groups, rows_at
from workflow_lib.table.saved_model import SavedModel
from workflow_lib.table.saved_model_stage import (
    MAX_DIFFERENCE,
    Source,
    largest_difference,
    predictor_tree,
)

MAX_GROUPING_ROWS = 1000
"""Rows by which columns are grouped."""

MAX_SPLITS_OF_EFFECTS = 5
"""Splits whose winners are kept in memory for the effects of inputs."""


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
    n_jobs: int = 1,
    in_copies: bool = False,
) -> None:
    """Write the "importance" artifact of the winner, and the same as CSV.

    In each split the winner is made again from its artifacts, as
    `workflow_lib.table.saved_model_stage.run` does for all rows, and has to reproduce its
    predictions for the test rows; then it predicts these with permuted inputs
    (`workflow_lib.table.importance`). The artifact holds the tree of
    `workflow_lib.table.importance.importance_tree`, ``method``, ``n_repeats``, the permutations of
    each group in a split, ``n_rows``, the test rows used of each split, ``n_train``, and in
    ``effects`` those of the most important inputs (`workflow_lib.table.effects`), from the first
    splits. Where the inputs are no columns, or the winner cannot be made again, ``reason`` says
    why, and there is nothing else.

    Parameters
    ----------
    answer : path
        As for `workflow_lib.table.saved_model_stage.run`.
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
    n_jobs : int, default=1
        Splits that are handled at a time, with the same result.
    in_copies : bool, default=False
        Whether by copies of this process, which must have one thread then, and not by threads,
        which wait for each other. On other systems than Linux it has no effect.
    """
    answered = json.loads(Path(answer).read_text(encoding="utf-8"))
    name = answered["winner"]
    used = [path for paths in zip(splits, features) for path in paths]
    tree: dict = {"method": name}
    open_split = partial(_split_of, name=name, answered=answered, trusted=trusted)
    sources = [
        partial(Source, dataset, *paths, answered, is_final=False)
        for paths in zip(splits, features, methods, strict=True)
    ]
    first, reason = open_split(sources[0]())
    if first is not None:
        labelled, n_train, n_test = first.labelled_rows(), first.source.size, len(first.test)
        grouping = correlated_groups(column_groups(first.model.positions), labelled)
        n_repeats, n_rows = planned(len(grouping.groups), n_test)
        plan = {"groups": grouping.groups, "n_repeats": n_repeats, "n_rows": n_rows}
        measures = [
            partial(_measure, open_split, source, seed=derive_seed(seed, "split", number), **plan)
            for number, source in enumerate(sources)
        ]
        measures[0] = partial(measures[0], opened=first)
        kept, reasons, measured = zip(*_all_of(measures, n_jobs, in_copies))
        reason = next(filter(None, reasons), "")
        used += [each[name][kind] for each in methods for kind in ("regression", "predictions")]
    if reason:
        tree["reason"] = reason
        print(f"no importance of inputs: {reason}")
    else:
        plain, permuted = (np.array(values) for values in zip(*measured))
        tree |= importance_tree(plain, permuted, grouping, _outputs(first), n_train, n_test)
        tree |= {"n_repeats": n_repeats, "n_rows": n_rows, "n_train": n_train}
        increase = np.nanmean(permuted - plain[:, None], axis=0)
        opened = [split for split in kept if split is not None]
        tree["effects"] = _effects(opened, grouping.groups, labelled, increase)
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


@dataclass(frozen=True)
class _Split:
    """The winner of a split, which predicts new rows as it predicted the test rows."""

    model: SavedModel
    source: Source
    n_weak: int

    @property
    def test(self) -> np.ndarray:
        return self.source.partition["test"]

    def rows(self, numbers: np.ndarray) -> EncodedRows:
        """Return the inputs of rows of the dataset."""
        encoded = self.source.encoded(numbers, self.n_weak)
        return rows_at(encoded, np.arange(len(numbers)))

    def labelled_rows(self) -> EncodedRows:
        """Return the inputs of the labelled rows, of many only some; no output is looked at."""
        rows = np.sort(np.concatenate([self.source.train, self.test]))
        if len(rows) > MAX_GROUPING_ROWS:
            rows = rows[np.linspace(0, len(rows) - 1, MAX_GROUPING_ROWS).astype(int)]
        return self.rows(rows)

    def shown(self, rows: EncodedRows) -> np.ndarray:
        """Return predicted outputs (m, d), or 1 for the predicted class and 0 for others (m, K)."""
        predicted = self.model.predicted_outputs(rows)
        if not self.source.of_classes:
            return predicted
        scores = self.model.class_scores(predicted)
        return np.eye(scores.shape[1])[scores.argmax(axis=1)]


def _split_of(
    source: Source, name: str, answered: Mapping, trusted: Sequence[str]
) -> tuple[_Split | None, str]:
    """Return the winner of a split, or why it cannot be made again."""
    for method in (name, *source.methods[name].get("members", ())):
        if "input_scores" in source.methods[method]["artifacts"]:
            return None, f"the map of the inputs of {method} is only kept for all rows"
    with trusting(trusted):
        tree, n_weak = predictor_tree(source, name, answered)
        model = SavedModel(tree, "the winner of a split")
        if model.why_no_columns:
            return None, model.why_no_columns
        difference = largest_difference(model, name, source, n_weak)
    if not difference <= MAX_DIFFERENCE:
        return None, f"{name}, made again, predicts other outputs (difference {difference:.1g})"
    return _Split(model, source, n_weak), ""


def _measure(
    open_split: Callable[[Source], tuple[_Split | None, str]],
    source: Callable[[], Source],
    groups: Sequence[InputGroup],
    n_repeats: int,
    n_rows: int,
    seed: int,
    opened: _Split | None = None,
) -> tuple[_Split | None, str, tuple]:
    """Return the winner of a split, or why there is none, and its errors: those (k,) of the test
    rows, and those (g, k) with each group permuted."""
    split, reason = (opened, "") if opened else open_split(source())
    if split is None:
        return split, reason, ()
    test = split.test
    if len(test) > n_rows:
        chosen = np.random.default_rng(derive_seed(seed, "rows")).permutation(len(test))[:n_rows]
        test = test[np.sort(chosen)]
    rows, errors, predict = split.rows(test), _errors(split, test), split.model.predicted_outputs
    permuted = permuted_errors(predict, rows, errors, groups, n_repeats, seed)
    return split, reason, (errors(predict(rows)), permuted.mean(axis=1))


def _all_of(measures: Sequence[Callable], n_jobs: int, in_copies: bool) -> list[tuple]:
    """Call the functions, as `run` says; of the last of them no split is returned."""
    here, others = measures[:MAX_SPLITS_OF_EFFECTS], measures[MAX_SPLITS_OF_EFFECTS:]
    if in_copies and n_jobs > 1 and sys.platform == "linux":
        with ProcessPoolExecutor(n_jobs - 1, multiprocessing.get_context("fork")) as copies:
            later = [copies.submit(_without_split, measure) for measure in others]
            return [measure() for measure in here] + [each.result() for each in later]
    from sklearn.utils.parallel import Parallel, delayed

    calls = [*here, *(partial(_without_split, measure) for measure in others)]
    return Parallel(n_jobs, prefer="threads")(delayed(call)() for call in calls)


def _without_split(measure: Callable) -> tuple:
    return None, *measure()[1:]


def _effects(
    splits: Sequence[_Split],
    groups: Sequence[InputGroup],
    labelled: EncodedRows,
    increase: np.ndarray,
) -> dict[str, dict]:
    """Return the effects of the most important groups, each on the output that it matters to most.

    `increase` (g, k) are the means over the splits of the increase of the errors. Of classes it is
    the share of the rows for which the class that changes most is predicted. Stored are the partial
    dependences in the s splits, ``means`` (s, v), and the curves of the test rows of the first one,
    ``single_rows`` (n, v), none of classes.
    """
    model, effects = splits[0].model, {}
    names = model.explained_names
    for index in np.argsort(-increase[:, 0], kind="stable"):
        group = groups[index]
        scale = scale_of(group, model.positions, model.numbers, model.levels, labelled)
        if scale is None or not increase[index, 0] > 0:
            continue
        found = [
            curves(each.shown, each.rows(each.test[:MAX_ROWS]), group, labelled, scale)
            for each in splits
        ]
        means = np.array([single.mean(axis=0) for single in found])
        if len(names) == 1:
            output = 0
        elif splits[0].source.of_classes:
            output = int(np.argmax(np.ptp(means.mean(axis=0), axis=0)))
        else:
            output = int(np.nanargmax(increase[index, 1:]))
        rows = found[0][:, :, output]
        effects[str(len(effects))] = {
            "input": group.name,
            "column": scale.column,
            "output": names[output],
            "values": scale.values,
            "labels": json.dumps(scale.labels, ensure_ascii=False),
            "means": means[:, :, output],
            "single_rows": rows[:0] if splits[0].source.of_classes else rows,
        }
        if len(effects) == MAX_EFFECTS:
            break
    return effects


def _errors(split: _Split, rows: np.ndarray) -> Errors:
    """Return the function from predictions for rows to their errors: of all outputs, and of each.

    It is the relative error of outputs, NaN of one that is constant in these rows, and the share of
    wrong classes.
    """
    model, source = split.model, split.source
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


def _outputs(split: _Split) -> list[str]:
    """Return the names of the errors of `_errors`."""
    if split.source.of_classes:
        return ["class"]
    names = split.model.output_names
    return names if len(names) == 1 else [ALL_OUTPUTS, *names]
