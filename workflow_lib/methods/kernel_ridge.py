"""The regression stage of kernel ridge methods: nested selection, refit, predicted embeddings."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from workflow_lib.artifacts import write_artifact
from workflow_lib.experiments.items import UNBOUNDED_ENTRIES, components_group
from workflow_lib.experiments.kernel_ridge_fit import KernelRidgeFit
from workflow_lib.experiments.kernel_ridge_items import (
    Item,
    component_settings,
    items_of,
    without_selection,
)
from workflow_lib.experiments.kernel_ridge_rows import KernelRidgeRows
from workflow_lib.experiments.landmark_ridge_fit import LandmarkRidgeFit
from workflow_lib.experiments.selection import Choice, best_of
from workflow_lib.experiments.stage_timings import stage_seconds, write_timings

REGRESSORS = ("kernel_ridge",)
TASKS = ("regression", "series", "classes")
NEEDS = {"minutes": 2, "grams": 14, "cubic_minutes": 0.2}


def run(
    dataset: Path,
    split: Path,
    features: Path,
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
    landmarks: Mapping[str, int] | None = None,
    precision: str = "float64",
    kernels: Sequence[str] | None = None,
    embeddings: Path | None = None,
    models: Path | None = None,
    weak_labels: Path | None = None,
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
    kernel : str
        That of the "features" artifact.
    kernels : sequence of str or None
        Those that compete. Penalties are then relative to each, and a grid is extended once where
        a chosen value lies on its edge; see `workflow_lib.experiments.input_kernels`. None for
        `kernel` alone, with penalties as they are.
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
    landmarks : mapping or None, default=None
        Of what is done where there are more training rows than a Gram matrix allows
        (`LandmarkRidgeFit`): ``max_gram_rows``, from which on; ``n_landmarks`` and ``seed``. None
        for never. Where it is done, inputs are read from their file as they are needed.
    precision : {"float64", "float32"}, default="float64"
        Of the grid where all folds share one Gram matrix; the winner is fitted in float64.
    """
    paths = (dataset, split, features, embeddings, models, weak_labels)
    max_gram_rows = landmarks["max_gram_rows"] if landmarks else None
    rows = KernelRidgeRows(*paths, kernel, center, weak_outputs, max_gram_rows)
    grid = {
        "kernels": list(kernels or [kernel]),
        "is_relative": bool(kernels),
        "extends": bool(kernels),
        "widths": list(widths),
        "penalties": list(penalties),
        "penalty": penalty,
        "weak_weights": list(weak_weights),
        "projections": list(projections),
        "metric": metric,
        "precision": precision,
    }
    settings = component_settings(components, component_counts, models is not None)
    tree: dict = {}
    seconds: dict = {}
    for item in items_of(rows.sizes, rows.weak_sizes if weak else [0], settings, studies):
        if rows.has_one_example(item.training_size):
            item, item_grid = without_selection(item, grid, one_example)
        else:
            item_grid = grid
        tree[item.name], seconds[item.name] = _solve(rows, item, item_grid, combine, landmarks)
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


def _solve(
    rows: KernelRidgeRows, item: Item, grid: dict, combine: str, landmarks: Mapping[str, int] | None
) -> tuple[dict, dict]:
    """Return the item's part of the artifact, and its seconds."""
    started = time.perf_counter()
    fit = _fit(rows, item, grid, landmarks)
    choices = list(fit.choices().values())
    if combine == "best" or len(choices) == 1:
        choices = [best_of(choices)]
    selected = time.perf_counter()
    solutions = [fit.solution(choice) for choice in choices]
    fitted = time.perf_counter()
    members = [
        {
            **solution,
            "test_embedding": fit.test_embedding(choice, solution),
            "heldout_outputs": choice.heldout_outputs,
        }
        | _choice_entries(choice)
        | _edge_entry(fit.edges_of(choice))
        for choice, solution in zip(choices, solutions, strict=True)
    ]
    seconds = stage_seconds(started, selected, fitted, time.perf_counter())
    if len(members) == 1:
        return members[0] | fit.description, seconds
    edges = {choice.n_components: fit.edges_of(choice) for choice in choices}
    average = np.mean([choice.heldout_outputs for choice in choices], axis=0)
    return {
        "members": {
            components_group(choice.n_components): member
            for choice, member in zip(choices, members, strict=True)
        },
        "heldout_outputs": average,
        "score": fit.score(average),
        **_edge_entry("; ".join(f"C = {count}: {text}" for count, text in edges.items() if text)),
        **fit.description,
    }, seconds


def _fit(rows, item, grid, landmarks) -> KernelRidgeFit:
    """Return the fit of one item, on landmarks where a Gram matrix would be too large."""
    if landmarks is None or item.training_size <= landmarks["max_gram_rows"]:
        return KernelRidgeFit(rows, item, grid)
    return LandmarkRidgeFit(rows, item, grid, landmarks["n_landmarks"], landmarks["seed"])


def _describe(item: Mapping) -> str:
    parts = [f"error {item['score']:.3f}"]
    if "kernel" in item:
        parts.append(f"kernel {item['kernel']}")
    for name in ("n_components", "width", "penalty_pi", "penalty_mu", "weak_weight"):
        if name in item:
            parts.append(f"{name} {item[name]:.3g}")
    if "members" in item:
        parts.append(f"mean over {', '.join(item['members'])}")
    if "edges" in item:
        parts.append(f"on the edge of the grid: {item['edges']}")
    return ", ".join(parts)


def _edge_entry(edges: str) -> dict[str, str]:
    return {"edges": edges} if edges else {}


def _choice_entries(choice: Choice) -> dict:
    """Return the numbers of a choice that mean something for this method."""
    entries = {
        "kernel": choice.kernel.name,
        "width": choice.width,
        "n_components": choice.n_components,
        "penalty_pi": choice.penalty_pi,
        "penalty_mu": choice.penalty_mu,
        "weak_weight": choice.weak_weight,
        "projected": choice.projected if choice.n_components is not None else None,
        "score": choice.score,
    }
    return {name: value for name, value in entries.items() if value is not None and value == value}
