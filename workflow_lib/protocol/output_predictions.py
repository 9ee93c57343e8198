"""Predictions of methods that predict outputs, or scores of classes, without an embedding."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from workflow_lib.core.artifacts import read_artifact, write_artifact
from workflow_lib.core.json_text import write_json
from workflow_lib.items.group_names import (
    TRAINING_TARGETS,
    chosen_entries,
    detections_entry,
    heldout_entry,
    members_of,
    predicts_training_rows,
    unbounded_entries,
)
from workflow_lib.models.class_decoding import nearest_scores


def run(
    regression: Path,
    output: Path,
    timings: Path,
    of_classes: bool = False,
    dataset: Path | None = None,
) -> None:
    """Write the "predictions" artifact of a "regression" artifact, and its seconds.

    Its entries ``test_targets`` are the predicted outputs (n_test, d). With `of_classes` they are
    scores of the classes, and ``class_scores`` (n_test, K), the same, and the predicted ``classes``
    (n_test,), those of the highest score, are added. If they are class vectors, in `dataset`, the
    scores say how near the vector of each class is.

    Entries of the training rows are ``heldout_outputs``, predicted by a fit without the fold of
    each row, and, where the method has them, ``training_outputs`` and ``training_classes``,
    predicted by the fit itself. Of boxes there are further ones of the test rows, where the method
    finds several (`workflow_lib.items.group_names.DETECTIONS`).
    """
    tree: dict = {}
    seconds: dict = {}
    vectors = read_artifact(dataset, "dataset")["classes"]["vectors"] if dataset else None
    for name, item in read_artifact(regression, "regression").items():
        started = time.perf_counter()
        members = members_of(item)
        outputs = np.mean([member["test_targets"] for member in members], axis=0)
        tree[name] = {"outputs": outputs} | chosen_entries(item)
        if of_classes or vectors is not None:
            scores = _class_scores(outputs, vectors)
            tree[name] |= {"classes": scores.argmax(axis=1), "class_scores": scores}
        seconds[name] = {"preimage_seconds": time.perf_counter() - started}
        tree[name] |= heldout_entry(item) | detections_entry(item)
        if predicts_training_rows(members):
            outputs = np.mean([member[TRAINING_TARGETS] for member in members], axis=0)
            tree[name]["training_outputs"] = outputs
            if of_classes or vectors is not None:
                tree[name]["training_classes"] = _class_scores(outputs, vectors).argmax(axis=1)
    sources = [path for path in (regression, dataset) if path]
    write_artifact(output, tree, "predictions", inputs=sources, allow_nan=unbounded_entries(tree))
    write_json(timings, seconds)


def _class_scores(outputs: np.ndarray, vectors: np.ndarray | None) -> np.ndarray:
    """Return the outputs, scores of the classes, or how near they are to the class `vectors`."""
    return outputs if vectors is None else nearest_scores(outputs, vectors, "euclidean")
