"""The calibration stage: intervals and novelty for the best method of an experiment."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from workflow_lib.artifacts import read_artifact, write_artifact
from workflow_lib.errors import UserError
from workflow_lib.experiments.conformal import coverage_by_split, pooled_half_widths, rows_needed
from workflow_lib.experiments.items import SELECTED, asked_weak_size, item_group, size_group
from workflow_lib.experiments.novelty import NoveltyScale, distances_of_test_rows, novelty_scale
from workflow_lib.experiments.prepared_inputs import prepared_inputs
from workflow_lib.metrics import training_mean_errors
from workflow_lib.seeds import derive_seed

# What may be infinite, where there are too few rows, or NaN, where nothing was measured.
NOT_ALWAYS_FINITE = ("half_widths", "coverage", "truth", "novelty_limit")


def run(
    answer: Path,
    dataset: Path,
    splits: Sequence[Path],
    features: Sequence[Path],
    predictions: Mapping[str, Sequence[Path]],
    output: Path,
    level: float,
    seed: int,
) -> None:
    """Write the "calibration" artifact of the winner at the training size of the answer.

    It holds ``half_widths`` (d,) for use, from the test rows of all splits
    (`workflow_lib.experiments.conformal.pooled_half_widths`), ``n_rows`` (d,), the different rows
    that each rests on, and ``rows_needed``, the fewest for a finite one; ``coverage``
    (n_splits, d) by intervals from other rows of the same split, or of other splits where these are
    too few (`workflow_lib.experiments.conformal.coverage_by_split`), else NaN; ``novelty_limit``,
    the median over splits; ``level``, ``method``, ``item`` and ``training_size``. For each split a
    group ``split-k``: ``rows`` (n_test,), their numbers in the dataset; ``predicted`` and ``truth``
    (n_test, d), NaN where an output is missing; ``novelty`` (n_test,), with the ``novelty_limit``
    of this split; and ``errors`` and ``reference`` (d,), the squared errors of the predictions and
    of the training mean.

    Where the outputs are classes there are no intervals: d is 0, and a split holds the true and
    the predicted class of its rows, ``true_classes`` and ``predicted_classes`` (n_test,).

    Parameters
    ----------
    answer : path
        JSON with ``winner`` and ``training_size``, the number of training rows (of classes too);
        with ``weak_size`` and ``components`` where the method was scored with several of these.
    dataset : path
    splits, features : sequences of paths
        Artifacts of the numbered splits, in the same order.
    predictions : mapping of method name to sequence of paths
        In that order too. Only those of the winner are read.
    output : path
    level : float
        Share of new outputs that an interval is to hold, between 0 and 1.
    seed : int
        Of the halves that measure the coverage, and of the sample of training rows, where there
        are too many, that measures what novelty is usual.

    Raises
    ------
    UserError
        If the answer names no method of `predictions`, or it has no predictions at that size.
    """
    chosen = _read_answer(answer)
    method = chosen["winner"]
    if method not in predictions:
        raise UserError(
            place=f"{answer}, winner",
            found=f"the method {method}",
            expected=f"one of {', '.join(predictions)}",
            remedy=f"rm {answer} and run the same snakemake command again",
        )
    size = chosen["training_size"]
    data = read_artifact(dataset, "dataset")
    tree: dict = {}
    tested = []
    paths = zip(splits, features, predictions[method], strict=True)
    for number, (split_path, features_path, predictions_path) in enumerate(paths):
        partition = read_artifact(split_path, "split")
        items = read_artifact(predictions_path, "predictions")
        name = _item_name(items, size, chosen, partition, predictions_path)
        inputs = read_artifact(features_path, "features")
        scale, novelty = _novelty(inputs, partition, size, derive_seed(seed, "novelty", number))
        split = _TestedSplit.of(data, partition, size, items[name])
        tested.append(split)
        tree[f"split-{number}"] = split.tree() | {
            "novelty": novelty,
            "novelty_limit": scale.limit,
        }
    residuals = [split.truth - split.predicted for split in tested]
    rows = [split.rows for split in tested]
    tree |= {
        "level": float(level),
        "method": method,
        "item": name,
        "training_size": size,
        "half_widths": pooled_half_widths(residuals, rows, level),
        "n_rows": _known_rows(residuals, rows),
        "rows_needed": rows_needed(level),
        "coverage": coverage_by_split(
            residuals,
            rows,
            level,
            [derive_seed(seed, "coverage", number) for number in range(len(residuals))],
        ),
        "novelty_limit": float(
            np.median([tree[f"split-{number}"]["novelty_limit"] for number in range(len(tested))])
        ),
    }
    _tell(tree)
    sources = [answer, dataset, *splits, *features, *predictions[method]]
    write_artifact(
        output, tree, "calibration", seed=seed, inputs=sources, allow_nan=NOT_ALWAYS_FINITE
    )


@dataclass(frozen=True)
class _TestedSplit:
    """The test rows of one split, with what was predicted and what is true."""

    rows: np.ndarray
    predicted: np.ndarray
    truth: np.ndarray
    training_outputs: np.ndarray
    classes: dict[str, np.ndarray]

    @classmethod
    def of(cls, data: Mapping, partition: Mapping, size: int, item: Mapping) -> _TestedSplit:
        rows = partition["test"]
        if "classes" in data:
            nothing = np.empty((len(rows), 0))
            classes = {
                "true_classes": data["classes"]["labels"][rows],
                "predicted_classes": item["classes"],
            }
            return cls(rows, nothing, nothing, np.empty((size, 0)), classes)
        outputs = data["outputs"]
        training_outputs = outputs[partition["train"][:size]]
        return cls(rows, item["outputs"], outputs[rows], training_outputs, {})

    def tree(self) -> dict:
        """Return the group of this split."""
        if self.classes:
            errors = reference = np.empty(0)
        else:
            errors = np.nansum((self.truth - self.predicted) ** 2, axis=0)
            reference = training_mean_errors(self.truth, self.training_outputs)
        return self.classes | {
            "rows": self.rows,
            "predicted": self.predicted,
            "truth": self.truth,
            "errors": errors,
            "reference": reference,
        }


def _read_answer(path: Path) -> dict:
    try:
        answer = json.loads(Path(path).read_text(encoding="utf-8"))
        return answer | {"winner": answer["winner"], "training_size": int(answer["training_size"])}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            place=str(path),
            found=f"no answer can be read from it ({type(error).__name__}: {error})",
            expected="a JSON file with winner and training_size",
            remedy=f"rm -f {path} and run the same snakemake command again",
        ) from error


def _item_name(items: Mapping, size: int, chosen: Mapping, partition: Mapping, place: Path) -> str:
    """Return the name of the item that the answer means.

    Where it names no weak rows and no components these are the ones of the method's only item, or
    else its item without weak rows and with selected components.
    """
    of_size = {
        name: item | {"weak_size": asked_weak_size(int(item["weak_size"]), partition)}
        for name, item in items.items()
        if item["training_size"] == size and not item.get("setting", "")
    }
    for key in ("weak_size", "components"):
        if chosen.get(key) is not None:
            of_size = {
                name: item for name, item in of_size.items() if str(item[key]) == str(chosen[key])
            }
    usual = item_group(size, 0, SELECTED)
    if len(of_size) == 1:
        return next(iter(of_size))
    if usual in of_size:
        return usual
    raise UserError(
        place=str(place),
        found=f"{len(of_size) or 'no'} predictions of {chosen['winner']} with {size} training "
        f"rows: {', '.join(of_size) or 'none'}",
        expected="one, or one without weak rows whose components were selected",
        remedy="give this method one number of weak rows and components: selected in the "
        "experiment, or leave it out",
    )


def _novelty(
    inputs: Mapping, partition: Mapping, size: int, seed: int
) -> tuple[NoveltyScale, np.ndarray]:
    """Return the scale of a split, and the novelty (n_test,) of its test rows."""
    prepared = prepared_inputs(inputs, partition["folds"][size_group(size)], size)
    scale = novelty_scale(prepared, inputs["kernel"], seed)
    return scale, scale.novelty(distances_of_test_rows(prepared, inputs["kernel"]))


def _known_rows(residuals: Sequence[np.ndarray], rows: Sequence[np.ndarray]) -> np.ndarray:
    """Return the number (d,) of different rows of which each output is known."""
    _, first = np.unique(np.concatenate(rows), return_index=True)
    return (~np.isnan(np.concatenate(residuals)[first])).sum(axis=0)


def _tell(tree: Mapping) -> None:
    widths, coverage = tree["half_widths"], tree["coverage"]
    level, too_few = tree["level"], ~np.isfinite(widths)
    if np.isfinite(coverage).any():
        held = 100 * np.nanmean(coverage)
        print(f"{tree['method']}: intervals of {100 * level:g} % held {held:.1f} % of test outputs")
    if too_few.any():
        print(
            f"{too_few.sum()} of {len(widths)} outputs have no interval: they are known in "
            f"{tree['n_rows'][too_few].min()} test rows or more, and {tree['rows_needed']} are "
            f"needed for intervals of {100 * level:g} %"
        )
