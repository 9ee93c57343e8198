"""The regression stage of kernel ridge methods: nested selection, refit, predicted embeddings."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from workflow_lib.artifacts import read_artifact, write_artifact
from workflow_lib.embeddings.forward import ForwardEmbedding
from workflow_lib.embeddings.identity import IdentityEmbedding
from workflow_lib.experiments.heldout_errors import heldout_error
from workflow_lib.experiments.items import (
    SELECTED,
    UNBOUNDED_ENTRIES,
    components_group,
    fold_group,
    item_group,
    size_group,
)
from workflow_lib.experiments.missing_outputs import filled
from workflow_lib.experiments.prepared_inputs import prepared_inputs
from workflow_lib.experiments.selection import (
    Choice,
    FoldTargets,
    best_of,
    embedded_targets,
    scattered,
    select_each,
)
from workflow_lib.experiments.stage_timings import stage_seconds, write_timings
from workflow_lib.experiments.weak_memberships import memberships
from workflow_lib.experiments.weak_outputs import weak_outputs_of
from workflow_lib.generative.storage import model_from_tree, scaling_from_tree
from workflow_lib.regression.ridge import fit_dual_coefficients, labelled_ridge, weak_ridge

# A mixture of more components than this share of the training rows is left out of an average.
LARGEST_COMPONENT_SHARE = 0.6

# Blocks that hold the structure share one penalty; the others share the second.
LEADING_BLOCKS = ("pi", "initial", "state")


@dataclass(frozen=True)
class Item:
    """One fit that is selected, made and scored on its own.

    Attributes
    ----------
    training_size, weak_size : int
    components : int or str
        A fixed number, or SELECTED.
    counts : tuple
        Component counts that compete, or are averaged; (None,) without a generative model.
    weak_weight : float or None
        lambda_2 of eq. (14) where a study fixes it.
    noise : float
        Share of the weak rows whose label is wrong.
    setting : str
        What a study fixes, in words; empty outside of studies.
    """

    training_size: int
    weak_size: int
    components: int | str
    counts: tuple
    weak_weight: float | None = None
    noise: float = 0.0
    setting: str = ""

    @property
    def name(self) -> str:
        """Name of its group in the artifacts."""
        return item_group(self.training_size, self.weak_size, self.components, self.setting)


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
    combine: str,
    kernel: str,
    widths: Sequence[float],
    penalties: Sequence[float],
    penalty: str,
    weak: bool,
    weak_weights: Sequence[float],
    weak_outputs: str | None,
    projections: Sequence[bool],
    studies: Mapping[str, Sequence[float]],
    center: bool,
    metric: str,
    one_example: Mapping[str, object] | None = None,
) -> None:
    """Select and fit a kernel ridge method for every training size, weak size and component count.

    Writes the "regression" artifact: for each item what was chosen, the dual coefficients, the
    intercepts, the predicted embeddings of the test rows, and the outputs predicted for the
    training rows without their folds; and the seconds of each item, as JSON. An item that averages
    over component counts holds these for each of them, in the group ``members``.

    Parameters
    ----------
    embeddings, models : path or None
        None for methods that regress the outputs themselves; those with a model and without an
        embedding use the model for the outputs of weak rows only.
    weak_labels : path or None
        None for methods that know nothing of the components of weak rows.
    components : str or sequence of int
        SELECTED, or the fixed counts that are run one by one.
    combine : {"best", "average"}
        Whether the selected component counts compete, or their predictions are averaged.
    weak : bool
        Whether weak rows join.
    weak_outputs : str or None
        What stands in for the outputs of weak rows where they are regressed as outputs; see
        `workflow_lib.experiments.weak_outputs`.
    projections : sequence of bool
        Whether predicted memberships are projected on the simplex; both compete if both are given.
    studies : mapping
        ``weak_weight`` (values of lambda_2 of eq. (14)) and ``weak_noise`` (shares of wrong
        labels): each value is run on its own, at the largest training and weak size.
    one_example : mapping or None, default=None
        What is used in the place of the grid with one labelled example per class: ``penalty``,
        ``width``, ``n_components``, ``weak_weight`` and ``projection``, as far as the method has
        them. Nothing can be selected there: without its example a class is never predicted.
    """
    paths = (dataset, split, features, embeddings, models, weak_labels)
    stage = _KernelRidgeStage(*paths, kernel, center, weak_outputs)
    grid = {
        "widths": list(widths) if kernel == "rbf" else [None],
        "penalties": list(penalties),
        "penalty": penalty,
        "weak_weights": list(weak_weights),
        "projections": list(projections),
        "metric": metric,
    }
    settings = _component_settings(components, component_counts, models is not None)
    tree: dict = {}
    seconds: dict = {}
    for item in _items(stage.sizes, stage.weak_sizes if weak else [0], settings, studies):
        if stage.has_one_example(item.training_size):
            item, item_grid = _without_selection(item, grid, one_example)
        else:
            item_grid = grid
        tree[item.name], seconds[item.name] = stage.solve(item, item_grid, combine)
        tree[item.name] |= {
            "training_size": item.training_size,
            "weak_size": item.weak_size,
            "components": str(item.components),
            "setting": item.setting,
        }
        print(f"{item.name}: {_describe(tree[item.name])}")
    write_artifact(
        output,
        tree,
        "regression",
        inputs=[path for path in paths if path],
        allow_nan=UNBOUNDED_ENTRIES,
    )
    write_timings(timings, seconds)


def _component_settings(components, component_counts, has_model) -> dict:
    """Return, for each setting of an item, the component counts that compete in it."""
    if not has_model:
        return {SELECTED: (None,)}
    if components == SELECTED:
        return {SELECTED: tuple(component_counts)}
    return {count: (count,) for count in components}


def _items(sizes, weak_sizes, settings, studies) -> list[Item]:
    """Return the items of all sizes, and those of the studies at the largest sizes."""
    items = [
        Item(size, weak_size, setting, counts)
        for size in sizes
        for weak_size in weak_sizes
        for setting, counts in settings.items()
    ]
    if max(weak_sizes, default=0) == 0:
        return items
    size, weak_size = max(sizes), max(weak_sizes)
    for setting, counts in settings.items():
        for value in studies.get("weak_weight", ()):
            name = f"weak_weight={value:g}"
            items.append(Item(size, weak_size, setting, counts, weak_weight=value, setting=name))
        for value in studies.get("weak_noise", ()):
            name = f"weak_noise={value:g}"
            items.append(Item(size, weak_size, setting, counts, noise=value, setting=name))
    return items


def _without_selection(item: Item, grid: dict, values: Mapping) -> tuple[Item, dict]:
    """Return the item and the grid with one value in the place of each list."""
    single = {
        "widths": [values["width"]] if grid["widths"] != [None] else [None],
        "penalties": [values["penalty"]],
        "weak_weights": [values["weak_weight"]] if grid["weak_weights"] else [],
    }
    if "projection" in values:
        single["projections"] = [values["projection"] == "simplex"]
    if item.components == SELECTED and "n_components" in values:
        item = replace(item, counts=(values["n_components"],))
    return item, grid | single


def _describe(item: Mapping) -> str:
    parts = [f"error {item['score']:.3f}"]
    for name in ("n_components", "width", "penalty_pi", "penalty_mu", "weak_weight"):
        if name in item:
            parts.append(f"{name} {item[name]:.3g}")
    if "members" in item:
        parts.append(f"mean over {', '.join(item['members'])}")
    return ", ".join(parts)


class _KernelRidgeStage:
    """What one job of the stage has read, and the solution of one item."""

    def __init__(
        self,
        dataset,
        split,
        features,
        embeddings,
        models,
        weak_labels,
        kernel,
        center,
        weak_outputs,
    ) -> None:
        outputs = read_artifact(dataset, "dataset")["outputs"]
        self._partition = read_artifact(split, "split")
        self._train = outputs[self._partition["train"]]
        self._weak = outputs[self._partition["weak"]]
        self._features = read_artifact(features, "features")
        self._embeddings = read_artifact(embeddings, "embeddings") if embeddings else None
        self._models = read_artifact(models, "models") if models else None
        self._weak_labels = read_artifact(weak_labels, "weak_labels") if weak_labels else None
        self._kernel, self._center = kernel, center
        self._weak_outputs = weak_outputs
        self.weak_decompositions: dict = {}
        self.sizes = [int(size) for size in self._partition["sizes"]]
        self.weak_sizes = [int(size) for size in self._partition["weak_sizes"]]

    def solve(self, item: Item, grid: dict, combine: str) -> tuple[dict, dict]:
        """Return the item's part of the artifact, and its seconds."""
        started = time.perf_counter()
        fit = _Fit(self, item, grid)
        choices = list(fit.choices().values())
        if combine == "best" or len(choices) == 1:
            choices = [best_of(choices)]
        selected = time.perf_counter()
        duals = [fit.refit(choice) for choice in choices]
        fitted = time.perf_counter()
        members = [
            {
                "dual_coefficients": dual,
                "intercept": intercept,
                "test_embedding": fit.test_gram(choice.width) @ dual + intercept,
                "heldout_outputs": choice.heldout_outputs,
            }
            | _choice_entries(choice)
            for choice, (dual, intercept) in zip(choices, duals, strict=True)
        ]
        seconds = stage_seconds(started, selected, fitted, time.perf_counter())
        if len(members) == 1:
            return members[0], seconds
        average = np.mean([choice.heldout_outputs for choice in choices], axis=0)
        return {
            "members": {
                components_group(choice.n_components): member
                for choice, member in zip(choices, members, strict=True)
            },
            "heldout_outputs": average,
            "score": fit.score(average),
        }, seconds

    def has_one_example(self, size: int) -> bool:
        """Return whether a training size is one labelled example of each class."""
        return 1 in self._partition.get("examples", ())[:1] and size == self.sizes[0]

    def stored_model(self, size: int, count: int, fold: int | None) -> dict:
        """Return the stored model of one training size, component count and fold."""
        return self._models[size_group(size)][components_group(count)][fold_group(fold)]

    def embedding(self, size: int, count: int, fold: int | None) -> ForwardEmbedding:
        """Return the embedding under that model."""
        return ForwardEmbedding(
            model_from_tree(self.stored_model(size, count, fold)),
            self._embeddings["form"],
            self._embeddings["covariance_block"],
        )

    def embedded(self, size: int, count: int, fold: int | None) -> np.ndarray:
        """Return the embeddings of the rows that the model was fitted to."""
        return self._embeddings[size_group(size)][components_group(count)][fold_group(fold)]

    def memberships(self, item: Item, count: int) -> np.ndarray:
        """Return the memberships (w, C) of the item's weak rows."""
        told = memberships(self._weak_labels, item.training_size, count, item.noise)
        return told[: item.weak_size]


