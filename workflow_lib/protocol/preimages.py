"""The pre-image stage: from the predicted embeddings of test rows back to outputs."""

from __future__ import annotations

import time
from pathlib import Path

from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.core.json_text import write_json
from workflow_lib.fitting.embedding_decoding import decoders_of, mean_outputs
from workflow_lib.items.group_names import (
    TRAINING_TARGETS,
    chosen_entries,
    heldout_entry,
    members_of,
    predicts_training_rows,
    unbounded_entries,
)
from workflow_lib.models.class_decoding import nearest_scores


def run(
    regression: Path,
    models: Path | None,
    output: Path,
    timings: Path,
    form: str | None,
    covariance_block: str | None,
    preimage: str | None,
    start: str | None,
    dataset: Path | None = None,
    distance: str | None = None,
) -> None:
    """Decode the test rows of every item and write the "predictions" artifact and its seconds.

    Every item holds the predicted outputs (n_test, d) and its selected values. For classes it also
    holds ``class_scores`` (n_test, K), how near the predicted vector is by `distance`
    (``euclidean`` or ``cosine``) to the vector of each class in `dataset`, and the predicted
    ``classes`` (n_test,), those of the highest score.

    It also holds the outputs (n, d) predicted for the training rows: ``heldout_outputs`` by a fit
    without the fold of each row and, but for the pre-image ``gradient``, ``training_outputs`` by
    the fit itself, with their ``training_classes``.
    """
    items = read_artifact(regression, "regression")
    fitted = read_artifact(models, "models") if models else None
    vectors = read_artifact(dataset, "dataset")["classes"]["vectors"] if dataset else None
    tree: dict = {}
    seconds: dict = {}
    for name, item in items.items():
        members = members_of(item)
        decoders = decoders_of(members, fitted, form, covariance_block)
        started = time.perf_counter()
        outputs = mean_outputs(decoders, members, preimage, start)
        classes = {}
        if vectors is not None:
            scores = nearest_scores(outputs, vectors, distance)
            classes = {"classes": scores.argmax(axis=1), "class_scores": scores}
        seconds[name] = {"preimage_seconds": time.perf_counter() - started}
        tree[name] = {"outputs": outputs} | classes | chosen_entries(item) | heldout_entry(item)
        # A search for each row may cost more than the fit.
        if preimage != "gradient" and predicts_training_rows(members):
            outputs = mean_outputs(decoders, members, preimage, start, TRAINING_TARGETS)
            tree[name]["training_outputs"] = outputs
            if vectors is not None:
                scores = nearest_scores(outputs, vectors, distance)
                tree[name]["training_classes"] = scores.argmax(axis=1)
    sources = [path for path in (regression, models, dataset) if path]
    write_artifact(output, tree, "predictions", inputs=sources, allow_nan=unbounded_entries(tree))
    write_json(timings, seconds)
