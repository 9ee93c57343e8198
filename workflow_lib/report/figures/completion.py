"""Output images completed from input images: truth, input and the completion of every method."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from workflow_lib.core.artifacts import read_artifact
from workflow_lib.core.errors import UserError
from workflow_lib.items.group_names import item_group
from workflow_lib.report.labels import method_label
from workflow_lib.report.style import ACCENT_COLOR, WIDTH, applied_style, wrapped_title
from workflow_lib.report.variants import SELECTED

SHOWS = "output images completed from input images, with the true images"
PREDICTS = "images"
CAPTION = (
    "Images completed from one half: the input, the truth, and what each method predicts, for "
    "test rows of the first split."
)
READS = {
    "dataset": "results/datasets/{dataset}.h5",
    "first_split": "results/{experiment}/split-0/split.h5",
    "first_predictions": "results/{experiment}/split-0/{method}/predictions.h5",
}
METHOD_FIELDS = ("label",)


def draw(
    dataset: str | Path,
    first_split: str | Path,
    first_predictions: Mapping[str, str | Path],
    *,
    title: str,
    methods: Mapping[str, Mapping],
    training_size: int,
    weak_size: int,
    n_images: int = 8,
):
    """Return the figure: a column for each of the first test rows, a row for each method.

    The images are the first rows of the test set in its own, random order: none is chosen by
    hand. Rows from the top: the true image, the input half, then one row per method with the
    predicted half under the input half. Predictions outside the range of the true pixels are
    drawn at its ends.

    Inputs followed by their outputs are an image of ``image_rows`` and ``image_columns`` (``names``
    of the dataset), line by line from the top. Methods without predictions at that training size
    are left out, and those with weak rows are drawn with `weak_size` of them.

    Raises UserError if the dataset does not hold images, or no method has such predictions.
    """
    data = read_artifact(dataset, "dataset")
    shape = _image_shape(data, dataset)
    test = read_artifact(first_split, "split")["test"][:n_images]
    inputs, outputs = data["inputs"][test], data["outputs"][test]
    completed = _completed_outputs(first_predictions, methods, training_size, weak_size, len(test))
    rows = [("true image", np.hstack([inputs, outputs]))]
    rows.append(("input", np.hstack([inputs, np.full_like(outputs, np.nan)])))
    rows += [(label, np.hstack([inputs, predicted])) for label, predicted in completed.items()]
    return _draw_images(
        rows,
        shape,
        boundary=inputs.shape[1] / shape[1],
        brightest=max(float(np.nanmax(data["inputs"])), float(data["outputs"].max())),
        title=f"{title}\n{training_size} training rows, the first {len(test)} test rows",
    )


def _draw_images(rows, shape: tuple[int, int], boundary: float, brightest: float, title: str):
    """Return the grid of images; `boundary` is the number of image lines that are inputs."""
    import matplotlib
    from matplotlib.figure import Figure

    colors = matplotlib.colormaps["gray_r"].with_extremes(bad="#e8eef4")
    n_images = len(rows[0][1])
    with applied_style():
        left, cell, gap = 1.6, 0.54, 0.05
        width = max(left + n_images * (cell + gap) + 0.1, WIDTH)
        title = wrapped_title(title, width)
        top = 0.2 + 0.2 * len(title.splitlines())
        height = top + len(rows) * (cell + gap) + 0.08
        figure = Figure(figsize=(width, height))
        figure.text(0.1 / width, 1 - 0.12 / height, title, fontsize=10.5, va="top")
        for line, (label, images) in enumerate(rows):
            bottom = height - top - (line + 1) * (cell + gap)
            appearance = {"ha": "right", "va": "center", "fontsize": 9.5}
            figure.text((left - 0.12) / width, (bottom + cell / 2) / height, label, **appearance)
            for column, image in enumerate(images):
                x = (left + column * (cell + gap)) / width
                axis = figure.add_axes((x, bottom / height, cell / width, cell / height))
                pixels = np.ma.masked_invalid(image.reshape(shape))
                axis.imshow(pixels, cmap=colors, vmin=0.0, vmax=brightest, interpolation="nearest")
                if line > 0:
                    axis.axhline(boundary - 0.5, color=ACCENT_COLOR, linewidth=1.0)
                axis.set(xticks=[], yticks=[])
                axis.grid(False)
                axis.spines[:].set(visible=True, color="#bbbbbb", linewidth=0.6)
    return figure


def _image_shape(data: Mapping, path: str | Path) -> tuple[int, int]:
    names = data["names"]
    n_pixels = data["inputs"].shape[1] + data["outputs"].shape[1]
    shape = (int(names.get("image_rows", 0)), int(names.get("image_columns", 0)))
    if shape[0] * shape[1] != n_pixels:
        raise UserError(
            str(path),
            f"its rows have {n_pixels} inputs and outputs, and its image is {shape[0]} x "
            f"{shape[1]} pixels",
            "a dataset whose inputs and outputs make an image",
            "remove the figure of kind completion from this experiment",
        )
    return shape


def _completed_outputs(
    predictions: Mapping[str, str | Path],
    methods: Mapping[str, Mapping],
    training_size: int,
    weak_size: int,
    n_images: int,
) -> dict[str, np.ndarray]:
    """Return label -> predicted outputs (n_images, d) of the methods that have them."""
    with_weak = item_group(training_size, weak_size, SELECTED)
    without = item_group(training_size, 0, SELECTED)
    completed = {}
    for method in (name for name in methods if name in predictions):
        items = read_artifact(predictions[method], "predictions")
        label = method_label(method, methods)
        if weak_size and with_weak in items:
            completed[f"{label}\n{weak_size} weak rows"] = items[with_weak]["outputs"][:n_images]
        elif without in items:
            completed[label] = items[without]["outputs"][:n_images]
    if not completed:
        raise UserError(
            ", ".join(str(path) for path in predictions.values()) or "the completion figure",
            f"no predictions with {training_size} training rows",
            f"the group {without}" + (f" or {with_weak}" if weak_size else ""),
            "draw the figure at a training size of the experiment",
        )
    return completed
