"""The pre-image stage: from the predicted embeddings of test rows back to outputs."""

from __future__ import annotations

import time
from pathlib import Path

from workflow_lib.artifacts import read_artifact, write_artifact
from workflow_lib.embeddings.fisher import FisherEmbedding
from workflow_lib.embeddings.identity import IdentityEmbedding
from workflow_lib.experiments.items import (
    UNBOUNDED_ENTRIES,
    components_group,
    fold_group,
    size_group,
)
from workflow_lib.experiments.stage_timings import write_timings
from workflow_lib.generative.storage import model_from_tree, scaling_from_tree


def run(
    regression: Path,
    models: Path | None,
    output: Path,
    timings: Path,
    form: str | None,
    covariance_block: str | None,
    preimage: str | None,
    start: str | None,
) -> None:
    """Decode the test rows of every item and write the "predictions" artifact and its seconds.

    Every item holds the predicted outputs (n_test, d) and all that was chosen for it.
    """
    items = read_artifact(regression, "regression")
    fitted = read_artifact(models, "models") if models else None
    tree: dict = {}
    seconds: dict = {}
    for name, item in items.items():
        H = item["test_embedding"]
        if fitted is None:
            embedding, scaling = IdentityEmbedding(H.shape[1]), None
        else:
            size, components = size_group(item["training_size"]), item["n_components"]
            stored = fitted[size][components_group(components)][fold_group(None)]
            embedding = FisherEmbedding(model_from_tree(stored), form, covariance_block)
            scaling = scaling_from_tree(stored)
        started = time.perf_counter()
        outputs = embedding.inverse_transform(H, preimage, start or "closed_form")
        outputs = outputs.reshape(len(H), -1)
        if scaling is not None:
            outputs = scaling.undo(outputs)
        seconds[name] = {"preimage_seconds": time.perf_counter() - started}
        chosen = {key: value for key, value in item.items() if not hasattr(value, "shape")}
        tree[name] = {"outputs": outputs} | chosen
    sources = [path for path in (regression, models) if path]
    write_artifact(output, tree, "predictions", inputs=sources, allow_nan=UNBOUNDED_ENTRIES)
    write_timings(timings, seconds)
