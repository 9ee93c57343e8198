"""The stage that reads a dataset into one artifact."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from workflow_lib.core.artifacts import write_artifact
from workflow_lib.data.class_losses import with_class_losses
from workflow_lib.data.reading import read_dataset


def run(
    reader: str,
    options: Mapping[str, Any],
    seed: int,
    class_tree: str | Path | None,
    class_costs: str | Path | None,
    output: str | Path,
    sources: Sequence[str | Path] = (),
    features: Mapping[str, str | Path] | None = None,
    files: Sequence[str | Path] = (),
) -> None:
    """Read a dataset, add the losses between its classes, and write the "dataset" artifact.

    The arguments are those of `workflow_lib.data.reading.read_dataset` and
    `workflow_lib.data.class_losses.with_class_losses`, and `files`, further ones that the options
    name; their digests are recorded as those of the sources.

    Raises UserError for everything in the files or options that prevents it.
    """
    features = features or {}
    tree = read_dataset(reader, options, list(sources), seed, features)
    if class_tree or class_costs:
        tree = with_class_losses(tree, class_tree, class_costs)
    write_artifact(
        output,
        tree,
        "dataset",
        seed=seed,
        inputs=[*sources, *files, *features.values()],
        allow_nan=("inputs", "outputs", "lagged_values/values"),
    )