class _Fit:
    """Selection and refit of one item."""

    def __init__(self, stage: _KernelRidgeStage, item: Item, grid: dict) -> None:
        self._stage, self._item, self._grid = stage, item, grid
        size = item.training_size
        self._Y = stage._train[:size]
        folds = stage._partition["folds"][size_group(size)]
        self._inputs = prepared_inputs(stage._features, folds, size)
        # Without any weight they are not there; and their number must not change the system.
        self._weak_size = 0 if item.weak_weight == 0 else item.weak_size
        self._scaled_outputs: dict[int, np.ndarray] = {}
        counts = item.counts
        if len(counts) > 1 and counts[0] is not None:
            most = max(LARGEST_COMPONENT_SHARE * size, counts[0])
            counts = tuple(count for count in counts if count <= most)
        self._targets = {count: self._fold_targets(count) for count in counts}

    def choices(self) -> dict[int | None, Choice]:
        """Return the best grid point of every component count."""
        grid = self._grid
        return select_each(
            self._Y,
            self._inputs.folds,
            _Lazily({width: self._solver_of(width) for width in grid["widths"]}),
            _Lazily({width: self._weak_solver_of(width) for width in grid["widths"]})
            if self._weak_size
            else None,
            self._targets,
            grid["penalties"],
            self._weak_weights(),
            grid["penalty"],
            grid["projections"],
            grid["metric"],
        )

    def score(self, outputs: np.ndarray) -> float:
        """Return the relative error of outputs (n, d) predicted for the training rows."""
        return heldout_error(self._Y, outputs, self._inputs.folds, self._grid["metric"])

    def refit(self, choice: Choice) -> tuple[np.ndarray, np.ndarray]:
        """Return dual coefficients and intercepts of the winner, from all rows."""
        size, weak_size = self._item.training_size, self._weak_size
        K = self._inputs.training_gram(self._stage._kernel, choice.width, weak_size)
        embedding, targets = self._all_targets(choice.n_components)
        weak_targets = self._weak_targets(choice.n_components, None, embedding)
        dual = np.zeros((len(K), targets.shape[1]))
        intercept = np.zeros(targets.shape[1])
        for name, columns in embedding.blocks.items():
            block, rows = targets[:, columns], slice(0, size)
            penalty = choice.penalty_pi if self._is_leading(name) else choice.penalty_mu
            ridge = np.full(size, labelled_ridge(size, penalty))
            weights = np.ones(len(K))
            if weak_size and self._is_leading(name):
                weak_weight = choice.weak_weight / (2.0 * size)
                block, rows = np.vstack([block, weak_targets]), slice(0, len(K))
                ridge = np.concatenate(
                    [ridge, np.full(weak_size, weak_ridge(penalty, weak_weight))]
                )
                weights[size:] = choice.weak_weight
            dual[rows, columns], intercept[columns] = fit_dual_coefficients(
                K[rows, rows], block, ridge, self._stage._center, weights[rows]
            )
        return dual, intercept

    def test_gram(self, width: float | None) -> np.ndarray:
        """Return the Gram matrix of the test rows against labelled and weak rows."""
        return self._inputs.test_gram(self._stage._kernel, width, self._weak_size)

    def _is_leading(self, block: str) -> bool:
        return block in LEADING_BLOCKS or bool(self._weak_size and self._stage._weak_outputs)

    def _weak_weights(self) -> list[float]:
        """Return the weights of a weak row relative to a labelled one."""
        fixed = self._item.weak_weight
        if fixed is None:
            return self._grid["weak_weights"]
        return [2.0 * self._item.training_size * fixed]

    def _solver_of(self, width):
        return lambda: self._inputs.heldout_solver(self._stage._kernel, width, self._stage._center)

    def _weak_solver_of(self, width):
        stage = self._stage
        return lambda: self._inputs.weak_heldout_solver(
            stage._kernel, width, stage._center, self._weak_size, stage.weak_decompositions
        )

    def _fold_targets(self, count: int | None) -> list[FoldTargets]:
        """Return the targets of every fold for one component count."""
        return [self._targets_of(count, fold) for fold in range(self._inputs.folds.max() + 1)]

    def _targets_of(self, count: int | None, fold: int) -> FoldTargets:
        stage, size, known = self._stage, self._item.training_size, self._inputs.folds != fold
        if stage._embeddings is None:
            outputs = filled(self._Y, known)
            if not (self._weak_size and stage._weak_outputs):
                return FoldTargets(None, None, outputs)
            return FoldTargets(None, outputs, None, self._weak_targets(count, fold))
        embedding, embedded = stage.embedding(size, count, fold), stage.embedded(size, count, fold)
        scaling = scaling_from_tree(stage.stored_model(size, count, fold))
        outputs = scattered(scaling.apply(filled(self._Y[known])), known)
        # Component counts share the regression of the outputs where these are the same array.
        shared = self._scaled_outputs.setdefault(fold, outputs)
        return embedded_targets(
            embedding,
            embedded,
            shared if np.array_equal(shared, outputs) else outputs,
            known,
            self._weak_targets(count, fold, embedding),
            scaling,
        )

    def _all_targets(self, count: int | None):
        """Return the embedding and the targets (n, m) of all training rows."""
        if self._stage._embeddings is None:
            outputs = filled(self._Y)
            return IdentityEmbedding(outputs.shape[1]), outputs
        size = self._item.training_size
        return self._stage.embedding(size, count, None), self._stage.embedded(size, count, None)

    def _weak_targets(
        self, count: int | None, fold: int | None, embedding: ForwardEmbedding | None = None
    ) -> np.ndarray | None:
        """Return the targets of the weak rows in the leading block, under one fold's model."""
        stage, item = self._stage, self._item
        if not self._weak_size:
            return None
        if stage._weak_outputs is None:
            return stage.memberships(item, count) / embedding.model.weights_
        known = np.ones(len(self._Y), dtype=bool) if fold is None else self._inputs.folds != fold
        if stage._weak_outputs == "true":
            return weak_outputs_of("true", filled(self._Y[known]), stage._weak[: self._weak_size])
        stored = stage.stored_model(item.training_size, count, fold)
        return weak_outputs_of(
            stage._weak_outputs,
            filled(self._Y[known]),
            None,
            model_from_tree(stored),
            scaling_from_tree(stored),
            stage.memberships(item, count),
            self._neighbour_grams[fold] if stage._weak_outputs == "neighbours" else None,
        )

    @cached_property
    def _neighbour_grams(self) -> dict[int | None, np.ndarray]:
        """Gram matrices by fold (None: all rows) in which neighbours are found.

        Of the first width, because the order of the distances is the same for all.
        """
        kernel, width = self._stage._kernel, self._grid["widths"][0]
        grams = self._inputs.fold_grams(kernel, width, self._weak_size)
        return {
            None: self._inputs.training_gram(kernel, width, self._weak_size),
            **{fold: K for fold, (K, _) in enumerate(grams)},
        }


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


def _choice_entries(choice: Choice) -> dict:
    """Return the numbers of a choice that mean something for this method."""
    entries = {
        "width": choice.width,
        "n_components": choice.n_components,
        "penalty_pi": choice.penalty_pi,
        "penalty_mu": choice.penalty_mu,
        "weak_weight": choice.weak_weight,
        "projected": choice.projected if choice.n_components is not None else None,
        "score": choice.score,
    }
    return {name: value for name, value in entries.items() if value is not None and value == value}
