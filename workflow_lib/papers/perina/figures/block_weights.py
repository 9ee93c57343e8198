"""How much of a classifier on a score space lies in each block of its columns."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from workflow_lib.core.artifacts import read_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.fitting.input_kernels import InputKernel, alpha_unit
from workflow_lib.fitting.prepared_inputs import kernel_gamma
from workflow_lib.fitting.wrong_labels import training_output_rows
from workflow_lib.inputs.score_columns import ScoreColumns
from workflow_lib.items.group_names import fold_group, size_group
from workflow_lib.items.kinds.base import items_in
from workflow_lib.papers.perina.score_space import ScoreSpace
from workflow_lib.papers.perina.score_space_storage import models_from_tree
from workflow_lib.report.labels import count_of, method_label
from workflow_lib.report.style import WIDTH, applied_style, write_title
from workflow_lib.solvers.classifiers import fit_support_vector_machines
from workflow_lib.solvers.gram import gram_matrix

SHOWS = "the share of each block of a score space in the weights of a support vector machine"
CAPTION = (
    "The share of each block of the columns of a score space in the squared gradient of the "
    "decision functions, at the largest training size: its mean over the training rows and the "
    "classes. For a linear kernel it is the share of the squared weights of standardised columns. "
    "Bars are means over the splits, lines their sample standard deviation, dots the share that "
    "the block would have if every column weighed the same."
)
READS = {
    "dataset": "results/datasets/{dataset}.h5",
    "splits": "results/{experiment}/split-{split}/split.h5",
    "all_input_models": "results/{experiment}/split-{split}/{input_model}/input_models.h5",
    "all_regressions": "results/{experiment}/split-{split}/{shown_method}/regression.h5",
}
METHOD_FIELDS = ("label", "color", "regressor", "score_space")
REQUIRES = {"task": {"classes"}, "kind_of_inputs": {"letters", "vectors", "counts"}}
BECAUSE = (
    "a figure of kind block_weights needs classes and sequences or bags of counts; the task is "
    "{task}, and the reader {reader} gives {kind_of_inputs}"
)
NEEDS = {"minutes": 10}

CHOSEN = "score_space__"
"""Before the names of the selected values of generative models."""


class Shares(NamedTuple):
    """Shares of the blocks of one method: in the weights, split by split, and in the columns.

    ``weights`` (n_splits, B), ``columns`` (B,), for B blocks with ``names``; ``n_linear`` of the
    splits selected the linear kernel.
    """

    names: list[str]
    weights: np.ndarray
    columns: np.ndarray
    n_linear: int


def draw(
    dataset: str | Path,
    splits: Sequence[str | Path],
    all_input_models: Mapping[str, Sequence[str | Path]],
    all_regressions: Mapping[str, Sequence[str | Path]],
    *,
    shown_methods: Mapping[str, Mapping],
    title: str,
):
    """Return the figure: a panel for each method, with a bar for each block.

    Raises UserError if no shown method is a support vector machine on a score space, or the
    inputs of the dataset are learned by its folds.
    """
    from matplotlib.figure import Figure

    data = read_artifact(dataset, "dataset")
    partitions = [read_artifact(path, "split") for path in splits]
    found = {}
    # Of images whose words the folds learn, no counts are stored.
    for method, values in shown_methods.items() if data["inputs"].shape[1] else ():
        space = values["score_space"]
        if space and values["regressor"] == "support_vector_machine":
            paths = zip(all_input_models[space["models"]], all_regressions[method], strict=True)
            found[method] = _shares(data, partitions, paths, space)
    if not found:
        raise UserError(
            "a figure of kind block_weights",
            "no shown method that is a support vector machine on a score space of stored inputs",
            "methods with score_space, and sequences or counts that no fold learns",
            "name such methods in the key methods of the figure, or remove the figure",
        )
    heights = [len(shares.names) for shares in found.values()]
    with applied_style():
        figure = Figure(
            figsize=(WIDTH, 1.0 + sum(0.26 * height + 0.75 for height in heights)),
            layout="constrained",
        )
        axes = figure.subplots(len(found), 1, squeeze=False, height_ratios=heights)[:, 0]
        for axis, (method, shares) in zip(axes, found.items(), strict=True):
            _draw_shares(axis, shares, shown_methods[method]["color"])
            linear = f"linear kernel in {shares.n_linear} of {count_of(len(splits), 'split')}"
            axis.set_title(f"{method_label(method, shown_methods)}; {linear}", fontsize=9.5)
        axes[-1].set_xlabel("share of the squared gradient")
        n_train = max(int(max(partition["sizes"])) for partition in partitions)
        write_title(
            figure,
            f"{title}\n{count_of(n_train, 'training row')}, {count_of(len(splits), 'split')}; "
            "dots: equal weights of all columns",
        )
    return figure


def _draw_shares(axis, shares: Shares, color: str) -> None:
    positions = np.arange(len(shares.names))[::-1]
    spread = shares.weights.std(axis=0, ddof=1) if len(shares.weights) > 1 else None
    axis.barh(
        positions,
        shares.weights.mean(axis=0),
        xerr=spread,
        color=color,
        ecolor="#333333",
        error_kw={"linewidth": 1.0},
        label="weights",
    )
    axis.plot(
        shares.columns,
        positions,
        linestyle="",
        marker="o",
        markersize=4,
        color="black",
        label="columns",
    )
    axis.set_yticks(positions)
    axis.set_yticklabels(shares.names, fontsize=8.5)
    axis.set_xlim(left=0.0)
    axis.grid(axis="y", visible=False)


def _shares(
    data: Mapping[str, Any], partitions: Sequence[Mapping], paths, space: Mapping[str, Any]
) -> Shares:
    """Return the shares of the blocks in all splits."""
    arguments = {key: value for key, value in space.items() if value is not None}
    del arguments["models"]
    standardise = arguments.pop("standardise")
    class_names = json.loads(data["names"]["classes"])
    weights, n_linear = [], 0
    for partition, (models, regression) in zip(partitions, paths, strict=True):
        items = [
            item
            for item in read_artifact(regression, "regression").values()
            if not item.get("setting")
        ]
        item = max(items, key=lambda item: item["training_size"])
        rows = training_output_rows(partition)[: item["training_size"]]
        labels = data["classes"]["labels"][rows]
        fitted = _selected(read_artifact(models, "input_models"), item)
        scores = ScoreSpace(fitted, **arguments)
        columns = scores.transform(items_in(data["inputs"][rows], data["items"]))
        columns_map = ScoreColumns.fit(columns, standardise)
        kernel = InputKernel(item.get("kernel", "linear"), item.get("width"))
        n_linear += kernel.name == "linear"
        squares = squared_gradients(
            columns_map, columns, labels, len(class_names), kernel, item["cost"]
        )
        by_block, n_columns, names = [], [], []
        known = [class_names[label] for label in np.unique(labels)[::-1]]
        for name, block in scores.blocks.items():
            kept = (columns_map.kept >= block.start) & (columns_map.kept < block.stop)
            by_block.append(squares[kept].sum())
            n_columns.append(kept.sum())
            names.append(_in_words(name, known, len(fitted)))
        weights.append(np.array(by_block) / sum(by_block))
    return Shares(names, np.array(weights), np.array(n_columns) / sum(n_columns), n_linear)


def _selected(tree: Mapping, item: Mapping) -> list[Any]:
    """Return the models of the selected grid point, fitted to all training rows."""
    chosen = {name[len(CHOSEN) :]: item[name] for name in item if name.startswith(CHOSEN)}
    for by_fold in tree[size_group(item["training_size"])].values():
        models = models_from_tree(by_fold[fold_group(None)])
        if all(getattr(models[0], name) == value for name, value in chosen.items()):
            return models
    raise ValueError(f"no model with {chosen}")


def squared_gradients(
    columns_map: ScoreColumns,
    columns: np.ndarray,
    labels: np.ndarray,
    n_classes: int,
    kernel: InputKernel,
    cost: float,
) -> np.ndarray:
    """Return the mean squared gradient (m,) of the decision functions in standardised columns.

    The machines are those of the method: of f_c(z) = sum_i a_ic k(z, z_i) + b_c the gradient is
    Z'a_c for the linear kernel, and for the rbf kernel, with K_ij = k(z_i, z_j), in row i
    -2 gamma (z_i sum_j K_ij a_jc - sum_j K_ij a_jc z_j). Means are over the training rows and the
    classes, `columns` (l, p) with `labels` (l,), to which `columns_map` is fitted; `cost` is in
    units of the kernel.
    """
    Z, inputs = columns_map.standardised(columns), columns_map.of(columns)
    n_columns = inputs.shape[1]
    gamma = kernel_gamma(kernel.name, kernel.width, n_columns)
    K = gram_matrix(inputs, None, kernel.name, gamma)
    cost = cost / alpha_unit(kernel, n_columns)
    dual = fit_support_vector_machines(K, labels, n_classes, cost).dual
    total = np.zeros(Z.shape[1])
    for a in dual.T:
        if kernel.name == "linear":
            total += (Z.T @ a) ** 2
            continue
        # Distances of inputs are those of standardised columns divided by the unit.
        weighted = K * a
        gradients = Z * weighted.sum(axis=1, keepdims=True) - weighted @ Z
        total += ((2.0 * gamma / columns_map.unit**2 * gradients) ** 2).mean(axis=0)
    return total / dual.shape[1]


def _in_words(name: str, known: Sequence[str], n_models: int) -> str:
    """Return the name of a block, with the class of its model."""
    if n_models == 1:
        return name.replace("_", " ")
    block, _, number = name.rpartition("_")
    return f"{block.replace('_', ' ')}, {known[int(number)]}" if number.isdigit() else name
