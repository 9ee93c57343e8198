"""The weights of linear methods, at the places of their inputs on a slice."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from workflow_lib.core.artifacts import read_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.inputs.preparation import InputPreparation
from workflow_lib.items.group_names import fold_group, size_group
from workflow_lib.report.labels import count_of, method_label
from workflow_lib.report.style import WIDTH, applied_style, write_title

SHOWS = "the weights of linear methods at the places of their inputs, one panel for each output"
CAPTION = (
    "The weights of standardised inputs at the places of the inputs on a slice, a panel for each "
    "output, of the fits to the training rows of the first split. Of a method of subtree patterns: "
    "the mean part of each node of its graph in an output, over the training rows in which this "
    "output is largest. Figures 4.1 to 4.5, 4.7 and 4.8 of Blaschko (2014) have this form."
)
READS = {
    "all_regressions": "results/{experiment}/split-{split}/{shown_method}/regression.h5",
    "dataset": "results/datasets/{dataset}.h5",
    "first_features": "results/{experiment}/split-0/features.h5",
}
METHOD_FIELDS = ("label",)
REQUIRES = {"reader": {"haxby"}}
BECAUSE = (
    "a figure of kind weight_map needs inputs with places on a slice, as the reader haxby gives "
    "them, and the reader is {reader}"
)

N_COLUMNS = 4
COLORS = "RdBu_r"
NO_INPUT = "#cfcfcf"


def draw(
    all_regressions: Mapping[str, Sequence[str | Path]],
    dataset: str | Path,
    first_features: str | Path,
    *,
    shown_methods: Mapping[str, Mapping],
    title: str,
    training_size: int,
):
    """Return the figure: for each method a panel for each output, an image of its weights.

    The weights are those of inputs as the fit prepares them; all panels of a method have one scale,
    up to its largest weight. Places without an input are grey. With weak rows the fit with the most
    of them is shown.

    Raises UserError if a method has no weights of single inputs, as with other than linear kernels,
    or the dataset has no places.
    """
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    data, features = read_artifact(dataset, "dataset"), read_artifact(first_features, "features")
    if "places" not in data:
        raise UserError(
            str(dataset),
            "its inputs have no places",
            "a dataset whose reader gives the place of each input on a slice",
            "remove the figure of kind weight_map from this experiment",
        )
    of_split = {method: paths[0] for method, paths in all_regressions.items() if paths}
    names = json.loads(data["names"]["outputs"])
    n_columns = min(N_COLUMNS, len(names))
    n_rows = math.ceil(len(names) / n_columns)
    methods = [method for method in shown_methods if method in of_split]
    with applied_style():
        figure = Figure(
            figsize=(WIDTH, 0.5 + len(methods) * (0.4 + 0.95 * n_rows)), layout="constrained"
        )
        parts = np.atleast_1d(figure.subfigures(len(methods), 1))
        for part, method in zip(parts, methods, strict=True):
            weights = _weights(of_split[method], features, training_size)
            n_used = int((weights != 0).any(axis=1).sum())
            label = method_label(method, shown_methods)
            part.suptitle(f"{label}: {n_used} of {len(weights)} inputs", fontsize=9.5)
            axes = part.subplots(n_rows, n_columns, squeeze=False)
            largest = np.abs(weights).max() or 1.0
            for axis in axes.flat:
                axis.axis("off")
            for axis, name, column in zip(axes.flat, names, weights.T, strict=False):
                axis.set_facecolor(NO_INPUT)
                shown = axis.imshow(
                    _image(column, data["places"]),
                    cmap=colormaps[COLORS].with_extremes(bad=NO_INPUT),
                    label=label,
                    vmin=-largest,
                    vmax=largest,
                    interpolation="nearest",
                )
                axis.set_title(name, fontsize=8.5)
            part.colorbar(shown, ax=list(axes.flat), fraction=0.03, pad=0.02)
        write_title(figure, f"{title}\n{count_of(training_size, 'training row')}, first split")
    return figure


def _image(weights: np.ndarray, places: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the image of weights (q,) of all inputs, NaN where there is no input."""
    image = np.full((places["row"].max() + 1, places["column"].max() + 1), np.nan)
    image[places["row"], places["column"]] = weights
    return image


def _weights(path: str | Path, features: Mapping, size: int) -> np.ndarray:
    """Return the weights (q, d) of all inputs, 0 of those that the fit leaves out."""
    items = [
        item
        for item in read_artifact(path, "regression").values()
        if item["training_size"] == size and not item.get("setting")
    ]
    item = max(items, key=lambda item: item["weak_size"], default={})
    preparation = InputPreparation.from_tree(features[size_group(size)][fold_group(None)])
    kept = preparation.scale > 0
    if "node_values" in item:
        weights = np.zeros((int(kept.sum()), item["node_values"].shape[1]))
        weights[item["selected"]] = item["node_values"]
    elif "weights" in item and "landmarks" not in item:
        weights = item["weights"]
    elif item.get("kernel", features["kernel"]) == "linear" and "dual_coefficients" in item:
        dual, inputs = item["dual_coefficients"], features["inputs"]
        rows = np.vstack([inputs["train"][:size], inputs["weak"][: len(dual) - size]])
        weights = preparation.apply(rows).T @ dual
    else:
        raise UserError(
            str(path),
            "the method has no weights of single inputs in the first split",
            "methods with linear penalties or of subtree patterns, or with the linear kernel alone",
            "name others in the key methods of the figure of kind weight_map",
        )
    of_all = np.zeros((len(kept), weights.shape[1]))
    of_all[kept] = weights
    return of_all
