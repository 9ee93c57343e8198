"""The regression stage of kernel ridge methods: nested selection, refit, predicted embeddings."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from workflow_lib.artifacts import read_artifact, write_artifact
from workflow_lib.embeddings.forward import ForwardEmbedding
from workflow_lib.embeddings.identity import IdentityEmbedding
from workflow_lib.experiments.items import (
    SELECTED,
    UNBOUNDED_ENTRIES,
    components_group,
    fold_group,
    item_group,
    size_group,
)
from workflow_lib.experiments.prepared_inputs import PreparedInputs, prepared_inputs
from workflow_lib.experiments.selection import Choice, FoldTargets, select
from workflow_lib.experiments.stage_timings import stage_seconds, write_timings
from workflow_lib.generative.storage import model_from_tree, scaling_from_tree
from workflow_lib.regression.ridge import fit_dual_coefficients, labelled_ridge, weak_ridge
from workflow_lib.regression.weak import WeakGrams


def run(
    dataset: Path,
    split: Path,
    features: Path,
    embeddings: Path | None,
    models: Path | None,
    weak_labels: Path | None,
    output: Path,
    timings: Path,
    components: str | Sequence[int],
    component_counts: Sequence[int],
    kernel: str,
    widths: Sequence[float],
    penalties: Sequence[float],
    penalty: str,
    weak_weights: Sequence[float],
    preimage: str,
    center: bool,
    metric: str,
) -> None:
    """Select and fit a kernel ridge method for every training size, weak size and component count.

    `embeddings` and `models` are None for methods that regress the outputs themselves;
    `weak_labels` is None for methods without weak rows. `components` is SELECTED, or the fixed
    counts that are run one by one. Writes the "regression" artifact: for each item what was
    chosen, the dual coefficients, the intercepts and the predicted embeddings of the test rows;
    and the seconds of each item, as JSON.
    """
    stage = _KernelRidgeStage(
        dataset, split, features, embeddings, models, weak_labels, kernel, center
    )
    grid = {
        "widths": list(widths) if kernel == "rbf" else [None],
        "penalties": list(penalties),
        "penalty": penalty,
        "weak_weights": list(weak_weights),
        # The gradient pre-image starts at the projected closed form, so it is scored by it.
        "projected": preimage != "closed_form",
        "metric": metric,
    }
    settings = _component_settings(components, component_counts, models is not None)
    tree: dict = {}
    seconds: dict = {}
    for size in stage.sizes:
        for weak_size in stage.weak_sizes:
            for setting, counts in settings.items():
                item = item_group(size, weak_size, setting)
                tree[item], seconds[item] = stage.solve(size, weak_size, counts, grid)
                tree[item] |= {
                    "training_size": size,
                    "weak_size": weak_size,
                    "components": str(setting),
                }
                print(f"{item}: {_describe(tree[item])}")
    sources = [dataset, split, features, embeddings, models, weak_labels]
    write_artifact(
        output,
        tree,
        "regression",
        inputs=[path for path in sources if path],
        allow_nan=UNBOUNDED_ENTRIES,
    )
    write_timings(timings, seconds)


def _component_settings(components, component_counts, has_model) -> dict:
    """Return, for each setting of an item, the component counts that compete in it."""
    if not has_model:
        return {SELECTED: [None]}
    if components == SELECTED:
        return {SELECTED: list(component_counts)}
    return {count: [count] for count in components}


def _describe(item: Mapping) -> str:
    parts = [f"error {item['score']:.3f}"]
    for name in ("n_components", "width", "penalty_pi", "penalty_mu", "weak_weight"):
        if name in item:
            parts.append(f"{name} {item[name]:.3g}")
    return ", ".join(parts)


# Blocks that hold the structure share one penalty; the others share the second.
LEADING_BLOCKS = ("pi", "initial", "state")


class _KernelRidgeStage:
    """What one job of the stage has read, and the solution of one item."""

    def __init__(
        self, dataset, split, features, embeddings, models, weak_labels, kernel, center
    ) -> None:
        outputs = read_artifact(dataset, "dataset")["outputs"]
        self._partition = read_artifact(split, "split")
        self._train = outputs[self._partition["train"]]
        self._features = read_artifact(features, "features")
        self._embeddings = read_artifact(embeddings, "embeddings") if embeddings else None
        self._models = read_artifact(models, "models") if models else None
        self._weak_labels = read_artifact(weak_labels, "weak_labels") if weak_labels else None
        self._kernel, self._center = kernel, center
        self.sizes = [int(size) for size in self._partition["sizes"]]
        self.weak_sizes = [0]
        if weak_labels:
            self.weak_sizes = [int(size) for size in self._partition["weak_sizes"]]

    def solve(self, size: int, weak_size: int, counts, grid: dict) -> tuple[dict, dict]:
        """Return the item's part of the artifact, and its seconds."""
        Y = self._train[:size]
        folds = self._partition["folds"][size_group(size)]
        inputs = prepared_inputs(self._features, folds, size)
        started = time.perf_counter()
        targets = {count: self._fold_targets(size, weak_size, count, folds) for count in counts}
        choice = select(
            Y,
            folds,
            _Lazily({w: self._grams_of(inputs, w) for w in grid["widths"]}),
            _Lazily({w: self._weak_grams_of(inputs, w, weak_size) for w in grid["widths"]})
            if weak_size
            else None,
            targets,
            grid["penalties"],
            grid["weak_weights"],
            grid["penalty"],
            grid["projected"],
            grid["metric"],
        )
        selected = time.perf_counter()
        K = inputs.training_gram(self._kernel, choice.width, weak_size)
        dual, intercept = self._refit(K, Y, size, weak_size, choice)
        fitted = time.perf_counter()
        K_test = inputs.test_gram(self._kernel, choice.width, weak_size)
        predictions = K_test @ dual + intercept
        seconds = stage_seconds(started, selected, fitted, time.perf_counter())
        item = {"dual_coefficients": dual, "intercept": intercept, "test_embedding": predictions}
        return item | _choice_entries(choice), seconds

    def _grams_of(self, inputs: PreparedInputs, width):
        return lambda: inputs.heldout_solver(self._kernel, width, self._center)

    def _weak_grams_of(self, inputs: PreparedInputs, width, weak_size):
        return lambda: WeakGrams(
            list(inputs.fold_grams(self._kernel, width, weak_size)),
            weak_size,
            inputs.folds,
            self._center,
            shared=not inputs.learns,
        )

    def _stored_model(self, size: int, count: int, fold: int | None) -> dict:
        return self._models[size_group(size)][components_group(count)][fold_group(fold)]

    def _embedding(self, size: int, count: int, fold: int | None) -> ForwardEmbedding:
        return ForwardEmbedding(
            model_from_tree(self._stored_model(size, count, fold)),
            self._embeddings["form"],
            self._embeddings["covariance_block"],
        )

    def _weak_targets(self, size: int, weak_size: int, count: int, embedding) -> np.ndarray:
        labels = self._weak_labels[size_group(size)][components_group(count)]
        return labels["memberships"][:weak_size] / embedding.model.weights_

    def _fold_targets(self, size, weak_size, count, folds) -> list[FoldTargets]:
        if count is None:
            return [FoldTargets(None, None, self._train[:size]) for _ in range(folds.max() + 1)]
        by_fold = self._embeddings[size_group(size)][components_group(count)]
        result = []
        for fold in range(folds.max() + 1):
            embedding = self._embedding(size, count, fold)
            known = by_fold[fold_group(fold)]
            pi_block = None
            if embedding.leading_columns is not None:
                pi_block = _scattered(known[:, embedding.leading_columns], folds != fold)
            result.append(
                FoldTargets(
                    embedding,
                    pi_block,
                    _scattered(embedding.remaining_block(known), folds != fold),
                    self._weak_targets(size, weak_size, count, embedding) if weak_size else None,
                    scaling_from_tree(self._stored_model(size, count, fold)),
                )
            )
        return result

    def _refit(self, K, Y, size, weak_size, choice: Choice):
        """Return dual coefficients and intercepts of the winner, from its Gram matrix."""
        if choice.n_components is None:
            embedding, targets = IdentityEmbedding(Y.shape[1]), Y
        else:
            embedding = self._embedding(size, choice.n_components, None)
            group = self._embeddings[size_group(size)][components_group(choice.n_components)]
            targets = group[fold_group(None)]
        dual = np.zeros((len(K), targets.shape[1]))
        intercept = np.zeros(targets.shape[1])
        for name, columns in embedding.blocks.items():
            block, rows = targets[:, columns], slice(0, size)
            penalty = choice.penalty_pi if name in LEADING_BLOCKS else choice.penalty_mu
            ridge = np.full(size, labelled_ridge(size, penalty))
            weights = np.ones(len(K))
            if name == "pi" and weak_size:
                weak = self._weak_targets(size, weak_size, choice.n_components, embedding)
                weak_weight = choice.weak_weight / (2.0 * size)
                block, rows = np.vstack([block, weak]), slice(0, len(K))
                ridge = np.concatenate(
                    [ridge, np.full(weak_size, weak_ridge(penalty, weak_weight))]
                )
                weights[size:] = choice.weak_weight
            dual[rows, columns], intercept[columns] = fit_dual_coefficients(
                K[rows, rows], block, ridge, self._center, weights[rows]
            )
        return dual, intercept


class _Lazily(Mapping):
    """A mapping whose values are built when asked for, so that one Gram matrix lives at a time."""

    def __init__(self, builders: dict) -> None:
        self._builders = builders

    def __getitem__(self, key):
        return self._builders[key]()

    def __iter__(self):
        return iter(self._builders)

    def __len__(self) -> int:
        return len(self._builders)


def _scattered(known: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the rows put back in their places, zero where a fold holds them out."""
    full = np.zeros((len(rows), known.shape[1]))
    full[rows] = known
    return full


def _choice_entries(choice: Choice) -> dict:
    """Return the numbers of a choice that mean something for this method."""
    entries = {
        "width": choice.width,
        "n_components": choice.n_components,
        "penalty_pi": choice.penalty_pi,
        "penalty_mu": choice.penalty_mu,
        "weak_weight": choice.weak_weight,
        "score": choice.score,
    }
    return {name: value for name, value in entries.items() if value is not None and value == value}
