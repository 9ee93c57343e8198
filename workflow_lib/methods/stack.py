"""The regression stage of a stack: one convex combination of other methods a training size."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from workflow_lib.artifacts import read_artifact
from workflow_lib.errors import UserError
from workflow_lib.experiments.heldout_errors import heldout_error
from workflow_lib.experiments.items import SELECTED, item_group, size_group
from workflow_lib.experiments.output_items import OutputItems
from workflow_lib.experiments.stage_timings import stage_seconds
from workflow_lib.regression.stacking import combined, output_weights

REGRESSORS = ("stack",)
TASKS = ("regression", "series")
NEEDS = {"minutes": 1, "grams": 2}


def run(
    dataset: Path,
    split: Path,
    regressions: Sequence[Path],
    predictions: Sequence[Path],
    member_timings: Sequence[Path],
    output: Path,
    timings: Path,
    members: Sequence[str],
    member_sizes: Mapping[str, int],
    metric: str,
    seed: int,
) -> None:
    """Combine the predictions of the member methods, for every training size.

    The weights are those of `workflow_lib.regression.stacking.output_weights`, fitted to the
    predictions that each training row got without its fold. Writes the "regression" artifact: for
    each item the weight of each member, its mean over outputs, and ``member_weights`` (k, d), those
    of every output in the order of `members`; the combined outputs of the
    test rows and of the training rows, and the relative error of the latter, which is a little too
    good, as the weights are fitted to the same rows; and the seconds of each item, as JSON: the
    sums over the members that take part, with those of the stack. The pre-images of the members
    count as prediction.

    Parameters
    ----------
    dataset, split : path
        Artifacts. No output of a test row is looked at.
    regressions, predictions : sequences of paths
        Artifacts of the members, in their order.
    member_timings : sequence of paths
        JSON files of the members' seconds, equally many consecutive ones for each.
    members : sequence of str
        Their names. Of members that are equally good the earlier is preferred.
    member_sizes : mapping from the names of methods
        Smallest training size from which a member takes part; below it its weight is zero.
        Those without an entry always do.
    output, timings : path
    metric : {"arrmse", "rrmse"}
        Error that the score gives; the weights do not depend on it.
    seed : int
        Of the samples of rows over which weights are averaged.

    Raises
    ------
    UserError
        If no member takes part in a training size, or a member's artifacts lack the item or the
        predictions of its training rows.
    """
    outputs = read_artifact(dataset, "dataset")["outputs"]
    partition = read_artifact(split, "split")
    paths = by_member(members, regressions, predictions, member_timings)
    stored = {name: _Member(name, paths[name]) for name in members}
    items = OutputItems()
    for size in map(int, partition["sizes"]):
        Y = outputs[partition["train"]][:size]
        item = item_group(size, 0, SELECTED)
        present = [name for name in stored if size >= member_sizes.get(name, 0)]
        if not present:
            raise _without_members(size, member_sizes)
        heldout = [stored[name].heldout_outputs(item) for name in present]
        of_test_rows = [stored[name].test_outputs(item) for name in present]
        started = time.perf_counter()
        weights = output_weights(heldout, Y, seed)
        heldout_outputs = combined(weights, heldout)
        folds = partition["folds"][size_group(size)]
        score = heldout_error(Y, heldout_outputs, folds, metric)
        fitted = time.perf_counter()
        test_outputs = combined(weights, of_test_rows)
        predicted = time.perf_counter()
        member_weights = np.zeros((len(stored), Y.shape[1]))
        member_weights[[list(stored).index(name) for name in present]] = weights
        means = dict(zip(stored, map(float, member_weights.mean(axis=1))))
        own_seconds = stage_seconds(started, started, fitted, predicted)
        items.add(
            size,
            test_outputs,
            heldout_outputs,
            _summed([own_seconds, *(stored[name].seconds(item) for name in present)]),
            score=score,
            member_weights=member_weights,
            **{f"weight_{name}": weight for name, weight in means.items()},
        )
    sources = [paths[name][kind] for name in members for kind in ("regression", "predictions")]
    items.write(output, timings, [dataset, split, *sources], seed)


def by_member(
    names: Sequence[str],
    regressions: Sequence[Path],
    predictions: Sequence[Path],
    timings: Sequence[Path],
) -> dict[str, dict]:
    """Return the paths of each member, from lists in the order of their `names`.

    Each member has one regression and one predictions artifact, and equally many consecutive
    `timings`.
    """
    count = len(timings) // len(names)
    return {
        name: {
            "regression": regressions[index],
            "predictions": predictions[index],
            "timings": list(timings[index * count : (index + 1) * count]),
        }
        for index, name in enumerate(names)
    }


class _Member:
    """What one member has left on the disk."""

    def __init__(self, name: str, paths: Mapping) -> None:
        self._name, self._paths = name, paths
        self._regression = read_artifact(paths["regression"], "regression")
        self._predictions = read_artifact(paths["predictions"], "predictions")
        self._stages = [
            json.loads(Path(path).read_text(encoding="utf-8")) for path in paths["timings"]
        ]

    def heldout_outputs(self, item: str) -> np.ndarray:
        """Return the predictions (n, d) of the training rows, each without its fold."""
        return self._entry("regression", self._regression, item, "heldout_outputs")

    def test_outputs(self, item: str) -> np.ndarray:
        """Return the predictions (n_test, d) of the test rows."""
        return self._entry("predictions", self._predictions, item, "outputs")

    def seconds(self, item: str) -> dict[str, float]:
        """Return the seconds of all stages, pre-images as part of the prediction."""
        total = _summed([stage[item] for stage in self._stages])
        preimages = total.pop("preimage_seconds", 0.0)
        return _summed([total, {"prediction_seconds": preimages}])

    def _entry(self, kind: str, tree: Mapping, item: str, entry: str) -> np.ndarray:
        path = self._paths[kind]
        if item not in tree:
            raise UserError(
                place=str(path),
                found=f"the member {self._name} of the stack holds no item {item}",
                expected="one item a training size, its components chosen by cross-validation",
                remedy="write components: selected in the experiment, or leave the stack out of it",
            )
        if entry not in tree[item]:
            raise UserError(
                place=f"{path}, {item}",
                found=f"the member {self._name} of the stack holds no {entry}",
                expected="the predictions of its training rows, each without the row's fold",
                remedy=f"rm {path} and run the same snakemake command again; if it persists, "
                f"leave {self._name} out of the members of the stack",
            )
        return tree[item][entry]


def _without_members(size: int, member_sizes: Mapping[str, int]) -> UserError:
    smallest = ", ".join(f"{name} {value}" for name, value in member_sizes.items())
    return UserError(
        place="the method file of the stack, keys members and member_sizes",
        found=f"no member takes part at training size {size} (smallest sizes: {smallest})",
        expected="at least one member at every training size",
        remedy="add a member that has no entry in member_sizes",
    )


def _summed(parts: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the sums of numbers of the same name."""
    total: dict[str, float] = {}
    for part in parts:
        for name, value in part.items():
            total[name] = total.get(name, 0.0) + value
    return total
