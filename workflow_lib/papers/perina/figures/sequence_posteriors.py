"""The posterior probabilities of the states of hidden Markov models along test sequences."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from workflow_lib.core.artifacts import read_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.fitting.wrong_labels import training_output_rows
from workflow_lib.items.group_names import fold_group, size_group
from workflow_lib.items.kinds.base import items_in
from workflow_lib.items.kinds.letters import UNKNOWN
from workflow_lib.papers.perina.score_space_storage import models_from_tree
from workflow_lib.report.labels import method_label
from workflow_lib.report.style import WIDTH, applied_style, write_title

SHOWS = "the posterior probabilities of the states of hidden Markov models along test sequences"
CAPTION = (
    "The posterior probabilities of the hidden states along the test sequence of each class that "
    "the method separates best from the other classes, in the first split: the stacked areas sum "
    "to one at every position. States are in the order of their share of all test sequences, from "
    "below; those of different models have nothing in common. With a model of each class, a "
    "sequence is shown under the models of all shown classes; log p is its log-likelihood."
)
READS = {
    "dataset": "results/datasets/{dataset}.h5",
    "first_split": "results/{experiment}/split-0/split.h5",
    "first_features": "results/{experiment}/split-0/features.h5",
    "first_input_models": "results/{experiment}/split-0/{input_model}/input_models.h5",
    "first_predictions": "results/{experiment}/split-0/{method}/predictions.h5",
    "all_regressions": "results/{experiment}/split-{split}/{shown_method}/regression.h5",
}
METHOD_FIELDS = ("label", "score_space")
REQUIRES = {"kind_of_inputs": {"letters", "vectors"}}
BECAUSE = (
    "a figure of kind sequence_posteriors needs sequences, and the reader {reader} gives "
    "{kind_of_inputs}"
)

MAX_CLASSES = 3
MAX_LETTERS = 60
"""Longest sequence whose letters are written under the axis."""

COLORS = "viridis"
"""Its lightness rises, so that color-blind readers can distinguish neighbouring states."""

STATES = "score_space__n_states"


def draw(
    dataset: str | Path,
    first_split: str | Path,
    first_features: str | Path,
    first_input_models: Mapping[str, str | Path],
    first_predictions: Mapping[str, str | Path],
    all_regressions: Mapping[str, Sequence[str | Path]],
    *,
    shown_methods: Mapping[str, Mapping],
    title: str,
):
    """Return the figure: for the first method with hidden Markov models a row for each sequence
    and a column for each model.

    The models are those fitted to the largest training set, with the selected number of states.

    Raises UserError if no shown method has hidden Markov models.
    """
    from matplotlib.figure import Figure

    method, models = _models(shown_methods, first_input_models, all_regressions)
    data = read_artifact(dataset, "dataset")
    partition = read_artifact(first_split, "split")
    rows = read_artifact(first_features, "features")["inputs"]["test"]
    sequences = items_in(np.asarray(rows), data["items"])
    names = json.loads(data["names"]["classes"])
    labels = data["classes"]["labels"][partition["test"]]
    scores = _largest(read_artifact(first_predictions[method], "predictions"))["class_scores"]
    chosen = _clearest(scores, labels)[:MAX_CLASSES]
    known = np.unique(data["classes"]["labels"][training_output_rows(partition)])
    # Models of classes are stored from the last class to the first.
    model_of = dict(zip(known[::-1], models))
    shown = models if len(models) == 1 else [model_of[labels[row]] for row in chosen]
    of_models = [""] if len(models) == 1 else [f", model of {names[labels[row]]}" for row in chosen]
    rows_of = json.loads(data["names"]["rows"])
    letters = data["names"].get("letters")
    with applied_style():
        figure = Figure(
            figsize=(WIDTH * max(1.0, 0.75 * len(shown)), 0.7 + 1.7 * len(chosen)),
            layout="constrained",
        )
        axes = figure.subplots(len(chosen), len(shown), squeeze=False, sharex=False, sharey=True)
        orders = [_order(model, sequences) for model in shown]
        for row, line in zip(chosen, axes, strict=True):
            location = rows_of[partition["test"][row]]
            for column, (axis, model) in enumerate(zip(line, shown, strict=True)):
                gamma = model.posteriors([sequences[row]]).gamma[0][:, orders[column]]
                log_p = model.score_samples([sequences[row]])[0]
                _draw_areas(axis, gamma, sequences[row], letters)
                axis.set_title(
                    f"{names[labels[row]]}: {location}{of_models[column]}\nlog p = {log_p:.1f}",
                    fontsize=8.5,
                )
            line[0].set_ylabel("posterior")
        for axis in axes[-1]:
            axis.set_xlabel("position")
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower left", ncols=6)
        write_title(figure, f"{title}\n{method_label(method, shown_methods)}, first split")
    return figure


def _models(
    methods: Mapping[str, Mapping],
    input_models: Mapping[str, str | Path],
    regressions: Mapping[str, Sequence[str | Path]],
) -> tuple[str, list[Any]]:
    """Return the first method with hidden Markov models, and its models of the first split."""
    for method, values in methods.items():
        space = values.get("score_space")
        path = input_models.get(space["models"]) if space else None
        if path is None or not regressions.get(method):
            continue
        item = _largest(read_artifact(regressions[method][0], "regression"))
        by_point = read_artifact(path, "input_models")[size_group(item["training_size"])]
        for by_fold in by_point.values():
            found = models_from_tree(by_fold[fold_group(None)])
            if hasattr(found[0], "posteriors") and found[0].n_states == item.get(STATES):
                return method, found
    raise UserError(
        "a figure of kind sequence_posteriors",
        "no shown method with hidden Markov models of the sequences",
        "a method whose score_space has such models, among those that the figure names",
        "name one in the key methods of the figure, or remove the figure",
    )


def _largest(tree: Mapping[str, Mapping]) -> Mapping:
    """Return the item with the most training and weak rows, outside of studies."""
    items = [item for item in tree.values() if not item.get("setting")]
    return max(items, key=lambda item: (item["training_size"], item["weak_size"]))


def _clearest(scores: np.ndarray, labels: np.ndarray) -> list[int]:
    """Return for each class the test row whose class wins by the largest difference of scores."""
    own = scores[np.arange(len(labels)), labels]
    others = scores.copy()
    others[np.arange(len(labels)), labels] = -np.inf
    margins = own - others.max(axis=1)
    rows = [np.flatnonzero(labels == label) for label in range(scores.shape[1])]
    return [int(of_class[margins[of_class].argmax()]) for of_class in rows if len(of_class)]


def _order(model, sequences) -> np.ndarray:
    """Return the states by their share of all sequences, the largest first."""
    shares = sum(gamma.sum(axis=0) for gamma in model.posteriors(sequences).gamma)
    return np.argsort(-shares, kind="stable")


def _draw_areas(axis, gamma: np.ndarray, sequence: np.ndarray, letters: str | None) -> None:
    from matplotlib import colormaps

    n_steps, n_states = gamma.shape
    colors = colormaps[COLORS](np.linspace(0.0, 1.0, n_states))
    below, positions = np.zeros(n_steps), np.arange(1, n_steps + 1)
    for state in range(n_states):
        heights = gamma[:, state]
        axis.bar(
            positions,
            heights,
            width=1.0,
            bottom=below,
            color=colors[state],
            linewidth=0,
            label=f"state {state + 1}",
        )
        below = below + heights
    axis.set_xlim(0.5, n_steps + 0.5)
    axis.set_ylim(0.0, 1.0)
    axis.grid(False)
    if letters is not None and n_steps <= MAX_LETTERS:
        axis.set_xticks(np.arange(1, n_steps + 1))
        axis.set_xticklabels(
            ["?" if code == UNKNOWN else letters[code] for code in sequence], fontsize=5.5
        )
        axis.tick_params(axis="x", length=0, pad=1)
