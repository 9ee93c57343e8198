"""Classes, of which three have losses."""

import json

import numpy as np

LOSSES = {
    "path_length": np.array([[0.0, 2.0, 3.0], [2.0, 0.0, 3.0], [3.0, 3.0, 0.0]]),
    "class_cost": np.array([[0.0, 1.0, 5.0], [2.0, 0.0, 0.5], [1.0, 7.0, 0.0]]),
}


def sample(n_classes: int = 3):
    """Return true, predicted and training classes."""
    random = np.random.default_rng(1)
    return *random.integers(0, n_classes, size=(2, 12)), np.arange(20) % n_classes


def entries(everything, predictions):
    """Return what the dataset and the item of the predictions have besides what all have."""
    vectors = np.eye(everything.max() + 1)
    names = json.dumps([*"abcdefg"[: len(vectors)]])
    tree = {"outputs": vectors[everything], "names": {"classes": names}}
    tree["classes"] = {"labels": everything, "vectors": vectors}
    if len(vectors) == 3:
        tree["classes"]["losses"] = LOSSES
    scores = vectors[predictions]
    return tree, {"outputs": scores, "class_scores": scores, "classes": predictions}
