"""The calibration stage: intervals and novelty for the best method of an experiment."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.core.result_cells import frame_as_csv
from workflow_lib.core.seeds import derive_seed
from workflow_lib.core.whole_files import write_text
from workflow_lib.fitting.prepared_inputs import prepared_inputs
from workflow_lib.items.group_names import SELECTED, item_group, requested_weak_size, size_group
from workflow_lib.measures.metrics import training_mean_errors
from workflow_lib.models.class_decoding import DISTANCES, nearest_scores
from workflow_lib.protocol.output_errors import output_errors
from workflow_lib.table.saved_model import SCORES
from workflow_lib.uncertainty.class_sets import ClassSets
from workflow_lib.uncertainty.conformal import (
    coverage_by_thirds,
    half_widths,
    held_by_other_rows,
    row_weights,
    rows_needed,
)
from workflow_lib.uncertainty.joint_regions import JointRegions
from workflow_lib.uncertainty.novelty import (
    NoveltyScale,
    distances_of_test_rows,
    distances_of_training_rows,
)
from workflow_lib.uncertainty.output_ranges import OutputRanges
from workflow_lib.uncertainty.row_intervals import HeldOutRows, RelativeResiduals, RowIntervals

# Entries that may be infinite, where there are too few rows, or NaN, where nothing was measured.
NOT_ALWAYS_FINITE = (
    "certainty",
    "constant_half_widths",
    "coverage",
    "factors",
    "half_widths",
    "held",
    "levels_that_hold",
    "limits",
    "log_sides",
    "lower",
    "novelty_limit",
    "of_novelty",
    "of_predicted",
    "of_width",
    "set_coverage",
    "set_size",
    "set_thirds",
    "truth",
    "upper",
    "usual_half_widths",
)


def run(
    answer: Path,
    dataset: Path,
    splits: Sequence[Path],
    features: Sequence[Path],
    predictions: Mapping[str, Sequence[Path]],
    output: Path,
    level: float,
    seed: int,
    table: Path | None = None,
) -> None:
    """Write the "calibration" artifact of the winner at the training size of the answer.

    It holds ``intervals``, the tree of `workflow_lib.uncertainty.row_intervals.RowIntervals` for
    use, from the test rows of all splits; ``half_widths`` (d,), their means over these rows,
    infinite where there is no interval, ``usual_half_widths`` (d, 2), their first and ninth
    deciles, and ``constant_half_widths`` (d,), the half-widths with one width for all rows
    (`workflow_lib.uncertainty.conformal.half_widths`); ``n_rows`` (d,), the number of
    distinct rows with this output, and ``rows_needed``, the fewest for a finite half-width;
    ``coverage`` (n_splits, d) of intervals from the rows of other splits, or from other rows of the
    same split where these are too few (`workflow_lib.uncertainty.conformal.held_by_other_rows`),
    else NaN; ``thirds``: the coverage over all splits in the lowest, middle and highest third
    ``of_predicted`` values, ``of_novelty`` and ``of_width`` (d, 3). Of two outputs or more,
    ``joint`` is the tree of `workflow_lib.uncertainty.joint_regions.JointRegions` for use, and has
    for the box and the ellipsoid the ``coverage`` (n_splits, 2) and its thirds ``of_novelty`` and
    ``of_width`` (2, 3), measured in the same way, and the mean ``log_sides`` (2,).
    ``novelty_limit``, the median over splits; ``level``, ``method``, ``item`` and
    ``training_size``. For each split a group ``split-k``: ``rows`` (n_test,), their numbers in the
    dataset; ``predicted`` and ``truth`` (n_test, d), NaN where an output is missing; ``lower`` and
    ``upper`` (n_test, d), the ends of the intervals for use; ``held`` (n_test, d), 1 or 0, whether
    the intervals from other rows hold the output, NaN where this was not tested, and
    ``levels_that_hold`` (n_test, d), the levels above which such intervals do; ``novelty``
    (n_test,), with the ``novelty_limit`` of this split; and ``errors`` and ``reference`` (d,), the
    squared errors of the predictions and of the training mean.

    Where the outputs are classes there are no intervals: d is 0, and a split holds the true and
    the predicted class of its rows, ``true_classes`` and ``predicted_classes`` (n_test,). Then
    ``sets`` is the tree of `workflow_lib.uncertainty.class_sets.ClassSets` for use, with the
    ``decoder`` that gives its scores: ``scores`` where the method predicts them, or the distance to
    the class vectors; and ``set_coverage`` and ``set_size`` (n_splits,), the share of test rows
    whose set from other rows holds the class, and the mean number of classes in these sets; and
    ``set_thirds`` (3,), this share over all splits in the least, the middle and the most certain
    third of the rows. A split has the ``certainty`` (n_test,), the highest probability of a class
    by a calibration on other rows. There are no ``sets`` where the predictions give no such scores.

    Raises UserError if the answer names no method of `predictions`, or it has no predictions at
    that size.

    Parameters
    ----------
    answer : path
        JSON with ``winner`` and ``training_size``, the number of training rows (of classes too);
        with ``weak_size`` and ``components`` where the method was scored with several of these.
    splits, features : sequences of paths
        Artifacts of the numbered splits, in the same order.
    predictions : mapping of method name to sequence of paths
        In the same order. Only those of the winner are read.
    level : float
        Share of new outputs that the intervals should hold, between 0 and 1.
    seed : int
        Seeds the folds of the intervals, the halves that measure the coverage, and the sample of
        training rows, where there are many, that determines the unit and the limit of novelty.
    table : path or None, default=None
        Where the errors of each output or class are written as CSV
        (`workflow_lib.protocol.output_errors`); None for nowhere.
    """
    chosen = _read_answer(answer)
    method = chosen["winner"]
    if method not in predictions:
        raise UserError(
            location=f"{answer}, winner",
            found=f"the method {method}",
            expected=f"one of {', '.join(predictions)}",
            remedy=f"rm {answer} and run the same snakemake command again",
        )
    size = chosen["training_size"]
    data = read_artifact(dataset, "dataset")
    tree: dict = {}
    vectors_of_splits = []
    paths = zip(splits, features, predictions[method], strict=True)
    for number, (split_path, features_path, predictions_path) in enumerate(paths):
        partition = read_artifact(split_path, "split")
        items = read_artifact(predictions_path, "predictions")
        name = item_name(items, size, chosen, partition, predictions_path)
        inputs = read_artifact(features_path, "features")
        scale, novelty = _novelty(inputs, partition, size, derive_seed(seed, "novelty", number))
        of_novelty = {"novelty": novelty, "novelty_limit": scale.limit}
        tree[f"split-{number}"] = _tested(data, partition, size, items[name]) | of_novelty
        vectors_of_splits.append(items[name]["outputs"])
    parts = list(tree.values())
    rows = [part["rows"] for part in parts]
    tree |= {
        "level": float(level),
        "method": method,
        "item": name,
        "training_size": size,
        "rows_needed": rows_needed(level),
        "novelty_limit": float(np.median([part["novelty_limit"] for part in parts])),
    }
    seeds = [derive_seed(seed, "coverage", number) for number in range(len(parts))]
    names = ("predicted", "truth", "novelty", "rows")
    pooled = HeldOutRows(*(np.concatenate([part[key] for part in parts]) for key in names))
    _add_intervals(tree, pooled, rows, OutputRanges.of_dataset(data), seed, seeds)
    if "classes" in data:
        _add_sets(tree, parts, vectors_of_splits, data["classes"].get("vectors"), seeds)
    _print_summary(tree)
    sources = [answer, dataset, *splits, *features, *predictions[method]]
    write_artifact(
        output, tree, "calibration", seed=seed, inputs=sources, allow_nan=NOT_ALWAYS_FINITE
    )
    if table is not None:
        names = data["names"]["classes" if "classes" in data else "outputs"]
        write_text(table, frame_as_csv(output_errors(parts, json.loads(names))))


def _tested(data: Mapping, partition: Mapping, size: int, item: Mapping) -> dict:
    """Return the test rows of one split, with their predicted and true outputs or classes."""
    rows = partition["test"]
    tree = {}
    if "classes" in data:
        predicted = truth = np.empty((len(rows), 0))
        errors = reference = np.empty(0)
        labels = data["classes"]["labels"][rows]
        tree = {"true_classes": labels, "predicted_classes": item["classes"]}
    else:
        outputs = data["outputs"]
        predicted = OutputRanges.of_dataset(data).within(item["outputs"])
        truth = outputs[rows]
        errors = np.nansum((truth - predicted) ** 2, axis=0)
        reference = training_mean_errors(truth, outputs[partition["train"][:size]])
    return tree | {
        "rows": rows,
        "predicted": predicted,
        "truth": truth,
        "errors": errors,
        "reference": reference,
    }


def _add_intervals(
    tree: dict,
    pooled: HeldOutRows,
    rows: Sequence[np.ndarray],
    ranges: OutputRanges,
    seed: int,
    seeds: Sequence[int],
) -> None:
    """Add the intervals for use, and the coverage of intervals from other rows, to the tree."""
    level, d = tree["level"], pooled.truth.shape[1]
    if not d:
        ranges = OutputRanges.of([])
    fit_seed = derive_seed(seed, "intervals")

    def fitted(rows: HeldOutRows) -> tuple[list, RelativeResiduals]:
        intervals, relative = RowIntervals.fit(rows, level, ranges, fit_seed)
        regions = [JointRegions.fit(intervals, relative, rows)] if d > 1 else []
        return [intervals, *regions], relative

    def held(calibrating: np.ndarray, evaluated: np.ndarray) -> np.ndarray:
        own, tested = pooled.part(calibrating), pooled.part(evaluated)
        each, relative = fitted(own)
        levels = each[0].levels_that_hold(relative, own, tested)
        return np.hstack([levels, *(one.held(tested) for one in each)])

    (intervals, *regions), _ = fitted(pooled)
    residuals = pooled.truth - pooled.predicted
    widths = intervals.half_widths(pooled.predicted, pooled.novelty)
    weights = row_weights(pooled.rows)
    _, first = np.unique(pooled.rows, return_index=True)
    held_of_splits = held_by_other_rows(rows, held, seeds)
    levels_of_splits = [is_held[:, :d] for is_held in held_of_splits]
    by_split = [is_held[:, d : 2 * d] for is_held in held_of_splits]
    lower, upper = intervals.ends(pooled.predicted, pooled.novelty)
    begins = np.cumsum([len(split_rows) for split_rows in rows])[:-1]
    ends = np.split(lower, begins), np.split(upper, begins)
    names = ("levels_that_hold", "held", "lower", "upper")
    for number, parts in enumerate(zip(levels_of_splits, by_split, *ends, strict=True)):
        tree[f"split-{number}"] |= dict(zip(names, parts, strict=True))
    all_held = np.concatenate(by_split)
    by = {"predicted": pooled.predicted, "novelty": pooled.novelty, "width": widths}
    tree |= {
        "intervals": intervals.tree(),
        "half_widths": weights @ widths / weights.sum(),
        "usual_half_widths": np.quantile(widths, [0.1, 0.9], axis=0, method="higher").T,
        "constant_half_widths": half_widths(residuals, level, weights),
        "n_rows": (~np.isnan(residuals[first])).sum(axis=0),
        "coverage": np.array([_mean_of_known(is_held) for is_held in by_split]),
        "thirds": {
            f"of_{name}": coverage_by_thirds(all_held, values, pooled.rows)
            for name, values in by.items()
        },
    }
    if regions:
        held_jointly = [is_held[:, 2 * d :] for is_held in held_of_splits]
        tree["joint"] = _joint_part(regions[0], pooled, held_jointly)


def _joint_part(
    regions: JointRegions, pooled: HeldOutRows, held_of_splits: Sequence[np.ndarray]
) -> dict:
    """Return the tree of joint regions, with their coverage and the means of their sides."""
    log_sides = regions.log_sides(pooled.predicted, pooled.novelty)
    held, weights = np.concatenate(held_of_splits), row_weights(pooled.rows)
    return regions.tree() | {
        "coverage": np.array([_mean_of_known(is_held) for is_held in held_of_splits]),
        "of_novelty": coverage_by_thirds(held, pooled.novelty, pooled.rows),
        "of_width": coverage_by_thirds(held, log_sides[:, 0], pooled.rows),
        "log_sides": weights @ log_sides / weights.sum(),
    }


def _add_sets(
    tree: dict,
    parts: Sequence[Mapping],
    vectors_of_splits: Sequence[np.ndarray],
    vectors: np.ndarray | None,
    seeds: Sequence[int],
) -> None:
    """Add the sets of classes for use, and the coverage and size of sets from other rows."""
    names = ("predicted_classes", "true_classes", "rows")
    predicted_classes, truth, numbers = (
        np.concatenate([part[name] for part in parts]) for name in names
    )
    predicted, level = np.concatenate(vectors_of_splits), tree["level"]
    decoder, scores = _class_scores(predicted, predicted_classes, vectors)
    if decoder is None:
        print("no probabilities of classes: the predictions of this method give no scores")
        return

    def held(calibrating: np.ndarray, evaluated: np.ndarray) -> np.ndarray:
        fitted = ClassSets.fit(scores[calibrating], truth[calibrating], numbers[calibrating], level)
        is_held = fitted.held(scores[evaluated], truth[evaluated])
        sizes = fitted.members(scores[evaluated]).sum(axis=1)
        certain = fitted.probabilities(scores[evaluated]).max(axis=1)
        # Without rows nothing is calibrated.
        certain = certain if len(calibrating) else np.full(len(evaluated), np.nan)
        return np.column_stack([is_held, np.where(np.isnan(is_held), np.nan, sizes), certain])

    by_split = held_by_other_rows([part["rows"] for part in parts], held, seeds)
    for number, of_split in enumerate(by_split):
        tree[f"split-{number}"]["certainty"] = of_split[:, 2]
    measured = np.array([_mean_of_known(of_split) for of_split in by_split])
    sets = ClassSets.fit(scores, truth, numbers, level)
    all_held = np.concatenate(by_split)[:, :1]
    certainty = sets.probabilities(scores).max(axis=1)
    tree |= {
        "sets": sets.tree() | {"decoder": decoder},
        "set_coverage": measured[:, 0],
        "set_size": measured[:, 1],
        "set_thirds": coverage_by_thirds(all_held, certainty, numbers)[0],
    }


def _class_scores(
    predicted: np.ndarray, predicted_classes: np.ndarray, vectors: np.ndarray | None
) -> tuple[str | None, np.ndarray]:
    """Return the decoder whose highest scores are the predicted classes, and its scores (m, K).

    None, with an empty array, where the classes have neither the highest predicted scores nor the
    nearest class vectors.
    """
    if vectors is None:
        return None, np.empty(0)
    candidates = {SCORES: lambda: predicted} | {
        distance: lambda distance=distance: nearest_scores(predicted, vectors, distance)
        for distance in DISTANCES
    }
    if predicted.shape[1] != len(vectors):
        del candidates[SCORES]
    for decoder, scores_of in candidates.items():
        if decoder != SCORES and predicted.shape[1] != vectors.shape[1]:
            continue
        scores = scores_of()
        if (scores.argmax(axis=1) == predicted_classes).all():
            return decoder, scores
    return None, np.empty(0)


def _mean_of_known(values: np.ndarray) -> np.ndarray:
    """Return the means (d,) of columns without their NaN; NaN for columns of NaN alone."""
    known = (~np.isnan(values)).sum(axis=0)
    return np.where(known > 0, np.nansum(values, axis=0) / np.maximum(known, 1), np.nan)


def _read_answer(path: Path) -> dict:
    try:
        answer = json.loads(Path(path).read_text(encoding="utf-8"))
        return answer | {"winner": answer["winner"], "training_size": int(answer["training_size"])}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            location=str(path),
            found=f"no answer can be read from it ({type(error).__name__}: {error})",
            expected="a JSON file with winner and training_size",
            remedy=f"rm -f {path} and run the same snakemake command again",
        ) from error


def item_name(
    items: Mapping, size: int, chosen: Mapping, partition: Mapping, location: str | Path
) -> str:
    """Return the name of the item to which the answer refers.

    Where the answer gives no numbers of weak rows and components, this is the method's only item,
    or else its item without weak rows and with selected components.
    """
    of_size = {
        name: item | {"weak_size": requested_weak_size(int(item["weak_size"]), partition)}
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
        location=str(location),
        found=f"{len(of_size) or 'no'} predictions of {chosen['winner']} with {size} training "
        f"rows: {', '.join(of_size) or 'none'}",
        expected="a single item, or one without weak rows and with selected components",
        remedy="give this method one number of weak rows and components: selected in the "
        "experiment, or leave it out",
    )


def _novelty(
    inputs: Mapping, partition: Mapping, size: int, seed: int
) -> tuple[NoveltyScale, np.ndarray]:
    """Return the scale of a split, and the novelty (n_test,) of its test rows."""
    prepared = prepared_inputs(inputs, partition["folds"][size_group(size)], size)
    scale = NoveltyScale.fit(distances_of_training_rows(prepared, inputs["kernel"], seed))
    return scale, scale.novelty(distances_of_test_rows(prepared, inputs["kernel"]))


def _print_summary(tree: Mapping) -> None:
    widths, coverage = tree["half_widths"], tree["coverage"]
    level, too_few = tree["level"], ~np.isfinite(widths)
    if np.isfinite(coverage).any():
        held = 100 * np.nanmean(coverage)
        print(f"{tree['method']}: intervals of {100 * level:g} % held {held:.1f} % of test outputs")
    follow = RowIntervals.from_tree(tree["intervals"]).follow_rows
    if len(widths):
        print(f"{follow.sum()} of {len(widths)} outputs have intervals whose width follows the row")
    if "sets" in tree and np.isfinite(tree["set_coverage"]).any():
        print(
            f"{tree['method']}: sets of {100 * level:g} % held the class of "
            f"{100 * np.nanmean(tree['set_coverage']):.1f} % of test rows, with "
            f"{np.nanmean(tree['set_size']):.2f} classes on average"
        )
    if too_few.any():
        print(
            f"{too_few.sum()} of {len(widths)} outputs have no interval: they are known in "
            f"{tree['n_rows'][too_few].min()} test rows or more, and {tree['rows_needed']} are "
            f"needed for intervals of {100 * level:g} %"
        )
