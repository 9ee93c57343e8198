"""The codes of the most frequent names of columns whose codes the folds learn."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from workflow_lib.core.artifacts import read_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.core.json_text import from_json_bytes
from workflow_lib.inputs.encoded_columns import EncodedColumns
from workflow_lib.items.group_names import fold_group, size_group
from workflow_lib.report.style import applied_style, plain_name, write_title

SHOWS = "the codes of the most frequent names, of columns of names whose codes are learned"
CAPTION = (
    "The codes of the most frequent names among the training rows of the first split, at the "
    "largest training size; each code is standardised over these names. Mean k is that of output "
    "k, or of principal component k of more than eight outputs; topics of n-grams are named by "
    "n-grams that are frequent in them and rare in the others."
)
READS = {
    "dataset": "results/datasets/{dataset}.h5",
    "first_features": "results/{experiment}/split-0/features.h5",
    "first_split": "results/{experiment}/split-0/split.h5",
}

MAX_NAMES, MAX_LETTERS = 12, 36

COLORS = "RdBu_r"
"""Blue below and red above the mean of a code."""

LARGEST = 2.5
"""Standard deviations at the ends of the colors."""


def draw(
    dataset: str | Path,
    first_features: str | Path,
    first_split: str | Path,
    *,
    title: str,
    training_size: int,
):
    """Return the figure: a panel for each column, a row for each name and a column for each code.

    Raises UserError if no code of the dataset is learned.
    """
    from matplotlib.figure import Figure

    tree = read_artifact(dataset, "dataset", ("inputs",))
    if "learned_columns" not in tree:
        raise UserError(
            location=f"{dataset}, figure of the kind codes",
            found="no column of names whose codes are learned",
            expected="columns with the encoder target or gamma-poisson",
            remedy="name them in encode in the file of the dataset, or leave the figure out",
        )
    stored = read_artifact(first_features, "features", ("inputs",))
    encoders = EncodedColumns.from_tree(
        stored[size_group(training_size)][fold_group(None)]["encoders"]
    )
    train = read_artifact(first_split, "split")["train"][:training_size]
    panels = []
    for name, texts, codes, labels in _columns(tree["learned_columns"], encoders, train):
        spread = codes.std(axis=0)
        panels.append(
            (name, texts, (codes - codes.mean(axis=0)) / np.where(spread, spread, 1), labels)
        )
    heights = [0.2 * len(texts) + 0.9 for _, texts, _, _ in panels]
    n_letters = max(len(label) for panel in panels for label in panel[3])
    with applied_style():
        size = (7.2, sum(heights) + 0.075 * n_letters * len(panels) + 0.6)
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots(len(panels), 1, squeeze=False, height_ratios=heights)[:, 0]
        for axis, (name, texts, values, labels) in zip(axes, panels, strict=True):
            appearance = {"cmap": COLORS, "vmin": -LARGEST, "vmax": LARGEST, "aspect": "auto"}
            image = axis.imshow(values, interpolation="nearest", **appearance)
            rotation = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"}
            axis.set_xticks(range(len(labels)), list(map(plain_name, labels)), **rotation)
            axis.set_yticks(range(len(texts)), [_short(text) for text in texts])
            axis.tick_params(length=0, pad=2, labelsize=8)
            axis.set_title(plain_name(name), fontsize=9)
            axis.grid(False)
        bar = figure.colorbar(image, ax=list(axes), shrink=0.5, aspect=28, pad=0.015)
        bar.set_label("standard deviations from the mean of the code", fontsize=9)
        bar.ax.tick_params(labelsize=8)
        write_title(figure, f"{title}\n{training_size} training rows, first split")
    return figure


def _columns(learned: Mapping, encoders: EncodedColumns, train: np.ndarray):
    """Yield the name of each column, its most frequent texts, their codes and the names of these.
    Of equally frequent texts the first in the order of the levels are taken."""
    described = from_json_bytes(learned["described"])
    chosen = {}
    for index, (name, _, levels) in enumerate(described):
        counts = np.bincount(learned["codes"][train, index], minlength=len(levels))
        order = np.argsort(-counts, kind="stable")[:MAX_NAMES]
        chosen[name] = np.array([levels[k] for k in order if counts[k]], dtype=object)
    for name, texts in chosen.items():
        fitted = encoders.encoder_of(name)
        yield name, texts, fitted.apply(texts), fitted.labels


def _short(text: str) -> str:
    text = plain_name(text) or "(missing)"
    return text if len(text) <= MAX_LETTERS else f"{text[: MAX_LETTERS - 3]}..."
